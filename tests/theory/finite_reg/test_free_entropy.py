"""The free entropy: stationary at the solution, where it is minus the training objective."""

from dataclasses import fields, replace

import numpy as np
import pytest

import gcnlimit as gl

DATA = gl.CSBM(alpha=2.0, lam=0.9, mu=1.5, rho=0.4)
CASES = [
    gl.GCN(gl.Residual([0.7]), "square", 0.6, symmetrize=False),
    gl.GCN(gl.Residual([0.3, 1.4]), "logistic", 0.3, symmetrize=False),
    gl.GCN(gl.Polynomial([0.5, -0.4, 1.0]), "hinge", 0.8, symmetrize=False),
]
cases = pytest.mark.parametrize("gcn", CASES, ids=repr)
UNKNOWNS = [
    f.name
    for f in fields(gl.results.OrderParameters)
    if f.name not in {"test_margin", "train_margin", "mean", "variance", "v", "V_qh", "Q_qh"}
]


@cases
def test_gradient_vanishes_in_every_order_parameter(gcn):
    solution = gl.predict(DATA, gcn, tol=1e-13).order_parameters
    for name in UNKNOWNS:
        value = np.atleast_1d(np.asarray(solution[name], float))
        for index in np.ndindex(value.shape):
            h = 1e-4 * np.abs(value).max()
            slopes = []
            for sign in (1, -1):
                moved = value.copy()
                moved[index] += sign * h
                if value.ndim == 2 and index[0] != index[1]:
                    moved[index[::-1]] += sign * h  # symmetric matrices move as such
                shifted = replace(solution, **{name: moved if np.ndim(solution[name]) else float(moved[0])})
                slopes.append(gl.theory.free_entropy(DATA, gcn, shifted))
            scale = abs(gl.theory.free_entropy(DATA, gcn, solution)) / np.abs(value).max()
            assert abs(slopes[0] - slopes[1]) / (2 * h) < 1e-5 * scale, (name, index)


@cases
def test_it_moves_away_from_the_solution(gcn):
    """The gradient does not vanish elsewhere: the previous test can fail."""
    solution = gl.predict(DATA, gcn).order_parameters
    off = replace(solution, Q_w=1.1 * solution.Q_w)
    up, down = (gl.theory.free_entropy(DATA, gcn, replace(off, V_hat_w=f * off.V_hat_w)) for f in (1.001, 0.999))
    assert (up - down) / (0.002 * off.V_hat_w) == pytest.approx(0.05 * solution.Q_w, rel=1e-3)


@cases
def test_value_is_the_training_objective_and_its_slope_the_training_loss(gcn):
    p = gl.predict(DATA, gcn, tol=1e-13)
    energy = DATA.rho * p.train_loss + 0.5 * gcn.reg * p.order_parameters.Q_w
    assert gl.theory.free_entropy(DATA, gcn, p.order_parameters) == pytest.approx(-energy, abs=1e-9)
    up, down = (gl.theory.free_entropy(DATA, gcn, p.order_parameters, loss_weight=1 + h) for h in (1e-5, -1e-5))
    assert -(up - down) / 2e-5 == pytest.approx(DATA.rho * p.train_loss, rel=1e-6)


def test_refusals():
    gcn = CASES[0]
    parameters = gl.predict(DATA, gcn).order_parameters
    with pytest.raises(gl.ParameterError, match="directed graphs only"):
        gl.theory.free_entropy(DATA, gl.GCN(gcn.filter, reg=0.6, symmetrize=True), parameters)
    with pytest.raises(gl.ParameterError, match="reg = inf"):
        gl.theory.free_entropy(DATA, gl.GCN(gcn.filter, symmetrize=False), parameters)
