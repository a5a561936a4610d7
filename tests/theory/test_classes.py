"""Networks on any number of classes, unequal classes and correlated features: reference values and limits."""

import math

import numpy as np
import pytest
from reference import CLASSES
from scipy.special import ndtr

import gcnlimit as gl
from validation.integral_equations import integral_residuals

FILTERS = {"residual": gl.Residual, "diffusion": gl.Diffusion, "pagerank": gl.PageRank}


def prediction(row, classes, loss="square", features=None):
    symmetric = row["symmetric"]
    data = gl.CSBM(
        row["alpha"],
        row["lam_e"],
        row["mu"],
        row["rho"],
        not symmetric,
        classes=classes,
        features=features,
    )
    kind, parameter = row["filter"]
    reg = math.inf if row.get("reg", "inf") == "inf" else row["reg"]
    return gl.predict(data, gl.GCN(FILTERS[kind](parameter), loss, reg, symmetrize=symmetric))


def name(row):
    return "-".join(
        str(row[key]) for key in ("C", "p", "loss", "filter", "reg", "rho") if key in row
    )


def pair(row):
    return row["p"], 1 - row["p"]


@pytest.mark.parametrize("row", CLASSES["A_i"] + CLASSES["A_ii_square"], ids=name)
def test_equal_classes(row):
    found = prediction(row, row["C"])
    assert found.test_accuracy == pytest.approx(row["test_accuracy"], abs=1e-9)
    assert found.train_accuracy == pytest.approx(row["train_accuracy"], abs=1e-9)
    assert found.best_accuracy == found.balanced_accuracy == found.test_accuracy


@pytest.mark.parametrize("row", CLASSES["B_inf"], ids=name)
def test_two_unequal_classes_at_infinite_regularization(row):
    found = prediction(row, pair(row))
    assert found.best_accuracy == pytest.approx(row["accuracy_bias"], abs=1e-12)
    assert found.balanced_accuracy == pytest.approx(row["balanced_accuracy_bias"], abs=1e-12)
    assert found.test_accuracy == pytest.approx(found.best_accuracy, abs=1e-15)


@pytest.mark.parametrize("reg", [1.0, math.inf])
def test_nearly_equal_classes_are_as_good_as_equal_ones(reg):
    equal, nearly = (
        gl.predict(gl.CSBM(**DATA, classes=c), gl.GCN(gl.Diffusion(1.0), reg=reg)).test_accuracy
        for c in (2, [0.500001, 0.499999])
    )
    assert nearly == pytest.approx(equal, abs=1e-5)


def test_the_square_loss_of_unequal_classes_is_that_of_the_margin_in_units_of_the_codes():
    data, unit = gl.CSBM(**DATA, classes=(0.3, 0.7)), 4 * 0.3 * 0.7
    codes, margins = (
        gl.predict(data, gl.GCN(gl.Residual([1.0]), loss, 2.0))
        for loss in ("square", lambda z: (1 - z) ** 2 / 2)
    )
    assert codes.test_accuracy == pytest.approx(margins.test_accuracy, abs=1e-8)
    assert unit * codes.test_loss == pytest.approx(margins.test_loss, abs=1e-8)


@pytest.mark.parametrize("row", CLASSES["B_finite"], ids=name)
def test_two_unequal_classes_with_a_trained_bias(row):
    found = prediction(row, pair(row), row["loss"])
    assert found.order_parameters.test_margin == pytest.approx(row["margin"], abs=1e-9)
    assert found.test_accuracy == pytest.approx(row["accuracy_trained_bias"], abs=1e-9)
    assert found.best_accuracy == pytest.approx(row["accuracy_best_threshold"], abs=1e-9)
    assert found.order_parameters.bias == pytest.approx(row["bias"], abs=1e-8)


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_the_bias_at_infinite_regularization_is_the_limit(loss):
    data = gl.CSBM(**DATA, classes=(0.3, 0.7))
    limit, near = (
        gl.predict(data, gl.GCN(gl.Residual([1.0]), loss, reg)).order_parameters
        for reg in (np.inf, 1e9)
    )
    assert limit.bias == pytest.approx(near.bias, abs=1e-7)


