"""Calibration: reference values, laws, and sampled outputs."""

import json

import numpy as np
import pytest
from reference import ROOT
from scipy.integrate import quad
from scipy.special import expit, softmax

import gcnlimit as gl
from gcnlimit.theory.calibration import calibration
from gcnlimit.theory.decision import accuracy

ROWS = [
    row
    for row in json.loads((ROOT / "validation" / "training.json").read_text())["rows"]
    if "loss" in row
]
DATA = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['filter']['c']}-{row['reg']}")
def test_reference_values(row):
    data = gl.CSBM(**row["data"])
    gcn = gl.GCN(gl.Residual(row["filter"]["c"]), "logistic", row["reg"], row["symmetrize"])
    sure = gl.predict(data, gcn).calibration
    assert sure.slope == pytest.approx(row["slope"], rel=1e-8)
    assert sure.temperature == pytest.approx(row["temperature"], rel=1e-8)
    assert sure.log_loss == pytest.approx(row["raw_log_loss"], abs=1e-9)
    assert sure.brier == pytest.approx(row["raw_brier"], abs=1e-9)
    assert sure.calibrated_log_loss == pytest.approx(row["calibrated_log_loss"], abs=1e-9)
    assert sure.calibrated_brier == pytest.approx(row["calibrated_brier"], abs=1e-9)


@pytest.mark.parametrize(("mean", "deviation"), [(0.3, 0.7), (4.0, 0.5), (-0.2, 1.0), (2.0, 30.0)])
def test_confidence_is_the_mean_of_its_definition(mean, deviation):
    def density(h):
        return (
            expit(abs(h))
            * np.exp(-0.5 * ((h - mean) / deviation) ** 2)
            / deviation
            / np.sqrt(2 * np.pi)
        )

    parts = [
        quad(density, *ends, epsabs=1e-13, limit=200)[0]
        for ends in ((mean - 12 * deviation, 0), (0, mean + 12 * deviation))
    ]
    one = np.ones(1)
    sure = calibration(mean * one, deviation * one, mean / deviation * one, one, 2)
    assert sure.confidence[0] == pytest.approx(sum(parts), abs=1e-10)


@pytest.mark.parametrize("deviation", [1e3, 1e4])
def test_scores_of_wide_logits_are_integrals_over_the_unsure_ones(deviation):
    """Of 1 - confidence, of the log loss beyond that of a certain answer, and of the Brier score likewise."""
    one, density = np.ones(1), 1.0 / (deviation * np.sqrt(2 * np.pi))
    sure = calibration(0.0 * one, deviation * one, 0.0 * one, 0.5 * one, 2)
    assert (1.0 - sure.confidence[0]) / density == pytest.approx(2 * np.log(2), rel=1e-5)
    assert sure.log_loss[0] - density * deviation**2 == pytest.approx(
        density * np.pi**2 / 6, abs=1e-8
    )
    assert (0.5 - sure.brier[0]) / density == pytest.approx(1.0, rel=1e-5)


def test_wide_logits_of_many_classes_are_sure_but_near_ties():
    """Beyond the tables: confidence, log loss and Brier score of sampled logits, within four standard errors."""
    classes, margin, deviation = 4, np.full(1, 0.7), np.full(1, 40.0)
    sure = calibration(margin * deviation, deviation, margin, accuracy(margin, classes), classes)
    x = deviation * np.random.default_rng(0).normal(size=(200_000, classes))
    x[:, 0] += np.sqrt(classes) * margin * deviation
    ahead = x - np.max(x, axis=1, keepdims=True)
    p = np.exp(ahead)
    size = np.log(np.sum(p, axis=1))
    p /= np.exp(size)[:, None]
    brier = 0.5 * (np.sum(p**2, axis=1) - 2.0 * p[:, 0] + 1.0)
    sampled = {"confidence": np.max(p, axis=1), "log_loss": size - ahead[:, 0], "brier": brier}
    for name, values in sampled.items():
        error = np.std(values) / np.sqrt(values.size)
        assert abs(getattr(sure, name)[0] - values.mean()) < 4.0 * error


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_the_best_temperature_makes_confidence_the_accuracy(classes):
    margin = np.array([0.2, 0.8, 2.0])
    apart = 2.0 if classes == 2 else np.sqrt(classes)
    right = accuracy(margin, classes)
    sure = calibration(apart * margin**2, apart * margin, margin, right, classes)
    np.testing.assert_allclose(sure.slope, 1.0, rtol=1e-12)
    np.testing.assert_allclose(sure.confidence, right, atol=1e-10)
    np.testing.assert_allclose(sure.log_loss, sure.calibrated_log_loss, rtol=1e-12)


