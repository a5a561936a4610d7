"""The explicit state at large regularization against the equations it solves."""

import numpy as np
import pytest
from problems import FILTERS

import gcnlimit as gl
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.theory.finite_reg.propensities import PropensityEquations
from gcnlimit.theory.finite_reg.symmetric import Grids
from gcnlimit.theory.points import Points, check_range, in_range
from gcnlimit.theory.solve import asymptote
from validation.chain_equations import apply_equations, of_layers


@pytest.mark.parametrize("filter", FILTERS, ids=repr)
@pytest.mark.parametrize("loss", ["square", "logistic", "hinge"])
@pytest.mark.parametrize("lam", [0.9, -1.4])
@pytest.mark.parametrize("symmetrize", [False, True])
def test_it_solves_the_chain_equations(filter, loss, lam, symmetrize):
    data = gl.CSBM(alpha=2.0, lam=lam, mu=1.5, rho=0.4)
    gcn = gl.GCN(filter, loss, np.inf, symmetrize)
    far, reg = asymptote(of_layers(data, gcn))
    layers = far.chain_layers().reshape(())
    after = apply_equations(data, gl.GCN(filter, loss, float(reg[0]), symmetrize), layers).as_dict()
    for name, old in layers.as_dict().items():
        assert np.abs(after[name] - old).max(initial=0.0) <= 1e-8 * np.abs(old).max(initial=0.0), (
            name
        )


@pytest.mark.parametrize("loss", ["square", "logistic", "hinge"])
def test_with_hubs_it_solves_the_equations_of_all_propensities(loss):
    data = gl.CSBM(2.0, 0.9, 1.5, 0.4, directed=False, degrees=gl.Gamma(0.5))
    points = Points.of(data, gl.GCN(gl.Diffusion(0.4), loss, 1.0))
    equations = Grids.of(points, PropensityEquations).equations()
    far = equations.at(1e9 * equations.far)
    np.testing.assert_allclose(far.next(far.start()), far.start(), rtol=0, atol=1e-7)


@pytest.mark.parametrize("symmetrize", [False, True])
@pytest.mark.parametrize("depth", [5, 30])
def test_it_is_as_good_as_infinite_however_strong_the_signal(depth, symmetrize):
    """The weights point along the gradient at zero: m_w is known, even where labels gain 1e18 times as much as noise."""
    data = gl.CSBM(alpha=2.0, lam=2.0, mu=1.5, rho=0.4)
    functions = gl.depth.order_functions(
        data, gl.GCN(gl.Residual.constant(0.0, depth), symmetrize=symmetrize)
    )
    points = Points.of(data, gl.GCN(gl.Residual.constant(0.0, depth), symmetrize=symmetrize))
    measure = SpikedSemicircle.of(points.signal, 4 * depth)
    along = float(measure.e[0] @ measure.x[0] ** depth) if symmetrize else 2.0**depth
    assert float(functions.weights.m) == pytest.approx(np.sqrt(1.5) * 0.4 * along / 2.0, rel=1e-10)


@pytest.mark.parametrize("name", ["alpha", "lam", "mu", "rho"])
def test_data_are_in_range_where_they_are_not_refused(name):
    inside = {"alpha": 2.0, "lam": 1.0, "mu": 1.0, "rho": 0.5}
    ends = [0.99e50, 1.01e50, 1.01e-50, 0.99e-50, 0.0, -1.01e50, -0.99e50]
    for end in ends:
        if (name == "rho" and end > 1.0) or (name != "lam" and end < 0.0):
            continue
        values = inside | {name: end}
        try:
            check_range(gl.CSBM(**values))
            passes = True
        except gl.ParameterError:
            passes = False
        if name == "alpha" and end == 0.0:
            continue
        assert in_range(**{key: np.array(value) for key, value in values.items()}) == passes, end
