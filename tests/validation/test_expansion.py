"""Orders in 1/reg: a solver of many digits, a closed form without a graph, and the remainder on finite-reg solutions."""

import numpy as np
import pytest

import gcnlimit as gl
from validation.expansion import large_reg_expansion
from validation.expansion_orders import orders

DATA = gl.CSBM(alpha=[1.5, 4.0], lam=[0.8, 1.0], mu=[1.0, 2.0], rho=[0.5, 0.1])
FILTERS = [gl.Residual([1.0, 0.4]), gl.Diffusion(0.7), gl.PageRank(0.3)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "point, symmetrize",
    [((4, 1.0, 2.0, 0.1, 1.0), False), ((1.5, 3.0, 1.0, 0.5, 0.3), True)],
    ids=str,
)
def test_every_order_is_that_of_a_solver_of_many_digits(point, symmetrize):
    """Seconds for five orders, by mpmath."""
    gcn = gl.GCN(gl.Residual([point[4]]), symmetrize=symmetrize)
    ours = large_reg_expansion(gl.CSBM(*point[:4]), gcn, order=4)
    assert np.allclose(ours, orders(point, 4, symmetrize, digits=45), rtol=1e-9, atol=0)


def test_without_a_graph_the_orders_are_known():
    """Ridge on a Gaussian mixture: z = z_0 sqrt(1 - alpha rho (V/(1+V))^2), V = 1/(alpha (r + rho/(1+V)))."""
    z = large_reg_expansion(DATA, gl.GCN(gl.Residual(np.empty(0)), symmetrize=False), order=3)
    alpha, rho = DATA.alpha, DATA.rho
    assert np.allclose(z[:, 1], 0.0, atol=1e-12)
    assert np.allclose(z[:, 2], -z[:, 0] * rho / (2 * alpha), rtol=1e-10)
    assert np.allclose(z[:, 3], z[:, 0] * rho * (rho + 1 / alpha) / alpha, rtol=1e-9)


@pytest.mark.parametrize("symmetrize", [False, True])
@pytest.mark.parametrize("filter", FILTERS, ids=repr)
def test_the_remainder_is_of_the_next_order(filter, symmetrize):
    z = large_reg_expansion(DATA, gl.GCN(filter, symmetrize=symmetrize), order=4)
    reg = (
        60.0
        * np.array([[1.0], [2.0]])
        * np.max(np.abs(z[:, 1:] / z[:, :1]) ** (1 / np.arange(1, 5)), axis=1)
    )
    exact = gl.predict(
        DATA, gl.GCN(filter, "square", reg, symmetrize), tol=1e-13
    ).order_parameters.test_margin
    for kept in range(3):
        error = exact - sum(z[:, n] * reg**-n for n in range(kept + 1))
        assert np.allclose(
            error,
            z[:, kept + 1] * reg ** -(kept + 1.0),
            rtol=0.1,
            atol=1e-12 + 2 * abs(z[:, kept + 2]) * reg[0] ** -(kept + 2.0),
        )
    assert np.allclose(exact, sum(z[:, n] * reg**-n for n in range(5)), rtol=0, atol=1e-8)


def test_finite_regularization_can_win():
    """Two symmetrized layers with c = 1: the first order in 1/reg is positive, so that reg = inf is not optimal."""
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    gcn = gl.GCN(gl.Residual([1.0, 1.0]), symmetrize=True)
    assert large_reg_expansion(data, gcn)[1] > 0
    at_100 = gl.predict(data, gl.GCN(gcn.filter, reg=100.0, symmetrize=True)).test_accuracy
    assert at_100 == pytest.approx(0.85609, abs=1e-5)
    assert gl.predict(data, gcn).test_accuracy == pytest.approx(0.85575, abs=1e-5)


def test_what_has_no_orders_is_refused():
    with pytest.raises(gl.ParameterError, match="gain 1e\\+200 of the filter is out of range"):
        large_reg_expansion(DATA, gl.GCN(gl.Residual([1e200])))
