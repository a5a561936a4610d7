"""Order functions: closed form, discretization and finite regularization meet."""

import math

import numpy as np
import pytest
from problems import graphs
from scipy.special import i0, iv

import gcnlimit as gl

FUNCTIONS = ("m", "Q", "V", "Q_qh", "V_qh", "m_hat", "Q_hat", "V_hat")
WEIGHTS = ("m_w", "Q_w", "V_w", "m_hat_w", "Q_hat_w", "V_hat_w")


def distance(a, b):
    return np.max(np.abs(np.subtract(a, b))) / max(np.max(np.abs(b)), 1e-300)


@graphs
@pytest.mark.parametrize(("lam", "t"), [(1.3, 0.9), (0.6, -0.7), (-1.5, -0.4)])
def test_discrete_networks_approach_the_continuous_one_like_one_over_depth(
    directed, symmetrize, lam, t
):
    data = gl.CSBM(alpha=2, lam=lam, mu=1.5, rho=0.3, directed=directed)
    gcn = gl.GCN(gl.Diffusion(t), symmetrize=symmetrize)
    found = [gl.depth.order_functions(data, gcn, layers=K) for K in (10, 20, 40)]
    discrete = [f.as_dict() for f in found]
    continuous = gl.depth.order_functions(data, gcn, found[0].x).as_dict()
    for name in FUNCTIONS + WEIGHTS:
        first, second, third = (
            f[name][(slice(None, None, 2**i),) * f[name].ndim] for i, f in enumerate(discrete)
        )
        once = 2 * second - first, 2 * third - second
        twice = (4 * once[1] - once[0]) / 3
        exact = continuous[name]
        if (
            distance(first, exact) > 1e-12
        ):  # V_w, and V_qh of a directed graph, are the same at any depth
            assert (
                1.6 < distance(second, exact) / distance(third, exact) < 2.4
            )  # halves when the depth doubles
            assert distance(once[1], exact) < 0.35 * distance(third, exact)
        assert distance(twice, exact) < 0.02


@graphs
@pytest.mark.parametrize(("loss", "reg"), [("square", 0.5), ("logistic", 0.05), ("hinge", 0.3)])
def test_so_they_do_at_finite_regularization(directed, symmetrize, loss, reg):
    """Extrapolated from 10, 20 and 40 layers."""
    data = gl.CSBM(alpha=2, lam=1.1, mu=1.5, rho=0.3, directed=directed)
    gcn = gl.GCN(gl.Diffusion(0.8), loss, reg, symmetrize=symmetrize)
    found = [gl.depth.order_functions(data, gcn, layers=K) for K in (10, 20, 40)]
    discrete = [f.as_dict() for f in found]
    continuous = gl.depth.order_functions(data, gcn, found[0].x).as_dict()
    for name in FUNCTIONS + WEIGHTS:
        first, second, third = (
            f[name][(slice(None, None, 2**i),) * f[name].ndim] for i, f in enumerate(discrete)
        )
        assert distance((first - 6 * second + 8 * third) / 3, continuous[name]) < 1e-3


def test_eighty_layers_on_a_symmetric_graph_are_twice_as_near_as_forty():
    data, gcn = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.Diffusion(1.0))
    forty, eighty = (gl.depth.order_functions(data, gcn, layers=K).m for K in (40, 80))
    exact = gl.depth.order_functions(data, gcn, np.arange(40) / 40).m
    assert distance(forty, exact) / distance(eighty[::2], exact) == pytest.approx(2.0, abs=0.1)


