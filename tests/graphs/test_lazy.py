"""Matrices that are never held: their rows and products are those of the matrix."""

import numpy as np
import pytest
from scipy import sparse

from gcnlimit.graphs import lazy
from gcnlimit.graphs.lazy import Averaged, Beside, Kernel, Units, gaussian, linear

rng = np.random.default_rng(0)
X, A = rng.standard_normal((50, 4)), sparse.csr_array((rng.random((50, 50)) < 0.1).astype(float))
UNITS = Units.of(Beside([X, X**2]), 6, rng)
MATRICES = {
    "beside": Beside([X, A, UNITS]),
    "units": UNITS,
    "averages": Averaged(UNITS, [A, A.T.tocsr()]),
    "kernel": Kernel(gaussian, [X, A], [X[:7], A[:7]]),
    "products": Kernel(linear, [X, A], [X[:7], A[:7]]),
    "pairs": Kernel(linear, [X, A], [X[:7], A[:7]], pairs=True),
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("nodes", [np.array([3]), np.arange(0, 50, 2), np.arange(50)], ids=len)
def test_rows_and_products_are_those_of_the_whole(name, nodes, monkeypatch):
    monkeypatch.setattr(lazy, "BLOCK", 16)
    matrix = MATRICES[name]
    whole = matrix[np.arange(50)]
    assert whole.shape == matrix.shape
    assert np.allclose(matrix[nodes], whole[nodes])
    W = np.random.default_rng(1).standard_normal((matrix.shape[1], 3))
    assert np.allclose(matrix @ W, whole @ W)


def test_averages_are_those_of_one_and_two_steps():
    units = UNITS[np.arange(50)]
    expected = np.hstack([units, A @ units, A @ (A @ units)])
    assert np.allclose(Averaged(UNITS, [A])[np.arange(50)], expected)


@pytest.mark.parametrize("labelled", [[3], [0, 7, 21]], ids=len)
def test_averages_ask_for_the_nodes_that_walks_reach_some_at_a_time(labelled, monkeypatch):
    """Units of all nodes at once took 1.2 GB of a graph of a million."""
    monkeypatch.setattr(lazy, "BLOCK", 4)
    asked = []
    usual = Beside.__matmul__
    monkeypatch.setattr(
        Beside, "__matmul__", lambda self, W: (asked.append(self.shape[0]), usual(self, W))[1]
    )
    ring = sparse.csr_array(np.roll(np.eye(50), 1, axis=1) + np.roll(np.eye(50), -1, axis=1))
    made = Averaged(UNITS, [ring])[np.array(labelled)]
    assert max(asked) <= 4
    assert sum(asked) == 6 * len(labelled)  # the node itself, and what one or two steps reach
    units = UNITS[:]
    assert np.allclose(made, np.hstack([units, ring @ units, ring @ (ring @ units)])[labelled])


ROWS = {
    "zero": np.zeros((40, 3)),
    "equal": np.full((40, 3), 0.3),
    "rank one": np.outer(np.arange(40.0), [1.0, 2.0, -1.0]),
    "duplicated": np.repeat(np.random.default_rng(0).standard_normal((4, 3)), 10, axis=0),
    "nearly parallel": np.array([1.0, 2.0, 3.0])
    + 1e-7 * np.random.default_rng(0).standard_normal((40, 3)),
    "one far away": np.vstack([np.zeros((39, 3)), np.full((1, 3), 1e6)]),
    "indicators": sparse.eye_array(40, format="csr"),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("form", [linear, gaussian])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_kernel_has_a_root(name, form, dtype):
    rows = ROWS[name].astype(dtype)
    root = Kernel(form, [rows, rows], [rows, rows]).root()
    K = form(rows.astype(float), rows.astype(float))
    assert np.diag(root).min() > 0
    if name != "zero":
        assert np.allclose(root @ root.T, K, atol=1e-7 * np.trace(K), rtol=0)


def test_units_see_one_column_up_to_all_and_have_weights_of_square_one():
    weights = Units.of(Beside([np.ones((2, 8))]), 4000, np.random.default_rng(0)).weights
    seen, squares = np.count_nonzero(weights, axis=0), np.sum(weights**2, axis=0)
    assert (seen.min(), seen.max()) == (1, 8)
    assert abs(squares.mean() - 1.0) < 4.0 * squares.std() / np.sqrt(4000)
    assert squares.std() < 1.5  # of a square of one normal number: the root of two
