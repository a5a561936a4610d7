"""Random graphs with classes, in time and memory proportional to the number of edges."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gcnlimit._values import Array
from gcnlimit.classes import Indices
from gcnlimit.simulation.backend import Backend, backend_of

Placed = Any  # integers on the device of the backend


def bernoulli_graph(
    kinds: Indices, probabilities: Array, directed: bool, rng: Any, backend: Backend | None = None
) -> sparse.csr_array[np.float64]:
    """Graph whose edges are independent, of probability ``probabilities[k, l]`` between classes `k` and `l`.

    `kinds` is the index of the class of each node. Every ordered pair is drawn once if `directed`, every unordered pair
    otherwise, self-loops included; by the generator `rng` of a `backend`, by default NumPy's.

    >>> rng = np.random.default_rng(0)
    >>> A = bernoulli_graph(np.array([0, 0, 1]), np.eye(2), directed=True, rng=rng)
    >>> A.toarray()
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """
    backend = backend or backend_of("cpu")
    draw = _directed_pairs if directed else _undirected_pairs
    nodes, classes, largest = len(kinds), len(probabilities), float(np.max(probabilities))
    own, table = backend.place(kinds), backend.place(probabilities.ravel())
    row, column = draw(nodes, largest, rng, backend)
    kept = rng.random(len(row)) * largest < table[own[row] * classes + own[column]]
    row, column = row[kept], column[kept]
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


def _directed_pairs(nodes: int, probability: float, rng: Any, backend: Backend) -> tuple[Placed, Placed]:
    """Each of the ordered pairs, with that probability."""
    places = _successes(nodes * nodes, probability, rng, backend)
    return places // nodes, places % nodes


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
    found, last = [], -1
    while last < trials:
        expected = (trials - last) * probability
        gaps = rng.geometric(probability, size=int(expected + 4.0 * np.sqrt(expected) + 16.0))
        places = last + gaps.cumsum(0)
        found.append(places)
        last = int(places[-1])
    places = backend.join(found)
    return places[places < trials]
