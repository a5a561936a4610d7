"""What only an instance has, checked at the door: labels of the model, mask, degree, model; the rest is `graphs.check`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import number, plain_array
from gcnlimit._values import Array
from gcnlimit.classes import Classes
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.check import as_features, check_range, dense, is_symmetric
from gcnlimit.simulation.data.observation import Graph, Mask


def check_dense(matrix: Any, nodes: int) -> Array:
    """Return a Gaussian-equivalent graph, a dense matrix of finite numbers."""
    array = plain_array("adjacency", matrix)
    if array.dtype.kind != "f" or array.shape != (nodes, nodes):
        raise ParameterError(
            f"adjacency has dtype {array.dtype} and shape {array.shape}; it must be real numbers for {nodes} times {nodes} nodes"
        )
    if not np.isfinite(array).all():
        raise ParameterError("adjacency holds NaN or infinity; every entry must be finite")
    check_range("adjacency", array.astype(np.float64))
    return array.astype(np.float64)


def check_features(features: Any, nodes: int) -> npt.NDArray[Any]:
    """Return the features as a new array, ``float32`` or else ``float64``, of finite numbers that can be squared."""
    if features is None:
        raise ParameterError("features = None is not allowed; a network needs a row of features for each node")
    return dense(as_features(features, nodes, name="features", single=True))


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
