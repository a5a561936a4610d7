"""Operators of a user's graph: dense formulas on a graph with weights of a common unit."""

import numpy as np
import pytest
from scipy import sparse

from gcnlimit.graphs.check import as_adjacency
from gcnlimit.graphs.operator import normalized, propagation

UNIT = 3.0
GRAPH = UNIT * np.array([[0, 1, 0, 0], [1, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]])
EYE = np.eye(4)


@pytest.mark.parametrize("added", [{}, {"loops": False}], ids=["loops", "no loops"])
def test_a_loop_weighs_as_much_as_an_edge(added):
    A = GRAPH + (UNIT * EYE if added.get("loops", True) else 0.0)
    root = np.sqrt(A.sum(axis=1))
    S = propagation(sparse.csr_array(GRAPH), "symmetric", **added)
    np.testing.assert_allclose(S.operator @ EYE, A / np.outer(root, root), atol=1e-12)
    centred = propagation(sparse.csr_array(GRAPH), "centred", **added)
    top = np.outer(root, root) / A.sum()
    np.testing.assert_allclose(centred.operator @ EYE, S.operator @ EYE - top, atol=1e-12)
    largest = np.max(np.abs(np.linalg.eigvalsh(centred.operator @ EYE)))
    assert largest <= centred.radius <= 1.006 * largest


def test_a_walk_has_the_eigenvalues_of_the_symmetric_operator():
    A = GRAPH + UNIT * EYE
    walk = propagation(sparse.csr_array(GRAPH), "random-walk").operator @ EYE
    np.testing.assert_allclose(walk, A / A.sum(axis=1, keepdims=True), atol=1e-12)


def test_a_checked_graph_has_short_indices_which_its_operators_share():
    """Half of the memory that each product reads; no two sparse matrices are multiplied for a diagonal one."""
    A = sparse.csr_array(GRAPH)
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    graph = as_adjacency(A)
    assert graph.indices.dtype == graph.indptr.dtype == np.int32
    walk = normalized(graph, 1.0, 0.0)
    assert np.shares_memory(walk.indices, graph.indices)
    np.testing.assert_allclose(walk @ EYE, GRAPH / GRAPH.sum(axis=1, keepdims=True), rtol=1e-15)
    assert np.array_equal(normalized(graph.tocsc(), 1.0, 0.0) @ EYE, walk @ EYE)
