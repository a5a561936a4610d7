"""What a graph and features may be: the one check behind every door; docs/reference/real.md says it in words."""

from __future__ import annotations

import contextlib
import warnings
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._validation import plain_array
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError

LARGEST = {np.dtype(np.float32): 1e9, np.dtype(np.float64): 1e50}  # whose powers are floating-point numbers too


def as_adjacency(
    graph: Any, nodes: int | None = None, *, name: str = "graph", loops: bool = False, notes: list[str] | None = None
) -> Any:
    """Adjacency matrix in CSR form, a copy, from a SciPy matrix, a dense array or a NetworkX graph.

    Self-loops are dropped unless `loops`, which is for graphs that were drawn from the model, whose pairs include them. What
    was dropped is added to `notes`; without these, a warning says it if most nodes have a loop.

    >>> as_adjacency([[5, 2], [0, 0]]).toarray()
    array([[0., 2.],
           [0., 0.]])
    """
    if graph is None:
        raise ParameterError(f"{name} is None; give an adjacency matrix (GraphClassifier alone does without)")
    raw = _matrix(name, _of_networkx(graph) if hasattr(graph, "number_of_nodes") else graph)
    if raw.ndim != 2 or raw.shape[0] != raw.shape[1]:
        hint = "; a list of edges becomes a matrix by gcnlimit.real.from_edges" if 2 in raw.shape else ""
        raise ParameterError(f"{name} has shape {raw.shape}; it must be square, a row and a column for each node{hint}")
    if nodes is not None and raw.shape[0] != nodes:
        raise ParameterError(
            f"{name} has {raw.shape[0]} nodes but X has {nodes} rows; they must be the same nodes in order"
        )
    matrix = _as_csr(name, raw)
    if not np.isfinite(matrix.data).all():
        raise ParameterError(f"{name} holds NaN or infinity; every weight must be finite, 1 for an edge")
    dropped = 0 if loops else _drop_loops(matrix)
    matrix.eliminate_zeros()
    _check_weights(name, matrix)
    if dropped and notes is not None:
        notes.append(f"Dropped {counted(dropped, 'self-loop')}.")
    elif 2 * dropped > len(matrix.indptr):
        warnings.warn(f"{name} has {dropped} self-loops, which are dropped: operators add their own", stacklevel=3)
    return matrix


def counted(count: int, noun: str) -> str:
    """A number of things: 1 edge, 2 edges."""
    return f"{count} {noun}" + ("" if count == 1 else "s")


def as_features(X: Any, nodes: int | None = None, *, name: str = "X", single: bool = False) -> Any:
    """Features in double precision, sparse (CSR) or dense, a copy; None stands for one feature of its own for each node.

    If `single`, features in single precision stay so.
    """
    if X is None:
        if nodes is None:
            raise ParameterError(f"{name} is None and there is no graph; give features, a graph, or both")
        return sparse.eye_array(nodes, format="csr")
    raw = _matrix(name, X)
    if raw.ndim != 2 or 0 in raw.shape:
        raise ParameterError(f"{name} has shape {raw.shape}; it must have a row for each node and at least one column")
    if nodes is not None and raw.shape[0] != nodes:
        raise ParameterError(
            f"{name} has {raw.shape[0]} rows but the graph has {nodes} nodes; they must be the same nodes in order"
        )
    dtype = np.float32 if single and raw.dtype == np.float32 else np.float64
    with np.errstate(over="ignore"):  # what becomes infinite is refused below
        matrix = _as_csr(name, raw, dtype) if is_sparse(raw) else raw.astype(dtype)
    coo = sparse.coo_array(matrix) if is_sparse(matrix) else None
    values: Any = matrix if coo is None else coo.data
    if not np.isfinite(values).all():
        place = np.argwhere(~np.isfinite(values))[0].tolist()
        row, column = place if coo is None else (coo.row[place[0]], coo.col[place[0]])
        raise ParameterError(
            f"{name} = {matrix[row, column]} at row {row}, column {column}; every feature must be finite: fill in what is "
            "missing, such as by the mean of its column"
        )
    check_range(name, values)
    return matrix


