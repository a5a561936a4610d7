"""Operators of a graph: a sparse matrix plus one of rank one, the ways to normalize an adjacency matrix, and eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import eigh_tridiagonal

from gcnlimit._values import Array
from gcnlimit.filters.action import norm
from gcnlimit.graphs.check import is_symmetric
from gcnlimit.normalization import as_normalization

_STEPS = 500  # for the largest eigenvalue, at most


@dataclass(frozen=True, eq=False)
class SparsePlusRankOne:
    r"""Operator :math:`S - u v^T`: a `matrix`, as a rule sparse, plus one of rank one.

    Without `v`, `u` is one number for all entries; without `u` there is no second part. `symmetric` says that it equals its
    transpose.

    >>> a = SparsePlusRankOne(sparse.eye_array(2, format="csr"), u=0.5)
    >>> a @ np.eye(2)
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """

    matrix: Any
    u: Array | float | None = None
    v: Any = None
    symmetric: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return (self.matrix.shape[0], self.matrix.shape[1])

    @property
    def dtype(self) -> Any:
        """Precision of the matrix."""
        return self.matrix.dtype

    def __matmul__(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Product with a vector or a block of columns."""
        product = np.asarray(self.matrix @ block)
        if self.u is not None:
            sums = block.sum(axis=0) if self.v is None else self.v @ block
            product -= np.multiply.outer(self.u, sums)
        return product

    def __truediv__(self, number: float) -> Self:
        """The operator over a number."""
        u = None if self.u is None else self.u / number
        return replace(self, matrix=self.matrix / number, u=u)

    def astype(self, dtype: npt.DTypeLike) -> Self:
        """The operator in another precision."""
        u, v = (part if part is None else np.asarray(part, dtype) for part in (self.u, self.v))
        return replace(self, matrix=self.matrix.astype(dtype), u=u, v=v)

    @cached_property
    def T(self) -> Self:
        """The transpose."""
        if self.symmetric:
            return self
        matrix = self.matrix.T.tocsr() if hasattr(self.matrix, "tocsr") else self.matrix.T
        u, v = (self.u, None) if self.v is None else (self.v, self.u)
        return replace(self, matrix=matrix, u=u, v=v)


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
    if degree is None:
        degree = float(adjacency.data.sum()) / unit / nodes
    density = degree / nodes
    scale = 1.0 / np.sqrt(nodes) / np.sqrt(density * (1.0 - density))
    return float(scale / unit), float(density * scale)


def centred(adjacency: Any, symmetric: bool = False) -> SparsePlusRankOne:
    r"""Centred and rescaled adjacency, for which :math:`\mathrm{tr}(aa^T)/N = 1`; see `centring`.

    >>> star = sparse.csr_array(np.array([[0.0, 2.0, 4.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]]))
    >>> a = centred(star) @ np.eye(3)
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
    rows = sparse.diags_array(_inverse_power(adjacency.sum(axis=1), left))
    columns = sparse.diags_array(_inverse_power(adjacency.sum(axis=0), right))
    return (rows @ adjacency @ columns).tocsr()


def _inverse_power(degrees: Array, power: float) -> Array:
    return np.power(degrees, -power, out=np.zeros_like(degrees), where=degrees > 0.0)


def without_degrees(
    graph: Any, least: float = 0.0, tau: float = 0.0, left: float = 0.5, right: float = 0.5
) -> SparsePlusRankOne:
    r"""Operator :math:`(D + \tau d)^{-p} (A - DD^T/2m) (D + \tau d)^{-q}` of a symmetric graph, `left` and `right` the exponents.

    By default it is the normalized one, less its top eigenvector. Where degrees divide, those below `least` count as this,
    since a few leaves have large eigenvalues of their own.
    """
    degrees = graph.sum(axis=1)
    more = np.maximum(degrees, least) + tau * degrees.mean()
    rows, columns = (_inverse_power(more, power) for power in (left, right))
    mean = degrees / max(float(degrees.sum()), 1e-300) ** 0.5
    matrix = (sparse.diags_array(rows) @ graph @ sparse.diags_array(columns)).tocsr()
    return SparsePlusRankOne(matrix, mean * rows, mean * columns, symmetric=left == right)


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
    - ``"regularized"`` and all others: `without_degrees`; :math:`\tau` that is not given is 1.
    - ``"none"``: `centred`, of the whole graph alike (Eq. 1.3).

    >>> path = sparse.csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    >>> S = propagation(path, "symmetric", loops=False)
    >>> np.round(S.operator @ np.sqrt([1.0, 2.0, 1.0]), 12) ** 2, S.radius  # the top eigenvector
    (array([1., 2., 1.]), 1.0)
    """
    graph = undirected(graph)
    given = as_normalization("symmetric" if normalization == "centred" else normalization)
    left = given.left
    right = given.right
    tau = 1.0 if given.tau is None else given.tau
    if left == right == tau == 0.0:
        return _bounded(centred(graph, symmetric=True))
    if loops:
        graph = graph + weight_unit(graph) * sparse.eye_array(graph.shape[0], format="csr")
    if left + right == 1.0 and tau == 0.0 and normalization != "centred":
        matrix = normalized(graph, left, right)
        return Propagation(SparsePlusRankOne(matrix, symmetric=left == right), 1.0)
    # the operator of the mean exponent is similar: it is symmetric and has the same eigenvalues
    half = 0.5 * (left + right)
    similar = _bounded(without_degrees(graph, 0.0, tau, half, half))
    if left == right:
        return similar
    return similar._replace(operator=without_degrees(graph, 0.0, tau, left, right))


