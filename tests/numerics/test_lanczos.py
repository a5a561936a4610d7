"""Eigenvalues by products alone are those of the dense matrix, on any graph."""

import numpy as np
import pytest
from scipy import sparse

from gcnlimit.graphs.operator import centred, normalized
from gcnlimit.graphs.rank_one import SparsePlusRankOne
from gcnlimit.numerics.lanczos import largest_eigenvalue, quadrature, top_eigenvalues

rng = np.random.default_rng(0)
BLOCKS = np.kron(np.eye(6), np.ones((50, 50))) - np.eye(300)
DRAWN = np.triu(
    rng.random((300, 300)) < 0.05 + 0.1 * (np.arange(300) % 2 == np.arange(300)[:, None] % 2), 1
)
GRAPHS = {
    "drawn": (DRAWN + DRAWN.T).astype(float),
    "complete": 1.0 - np.eye(300),
    "one edge": np.pad([[0.0, 1.0], [1.0, 0.0]], (0, 298)),
    "equal communities": BLOCKS,
    "a star": np.pad(np.ones((1, 299)), ((0, 299), (1, 0)))
    + np.pad(np.ones((1, 299)), ((0, 299), (1, 0))).T,
    "a ring": np.roll(np.eye(300), 1, axis=0) + np.roll(np.eye(300), -1, axis=0),
    "a pair": np.array([[0.0, 1.0], [1.0, 0.0]]),
    "no edge": np.zeros((300, 300)),
}


@pytest.mark.parametrize("A", GRAPHS.values(), ids=GRAPHS)
def test_the_largest_eigenvalue_is_found_on_any_graph(A):
    S, exact = SparsePlusRankOne(sparse.csr_array(A), symmetric=True), np.linalg.eigvalsh(A)
    start = np.random.default_rng(0).standard_normal(len(A))
    for found in (largest_eigenvalue(S, start), abs(top_eigenvalues(S, 1)[0])):
        assert found == pytest.approx(np.abs(exact).max(), rel=1e-3, abs=1e-12)


def test_eigenvalues_outside_of_the_bulk_are_exact():
    S = centred(sparse.csr_array(GRAPHS["drawn"]), symmetric=True)
    exact = np.linalg.eigvalsh(S @ np.eye(300))
    outside = sorted(exact[np.abs(exact) > 2.2], key=abs, reverse=True)
    assert len(outside) >= 1
    assert np.allclose(top_eigenvalues(S, len(outside)), outside, rtol=1e-9)


def test_distinct_eigenvalues_are_listed_once():
    assert np.allclose(
        top_eigenvalues(SparsePlusRankOne(sparse.csr_array(BLOCKS)), 3), [49.0, -1.0]
    )


def test_random_vectors_give_the_moments_of_the_spectrum():
    A = GRAPHS["drawn"] / 10
    rules = [
        quadrature(sparse.csr_array(A), np.random.default_rng(k).standard_normal(300), 40)
        for k in range(20)
    ]
    for power in (1, 2, 3, 4):
        moments = [w @ x**power for x, w in rules]
        exact = np.trace(np.linalg.matrix_power(A, power)) / 300
        assert abs(np.mean(moments) - exact) < 4 * np.std(moments, ddof=1) / np.sqrt(20)


@pytest.mark.parametrize("u, v", [(None, None), (0.3, None), ("rows", "columns")])
def test_products_and_transposes_are_those_of_the_dense_matrix(u, v):
    matrix = rng.standard_normal((7, 7))
    vectors = {"rows": rng.standard_normal(7), "columns": rng.standard_normal(7)}
    u, v = vectors.get(u, u), vectors.get(v, v)
    full = matrix - (
        0.0 if u is None else np.outer(np.broadcast_to(u, 7), np.ones(7) if v is None else v)
    )
    block = rng.standard_normal((7, 3))
    S = SparsePlusRankOne(sparse.csr_array(matrix), u, v)
    for product, exact in (
        (S @ block, full @ block),
        (S.T @ block, full.T @ block),
        (S.T.T @ block, full @ block),
    ):
        assert np.allclose(product, exact)
    assert np.allclose((S / 2.0) @ block[:, 0], full @ block[:, 0] / 2)


@pytest.mark.parametrize("left, right", [(0.5, 0.5), (1.0, 0.0), (0.25, 0.25)])
def test_normalizations_divide_by_powers_of_the_degrees(left, right):
    A = (
        np.random.default_rng(1).random((6, 6)) * (np.arange(6) < 5) * (np.arange(6) < 5)[:, None]
    )  # one isolated
    out, into = A.sum(axis=1), A.sum(axis=0)
    with np.errstate(divide="ignore"):
        rows, columns = (d**-p for d, p in ((out, left), (into, right)))
    exact = np.where(
        A > 0, np.nan_to_num(rows, posinf=0)[:, None] * A * np.nan_to_num(columns, posinf=0), 0.0
    )
    assert np.allclose(normalized(sparse.csr_array(A), left, right).toarray(), exact)


@pytest.mark.parametrize("unit", [1e-100, 1e-15, 1e15])
def test_the_quadrature_of_a_multiple_has_multiples_of_the_nodes(unit):
    """Also where the diagonal vanishes, as that of a bipartite graph seen from one of its nodes."""
    for matrix in (np.diag([1.0, 2.0, 4.0, 7.0]), np.diag([1.0, 2.0], 1) + np.diag([1.0, 2.0], -1)):
        start = np.eye(1, len(matrix))[0] if matrix[0, 0] == 0.0 else np.ones(len(matrix))
        x, w = quadrature(matrix, start, steps=9)
        scaled, same = quadrature(unit * matrix, start, steps=9)
        assert len(x) == len(matrix)
        np.testing.assert_allclose(scaled / unit, x, atol=1e-12)
        np.testing.assert_allclose(same, w, atol=1e-12)


@pytest.mark.parametrize("size", [0.0, 5.0])
def test_a_multiple_of_the_identity_has_one_node(size):
    x, w = quadrature(size * np.eye(6), np.ones(6), steps=6)
    assert (x, w) == (pytest.approx([size]), pytest.approx([1.0]))