@pytest.mark.parametrize("loss", ["square", "logistic", "hinge"])
def test_the_bias_shifts_the_outputs(loss):
    """Eq. 8.13 from the law of the output, whose units the bias of the square loss has to take."""
    p = 0.86
    data = gl.CSBM(**DATA, classes=(p, 1 - p))
    found = gl.predict(data, gl.GCN(gl.Diffusion(0.7), loss, 0.3))
    output, bias = found.order_parameters.output, found.order_parameters.bias
    if loss == "square":
        assert bias == pytest.approx(2 * p - 1, rel=1e-12)
        bias = bias / (2 * math.sqrt(p * (1 - p)))
    first, second = math.sqrt((1 - p) / p), -math.sqrt(p / (1 - p))
    right = [output.mean * first + bias, -(output.mean * second + bias)]
    expected = ndtr(np.array(right) / math.sqrt(output.variance)) @ [p, 1 - p]
    assert found.test_accuracy == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("row", CLASSES["C_square"], ids=name)
def test_correlated_features(row):
    found = prediction(
        row, row["C"], features=gl.Spectrum(row["sigma2"], row["Gamma"], row["weights"])
    )
    assert found.order_parameters.test_margin == pytest.approx(row["test_margin"], abs=1e-9)
    assert found.order_parameters.train_margin == pytest.approx(row["train_margin"], rel=1e-9)
    if row["reg"] != "inf":
        weights = found.order_parameters.weights
        assert (weights.m, weights.Q, weights.V) == pytest.approx(
            (row["m_w"], row["Q_w"], row["V_w"]), rel=1e-9
        )


DATA = {"alpha": 2.0, "lam": 1.1, "mu": 1.5, "rho": 0.2}


@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("symmetrize", [True, False])
def test_a_large_regularization_reaches_the_explicit_formulas(loss, symmetrize):
    """Margins of unequal classes and correlated features at reg = 1e7 are those at reg = inf, on both kinds of graphs."""
    data = gl.CSBM(
        **DATA, classes=(0.15, 0.85), features=gl.Spectrum([0.3, 1.0, 2.5], [1.4, 1.0, 0.6])
    )
    found = gl.predict(data, gl.GCN(gl.Residual([0.7, 0.7]), loss, [1e7, math.inf], symmetrize))
    assert found.order_parameters.test_margin[0] == pytest.approx(
        found.order_parameters.test_margin[1], rel=1e-5
    )
    assert found.best_accuracy[0] == pytest.approx(found.best_accuracy[1], rel=1e-5)
    assert found.test_accuracy[0] == pytest.approx(0.85, abs=1e-9)


@pytest.mark.parametrize("loss", ["square", "logistic", "softmax"])
def test_the_bias_of_unequal_classes_stays_in_the_loss_at_infinite_regularization(loss):
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1, classes=[0.2, 0.8])
    found = gl.predict(data, gl.GCN(gl.Diffusion(1.0), loss, reg=[1e8, math.inf]))
    assert found.test_loss[0] == pytest.approx(found.test_loss[1], rel=1e-6)
    assert found.train_loss[0] == pytest.approx(found.train_loss[1], rel=1e-6)


@pytest.mark.parametrize("loss", ["square", "logistic", "hinge"])
def test_almost_equal_classes_are_equal_ones(loss):
    network = gl.GCN(gl.Diffusion(1.0), loss, reg=1.0, symmetrize=False)
    two, near = (
        gl.predict(gl.CSBM(**DATA, classes=c), network) for c in (2, (0.5 + 1e-7, 0.5 - 1e-7))
    )
    for field in (
        "test_accuracy",
        "train_accuracy",
        "test_loss",
        "train_loss",
        "best_accuracy",
        "roc_auc",
    ):
        assert getattr(near, field) == pytest.approx(getattr(two, field), abs=1e-6), field


def test_the_names_of_the_two_classes_do_not_matter():
    network = gl.GCN(gl.Diffusion(1.0), "logistic", reg=1.0)
    one, other = (gl.predict(gl.CSBM(**DATA, classes=c), network) for c in ((0.2, 0.8), (0.8, 0.2)))
    assert one.as_dict() == pytest.approx(other.as_dict(), abs=1e-10)


