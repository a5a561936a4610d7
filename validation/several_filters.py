r"""The best margins of linear networks at infinite regularization by searches: two filters, labels as an input, several filters.

A linear network is a sum of *pieces*. A feature piece :math:`\phi'(a) X w`, with weights trained through :math:`\phi`, and a
label piece :math:`\psi(a) R y` carry the labels by :math:`D = \phi'\phi` or :math:`\psi`, and the features by
:math:`E = \mu\,e(\phi)\,\phi'` or 0. With factors :math:`p` of the pieces the margin of a test node is (Eq. 10.18)

.. math::
    m &= \frac{p \cdot b}{\sqrt{p^T V p}}, \qquad b_j = e(D_j) - \tau(D_j) + e(E_j), \\
    V_{jk} &= \mathrm{Cov}_e[D_j + E_j, D_k + E_k] + \tfrac{1-\rho}\rho\,\mathrm{Cov}_\tau[D_j, D_k]
    + \alpha\,\tau(\phi'_j\phi'_k)\,[e(\phi_j\phi_k) + \tfrac{1-\rho}\rho\tau(\phi_j\phi_k) + \mu\,e(\phi_j)e(\phi_k)] .

Filters are searched among sums of powers and fractions: lower bounds, short by 1e-4 at most where other searches were made.
``python -m validation.several_filters`` prints the accuracies that docs/findings/pagerank-to-deploy.md gives.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

import gcnlimit as gl
from gcnlimit.choose.filter_sums import best_filter_sum
from gcnlimit.numerics.climb import ascend
from gcnlimit.numerics.spectral import edge_panels, halved, panel_measure
from gcnlimit.theory.points import Points

POINTS = ((4, 1.0, 2.0, 0.1), (1, 1.0, 2.0, 0.1), (1, 0.6, 4.0, 0.02), (4, 1.0, 0.5, 0.1))
_POLES = np.geomspace(1e-3, 1e2, 9)  # of the fractions, in units of the distance to the outlier
_STILL = 1e-10  # gain of a margin that ends the search


def main():
    print(
        "alpha lam mu rho | two filters, labels as input, three filters with weights of their own"
    )
    for point in POINTS:
        data = gl.CSBM(*point)
        two, labels = (ndtr(search(Pairs.of(data))) for search in (two_filters, with_labels))
        print(*point, "|", f"{two:.4f} {labels:.4f} {several_filters(data):.4f}")


def pieces(measure, points, train, read, labels):
    """Mean `b` and covariance `V` of feature, then label pieces (Eq. 10.18); axes of filters: points, pieces, nodes."""
    e = measure.e[:, None]
    tau = measure.tau
    alpha, mu, rho = (part[:, None, None] for part in (points.alpha, points.mu, points.rho))
    hidden = (1.0 - rho) / rho
    drive = np.sum(e * train, axis=2, keepdims=True)
    D = np.concatenate([train * read, labels], axis=1)
    f = D + np.concatenate([mu * drive * read, 0.0 * labels], axis=1)
    b = np.sum(measure.excess[:, None] * D + e * (f - D), axis=2)
    f = f - np.sum(e * f, axis=2, keepdims=True)
    D = D - np.sum(tau * D, axis=2, keepdims=True)
    V = (f * e) @ f.mT + hidden * ((D * tau) @ D.mT)
    weights = (train * e) @ train.mT + hidden * ((train * tau) @ train.mT) + mu * (drive @ drive.mT)
    inner = slice(train.shape[1])
    V[:, inner, inner] += alpha * ((read * tau) @ read.mT) * weights
    return b, V


class Pairs(NamedTuple):
    """Mean and covariance at one point of the pieces of all pairs of basis functions, and of the labels through each."""

    size: int
    start: np.ndarray  # the filter that teaches the weights most, in the basis
    b: np.ndarray
    V: np.ndarray

    @classmethod
    def of(cls, data):
        """Pairs at a point of the data, in an orthonormal basis of powers and fractions on its spectrum."""
        one = Points.of(data, gl.GCN(gl.PageRank(0.0)))
        measure = panel_measure(one.signal, halved(edge_panels(one.signal)))
        distance = 1.0 + one.signal**2 - one.signal * measure.x  # to the outlier
        poles = _POLES[:, None]
        fractions = poles / (poles + np.maximum(distance, 0.0))
        functions = np.concatenate([(0.5 * measure.x) ** np.arange(4.0)[:, None], fractions])
        root = np.sqrt(measure.tau + measure.e)
        basis = np.linalg.svd((functions * root)[None], full_matrices=False)[2]
        basis = basis / np.where(root > 0.0, root, 1.0)
        teacher = best_filter_sum(one).train(measure.x[0])[0]
        start = (basis[0] * (measure.tau + measure.e)) @ teacher
        size = basis.shape[1]
        train = np.tile(basis, (1, size, 1))
        b, V = pieces(measure, one, train, np.repeat(basis, size, axis=1), basis)
        return cls(size, start, b[0], V[0])


def two_filters(pairs):
    """Best margin of two filters: each in turn is the best given the other, from the filter that teaches the weights most."""
    size = pairs.size
    train = pairs.start
    mean = pairs.b[: size**2].reshape(size, size)
    spread = pairs.V[: size**2, : size**2].reshape(4 * (size,))
    margin, before = 0.0, -1.0
    while margin - before > _STILL:
        train = train / np.linalg.norm(train)
        read = np.linalg.solve(np.einsum("acbd,c,d->ab", spread, train, train), mean @ train)
        read = read / np.linalg.norm(read)
        along = mean.T @ read
        train = np.linalg.solve(np.einsum("acbd,a,b->cd", spread, read, read), along)
        before = margin
        margin = float(np.sqrt(along @ train))
    return margin


def with_labels(pairs):
    """Best margin of one filter with labels as an input through another."""
    b, V = pairs.b, pairs.V
    features = slice(pairs.size**2)
    labels = slice(pairs.size**2, None)
    # Labels through a constant do nothing, so that the matrix has no inverse.
    reply = np.linalg.pinv(V[labels, labels], rcond=1e-13, hermitian=True)
    alone = reply @ b[labels]
    rest = V[features, labels] @ reply @ V[labels, features]
    beside = _climbed(b[features] - V[features, labels] @ alone, V[features, features] - rest)
    return float(np.hypot(np.sqrt(b[labels] @ alone), beside))


def _climbed(b, V):
    """Best margin of one filter, at training and at test, in the basis of the pieces; from two random starts."""
    size = int(np.sqrt(b.size))

    def pairs(g):
        return (g[:, :, None] * g[:, None]).reshape(len(g), -1)

    def value(g, rows):
        p = pairs(g)
        return p @ b / np.sqrt(np.vecdot(p @ V, p))

    def gradient(g, rows):
        p = pairs(g)
        carried = p @ V
        variance = np.vecdot(carried, p)[:, None]
        slope = (b - (p @ b)[:, None] * carried / variance) / np.sqrt(variance)
        kernel = slope.reshape(len(g), size, size)
        return (g[..., None, :] @ (kernel + kernel.mT))[..., 0, :]

    start = np.random.default_rng(0).normal(size=(2, size))
    return float(np.max(ascend(value, gradient, start, steps=400, tol=1e-9, gain=1e-12).f))


def several_filters(data, filters=3, climbs=8):
    """Accuracy of the best network of so many filters in the basis of the pieces, from random starts (Eq. 10.18)."""
    pairs = Pairs.of(data)
    size, features = pairs.size, slice(pairs.size**2)
    b, V = pairs.b[features], pairs.V[features, features]

    def squares(x):
        g = x.reshape(len(x), filters, size)
        return g, (g.mT @ g).reshape(len(x), -1)

    def value(x, rows):
        p = squares(x)[1]
        return p @ b / np.sqrt(np.vecdot(p @ V, p))

    def gradient(x, rows):
        g, p = squares(x)
        carried = p @ V
        variance = np.vecdot(carried, p)[:, None]
        slope = ((b - (p @ b)[:, None] * carried / variance) / np.sqrt(variance)).reshape(
            len(x), size, size
        )
        return (g @ (slope + slope.mT)).reshape(x.shape)

    start = np.random.default_rng(0).normal(size=(climbs, filters * size))
    return ndtr(np.max(ascend(value, gradient, start, steps=400, tol=1e-9, gain=1e-12).f))


if __name__ == "__main__":
    main()
