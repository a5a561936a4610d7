"""Operators of an adjacency matrix: centred, or divided by powers of the degrees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gcnlimit._values import Array
from gcnlimit.graphs.check import between, is_symmetric
from gcnlimit.graphs.rank_one import SparsePlusRankOne
from gcnlimit.normalization import Normalization, as_normalization
from gcnlimit.numerics.lanczos import largest_eigenvalue


def weight_unit(adjacency: Any) -> float:
    r"""Unit :math:`\sum A_{ij}^2 / \sum A_{ij}` of the weights of a graph: 1 if every edge weighs 1.

    In this unit the entries have mean :math:`d/N` and variance :math:`\frac dN (1 - \frac dN)`, :math:`d` the mean degree
    :math:`\sum A_{ij} / N`, as on a graph without weights; so no answer depends on how weights are measured.

    >>> A = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> weight_unit(A), weight_unit(3.5 * A)
    (1.0, 3.5)
    """
    weights = adjacency.data
    if np.all(weights == 1.0):  # whatever their type, whose squares may not fit into it
        return 1.0
    return float(weights @ weights / weights.sum())


def centring(adjacency: Any, degree: float | None = None) -> tuple[float, float]:
    r"""Numbers :math:`s` and :math:`\epsilon` of the operator :math:`a = sA - \epsilon\,11^T` (Eq. 1.3).

    It is :math:`a = (A/w - p)/\sqrt{Np(1-p)}` with the unit :math:`w` of the weights and the density :math:`p = d/N`: centred,
    with noise of unit variance. The mean `degree` :math:`d`, in that unit, is by default that of the graph itself.
    """
    nodes = adjacency.shape[0]
    unit = weight_unit(adjacency)
    degree = float(adjacency.data.sum()) / unit / nodes if degree is None else degree
    density = degree / nodes
    scale = 1.0 / np.sqrt(nodes) / np.sqrt(density * (1.0 - density))
    return float(scale / unit), float(density * scale)


def centred(adjacency: Any, symmetric: bool) -> SparsePlusRankOne:
    r"""Centred and rescaled adjacency, for which :math:`\mathrm{tr}(aa^T)/N = 1`; see `centring`.

    >>> star = sparse.csr_array(np.array([[0.0, 2.0, 4.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]]))
    >>> a = centred(star, symmetric=True) @ np.eye(3)
    >>> bool(abs(a.sum()) < 1e-12), round(float(np.sum(a**2)) / 3, 12)
    (True, 1.0)
    """
    scale, shift = centring(adjacency)
    return SparsePlusRankOne(adjacency * scale, shift, None, symmetric)


def normalized(adjacency: Any, left: float = 0.5, right: float = 0.5) -> Any:
    r"""Matrix :math:`D^{-p} A\, D^{-q}`; rows of nodes without an edge are 0.

    :math:`D` holds the sums of the rows on the left and those of the columns on the right, :math:`p` is `left` and :math:`q`
    is `right`: symmetric by default, a random walk for (1, 0).

    >>> path = sparse.csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    >>> normalized(path, 1, 0).sum(axis=1)
    array([1., 1., 1.])
    >>> np.linalg.eigvalsh(normalized(path).toarray()).round(12) + 0.0
    array([-1.,  0.,  1.])
    """
    each = ((adjacency.sum(axis=1), left), (adjacency.sum(axis=0), right))
    rows, columns = (np.power(d, -p, out=np.zeros_like(d), where=d > 0.0) for d, p in each)
    return between(rows, adjacency, columns)


def degree_normalized(
    graph: Any,
    normalization: Normalization,
    signal: float = 1.0,
    theta: Array | None = None,
    least: float = 0.0,
) -> SparsePlusRankOne:
    r"""Operator :math:`\mathrm{diag}(L)\,(A - d\,\theta\theta^T/N)\,\mathrm{diag}(R)` of a symmetric graph or a directed one.

    :math:`L = [(\theta + \tau)/(1 + \tau)]^{-p}`, likewise :math:`R` with :math:`q`, are the powers by which the normalization
    divides (Eq. 11.3), with :math:`\tau = 1/\lambda^2` of the `signal` where it has none. The propensities `theta` are by
    default the degrees of a symmetric graph over their mean :math:`d`. Where degrees divide, those below `least` count as
    this, since a few leaves have large eigenvalues of their own.

    >>> star = sparse.csr_array(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    >>> modularity = degree_normalized(star, Normalization(0, 0))
    >>> bool(np.abs(modularity @ np.ones(3)).max() < 1e-12)  # rows sum to 0
    True
    """
    nodes = graph.shape[0]
    degree = mean_degree(graph)
    theta = graph.sum(axis=1) / degree if theta is None else theta
    dividing = np.maximum(theta, least / degree)
    left, right = (power[0] for power in normalization.scales(dividing, np.array([signal])))
    scaled = between(left, graph, right)
    return SparsePlusRankOne(scaled, degree / nodes * theta * left, theta * right)


def without_degrees(graph: Any, least: float = 0.0) -> SparsePlusRankOne:
    r"""Operator :math:`D^{-1/2} (A - DD^T/2m)\, D^{-1/2}` of a symmetric graph: the normalized one without its top eigenvector.

    Degrees below `least` divide as this.
    """
    operator = degree_normalized(graph, as_normalization("symmetric"), least=least)
    return replace(operator / mean_degree(graph), symmetric=True)


def mean_degree(graph: Any) -> float:
    """Sum of all entries of an adjacency matrix over the number of nodes; positive also without an edge."""
    return float(max(graph.sum() / graph.shape[0], 1e-300))


def undirected(graph: Any) -> Any:
    r"""Adjacency matrix :math:`\max(A, A^T)`."""
    return graph if is_symmetric(graph) else graph.maximum(graph.T).tocsr()


class Propagation(NamedTuple):
    """Operator :math:`S` of real eigenvalues that propagates features, and a bound `radius` of these."""

    operator: SparsePlusRankOne
    radius: float

    def unit(self) -> Propagation:
        """The operator over its radius, on which strengths are relative to the top eigenvalue."""
        return self if self.radius == 1.0 else Propagation(self.operator / self.radius, 1.0)


def propagation(graph: Any, normalization: object = "centred", loops: bool = True) -> Propagation:
    r"""Operator :math:`S` of an adjacency matrix :math:`A` that has been checked; a directed one becomes :math:`\max(A, A^T)`.

    - ``"symmetric"``: :math:`D^{-1/2} (A + 1) D^{-1/2}`, :math:`D` the degrees; its top eigenvalue is 1. `loops` says whether
      the identity is added, in the unit of the weights.
    - ``"centred"``: the same without its top eigenvector :math:`D^{1/2} 1`.
    - ``"random-walk"``, or another pair of exponents :math:`(p, 1 - p)`: :math:`D^{-p} (A + 1) D^{p-1}`, of the same eigenvalues.
    - ``"regularized"`` and all others: :math:`(D + \tau d)^{-p} (A - DD^T/2m) (D + \tau d)^{-q}`, the mean degree :math:`d`;
      :math:`\tau` that is not given is that of the signal 1.
    - ``"none"``: `centred`, of the whole graph alike (Eq. 1.3).

    >>> path = sparse.csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    >>> S = propagation(path, "symmetric", loops=False)
    >>> np.round(S.operator @ np.sqrt([1.0, 2.0, 1.0]), 12) ** 2, S.radius  # the top eigenvector
    (array([1., 2., 1.]), 1.0)
    """
    graph = undirected(graph)
    scaled = as_normalization("symmetric" if normalization == "centred" else normalization).single()
    left, right = float(scaled.left), float(scaled.right)
    tau = float(scaled.added(np.ones(1))[0])
    if left == right == tau == 0.0:
        return _bounded(centred(graph, symmetric=True))
    if loops:
        graph = graph + weight_unit(graph) * sparse.eye_array(graph.shape[0], format="csr")
    if left + right == 1.0 and tau == 0.0 and normalization != "centred":
        matrix = normalized(graph, left, right)
        return Propagation(SparsePlusRankOne(matrix, symmetric=left == right), 1.0)
    unit = (mean_degree(graph) * (1.0 + tau)) ** (left + right)
    # the operator of the mean exponent is similar: it is symmetric and has the same eigenvalues
    half = 0.5 * (left + right)
    similar = degree_normalized(graph, Normalization(half, half, tau)) / unit
    bounded = _bounded(replace(similar, symmetric=True))
    if left == right:
        return bounded
    return bounded._replace(operator=degree_normalized(graph, scaled) / unit)


def _bounded(operator: SparsePlusRankOne) -> Propagation:
    """The operator with its largest eigenvalue, to half a per cent from above."""
    start = np.random.default_rng(0).standard_normal(operator.shape[0])
    return Propagation(operator, max(1.005 * largest_eigenvalue(operator, start), 1e-6))


def near(walk: Any, block: Array) -> list[Array]:
    """Averages of a block one and two steps away, without the share of two steps that return to their start."""
    step = walk @ block
    returning = np.asarray(walk.multiply(walk.T).sum(axis=1)).ravel()
    return [step, walk @ step - returning[:, None] * block]
