import numpy as np
import pytest
from scipy.linalg import expm

import gcnlimit as gl
from gcnlimit.normalization import as_normalization
from gcnlimit.simulation.data import operator
from gcnlimit.simulation.data.operator import Operator


def dense(adjacency, degree, symmetrize):
    n = adjacency.shape[0]
    p = degree / n
    centred = (adjacency.toarray() - p) / np.sqrt(p * (1 - p))
    return ((centred + centred.T) / np.sqrt(2) if symmetrize else centred) / np.sqrt(n)


@pytest.fixture(scope="module")
def adjacency(data):
    return gl.sample(data, nodes=200, degree=20, seed=1).adjacency


@pytest.mark.parametrize("symmetrize", [True, False])
def test_operator_is_the_centred_matrix_and_its_transpose(adjacency, symmetrize):
    a, full = Operator.of(adjacency, 20, symmetrize), dense(adjacency, 20, symmetrize)
    block = np.random.default_rng(0).standard_normal((200, 3))
    assert np.allclose(a @ block, full @ block, atol=1e-12)
    assert np.allclose(a @ block[:, 0], full @ block[:, 0], atol=1e-12)
    assert np.allclose(a.T @ block, full.T @ block, atol=1e-12)
    single = Operator.of(adjacency, 20, symmetrize, dtype=np.float32) @ block.astype(np.float32)
    assert single.dtype == np.float32
    assert np.allclose(single, full @ block, atol=1e-4)


