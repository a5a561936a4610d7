"""The operator that propagates features on a given graph."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.check import is_symmetric
from gcnlimit.graphs.operator import SparseLessRankOne

OPERATORS = ("normalized", "centred", "paper")
DIRECTIONS = ("both", "out", "in")


class Propagation(NamedTuple):
    """Operator :math:`S`, bound `radius` of its spectrum, and whether it is symmetric."""

    operator: SparseLessRankOne
    radius: float
    symmetric: bool

    @property
    def transposed(self) -> SparseLessRankOne:
        """The transpose of the operator."""
        return self.operator if self.symmetric else self.operator.T

    def unit(self) -> Propagation:
        """The operator over its radius, on which strengths are relative to the top eigenvalue."""
        return self if self.radius == 1.0 else Propagation(self.operator / self.radius, 1.0, self.symmetric)


def propagation(graph: Any, kind: str = "centred", loops: bool = True, direction: str = "both") -> Propagation:
    r"""Operator :math:`S` of an adjacency matrix :math:`A` that has been checked.

    - ``"normalized"``: :math:`D^{-1/2} (A + 1) D^{-1/2}`, :math:`D` the degrees; its top eigenvalue is 1.
    - ``"centred"``: the same without its top eigenvector :math:`D^{1/2} 1`.
    - ``"paper"``: :math:`(A - p)/\sqrt{N p (1 - p)}`, :math:`p` the density (Eq. 1.3).

    `loops` says whether the identity is added in the first two. A graph that is not symmetric becomes
    :math:`\max(A, A^T)` if `direction` is ``"both"``; with ``"out"`` a node averages over the nodes that it points to, with
    ``"in"`` over those that point to it.

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
        return _bounded(_paper(graph), symmetric)
    if loops:
        graph = graph + sparse.eye_array(graph.shape[0], format="csr")
    out, into = (np.asarray(np.abs(graph).sum(axis=k)) for k in (1, 0))
    left, right = (np.divide(1.0, np.sqrt(d), out=np.zeros(d.size), where=d > 0) for d in (out, into))
    matrix = (sparse.diags_array(left) @ graph @ sparse.diags_array(right)).tocsr()
    if kind == "normalized":
        return Propagation(SparseLessRankOne(matrix), 1.0, symmetric)
    return _bounded(SparseLessRankOne(matrix, _unit(np.sqrt(out)), _unit(np.sqrt(into))), symmetric)


def _paper(graph: Any) -> SparseLessRankOne:
    nodes = graph.shape[0]
    p = graph.nnz / nodes**2
    if p >= 1.0:
        raise ParameterError(
            'operator = "paper" needs a graph with a pair of nodes that no edge joins; use "normalized"'
        )
    scale = 1.0 / np.sqrt(nodes * p * (1.0 - p))
    return SparseLessRankOne(graph * scale, np.full(nodes, p * scale), np.ones(nodes))


def _bounded(operator: SparseLessRankOne, symmetric: bool) -> Propagation:
    """The operator with its largest singular value, to half a per cent from above."""
    back = operator if symmetric else operator.T
    square = top_eigenvalues(lambda v: back @ (operator @ v), operator.shape[0], 1, tol=1e-3)
    return Propagation(operator, max(1.005 * math.sqrt(max(float(square[0]), 0.0)), 1e-6), symmetric)


def top_eigenvalues(product: Callable[[Array], Array], size: int, count: int, tol: float = 1e-4) -> Array:
    """Eigenvalues of largest magnitude of a symmetric operator, largest first; `product` applies it to columns.

    ARPACK gives up on an operator that is nearly 0, as of a complete graph without its top eigenvector: then a few
    steps of the power method say how large it is, and it is answered with that bound.

    >>> top_eigenvalues(lambda v: 0.0 * v, size=50, count=2).tolist()
    [0.0, 0.0]
    """
    if size <= max(count + 2, 20):
        values = np.linalg.eigvalsh(product(np.eye(size)))
    else:
        start = np.random.default_rng(0).standard_normal(size)
        linear = LinearOperator((size, size), matvec=lambda v: product(v.ravel()), dtype=np.float64)
        try:
            values = eigsh(linear, k=count, which="LM", v0=start, tol=tol, return_eigenvectors=False)
        except ArpackError:
            values = np.full(count, np.linalg.norm(product(start)) / np.linalg.norm(start))
    return np.asarray(sorted(values, key=abs, reverse=True)[:count])


def _unit(vector: Array) -> Array:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-300))
