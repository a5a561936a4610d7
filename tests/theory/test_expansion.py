"""Orders in 1/reg: a closed form without a graph, and the remainder on finite-reg solutions."""

import numpy as np
import pytest

import gcnlimit as gl

DATA = gl.CSBM(alpha=[1.5, 4.0], lam=[0.8, 1.0], mu=[1.0, 2.0], rho=[0.5, 0.1])


def test_without_a_graph_the_orders_are_known():
    """Ridge on a Gaussian mixture: z = z_0 sqrt(1 - alpha rho (V/(1+V))^2), V = 1/(alpha (r + rho/(1+V)))."""
    z = gl.theory.large_reg_expansion(DATA, gl.GCN(gl.Residual(np.empty(0)), symmetrize=False), order=3)
    alpha, rho = DATA.alpha, DATA.rho
    assert np.allclose(z[:, 1], 0.0, atol=1e-8)
    assert np.allclose(z[:, 2], -z[:, 0] * rho / (2 * alpha), rtol=1e-6)
    assert np.allclose(z[:, 3], z[:, 0] * rho * (rho + 1 / alpha) / alpha, rtol=1e-3)


@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("symmetrize", [False, True])
@pytest.mark.parametrize("filter", [gl.Residual([1.0, 0.4]), gl.Diffusion(0.7)], ids=repr)
def test_the_remainder_is_of_the_next_order(filter, symmetrize, loss):
    z = gl.theory.large_reg_expansion(DATA, gl.GCN(filter, loss, symmetrize=symmetrize), order=2)
    reg = 2000.0 * np.array([[1.0], [2.0]])
    exact = gl.predict(DATA, gl.GCN(filter, loss, reg, symmetrize), tol=1e-13).order_parameters.test_margin
    error = np.abs(exact - sum(z[:, n] * reg**-n for n in range(3)))
    first = np.abs(exact - z[:, 0])
    assert np.all(error < 1e-3 * first + 1e-12)
    second = np.abs(exact - z[:, 0] - z[:, 1] / reg)
    assert np.allclose(second[0] / second[1], 4.0, rtol=0.05)


def test_finite_regularization_can_win():
    """Two symmetrized layers with c = 1: the first order in 1/reg is positive, so that reg = inf is not optimal."""
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    gcn = gl.GCN(gl.Residual([1.0, 1.0]), symmetrize=True)
    assert gl.theory.large_reg_expansion(data, gcn)[1] > 0
    at_100 = gl.predict(data, gl.GCN(gcn.filter, reg=100.0, symmetrize=True)).test_accuracy
    assert at_100 == pytest.approx(0.85609, abs=1e-5)
    assert gl.predict(data, gcn).test_accuracy == pytest.approx(0.85575, abs=1e-5)


def test_orders_are_refused():
    with pytest.raises(gl.ParameterError, match="order = 7"):
        gl.theory.large_reg_expansion(DATA, gl.GCN(gl.Diffusion(1.0), symmetrize=False), order=7)
