"""Losses: the proximal operator against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import gcnlimit as gl

LOSSES = [gl.Square(), gl.Logistic(), gl.Hinge()]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@given(omega=st.floats(-30, 30), v=st.floats(1e-3, 1e3))
def test_prox_minimises_its_objective(loss, omega, v):
    def objective(x):
        return float(loss.value(x)) + (x - omega) ** 2 / (2 * v)

    best = minimize_scalar(
        objective, bounds=(omega - 1 - v, omega + 3 * v + 3), method="bounded", options={"xatol": 1e-9}
    )
    assert objective(float(loss.prox(omega, v))) <= best.fun + 1e-12 * (1 + abs(best.fun))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@given(omega=st.floats(-20, 20), v=st.floats(1e-2, 1e2))
def test_prox_derivative(loss, omega, v):
    if isinstance(loss, gl.Hinge) and np.min(np.abs(loss.breakpoints(v) - omega)) < 1e-4:
        return
    h = 1e-5
    slope = (loss.prox(omega + h, v) - loss.prox(omega - h, v)) / (2 * h)
    assert abs(float(slope) - float(loss.prox_derivative(omega, v))) < 1e-5


def test_logistic_prox_at_extremes():
    omega = np.array([-1e5, -50.0, 0.0, 50.0, 1e5, -0.5e7, -0.5e7 + 1.0])
    v = np.array([1e-6, 1e6, 1e7, 1e-3, 1e4, 1e7, 1e7])
    x = gl.Logistic().prox(omega, v)
    stationarity = x - omega - v / (1 + np.exp(np.minimum(x, 700)))
    assert np.all(np.abs(stationarity) <= 1e-14 * (np.abs(omega) + v))


@pytest.mark.parametrize("loss", [gl.Logistic(), gl.Hinge()], ids=repr)
@given(omega=st.floats(-30, 30), v=st.floats(0.1, 50))
def test_the_pull_is_what_moves_an_output_to_its_proximal_point(loss, omega, v):
    pull, stiffness = loss.pull(omega, v)
    assert omega + v * pull == pytest.approx(float(loss.prox(omega, v)), rel=1e-9, abs=1e-9)
    assert 1.0 - v * stiffness == pytest.approx(float(loss.prox_derivative(omega, v)), abs=1e-9)


def test_the_pull_keeps_its_digits_at_a_small_response():
    """At v = 0 it is minus the slope of the loss; the difference of the proximal point would have lost seven digits."""
    assert float(gl.Logistic().pull(20.0, 1e-9)[0]) == pytest.approx(1 / (1 + np.exp(20.0)), rel=1e-12)
    assert float(gl.Hinge().pull(-20.0, 1e-9)[0]) == 1.0
