r"""The training rows :math:`F = [g(a) X/\sqrt N]_R`, by the cheaper of two ways, and those of many networks in turn."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.threads import over_blocks
from gcnlimit._values import Array
from gcnlimit.filters import Filter
from gcnlimit.filters.action import WIDTH, Block, column_blocks
from gcnlimit.simulation.data.observation import Features, Observation, streamed
from gcnlimit.simulation.data.operator import Operator
from gcnlimit.simulation.data.size import PROPAGATED_AT_ONCE

ROWS_AT_ONCE = 1 << 26  # numbers: the training rows of several filters held together


def training_rows(observation: Observation, operator: Operator, filters: Filter) -> Block:
    r"""Training rows of each filter, of shape ``(filters, |R|, M)``.

    Propagates the :math:`|R|` training nodes backwards, :math:`F^T = X^T g(a)^T I_R/\sqrt N`, if they are fewer than the
    :math:`M` features, and the features forwards otherwise. The filters share the products with the operator.
    """
    rows, columns = int(observation.train_mask.sum()), observation.features.shape[1]
    out = np.empty((*filters.shape, rows, columns), observation.features.dtype)
    (_backward if rows <= columns else _forward)(observation, operator, filters, out)
    out /= np.sqrt(observation.nodes).astype(out.dtype)
    return out


def groups_by_filter(filters: Filter, points: npt.NDArray[np.intp]) -> list[npt.NDArray[np.intp]]:
    """Points that have the same filter."""
    if not points.size:
        return []
    values = filters.values[points].reshape(points.size, -1)
    which = np.unique(values, axis=0, return_inverse=True)[1].reshape(-1)
    return [points[which == k] for k in range(which.max() + 1)]


def rows_by_filter(
    observation: Observation, operator: Operator, filters: Filter, points: npt.NDArray[np.intp]
) -> Iterator[tuple[npt.NDArray[np.intp], Array]]:
    """Points that have the same filter, and its training rows."""
    groups = groups_by_filter(filters, points)
    at_once = max(1, ROWS_AT_ONCE // (int(observation.train_mask.sum()) * observation.features.shape[1]))
    for start in range(0, len(groups), at_once):
        chunk = groups[start : start + at_once]
        rows = training_rows(observation, operator, filters[np.array([group[0] for group in chunk])])
        for group, F in zip(chunk, rows, strict=True):
            yield group, np.asarray(F, float)


def _backward(observation: Observation, operator: Operator, filters: Filter, out: Block) -> None:
    X, labelled = observation.features, np.flatnonzero(observation.train_mask)
    width = WIDTH * max(1, PROPAGATED_AT_ONCE // (math.prod(filters.shape) * observation.nodes * WIDTH))
    for part in column_blocks(labelled.size, labelled.size if streamed(X) else width):
        indicators = np.zeros((observation.nodes, part.stop - part.start), X.dtype)
        indicators[labelled[part], np.arange(indicators.shape[1])] = 1.0
        for k, propagated in enumerate(filters.apply(operator.T, indicators, radius=operator.radius)):
            _multiply(propagated, X, out[k, part])


def _multiply(propagated: Block, X: Features, out: Block) -> None:
    r"""Product :math:`B^T X`, some features at a time."""
    if not isinstance(X, np.ndarray):
        out[...] = (X.T @ propagated).T
        return

    def one(part: slice) -> None:
        np.matmul(propagated.T, X[:, part], out=out[:, part])

    pieces = 4  # alike, so that no thread waits for another
    over_blocks(one, column_blocks(X.shape[1], math.ceil(X.shape[1] / pieces)), X.size)


def _forward(observation: Observation, operator: Operator, filters: Filter, out: Block) -> None:
    X, radius = np.asarray(observation.features), operator.radius

    def one(part: slice) -> None:
        out[:, :, part] = filters.apply(operator, X[:, part], radius=radius)[:, observation.train_mask]

    over_blocks(one, column_blocks(X.shape[1]), X.size)