@pytest.mark.parametrize(
    ("classes", "largest"),
    [(2, np.pi**-0.5), (3, 1.5 * np.pi**-0.5), (30, 2.04276), (100, 2.50759)],
)
def test_small_outputs_are_sure_by_their_largest_logit(classes, largest):
    # the softmax of small logits is (1 + x)/C less their mean; the largest of C normal variables has a known mean
    deviation = np.array([1e-6, 1e-5, 1e-4])
    none = np.zeros(3)
    sure = calibration(none, deviation * (2.0**0.5 if classes == 2 else 1.0), none, none, classes)
    np.testing.assert_allclose(
        classes * sure.confidence - 1.0, deviation * largest, rtol=1e-3, atol=1e-12
    )


@pytest.mark.parametrize("classes", [3, 10])
def test_outputs_that_do_not_scatter_are_the_limit_of_those_that_hardly_do(classes):
    mean = np.array([-1.0, -0.2, 0.0, 0.4, 2.0])
    exact, nearly = (
        calibration(mean, np.full(5, deviation), mean, mean, classes).confidence
        for deviation in (0.0, 1e-7)
    )
    logits = np.column_stack([np.sqrt(classes) * mean, np.zeros((5, classes - 1))])
    np.testing.assert_allclose(exact, softmax(logits, axis=1).max(axis=1), rtol=1e-14)
    np.testing.assert_allclose(nearly, exact, rtol=3e-6)


@pytest.mark.parametrize("loss", ["square", "logistic", "hinge"])
def test_the_best_accuracy_is_the_best_score_after_one_temperature(loss):
    reg = np.geomspace(0.01, 100, 9)
    p = gl.predict(DATA, gl.GCN(gl.Residual([1.0, 1.0]), loss, reg))
    order = np.argsort(p.test_accuracy)
    assert np.all(np.diff(p.calibration.calibrated_log_loss[order]) <= 0)
    assert np.all(np.diff(p.calibration.calibrated_brier[order]) <= 0)
    assert np.all(p.calibration.calibrated_log_loss <= p.calibration.log_loss + 1e-15)


def test_classes_by_softmax_agree_with_drawn_logits():
    rng = np.random.default_rng(5)
    mean, deviation, classes = 0.7, 0.6, 4
    x = deviation * rng.standard_normal((200_000, classes))
    x[:, 0] += 2.0 * mean
    p = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    one = np.ones(1)
    sure = calibration(
        mean * one,
        deviation * one,
        mean / deviation * one,
        accuracy(mean / deviation * one, classes),
        classes,
    )
    drawn = {
        "confidence": p.max(axis=1),
        "log_loss": -np.log(p[:, 0]),
        "brier": 0.5 * ((p**2).sum(axis=1) - 2 * p[:, 0] + 1),
    }
    for name, values in drawn.items():
        error = values.std() / np.sqrt(values.size)
        assert abs(getattr(sure, name)[0] - values.mean()) < 4 * error


def test_degrees_of_vanishing_variance_change_nothing():
    gcn = gl.GCN(gl.Residual([1.0]), "logistic", reg=[0.3, 5.0])
    alike = gl.predict(gl.CSBM(4, 1.0, 2.0, 0.1, directed=False), gcn).calibration
    nearly = gl.predict(
        gl.CSBM(4, 1.0, 2.0, 0.1, directed=False, degrees=gl.Gamma(1e-8)), gcn
    ).calibration
    for name in ("slope", "confidence", "log_loss", "calibrated_brier"):
        np.testing.assert_allclose(getattr(nearly, name), getattr(alike, name), rtol=1e-5)
    np.testing.assert_allclose(nearly.expected_error, alike.expected_error, atol=1e-4)


@pytest.mark.parametrize("loss", ["logistic", "square"])
def test_nearly_equal_classes_change_nothing(loss):
    gcn = gl.GCN(gl.Residual([1.0]), loss, reg=[0.3, 5.0])
    equal = gl.predict(DATA, gcn).calibration
    nearly = gl.predict(DATA.replaced(classes=(0.5 - 1e-7, 0.5 + 1e-7)), gcn).calibration
    for name in ("slope", "accuracy", "confidence", "log_loss", "calibrated_brier"):
        np.testing.assert_allclose(getattr(nearly, name), getattr(equal, name), rtol=1e-5)
    np.testing.assert_allclose(nearly.expected_error, equal.expected_error, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["logistic", "square"])
def test_unequal_classes_agree_with_sampled_graphs(loss):
    data = gl.CSBM(2, 0.8, 2.0, 0.3, classes=(0.25, 0.75))
    gcn = gl.GCN(gl.Residual([1.0]), loss, reg=0.5)
    exact = gl.predict(data, gcn).calibration
    each = [
        gl.fit(gl.sample(data, 2500, 60, seed=seed), gcn).performance.calibration
        for seed in range(8)
    ]
    for name in ("slope", "accuracy", "confidence", "log_loss", "brier", "calibrated_log_loss"):
        values = np.array([getattr(sure, name) for sure in each])
        assert (
            abs(values.mean() - getattr(exact, name))
            <= 4.0 * values.std(ddof=1) / np.sqrt(8) + 3e-3
        )


