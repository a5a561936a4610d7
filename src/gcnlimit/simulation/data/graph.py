"""Random graphs with classes, in time and memory proportional to the number of edges."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
from scipy import sparse

from gcnlimit._values import Array
from gcnlimit.classes import Indices
from gcnlimit.simulation.backend import Backend, backend_of

Placed = Any  # integers on the device of the backend

_LOWEST = -6.0  # octave of the propensities below which all are one group: they have hardly any edge


def bernoulli_graph(
    kinds: Indices,
    probabilities: Array,
    directed: bool,
    rng: Any,
    backend: Backend | None = None,
    *,
    theta: Array | None = None,
) -> sparse.csr_array[np.float64]:
    r"""Graph whose edges are independent, of probability ``probabilities[k, l]`` between classes `k` and `l`.

    `kinds` is the index of the class of each node. Every ordered pair is drawn once if `directed`, every unordered pair
    otherwise, self-loops included; by the generator `rng` of a `backend`, by default NumPy's. With the propensities `theta` of
    the nodes the probability is multiplied by :math:`\theta_i\theta_j`, and at most 1.

    >>> rng = np.random.default_rng(0)
    >>> A = bernoulli_graph(np.array([0, 0, 1]), np.eye(2), directed=True, rng=rng)
    >>> A.toarray()
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """
    backend = backend or backend_of("cpu")
    nodes = len(kinds)
    classes = len(probabilities)
    largest = float(np.max(probabilities))
    own = backend.place(kinds)
    table = backend.place(probabilities.ravel())
    weight = None if theta is None else backend.place(theta)
    rows, columns = [], []
    for (first, high), (second, other) in _pairs_of_groups(theta, nodes, directed):
        bound = min(1.0, largest * high * other)
        row, column = _pairs(first, second, bound, directed=directed, rng=rng, backend=backend)
        allowed = table[own[row] * classes + own[column]]
        if weight is not None:
            allowed = allowed * weight[row] * weight[column]
        kept = rng.random(len(row)) * bound < allowed
        rows.append(row[kept])
        columns.append(column[kept])
    row, column = backend.join(rows), backend.join(columns)
    if not directed:
        mirrored = row != column
        row, column = backend.join([row, column[mirrored]]), backend.join([column, row[mirrored]])
    return backend.csr(row, column, nodes)


def gaussian_graph(codes: Array, lam: float, directed: bool, rng: np.random.Generator) -> Array:
    r"""Gaussian-equivalent graph :math:`\frac{\lambda}{\sqrt N} YY^T + \Xi` (Eqs. 1.1 and 8.2), dense; for small sizes.

    `codes` is the matrix :math:`Y` of the codes of the nodes.
    """
    n = len(codes)
    noise = rng.standard_normal((n, n))
    if not directed:
        noise = np.tril(noise) + np.tril(noise, -1).T
    return np.asarray(lam / np.sqrt(n) * (codes @ codes.T) + noise)


def _pairs_of_groups(
    theta: Array | None, nodes: int, directed: bool
) -> Iterator[tuple[tuple[Indices, float], tuple[Indices, float]]]:
    """Pairs of groups of nodes, each with its largest propensity, within a factor of two: few proposals are then rejected."""
    if theta is None:
        every = (np.arange(nodes), 1.0)
        return iter([(every, every)])
    octave = np.maximum(np.floor(np.log2(np.where(theta > 0.0, theta, 1.0))), _LOWEST)
    members = [np.flatnonzero((octave == o) & (theta > 0.0)) for o in np.unique(octave)]
    groups = [(group, float(np.max(theta[group]))) for group in members if group.size]
    return product(groups, groups) if directed else combinations_with_replacement(groups, 2)


def _pairs(
    first: Indices, second: Indices, probability: float, *, directed: bool, rng: Any, backend: Backend
) -> tuple[Placed, Placed]:
    """Pairs of a node of the first group and one of the second, each with that probability."""
    if first is second and not directed:
        row, column = _undirected_pairs(len(first), probability, rng, backend)
    else:
        places = _successes(len(first) * len(second), probability, rng, backend)
        row, column = places // len(second), places % len(second)
    if first is second and first[-1] == len(first) - 1:  # all nodes, or the first ones: they stand where they are
        return row, column
    return backend.place(first)[row], backend.place(second)[column]


def _undirected_pairs(nodes: int, probability: float, rng: Any, backend: Backend) -> tuple[Placed, Placed]:
    r"""Each of the unordered pairs, with that probability.

    The pair :math:`\{i,\, (i + d) \bmod n\}` is numbered by :math:`i` and :math:`d = 0 \dots \lfloor n/2 \rfloor`. This is one to
    one, except for :math:`2d = n`, where :math:`i` and :math:`i + n/2` name the same pair and only :math:`i < n/2` is kept.
    """
    half = nodes // 2
    places = _successes(nodes * (half + 1), probability, rng, backend)
    row, way = places // (half + 1), places % (half + 1)
    once = (2 * way < nodes) | (row < half)
    row, way = row[once], way[once]
    return row, (row + way) % nodes


def _successes(trials: int, probability: float, rng: Any, backend: Backend) -> Placed:
    """Places of the successes among independent trials, from the geometric law of the gaps between them."""
    if probability <= 0.0:
        return backend.place(np.empty(0, np.int64))
    found = []
    last = -1
    while last < trials:
        expected = (trials - last) * probability
        gaps = rng.geometric(probability, size=int(expected + 4.0 * np.sqrt(expected) + 16.0))
        places = last + gaps.cumsum(0)
        found.append(places)
        last = int(places[-1])
    places = backend.join(found)
    return places[places < trials]