class Rounded(gl.Loss):
    """Hinge loss whose corner is rounded over a width: the logistic loss in units of it."""

    def __init__(self, width):
        self.width = width

    def value(self, z):
        return self.width * gl.Logistic().value((np.asarray(z) - 1.0) / self.width)

    def prox(self, omega, v):
        return 1.0 + self.width * gl.Logistic().prox(
            (np.asarray(omega) - 1.0) / self.width, v / self.width
        )

    def prox_derivative(self, omega, v):
        return gl.Logistic().prox_derivative((np.asarray(omega) - 1.0) / self.width, v / self.width)

    def breakpoints(self, v):
        return gl.Hinge().breakpoints(v)


@pytest.mark.parametrize("symmetrize", [True, False])
def test_the_hinge_loss_on_unequal_classes_is_the_limit_of_rounded_corners(symmetrize):
    """The error is linear in the width: the next order is left after Richardson's extrapolation."""
    data = gl.CSBM(**DATA, classes=(0.25, 0.75))
    exact, wide, narrow = (
        gl.predict(
            data, gl.GCN(gl.PageRank(0.2), loss, 0.7, symmetrize)
        ).order_parameters.test_margin
        for loss in ("hinge", Rounded(0.02), Rounded(0.01))
    )
    assert 1e-3 < abs(narrow - exact) < 0.01
    assert abs(2 * narrow - wide - exact) < 0.1 * abs(narrow - exact)


@pytest.mark.parametrize(
    "filter, symmetrize", [(gl.Diffusion(0.8), True), (gl.Residual([1.0, 0.5]), False)]
)
def test_a_strong_regularization_pins_outputs_at_the_corner_of_the_hinge_loss(filter, symmetrize):
    """The margin no longer depends on it, and differs from that of smooth losses, in which all nodes of a class pull alike."""
    data = gl.CSBM(**DATA, classes=(0.25, 0.75))
    hinge = gl.predict(data, gl.GCN(filter, "hinge", [100.0, 1e12, math.inf], symmetrize))
    margin = hinge.order_parameters.test_margin
    assert margin == pytest.approx([margin[0]] * 3, rel=1e-9)
    assert (
        abs(
            margin[2]
            - gl.predict(data, gl.GCN(filter, symmetrize=symmetrize)).order_parameters.test_margin
        )
        > 1e-3
    )
    assert hinge.test_accuracy[2] == pytest.approx(hinge.best_accuracy[2], abs=1e-15)
    assert hinge.order_parameters.output.mean[1] == pytest.approx(
        hinge.order_parameters.output.mean[0] * 1e-10, rel=1e-8
    )


@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("reg", [1.0, math.inf])
def test_equal_levels_of_the_features_are_one(loss, reg):
    network = gl.GCN(gl.PageRank(0.3), loss, reg)
    white, split = (
        gl.predict(gl.CSBM(**DATA, features=f), network)
        for f in (None, gl.Spectrum([1.0, 1.0], weight=[0.3, 0.7]))
    )
    assert split.as_dict() == pytest.approx(white.as_dict(), abs=1e-11)


def test_units_of_the_features_are_a_matter_of_regularization():
    """Features c times as large, with signal, are those of reg / c^2."""
    network = gl.GCN(gl.Diffusion(0.7), reg=2.0)
    large = gl.predict(gl.CSBM(2.0, 1.1, 9 * 1.5, 0.2, features=gl.Spectrum(9.0)), network)
    small = gl.predict(gl.CSBM(**DATA), gl.GCN(gl.Diffusion(0.7), reg=2.0 / 9.0))
    assert large.as_dict() == pytest.approx(small.as_dict(), abs=1e-9)


def test_no_network_passes_the_ceiling():
    rng = np.random.default_rng(2)
    n = 200
    data = {
        "alpha": rng.uniform(0.2, 6, n), "lam": rng.uniform(-2, 2, n), "mu": rng.uniform(0, 3, n), "rho": rng.uniform(0.1, 1, n)
    }  # fmt: skip
    features = gl.Spectrum([0.2, 1.0, 3.0], [0.5, 2.0, 0.5])
    for classes in (5, (0.1, 0.9)):
        model = gl.CSBM(**data, classes=classes, features=features)
        network = gl.predict(model, gl.GCN(gl.Residual(rng.uniform(-1, 2, (n, 2)))))
        assert np.all(network.best_accuracy <= gl.bayes_optimal(model).test_accuracy + 1e-12)