def test_the_operator_of_a_dense_graph_is_its_matrix_over_the_root_of_its_size():
    noise = np.random.default_rng(0).standard_normal((30, 30))
    a, both = (Operator.of(noise, None, symmetrize) @ np.eye(30) for symmetrize in (False, True))
    np.testing.assert_allclose(a, noise / np.sqrt(30), rtol=1e-14)
    np.testing.assert_allclose(both, (a + a.T) / np.sqrt(2), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("dtype, degree", [(np.float32, 30), (np.float64, 30), (np.float64, 2.5)])
def test_a_product_in_panels_is_the_product(data, dtype, degree):
    adjacency = gl.sample(data, nodes=3001, degree=degree, seed=1).adjacency
    a = Operator.of(adjacency, degree, True, dtype=dtype)
    block = np.random.default_rng(0).standard_normal((3001, 40)).astype(dtype)
    assert len(a._panels) > 1
    narrow = np.stack([a @ column for column in block.T], axis=1)
    assert np.allclose(a @ block, narrow, atol=1e-4 if dtype == np.float32 else 1e-12)


def test_the_public_product_serves_where_the_private_one_is_missing(data, monkeypatch):
    adjacency, block = gl.sample(data, nodes=3001, degree=30, seed=1).adjacency, np.eye(3001, 40)
    fast = Operator.of(adjacency, 30, True) @ block
    monkeypatch.setattr(operator, "csr_matvecs", None)
    assert np.allclose(Operator.of(adjacency, 30, True) @ block, fast, atol=1e-12)


@pytest.mark.parametrize(
    "filter",
    [gl.Diffusion([1.0, 0.1]), gl.Diffusion([-4.0]), gl.PageRank([0.3, -0.1]), gl.PageRank([0.45])],
    ids=repr,
)
@pytest.mark.parametrize("accuracy", [1e-7, 1e-9, 1e-11, 1e-13])
def test_a_series_has_the_accuracy_asked(adjacency, filter, accuracy):
    a = Operator.of(adjacency, 20, True)
    block = np.random.default_rng(0).standard_normal((200, 40))
    exact, found = (
        filter.apply(a, block, radius=a.radius, accuracy=wanted) for wanted in (1e-15, accuracy)
    )
    scale = np.abs(filter(np.linspace(-a.radius, a.radius, 101))).max(axis=-1)
    error = np.linalg.norm(found - exact, axis=1).max(axis=-1) / np.linalg.norm(block, axis=0).min()
    assert np.all(error <= accuracy * scale)


def test_columns_of_any_size_are_filtered_alike(adjacency):
    a = Operator.of(adjacency, 20, True)
    block = np.random.default_rng(0).standard_normal((200, 4))
    size = np.array([1.0, 1e-60, 1e60, 0.0])
    scaled = gl.Diffusion(1.0).apply(a, size * block, radius=a.radius)
    assert np.allclose(
        scaled, size * gl.Diffusion(1.0).apply(a, block, radius=a.radius), rtol=1e-10, atol=0.0
    )


def test_radius_bounds_the_spectrum_tightly(adjacency):
    a, full = Operator.of(adjacency, 20, True), dense(adjacency, 20, True)
    largest = np.abs(np.linalg.eigvalsh(full)).max()
    assert largest < a.radius < 1.01 * largest
    assert Operator.of(adjacency, 20, False).radius is None


def reference(filter, full):
    if isinstance(filter, gl.Diffusion):
        return expm(filter.t * full)
    if isinstance(filter, gl.PageRank):
        return np.linalg.inv(np.eye(len(full)) - filter.theta * full)
    if isinstance(filter, gl.Residual):
        return np.linalg.multi_dot([full + c * np.eye(len(full)) for c in filter.c])
    return sum(g * np.linalg.matrix_power(full, k) for k, g in enumerate(filter.coefficients))


FILTERS = [
    gl.Diffusion(t=[0.0, 1.3, -2.0]),
    gl.PageRank(theta=[0.1, -0.35, 0.0]),
    gl.Residual(c=[[1.0, -0.5, 2.0], [0.0, 0.0, 0.0]]),
    gl.Polynomial(coefficients=[[1.0, 0.0, 2.0, 0.3], [0.0, 1.0, 0.0, 0.0]]),
]


@pytest.mark.parametrize("symmetrize", [True, False])
@pytest.mark.parametrize("filter", FILTERS, ids=lambda f: type(f).__name__)
def test_filters_act_as_functions_of_the_dense_matrix(adjacency, filter, symmetrize):
    a, full = Operator.of(adjacency, 20, symmetrize), dense(adjacency, 20, symmetrize)
    block = np.random.default_rng(0).standard_normal((200, 150))
    many = filter.apply(a, block, radius=a.radius)
    each = filter.apply_each(a, block[:, : len(many)], radius=a.radius)
    for k, result in enumerate(many):
        expected = reference(filter[k], full) @ block
        tolerance = 1e-10 * np.abs(expected).max()
        assert np.allclose(result, expected, atol=tolerance)
        assert np.allclose(
            filter[k].apply(a, block[:, 0], radius=a.radius), expected[:, 0], atol=tolerance
        )
        assert np.allclose(each[:, k], expected[:, k], atol=tolerance)


def test_single_precision_stays_single_and_close(adjacency):
    a = Operator.of(adjacency, 20, True, dtype=np.float32)
    block = np.random.default_rng(0).standard_normal((200, 5)).astype(np.float32)
    result = gl.Diffusion(1.5).apply(a, block, radius=a.radius)
    expected = expm(1.5 * dense(adjacency, 20, True)) @ block
    assert result.dtype == np.float32
    assert np.abs(result - expected).max() < 1e-4 * np.abs(expected).max()


def test_a_divergent_pagerank_is_refused(adjacency):
    for symmetrize in (True, False):
        a = Operator.of(adjacency, 20, symmetrize)
        with pytest.raises(gl.ParameterError, match="theta"):
            gl.PageRank(0.99).apply(a, np.ones(200), radius=a.radius)


def test_each_parameter_needs_its_column(adjacency):
    with pytest.raises(gl.ParameterError, match="column for each"):
        gl.Diffusion([1.0, 2.0]).apply_each(Operator.of(adjacency, 20, True), np.ones((200, 3)))


@pytest.mark.parametrize("degrees", [gl.Gamma(0.5), None])
def test_each_normalization_has_an_operator_of_its_own_where_degrees_vary(degrees):
    data = gl.CSBM(4, 1.0, 2.0, 0.1, degrees=degrees)
    seen = gl.sample(data, nodes=100, degree=10, seed=0).observation
    kinds = [as_normalization(name) for name in ("symmetric", "none", "symmetric")]
    first, other, again = (seen.operator(True, normalization=kind) for kind in kinds)
    assert first is again  # built once
    assert (first is other) == (degrees is None)
