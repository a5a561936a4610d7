"""Infinite regularization: reference values, identities, extremes against many-digit arithmetic."""

import math

import mpmath as mp
import numpy as np
import pytest
from helpers import close
from problems import filter_margin as margin
from reference import name, problem, rows
from scipy.special import log_ndtr, ndtr

import gcnlimit as gl
from gcnlimit.csbm import SpikedOperator
from gcnlimit.theory.large_reg import filter_averages

RNG = np.random.default_rng(7)
N = 40
DATA = {
    "alpha": RNG.uniform(0.3, 6, N),
    "lam": RNG.uniform(-2.5, 2.5, N),
    "mu": RNG.uniform(0, 4, N),
    "rho": RNG.uniform(0.01, 1, N),
}
GRAPHS = {
    "directed": (gl.CSBM(**DATA), False),
    "symmetrized": (gl.CSBM(**DATA), True),
    "symmetric": (gl.CSBM(**DATA, directed=False), False),
}
graphs = pytest.mark.parametrize(("data", "symmetrize"), GRAPHS.values(), ids=GRAPHS)


def directed_averages(filter, lam, mu):
    return filter_averages(
        filter, SpikedOperator(np.array([lam]), symmetric=False), np.array([mu]), nodes=0
    )


@pytest.mark.parametrize("row", rows(infinite=True), ids=name)
def test_reference(row):
    prediction = gl.predict(*problem(row))
    assert abs(prediction.test_accuracy - row["test_accuracy"]) < 1e-12
    assert abs(prediction.train_accuracy - row["train_accuracy"]) < 1e-12
    assert prediction.test_loss == prediction.train_loss == 0.5


@graphs
def test_residual_equals_polynomial(data, symmetrize):
    c = RNG.uniform(-2, 2, (N, 4))
    coefficients = np.stack([np.polynomial.polynomial.polyfromroots(-row) for row in c])
    close(
        margin(data, gl.Residual(c), symmetrize),
        margin(data, gl.Polynomial(coefficients), symmetrize),
        1e-10,
    )


@graphs
def test_the_order_and_scale_of_layers_do_not_matter(data, symmetrize):
    c = RNG.uniform(-2, 2, (N, 5))
    close(
        margin(data, gl.Residual(c), symmetrize),
        margin(data, gl.Residual(c[:, ::-1]), symmetrize),
        1e-11,
    )
    g = RNG.normal(size=(N, 4))
    close(
        margin(data, gl.Polynomial(g), symmetrize),
        margin(data, gl.Polynomial(-1e200 * g), symmetrize),
        1e-11,
    )


@graphs
def test_euler_products_converge_to_the_exponential_like_one_over_depth(data, symmetrize):
    t = RNG.uniform(0.3, 1.5, N)
    limit = margin(data, gl.Diffusion(t), symmetrize)
    error = [margin(data, gl.Residual.constant(K / t, K), symmetrize) - limit for K in (100, 200)]
    assert np.median(np.abs(error[0] / error[1] - 2.0)) < 0.05
    assert np.all(np.abs(2 * error[1] - error[0]) < 0.05 * np.abs(error[0]) + 1e-4)


@graphs
def test_closed_filters_equal_their_chains(data, symmetrize):
    """The exponential and the resolvent against the polynomials that their series are."""
    t = RNG.uniform(-1, 1, N)
    series = t[:, None] ** np.arange(45) / np.array([math.factorial(k) for k in range(45)], float)
    close(
        margin(data, gl.Diffusion(t), symmetrize),
        margin(data, gl.Polynomial(series), symmetrize),
        1e-11,
    )
    theta = RNG.uniform(-0.2, 0.2, N)
    close(
        margin(data, gl.PageRank(theta), symmetrize),
        margin(data, gl.Polynomial(theta[:, None] ** np.arange(60.0)), symmetrize),
        1e-10,
    )


@graphs
def test_heterophily_is_the_mirror_of_homophily(data, symmetrize):
    t = RNG.uniform(-3, 3, N)
    mirror = gl.CSBM(**DATA | {"lam": -DATA["lam"]}, directed=data.directed)
    close(
        margin(data, gl.Diffusion(t), symmetrize),
        margin(mirror, gl.Diffusion(-t), symmetrize),
        1e-13,
    )
    g = RNG.normal(size=(N, 5))
    flipped = g * (-1.0) ** np.arange(5)
    close(
        margin(data, gl.Polynomial(g), symmetrize),
        margin(mirror, gl.Polynomial(flipped), symmetrize),
        1e-13,
    )


