"""Filters: their function, their chain and their action on a matrix are one and the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

import gcnlimit as gl

FILTERS = [
    gl.Residual([0.3, -1.23, 2.1]),
    gl.Residual(np.empty(0)),
    gl.Polynomial([0.2, 0.0, -1.5, 0.7]),
    gl.Diffusion(1.7),
    gl.Diffusion(-2.5),
    gl.PageRank(0.4),
    gl.PageRank(-0.3),
]


def matrix_function(filter, matrix):
    identity = np.eye(len(matrix))
    if isinstance(filter, gl.Diffusion):
        return expm(filter.t * matrix)
    if isinstance(filter, gl.PageRank):
        return np.linalg.inv(identity - filter.theta * matrix)
    if isinstance(filter, gl.Polynomial):
        return sum(c * np.linalg.matrix_power(matrix, k) for k, c in enumerate(filter.coefficients))
    return np.linalg.multi_dot([identity, identity, *(matrix + c * identity for c in filter.c)])


@pytest.mark.parametrize("filter", FILTERS, ids=repr)
@pytest.mark.parametrize("symmetric", [False, True])
def test_apply_is_the_matrix_function(filter, symmetric):
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(30, 30)) / np.sqrt(30)
    matrix = (matrix + matrix.T) / np.sqrt(2) if symmetric else matrix
    matrix *= 2.0 / np.linalg.norm(matrix, 2)
    block = rng.normal(size=(30, 4))
    expected = matrix_function(filter, matrix) @ block
    radius = 2.0 if symmetric else None
    assert np.allclose(
        filter.apply(matrix, block, radius=radius), expected, rtol=0, atol=1e-10 * np.abs(expected).max()
    )
    single = filter.apply(matrix.astype(np.float32), block.astype(np.float32), radius=radius, accuracy=1e-6)
    assert single.dtype == np.float32
    assert np.allclose(single, expected, rtol=0, atol=2e-4 * np.abs(expected).max())


@pytest.mark.parametrize("filter", FILTERS, ids=repr)
def test_chain_is_the_filter(filter):
    x = np.linspace(-2, 2, 41)
    for accuracy in (1e-6, 1e-13):
        error = np.abs(filter.chain(accuracy=accuracy, radius=2.0)(x) - filter(x)).max()
        assert error <= 5 * accuracy * np.abs(filter(x)).max()


def test_chain_about_another_center():
    x = np.linspace(-2, 2, 41)
    assert np.allclose(
        gl.Diffusion(-3.0).chain(accuracy=1e-15, radius=2.0, center=1.5)(x), np.exp(-3.0 * x), rtol=1e-11
    )


@pytest.mark.parametrize("filter", FILTERS, ids=repr)
def test_normalized_is_the_filter_over_its_largest_value(filter):
    x = np.linspace(-2, 2, 41)
    values, size = filter.normalized(x)
    assert np.allclose(values * np.exp(size), filter(x), rtol=1e-12)
    assert np.abs(values).max() == pytest.approx(1.0, rel=1e-12)


@given(st.lists(st.floats(-3, 3), max_size=6))
def test_residual_equals_its_polynomial(c):
    """A product of layers and the polynomial with the same roots are the same function."""
    coefficients = np.polynomial.polynomial.polyfromroots([-value for value in c])
    x = np.linspace(-2.5, 2.5, 11)
    left, right = gl.Residual(np.array(c))(x), gl.Polynomial(np.atleast_1d(coefficients))(x)
    assert np.allclose(left, right, rtol=0, atol=1e-12 * max(1.0, np.prod([2.5 + abs(v) for v in c])))


def test_nothing_overflows_on_the_way_to_a_value():
    """Layers that grow beyond floating-point numbers and come back."""
    c = np.repeat([1e200, 1e-200], 10)
    assert gl.Residual(c)([0.0, 0.0]) == pytest.approx(1.0, rel=1e-10)
    assert gl.Residual.constant(100.0, 1000)(-99.0) == pytest.approx(1.0, rel=1e-12)
    assert gl.Residual.constant([0.0, 1.0], 3)([]).shape == (2, 0)


@pytest.mark.parametrize("lam, t", [(1.0, 1e9), (1e200, 1.0)])
@pytest.mark.parametrize("symmetrize", [False, True])
def test_a_diffusion_too_long_for_its_series_is_refused(lam, t, symmetrize):
    with pytest.raises(gl.ParameterError, match="too many terms"):
        gl.predict(gl.CSBM(alpha=4, lam=lam, mu=2.0, rho=0.1), gl.GCN(gl.Diffusion(t), symmetrize=symmetrize))


def test_array_parameters_come_first():
    assert gl.Diffusion(np.ones((2, 3)))(np.ones(5)).shape == (2, 3, 5)
    assert gl.Residual(np.ones((2, 3, 4)))(np.ones(5)).shape == (2, 3, 5)
    assert gl.Residual(np.ones((2, 3, 4))).chain()(0.5).shape == (2, 3)


def test_diverging_pagerank_on_an_operator():
    with pytest.raises(gl.ParameterError, match=r"theta = 0\.9 is too large for this operator"):
        gl.PageRank(0.9).apply(2 * np.eye(3), np.ones(3))
