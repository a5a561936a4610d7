"""What a user brings, checked: features, graph, labels of some nodes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._validation import plain_array
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError

__all__ = [
    "Labels",
    "as_adjacency",
    "as_features",
    "as_labels",
    "column_spread",
    "dense",
    "is_class",
    "is_sparse",
    "is_symmetric",
    "squared",
]

_LARGEST = 1e100  # feature: squares are summed


class Labels(NamedTuple):
    """The classes, which nodes are labelled, and the class (0, 1, ...) of each of these."""

    classes: npt.NDArray[Any]
    labelled: npt.NDArray[np.int64]
    codes: npt.NDArray[np.int64]


def as_adjacency(graph: Any, nodes: int | None = None) -> Any:
    """Adjacency matrix in CSR form from a SciPy matrix, a dense array or a NetworkX graph.

    >>> as_adjacency([[0, 1], [1, 0]]).nnz
    2
    """
    if hasattr(graph, "adjacency") and hasattr(graph, "number_of_nodes"):
        import networkx as nx

        graph = nx.to_scipy_sparse_array(graph, dtype=float)
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
    matrix = sparse.csr_array(raw, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        raise ParameterError("graph holds NaN or infinity; every weight must be finite, 1 for an edge")
    matrix.setdiag(0.0)  # the operator has its own
    matrix.eliminate_zeros()
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
    matrix = sparse.csr_array(raw, dtype=np.float64) if is_sparse(raw) else raw.astype(np.float64)
    values: Any = matrix.data if is_sparse(matrix) else matrix
    if not np.isfinite(values).all():
        raise ParameterError("X contains NaN or infinity; replace what is missing, such as by the mean of its column")
    if np.max(np.abs(values), initial=0.0) > _LARGEST:
        raise ParameterError(f"X reaches {np.max(np.abs(values)):g}, whose square is out of range; take other units")
    return matrix


def as_labels(y: Any, nodes: int) -> Labels:
    """Classes of the labelled nodes; -1, NaN, None and the empty string mark the others.

    >>> for y in (["a", None, "b"], ["a", "", "b"], [0, -1, 1]):
    ...     found = as_labels(y, nodes=3)
    ...     print(found.classes.tolist(), found.labelled.tolist(), found.codes.tolist())
    ['a', 'b'] [0, 2] [0, 1]
    ['a', 'b'] [0, 2] [0, 1]
    [0, 1] [0, 2] [0, 1]
    """
    if y is None:
        raise ParameterError("y is None; give the class of each node, -1 or None where it is unknown")
    raw = _array("y", y.toarray() if is_sparse(y) else y)
    if raw.shape != (nodes,):
        raise ParameterError(f"y has shape {raw.shape}; it must have one entry for each of the {nodes} nodes")
    known = _known(raw)
    if not known.any():
        raise ParameterError(
            "y labels no node (-1, NaN and None mark unlabelled nodes); label two of each class at least"
        )
    values = raw[known]
    if raw.dtype.kind == "O" and len({isinstance(v, str) for v in values}) > 1:
        raise ParameterError("y mixes strings and numbers; use one kind for all classes")
    if values.dtype.kind == "f" and np.any(fractions := values != np.round(values)):
        raise ParameterError(
            f"Unknown label type: y contains {values[fractions][0]:g}; classes are whole numbers or strings"
        )
    strings = values.dtype.kind == "O" and isinstance(values[0], str)
    classes, codes = np.unique(values.astype(str) if strings else values, return_inverse=True)
    if classes.dtype.kind == "O":
        classes = np.array(classes.tolist())
    if classes.size < 2:
        raise ParameterError(
            f"y has one class, {classes[0]!s}, among its labelled nodes; two are needed (-1 marks an unlabelled node: "
            "write the classes -1 and 1 as 0 and 1)"
        )
    return Labels(classes, np.flatnonzero(known), codes.astype(np.int64))


def is_sparse(matrix: Any) -> bool:
    """Whether it is a SciPy sparse matrix."""
    return bool(sparse.issparse(matrix))


def is_symmetric(matrix: Any) -> bool:
    """Whether a matrix, sparse or not, equals its transpose."""
    return (matrix != matrix.T).nnz == 0 if is_sparse(matrix) else bool(np.array_equal(matrix, matrix.T))


def dense(X: Any) -> npt.NDArray[Any]:
    """Matrix as an array, sparse or not."""
    return np.asarray(X.toarray() if is_sparse(X) else X)


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
    if name != "y" and array.dtype.kind == "O" and array.ndim == 2:
        try:
            return array.astype(np.float64)
        except (ValueError, TypeError):
            return array
    return array


def _known(raw: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if raw.dtype.kind == "f":
        if np.isinf(raw).any():
            raise ParameterError(
                "y contains infinity; classes are whole numbers or strings, NaN marks an unlabelled node"
            )
        return np.asarray(~np.isnan(raw) & (raw != -1))
    if raw.dtype.kind == "i":
        return np.asarray(raw != -1)
    if raw.dtype.kind == "O":
        return np.array([is_class(v) for v in raw], bool)
    if raw.dtype.kind in "US":
        return np.asarray(np.strings.str_len(raw) > 0)
    if raw.dtype.kind in "bu":
        return np.ones(raw.shape, bool)
    raise ParameterError(f"y has dtype {raw.dtype}; classes are whole numbers or strings, -1 marks an unlabelled node")


def is_class(value: Any) -> bool:
    """Whether one entry names a class: not if it is -1, NaN, None or an empty string."""
    if value is None or (isinstance(value, str) and not value):
        return False
    return bool(value == value and not (not isinstance(value, str | bool) and value == -1))  # noqa: PLR0124
