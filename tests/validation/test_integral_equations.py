"""The paper's integral equations and identities, evaluated on the closed forms."""

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.special import i1

import gcnlimit as gl
from validation import integral_equations
from validation.integral_equations import integral_residuals


@pytest.mark.parametrize("symmetrize", [False, True])
@pytest.mark.parametrize(
    ("lam", "mu", "t"), [(1.0, 2.0, 1.0), (1.4, 0.0, 2.5), (0.6, 1.0, -0.7), (-1.2, 3.0, -1.5)]
)
def test_closed_forms_solve_the_integral_equations(symmetrize, lam, mu, t):
    data = gl.CSBM(alpha=3, lam=lam, mu=mu, rho=0.2)
    residuals = integral_residuals(data, gl.GCN(gl.Diffusion(t), symmetrize=symmetrize), nodes=20)
    assert {"m", "Q", "Q_qh", "Q_hat", "V_qh", "phi", "Phi"} < set(residuals)
    assert max(residuals.values()) < 1e-12


@pytest.mark.parametrize("symmetrize", [False, True])
@pytest.mark.parametrize("name", ["m", "m_hat", "V", "V_hat", "Q_hat", "Q", "Q_qh", "V_qh", "Q_w"])
def test_a_wrong_function_does_not(symmetrize, name, monkeypatch):
    def wrong(*arguments):
        functions = gl.depth.order_functions(*arguments)
        record, field = (functions.weights, name[:-2]) if name.endswith("_w") else (functions, name)
        object.__setattr__(record, field, getattr(record, field) * 1.001)
        return functions

    monkeypatch.setattr(integral_equations, "order_functions", wrong)
    data = gl.CSBM(alpha=3, lam=1.0, mu=2.0, rho=0.2)
    residuals = integral_residuals(data, gl.GCN(gl.Diffusion(1.0), symmetrize=symmetrize), nodes=12)
    assert max(residuals.values()) > 1e-5


def test_the_quadrature_converges_exponentially():
    data, gcn = (
        gl.CSBM(alpha=3, lam=1.4, mu=2.0, rho=0.2),
        gl.GCN(gl.Diffusion(2.0), symmetrize=True),
    )
    few, more = (integral_residuals(data, gcn, nodes=n)["Q"] for n in (4, 8))
    assert more < 1e-3 * few < 1e-3


@pytest.mark.parametrize(("x", "z"), [(0.3, 0.8), (1.0, 1.0), (2.0, 0.5)])
def test_bessel_identity(x, z):
    def ratio(s):
        return i1(2 * s) / s if s > 0 else 1.0

    integral = dblquad(
        lambda b, a: ratio(x - a) * ratio(a + b) * ratio(z - b), 0, x, 0, z, epsabs=1e-11
    )[0]
    assert abs(integral - (ratio(x + z) - ratio(x) * ratio(z))) < 1e-10


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("signal", [1.5, 2.0, 4.0])
def test_sum_of_all_ways_from_features_to_loss(symmetric, signal):
    """The identity C(lambda) = 1/(lambda^2 - 1) behind the limit of a long diffusion."""
    rate = signal + 1 / signal if symmetric else signal
    nodes, weights = np.polynomial.legendre.leggauss(150)
    reach = 100.0 if signal < 2 else 40.0
    x, w = reach / 2 * (nodes + 1), reach / 2 * weights
    Phi = gl.depth.resolvents.Phi(x[:, None], x, t=1.0, symmetric=symmetric)
    damped = np.exp(-rate * x)
    assert abs((w * damped) @ Phi @ (w * damped) * (signal**2 - 1) - 1) < 1e-8


def test_what_cannot_be_checked_is_refused():
    data = gl.CSBM(alpha=3, lam=1.0, mu=2.0, rho=0.2)
    for filter, sentence in (
        (gl.Residual([1.0]), "one point"),
        (gl.Diffusion([1.0, 2.0]), "one point"),
        (gl.Diffusion(0.0), "t = 0.0 is not allowed"),
    ):
        with pytest.raises(gl.ParameterError, match=sentence):
            integral_residuals(data, gl.GCN(filter, symmetrize=False))