def test_outputs_at_infinite_regularization_say_nothing_until_scaled():
    sure = gl.predict(DATA, gl.GCN(gl.Diffusion(1.0))).calibration
    assert sure.slope == np.inf
    assert sure.confidence == 0.5
    assert sure.log_loss == pytest.approx(np.log(2))
    assert sure.calibrated_log_loss < 0.5


def test_what_is_not_known_is_refused_in_a_sentence():
    unequal = gl.predict(
        gl.CSBM(4, 1.0, 2.0, 0.1, classes=[0.2, 0.3, 0.5]), gl.GCN(gl.Diffusion(1.0), reg=1.0)
    )
    with pytest.raises(gl.ParameterError, match="equal classes"):
        unequal.calibration  # noqa: B018
    with pytest.raises(gl.ParameterError, match="two classes"):
        gl.predict(
            gl.CSBM(4, 1.0, 2.0, 0.1, classes=3), gl.GCN(gl.Diffusion(1.0), reg=1.0)
        ).calibration.reliability(0.7)
    with pytest.raises(gl.ParameterError, match="not known for this answer"):
        gl.bayes_optimal(DATA, degree=3, population=100, sweeps=4).calibration  # noqa: B018
    with pytest.raises(gl.ParameterError, match="equal classes"):
        gl.best_linear(DATA.replaced(classes=[0.2, 0.3, 0.5])).calibration  # noqa: B018


@pytest.mark.parametrize("answer", [gl.best_linear, gl.bayes_optimal])
@pytest.mark.parametrize(
    "law",
    [
        {},
        {"classes": 4},
        {"classes": (0.2, 0.8)},
        {"noise": 0.1},
        pytest.param({"directed": False, "degrees": gl.Gamma(0.5)}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_posteriors_and_the_best_linear_network_are_calibrated(answer, law):
    p = answer(gl.CSBM(4, [0.0, 0.3, 1.0, 30.0], 2.0, 0.1, **law))
    sure = p.calibration
    np.testing.assert_allclose(sure.slope, 1.0, rtol=1e-9)
    np.testing.assert_allclose(sure.accuracy, p.test_accuracy, atol=1e-12)
    np.testing.assert_allclose(sure.confidence, p.test_accuracy, atol=1e-9)
    np.testing.assert_allclose(sure.expected_error, 0.0, atol=1e-9)
    np.testing.assert_allclose(sure.log_loss, p.test_loss, atol=1e-12)


def test_no_evidence_leaves_a_uniform_posterior():
    sure = gl.bayes_optimal(gl.CSBM(4, 0.0, 0.0, 0.1)).calibration
    assert sure.slope == pytest.approx(1.0)
    assert sure.log_loss == pytest.approx(np.log(2))


def test_each_layer_and_another_graph_have_their_own():
    layers = gl.best_linear(DATA, layers=4)
    assert np.allclose(layers.calibration.log_loss, layers.test_loss, atol=1e-12)
    there = gl.best_linear(DATA, to=gl.CSBM(4, 0.8, 2.0, 0.0))
    assert there.frozen.calibration.log_loss == pytest.approx(there.frozen.test_loss, abs=1e-12)
    assert there.calibration.log_loss < there.two_stages.calibration.log_loss


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_the_best_linear_network_is_calibrated_on_sampled_graphs(classes):
    data = gl.CSBM(2, 0.9, 1.5, 0.15, classes=classes)
    exact = gl.best_linear(data).calibration
    graphs = (gl.sample(data, 2500, 60, seed=seed) for seed in range(8))
    each = [
        gl.linear_message_passing(graph, by="system").performance.calibration for graph in graphs
    ]
    for name in ("slope", "accuracy", "confidence", "signed_error", "log_loss", "brier"):
        values = np.array([getattr(sure, name) for sure in each])
        error = values.std(ddof=1) / np.sqrt(len(each))
        assert abs(values.mean() - getattr(exact, name)) < 4.0 * error, name


def test_a_narrow_law_of_outputs_keeps_its_error():
    """Outputs of a bias that hides all else: the error tends to that of one confidence for all nodes."""
    data = DATA.replaced(classes=(0.2, 0.8))
    reg = np.array([1e2, 1e3, 1e4])
    error = gl.predict(data, gl.GCN(gl.Residual([1.0]), "logistic", reg)).calibration.expected_error
    assert np.diff(error)[1] == pytest.approx(0.1 * np.diff(error)[0], rel=0.2)
