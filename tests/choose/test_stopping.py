"""The best time, number of steps and step size of a training that stops: dense scans, and the best ridge beside them."""

import math

import numpy as np
import pytest
from problems import DATA, margin, random_data

import gcnlimit as gl

FLOW = gl.GCN(gl.Diffusion(1.0), training=gl.GradientFlow(1.0))


@pytest.mark.parametrize(
    "filter, symmetrize", [(gl.Diffusion(1.0), True), (gl.PageRank(0.3), False)]
)
def test_the_best_stopping_time_is_that_of_a_dense_scan(filter, symmetrize):
    data = random_data(6, seed=1)
    flow = gl.GCN(filter, symmetrize=symmetrize, training=gl.GradientFlow(1.0))
    best = gl.tune(data, flow, {"time": (1e-3, 1e3)})
    times = np.geomspace(1e-3, 1e3, 601)[:, None]
    scan = gl.predict(data, flow.replaced(training=gl.GradientFlow(times)))
    margins = scan.order_parameters.test_margin
    np.testing.assert_allclose(margin(best.prediction), margins.max(axis=0), atol=2e-5)
    assert np.all(margin(best.prediction) >= margins.max(axis=0) - 1e-12)
    inside = best.status == gl.results.TuneStatus.INTERIOR
    assert inside.any()
    place = times[margins.argmax(axis=0), 0]
    np.testing.assert_allclose(np.log(best.parameters["time"] / place)[inside], 0.0, atol=0.02)


def test_where_no_training_is_best_any_time_reaches_it():
    """Without a graph the smallest weights are best, those of infinite regularization."""
    data = gl.CSBM(alpha=[0.5, 4.0], lam=0.0, mu=[1.0, 3.0], rho=[0.7, 0.2])
    features = gl.Polynomial([1.0])
    flow = gl.GCN(features, training=gl.GradientFlow(1.0))
    stopped = gl.tune(data, flow, {"time": (0, math.inf)})
    untrained = gl.predict(data, gl.GCN(features))
    np.testing.assert_allclose(margin(stopped.prediction), margin(untrained), rtol=1e-4)
    assert np.all(stopped.parameters["time"] < 1e-4)


@pytest.mark.parametrize(
    "name, training, power",
    [
        ("time", gl.GradientFlow(1.0), -2),
        ("rate", gl.GradientDescent(2, 0.1), -2),
        ("reg", None, 2),
    ],
)
def test_the_best_time_is_in_units_of_the_squared_gain(name, training, power):
    small, large = (
        gl.tune(
            DATA,
            gl.GCN(gl.Polynomial([0.6 * gain, gain]), training=training),
            {name: (0, math.inf)},
        )
        for gain in (1.0, 1e10)
    )
    assert large.parameters[name] / small.parameters[name] == pytest.approx(1e10**power, rel=1e-4)
    assert margin(large.prediction) == pytest.approx(margin(small.prediction), abs=1e-10)
    assert small.status == large.status == gl.results.TuneStatus.INTERIOR


def test_stopping_early_is_hardly_better_than_the_best_ridge():
    """The largest advantage in a wide search is 0.025 points of accuracy (theory page §13)."""
    data = random_data(12, seed=2)
    any_number = (0, math.inf)
    stopped = gl.tune(data, FLOW, {"time": any_number}).prediction.test_accuracy
    ridge = gl.tune(data, gl.GCN(gl.Diffusion(1.0)), {"reg": any_number}).prediction.test_accuracy
    assert np.all(stopped <= ridge + 3e-4)
    assert np.all(stopped >= ridge - 5e-3)


def test_the_best_number_of_steps_is_that_of_all_of_them():
    data = random_data(5, seed=3)
    descent = gl.GCN(gl.PageRank(0.2), reg=0.1, training=gl.GradientDescent(1, 0.2))
    best = gl.tune(data, descent, {"steps": (1, 30)})
    steps = np.arange(1, 31)[:, None]
    scan = gl.predict(
        data, descent.replaced(training=gl.GradientDescent(steps, 0.2))
    ).order_parameters.test_margin
    np.testing.assert_array_equal(best.parameters["steps"], 1 + scan.argmax(axis=0))
    np.testing.assert_allclose(margin(best.prediction), scan.max(axis=0), atol=1e-12)
    np.testing.assert_array_equal(best.gcn.training.steps, best.parameters["steps"])


def test_an_optimum_beside_rates_that_diverge_is_not_called_interior():
    gcn = gl.GCN(gl.Diffusion(1.0), training=gl.GradientDescent(5, 0.1))
    ends = gl.tune(gl.CSBM(4.0, 1.0, 2.0, 0.1), gcn, {"rate": (1.0, 5.0)})
    assert ends.status is gl.results.TuneStatus.NOT_CONVERGED
    assert np.isnan(ends.curvature["rate"])
    assert 1.0 < ends.parameters["rate"] < 2.0  # beyond, descents have no answer


def test_rate_and_steps_together_are_better_than_each_alone():
    descent = gl.GCN(gl.Diffusion(1.0), training=gl.GradientDescent(2, 0.3))
    rate, steps = {"rate": (0, math.inf)}, {"steps": (1, 4)}
    both = gl.tune(DATA, descent, rate | steps)
    each = [margin(gl.tune(DATA, descent, free).prediction) for free in (rate, steps)]
    assert margin(both.prediction) >= max(each) - 1e-12
    again = gl.tune(
        DATA, descent.replaced(training=gl.GradientDescent(both.parameters["steps"], 0.3)), rate
    )
    assert both.parameters["rate"] == pytest.approx(again.parameters["rate"], rel=1e-4)


def test_filter_and_time_are_tuned_together():
    best = gl.tune(
        DATA,
        gl.GCN(gl.PageRank(0.1), training=gl.GradientFlow(1.0)),
        {"theta": (-1, 1), "time": (0.01, 10)},
    )
    ridge = gl.tune(DATA, gl.GCN(gl.PageRank(0.1)), {"theta": (-1, 1), "reg": (0, math.inf)})
    assert best.prediction.test_accuracy == pytest.approx(ridge.prediction.test_accuracy, abs=3e-4)
    assert best.parameters["time"] * ridge.parameters["reg"] == pytest.approx(1.5, abs=0.6)
    assert best.to_xarray().time == best.parameters["time"]


@pytest.mark.parametrize(
    "gcn, free, words",
    [
        (gl.GCN(gl.Diffusion(1.0)), {"time": (0.1, 1)}, "GradientFlow"),
        (FLOW, {"steps": (1, 3)}, "to tune time"),
        (FLOW, {"time": (0, 1)}, "any time of gradient flow"),
        (FLOW, {"reg": (0, math.inf)}, "nothing is left to train"),
        (
            gl.GCN(gl.Diffusion(1.0), training=gl.GradientDescent(1, 0.1)),
            {"steps": (0, 3)},
            "whole numbers from 1",
        ),
        (FLOW.replaced(loss="logistic"), {"time": (0.1, 1)}, "training = GradientFlow"),
    ],
)
def test_what_has_no_time_to_choose_is_refused(gcn, free, words):
    with pytest.raises(gl.ParameterError, match=words):
        gl.tune(DATA, gcn, free)
