"""The matrices that a user brings, checked: features and graph."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._runtime.memory import require
from gcnlimit._validation import plain_array
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError

_LARGEST = 1e100  # feature or weight: squares are summed


def as_adjacency(graph: Any, nodes: int | None = None) -> Any:
    """Adjacency matrix in CSR form from a SciPy matrix, a dense array or a NetworkX graph.

    >>> as_adjacency([[0, 1], [1, 0]]).nnz
    2
    """
    if hasattr(graph, "adjacency") and hasattr(graph, "number_of_nodes"):
        graph = _of_networkx(graph)
    if graph is None:
        raise ParameterError(
            "graph = None is not allowed here; give an adjacency matrix (GraphClassifier alone does without)"
        )
    raw = graph if is_sparse(graph) else _array("graph", graph)
    if raw.dtype.kind not in "biuf":
        raise ParameterError(f"graph has dtype {raw.dtype}; it must hold real numbers, 1 for an edge")
    if raw.ndim != 2 or raw.shape[0] != raw.shape[1]:
        hint = "; a list of edges becomes a matrix by gcnlimit.real.from_edges" if 2 in raw.shape else ""
        raise ParameterError(f"graph has shape {raw.shape}; it must be square, a row and a column for each node{hint}")
    if nodes is not None and raw.shape[0] != nodes:
        raise ParameterError(
            f"graph has {raw.shape[0]} nodes but X has {nodes} rows; they must be the same nodes in order"
        )
    matrix = _as_csr("graph", raw)
    if not np.isfinite(matrix.data).all():
        raise ParameterError("graph holds NaN or infinity; every weight must be finite, 1 for an edge")
    matrix.setdiag(0.0)  # the operator has its own
    matrix.eliminate_zeros()
    _check_range("graph", matrix.data)
    if matrix.nnz == 0:
        raise ParameterError(
            f"graph has {raw.shape[0]} nodes and no edge between two of them; GraphClassifier takes graph=None"
        )
    return matrix


def as_features(X: Any, nodes: int | None = None) -> Any:
    """Features in double precision, sparse (CSR) or dense; None stands for one feature of its own for each node."""
    if X is None:
        if nodes is None:
            raise ParameterError("X is None and there is no graph; give features, a graph, or both")
        return sparse.eye_array(nodes, format="csr")
    raw = X if is_sparse(X) else _array("X", X)
    if raw.dtype.kind not in "biuf":
        raise ParameterError(f"X has dtype {raw.dtype}; features must be real numbers: encode the others first")
    if raw.ndim != 2 or 0 in raw.shape:
        raise ParameterError(f"X has shape {raw.shape}; it must have a row for each node and at least one column")
    if nodes is not None and raw.shape[0] != nodes:
        raise ParameterError(
            f"X has {raw.shape[0]} rows but graph has {nodes} nodes; they must be the same nodes in order"
        )
    require(f"a row of {raw.shape[1]} features", 64.0 * raw.shape[1], "leave out columns without an entry")
    matrix = _as_csr("X", raw) if is_sparse(raw) else raw.astype(np.float64)
    values: Any = matrix.data if is_sparse(matrix) else matrix
    if not np.isfinite(values).all():
        raise ParameterError("X contains NaN or infinity; replace what is missing, such as by the mean of its column")
    _check_range("X", values)
    return matrix


def _check_range(name: str, values: Array) -> None:
    """Refuse numbers whose squares would overflow, or all underflow."""
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest and not 1.0 / _LARGEST <= largest <= _LARGEST:
        raise ParameterError(f"{name} reaches {largest:g} in size, whose square is out of range; take other units")


def _of_networkx(graph: Any) -> Any:
    import networkx as nx

    try:
        return nx.to_scipy_sparse_array(graph, dtype=float)
    except (nx.NetworkXError, TypeError, ValueError) as error:
        raise ParameterError(
            f"graph has no adjacency matrix: {error}; it needs nodes, and weights that are numbers"
        ) from None


def is_sparse(matrix: Any) -> bool:
    """Whether it is a SciPy sparse matrix."""
    return bool(sparse.issparse(matrix))


def is_symmetric(matrix: Any) -> bool:
    """Whether a matrix, sparse or not, equals its transpose."""
    return (matrix != matrix.T).nnz == 0 if is_sparse(matrix) else bool(np.array_equal(matrix, matrix.T))


def dense(X: Any) -> npt.NDArray[Any]:
    """Matrix as an array, sparse or not."""
    return np.asarray(X.toarray() if is_sparse(X) else X)


def check_indices(name: str, matrix: Any) -> None:
    """Refuse a sparse matrix whose indices lead outside of it: SciPy takes them on trust, and would read beyond its arrays."""
    try:
        if matrix.format in {"csr", "csc", "bsr"}:
            _check_whole(matrix.indptr, matrix.indices)
            copy(matrix).check_format(full_check=True)  # which may shorten the arrays of the one it is called on
            _check_increasing(matrix.indptr)
        elif matrix.format == "coo":
            _check_whole(*matrix.coords)
            sparse.coo_array((matrix.data, matrix.coords), shape=matrix.shape)
    except ValueError as error:
        raise ParameterError(
            f"{name} is a broken sparse matrix: {error}; build it from scipy.sparse.coo_array((weights, (row, column)), shape)"
        ) from None


def _as_csr(name: str, matrix: Any) -> Any:
    """Copy in CSR form and double precision, each entry once."""
    if is_sparse(matrix):
        check_indices(name, matrix)
    with np.errstate(over="ignore", invalid="ignore"):  # what becomes infinite is refused by the caller
        csr = sparse.csr_array(matrix, dtype=np.float64, copy=True)
        check_indices(name, csr)
        csr.sum_duplicates()
    return csr


def _check_whole(*indices: npt.NDArray[Any]) -> None:
    if any(array.dtype.kind not in "iu" for array in indices):
        raise ValueError("its indices are not whole numbers")


def _check_increasing(indptr: npt.NDArray[Any]) -> None:
    """What SciPy leaves out if the last pointer is 0."""
    if np.any(indptr[1:] < indptr[:-1]):
        raise ValueError("its row pointers decrease")


def squared(X: Any) -> Any:
    """Entry by entry."""
    return X.multiply(X) if is_sparse(X) else X**2


def column_spread(X: Any) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """Mean and standard deviation of each column of features, and whether it varies."""
    mean, square = (np.asarray(part.mean(axis=0)).ravel() for part in (X, squared(X)))
    spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    return mean, spread, spread > 1e-7 * np.sqrt(square)


def _array(name: str, value: Any) -> npt.NDArray[Any]:
    array = plain_array(name, value.to_numpy() if hasattr(value, "to_numpy") else value)
    if array.dtype.kind == "O" and array.ndim == 2:
        try:
            return array.astype(np.float64)
        except (ValueError, TypeError):
            return array
    return array
