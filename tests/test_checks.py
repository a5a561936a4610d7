"""The checks of a filter and of a loss: they pass what is right, and name what is wrong."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.filters import Chain, to_unit
from gcnlimit.losses import FromValue


@dataclass(frozen=True, eq=False)
class TwoSteps(gl.Filter):
    parameter = "s"
    s: object

    def normalized(self, x):
        return to_unit(1.0 + x + self.values[..., None] * x**2)

    def chain(self, **how):
        one = np.ones_like(self.values)
        return Chain.polynomial(np.stack([one, one, self.values], axis=-1))


RIGHT_FILTERS = [
    gl.Residual([0.3, -1.23, 2.1]),
    gl.Residual(np.empty(0)),
    gl.Polynomial([[0.2, 0.0, -1.5], [1.0, 1.0, 1.0]]),
    gl.Diffusion([1.7, -2.5]),
    gl.PageRank(0.3),
    TwoSteps(0.5),
    TwoSteps([0.5, 1.5]),
    np.cosh,
    lambda x: np.exp(x, out=x),
    lambda x: 1.0 / (1.0 - 0.3 * x),
]


@pytest.mark.parametrize("filter", RIGHT_FILTERS)
def test_a_right_filter_passes(filter):
    gl.check_filter(filter)


class WrongChain(TwoSteps):
    def chain(self, **how):
        good = super().chain()
        return good._replace(g=good.g[..., ::-1])


class LongChain(TwoSteps):
    def chain(self, **how):
        good = super().chain()
        return good._replace(c=np.zeros((*self.shape, 3)))


class OneParameter(TwoSteps):
    def normalized(self, x):
        return to_unit(1.0 + x + self.values * x**2)


class Unscaled(TwoSteps):
    def normalized(self, x):
        return 1.0 + x + self.values[..., None] * x**2, np.zeros(self.shape)


class WrongScale(TwoSteps):
    def normalized(self, x):
        return super().normalized(x)[0], np.zeros(np.broadcast_shapes(self.shape, x.shape[:-1]))


class FewNodes(TwoSteps):
    def quadrature_nodes(self):
        return np.full(self.shape, 2)


class WrongLayers(TwoSteps):
    def layers(self, **how):
        return np.full(self.shape, 7)


class WrongSeries(TwoSteps):
    def series(self, operator, block, accuracy, shape):
        return super().series(operator.T, block, accuracy, shape)


class LongSeries(TwoSteps):
    def series(self, operator, block, accuracy, shape):
        return 1.1 * super().series(operator, block, accuracy, shape)


class WrongAverages(gl.PageRank):
    def directed_averages(self, signal, mu):
        good = super().directed_averages(signal, mu)
        return good._replace(scattered=2.0 * good.scattered)


class WrongDirectedChain(gl.Diffusion):
    def directed_chain(self, signal, **how):
        return replace(self, t=1.1 * self.t).chain(radius=2.0)


@pytest.mark.parametrize(
    ("filter", "sentence"),
    [
        (np.abs, "not smooth"),
        (np.log, "is nan at x ="),
        (WrongChain(0.5), "chain computes .* where normalized gives"),
        (LongChain(0.5), "b and c are one shorter than g"),
        (OneParameter(0.5), r"add an axis"),
        (Unscaled(0.5), "largest magnitude is 1"),
        (WrongScale(0.5), "its second value is wrong"),
        (FewNodes(0.5), "too few to average"),
        (WrongLayers(0.5), "layers gives at most 7 where chain has 2"),
        (WrongSeries(0.5), "does not act on a matrix as the chain does"),
        (LongSeries(0.5), "does not act on a matrix as the chain does"),
        (WrongAverages(0.4), "directed_averages gives scattered"),
        (WrongDirectedChain(0.4), "directed_chain gives"),
    ],
)
def test_what_is_wrong_in_a_filter_is_named(filter, sentence):
    with pytest.raises(gl.ParameterError, match=sentence):
        gl.check_filter(filter)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: np.ones(3),
        lambda x: np.exp(x)[..., None],
        lambda x: x + 1j,
        lambda x: "g",
        lambda x: 0.0 * x,
    ],
    ids=["other shape", "another axis", "complex", "a word", "zero"],
)
def test_a_function_that_is_no_filter_is_refused(wrong):
    with pytest.raises(gl.ParameterError, match=r"the filter g\(x\) (has dtype|is 0)"):
        gl.predict(gl.CSBM(4, 1, 2, 0.1), gl.GCN(wrong))


def squared_hinge(z):
    return 0.5 * np.maximum(0.0, 1.0 - z) ** 2


class SquaredHinge(gl.Loss):
    def value(self, z):
        return squared_hinge(np.asarray(z))

    def prox(self, omega, v):
        return np.where(np.asarray(omega) < 1.0, (omega + v) / (1.0 + v), omega)

    def prox_derivative(self, omega, v):
        return np.where(np.asarray(omega) < 1.0, 1.0 / (1.0 + v), 1.0)

    def breakpoints(self, v):
        return np.ones((1, *np.shape(v)))


class Steep(gl.Loss):
    """Derivatives in closed form, with a kink between two slopes."""

    kinks = (0.5,)

    def value(self, z):
        return np.maximum(1.0 - z, 2.0 - 3.0 * z)

    def derivatives(self, z):
        return np.where(np.asarray(z) < 0.5, -3.0, -1.0), np.zeros(np.shape(z))


RIGHT_LOSSES = [
    "square",
    "logistic",
    "hinge",
    SquaredHinge(),
    Steep(),
    lambda z: np.logaddexp(0.0, -z),
    FromValue(lambda z: np.exp(-z)),
    FromValue(squared_hinge, kinks=(1.0,)),
    FromValue(lambda z: np.maximum(0.0, 1.0 - z), kinks=(1.0,)),
    FromValue(lambda z: np.maximum(0.0, np.maximum(1.0 - z, 0.75 - 0.5 * z)), kinks=(0.5, 1.5)),
    FromValue(lambda z: np.maximum(1.0 - z, 2.0 - 3.0 * z) + np.maximum(0.0, 0.7 - z), (0.5, 0.7)),
]


@pytest.mark.parametrize("loss", RIGHT_LOSSES)
def test_a_right_loss_passes(loss):
    gl.check_loss(loss)


class WrongProx(SquaredHinge):
    def prox(self, omega, v):
        return np.where(np.asarray(omega) < 1.0, (omega + v) / (1.001 + v), omega)


class WrongDerivative(SquaredHinge):
    def prox_derivative(self, omega, v):
        return np.where(np.asarray(omega) < 1.0, 1.0 / (1.0 + v**2), 1.0)

    breakpoints = SquaredHinge.breakpoints


class Smooth(SquaredHinge):
    def breakpoints(self, v):
        return None


class WrongBreakpoints(SquaredHinge):
    def breakpoints(self, v):
        return 1.0 + 0.1 * np.asarray(v)[None]


class OneBreakpoint(SquaredHinge):
    def breakpoints(self, v):
        return np.array([1.0])


class WrongPull(SquaredHinge):
    def pull(self, omega, v):
        pull, slope = super().pull(omega, v)
        return pull, 1.1 * slope


class WrongAverage(gl.Loss):
    def value(self, z):
        return gl.Square().value(z)

    def gaussian_losses(self, mean, variance, v):
        test, train = gl.Square().gaussian_losses(mean, variance, v)
        return test, train / (1.0 + v)


CALLS = itertools.count()


class Summed(gl.Loss):
    def value(self, z):
        return np.sum(gl.Logistic().value(z))


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        (lambda z: np.cos(z) - z, "not convex near z = "),
        (np.exp, "does not decrease at z = 0"),
        (FromValue(lambda z: np.maximum(0.0, -z), (0.0,)), "does not decrease at z = 0"),
        (lambda z: -np.log(1.0 + z / 5.0), "value is nan at z = -6"),
        (lambda z: -np.sqrt(z + 10.0), "value ends near z = -10"),
        (lambda z: np.where(z < -7.0, 7.0, np.logaddexp(0.0, -z)), "not convex near z = -7"),
        (lambda z: np.maximum(0.0, 9.0 - z), "jumps at z = 9"),
        (lambda z: np.exp(-38.0 * z), "derivatives of value jump at .* places, from z = -5.99"),
        (lambda z: 1e-200 * np.logaddexp(0.0, -z), "slopes of about .*e-201; scale it, and reg"),
        (lambda z: np.logaddexp(0.0, -z).ravel(), "compute it elementwise"),
        (lambda z: np.logaddexp(0.0, -z) + next(CALLS), "changes from call to call"),
        (lambda z: 1.0 / 0, r"^loss = .*<lambda>, kinks=\(\)\) fails on an array \(ZeroDivision"),
        (squared_hinge, r"jumps at z = 1; declare it, as in kinks = \(1.0,\)"),
        (lambda z: np.maximum(0.0, 1.0 - z), r"jumps at z = 1; declare it"),
        (
            lambda z: np.where(np.abs(1 - z) < 1, (1 - z) ** 2 / 2, np.abs(1 - z) - 0.5),
            r"kinks = \(0.0, 2.0\) of",
        ),
        (Summed(), "compute it elementwise"),
        (WrongProx(), "prox is .* lower at x ="),
        (WrongDerivative(), "prox_derivative is .* where prox changes by"),
        (Smooth(), "prox has a kink at omega = 1 for v = .* that breakpoints omits"),
        (WrongBreakpoints(), "prox has a kink at omega = 1"),
        (OneBreakpoint(), "stack the kinks along axis 0"),
        (WrongPull(), "second value of pull is"),
        (WrongAverage(), "gaussian_losses gives .* where quadrature gives"),
    ],
)
def test_what_is_wrong_in_a_loss_is_named(loss, sentence):
    with pytest.raises(gl.ParameterError, match=sentence):
        gl.check_loss(loss)


def test_a_network_refuses_a_loss_whose_derivative_is_not_that_of_its_prox():
    with pytest.raises(
        gl.ParameterError, match=r"loss = .*prox_derivative is .* where prox changes by"
    ):
        gl.GCN(gl.Diffusion(1.0), WrongDerivative())


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_a_loss_in_other_units_is_the_same_loss(factor):
    data = gl.CSBM(4, 1.0, 2.0, 0.1)
    scaled = gl.GCN(gl.Diffusion(1.0), lambda z: factor * np.logaddexp(0.0, -z), reg=0.3 * factor)
    plain = gl.GCN(gl.Diffusion(1.0), "logistic", reg=0.3)
    known = gl.predict(data, plain).test_accuracy
    assert gl.predict(data, scaled).test_accuracy == pytest.approx(known, abs=1e-8)
    with pytest.raises(gl.ParameterError, match="jumps at z = 1; declare it"):
        gl.check_loss(lambda z: factor * squared_hinge(z))
    with pytest.raises(gl.ParameterError, match="not convex"):
        gl.check_loss(lambda z: factor * (np.cos(z) - z))


class NoNumber(SquaredHinge):
    def prox(self, omega, v):
        return np.full(np.broadcast_shapes(np.shape(omega), np.shape(v)), np.nan)


class Sigmoid(gl.Loss):
    def value(self, z):
        return 1.0 / (1.0 + np.exp(np.asarray(z)))


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        (lambda z: np.maximum(0.0, 1.0 - z), "jumps at z = 1; declare it"),
        (lambda z: np.sum(np.exp(-z)), "compute it elementwise"),
        (lambda z: np.exp(-z) + 0j, "dtype complex128"),
        (lambda z: np.exp(-z).astype(np.float32), "dtype float32"),
        (lambda z: np.full(z.shape, np.nan), "value is nan"),
        (
            FromValue(lambda z: np.maximum(0.0, 1.0 - z) + np.maximum(0.0, -z), kinks=(1.0, 0.0)),
            "in increasing order",
        ),
        (FromValue(lambda z: np.maximum(0.0, 1.0 - z), kinks=(1.0, 1.0)), "in increasing order"),
        (Sigmoid(), "not convex"),
        (WrongProx(), "prox is .* lower at x ="),
        (NoNumber(), "prox is nan"),
    ],
)
def test_a_network_refuses_a_loss_with_which_every_answer_would_be_wrong(loss, sentence):
    with pytest.raises(gl.ParameterError, match=sentence):
        gl.GCN(gl.Diffusion(1.0), loss)


def test_a_loss_may_work_in_place():
    def in_place(z):
        return np.exp(np.negative(z, out=z), out=z)

    expected = gl.predict(
        gl.CSBM(2, 1, 2, 0.4), gl.GCN(gl.Residual([]), lambda z: np.exp(-z), 1.0)
    ).test_loss
    found = gl.predict(gl.CSBM(2, 1, 2, 0.4), gl.GCN(gl.Residual([]), in_place, 1.0)).test_loss
    assert found == expected


def fails(*_):
    raise KeyError("no such margin")


@pytest.mark.parametrize(
    "check, given",
    [
        (gl.check_loss, type("Failing", (gl.Loss,), {"value": fails})()),
        (gl.check_loss, fails),
        (gl.check_filter, fails),
        (
            gl.check_filter,
            dataclass(frozen=True, eq=False)(type("Failing", (TwoSteps,), {"normalized": fails}))(
                1.0
            ),
        ),
        (gl.GCN, fails),
    ],
    ids=["loss", "loss of a function", "filter of a function", "filter", "network"],
)
def test_a_function_that_fails_is_quoted(check, given):
    with pytest.raises(
        gl.ParameterError, match=r"fails on an array \(KeyError: 'no such margin'\)"
    ):
        gl.predict(gl.CSBM(4, 1, 2, 0.1), check(given))
