"""The graph that a user brings: its model estimated."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._validation import plain_array
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.estimated import EstimatedCSBM
from gcnlimit.given.from_labels import from_labels
from gcnlimit.given.standard import Standard
from gcnlimit.simulation.observation import Latents, Mask, Observation, revealed
from gcnlimit.simulation.parts import (
    check_degree,
    check_features,
    check_graph,
    check_labels,
    check_mask,
    check_model,
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
    train_mask = check_mask(_known(labels) if train_mask is None else train_mask, nodes)
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
) -> EstimatedCSBM:
    r"""The model and its standard errors, from the labelled nodes: those of `gcnlimit.estimate`.

    :math:`\alpha` and :math:`\rho` are counted, the signals are those of :func:`gcnlimit.given.from_labels.from_labels`; a
    negative estimate of :math:`\mu` counts as 0.

    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=1.0), nodes=2000, degree=30, seed=0)
    >>> found = estimate(i.adjacency, i.features, i.labels, i.train_mask)
    >>> bool(abs(found.lam - 1.0) < 2 * found.lam_error), bool(abs(found.mu - 2.0) < 2 * found.mu_error), found.alpha
    (True, True, 4.0)
    """
    known = labels[train_mask]
    if min(np.sum(known > 0), np.sum(known < 0)) < 1 or known.size < 3:
        raise ParameterError(
            f"data = None, and train_mask labels {known.size} nodes, of which {np.sum(known > 0)} are +1: too few to "
            "estimate the model; label three or more, of both classes, or pass data=CSBM(...)"
        )
    given = Standard.of(features, np.where(train_mask, labels > 0, -1), adjacency)
    found = from_labels(given)
    return EstimatedCSBM(
        alpha=given.alpha,
        lam=found.lam,
        mu=max(found.mu, 0.0),
        rho=given.rho,
        directed=given.directed,
        lam_error=found.lam_error,
        mu_error=found.mu_error,
    )


def _known(labels: Any) -> Mask:
    array = plain_array("labels", labels)
    return ~np.isnan(array) if array.dtype.kind == "f" else np.ones(array.shape, bool)


def _check_edges(adjacency: sparse.csr_array[np.float64]) -> None:
    """Refuse a graph whose entries are all equal: their variance sets the scale of the operator."""
    nodes, edges = adjacency.shape[0], adjacency.nnz
    if edges == 0 or (edges == nodes**2 and np.all(adjacency.data == adjacency.data[0])):
        raise ParameterError(
            f"adjacency has {edges} edges on {nodes} nodes; it needs at least one edge and one pair without"
        )
