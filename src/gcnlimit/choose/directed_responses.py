r"""Responses of the powers of a directed operator at a stiffness of 1, by Newton's method.

A polynomial :math:`g(a) = \sum_k g_k a^k` is the chain of layers :math:`h_k = a h_{k-1}`. With
:math:`A = \text{diag}(1, V)` and :math:`B = \text{diag}(\hat V, 0) + g g^T` the matrices of Eq. 3.22 are
:math:`\mathbf L = (1 + AB)^{-1}`, :math:`\mathbf C = \mathbf L A` and :math:`\mathbf M = B \mathbf L`. Where :math:`V` falls and
:math:`\hat V` grows, the right sides of the equations fall and grow too: from :math:`V = 1`, :math:`\hat V = 0` they
can be iterated without fail, and near the solution Newton's method takes a few steps. Its linear equations are those of the
derivatives in the stiffness (Eq. 3.23), :math:`K(K+1)` of them.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.numerics.linear import solve_each

__all__ = ["Responses", "coupling", "halves", "packed", "responses"]

_NEWTON = 8  # steps at most
_SWEEPS = (6, 24, 96, 384)  # before Newton's method is tried, and tried again
_CLOSE = 1e-7  # step of Newton's method after which the error is below rounding

Index = npt.NDArray[np.intp]


class Responses(NamedTuple):
    r"""Matrices of Eq. 3.22 for a batch of polynomials, one row of coefficients each, given :math:`V` and :math:`\hat V`."""

    g: Array
    V: Array
    V_hat: Array
    C: Array
    L: Array
    M: Array

    @classmethod
    def of(cls, g: Array, V: Array, V_hat: Array) -> Self:
        """Invert one matrix for each polynomial."""
        identity = np.eye(g.shape[1])
        A, B = np.broadcast_to(identity, (*g.shape, g.shape[1])).copy(), g[:, :, None] * g[:, None, :]
        A[:, 1:, 1:] = V
        B[:, :-1, :-1] += V_hat
        L = solve_each(identity + A @ B, identity)
        return cls(g, V, V_hat, L @ A, L, B @ L)

    @property
    def inner(self) -> tuple[Array, Array, Array]:
        r"""Blocks :math:`\mathbf C_{<K,<K}`, :math:`\mathbf L_{<K,>0}` and :math:`\mathbf M_{>0,>0}`."""
        return self.C[:, :-1, :-1], self.L[:, :-1, 1:], self.M[:, 1:, 1:]

    def swept(self) -> Self:
        """Put the equations' right sides in place of the unknowns."""
        C, _, M = self.inner
        return self.of(self.g, C, M)

    def newton(self) -> tuple[Self, Array]:
        r"""One step of Newton's method, and its size; :math:`\hat V` is measured by the gain of the filter."""
        C, _, M = self.inner
        wrong = packed(self.V - C, M - self.V_hat)
        step = solve_each(np.eye(wrong.shape[1]) - coupling(self), wrong[:, :, None])[:, :, 0]
        V, V_hat = halves(step, C.shape[1])
        gain = np.vecdot(self.g, self.g)[:, None, None]
        size = np.max(np.maximum(np.abs(V), np.abs(V_hat) / gain), axis=(1, 2), initial=0.0)
        return self.of(self.g, self.V - V, self.V_hat + V_hat), size

    def take(self, rows: Index) -> Self:
        """The same for some of the polynomials."""
        return type(self)(*(column[rows] for column in self))


@cache
def _pairs(K: int) -> tuple[Index, Index, Array]:
    """Rows and columns of the upper triangle, and weights with which products of packed matrices are traces."""
    i, j = np.triu_indices(K)
    return i, j, np.where(i == j, 1.0, np.sqrt(2.0))


def packed(X: Array, Y: Array) -> Array:
    """Two batches of symmetric matrices as one of vectors; the inner product is the trace of the product.

    >>> X = np.array([[[1.0, 2.0], [2.0, 3.0]]])
    >>> (packed(X, 2 * X) @ packed(X, X)[0]).round(12), 3 * np.sum(X**2)
    (array([54.]), np.float64(54.0))
    """
    i, j, w = _pairs(X.shape[1])
    return np.concatenate([w * X[:, i, j], w * Y[:, i, j]], axis=1)


def halves(rows: Array, K: int) -> tuple[Array, Array]:
    """Inverse of `packed`."""
    i, j, w = _pairs(K)
    both = np.zeros((2, len(rows), K, K))
    both[:, :, i, j] = both[:, :, j, i] = np.stack(np.split(rows, 2, axis=1)) / w
    return both[0], both[1]


def coupling(at: Responses) -> Array:
    r"""Matrices of the linear map :math:`X, Y \to CYC + LXL^T, L^TYL + MXM` of Eq. 3.23, on packed pairs."""
    C, L, M = at.inner
    return np.concatenate(
        [
            np.concatenate([_congruence(L), _congruence(C)], axis=2),
            np.concatenate([_congruence(M), _congruence(L.mT)], axis=2),
        ],
        axis=1,
    )


def _congruence(P: Array) -> Array:
    """Matrix of ``X -> P X P.T`` on packed symmetric matrices."""
    i, j, w = _pairs(P.shape[1])
    ii, jj, ij, ji = (P[:, a[:, None], b] for a, b in ((i, i), (j, j), (i, j), (j, i)))
    return np.asarray((ii * jj + ij * ji) * (0.5 * w[:, None] * w))


def responses(g: Array, V: Array | None = None, V_hat: Array | None = None) -> tuple[Responses, npt.NDArray[np.bool_]]:
    """Solve the equations for each row of coefficients, from given or from the safest start; and say which are solved.

    >>> at, solved = responses(np.array([[0.3, 0.5, 0.2]]))
    >>> bool(solved[0]), bool(np.allclose(at.V, at.inner[0], atol=1e-14))
    (True, True)
    """
    K = g.shape[1] - 1
    start = Responses.of(g, np.broadcast_to(np.eye(K), (len(g), K, K)), np.zeros((len(g), K, K)))
    if V is None or V_hat is None:
        found, solved = start.take(np.arange(len(g))), np.zeros(len(g), bool)
    else:
        found, solved = _newton(Responses.of(g, V, V_hat))
    for sweeps in _SWEEPS:
        left = np.flatnonzero(~solved)
        if not left.size:
            break
        swept = start.take(left)
        for _ in range(sweeps):
            swept = swept.swept()
        again, solved[left] = _newton(swept)
        for column, values in zip(found, again, strict=True):
            column[left] = values
    return found, solved


def _newton(at: Responses) -> tuple[Responses, npt.NDArray[np.bool_]]:
    """Newton's method from given states; where it ends with positive responses within a few steps, they are solutions."""
    at, solved, left = Responses(*(np.array(column) for column in at)), np.zeros(len(at.g), bool), np.arange(len(at.g))
    for _ in range(_NEWTON):
        ahead, size = at.take(left).newton()
        for column, values in zip(at, ahead, strict=True):
            column[left] = values
        positive = np.all(np.einsum("bii->bi", ahead.V) > 0.0, axis=1)
        positive &= np.all(np.einsum("bii->bi", ahead.V_hat) >= 0.0, axis=1)
        solved[left] = positive & (size < _CLOSE)
        left = left[~solved[left] & (size < 1e3)]
        if not left.size:
            break
    return at, solved