@graphs
def test_without_layers_the_graph_is_ignored(data, symmetrize):
    """The Gaussian mixture: c empty, t = 0, theta = 0 and a constant are one classifier, with a closed form."""
    expected = (
        np.sqrt(DATA["rho"] / DATA["alpha"]) * DATA["mu"] / np.sqrt(1 + DATA["rho"] * DATA["mu"])
    )
    for filter in (
        gl.Residual(np.empty((N, 0))),
        gl.Diffusion(0.0),
        gl.PageRank(0.0),
        gl.Polynomial([3.0]),
    ):
        close(margin(data, filter, symmetrize), expected, 1e-13)


def test_symmetric_formula_is_continuous_through_the_transition():
    data = gl.CSBM(alpha=2, lam=1 + np.array([-1e-9, 0.0, 1e-9]), mu=1, rho=0.2, directed=False)
    for filter in (gl.Diffusion(20.0), gl.Residual.constant(1.0, 30), gl.PageRank(0.49)):
        below, at, above = margin(data, filter, False)
        assert abs(above - 2 * at + below) < 1e-12
        assert 0 < above - below < 1e-6


@pytest.mark.parametrize(
    ("lam", "t"), [(0.5, 60.0), (-0.5, 60.0), (1.0, -60.0), (30.0, 2.0), (-12.0, 5.0), (2.0, 0.3)]
)
def test_directed_diffusion_against_many_digits(lam, t):
    """Naive sums of the Taylor series at 120 digits; the chain must not lose any of its sixteen."""
    mp.mp.dps = 120
    n = 60 + 4 * math.ceil(abs(t) * max(1, abs(lam)))
    g = [mp.mpf(t) ** k / mp.factorial(k) for k in range(n)]
    G = [mp.mpf(0)] * (n + 1)
    for k in range(n - 1, -1, -1):
        G[k] = g[k] + lam * G[k + 1]
    found = directed_averages(gl.Diffusion(np.array([t])), lam, 1.5)
    g2 = mp.fsum(x * x for x in g)
    assert found.e_g2[0] / found.tau_g2[0] == pytest.approx(
        float(mp.fsum(x * x for x in G[:-1]) / g2), rel=1e-12
    )
    assert found.excess[0] / found.tau_g2[0] == pytest.approx(
        float(mp.fsum(x * x - y * y for x, y in zip(G[:-1], g, strict=True)) / g2), rel=1e-12
    )
    assert abs(found.e_g[0]) / np.sqrt(found.tau_g2[0]) == pytest.approx(
        float(abs(G[0]) / mp.sqrt(g2)), rel=1e-11
    )


def test_directed_double_sums_against_many_digits():
    mp.mp.dps = 50
    c, lam, mu = [1.5, -0.3, 2.0], mp.mpf(-30), mp.mpf(2)
    g = [mp.mpf(x) for x in np.polynomial.polynomial.polyfromroots([-v for v in c])]
    n = len(g)
    G = [mp.fsum(g[i + k] * lam**k for k in range(n - i)) for i in range(n)]
    R = [mp.fsum(G[j] * G[i + j] for j in range(n - i)) for i in range(n)]

    def overlap(a, b, i, j):
        return mp.fsum(a[k + i] * b[k + j] for k in range(n - max(i, j)))

    coherent = mp.fsum((mu * G[0] * G[i] + R[i]) ** 2 for i in range(1, n))
    coherent += mp.fsum(overlap(g, G, i, j) ** 2 for i in range(n) for j in range(1, n))
    scattered = (
        mp.fsum(overlap(g, g, i, j) ** 2 for i in range(n) for j in range(n))
        - overlap(g, g, 0, 0) ** 2
    )
    found = directed_averages(gl.Residual(np.array([c])), -30.0, 2.0)
    scale = found.tau_g2[0] / float(mp.fsum(x * x for x in g))
    assert found.coherent[0] == pytest.approx(float(coherent) * scale**2, rel=1e-12)
    assert found.scattered[0] == pytest.approx(float(scattered) * scale**2, rel=1e-12)


@graphs
@pytest.mark.parametrize(
    "filter",
    [gl.Residual.constant(3.0, 60), gl.Diffusion(2.0), gl.Polynomial([1.0, 1.0, 1.0])],
    ids=repr,
)
def test_strong_signals_stay_finite(data, symmetrize, filter):
    data = gl.CSBM(alpha=4, lam=[-30.0, -10.0, 10.0, 30.0], mu=1, rho=0.1, directed=data.directed)
    prediction = gl.predict(data, gl.GCN(filter, symmetrize=symmetrize))
    assert np.all(np.isfinite(prediction.log_test_error))
    assert prediction.log_test_error[3] < prediction.log_test_error[2] < -20