@graphs
def test_the_end_of_the_depth_gives_the_accuracy(directed, symmetrize):
    rng = np.random.default_rng(3)
    parameters = dict(
        zip(("alpha", "lam", "mu", "rho", "t"), rng.uniform(0.2, 1, (5, 12)), strict=True)
    )
    t = 2 * parameters.pop("t")
    data = gl.CSBM(**parameters, directed=directed)
    gcn = gl.GCN(gl.Diffusion(t), symmetrize=symmetrize)
    f = gl.depth.order_functions(data, gcn, [1.0])
    m, V, Q = f.m[:, -1], f.V[:, -1, -1], f.Q[:, -1, -1]
    deviation = np.sqrt(Q - m**2 - data.rho * (1 - data.rho) * V**2)
    expected = gl.predict(data, gcn).order_parameters
    assert np.allclose((m - data.rho * V) / deviation, expected.test_margin, rtol=1e-9)
    assert np.allclose((m + (1 - data.rho) * V) / deviation, expected.train_margin, rtol=1e-9)


@graphs
@pytest.mark.parametrize("reg", [0.01, 0.3, 20.0])
def test_the_end_of_the_depth_is_the_output_at_finite_regularization(directed, symmetrize, reg):
    """A labelled node has h = w + v f with f = (1 - w)/(1 + v), any other h = w, its output w Gaussian."""
    data = gl.CSBM(alpha=2, lam=[0.7, 1.6], mu=1.5, rho=0.3, directed=directed)
    gcn = gl.GCN(gl.Diffusion([0.8, -0.5]), reg=reg, symmetrize=symmetrize)
    f, p = (
        gl.depth.order_functions(data, gcn, [0.3, 1.0]),
        gl.predict(data, gcn, tol=1e-12).order_parameters,
    )
    mean, variance, v = p.output
    rho, shrink = data.rho, 1 / (1 + v)
    labelled = (mean + v) * shrink
    assert np.allclose(f.m[:, -1], rho * labelled + (1 - rho) * mean, rtol=1e-9)
    second = rho * (labelled**2 + shrink**2 * variance) + (1 - rho) * (mean**2 + variance)
    assert np.allclose(f.Q[:, -1, -1], second, rtol=1e-9)
    assert np.allclose(f.V[:, -1, -1], v * (rho * shrink + 1 - rho), rtol=1e-9)
    for ours, theirs in zip(f.weights, p.weights, strict=True):
        assert np.allclose(ours, theirs, rtol=1e-9)


@graphs
@pytest.mark.parametrize(
    "filter", [gl.Diffusion(0.8), gl.Residual([1.0, 0.5, 2.0]), gl.Polynomial([1.0, 0.3, 0.2])]
)
def test_a_large_regularization_has_the_leading_powers(directed, symmetrize, filter):
    data = gl.CSBM(alpha=2, lam=1.2, mu=1.5, rho=0.3, directed=directed)
    layers = {"depths": [0.0, 0.4, 1.0]} if isinstance(filter, gl.Diffusion) else {}
    infinite, r = (
        gl.depth.order_functions(data, gl.GCN(filter, symmetrize=symmetrize), **layers),
        1e8,
    )
    large = gl.depth.order_functions(data, gl.GCN(filter, reg=r, symmetrize=symmetrize), **layers)
    power = {"m": 1, "V": 1, "Q_qh": 1, "m_w": 1, "V_w": 1, "Q": 2, "Q_w": 2}
    for name in FUNCTIONS + WEIGHTS:
        assert (
            distance(large.as_dict()[name] * r ** power.get(name, 0), infinite.as_dict()[name])
            < 1e-4
        )


def test_layers_are_the_order_parameters_of_the_prediction():
    data = gl.CSBM(alpha=[1.0, 4.0], lam=1.2, mu=1.5, rho=0.3)
    gcn = gl.GCN(gl.Residual([1.0, 0.5, 2.0]), loss="logistic", reg=0.5, symmetrize=True)
    f, p = gl.depth.order_functions(data, gcn), gl.predict(data, gcn).order_parameters.layers
    assert np.allclose(f.x, [0, 1 / 3, 2 / 3])
    for (name, ours), theirs in zip(f.as_dict().items(), p.as_dict().values(), strict=True):
        assert np.allclose(ours, theirs, rtol=1e-8, atol=1e-14), name


