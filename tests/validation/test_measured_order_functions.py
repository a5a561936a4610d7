"""Measured order functions beside the theory: Bessel functions of the continuous network, predictions of the others."""

import numpy as np
import pytest
from problems import GRAPHS
from scipy.special import i0, i1, iv

import gcnlimit as gl
from validation.measured_order_functions import measure_order_functions

T, ALPHA, LAM, MU, RHO = 1.0, 4.0, 1.0, 2.0, 0.2
X = np.array([0.0, 0.3, 0.6, 1.0])


@pytest.fixture(scope="module")
def instance():
    return gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), nodes=1200, degree=30, seed=3)


def tau(s):
    """Average of exp(t s x) over the semicircle."""
    z = np.where(s == 0, 1e-12, T * np.asarray(s, float))
    return i1(2 * z) / z


def label_average(s, signal):
    """Average of exp(t s x) over the spectral measure seen by the labels."""
    z = np.where(s == 0, 1e-12, T * np.asarray(s, float))
    return sum(k * signal ** (k - 1) * iv(k, 2 * z) for k in range(1, 60)) / z


def measure(symmetrize, trials=6):
    data = gl.CSBM(alpha=ALPHA, lam=LAM, mu=MU, rho=RHO)
    gcn = gl.GCN(gl.Diffusion(T), symmetrize=symmetrize)
    runs = [
        measure_order_functions(
            gl.sample(data, nodes=2500, degree=60, seed=k), gcn, X, probes=8, seed=k
        )
        for k in range(trials)
    ]
    names = ("m", "m_hat", "Q", "Q_hat", "Q_qh", "V", "V_qh", "V_hat")
    return {
        n: (
            np.mean([getattr(r, n) for r in runs], axis=0),
            np.std([getattr(r, n) for r in runs], axis=0, ddof=1) / np.sqrt(trials),
        )
        for n in names
    }


def assert_close(measured, expected, slack):
    mean, error = measured
    assert np.all(np.abs(mean - expected) < 4 * error + slack * np.abs(expected).max())


@pytest.mark.slow
def test_symmetrized_order_functions():
    measured = measure(symmetrize=True)
    signal = np.sqrt(2) * LAM
    e = lambda s: label_average(s, signal)  # noqa: E731
    x, z = X[:, None], X[None, :]
    s = RHO * e(1.0)
    n = RHO**2 * e(2.0) + RHO * (1 - RHO) * tau(2.0)
    pull = MU * s / ALPHA
    both = lambda u: RHO**2 * e(u) + RHO * (1 - RHO) * tau(u)  # noqa: E731
    expected = {
        "m": RHO / ALPHA * (e(X + 1) + MU * e(X) * e(1.0)),
        "m_hat": RHO * signal * T * e(1 - X),
        "Q": pull**2 * e(x + z)
        + 2 * pull * RHO / ALPHA * e(x + z + 1)
        + both(x + z + 2) / ALPHA**2
        + (n + MU * s**2) / ALPHA * tau(x + z),
        "Q_hat": T**2 * both(2 - x - z),
        "Q_qh": T * (pull * RHO * e(1 - x + z) + both(2 - x + z) / ALPHA),
        "V": tau(x + z) / ALPHA,
        "V_qh": np.where(z > x, T * tau(z - x), 0.0),
        "V_hat": RHO * T**2 * tau(2 - x - z),
    }
    for name, value in expected.items():
        assert_close(measured[name], value, slack=0.01)


@pytest.mark.slow
def test_directed_order_functions():
    measured = measure(symmetrize=False)
    x, z = X[:, None], X[None, :]
    expected = {
        "m_hat": RHO * LAM * T * np.exp(LAM * T * (1 - X)),
        "V": i0(2 * T * np.sqrt(x * z)) / ALPHA,
        "V_qh": np.where(z > x, T, 0.0),
        "V_hat": RHO * T**2 * i0(2 * T * np.sqrt((1 - x) * (1 - z))),
    }
    for name, value in expected.items():
        assert_close(measured[name], value, slack=0.01)


@pytest.mark.parametrize(
    ("gcn", "depths", "words"),
    [
        (gl.GCN(gl.Diffusion(1.0)), None, "needs depths"),
        (gl.GCN(gl.Diffusion(1.0)), [1.5], "depths = 1.5"),
        (gl.GCN(gl.Diffusion([1.0, 2.0])), [0.5], "one GCN"),
        (gl.GCN(gl.Diffusion(1.0), "logistic"), [0.5], "take loss='square'"),
        (gl.GCN(gl.Residual([1.0])), [0.5], "its own layers"),
        (gl.GCN(gl.PageRank(0.1)), None, "no depth"),
    ],
)
def test_what_has_no_order_functions_is_refused(instance, gcn, depths, words):
    with pytest.raises(gl.ParameterError, match=words):
        measure_order_functions(instance, gcn, depths)


