"""The explicit state at large regularization against the equations it solves."""

from dataclasses import replace

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.theory.far import far_state
from gcnlimit.theory.finite_reg import Scaled
from gcnlimit.theory.points import Points

FILTERS = [
    gl.Residual([0.5, 1.2, -0.3, 0.8]),
    gl.Diffusion(0.8),
    gl.Polynomial([0.3, 0.2, -0.5]),
    gl.Residual(np.empty(0)),
]


@pytest.mark.parametrize("filter", FILTERS, ids=repr)
@pytest.mark.parametrize("loss", ["square", "hinge"])
@pytest.mark.parametrize("symmetrize", [False, True])
def test_it_is_a_fixed_point_of_the_chain_equations(filter, loss, symmetrize):
    data = gl.CSBM(alpha=[2.0, 3.0], lam=[0.9, -1.4], mu=1.5, rho=0.4)
    reg = np.full(2, 1e11)
    problem = Scaled.of(Points.of(data, gl.GCN(filter, loss, reg, symmetrize))).problem
    problem = replace(problem, reg=reg)
    state = far_state(problem, reg)
    after = problem.moments(state).state
    for name in state._fields:
        if symmetrize or name not in {"V_qh", "Q_qh"}:  # of no effect, and not computed, on a directed graph
            old, new = getattr(state, name), getattr(after, name)
            assert np.abs(new - old).max(initial=0.0) <= 1e-7 * np.abs(old).max(initial=1e-15), name
