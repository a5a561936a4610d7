"""Losses: the proximal operator against its definition."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import gcnlimit as gl
from gcnlimit.classes import Classes
from gcnlimit.losses import FromValue, custom
from gcnlimit.losses.base import ClassLoss
from gcnlimit.penalties import L2, Mixed

LOSSES = [gl.Square(), gl.Logistic(), gl.Hinge()]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@given(omega=st.floats(-30, 30), v=st.floats(1e-3, 1e3))
def test_prox_minimises_its_objective(loss, omega, v):
    def objective(x):
        return float(loss.value(x)) + (x - omega) ** 2 / (2 * v)

    best = minimize_scalar(
        objective,
        bounds=(omega - 1 - v, omega + 3 * v + 3),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert objective(float(loss.prox(omega, v))) <= best.fun + 1e-12 * (1 + abs(best.fun))


@pytest.mark.parametrize("loss", [*LOSSES, gl.Softmax()], ids=repr)
def test_the_slope_at_zero_is_that_of_the_value(loss):
    up, down = loss.value(1e-4), loss.value(-1e-4)
    assert loss.slope_at_zero == pytest.approx(float(up - down) / 2e-4, rel=1e-7)


def test_logistic_prox_at_extremes():
    omega = np.array([-1e5, -50.0, 0.0, 50.0, 1e5, -0.5e7, -0.5e7 + 1.0])
    v = np.array([1e-6, 1e6, 1e7, 1e-3, 1e4, 1e7, 1e7])
    x = gl.Logistic().prox(omega, v)
    stationarity = x - omega - v / (1 + np.exp(np.minimum(x, 700)))
    assert np.all(np.abs(stationarity) <= 1e-14 * (np.abs(omega) + v))


@pytest.mark.parametrize("v", [1e-9, 1e-3, 1.0, 2e4, 1e9])
@pytest.mark.parametrize("reach", [300.0, 20000.0])
def test_the_proximal_point_of_a_huge_loss_is_found(v, reach):
    """Between an output of -300 and minus v times the slope there, 1e130 or infinite, a search by halves does not arrive."""
    omega = np.linspace(-reach, reach, 41)
    steep = FromValue(lambda z: np.exp(-z))
    x = steep.prox(omega, v)
    pulled = v * np.exp(-x)
    assert np.all(np.abs(x - omega - pulled) <= 1e-11 * (np.abs(omega) + pulled + 1.0))


def test_the_pull_keeps_its_digits_at_a_small_response():
    """At v = 0 it is minus the slope of the loss; the difference of the proximal point would have lost seven digits."""
    assert float(gl.Logistic().pull(20.0, 1e-9)[0]) == pytest.approx(
        1 / (1 + np.exp(20.0)), rel=1e-12
    )
    assert float(gl.Hinge().pull(-20.0, 1e-9)[0]) == 1.0


FROM_VALUE = [
    (FromValue(lambda z: 0.5 * (1.0 - z) ** 2), gl.Square()),
    (FromValue(lambda z: np.logaddexp(0.0, -z)), gl.Logistic()),
    (FromValue(lambda z: np.maximum(0.0, 1.0 - z), kinks=(1.0,)), gl.Hinge()),
]


@pytest.mark.parametrize(("mine", "known"), FROM_VALUE, ids=lambda loss: type(loss).__name__)
def test_the_value_alone_gives_the_proximal_operator(mine, known):
    """And its derivative, but at corners, where that jumps."""
    rng = np.random.default_rng(0)
    omega, v = (
        np.append(rng.uniform(-20, 20, 998), [0.0, 1.5]),
        10 ** np.append(rng.uniform(-3, 3, 998), [0.0, 3.0]),
    )
    assert np.all(
        np.abs(mine.prox(omega, v) - known.prox(omega, v)) <= 1e-12 * (1 + np.abs(omega) + v)
    )
    away = (
        np.ones(1000, bool)
        if known.breakpoints(v) is None
        else np.all(omega != known.breakpoints(v), axis=0)
    )
    omega, v = omega[away], v[away]
    assert np.allclose(
        mine.prox_derivative(omega, v), known.prox_derivative(omega, v), rtol=0, atol=1e-10
    )
    assert np.allclose(mine.pull(omega, v), known.pull(omega, v), rtol=1e-10, atol=1e-10)
    assert np.allclose(mine.derivatives(omega), known.derivatives(omega), rtol=1e-10, atol=1e-10)


def test_the_kinks_of_a_value_give_those_of_the_proximal_operator():
    v = np.array([0.3, 2.0])
    assert np.allclose(FROM_VALUE[2][0].breakpoints(v), gl.Hinge().breakpoints(v), atol=1e-12)


@pytest.mark.parametrize(("mine", "known"), FROM_VALUE[1:], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("symmetrize", [False, True])
def test_a_loss_from_its_value_alone_is_predicted_and_trained(mine, known, symmetrize):
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    networks = [gl.GCN(gl.Residual([1.0, 0.5]), loss, 0.3, symmetrize) for loss in (mine, known)]
    left, right = (gl.predict(data, gcn) for gcn in networks)
    assert left.test_accuracy == pytest.approx(right.test_accuracy, abs=1e-10)
    assert left.train_loss == pytest.approx(right.train_loss, rel=1e-9)
    instance = gl.sample(data, nodes=300, degree=20, seed=0)
    weights = [gl.fit(instance, gcn).weights for gcn in networks]
    assert np.allclose(*weights, atol=1e-5 * np.abs(weights[1]).max())


def test_a_factor_of_a_loss_is_one_of_the_regularization():
    """Also of one that overflows: the exponential at margins below -700, within the bounds of its proximal point."""
    data, filter = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.Residual([1.0])
    plain, steep = (
        gl.predict(data, gl.GCN(filter, loss, reg, symmetrize=False))
        for loss, reg in ((lambda z: np.exp(-z), 1e-6), (lambda z: 1e6 * np.exp(-z), 1.0))
    )
    assert steep.test_accuracy == pytest.approx(plain.test_accuracy, abs=1e-10)
    assert steep.train_loss == pytest.approx(1e6 * plain.train_loss, rel=1e-9)
    # x - omega = v 1e9 exp(-x), from points where the exponential is beyond all numbers
    omega = np.array([-1e4, -1e12])
    x = FromValue(lambda z: 1e9 * np.exp(-z)).prox(omega, 1.0)
    assert x == pytest.approx(np.log(1e9 / (x - omega)), rel=1e-9)


def test_infinite_regularization_is_the_limit_of_a_loss_with_a_corner_at_0():
    """Outputs vanish, and the pulls on the two sides of the corner still differ."""
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    loss = FromValue(lambda z: np.maximum(0.0, 1.0 - z) + np.maximum(0.0, -z), (0.0, 1.0))
    far, limit = (gl.predict(data, gl.GCN(gl.Diffusion(1.0), loss, reg)) for reg in (1e8, math.inf))
    assert far.test_accuracy == pytest.approx(limit.test_accuracy, abs=1e-12)
    assert far.train_accuracy == pytest.approx(limit.train_accuracy, abs=1e-12)
    smooth = gl.predict(data, gl.GCN(gl.Diffusion(1.0)))
    assert limit.train_accuracy < smooth.train_accuracy - 1e-4
    with pytest.raises(gl.ParameterError, match="loss"):
        gl.predict(data.replaced(degrees=gl.Gamma(1.0)), gl.GCN(gl.Diffusion(1.0), loss))


def test_a_loss_of_the_library_is_final():
    """A subclass with another value would keep the proximal operator of its parent."""
    with pytest.raises(
        TypeError,
        match=r"OtherValue derives from Square, which is final; derive it from gcnlimit\.Loss",
    ):

        class OtherValue(gl.Square):
            def value(self, z):
                return 2.0 * super().value(z)


@dataclass  # neither frozen nor hashable
class Exponential(gl.Loss):
    """A loss of one's own with a parameter."""

    rate: float

    def value(self, z):
        return np.exp(-self.rate * np.asarray(z))


