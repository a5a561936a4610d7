"""The operator that propagates features on a given graph."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.check import is_complete, is_symmetric
from gcnlimit.graphs.eigenvalues import largest_singular_value
from gcnlimit.graphs.operator import SparsePlusRankOne, centred, normalized, weight_unit

OPERATORS = ("normalized", "centred", "paper")
DIRECTIONS = ("both", "out", "in")


class Propagation(NamedTuple):
    """Operator :math:`S`, bound `radius` of its spectrum, and whether it is symmetric."""

    operator: SparsePlusRankOne
    radius: float
    symmetric: bool

    @property
    def transposed(self) -> SparsePlusRankOne:
        """The transpose of the operator."""
        return self.operator if self.symmetric else self.operator.T

    def unit(self) -> Propagation:
        """The operator over its radius, on which strengths are relative to the top eigenvalue."""
        return self if self.radius == 1.0 else Propagation(self.operator / self.radius, 1.0, self.symmetric)


def propagation(graph: Any, kind: str = "centred", loops: bool = True, direction: str = "both") -> Propagation:
    r"""Operator :math:`S` of an adjacency matrix :math:`A` that has been checked.

    - ``"normalized"``: :math:`D^{-1/2} (A + 1) D^{-1/2}`, :math:`D` the degrees; its top eigenvalue is 1.
    - ``"centred"``: the same without its top eigenvector :math:`D^{1/2} 1`.
    - ``"paper"``: :math:`(A - p)/\sqrt{N p (1 - p)}`, :math:`p` the density (Eq. 1.3), weights in their unit.

    `loops` says whether the identity, in the unit of the weights, is added in the first two. A graph that is not symmetric
    becomes :math:`\max(A, A^T)` if `direction` is ``"both"``; with ``"out"`` a node averages over the nodes that it points to,
    with ``"in"`` over those that point to it.

    >>> path = sparse.csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    >>> S = propagation(path, "normalized", loops=False)
    >>> np.round(S.operator @ np.sqrt([1.0, 2.0, 1.0]), 12) ** 2, S.radius  # the top eigenvector
    (array([1., 2., 1.]), 1.0)
    """
    symmetric = is_symmetric(graph)
    if direction == "both" and not symmetric:
        graph, symmetric = graph.maximum(graph.T).tocsr(), True
    elif direction == "in":
        graph = graph.T.tocsr()
    if kind == "paper":
        if is_complete(graph):
            raise ParameterError('operator = "paper" needs a pair of nodes that no edge joins; use "normalized"')
        return _bounded(centred(graph, symmetric), symmetric)
    if loops:
        graph = graph + weight_unit(graph) * sparse.eye_array(graph.shape[0], format="csr")
    matrix = normalized(graph)
    if kind == "normalized":
        return Propagation(SparsePlusRankOne(matrix), 1.0, symmetric)
    out, into = (_unit(np.sqrt(np.asarray(graph.sum(axis=k)))) for k in (1, 0))
    return _bounded(SparsePlusRankOne(matrix, out, into, symmetric), symmetric)


def _bounded(operator: SparsePlusRankOne, symmetric: bool) -> Propagation:
    """The operator with its largest singular value, to half a per cent from above."""
    return Propagation(operator, max(1.005 * largest_singular_value(operator), 1e-6), symmetric)


def _unit(vector: Array) -> Array:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-300))
