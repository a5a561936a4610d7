"""Learning rates: the analytic values recovered from the predicted errors."""

import numpy as np
import pytest

import gcnlimit as gl

DATA = gl.CSBM(alpha=[4.0, 1.0, 0.5], lam=1.0, mu=[1.0, 3.0, 0.0], rho=[0.1, 0.3, 0.9])
DEEP = [gl.Residual.constant(0.0, 2), gl.Residual.constant(1.0, 2), gl.Residual([1.0, -0.5, 2.0]), gl.Diffusion(1.0)]


@pytest.mark.parametrize("filter", DEEP)
def test_deep_networks_reach_half_of_the_rate_and_all_of_it_if_symmetrized(filter):
    assert np.allclose(gl.depth.learning_rate(DATA, gl.GCN(filter, symmetrize=False)), 0.5, atol=1e-5)
    assert np.allclose(gl.depth.learning_rate(DATA, gl.GCN(filter, symmetrize=True)), 1.0, atol=1e-5)


def test_bayes_optimal_rate():
    assert np.allclose(gl.depth.learning_rate(DATA), 1.0, atol=1e-6)
    symmetric = gl.CSBM(alpha=4, lam=1.0, mu=1.0, rho=0.1, directed=False)
    assert np.isclose(gl.depth.learning_rate(symmetric), 0.5, atol=1e-6)
    assert np.isclose(
        gl.depth.learning_rate(symmetric, gl.GCN(gl.Residual([1.0, 1.0]), symmetrize=False)), 0.5, atol=1e-5
    )


@pytest.mark.parametrize("symmetrize", [False, True])
@pytest.mark.parametrize("c", [0.0, 1.0, -2.0])
def test_one_layer_stays_below(symmetrize, c):
    rate = gl.depth.learning_rate(DATA, gl.GCN(gl.Residual([c]), symmetrize=symmetrize))
    assert np.allclose(rate, gl.limits.one_layer_rate(DATA, c, symmetrize=symmetrize), atol=1e-5)
    assert np.all(rate < (1.0 if symmetrize else 0.5))


def test_one_layer_reaches_it_when_the_features_say_everything():
    assert np.isclose(
        gl.limits.one_layer_rate(gl.CSBM(alpha=1, lam=1.0, mu=1e6, rho=0.1), symmetrize=False), 0.5, atol=1e-5
    )


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_regularization_barely_matters(loss):
    signals = np.linspace(8.0, 30.0, 10)
    data = gl.CSBM(alpha=1, lam=1.0, mu=1.0, rho=0.5)
    finite = gl.depth.learning_rate(
        data, gl.GCN(gl.Residual([0.0, 0.0]), loss, reg=1e4, symmetrize=False), signals=signals
    )
    assert np.isclose(finite, 0.5, atol=0.05)


def test_bad_input_is_refused():
    with pytest.raises(gl.ParameterError, match="one network"):
        gl.depth.learning_rate(DATA, gl.GCN(gl.Diffusion([1.0, 2.0]), symmetrize=False))
    with pytest.raises(gl.ParameterError, match="six"):
        gl.depth.learning_rate(DATA, signals=[10.0, 20.0])
