r"""Responses of the powers of a directed operator at a stiffness of 1, and their derivatives in it.

A polynomial :math:`g(a) = \sum_k g_k a^k` is the chain of layers :math:`h_k = a h_{k-1}`. With
:math:`A = \text{diag}(1, V)` and :math:`B = \text{diag}(\hat V, 0) + g g^T` the matrices of Eq. 3.22 are
:math:`\mathbf L = (1 + AB)^{-1}`, :math:`\mathbf C = \mathbf L A` and :math:`\mathbf M = B \mathbf L`. Where :math:`V` falls and
:math:`\hat V` grows, the right sides of the equations fall and grow too: from :math:`V = 1`, :math:`\hat V = 0` they can be
iterated without fail. At the filters of interest an iteration divides the error by three or more, once the news has passed
through all layers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.numerics.linear import solve_each
from gcnlimit.theory.finite_reg.directed import outer

_SWEEPS = 1000  # at most
_TERMS = 2000  # of a series, at most
_CHECKED = 4  # sweeps or terms after which convergence is looked at

Index = npt.NDArray[np.intp]


class Responses(NamedTuple):
    r"""Matrices of Eq. 3.22 for a batch of polynomials, one row of coefficients each, and the derivatives of Eq. 3.23.

    :math:`V` and :math:`\hat V` are blocks of `C` and `M`; `X` :math:`= -\partial V/\partial s` and `Y`
    :math:`= \partial\hat V/\partial s`.
    """

    g: Array
    C: Array
    L: Array
    M: Array
    X: Array
    Y: Array

    @classmethod
    def start(cls, g: Array) -> Self:
        r"""First state, :math:`V = 1` and :math:`\hat V = 0`."""
        n, size = g.shape
        one, nothing = np.tile(np.eye(size), (n, 1, 1)), np.zeros((n, size, size))
        return cls(g, one, one.copy(), nothing, nothing[:, 1:, 1:].copy(), nothing[:, 1:, 1:].copy())

    @property
    def inner(self) -> tuple[Array, Array, Array]:
        r"""Blocks :math:`\mathbf C_{<K,<K} = V`, :math:`\mathbf L_{<K,>0}` and :math:`\mathbf M_{>0,>0} = \hat V`."""
        return self.C[:, :-1, :-1], self.L[:, :-1, 1:], self.M[:, 1:, 1:]

    @property
    def pulls(self) -> tuple[Array, Array]:
        r"""Pulls :math:`(p_h)_{<K}` and :math:`(p_q)_{>0}` on the layers and their conjugates."""
        return apply(self.C, self.g)[:, :-1], apply(self.L.mT, self.g)[:, 1:]

    @property
    def freedom(self) -> Array:
        r"""The average :math:`\tau(W)`, the degrees of freedom per node."""
        return np.asarray(np.vecdot(self.g, apply(self.C, self.g)))

    @property
    def scatter(self) -> Array:
        r"""The average :math:`\tau(W^2) - \tau(W)^2`."""
        p, r = self.pulls
        return np.asarray(np.vecdot(p, apply(self.Y, p)) + np.vecdot(r, apply(self.X, r)))

    def swept(self) -> Self:
        """Put the equations' right sides in place of the unknowns."""
        V, _, V_hat = self.inner
        A, B = np.zeros_like(self.C), outer(self.g, self.g)
        A[:, 0, 0], A[:, 1:, 1:] = 1.0, V
        B[:, :-1, :-1] += V_hat
        identity = np.eye(self.g.shape[1])
        L = solve_each(identity + A @ B, identity)
        after = self._replace(C=L @ A, L=L, M=B @ L)
        (p, r), (X, Y) = after.pulls, _passed_on(*after.inner, self.X, self.Y)
        return after._replace(X=X + outer(p, p), Y=Y + outer(r, r))

    def change(self, before: Self) -> Array:
        """Largest change of the unknowns since an earlier state, each over its size."""
        pairs = zip((*self.inner[::2], self.X, self.Y), (*before.inner[::2], before.X, before.Y), strict=True)
        changes = np.stack([_largest(new - old) / np.maximum(_largest(new), 1e-300) for new, old in pairs])
        return np.asarray(np.max(changes, axis=0))

    def scaled(self, ratio: Array) -> Self:
        """Guess for the filters times the root of a ratio: what is of first order in their squares, times that ratio."""
        factor = ratio[:, None, None]
        g, M, X, Y = np.sqrt(ratio)[:, None] * self.g, factor * self.M, factor * self.X, factor * self.Y
        return self._replace(g=g, M=M, X=X, Y=Y)

    def take(self, rows: Index) -> Self:
        """The same for some of the polynomials."""
        return type(self)(*(column[rows] for column in self))

    def put(self, rows: Index, others: Self) -> None:
        """Write others in the place of some of the polynomials."""
        for column, values in zip(self, others, strict=True):
            column[rows] = values


def _passed_on(C: Array, L: Array, M: Array, X: Array, Y: Array) -> tuple[Array, Array]:
    r"""The linear map :math:`X, Y \to CYC + LXL^T, L^TYL + MXM` of Eq. 3.23."""
    return C @ Y @ C + L @ X @ L.mT, L.mT @ Y @ L + M @ X @ M


def summed(C: Array, L: Array, M: Array, X: Array, Y: Array) -> tuple[Array, Array]:
    """Sum X and Y and their repeated images under the map of Eq. 3.23: the inverse of one minus that map."""
    sums, terms = (X, Y), (X, Y)
    for n in range(_TERMS):
        terms = _passed_on(C, L, M, *terms)
        sums = sums[0] + terms[0], sums[1] + terms[1]
        if n % _CHECKED == 0 and all(
            np.all(_largest(a) <= 1e-14 * _largest(b)) for a, b in zip(terms, sums, strict=True)
        ):
            break
    return sums


def responses(
    start: Responses, *, rescale: Callable[[Responses, Index], Array] | None = None, tol: float = 1e-13
) -> tuple[Responses, npt.NDArray[np.bool_]]:
    """Iterate the equations from given states until they change by less than `tol`; and say where they do.

    After some sweeps the filters may be multiplied by the root of the ratio that `rescale` gives, until that is 1.

    >>> at, solved = responses(Responses.start(np.array([[0.3, 0.5, 0.2]])))
    >>> bool(solved[0]), bool(at.change(at.swept())[0] < 1e-13)
    (True, True)
    """
    found, rows, here = Responses(*(np.array(column) for column in start)), np.arange(len(start.g)), start
    solved = np.zeros(rows.size, bool)
    for n in range(1, _SWEEPS + 1):
        before, here = here, here.swept()
        if n % _CHECKED:
            continue
        change = here.change(before)
        if rescale is not None:
            ratio = rescale(here, rows)
            change, here = np.maximum(change, np.abs(ratio - 1.0)), here.scaled(ratio)
        solved[rows] = change <= tol
        left = np.flatnonzero(change > tol)  # not where it is NaN
        if left.size <= 0.75 * rows.size:
            found.put(rows, here)
            rows, here = rows[left], here.take(left)
        if not rows.size:
            break
    found.put(rows, here)
    return found, solved


def apply(matrix: Array, vector: Array) -> Array:
    """Products of a batch of matrices and one of vectors."""
    return np.asarray((matrix @ vector[:, :, None])[:, :, 0])


def _largest(matrices: Array) -> Array:
    return np.asarray(np.max(np.abs(matrices), axis=(1, 2), initial=0.0))