def test_the_discretization_of_a_diffusion_is_a_residual_network():
    data, t, K = gl.CSBM(alpha=2, lam=1.2, mu=1.5, rho=0.3), 0.8, 4
    f = gl.depth.order_functions(data, gl.GCN(gl.Diffusion(t), reg=2.0, symmetrize=False), layers=K)
    scale = (K / t) ** np.arange(K + 1)
    g = gl.depth.order_functions(
        data, gl.GCN(gl.Residual.constant(K / t, K), reg=2.0 * scale[K] ** 2, symmetrize=False)
    )
    up = (
        scale[:K] / scale[K]
    )  # the residual network has grown by K/t at each layer, and its weights shrink for it
    assert distance(g.m * scale[K], f.m * scale[:K]) < 1e-8
    assert distance(g.Q * scale[K] ** 2, f.Q * np.outer(scale[:K], scale[:K])) < 1e-8
    assert distance(g.m_hat * up * K, f.m_hat) < 1e-8


def test_resolvents_are_bessel_functions():
    x, z = np.linspace(0.05, 1, 7)[:, None], np.linspace(0.05, 1, 5)
    nu = np.arange(1, 80)
    assert np.allclose(
        gl.depth.resolvents.Phi(x, z, t=2.0, symmetric=False), i0(4 * np.sqrt(x * z)), rtol=1e-13
    )
    assert np.allclose(
        gl.depth.resolvents.Phi(x, z, t=2.0, symmetric=True),
        iv(1, 4 * (x + z)) / (2 * (x + z)),
        rtol=1e-13,
    )
    for signal in (-1.7, -0.4, 0.0, 1.0, 1.5):
        series = np.sum(nu * signal ** (nu - 1.0) * iv(nu, 4 * x), axis=1) / (2 * x[:, 0])
        assert np.allclose(
            gl.depth.resolvents.phi(x[:, 0], t=2.0, signal=signal, symmetric=True),
            series,
            rtol=1e-12,
        )
    assert np.allclose(
        gl.depth.resolvents.phi(x, t=[1.0, -2.0], signal=1.5, symmetric=False),
        np.exp(1.5 * x * [1, -2]),
    )
    assert np.all(gl.depth.resolvents.kappa(0.0, t=3.0, symmetric=True) == 1.0)


@graphs
def test_a_diffusion_is_the_same_on_the_mirrored_graph(directed, symmetrize):
    first, second = (
        gl.depth.order_functions(
            gl.CSBM(alpha=2, lam=sign * 0.8, mu=1.5, rho=0.3, directed=directed),
            gl.GCN(gl.Diffusion(sign * 1.5), symmetrize=symmetrize),
            [0.0, 0.4, 1.0],
        )
        for sign in (1, -1)
    )
    for name in FUNCTIONS:
        sign = -1 if name in ("Q_qh", "V_qh") else 1  # they carry one factor t
        assert distance(sign * second.as_dict()[name], first.as_dict()[name]) < 1e-12


def test_without_time_nothing_moves():
    f = gl.depth.order_functions(
        gl.CSBM(alpha=2, lam=1.0, mu=1.5, rho=0.3),
        gl.GCN(gl.Diffusion(0.0), symmetrize=False),
        [0.0, 0.5, 1.0],
    )
    assert np.ptp(f.m) < 1e-15
    assert np.ptp(f.Q) < 1e-15
    assert np.all(f.m_hat == 0)
    assert np.all(np.abs(f.V_hat) < 1e-200)


