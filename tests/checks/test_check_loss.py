"""The check of a loss: it passes what is right, and names what is wrong."""

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.losses import FromValue


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


RIGHT = [
    "square",
    "logistic",
    "hinge",
    SquaredHinge(),
    Steep(),
    lambda z: np.logaddexp(0.0, -z),
    FromValue(lambda z: np.exp(-z)),
    FromValue(squared_hinge, kinks=(1.0,)),
    FromValue(lambda z: np.maximum(0.0, 1.0 - z), kinks=(1.0,)),
]


@pytest.mark.parametrize("loss", RIGHT)
def test_what_is_right_passes(loss):
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


class Summed(gl.Loss):
    def value(self, z):
        return np.sum(gl.Logistic().value(z))


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        (lambda z: np.cos(z) - z, "not convex near z = "),
        (np.exp, "does not decrease at z = 0"),
        (lambda z: -np.log(1.0 + z / 5.0), "value is nan at z = -6"),
        (squared_hinge, r"jumps at z = 1; declare it, as in kinks = \(1.0,\)"),
        (lambda z: np.maximum(0.0, 1.0 - z), r"jumps at z = 1; declare it"),
        (lambda z: np.where(np.abs(1 - z) < 1, (1 - z) ** 2 / 2, np.abs(1 - z) - 0.5), r"kinks = \(0.0, 2.0\) of"),
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
def test_what_is_wrong_is_named(loss, sentence):
    with pytest.raises(gl.ParameterError, match=sentence):
        gl.check_loss(loss)


def test_a_network_refuses_a_loss_whose_derivative_is_not_that_of_its_prox():
    with pytest.raises(gl.ParameterError, match=r"loss = .*prox_derivative is .* where prox changes by"):
        gl.GCN(gl.Diffusion(1.0), WrongDerivative())


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
        (FromValue(lambda z: np.maximum(0.0, 1.0 - z) + np.maximum(0.0, -z), kinks=(1.0, 0.0)), "in increasing order"),
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

    expected = gl.predict(gl.CSBM(2, 1, 2, 0.4), gl.GCN(gl.Residual([]), lambda z: np.exp(-z), 1.0)).test_loss
    found = gl.predict(gl.CSBM(2, 1, 2, 0.4), gl.GCN(gl.Residual([]), in_place, 1.0)).test_loss
    assert found == expected
