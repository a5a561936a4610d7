"""The description of a graph is what the model says of it."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import sparse

import gcnlimit as gl


def described(lam, degree=30, nodes=1200, directed=False):
    data = gl.CSBM(alpha=2, lam=lam, mu=2.0, rho=0.5, directed=directed)
    i = gl.sample(data, nodes=nodes, degree=degree, seed=0)
    return gl.describe(i.features, np.where(i.train_mask, i.labels > 0, -1), i.adjacency)


@pytest.mark.parametrize("lam", [1.5, -1.5])
def test_homophily_is_that_of_the_edge_probabilities(lam):
    found = described(lam)
    error = 0.5 / math.sqrt(found.edges / 4)
    assert found.homophily == pytest.approx((1 + lam / math.sqrt(30)) / 2, abs=4 * error)
    assert found.adjusted_homophily == pytest.approx(lam / math.sqrt(30), abs=8 * error)


@pytest.mark.parametrize("lam, directed", [(2.0, False), (-2.0, False), (1.5, True)])
def test_the_outlier_is_where_the_spike_should_be(lam, directed):
    signal = lam * math.sqrt(2) if directed else lam
    found = described(lam, directed=directed)
    assert found.outliers.size == 1
    assert found.outliers[0] == pytest.approx(signal + 1 / signal, rel=0.05)
    assert found.holds, found.doubts


@pytest.mark.slow
def test_moments_of_the_spectrum_are_those_of_the_semicircle():
    values, weights = described(0.0, degree=60).spectrum
    assert weights.sum() == pytest.approx(1.0)
    assert [float(weights @ values**k) for k in (1, 2, 3, 4)] == pytest.approx(
        [0, 1, 0, 2], abs=0.1
    )


def test_hubs_are_seen_and_said():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=800)
    weight = rng.pareto(1.8, 800) + 0.3
    p = np.minimum(12 / 800 * np.outer(weight, weight) / weight.mean() ** 2, 1.0)
    A = np.triu(rng.random((800, 800)) < p, 1)
    found = gl.describe(
        rng.standard_normal((800, 50)), y, sparse.csr_array((A + A.T).astype(float))
    )
    assert "degrees vary" in str(found)
    assert found.estimate.degrees.moment(2.0) > 1.5
    assert found.noise_level < 1.0  # the largest hubs are joined to nearly all


def test_what_degrees_do_not_explain_is_named_by_its_cause():
    """Hubs joined to nearly all nodes leave less than the noise of the model; leaves joined to leaves more."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    to_all = np.where(np.arange(400) < 12, 0.97, 0.05)[:, None] * np.ones(400)
    apart = np.kron(np.diag([0.03, 0.3]), np.ones((200, 200)))
    causes = {"hubs are joined to nearly all": to_all, "degrees do not explain all": apart}
    for cause, p in causes.items():
        A = np.triu(rng.random((400, 400)) < p, 1).astype(float)
        found = gl.describe(rng.standard_normal((400, 20)), y, sparse.csr_array(A + A.T))
        assert [other for other in causes if other in " ".join(found.doubts)] == [cause]


def test_the_drawing_shows_spectrum_semicircle_and_outliers():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = described(2.0).plot(figure.add_subplot())
    assert {text.get_text() for text in axes.get_legend().get_texts()} == {
        "this graph",
        "semicircle",
        "outliers",
    }
    bars = sum(bar.get_width() * bar.get_height() for bar in axes.patches)
    semicircle, outliers = axes.get_lines()
    assert (bars, np.trapezoid(*semicircle.get_data()[::-1])) == pytest.approx((1.0, 1.0), abs=1e-3)
    assert outliers.get_xdata() == pytest.approx(described(2.0).outliers)


def test_numbers_are_those_of_the_attributes(texas):
    found = gl.describe(texas.X, texas.y, texas.graph)
    numbers = found.as_dict()
    assert numbers["lam"] == found.estimate.lam
    assert numbers["edges"] == 279
    assert found.homophily == pytest.approx(0.06, abs=0.01)


def test_an_unknown_error_is_called_so():
    """As where the likelihood has no curvature at its maximum."""
    found = described(1.5, nodes=300)
    unsure = dataclasses.replace(found.likelihood, lam_error=math.inf)
    text = f"{dataclasses.replace(found, likelihood=unsure)}\n{unsure}"
    assert text.count("(error unknown)") == 2
    assert " inf" not in text