@pytest.mark.parametrize("classes", [1, 2.5, [0.3, 0.3], [1.0], [0.5, 0.6, -0.1]])
def test_classes_that_are_none(classes):
    with pytest.raises(gl.ParameterError, match="classes"):
        gl.CSBM(**DATA, classes=classes)


def test_values_are_equal_by_content():
    assert (
        gl.CSBM(**DATA, classes=[0.5, 0.5])
        == gl.CSBM(**DATA)
        == gl.CSBM(**DATA, features=gl.Spectrum.white())
    )
    assert hash(gl.CSBM(**DATA, classes=3)) == hash(gl.CSBM(**DATA, classes=3))
    assert gl.CSBM(**DATA, features=gl.Spectrum([0.5, 1.5])) != gl.CSBM(**DATA)


LAW = gl.Spectrum([0.5, 1.5, 2.0], np.array([0.4, 1.2, 1.0]) / 0.95, [0.25, 0.5, 0.25])
COLOURED = gl.CSBM(4.0, 1.3, 2.0, 0.1, classes=5, features=LAW)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_closed_limits_hold_for_coloured_features_and_any_classes(depth):
    network = gl.GCN(gl.Residual(np.zeros(depth)), symmetrize=False)
    exact = gl.predict(COLOURED, network).order_parameters.test_margin
    assert gl.limits.no_residual_margin(COLOURED, depth) == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("symmetrize", [True, False])
def test_the_slope_of_a_short_diffusion_of_coloured_features(symmetrize):
    times, h = gl.Diffusion([-1e-5, 0.0, 1e-5]), 1e-5
    low, still, high = gl.predict(
        COLOURED, gl.GCN(times, symmetrize=symmetrize)
    ).order_parameters.test_margin
    start, later = (
        float(gl.limits.short_diffusion_margin(COLOURED, t, symmetrize=symmetrize))
        for t in (0.0, 1.0)
    )
    assert start == pytest.approx(still, rel=1e-14)
    assert later - start == pytest.approx((high - low) / (2 * h), rel=1e-8)


@pytest.mark.parametrize("classes", [2, 5, (0.2, 0.8), (0.5, 0.3, 0.2)])
def test_the_rate_of_one_layer_is_that_of_the_closest_classes(classes):
    data = gl.CSBM(4.0, 1.0, 1.0, 0.1, classes=classes, features=LAW)
    network = gl.GCN(gl.Residual([1.0]), symmetrize=False)
    rate = float(gl.limits.one_layer_rate(data, 1.0, symmetrize=False))
    assert gl.depth.learning_rate(data, network) == pytest.approx(rate, rel=1e-7)


@pytest.mark.parametrize("symmetrize", [True, False])
def test_order_functions_of_coloured_features_obey_the_integral_equations(symmetrize):
    network = gl.GCN(gl.Diffusion(0.7), symmetrize=symmetrize)
    assert max(integral_residuals(COLOURED, network).values()) < 1e-13


@pytest.mark.parametrize("symmetrize", [True, False])
@pytest.mark.parametrize(
    "data, loss", [(COLOURED, "square"), (gl.CSBM(4, 1.3, 2, 0.1, classes=[0.2, 0.8]), "logistic")]
)
def test_layers_approach_the_continuous_network(data, loss, symmetrize):
    """At finite regularization; by Richardson's extrapolation in the number of layers."""
    network = gl.GCN(gl.Diffusion(0.7), loss, 1.0, symmetrize=symmetrize)
    exact = gl.depth.order_functions(data, network, [0.0]).weights
    coarse, fine = (gl.depth.order_functions(data, network, layers=K).weights for K in (24, 48))
    for name in ("m", "Q", "V", "m_hat", "Q_hat", "V_hat"):
        one, two = getattr(coarse, name), getattr(fine, name)
        assert 2 * two - one == pytest.approx(getattr(exact, name), rel=2e-3), name
        assert abs(two - getattr(exact, name)) < abs(one - getattr(exact, name))
