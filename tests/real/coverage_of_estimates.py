"""Sampled graphs of known signals, of two classes or more, for the tests of estimates.

`python tests/real/coverage_of_estimates.py 200` counts how often 200 of them are within two standard errors.
"""

import sys

import numpy as np
from scipy import sparse

import gcnlimit as gl
from gcnlimit.given.standard import Standard, simplex_code
from gcnlimit.real.estimate import estimate_standard

NETWORK = gl.GCN(gl.Diffusion(1.0))


def drawn(k):
    """The k-th problem: both signs, directed and not, many sizes."""
    rng = np.random.default_rng(1000 + k)
    lam = rng.choice([-1, 1]) * rng.uniform(0.3, 2.0)
    rho = np.exp(rng.uniform(np.log(0.02), np.log(0.3)))
    data = gl.CSBM(rng.choice([1, 2, 4]), lam, rng.uniform(0.0, 4.0), rho, directed=bool(rng.integers(2)))
    return gl.sample(data, nodes=int(rng.integers(1000, 4000)), degree=30, seed=k)


def compared(k, method):
    """Distances of the estimates from the truth in standard errors, whether it is flagged, and whether the interval holds."""
    i = drawn(k)
    given = Standard.of(i.features, np.where(i.train_mask, i.labels > 0, -1), i.adjacency)
    found = estimate_standard(given, method)
    if not np.isfinite(found.lam_error + found.mu_error):
        return (np.nan, np.nan, bool(found.warnings), False)
    z = ((found.lam - i.data.lam) / found.lam_error, (found.mu - i.data.mu) / found.mu_error)
    interval = found.predict(NETWORK)
    return (*z, bool(found.warnings), interval.low <= gl.predict(i.data, NETWORK).test_accuracy <= interval.high)


def many_classes(classes, lam, mu, rho, seed, nodes=1500, width=500, degree=30):  # noqa: PLR0917
    """Features, labels with some hidden, and graph of a model with several equal classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=nodes)
    Y = simplex_code(np.full(classes, 1 / classes))[y]
    p = degree / nodes * (1 + lam / np.sqrt(degree) * (Y @ Y.T))
    A = np.triu(rng.random((nodes, nodes)) < p, 1)
    X = np.sqrt(mu / nodes) * Y @ rng.standard_normal((classes - 1, width)) + rng.standard_normal((nodes, width))
    return X, np.where(rng.random(nodes) < rho, y, -1), sparse.csr_array((A + A.T).astype(float))


if __name__ == "__main__":
    for method in sys.argv[2:] or ("labels", "likelihood"):
        rows = np.array([compared(k, method) for k in range(int(sys.argv[1]))], float)
        fine = rows[:, 2] == 0
        print(
            method, "flagged", int((~fine).sum()), "of", len(rows), "spread of z", rows[fine, :2].std(axis=0).round(2)
        )
        print(
            "within two errors", np.mean(np.abs(rows[fine, :2]) < 2, axis=0).round(3), "interval", rows[fine, 3].mean()
        )