def test_one_of_many_points_is_what_it_is_alone_and_has_its_labels():
    data = gl.CSBM(alpha=2, lam=[[0.5], [1.0]], mu=1.5, rho=0.3)
    f = gl.depth.order_functions(
        data, gl.GCN(gl.Diffusion([0.1, 0.2, 0.3]), symmetrize=True), np.linspace(0, 1, 4)
    )
    one = gl.depth.order_functions(
        gl.CSBM(2, 1.0, 1.5, 0.3), gl.GCN(gl.Diffusion(0.2), symmetrize=True), np.linspace(0, 1, 4)
    )
    assert np.allclose(one.Q, f.Q[1, 1], rtol=1e-13, atol=0)
    dataset = f.to_xarray()
    assert dataset.Q.dims == ("point_0", "point_1", "x", "z")
    assert dataset.m.dims == ("point_0", "point_1", "x")
    assert abs(float(one.to_xarray().V_qh.sel(x=1.0, z=0.0))) < 1e-15  # the past does not respond


@pytest.mark.parametrize(
    ("gcn", "arguments", "words"),
    [
        (gl.GCN(gl.Diffusion(1.0), reg=1.0, symmetrize=False), {}, "either depths"),
        (gl.GCN(gl.Diffusion(20.0), symmetrize=False), {"depths": [0.5]}, "too long"),
        (gl.GCN(gl.Diffusion(1.0), symmetrize=False), {}, "either depths"),
        (
            gl.GCN(gl.Diffusion(1.0), symmetrize=False),
            {"depths": [0.5], "layers": 3},
            "either depths",
        ),
        (gl.GCN(gl.Diffusion(1.0), symmetrize=False), {"depths": [1.5]}, "depths = 1.5"),
        (gl.GCN(gl.Diffusion(1.0), symmetrize=False), {"depths": [[0.5]]}, "one-dimensional"),
        (gl.GCN(gl.Diffusion(1.0), symmetrize=False), {"layers": 0}, "layers = 0"),
        (gl.GCN(gl.Diffusion(1.0), reg=[1.0, math.inf], symmetrize=False), {"layers": 3}, "mixes"),
        (
            gl.GCN(gl.Diffusion(1.0), loss="logistic", symmetrize=False),
            {"depths": [0.5]},
            "take loss='square'",
        ),
        (gl.GCN(gl.Diffusion(500.0), symmetrize=False), {"depths": [0.5]}, "too long"),
        (gl.GCN(gl.Residual([1.0]), symmetrize=False), {"depths": [0.5]}, "its own layers"),
        (gl.GCN(gl.PageRank(0.1), symmetrize=False), {}, "no depth"),
    ],
)
def test_what_has_no_order_functions_is_refused(gcn, arguments, words):
    with pytest.raises(gl.ParameterError, match=words):
        gl.depth.order_functions(gl.CSBM(alpha=2, lam=1.0, mu=1.5, rho=0.3), gcn, **arguments)


@graphs
@pytest.mark.parametrize("reg", [0.4, math.inf])
def test_a_normalized_network_is_one_at_another_regularization(directed, symmetrize, reg):
    """Its states and its output are those of the plain network at reg times the squared gain, its weights larger by the gain."""
    data, filter = gl.CSBM(alpha=2, lam=1.1, mu=1.5, rho=0.3, directed=directed), gl.Diffusion(0.8)
    symmetric = symmetrize or not directed
    gain = float(np.exp(filter.log_gain(symmetric)))
    normal = gl.depth.order_functions(
        data, gl.GCN(filter, "square", reg, symmetrize, normalize=True), [0.0, 0.5, 1.0]
    )
    plain = gl.depth.order_functions(
        data, gl.GCN(filter, "square", reg * gain**2, symmetrize), [0.0, 0.5, 1.0]
    )
    power = {"m": 1, "Q": 2, "V": 2, "m_hat": -1, "Q_hat": -2, "V_hat": -2}
    if math.isinf(
        reg
    ):  # what vanishes is counted in powers of a regularization that is larger by the squared gain
        power |= {"m": -1, "Q": -2, "V": 0, "Q_qh": -2}
    for name, value in plain.as_dict().items():
        assert np.allclose(
            normal.as_dict()[name],
            value * gain ** power.get(name.removesuffix("_w"), 0),
            rtol=1e-8,
            atol=1e-12,
        )