def test_each_layer_propagates_the_one_before_and_adds_its_share(instance):
    gcn, strength = gl.GCN(gl.Residual([0.7, 2.0, -0.4]), reg=0.5), (0.7, 2.0)
    found = measure_order_functions(instance, gcn)
    a, n = instance.observation.operator(True), instance.labels.size
    states = [instance.features @ gl.fit(instance, gcn, tol=1e-12).weights / np.sqrt(n)]
    for c in strength:
        states.append(a @ states[-1] + c * states[-1])
    assert np.allclose(found.m, states @ instance.labels / n, rtol=1e-8)
    assert np.allclose(found.Q, np.array(states) @ np.transpose(states) / n, rtol=1e-8)


def test_the_layers_of_a_product_are_those_of_its_polynomial(instance):
    """(a + 1)(a + 2) = 2 + 3a + a^2: the same weights, and the same states at the first layer."""
    product = measure_order_functions(instance, gl.GCN(gl.Residual([1.0, 2.0]), reg=0.5))
    polynomial = measure_order_functions(instance, gl.GCN(gl.Polynomial([2.0, 3.0, 1.0]), reg=0.5))
    for ours, theirs in zip(product.weights, polynomial.weights, strict=True):
        assert np.allclose(ours, theirs, rtol=1e-6)
    assert np.isclose(product.m[0], polynomial.m[0])
    assert np.isclose(product.V[0, 0], polynomial.V[0, 0])


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_responses_are_those_of_a_network_trained_again(loss):
    """The slope of the weights in a small force on them is the inverse of the curvature: its trace is V_w."""
    data, reg = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.3), 0.5
    instance = gl.sample(data, nodes=400, degree=30, seed=1)
    gcn = gl.GCN(gl.Residual([1.0]), loss, reg)
    f = measure_order_functions(instance, gcn, probes=400)
    X, a = np.asarray(instance.features, float), instance.observation.operator(True)
    Z = (instance.labels[:, None] * (a @ X + X) / np.sqrt(400))[instance.train_mask]
    margins = Z @ gl.fit(instance, gcn, tol=1e-11).weights
    if loss == "logistic":
        inverse = np.linalg.inv(reg * np.eye(100) + Z.T @ (Z / (2 + 2 * np.cosh(margins))[:, None]))
    else:  # the nodes in the corner stay there: weights move within the space that keeps their margins
        corner = Z[np.abs(margins - 1) < 1e-5]
        inverse = (np.eye(100) - np.linalg.pinv(corner) @ corner) / reg
    deviation = np.sqrt(2 * np.sum(inverse**2) / 400)
    assert abs(f.weights.V * 400 - np.trace(inverse)) < 4 * deviation


DEPTHS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])

NETWORKS = [
    ("symmetric", gl.GCN(gl.Diffusion(1.0))),
    ("directed", gl.GCN(gl.Diffusion(1.0), reg=0.3)),
    ("symmetrized", gl.GCN(gl.Diffusion(0.7), "logistic", 0.1)),
    ("directed", gl.GCN(gl.Residual([1.0, 0.5, 0.3]), "logistic", 0.3)),
    ("symmetric", gl.GCN(gl.Polynomial([0.5, 0.3, 0.4]), reg=0.2)),
    ("symmetrized", gl.GCN(gl.Residual([1.0, 0.5]), "hinge", 0.5)),
]
"""Each with one kind of graph; the continuous network at infinite regularization meets Bessel functions on the others."""


@pytest.mark.slow
@pytest.mark.parametrize(("graph", "gcn"), NETWORKS, ids=repr)
def test_correlations_and_responses_are_those_of_sampled_networks(graph, gcn):
    directed, symmetrize = GRAPHS[graph]
    data = gl.CSBM(alpha=4, lam=0.8, mu=2.0, rho=0.2, directed=directed)
    gcn = gcn.replaced(symmetrize=symmetrize)
    depths = DEPTHS if isinstance(gcn.filter, gl.Diffusion) else None
    predicted = gl.depth.order_functions(data, gcn, depths).as_dict()
    runs = [
        measure_order_functions(
            gl.sample(data, nodes=700, degree=60, seed=k), gcn, depths, probes=8, seed=k
        ).as_dict()
        for k in range(16)
    ]
    for name, expected in predicted.items():
        values = np.array([run[name] for run in runs])
        error = np.std(values, axis=0, ddof=1) / np.sqrt(len(runs))
        slack = 0.01 * np.abs(expected).max()  # of a finite degree and a finite number of nodes
        assert np.all(np.abs(values.mean(axis=0) - expected) < 4 * error + slack), name