def test_a_loss_may_be_a_plain_dataclass():
    data = gl.CSBM(4, 1.0, 2.0, 0.1)
    found, known = (
        gl.predict(data, gl.GCN(gl.Diffusion(1.0), loss, 1.0))
        for loss in (Exponential(1.0), lambda z: np.exp(-z))
    )
    assert found.test_accuracy == known.test_accuracy


class SmoothHinge(gl.Loss):
    """The hinge loss with its corner rounded over a width: breakpoints, but no corner."""

    def value(self, z):
        x = np.clip(1.0 - np.asarray(z), 0.0, 0.5)
        return x**2 + np.maximum(0.5 - np.asarray(z), 0.0)

    kinks = (0.5, 1.0)


CORNER_AT_5 = FromValue(
    lambda z: np.logaddexp(0.0, -z) + 0.01 * np.maximum(0.0, 5.0 - z), kinks=(5.0,)
)


@pytest.mark.parametrize(
    "loss, classes, pinned",
    [
        (gl.Hinge(), [0.3, 0.7], True),
        (gl.Hinge(), [0.7, 0.3], True),
        (gl.Hinge(), [0.5, 0.5], False),
        (FROM_VALUE[2][0], [0.3, 0.7], True),
        (SmoothHinge(), [0.3, 0.7], False),
        (CORNER_AT_5, [0.3, 0.7], False),
        (gl.Logistic(), [0.3, 0.7], False),
    ],
)
def test_a_bias_pins_outputs_where_it_rests_at_a_corner(loss, classes, pinned):
    assert ClassLoss(loss, Classes.of(classes)).is_pinned == pinned


