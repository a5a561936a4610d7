"""Filter, regularization and loss chosen together: dense scans of the plane, faces, symmetries, plateaus."""

import math

import numpy as np
import pytest
from problems import DATA, margin

import gcnlimit as gl
from gcnlimit.choose.search import NetworkSearch
from gcnlimit.theory.points import Points

REG = (0.05, math.inf)
GRID = np.append(np.geomspace(0.05, 1e4, 12), math.inf)
FAMILIES = {
    "t": (gl.Diffusion(0.5), (-4, 4), lambda u: gl.Diffusion(4 * u)),
    "theta": (gl.PageRank(0.0), (-0.4, 0.4), lambda u: gl.PageRank(0.4 * u)),
    "c": (
        gl.Residual.constant(1.0, 2),
        (-9, 9),
        lambda u: gl.Residual.constant(np.sinh(np.arcsinh(9) * u), 2),
    ),
    "coefficients": (
        gl.Polynomial(np.ones(2)),
        (-1, 1),
        lambda u: gl.Polynomial(np.stack([np.cos(np.pi / 2 * u), np.sin(np.pi / 2 * u)], axis=-1)),
    ),
}
POINTS = gl.CSBM(alpha=[1.0, 4.0], lam=[0.9, -0.6], mu=[3.0, 0.3], rho=[0.4, 0.1])


def against_a_scan(name, loss, symmetrize):
    """Nothing on a grid of the plane is better, and the best of the grid is not far below."""
    start, bounds, build = FAMILIES[name]
    best = gl.tune(POINTS, gl.GCN(start, loss, symmetrize=symmetrize), {name: bounds, "reg": REG})
    columns = gl.CSBM(
        *(np.asarray(p)[:, None, None] for p in (POINTS.alpha, POINTS.lam, POINTS.mu, POINTS.rho))
    )
    plane = gl.GCN(build(np.linspace(-1, 1, 23)[:, None]), loss, reg=GRID, symmetrize=symmetrize)
    scan = margin(gl.predict(columns, plane, throw=False)).reshape(2, -1).max(axis=1)
    assert np.all(margin(best.prediction) >= scan - 1e-9)
    np.testing.assert_allclose(margin(best.prediction), scan, atol=2e-2)
    infinite = np.isinf(best.parameters["reg"])
    assert np.all((best.status == gl.results.TuneStatus.INFINITE) == infinite)


@pytest.mark.parametrize("name", list(FAMILIES))
def test_nothing_in_the_plane_is_better(name):
    against_a_scan(name, "square", symmetrize=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, loss",
    [("t", "hinge"), ("theta", "logistic"), ("c", "hinge"), ("coefficients", "logistic")],
)
def test_nothing_in_the_plane_is_better_for_other_losses(name, loss):
    against_a_scan(name, loss, symmetrize=True)


@pytest.mark.slow
@pytest.mark.parametrize("name, loss", [("c", "logistic"), ("coefficients", "square")])
def test_nothing_in_the_plane_is_better_on_directed_graphs(name, loss):
    against_a_scan(name, loss, symmetrize=False)


@pytest.mark.slow
def test_the_best_loss_is_better_than_each_choice_made_apart():
    gcn = gl.GCN(gl.Diffusion(1.0), symmetrize=True)
    at_infinity = gl.tune(DATA, gcn, {"t": (0, 10)})
    for loss in ("square", "logistic"):  # the hinge loss meets a scan of the same plane above
        best = gl.tune(DATA, gl.GCN(gcn.filter, loss, symmetrize=True), {"t": (0, 10), "reg": REG})
        for filter, reg in ((at_infinity.gcn.filter, GRID), (best.gcn.filter, GRID)):
            line = gl.predict(DATA, gl.GCN(filter, loss, reg=reg, symmetrize=True))
            assert margin(best.prediction) >= margin(line).max() - 1e-10
        assert margin(best.prediction) > margin(at_infinity.prediction)
        assert best.status is gl.results.TuneStatus.INTERIOR


def test_joint_optimum_is_a_maximum_along_each_parameter():
    best = gl.tune(DATA, gl.GCN(gl.Diffusion(1.0), symmetrize=True), {"t": (0, 10), "reg": REG})
    t, reg = best.parameters["t"], best.parameters["reg"]
    step = np.array([-0.02, 0.0, 0.02])
    for name, filter, strength in (
        ("t", gl.Diffusion(t + step), reg),
        ("reg", gl.Diffusion(t), reg * np.exp(step)),
    ):
        z = margin(gl.predict(DATA, gl.GCN(filter, reg=strength, symmetrize=True)))
        assert z[1] - 0.5 * (z[0] + z[2]) == pytest.approx(
            -0.5 * best.curvature[name] * 0.02**2, rel=1e-2
        )
        assert z[2] - z[0] == pytest.approx(0.0, abs=1e-6)


def test_a_multiple_of_the_filter_is_a_multiple_of_the_regularization():
    family = gl.GCN(gl.Polynomial(np.ones(2)), symmetrize=True)
    narrow, wide = (
        gl.tune(DATA, family, {"coefficients": (-s, s), "reg": REG}) for s in (1.0, 3.0)
    )
    assert margin(narrow.prediction) == pytest.approx(margin(wide.prediction), abs=1e-9)
    strength = [
        float(b.parameters["reg"] / b.parameters["coefficients"][0] ** 2) for b in (narrow, wide)
    ]
    assert strength[0] == pytest.approx(strength[1], rel=1e-2)


