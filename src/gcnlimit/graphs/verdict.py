r"""What a graph is taken for: whether it has hubs, the law of its degrees, and the sizes of its classes.

Everything that treats one kind of graph unlike another asks here. Rates below are those of 300 draws each, of 300, 1 000 and
10 000 nodes with mean degrees from 6 to 200, and of 2 000 draws of labels (`tests/graphs/test_verdict.py` repeats them).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import chdtrc

from gcnlimit._values import Array, Integers
from gcnlimit.classes import Classes
from gcnlimit.degrees import Degrees
from gcnlimit.graphs.check import is_symmetric

# Variance of the propensities from which dividing the degrees out is worth it: at 0.05 the best
# PageRank gains 0.8 +- 0.3, 0.9 +- 0.6 and 3.1 +- 0.5 points at mean degrees of 6, 20 and 60.
VARIES = 0.03
# The same in units of 1/d: beyond 1 the degrees have an eigenvalue sqrt(d v) of the centred graph
# that leaves the bulk.
OUTLIER = 2.0
# Standard errors of that variance on a graph without hubs. No such graph is taken for one with hubs
# (0 of 4 500), and none of variance 0.1 for one without (98 % found at 300 nodes of degree 6, else
# 100 %); at 0.05 it needs 1 000 nodes, or a degree of 15.
SURE = 4.0
UNLIKELY = 0.01  # level at which equal classes are refuted: 0.6 to 1.7 % of draws of equal classes


def edge_counts(graph: Any, directed: bool | None = None) -> Array:
    """Number of edges of each node, whatever their weights; in and out together if the graph is directed.

    >>> from scipy import sparse
    >>> edge_counts(sparse.csr_array(np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0]])))
    array([1., 2., 1.])
    """
    directed = not is_symmetric(graph) if directed is None else directed
    into = np.bincount(graph.indices, minlength=graph.shape[0]) if directed else 0
    return np.asarray(np.diff(graph.indptr) + into, float)


def has_hubs(degrees: Array) -> bool:
    r"""Whether degrees vary more than at random, where their variance is their mean :math:`d`.

    Propensities :math:`\theta_i` of variance :math:`v` give degrees of variance :math:`d + d^2 v`, and the estimate of :math:`v`
    has the standard error :math:`\sqrt{2/N}/d` at :math:`v = 0`.

    >>> rng = np.random.default_rng(0)
    >>> has_hubs(rng.poisson(10, 1000)), has_hubs(rng.poisson(10 * rng.gamma(5, 1 / 5, 1000)))
    (False, True)
    """
    mean = float(np.mean(degrees))
    if mean == 0.0:
        return False
    variance = (float(np.var(degrees)) - mean) / mean**2
    error = math.sqrt(2.0 / np.size(degrees)) / mean
    return variance > max(min(VARIES, OUTLIER / mean), SURE * error)


def degree_law(degrees: Array) -> Degrees | None:
    """Law of the degrees where there are hubs; None where they vary no more than at random."""
    return Degrees(degrees) if has_hubs(degrees) else None


def class_sizes(counts: Integers) -> Classes:
    """Classes of a graph from the labelled nodes of each: equal, unless a chi-squared test refutes it at the level of 1 %.

    >>> class_sizes(np.array([27, 33])), class_sizes(np.array([20, 40]))
    (2, (0.3333333333333333, 0.6666666666666666))
    """
    expected = counts.sum() / counts.size
    equal = chdtrc(counts.size - 1, np.sum((counts - expected) ** 2) / expected) > UNLIKELY
    share = np.maximum(counts, 0.5)  # a class that no node shows is smaller than one that one shows
    return Classes.of(counts.size if equal else share / share.sum())
