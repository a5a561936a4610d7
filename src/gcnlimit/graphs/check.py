"""What a graph and features may be: the one check behind every door; docs/reference/real.md says it in words."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable
from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._runtime.memory import require
from gcnlimit._validation import holds, plain_array
from gcnlimit._values import Array, Mask, shown
from gcnlimit.errors import ParameterError

# numbers up to these, and down to their inverses, have powers that are floating-point numbers too
MANY = 1 << 20
LARGEST = {np.dtype(np.float32): 1e9, np.dtype(np.float64): 1e50}
NOTHING = 1e-60  # least weight, beside the largest: of less, powers of degrees would overflow


def as_adjacency(
    graph: Any, *, name: str = "graph", loops: bool = False, notes: list[str] | None = None
) -> Any:
    """Adjacency matrix in CSR form, a copy, from a SciPy matrix, a dense array or a NetworkX graph.

    Self-loops are dropped unless `loops`, which is for graphs that were drawn from the model, whose pairs include them. What
    was dropped is added to `notes`; without these, a warning says it if most nodes have a loop.

    >>> as_adjacency([[5, 2], [0, 0]]).toarray()
    array([[0., 2.],
           [0., 0.]])
    """
    if graph is None:
        raise ParameterError(f"{name} is None; give a matrix (GraphClassifier alone needs none)")
    if holds(hasattr, graph, "number_of_nodes") and np.iterable(graph):
        order = node_order(graph)
        if order not in ([*range(len(order))], [*range(1, len(order) + 1)]):
            rows = f"row k of X and y is taken for node k of {name}, which has {shown(order)}"
            use = "real.from_networkx takes features and classes from the nodes"
            warnings.warn(f"{rows}; {use}", stacklevel=3)
        graph = of_networkx(graph)
    raw = _matrix(name, graph)
    if raw.ndim != 2 or raw.shape[0] != raw.shape[1]:
        hint = "; gcnlimit.real.from_edges reads a list of edges" if 2 in raw.shape else ""
        if raw.ndim == 2 and 2 < raw.shape[0] < raw.shape[1]:
            hint = "; cross_val_score and GridSearchCV cut rows alone: use gcnlimit.cross_validate"
            hint += " or search, which hide labels, or loo_score_ of one fit"
        square = "it must be square, a row and a column for each node"
        raise ParameterError(f"{name} has shape {raw.shape}; {square}{hint}")
    matrix = _as_csr(name, raw)
    if not np.isfinite(matrix.data).all():
        raise ParameterError(f"{name} holds NaN or infinity; write 1 for an edge, 0 for none")
    dropped = 0
    if not loops:
        diagonal = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)) == matrix.indices
        dropped = int(np.count_nonzero(matrix.data[diagonal]))
        matrix.data[diagonal] = 0.0
    matrix.eliminate_zeros()
    check_range(name, matrix.data)
    if (negative := matrix.data[matrix.data < 0.0]).size:
        told = f"{counted(negative.size, 'negative weight')}, such as {negative[0]:g}"
        raise ParameterError(f"{name} has {told}; leave these edges out or take absolute values")
    if matrix.nnz == 0:
        raise ParameterError(f"{name} joins no two nodes by a weight; give edges, or no graph")
    np.maximum(matrix.data, NOTHING * matrix.data.max(), out=matrix.data)
    if dropped and notes is not None:
        notes.append(f"Dropped {counted(dropped, 'self-loop')}.")
    elif 2 * dropped > len(matrix.indptr):
        told = f"{name} has {dropped} self-loops, which are dropped: operators add their own"
        warnings.warn(told, stacklevel=3)
    return matrix


def counted(count: int, noun: str) -> str:
    """A number of things: 1 edge, 2 edges, 2 classes."""
    return f"{count} {noun}" + ("" if count == 1 else "es" if noun.endswith("s") else "s")


def as_features(X: Any, nodes: int | None = None, *, name: str = "X", single: bool = False) -> Any:
    """Features in double precision, sparse (CSR) or dense, copied if need be; None is one of its own for each node.

    If `single`, features in single precision stay so.
    """
    if X is None:
        if nodes is None:
            raise ParameterError(f"{name} and graph are None; give features, a graph, or both")
        return sparse.eye_array(nodes, format="csr")
    raw = _matrix(name, X)
    if raw.ndim != 2 or 0 in raw.shape:
        raise ParameterError(f"{name} has shape {raw.shape}; it must be nodes by features")
    if nodes is not None and raw.shape[0] != nodes:
        both = f"{raw.shape[0]} rows but the graph has {nodes} nodes"
        raise ParameterError(f"{name} has {both}; both must list the same nodes in order")
    if raw.shape[1] > MANY:  # columns of zeros take no memory in a sparse matrix, their means do
        require(f"{name} of {raw.shape[1]:.3g} columns", 32.0 * raw.shape[1], "leave columns out")
    dtype = np.float32 if single and raw.dtype == np.float32 else np.float64
    with np.errstate(over="ignore"):  # what becomes infinite is refused below
        matrix = _as_csr(name, raw, dtype) if is_sparse(raw) else raw.astype(dtype, copy=False)
    values = matrix.data if is_sparse(matrix) else matrix
    if not np.isfinite(values).all():
        coo = sparse.coo_array(matrix)
        k = np.flatnonzero(~np.isfinite(coo.data))[0]
        place = f"{name} = {coo.data[k]} at row {coo.row[k]}, column {coo.col[k]}"
        raise ParameterError(f"{place}; every feature must be finite: fill in what is missing")
    check_range(name, values)
    return matrix


def with_usable_names(X: Any, wanted: Iterable[str] = ()) -> Any:
    """A table, as an array if names of its columns are equal, or some of them no strings, which scikit-learn refuses."""
    names, wanted = list(getattr(X, "columns", ())), list(wanted)
    if len(names) == len(wanted) and names != wanted:
        has, had = next(pair for pair in zip(names, wanted, strict=True) if pair[0] != pair[1])
        order = "give the columns of the fit in their order (feature_names_in_)"
        raise ParameterError(f"X has column {has!r} where the fit had {had!r}; {order}")
    usable = len({*names}) == len(names) and all(isinstance(name, str) for name in names)
    return X if usable else plain_array("X", X)


def check_range(name: str, values: npt.NDArray[Any]) -> None:
    """Refuse numbers whose squares would overflow, or all underflow."""
    largest = float(max(np.max(values, initial=0.0), -np.min(values, initial=0.0)))
    bound = LARGEST[np.dtype(values.dtype.name)]
    if largest and not 1.0 / bound <= largest <= bound:
        allowed = f"{1 / bound:g} to {bound:g}, which {values.dtype} can square"
        raise ParameterError(f"{name} reaches {largest:g}, outside {allowed}; take other units")


def node_order(graph: Any) -> list[Any]:
    """Nodes of a NetworkX graph: whole numbers in their order, others as the graph lists them."""
    nodes = list(graph)
    return sorted(nodes) if all(isinstance(node, Integral) for node in nodes) else nodes


def of_networkx(graph: Any) -> Any:
    """Adjacency matrix of a NetworkX graph, its nodes in the order of `node_order`."""
    import networkx as nx

    try:
        return nx.to_scipy_sparse_array(graph, nodelist=node_order(graph), dtype=float)
    except Exception as error:  # of a weight of somebody else's, too
        raise ParameterError(f"graph needs nodes and numbers as weights: {error}") from None


def is_sparse(matrix: Any) -> bool:
    """Whether it is a SciPy sparse matrix; a type checker learns nothing from this answer."""
    return holds(isinstance, matrix, (sparse.sparray, sparse.spmatrix))


def is_symmetric(matrix: Any) -> bool:
    """Whether a matrix, sparse or not, equals its transpose."""
    return are_equal(matrix, matrix.T)


def are_equal(first: Any, second: Any) -> bool:
    """Whether two matrices, sparse or not, are the same."""
    if is_sparse(first) and is_sparse(second):
        return first.shape == second.shape and bool((first != second).nnz == 0)
    return np.array_equal(dense(first), dense(second))


def is_complete(adjacency: Any) -> bool:
    """Whether all pairs of different nodes are joined alike, so that the graph says nothing."""
    nodes = adjacency.shape[0]
    return adjacency.nnz >= nodes * (nodes - 1) and bool(np.ptp(adjacency.data) == 0.0)


def dense(X: Any) -> npt.NDArray[Any]:
    """Matrix as an array, sparse or not."""
    return np.asarray(X.toarray() if is_sparse(X) else X)


def check_indices(name: str, matrix: Any) -> None:
    """Refuse a sparse matrix whose indices lead outside of it: SciPy takes them on trust, and would read beyond its arrays."""
    kind = getattr(matrix, "format", None)
    try:
        if kind == "coo":
            sparse.coo_array((matrix.data, matrix.coords), shape=matrix.shape)
        elif kind in {"csr", "csc", "bsr"}:
            # a copy: the check may shorten arrays, and it passes decreasing pointers that end in 0
            copy(matrix).check_format(full_check=True)
            if np.any(matrix.indptr[1:] < matrix.indptr[:-1]):
                raise ValueError("its row pointers decrease")
    except ValueError as error:
        remedy = "build it by scipy.sparse.coo_array((weights, (rows, columns)), shape)"
        raise ParameterError(f"{name} is a broken sparse matrix: {error}; {remedy}") from None


def _as_csr(name: str, matrix: Any, dtype: npt.DTypeLike = np.float64) -> Any:
    """Copy in CSR form, each entry once; the indices of another form are checked before and after."""
    require(f"{name} of {matrix.shape[0]:.3g} rows", 16.0 * matrix.shape[0], "leave out empty rows")
    check_indices(name, matrix)
    with np.errstate(over="ignore", invalid="ignore"):  # the caller refuses what is infinite
        csr: Any = sparse.csr_array(matrix.astype(dtype))
        check_indices(name, csr)
        csr.sum_duplicates()
    if max(csr.nnz, *csr.shape) < 1 << 31:  # half of the memory that products read
        csr.indices, csr.indptr = (part.astype(np.int32) for part in (csr.indices, csr.indptr))
    return csr


def between(left: Array, matrix: Any, right: Array) -> Any:
    """Sparse matrix between two diagonal ones, in CSR form, by one pass over its entries."""
    matrix = matrix.tocsr()
    data = np.repeat(left, np.diff(matrix.indptr)) * matrix.data * right[matrix.indices]
    return sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def squared(X: Any) -> Any:
    """Square of each entry."""
    return X.multiply(X) if is_sparse(X) else X**2


def column_spread(X: Any) -> tuple[Array, Array, Mask]:
    """Mean and standard deviation of each column of features, and whether it varies."""
    mean = np.asarray(X.mean(axis=0)).ravel()
    if is_sparse(X):  # far from 0, the difference of the squares would be rounding
        zeros = X.shape[0] - np.bincount(X.indices, minlength=mean.size)
        square = np.bincount(X.indices, (X.data - mean[X.indices]) ** 2, mean.size)
        spread = np.sqrt((square + zeros * mean**2) / X.shape[0])
    else:
        spread = X.std(axis=0)
    return mean, spread, spread > 1e-7 * np.hypot(mean, spread)


def _matrix(name: str, value: Any) -> Any:
    """Sparse matrix as it is, else an array, of real numbers; objects that are all numbers become such."""
    array = value if is_sparse(value) else plain_array(name, value)
    if array.dtype.kind == "O" and array.ndim == 2:
        with contextlib.suppress(Exception):  # of an entry of somebody else's, too
            array = array.astype(np.float64)
    if array.dtype.kind not in "biuf":
        told = f"has dtype {array.dtype}"[:60] if array.ndim else f"is {type(value).__name__}"
        if array.dtype.kind == "O" and array.ndim == 2 and not is_sparse(array):
            wrong = (place for place, v in np.ndenumerate(array) if not isinstance(v, Real))
            row, column = next(wrong, (0, 0))
            called = list(getattr(value, "columns", range(array.shape[1])))[column]
            told = f"has {shown(array[row, column])} in column {called!r}"
        makes = "gcnlimit.real makes one from tables, pairs of nodes and other packages"
        raise ParameterError(f"{name} {told}; it must be a matrix of real numbers ({makes})")
    return array
