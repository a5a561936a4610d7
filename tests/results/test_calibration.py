"""Calibration as measured on sampled graphs, beside the theory and its own definition."""

import math

import numpy as np
import pytest
from scipy.special import expit

import gcnlimit as gl
from gcnlimit.results.calibration import BINS, ROWS, calibration_column, measured_calibration

NAMES = (
    "confidence",
    "expected_error",
    "log_loss",
    "brier",
    "calibrated_log_loss",
    "calibrated_brier",
)
POINTS = {
    "logistic": (
        gl.CSBM(4, 1.0, 2.0, 0.1),
        gl.GCN(gl.Residual([1.0]), "logistic", [0.01, 0.3, 10.0]),
    ),
    "square": (
        gl.CSBM(2, 1.0, 2.0, 0.3, directed=False),
        gl.GCN(gl.Diffusion(0.8), reg=[0.3, math.inf]),
    ),
    "stopped": (
        gl.CSBM(4, 1.0, 2.0, 0.1),
        gl.GCN(gl.Diffusion(1.0), training=gl.GradientFlow([0.1, 2.0])),
    ),
    "three classes": (
        gl.CSBM(3, 1.0, 2.0, 0.3, classes=3),
        gl.GCN(gl.Residual([1.0]), "softmax", [0.2, 5.0]),
    ),
    "hubs": (
        gl.CSBM(4, 1.0, 2.0, 0.1, directed=False, degrees=gl.Gamma(0.5)),
        gl.GCN(gl.Residual([1.0]), "logistic", [0.1, 1.0], normalization=gl.Regularized()),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_simulated_graphs_are_calibrated_as_predicted(point):
    data, gcn = POINTS[point]
    expected = gl.predict(data, gcn).calibration
    found = gl.simulate(data, gcn, nodes=1500, degree=60, trials=8, seed=3, workers=1)
    error = found.standard_error.calibration
    finite = np.isfinite(expected.slope)
    for name in ("slope", *NAMES):
        measured, exact, scatter = (
            getattr(one, name)[finite] for one in (found.calibration, expected, error)
        )
        assert np.all(np.abs(measured - exact) < 4 * scatter), name
    assert np.array_equal(np.isinf(found.calibration.slope), ~finite)
    assert np.array_equal(found.calibration.accuracy, found.test_accuracy)


def drawn(nodes, mean, deviation, seed=0):
    """Logits of two classes, Gaussian given the class, and the classes."""
    rng = np.random.default_rng(seed)
    index = rng.integers(2, size=nodes)
    h = mean * (1 - 2 * index) + deviation * rng.standard_normal(nodes)
    return np.stack([h, np.zeros(nodes)], axis=1), index


def test_the_slope_makes_the_error_vanish_and_scores_smallest():
    logits, index = drawn(200_000, 0.4, 1.3)
    sure = measured_calibration(calibration_column(logits, index), 2)
    assert sure.slope == pytest.approx(2 * 0.4 / 1.3**2, rel=0.02)
    repaired = measured_calibration(calibration_column(sure.slope * logits, index), 2)
    assert repaired.slope == pytest.approx(1.0, abs=1e-9)
    assert repaired.expected_error < 0.003
    assert sure.expected_error > 0.05
    assert repaired.log_loss == pytest.approx(sure.calibrated_log_loss, rel=1e-12)
    steeper = measured_calibration(calibration_column(1.01 * sure.slope * logits, index), 2)
    assert steeper.log_loss > repaired.log_loss


def test_scores_are_those_of_their_definitions():
    logits, index = drawn(500, 0.8, 1.0)
    sure = measured_calibration(calibration_column(logits, index), 2)
    p = expit(logits[:, 0])
    true = np.where(index == 0, p, 1 - p)
    assert sure.log_loss == pytest.approx(-np.mean(np.log(true)))
    assert sure.brier == pytest.approx(np.mean((1 - true) ** 2))
    assert sure.confidence == pytest.approx(np.mean(np.maximum(p, 1 - p)))
    assert sure.accuracy == pytest.approx(np.mean(true > 0.5))
    confidence, right = sure.bins
    assert confidence.shape == (BINS,)
    assert np.all(np.diff(confidence) > 0)
    assert right.mean() == pytest.approx(sure.accuracy)


def test_the_order_and_a_shift_of_classes_do_not_matter():
    rng = np.random.default_rng(1)
    logits, index = rng.standard_normal((300, 4)), rng.integers(4, size=300)
    turn = np.array([2, 0, 3, 1])
    turned = calibration_column(
        logits[:, turn] + rng.standard_normal((300, 1)), np.argsort(turn)[index]
    )
    np.testing.assert_allclose(turned, calibration_column(logits, index), rtol=1e-6)


def test_what_never_errs_has_an_infinite_slope_and_no_loss_left():
    sure = measured_calibration(
        calibration_column(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0, 1])), 2
    )
    assert sure.slope == math.inf
    assert sure.temperature == 0.0
    assert sure.calibrated_log_loss == sure.calibrated_brier == 0.0