def test_log_test_error_far_below_rounding():
    """At lambda = 26 two layers err once in 1e300; the logarithm still has all its digits."""
    data = gl.CSBM(alpha=1, lam=26.0, mu=1, rho=0.5, directed=True)
    prediction = gl.predict(data, gl.GCN(gl.Residual([0.0, 0.0]), symmetrize=True))
    z = gl.limits.pca_margin(26 * np.sqrt(2))
    assert prediction.test_accuracy == 1.0
    assert prediction.log_test_error == pytest.approx(float(log_ndtr(-z)), rel=5e-3)
    assert prediction.log_test_error == pytest.approx(
        float(log_ndtr(-prediction.order_parameters.test_margin)), rel=1e-15
    )


@pytest.mark.parametrize("t", [-50.0, 50.0])
@pytest.mark.parametrize("lam", [0.2, 1.0, 3.0, 30.0])
def test_long_symmetric_diffusions(t, lam):
    prediction = gl.predict(
        gl.CSBM(alpha=4, lam=lam, mu=1, rho=0.1), gl.GCN(gl.Diffusion(t), symmetrize=True)
    )
    assert 0 <= prediction.test_accuracy <= 1
    if t * lam > 0 and lam >= 3:
        expected = gl.limits.long_diffusion_limit(np.sqrt(2) * lam, t)
        assert prediction.order_parameters.test_margin == pytest.approx(float(expected), rel=1e-9)


def test_many_directed_points_are_summed_as_a_few_are():
    lam = np.linspace(-2.0, 2.0, 600)
    gcn = gl.GCN(gl.Residual([1.0, 0.5, 2.0]), symmetrize=False)
    whole = gl.predict(gl.CSBM(4, lam, 2.0, 0.1), gcn).log_test_error
    parts = [
        gl.predict(gl.CSBM(4, part, 2.0, 0.1), gcn).log_test_error for part in np.split(lam, 2)
    ]
    close(whole, np.concatenate(parts), 1e-13)


def test_vectorized_equals_one_by_one():
    data, _ = GRAPHS["symmetrized"]
    t = RNG.uniform(-30, 30, (3, 1))
    for symmetrize in (False, True):
        together = gl.predict(data, gl.GCN(gl.Diffusion(t), symmetrize=symmetrize))
        for i in (0, 17, N - 1):
            alone = gl.predict(
                gl.CSBM(**{k: v[i] for k, v in DATA.items()}),
                gl.GCN(gl.Diffusion(t[1, 0]), symmetrize=symmetrize),
            )
            assert alone.log_test_error == pytest.approx(together.log_test_error[1, i], rel=1e-11)


@pytest.mark.parametrize(
    ("theta", "data", "symmetrize", "limit"),
    [
        (0.5, gl.CSBM(alpha=1, lam=0.5, mu=1, rho=0.1), True, 0.5),
        (0.42, gl.CSBM(alpha=1, lam=2.0, mu=1, rho=0.1, directed=False), False, 0.4),
        (-0.45, gl.CSBM(alpha=1, lam=-2.4, mu=1, rho=0.1), False, 1 / 2.4),
    ],
)
def test_diverging_pagerank_is_refused(theta, data, symmetrize, limit):
    with pytest.raises(gl.ParameterError, match=rf"theta = {theta} .* must be below {limit:.6g}"):
        gl.predict(data, gl.GCN(gl.PageRank(theta), symmetrize=symmetrize))
    inside = math.copysign(limit * (1 - 1e-4), theta)
    assert (
        0 < gl.predict(data, gl.GCN(gl.PageRank(inside), symmetrize=symmetrize)).test_accuracy <= 1
    )


def test_training_without_labels_is_refused():
    with pytest.raises(
        gl.ParameterError, match="rho = 0 is not allowed here: a network needs labelled nodes"
    ):
        gl.predict(
            gl.CSBM(alpha=1, lam=1, mu=1, rho=[0.1, 0.0]),
            gl.GCN(gl.Diffusion(1.0), symmetrize=False),
        )


def test_accuracies_are_those_of_the_margins():
    data, symmetrize = GRAPHS["directed"]
    prediction = gl.predict(data, gl.GCN(gl.Diffusion(0.7), symmetrize=symmetrize))
    close(prediction.test_accuracy, ndtr(prediction.order_parameters.test_margin), 1e-15)
    assert np.all(prediction.standard_error.test_accuracy == 0)
    assert np.all(prediction.status == gl.Status.EXPLICIT)
