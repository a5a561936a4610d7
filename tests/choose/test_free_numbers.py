"""The numbers of a normalization are tuned where degrees vary: scans, limits and refusals."""

import math

import numpy as np
import pytest
from problems import DATA, margin

import gcnlimit as gl
from gcnlimit.choose.free_numbers import free_numbers
from gcnlimit.choose.method import Method
from gcnlimit.theory.points import Points

HUBS = gl.CSBM(10.0, 1.0, 1.0, 0.05, directed=False, degrees=gl.Pareto(exponent=2.5, cut=20))
NETWORK = gl.GCN(gl.Residual([1.0]), normalization=gl.Regularized())


@pytest.mark.parametrize(
    "name, bounds", [("tau", (0.1, 20.0)), ("left", (-0.3, 0.9)), ("right", (-0.3, 0.9))]
)
@pytest.mark.parametrize("reg", [math.inf, 1.0])
def test_nothing_on_a_grid_is_better(name, bounds, reg):
    gcn = NETWORK.replaced(reg=reg, normalization=gl.Regularized(1.0))
    best = gl.tune(HUBS, gcn, {name: bounds})
    grid = np.linspace(*bounds, 60)
    scan = margin(
        gl.predict(HUBS, gcn.replaced(normalization=gcn.normalization.replaced(**{name: grid})))
    )
    assert margin(best.prediction) >= scan.max() - 1e-9
    assert margin(best.prediction) == pytest.approx(scan.max(), abs=1e-4)
    assert abs(best.parameters[name] - grid[scan.argmax()]) <= np.diff(grid)[0]


def test_an_array_of_normalizations_is_that_of_each():
    tau = [0.0, 0.5, 3.0]
    together = gl.predict(HUBS, NETWORK.replaced(normalization=gl.Regularized(tau)))
    each = [gl.predict(HUBS, NETWORK.replaced(normalization=gl.Regularized(one))) for one in tau]
    np.testing.assert_allclose(
        together.test_accuracy, [one.test_accuracy for one in each], atol=1e-13
    )
    np.testing.assert_array_equal(together.to_xarray().tau, tau)


def test_the_best_constant_of_the_best_filter_is_near_that_of_the_algorithm():
    best = gl.tune(
        HUBS, NETWORK.replaced(filter=gl.PageRank(0.4)), {"tau": (0, math.inf), "theta": (-1, 1)}
    )
    assert best.parameters["tau"] == pytest.approx(1.0, abs=0.1)  # 1 / lam**2
    assert best.status is gl.results.TuneStatus.INTERIOR
    assert best.gcn.normalization == gl.Regularized(best.parameters["tau"])


def test_of_several_starts_the_first_counts():
    starts = [gl.Regularized([0.5, 3.0]), gl.Regularized(0.5)]
    several, first = (
        gl.tune(HUBS, NETWORK.replaced(normalization=start), {"tau": (0.1, 20.0)})
        for start in starts
    )
    assert several.parameters["tau"] == first.parameters["tau"]


@pytest.mark.slow
def test_each_point_has_its_own_constant_and_can_be_simulated():
    data = HUBS.replaced(lam=np.array([0.7, 1.4]))
    best = gl.tune(data, NETWORK.replaced(filter=gl.PageRank(0.3)), {"tau": (0, math.inf)})
    for k, lam in enumerate(data.lam):
        alone = gl.tune(
            HUBS.replaced(lam=lam),
            NETWORK.replaced(filter=gl.PageRank(0.3)),
            {"tau": (0, math.inf)},
        )
        assert best.parameters["tau"][k] == pytest.approx(alone.parameters["tau"], rel=1e-5)
    measured = gl.simulate(data, best.gcn, nodes=400, degree=20, trials=1, seed=0, workers=1)
    assert np.all(np.isfinite(measured.test_accuracy))
    with pytest.raises(gl.ParameterError, match="several values for one graph"):
        gl.simulate(HUBS, best.gcn, nodes=400, degree=20, trials=1, seed=0, workers=1)


@pytest.mark.parametrize(
    "data, free, words",
    [
        (DATA, {"tau": (0, 1)}, "no effect where all degrees are alike"),
        (HUBS, {"tau": (-1, 1)}, "stay between 0 and inf"),
        (HUBS, {"left": (0, 11)}, "stay between -10 and 10"),
        (HUBS, {"left": (1j, 2.0)}, "left.* is not a pair"),
        (HUBS, {"left": np.ones((2, 2))}, "left.* is not a pair"),
        (HUBS, {"sigma": (0, 1)}, "choose among c, reg, depth, left, right, tau, test_filter"),
        (HUBS.replaced(degrees=gl.Gamma(0.5)), {"left": (0, 1)}, "no spectral edge"),
    ],
)
def test_what_cannot_be_tuned_is_refused_with_what_can(data, free, words):
    with pytest.raises(gl.ParameterError, match=words):
        gl.tune(data, NETWORK, free)


def test_an_unbounded_time_is_cut_where_the_series_is_too_long_to_be_solved_layer_by_layer():
    points = Points.of(
        gl.CSBM(4.0, [1.0, 2.0], 2.0, 0.1), gl.GCN(gl.Diffusion(0.5), reg=1.0, symmetrize=False)
    )
    (time,), refused, _ = free_numbers(points, {"t": (0, math.inf)}, Method.LAYERS)
    layers = [
        points.filter.replaced(t).layers(radius=points.radius) for t in (time.high, 1.1 * time.high)
    ]
    assert np.all(layers[0] <= 40)
    assert np.all(layers[1] > 40)
    assert not refused.any()


def test_finite_bounds_beyond_the_scale_are_searched_as_they_were_given():
    """Infinite ones end at its largest, except for PageRank, whose series diverges there."""
    gcn = gl.GCN(gl.Residual([1.0]))
    assert 2e4 <= gl.tune(DATA, gcn, {"c": (2e4, 3e4)}).parameters["c"] <= 3e4
    with pytest.raises(gl.ParameterError, match="outside the convergent interval"):
        gl.tune(DATA, gl.GCN(gl.PageRank(0.1)), {"theta": (2.0, 3.0)})
