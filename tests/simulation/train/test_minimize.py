"""Training with a free bias: the balance of the classes, and units of the margin."""

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.classes import Classes
from gcnlimit.errors import ConvergenceError
from gcnlimit.losses import Logistic
from gcnlimit.simulation.train.minimize import Shifted, TrainingTask


class Stretched(gl.Loss):
    """A loss in other units of the margin, l(z/s)."""

    def __init__(self, loss, unit):
        self.loss, self.unit = loss, unit

    def value(self, z):
        return self.loss.value(np.asarray(z) / self.unit)

    def prox(self, omega, v):
        return self.unit * self.loss.prox(np.asarray(omega) / self.unit, v / self.unit**2)

    def prox_derivative(self, omega, v):
        return self.loss.prox_derivative(np.asarray(omega) / self.unit, v / self.unit**2)


def trained(loss, reg, shift=0.0, first=12):
    rng = np.random.default_rng(0)
    index = np.repeat([0, 1], [first, 40 - first])
    F = rng.standard_normal((40, 15)) + 0.4 * np.where(index, -1.0, 1.0)[:, None] + shift
    task = TrainingTask(F, index, Classes.of([first / 40, 1 - first / 40]), loss)
    (weights,), (bias,), _ = task.minimize(np.array([reg]), 1e-11)
    return F, index, weights, bias


@pytest.mark.parametrize("first", [12, 28])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 300.0, 3e4])
def test_units_of_the_margin_are_units_of_weights_and_bias(unit, first):
    """However large the bias, or small: that of l(z/s) at reg/s^2 is s times that of l."""
    _, _, weights, bias = trained(Stretched(Logistic(), unit), 2.0 / unit**2, first=first)
    _, _, usual, usual_bias = trained(Logistic(), 2.0, first=first)
    assert np.sign(first - 20) * usual_bias[0] > 0.1  # towards the larger class
    np.testing.assert_allclose(weights / unit, usual, atol=1e-7)
    np.testing.assert_allclose(bias / unit, usual_bias, atol=1e-7)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "square"])
def test_a_shift_of_all_rows_goes_into_the_bias(loss):
    """Weights on centred rows are the same: the bias is not regularized."""
    _, _, weights, bias = trained(gl.losses.as_loss(loss), 2.0)
    _, _, shifted, other = trained(gl.losses.as_loss(loss), 2.0, shift=3.0)
    np.testing.assert_allclose(shifted, weights, atol=1e-5)
    np.testing.assert_allclose(other, bias - 3.0 * weights.sum(axis=0), atol=1e-4)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_the_pulls_of_the_two_classes_balance(loss):
    """The objective is stationary in the bias: it rises on both sides."""
    F, index, weights, bias = trained(gl.losses.as_loss(loss), 2.0)
    signs = np.where(index == 0, 1.0, -1.0)
    total = [
        np.sum(gl.losses.as_loss(loss).value(signs * (F @ weights[:, 0] + bias[0] + change)))
        for change in (-1e-3, 0.0, 1e-3)
    ]
    assert total[1] <= min(total[0], total[2])


def test_a_shifted_loss_is_least_beside_its_proximal_point():
    loss, omega = Shifted(gl.Logistic(), np.array([0.7, -2.0])), np.array([0.3, 1.0])
    best = loss.prox(omega, 1.5)
    for step in (-1e-3, 1e-3):
        values = [loss.value(x) + (x - omega) ** 2 / 3.0 for x in (best, best + step)]
        assert np.all(values[0] < values[1])


@pytest.mark.parametrize("loss", [gl.Logistic(), gl.Hinge(), gl.Softmax()], ids=repr)
def test_equal_classes_have_no_bias(loss):
    index = np.repeat([0, 1], [12, 28])  # of classes that are alike in the model
    F = np.random.default_rng(0).standard_normal((40, 15))
    _, biases, _ = TrainingTask(F, index, Classes(2), loss).minimize(np.array([0.5, 2.0]), 1e-10)
    assert np.all(np.array(biases) == 0.0)


def test_a_bias_that_nothing_bounds_is_refused():
    """All labels are of one class: the loss falls with the bias for ever."""
    F = np.random.default_rng(0).standard_normal((10, 4))
    task = TrainingTask(F, np.zeros(10, int), Classes.of([0.3, 0.7]), Stretched(Logistic(), 1e5))
    with pytest.raises(ConvergenceError, match="the free bias is not finite; label more nodes"):
        task.minimize(np.array([1.0]), 1e-10)