@pytest.mark.parametrize("scale", [1e-4, 1e4])
def test_any_regularization_is_searched_in_the_units_of_the_filter(scale):
    one, other = (
        gl.tune(DATA, gl.GCN(gl.Polynomial([s, 0.5 * s])), {"reg": (0, math.inf)})
        for s in (1.0, scale)
    )
    assert margin(other.prediction) == pytest.approx(margin(one.prediction), abs=1e-11)
    assert other.parameters["reg"] == pytest.approx(scale**2 * one.parameters["reg"], rel=1e-5)


def test_outputs_that_never_reach_the_kink_make_infinity_as_good():
    best = gl.tune(
        DATA,
        gl.GCN(gl.Residual.constant(1.0, 2), "hinge", symmetrize=False),
        {"reg": (0.1, math.inf)},
    )
    assert best.status is gl.results.TuneStatus.INFINITE


def test_without_any_signal_nothing_is_better_at_finite_regularization_either():
    data = gl.CSBM(alpha=4, lam=0.0, mu=0.0, rho=0.1)
    best = gl.tune(
        data, gl.GCN(gl.Diffusion(1.0), symmetrize=True), {"t": (0, 5), "reg": (0.1, math.inf)}
    )
    assert best.status is gl.results.TuneStatus.FLAT
    assert "end of the interval" in best.status.message


def test_long_series_on_directed_graphs_are_refused():
    gcn, free = gl.GCN(gl.Diffusion(1.0), symmetrize=False), {"t": (0, 99)}
    with pytest.raises(gl.ParameterError, match="too long for a directed graph"):
        gl.tune(DATA, gcn, free | {"reg": REG})
    assert gl.tune(DATA, gcn, free).status is gl.results.TuneStatus.INTERIOR
    long = gl.GCN(gl.Diffusion([1.0, 99.0]), reg=1.0, symmetrize=False)
    with pytest.raises(gl.ParameterError, match=r"t = 99 is a series of \d+ layers"):
        gl.predict(DATA, long)
    statuses = [gl.Status.CONVERGED, gl.Status.REFUSED]
    assert gl.predict(DATA, long, throw=False).status.tolist() == statuses


def test_a_filter_next_to_its_divergence_is_predicted_alone_as_among_others():
    theta = 0.9999 / (math.sqrt(2) + 1 / math.sqrt(2))
    alone, twice = (
        gl.predict(DATA, gl.GCN(gl.PageRank(x), reg=1.0, symmetrize=True))
        for x in (theta, [theta, theta])
    )
    assert margin(alone) == pytest.approx(margin(twice)[0], abs=1e-10)


def test_degrees_that_are_alike_leave_nothing_to_normalize():
    """Filter and regularization of any scale are searched alike, whichever normalization is asked for: the operator is one."""
    gcn, free = gl.GCN(gl.PageRank(0.1), reg=1.0), {"theta": (-1.0, 1.0), "reg": (0.0, math.inf)}
    plain, other = (
        gl.tune(POINTS, gcn.replaced(normalization=name), free)
        for name in ("symmetric", gl.Regularized(2.0))
    )
    for name in free:
        assert np.array_equal(plain.parameters[name], other.parameters[name])


@pytest.mark.parametrize("layers", [1, 3])
def test_the_search_starts_from_the_network_as_it_was_given(layers):
    """Each layer from its own number, and one number for all layers from that of all."""
    c = np.array([[0.5, -1.0, 2.0], [1.5, 0.2, -0.3]]) if layers > 1 else np.array([[0.7], [-2.0]])
    reg = np.array([0.7, 3.0])
    filter = gl.Residual(c) if layers > 1 else gl.Residual.constant(c[:, 0], 2)
    free = {"c": [(-9, 9)] * layers if layers > 1 else (-9, 9), "reg": (0.05, 10)}
    search = NetworkSearch.of(Points.of(POINTS, gl.GCN(filter, reg=reg)), free)
    begun = search.values(search.start(np.arange(2)), np.arange(2))
    np.testing.assert_allclose(begun, np.column_stack([c, reg]), rtol=1e-12)


@pytest.mark.parametrize(
    "free",
    [{"reg": (0, math.inf)}, pytest.param({}, marks=pytest.mark.slow)],
    ids=["any reg", "reg = 1"],
)
def test_free_layers_of_a_directed_graph_are_at_their_best_alike(free):
    """They can be exchanged: all layers of one strength are as good, and nothing around is better."""
    data, gcn = (
        gl.CSBM(0.5, 1.3, 1.0, 0.8),
        gl.GCN(gl.Residual([1.0, 1.0]), reg=1.0, symmetrize=False),
    )
    apart = gl.tune(data, gcn, {"c": [(-9, 9), (-9, 9)]} | free)
    alike = gl.tune(data, gcn, {"c": (-9, 9)} | free)
    np.testing.assert_allclose(margin(apart.prediction), margin(alike.prediction), rtol=1e-9)
    assert apart.status is gl.results.TuneStatus.INTERIOR
    c, reg = apart.gcn.filter.c, apart.gcn.reg
    around = gl.Residual(
        c * (1.0 + 0.05 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, -1]]))
    )
    assert np.all(
        margin(gl.predict(data, gcn.replaced(filter=around, reg=reg))) < margin(apart.prediction)
    )
    if free:
        elsewhere = gcn.replaced(filter=apart.gcn.filter, reg=np.array([0.8, 1.2, math.inf]) * reg)
        assert np.all(margin(gl.predict(data, elsewhere)) < margin(apart.prediction))
