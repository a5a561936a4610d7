"""Closed limits against the general formulas."""

import numpy as np
import pytest
from problems import filter_margin as margin
from scipy.special import ndtr

import gcnlimit as gl
from gcnlimit import limits

RNG = np.random.default_rng(11)
N = 30


def random_data(**fixed):
    draw = {
        "alpha": RNG.uniform(0.3, 6, N),
        "lam": RNG.uniform(-2.5, 2.5, N),
        "mu": RNG.uniform(0, 4, N),
        "rho": RNG.uniform(0.01, 1, N),
    }
    return gl.CSBM(**draw | fixed)


@pytest.mark.parametrize("depth", [1, 2, 3, 7])
def test_no_residual_connections(depth):
    data = random_data()
    assert np.allclose(
        limits.no_residual_margin(data, depth),
        margin(data, gl.Residual.constant(0.0, depth)),
        rtol=1e-12,
    )


@pytest.mark.parametrize("symmetrize", [False, True])
@pytest.mark.parametrize("c", [0.0, 0.5, 1.0])
def test_deep_networks_at_constant_c_do_pca(symmetrize, c):
    data = random_data(lam=RNG.uniform(1.6, 3, N))
    signal = data.effective_signal(symmetrize)
    expected = limits.constant_residual_limit(signal, c, symmetrize)
    assert np.allclose(margin(data, gl.Residual.constant(c, 200), symmetrize), expected, rtol=1e-6)
    assert np.allclose(expected, limits.pca_margin(signal), rtol=1e-14, atol=0)


@pytest.mark.parametrize("symmetrize", [False, True])
def test_deep_networks_forget_a_weak_graph(symmetrize):
    """Below the transition the margin decays like K^-1/2 on a directed graph, like K^-3/4 on a symmetric one."""
    data = random_data(lam=RNG.uniform(0.1, 0.5, N))
    assert np.all(
        limits.constant_residual_limit(data.effective_signal(symmetrize), 0.0, symmetrize) == 0
    )
    shallow, deep = (
        margin(data, gl.Residual.constant(0.0, K), symmetrize)
        for K in ((200, 800) if symmetrize else (150, 600))
    )
    assert np.all(deep < 0.15)
    assert np.allclose(shallow / deep, 4.0 ** (3 / 4 if symmetrize else 1 / 2), rtol=0.1)


def test_residuals_hide_a_negative_spike():
    """With c = 1 the bulk at 2 outweighs a spike at -2 + 1; without residuals the spike wins."""
    data = gl.CSBM(alpha=2, lam=-2.0, mu=1.0, rho=0.3)
    assert margin(data, gl.Residual.constant(0.0, 200)) == pytest.approx(np.sqrt(3), rel=1e-6)
    assert abs(margin(data, gl.Residual.constant(1.0, 400))) < 0.1


@pytest.mark.parametrize("symmetrize", [False, True])
def test_long_diffusion(symmetrize):
    data = random_data(lam=RNG.uniform(1.5, 3, N))
    signal = data.effective_signal(symmetrize)
    assert np.allclose(
        margin(data, gl.Diffusion(30.0), symmetrize),
        limits.long_diffusion_limit(signal, 1),
        rtol=1e-6,
    )
    assert np.all(np.abs(margin(data, gl.Diffusion(-20.0), symmetrize)) < 0.5)
    assert np.all(limits.long_diffusion_limit(signal, -1) == 0)


@pytest.mark.parametrize("symmetrize", [False, True])
def test_short_diffusion(symmetrize):
    """The remainder is of second order."""
    data = random_data()
    error = [
        np.abs(
            margin(data, gl.Diffusion(t), symmetrize)
            - limits.short_diffusion_margin(data, t, symmetrize)
        )
        for t in (1e-3, 1e-4)
    ]
    assert np.all(error[0] < 1e-4)
    assert np.all(error[1] < 1e-6)
    assert np.median(error[0] / error[1]) == pytest.approx(100.0, rel=0.02)


def test_pca_accuracy_of_the_paper():
    """Acc = Phi(lam q) with q = sqrt(1 - lam^-2)."""
    lam = np.array([1.5, 3.0])
    assert np.allclose(ndtr(limits.pca_margin(lam)), ndtr(lam * np.sqrt(1 - lam**-2)), rtol=1e-14)