def _bounded(operator: SparsePlusRankOne) -> Propagation:
    """The operator with its largest eigenvalue, to half a per cent from above."""
    start = np.random.default_rng(0).standard_normal(operator.shape[0])
    return Propagation(operator, max(1.005 * largest_eigenvalue(operator, start), 1e-6))


def largest_eigenvalue(operator: Any, start: Any) -> float:
    r"""Largest magnitude of the eigenvalues of a symmetric operator, from the vector `start`, of NumPy or PyTorch.

    Stops when the residual of the eigenvector, :math:`\beta_k` times its last entry in the Lanczos basis, is below a
    thousandth of the eigenvalue; lost orthogonality only repeats eigenvalues that were found.

    >>> round(largest_eigenvalue(np.diag([1.0, -3.0, 2.0]), np.ones(3)), 6)
    3.0
    """
    before = 0.0 * start
    v = start / norm(start)
    diagonal: list[float] = []
    beside = [0.0]
    for k in range(1, _STEPS + 1):
        w = operator @ v - beside[-1] * before
        diagonal.append(float((v * w).sum()))
        w = w - diagonal[-1] * v
        beside.append(norm(w))
        last = k == len(start)
        if k % 8 == 0 or beside[-1] <= 1e-6 * abs(diagonal[-1]) or last:
            values, vectors = eigh_tridiagonal(diagonal, beside[1:-1])
            top = int(np.argmax(np.abs(values)))
            if beside[-1] * abs(vectors[-1, top]) <= 1e-3 * abs(values[top]) or last:
                break
        before = v
        v = w / beside[-1]
    return float(abs(values[top]))


def top_eigenvalues(operator: Any, count: int, steps: int = 120) -> Array:
    """Distinct eigenvalues of a symmetric operator of largest magnitude, largest first, at most `count`.

    Those outside of the bulk of the spectrum converge in far fewer than `steps` products; those at its edge are then right to
    a thousandth of its width.

    >>> top_eigenvalues(np.diag([3.0, -5.0, 1.0, 0.5]), 2).round(9)
    array([-5.,  3.])
    """
    start = np.random.default_rng(0).standard_normal(operator.shape[0])
    values, _ = quadrature(operator, start, steps)
    return np.asarray(sorted(values, key=abs, reverse=True)[:count])


def quadrature(operator: Any, start: Array, steps: int) -> tuple[Array, Array]:
    r"""Nodes and weights that average :math:`f` over the spectrum: :math:`v^Tf(a)v = \sum_k w_k f(x_k)`, :math:`v` of norm 1.

    From random vectors it gives the spectral density; it is exact for polynomials of degree below twice the `steps`.

    >>> a, v = np.diag([1.0, 2.0, 4.0, 7.0]), np.full(4, 0.5)
    >>> x, w = quadrature(a, v, steps=2)
    >>> [round(float(w @ x**k - v @ np.linalg.matrix_power(a, k) @ v), 9) + 0.0 for k in range(4)]
    [0.0, 0.0, 0.0, 0.0]
    """
    steps = min(steps, start.size)
    basis = np.zeros((steps, start.size))
    diagonal = np.zeros(steps)
    beside = np.zeros(steps)
    v = start / np.linalg.norm(start)
    for k in range(steps):
        basis[k] = v
        w = operator @ v
        diagonal[k] = v @ w
        for _ in range(2):  # once more removes what rounding left
            w = w - (basis[: k + 1] @ w) @ basis[: k + 1]
        beside[k] = np.linalg.norm(w)
        if beside[k] <= 1e-10 * max(np.max(np.abs(diagonal) + beside), 1e-300):
            steps = k + 1  # the space is invariant
            break
        v = w / beside[k]
    values, vectors = eigh_tridiagonal(diagonal[:steps], beside[: steps - 1])
    return np.asarray(values), np.asarray(vectors[0] ** 2)