def check_range(name: str, values: npt.NDArray[Any]) -> None:
    """Refuse numbers whose squares would overflow, or all underflow."""
    largest = float(np.max(np.abs(values), initial=0.0))
    bound = LARGEST[np.dtype(values.dtype.name)]
    if largest and not 1.0 / bound <= largest <= bound:
        raise ParameterError(
            f"{name} reaches {largest:g} in size, beyond {1 / bound:g} to {bound:g} in {values.dtype}; take other units"
        )


def _check_weights(name: str, matrix: Any) -> None:
    check_range(name, matrix.data)
    if (negative := matrix.data[matrix.data < 0.0]).size:
        raise ParameterError(
            f"{name} has {counted(negative.size, 'negative weight')}, such as {negative[0]:g}; a weight says how strongly "
            "two nodes are joined: leave these edges out, or take absolute values"
        )
    if matrix.nnz == 0:
        raise ParameterError(
            f"{name} has {matrix.shape[0]} nodes and no edge between two of them; GraphClassifier takes graph=None"
        )


def _drop_loops(matrix: Any) -> int:
    """Set the diagonal to 0, and return how many entries were not."""
    diagonal = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)) == matrix.indices
    count = int(np.count_nonzero(matrix.data[diagonal]))
    matrix.data[diagonal] = 0.0
    return count


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


def is_complete(adjacency: Any) -> bool:
    """Whether all pairs of different nodes are joined alike, so that the graph says nothing."""
    nodes = adjacency.shape[0]
    return adjacency.nnz >= nodes * (nodes - 1) and bool(np.ptp(adjacency.data) == 0.0)


def dense(X: Any) -> npt.NDArray[Any]:
    """Matrix as an array, sparse or not."""
    return np.asarray(X.toarray() if is_sparse(X) else X)


def check_indices(name: str, matrix: Any) -> None:
    """Refuse a sparse matrix whose indices lead outside of it: SciPy takes them on trust, and would read beyond its arrays."""
    try:
        if matrix.format == "coo":
            sparse.coo_array((matrix.data, matrix.coords), shape=matrix.shape)
        elif matrix.format in {"csr", "csc", "bsr"}:
            copy(matrix).check_format(full_check=True)  # which may shorten the arrays of the one it is called on
            if np.any(matrix.indptr[1:] < matrix.indptr[:-1]):  # SciPy does not look if the last pointer is 0
                raise ValueError("its row pointers decrease")
    except ValueError as error:
        raise ParameterError(
            f"{name} is a broken sparse matrix: {error}; build it from scipy.sparse.coo_array((weights, (row, column)), shape)"
        ) from None


def _as_csr(name: str, matrix: Any, dtype: npt.DTypeLike = np.float64) -> Any:
    """Copy in CSR form, each entry once; the indices of another form are checked before and after."""
    if is_sparse(matrix):
        check_indices(name, matrix)
    with np.errstate(over="ignore", invalid="ignore"):  # what becomes infinite is refused by the caller
        csr: Any = sparse.csr_array(matrix.astype(dtype))
        check_indices(name, csr)
        csr.sum_duplicates()
    return csr


def squared(X: Any) -> Any:
    """Entry by entry."""
    return X.multiply(X) if is_sparse(X) else X**2


def column_spread(X: Any) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """Mean and standard deviation of each column of features, and whether it varies."""
    mean, square = (np.asarray(part.mean(axis=0)).ravel() for part in (X, squared(X)))
    spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    return mean, spread, spread > 1e-7 * np.sqrt(square)


def _matrix(name: str, value: Any) -> Any:
    """Sparse matrix as it is, else an array, of real numbers; objects that are all numbers become such."""
    array = value if is_sparse(value) else plain_array(name, value.to_numpy() if hasattr(value, "to_numpy") else value)
    if array.dtype.kind == "O" and array.ndim == 2:
        with contextlib.suppress(ValueError, TypeError):
            array = array.astype(np.float64)
    if array.dtype.kind not in "biuf":
        raise ParameterError(
            f"{name} has dtype {array.dtype}; it must be a matrix of real numbers (gcnlimit.real.read turns tables of edges and "
            "nodes, with words and missing values, into such)"
        )
    return array
