"""The free entropy: stationary at the solution, where it is minus the training objective."""

from dataclasses import replace

import numpy as np
import pytest
from problems import WELL_LABELLED

import gcnlimit as gl
from validation.free_entropy import free_entropy

CASES = [
    gl.GCN(gl.Residual([0.7]), "square", 0.6, symmetrize=False),
    gl.GCN(gl.Residual([0.3, 1.4]), "logistic", 0.3, symmetrize=False),
    gl.GCN(gl.Polynomial([0.5, -0.4, 1.0]), "hinge", 0.8, symmetrize=False),
    gl.GCN(gl.Residual([0.7]), "square", 0.6),
    gl.GCN(gl.Residual([0.3, 1.4]), "logistic", 0.3),
    gl.GCN(gl.Polynomial([0.5, -0.4, 1.0, 0.3]), "hinge", 0.8),
]
cases = pytest.mark.parametrize("gcn", CASES, ids=repr)
UNKNOWNS = [
    f"{name}{hat}{of}" for of in ("", "_w") for name in ("m", "Q", "V") for hat in ("", "_hat")
]


def moved(layers, name, value):
    """Same order parameters with one of them changed; those of the weights end in _w."""
    if name.endswith("_w"):
        return replace(layers, weights=replace(layers.weights, **{name[:-2]: value}))
    return replace(layers, **{name: value})


@cases
def test_gradient_vanishes_in_every_order_parameter(gcn):
    solution = gl.predict(WELL_LABELLED, gcn, tol=1e-13).order_parameters.layers
    for name in [*UNKNOWNS, "V_qh", "Q_qh"] if gcn.symmetrize else UNKNOWNS:
        value = solution.as_dict()[name]
        for index in np.ndindex(value.shape):
            h = 1e-4 * np.abs(value).max()
            slopes = []
            for sign in (1, -1):
                there = value.copy()
                there[index] += sign * h
                if value.ndim == 2 and index[0] != index[1] and not name.endswith("_qh"):
                    there[index[::-1]] += sign * h  # symmetric matrices move as such
                slopes.append(free_entropy(WELL_LABELLED, gcn, moved(solution, name, there)))
            scale = abs(free_entropy(WELL_LABELLED, gcn, solution)) / np.abs(value).max()
            assert abs(slopes[0] - slopes[1]) / (2 * h) < 1e-5 * scale, (name, index)


@cases
def test_it_moves_away_from_the_solution(gcn):
    """The gradient does not vanish elsewhere: the previous test can fail."""
    solution = gl.predict(WELL_LABELLED, gcn).order_parameters.layers
    off, V_hat = moved(solution, "Q_w", 1.1 * solution.weights.Q), solution.weights.V_hat
    up, down = (
        free_entropy(WELL_LABELLED, gcn, moved(off, "V_hat_w", f * V_hat)) for f in (1.001, 0.999)
    )
    assert (up - down) / (0.002 * V_hat) == pytest.approx(0.05 * solution.weights.Q, rel=1e-3)


@cases
def test_value_is_the_training_objective_and_its_slope_the_training_loss(gcn):
    p = gl.predict(WELL_LABELLED, gcn, tol=1e-13)
    energy = WELL_LABELLED.rho * p.train_loss + 0.5 * gcn.reg * p.order_parameters.weights.Q
    assert free_entropy(WELL_LABELLED, gcn, p.order_parameters.layers) == pytest.approx(
        -energy, abs=1e-9
    )
    up, down = (
        free_entropy(WELL_LABELLED, gcn, p.order_parameters.layers, loss_weight=1 + h)
        for h in (1e-5, -1e-5)
    )
    assert -(up - down) / 2e-5 == pytest.approx(WELL_LABELLED.rho * p.train_loss, rel=1e-6)
