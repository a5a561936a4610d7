"""The explicit state at large regularization against the equations it solves."""

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.theory.finite_reg import asymptote
from gcnlimit.theory.order_parameters import OrderParameters
from gcnlimit.theory.points import Points
from validation.chain_equations import apply_equations

FILTERS = [
    gl.Residual([0.5, 1.2, -0.3, 0.8]),
    gl.Diffusion(0.8),
    gl.Polynomial([0.3, 0.2, -0.5]),
    gl.Residual(np.empty(0)),
]


@pytest.mark.parametrize("filter", FILTERS, ids=repr)
@pytest.mark.parametrize("loss", ["square", "hinge"])
@pytest.mark.parametrize("lam", [0.9, -1.4])
@pytest.mark.parametrize("symmetrize", [False, True])
def test_it_solves_the_chain_equations(filter, loss, lam, symmetrize):
    data = gl.CSBM(alpha=2.0, lam=lam, mu=1.5, rho=0.4)
    far, reg = asymptote(Points.of(data, gl.GCN(filter, loss, np.inf, symmetrize)))
    parameters = OrderParameters(0.0, 0.0, **{name: value[0] for name, value in far.layers().items()})
    after = apply_equations(data, gl.GCN(filter, loss, float(reg[0]), symmetrize), parameters)
    for name, new in after.items():
        assert np.abs(new - parameters[name]).max(initial=0.0) <= 1e-8 * np.abs(new).max(initial=0.0), name