def test_a_fit_and_message_passing_are_measured_too():
    instance = gl.sample(POINTS["logistic"][0], nodes=2000, degree=30, seed=0)
    networks = gl.fit(instance, POINTS["logistic"][1]).performance.calibration
    assert networks.bins[0].shape == (3, BINS)
    assert networks.slope[0] < 1 < networks.slope[1] < networks.slope[2]
    assert networks.coordinates.axes((3,)) == ("reg",)
    assert gl.amp(instance).performance.calibration.slope == pytest.approx(1.0, abs=0.2)


def test_the_reliability_curve_is_drawn_beside_its_dots():
    instance = gl.sample(POINTS["logistic"][0], nodes=600, degree=30, seed=0)
    axes = gl.fit(instance, POINTS["logistic"][1]).performance.calibration.plot_reliability()
    assert [len(line.get_xdata()) for line in axes.lines] == [2, 101, 101, 101, BINS, BINS, BINS]
    curve, dots = axes.lines[1], axes.lines[4]
    assert curve.get_color() == dots.get_color()
    assert [t.get_text() for t in axes.get_legend().get_texts()][1] == "reg = 0.3"
    classes = gl.predict(*POINTS["three classes"]).calibration.plot_reliability()
    assert len(classes.lines) == 1
    alone = gl.fit(instance, POINTS["logistic"][1].replaced(reg=1.0)).performance.calibration
    drawn = alone.plot()
    assert [len(line.get_xdata()) for line in drawn.lines] == [2, 101, BINS]
    assert drawn.get_legend() is None
    data = gl.CSBM(2, np.array([[0.5], [1.2]]), 2.0, 0.2)
    both = gl.predict(data, gl.GCN(gl.Diffusion(1.0), reg=[0.1, 1.0])).calibration
    told = [text.get_text() for text in both.plot_reliability().get_legend().get_texts()]
    assert told == [f"lam = {lam:g}, reg = {reg:g}" for lam in (0.5, 1.2) for reg in (0.1, 1.0)]


@pytest.mark.parametrize("trials", [1, 5])
def test_a_bin_within_the_scatter_of_its_nodes_has_no_error(trials):
    """The scatter is that of a mean over the nodes of one bin, in all trials."""
    nodes, right = 1000, 0.8
    scatter = math.sqrt(right * (1 - right) / (trials * nodes / BINS))
    for beyond, missed in ((0.99, False), (1.01, True)):
        column = np.zeros(ROWS)
        column[0] = nodes
        column[-2 * BINS :] = np.repeat([right - beyond * scatter, right], BINS)
        assert (measured_calibration(column, 2, trials).expected_error > 0) == missed


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_a_tie_is_shared_among_its_classes(classes):
    """As if one of the classes that are level were drawn."""
    level = np.zeros((classes, classes))
    told = measured_calibration(calibration_column(level, np.arange(classes)), classes)
    assert told.accuracy == told.confidence == pytest.approx(1.0 / classes, rel=1e-15)
    assert told.slope == 1.0
    behind = level - 2.0 * (np.arange(classes) == classes - 1)  # the last class is behind the tie
    told = measured_calibration(calibration_column(behind, np.arange(classes)), classes)
    assert told.accuracy == pytest.approx(1.0 / classes, rel=1e-15)


@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_the_slope_is_in_the_inverse_unit_of_the_logits(unit):
    logits, index = drawn(500, 0.4, 1.3)
    slopes = [calibration_column(size * logits, index)[1] for size in (1.0, unit)]
    assert slopes[1] * unit == pytest.approx(slopes[0], rel=1e-9)