@pytest.mark.parametrize("p", [0.1, 0.4, 0.8])
def test_the_bias_at_rest_minimizes_the_loss_of_the_classes(p):
    classes = Classes.of([p, 1.0 - p])
    entropy = -p * np.log(p) - (1.0 - p) * np.log(1.0 - p)
    for loss, bias, at_rest in (
        (gl.Logistic(), np.log(p / (1.0 - p)), entropy),
        (FROM_VALUE[0][0], 2.0 * p - 1.0, 2.0 * p * (1.0 - p)),
        (gl.Hinge(), np.sign(2.0 * p - 1.0), 2.0 * min(p, 1.0 - p)),
    ):
        resting = ClassLoss(loss, classes)
        assert resting.resting_bias == pytest.approx(bias, abs=1e-9)
        assert resting.at_rest == pytest.approx(at_rest, rel=1e-9)
    square = ClassLoss(gl.Square(), classes)
    assert square.at_rest == 0.5
    first, second = square.targets[:, 0]
    assert (first, second) == pytest.approx((0.5 / np.sqrt(p - p**2), -0.5 / np.sqrt(p - p**2)))


def test_a_kink_of_the_prox_may_lie_at_any_margin():
    """Differences across it say nothing of the derivative; all margins where a loss is looked at are tried."""
    for kink in custom._OMEGA[custom._OMEGA > 0.0]:
        loss = FromValue(lambda z, kink=kink: np.maximum(0.0, kink - z), kinks=(kink,))
        assert custom.as_loss(loss) is loss


@pytest.mark.parametrize("kinks", [(1.0, 1.0), (0.0, 2.0, 1.0), (math.nan,), ("1",), ((1.0,),)])
def test_kinks_are_margins_in_increasing_order(kinks):
    with pytest.raises(gl.ParameterError, match="list the margins in increasing order"):
        gl.GCN(gl.Diffusion(1.0), FromValue(lambda z: np.maximum(0.0, 1.0 - z), kinks=kinks))


METHODS = {
    "value": lambda loss, bad: loss.value(bad),
    "derivatives": lambda loss, bad: loss.derivatives(bad),
    "prox": lambda loss, bad: loss.prox(bad, 1.0),
    "prox in v": lambda loss, bad: loss.prox(0.5, bad),
    "prox_derivative": lambda loss, bad: loss.prox_derivative(bad, 1.0),
    "pull": lambda loss, bad: loss.pull(0.5, bad),
    "breakpoints": lambda loss, bad: loss.breakpoints(bad),
}


@pytest.mark.parametrize("bad", ["x", None, [1.0, "a"], 1j, np.ma.masked, {}], ids=repr)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("function", [*LOSSES, gl.Softmax(), gl.ElasticNet(0.5)], ids=repr)
def test_methods_ask_for_numbers(function, method, bad):
    """A loss without kinks has no breakpoints whatever v is; a penalty has no pull."""
    if method == "breakpoints" and not function.kinks and function != gl.ElasticNet(0.5):
        return
    if method == "pull" and not isinstance(function, gl.Loss):
        return
    with pytest.raises(gl.ParameterError, match=r"^(z|w|omega|v) "):
        METHODS[method](function, bad)


@pytest.mark.parametrize("method", ["prox", "prox_derivative", "pull"])
@pytest.mark.parametrize(
    "function", [*LOSSES, gl.Softmax(), gl.ElasticNet(0.5), L2(), Mixed(L2(), 0.5)], ids=repr
)
def test_points_and_widths_broadcast(function, method):
    if method == "pull" and not isinstance(function, gl.Loss):
        return
    both = r"omega \(3,\), v \(2,\); add axes"
    with pytest.raises(gl.ParameterError, match=both):
        getattr(function, method)(np.ones(3), np.ones(2))


def test_the_pull_without_response_is_minus_the_slope():
    with np.errstate(all="raise"):
        pull, _ = gl.Hinge().pull([0.5, 1.5], 0.0)
    assert pull.tolist() == [1.0, 0.0]
