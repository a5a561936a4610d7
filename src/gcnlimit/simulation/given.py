"""The graph that a user brings: its model estimated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.simulation.observation import Latents, Mask, Observation, revealed
from gcnlimit.simulation.parts import (
    check_degree,
    check_features,
    check_graph,
    check_labels,
    check_mask,
    check_model,
    is_symmetric,
    unit_weights,
)

__all__ = ["estimate", "observe"]


def observe(  # noqa: PLR0917
    adjacency: Any, features: Any, labels: Any, train_mask: Any, data: CSBM | None, degree: float | None
) -> tuple[Observation, Latents]:
    """Check the parts of an instance, and separate what is seen from what is hidden; see `Instance.of`."""
    adjacency = check_graph(adjacency)
    nodes = adjacency.shape[0]
    _check_edges(adjacency)
    features = check_features(features, nodes)
    train_mask = check_mask(train_mask, nodes)
    data = None if data is None else _check_law(check_model(data, adjacency))
    classes = 2 if data is None else data.classes
    labels = check_labels(labels, train_mask, classes)
    if not train_mask.any():
        raise ParameterError(
            "train_mask is False everywhere; a network needs labels to train on: label at least one node"
        )
    degree = float(adjacency.data.sum() / nodes) if degree is None else check_degree(degree, nodes)
    data = estimate(adjacency, features, labels, train_mask) if data is None else data
    seen = Observation(data, degree, adjacency, features, train_mask, revealed(labels, train_mask, classes))
    directions = data.fractions.size - 1
    return seen, Latents(labels, np.full((features.shape[1], directions)[: min(directions, 2)], np.nan))


def _check_law(data: CSBM) -> CSBM:
    """Refuse correlated features, whose law does not say which column of the user's features has which noise."""
    if not data.features.is_white:
        raise ParameterError(
            "data has correlated features, and which column has which noise is not known; multiply the features by the inverse "
            "root of their covariance, and leave out features"
        )
    return data


def estimate(
    adjacency: sparse.csr_array[np.float64], features: npt.NDArray[Any], labels: Array, train_mask: Mask
) -> CSBM:
    r"""Parameters of the model from the labelled nodes :math:`R`.

    :math:`\alpha = N/M` and :math:`\rho = |R|/N` are counted. With :math:`p = d/N` the density of the graph,

    .. math::

        \hat\lambda = \sqrt{\frac{N}{p(1-p)}}\, \frac{1}{|R|^2} \sum_{i,j \in R} y_i y_j (A_{ij} - p), \qquad
        \hat\mu = \frac NM \Bigl( \Bigl| \frac1{|R|} \sum_{i \in R} y_i X_i \Bigr|^2 - \frac{M}{|R|} \Bigr)_+,

    where the last term is what features of unit variance would give without a signal. Edges with weights are first brought to
    unit weight (:func:`gcnlimit.simulation.parts.unit_weights`).

    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=1.0), nodes=2000, degree=30, seed=0)
    >>> found = estimate(i.adjacency, i.features, i.labels, i.train_mask)
    >>> bool(abs(found.lam - 1.0) < 0.1), bool(abs(found.mu - 2.0) < 0.5), found.alpha
    (True, True, 4.0)
    """
    nodes, width = features.shape
    adjacency = unit_weights(adjacency)
    y = np.where(train_mask, labels, 0.0)
    known, density = int(train_mask.sum()), float(adjacency.data.sum()) / nodes**2
    if known < 2:
        raise ParameterError(
            f"train_mask labels {known} node, from which the model cannot be estimated; label more, or pass data=CSBM(...)"
        )
    excess = (y @ (adjacency @ y) - density * y.sum() ** 2) / known**2
    mean = y @ features / known
    return CSBM(
        alpha=nodes / width,
        lam=float(excess * math.sqrt(nodes / (density * (1.0 - density)))),
        mu=max(0.0, float(mean @ mean - width / known) * nodes / width),
        rho=known / nodes,
        directed=not is_symmetric(adjacency),
    )


def _check_edges(adjacency: sparse.csr_array[np.float64]) -> None:
    """Refuse a graph whose entries are all equal: their variance sets the scale of the operator."""
    nodes, edges = adjacency.shape[0], adjacency.nnz
    if edges == 0 or (edges == nodes**2 and np.all(adjacency.data == adjacency.data[0])):
        raise ParameterError(
            f"adjacency has {edges} edges on {nodes} nodes; it needs at least one edge and one pair without"
        )
