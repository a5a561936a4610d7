"""The graph that a user brings: its parts checked, its model estimated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._validation import real
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.simulation.observation import Latents, Mask, Observation

__all__ = ["estimate", "observe"]


def observe(  # noqa: PLR0917
    adjacency: Any, features: Any, labels: Any, train_mask: Any, data: CSBM | None, degree: float | None
) -> tuple[Observation, Latents]:
    """Check the parts of an instance and tell what is seen from what is hidden; see `Instance.of`."""
    adjacency = _adjacency(adjacency)
    nodes = adjacency.shape[0]
    features = _features(features, nodes)
    labels = _labels(labels, nodes)
    train_mask = _mask(train_mask, nodes)
    degree = _degree(adjacency, degree)
    data = estimate(adjacency, features, labels, train_mask) if data is None else _model(data, adjacency)
    seen = Observation(data, degree, adjacency, features, train_mask, np.where(train_mask, labels, 0.0))
    return seen, Latents(labels, np.full(features.shape[1], np.nan))


def estimate(adjacency: Any, features: npt.NDArray[Any], labels: Array, train_mask: Mask) -> CSBM:
    r"""Parameters of the model from the labelled nodes :math:`R`.

    :math:`\alpha = N/M` and :math:`\rho = |R|/N` are counted. With :math:`p = d/N` the density of the graph,

    .. math::

        \hat\lambda = \sqrt{\frac{N}{p(1-p)}}\, \frac{1}{|R|^2} \sum_{i,j \in R} y_i y_j (A_{ij} - p), \qquad
        \hat\mu = \frac NM \Bigl( \Bigl| \frac1{|R|} \sum_{i \in R} y_i X_i \Bigr|^2 - \frac{M}{|R|} \Bigr)_+,

    where the last term is what features of unit variance would give without a signal.

    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=1.0), nodes=2000, degree=30, seed=0)
    >>> found = estimate(i.adjacency, i.features, i.labels, i.train_mask)
    >>> bool(abs(found.lam - 1.0) < 0.1), bool(abs(found.mu - 2.0) < 0.5), found.alpha
    (True, True, 4.0)
    """
    nodes, width = features.shape
    y = np.where(train_mask, labels, 0.0)
    known, density = int(train_mask.sum()), adjacency.nnz / nodes**2
    excess = (y @ (adjacency @ y) - density * y.sum() ** 2) / known**2
    mean = y @ features / known
    return CSBM(
        alpha=nodes / width,
        lam=float(excess * math.sqrt(nodes / (density * (1.0 - density)))),
        mu=max(0.0, float(mean @ mean - width / known) * nodes / width),
        rho=known / nodes,
        directed=not _symmetric(adjacency),
    )


def _adjacency(adjacency: Any) -> Any:
    if not _is_sparse(adjacency):
        raise ParameterError(
            f"adjacency must be a SciPy sparse matrix, got {type(adjacency).__name__}; write scipy.sparse.csr_array(adjacency)"
        )
    if adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
        raise ParameterError(
            f"adjacency has shape {adjacency.shape}; it must be square, a row and a column for each node"
        )
    if adjacency.dtype.kind not in "biuf":
        raise ParameterError(f"adjacency has dtype {adjacency.dtype}; it must hold real numbers, 1 for an edge")
    matrix = sparse.csr_array(adjacency, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if not np.isfinite(matrix.data).all():
        raise ParameterError("adjacency holds NaN or infinity; every weight must be finite, 1 for an edge")
    if not 0 < matrix.nnz < matrix.shape[0] ** 2:
        raise ParameterError(
            f"adjacency has {matrix.nnz} edges on {matrix.shape[0]} nodes; it needs at least one edge and one pair without"
        )
    return matrix


def _features(features: Any, nodes: int) -> npt.NDArray[Any]:
    array = np.asarray(features.toarray() if _is_sparse(features) else features)
    if array.dtype.kind not in "biuf":
        raise ParameterError(f"features have dtype {array.dtype}; they must be real numbers")
    array = array.astype(np.float32 if array.dtype == np.float32 else np.float64, copy=False)
    if array.ndim != 2 or len(array) != nodes or array.shape[1] == 0:
        raise ParameterError(f"features have shape {array.shape}; they must have a row for each of the {nodes} nodes")
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise ParameterError(
            f"features = {array[row, column]} at row {row}, column {column}; every feature must be finite: "
            "replace what is missing, such as by the mean of its column"
        )
    return array


def _labels(labels: Any, nodes: int) -> Array:
    array = np.asarray(labels)
    if array.shape != (nodes,):
        raise ParameterError(f"labels have shape {array.shape}; there must be one for each of the {nodes} nodes")
    bad = array[(array != 1) & (array != -1)] if array.dtype.kind in "iuf" else array
    if bad.size:
        raise ParameterError(
            f"labels contain {bad[0]!s}; every label must be -1 or +1: write np.where(labels == one_class, 1, -1)"
        )
    return array.astype(np.float64)


def _mask(train_mask: Any, nodes: int) -> Mask:
    array = np.asarray(train_mask)
    if array.dtype != np.bool_ or array.shape != (nodes,):
        raise ParameterError(
            f"train_mask has dtype {array.dtype} and shape {array.shape}; it must be {nodes} booleans, True for a labelled node: "
            "write np.isin(np.arange(nodes), train_mask) if it lists nodes"
        )
    if not array.any():
        raise ParameterError(
            "train_mask is False everywhere; a network needs labels to train on: label at least one node"
        )
    return array


def _degree(adjacency: Any, degree: float | None) -> float:
    nodes = adjacency.shape[0]
    if degree is None:
        return float(adjacency.nnz / nodes)
    checked = float(real("degree", degree, low=0, high=nodes, open_low=True))
    if checked == nodes:
        raise ParameterError(f"degree = {checked:g} is not allowed; it must be below the number of nodes {nodes}")
    return checked


def _model(data: CSBM, adjacency: Any) -> CSBM:
    if not isinstance(data, CSBM) or data.shape:
        raise ParameterError(
            f"data = {data!r} is not allowed; it must be one CSBM of single parameters, or None to estimate it"
        )
    if not data.directed and not _symmetric(adjacency):
        raise ParameterError(
            "data has directed=False but adjacency is not symmetric; write directed=True, or pass adjacency.maximum(adjacency.T)"
        )
    return data


def _symmetric(adjacency: Any) -> bool:
    return bool((adjacency != adjacency.T).nnz == 0)


def _is_sparse(matrix: Any) -> bool:
    return bool(sparse.issparse(matrix))
