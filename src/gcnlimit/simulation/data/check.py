"""The parts of an instance, checked at the door: whether a user brings them, or a file does."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._validation import number, plain_array
from gcnlimit._values import Array
from gcnlimit.classes import Classes
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.check import check_indices, is_sparse, is_symmetric
from gcnlimit.simulation.data.observation import Graph, Mask

LARGEST = {
    np.dtype(np.float32): 1e9,
    np.dtype(np.float64): 1e50,
}  # features, whose powers are floating-point numbers too


def check_graph(adjacency: Any) -> sparse.csr_array[np.float64]:
    """Return a sparse adjacency matrix as a new CSR matrix: entries sorted, finite and not 0, weights in their unit.

    Every index is checked first, since SciPy takes them on trust and would read beyond its arrays.
    """
    if not is_sparse(adjacency):
        raise ParameterError(
            f"adjacency must be a SciPy sparse matrix, got {type(adjacency).__name__}; write {_way_to_sparse(adjacency)}"
        )
    if adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
        raise ParameterError(
            f"adjacency has shape {adjacency.shape}; it must be square, a row and a column for each node"
        )
    if adjacency.dtype.kind not in "biuf":
        raise ParameterError(f"adjacency has dtype {adjacency.dtype}; it must hold real numbers, 1 for an edge")
    check_indices("adjacency", adjacency)
    with np.errstate(over="ignore", invalid="ignore"):  # what becomes infinite is refused below
        matrix: sparse.csr_array[np.float64] = sparse.csr_array(adjacency.astype(np.float64, copy=True))
        check_indices("adjacency", matrix)
        matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if not np.isfinite(matrix.data).all():
        raise ParameterError("adjacency holds NaN or infinity; every weight must be finite, 1 for an edge")
    return unit_weights(matrix)


def unit_weights(matrix: sparse.csr_array[np.float64]) -> sparse.csr_array[np.float64]:
    r"""Divide the weights of the edges by :math:`\sum A_{ij}^2 / \sum A_{ij}`, which is 1 if every edge weighs 1.

    The entries then have mean :math:`d/N` and variance :math:`\frac dN (1 - \frac dN)`, with the effective mean degree
    :math:`d = \sum A_{ij} / N` of the new weights. So the operator of a network is centred, and its noise has unit variance,
    as on a graph without weights; the unit in which weights are measured plays no part.

    >>> A = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> np.array_equal(unit_weights(3.7 * A).data, A.data)
    True
    """
    weights, largest = matrix.data, np.max(np.abs(matrix.data), initial=0.0)
    if np.all(weights == 1.0):
        return matrix
    weights = weights / largest
    total = float(weights.sum())
    if not total > 0.0:
        raise ParameterError(f"adjacency has weights that sum to {total * largest:g}; their sum must be positive")
    unit = float(weights @ weights) / total
    if abs(unit * largest - 1.0) <= 1e-12:  # already so, to rounding
        return matrix
    return sparse.csr_array((weights / unit, matrix.indices, matrix.indptr), shape=matrix.shape)


def check_dense(matrix: Any, nodes: int) -> Array:
    """Return a Gaussian-equivalent graph, a dense matrix of finite numbers."""
    array = plain_array("adjacency", matrix)
    if array.dtype.kind != "f" or array.shape != (nodes, nodes):
        raise ParameterError(
            f"adjacency has dtype {array.dtype} and shape {array.shape}; it must be real numbers for {nodes} times {nodes} nodes"
        )
    if not np.isfinite(array).all():
        raise ParameterError("adjacency holds NaN or infinity; every entry must be finite")
    check_range("adjacency", array)
    return array.astype(np.float64)


def check_features(features: Any, nodes: int) -> npt.NDArray[Any]:
    """Return the features as a new array, ``float32`` or else ``float64``, of finite numbers that can be squared."""
    if is_sparse(features):
        check_indices("features", features)
        features = features.toarray()
    array = plain_array("features", features)
    if array.dtype.kind not in "biuf":
        raise ParameterError(f"features have dtype {array.dtype}; they must be real numbers")
    with np.errstate(over="ignore"):
        array = array.astype(np.float32 if array.dtype == np.float32 else np.float64)
    if array.ndim != 2 or len(array) != nodes or array.shape[1] == 0:
        raise ParameterError(f"features have shape {array.shape}; they must have a row for each of the {nodes} nodes")
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise ParameterError(
            f"features = {array[row, column]} at row {row}, column {column}; every feature must be finite: "
            "replace what is missing, such as by the mean of its column"
        )
    check_range("features", array)
    return array


def check_range(name: str, array: npt.NDArray[Any]) -> None:
    """Refuse numbers whose squares would overflow, or all underflow."""
    largest, bound = float(np.max(np.abs(array), initial=0.0)), LARGEST[np.dtype(array.dtype.name)]
    if largest and not 1.0 / bound <= largest <= bound:
        raise ParameterError(
            f"{name} reach {largest:g} in size, and must lie between {1 / bound:g} and {bound:g} in {array.dtype}; "
            f"divide them by their standard deviation, since those of the model have variance 1"
        )


def check_labels(labels: Any, train_mask: Mask, classes: Classes) -> Array:
    r"""Return the labels as floats, :math:`\pm 1` or :math:`0 \dots C - 1`; NaN where unknown, which no labelled node may be."""
    array, nodes = plain_array("labels", labels), train_mask.size
    if array.shape != (nodes,):
        raise ParameterError(f"labels have shape {array.shape}; there must be one for each of the {nodes} nodes")
    allowed = np.array([-1, 1]) if classes.two else np.arange(classes.fractions.size)
    bad = array[~np.isin(array, allowed) & ~np.isnan(array)] if array.dtype.kind in "iuf" else array
    if bad.size:
        raise ParameterError(f"labels contain {bad[0]!s}; {_allowed_labels(classes)}")
    if unknown := int(np.isnan(array[train_mask]).sum()):
        known = "-1 or +1" if classes.two else f"0 to {allowed[-1]}"
        raise ParameterError(
            f"labels are NaN on {unknown} nodes of train_mask; a labelled node has label {known}: "
            "write train_mask & ~np.isnan(labels)"
        )
    return array.astype(np.float64)


def _allowed_labels(classes: Classes) -> str:
    if classes.two:
        return (
            "every label must be -1 or +1, or NaN where it is unknown, outside train_mask: "
            "write np.select([labels == one_class, labels == other_class], [1.0, -1.0], np.nan)"
        )
    last = classes.fractions.size - 1
    return f"every label must be a whole number from 0 to {last}, or NaN where it is unknown, outside train_mask"


def check_mask(train_mask: Any, nodes: int) -> Mask:
    """Return the mask of the labelled nodes as a new array."""
    array = plain_array("train_mask", train_mask)
    if array.dtype != np.bool_ or array.shape != (nodes,):
        raise ParameterError(
            f"train_mask has dtype {array.dtype} and shape {array.shape}; it must be {nodes} booleans, True for a labelled node: "
            "write np.isin(np.arange(nodes), train_mask) if it lists nodes"
        )
    return array.copy()


def check_degree(degree: npt.ArrayLike, nodes: int) -> float:
    """Return a mean degree: positive, and below the number of nodes."""
    checked = number("degree", degree, low=1e-12)
    if checked >= nodes:
        raise ParameterError(f"degree = {checked:g} is not allowed; it must be below the number of nodes, {nodes}")
    return checked


def check_model(data: Any, adjacency: Graph) -> CSBM:
    """Return the model of an instance: one point, directed unless the adjacency is symmetric."""
    if not isinstance(data, CSBM) or data.shape:
        raise ParameterError(
            f"data = {data!r} is not allowed; it must be one CSBM of single parameters, or None to estimate it"
        )
    if not data.directed and not is_symmetric(adjacency):
        raise ParameterError(
            "data has directed=False but adjacency is not symmetric; write directed=True, or pass adjacency.maximum(adjacency.T)"
        )
    return data


def _way_to_sparse(graph: Any) -> str:
    """How to convert a graph of another library."""
    home = type(graph).__module__.partition(".")[0]
    if home == "networkx":
        return "networkx.to_scipy_sparse_array(adjacency)"
    if isinstance(graph, np.ndarray | list):
        return "scipy.sparse.csr_array(adjacency)"
    return (
        "scipy.sparse.coo_array((np.ones(edges), (row, column)), shape=(nodes, nodes)) with the two ends of every edge"
    )
