r"""The margin of polynomials on a directed graph, square loss, at any regularization, and its gradient.

For the square loss everything is explicit in :math:`s = \kappa V_w` (`gcnlimit.theory.finite_reg.square`), and the scale of the
filter can stand for it: :math:`s = 1`. What is left are the responses of the layers (`gcnlimit.choose.directed_responses`); the
gradient is taken backwards through Eqs. 3.22 to 3.27, at the cost of three linear systems.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.choose.directed_responses import Responses, coupling, halves, packed
from gcnlimit.numerics.linear import solve_each
from gcnlimit.theory.finite_reg.equations import Transforms

__all__ = ["DirectedAverages"]

_TERMS = 2000  # of a series, at most


class DirectedAverages(NamedTuple):
    r"""Averages of a directed graph for polynomials at :math:`s = 1`, and what their gradient needs.

    `X` and `Y` are the derivatives :math:`\Delta`, :math:`\hat\Delta` (Eq. 3.23), `inverse` the matrix that gives them; `z` holds
    the means along the labels (Eq. 3.26), of :math:`q` and then of :math:`h`, and `means` the matrix that gives them.
    """

    at: Responses
    signal: Array
    inverse: Array
    X: Array
    Y: Array
    means: Array
    z: Array

    @classmethod
    def of(cls, at: Responses, signal: Array) -> DirectedAverages:
        """Solve the linear equations at given responses."""
        p, r = _pulls(at)
        K = p.shape[1]
        identity = np.eye(K * (K + 1))
        inverse = solve_each(identity - coupling(at), identity)
        X, Y = halves(_apply(inverse, packed(_outer(p, p), _outer(r, r))), K)
        return cls._with(at, signal, inverse, X, Y)

    @classmethod
    def swept(cls, at: Responses, signal: Array) -> DirectedAverages:
        """Sum the series of the linear equations in place of solving them: for many layers, and without a gradient."""
        (C, L, M), (p, r) = at.inner, _pulls(at)
        X, Y = source = _outer(p, p), _outer(r, r)
        for _ in range(_TERMS):
            more = source[0] + C @ Y @ C + L @ X @ L.mT, source[1] + L.mT @ Y @ L + M @ X @ M
            done = all(np.all(np.abs(a - b) <= 1e-14 * np.max(b)) for a, b in zip((X, Y), more, strict=True))
            X, Y = more
            if done:
                break
        return cls._with(at, signal, np.empty(0), X, Y)

    @classmethod
    def _with(cls, at: Responses, signal: Array, inverse: Array, X: Array, Y: Array) -> DirectedAverages:
        (C, L, M), (p, r), K = at.inner, _pulls(at), X.shape[1]
        answer = np.concatenate([np.concatenate([L.mT, -M], axis=2), np.concatenate([C, L], axis=2)], axis=1)
        source = np.empty((len(p), 2 * K, 2))
        source[:, :K, 0], source[:, K:, 0], source[:, :K, 1], source[:, K:, 1] = -at.M[:, 1:, 0], at.L[:, :-1, 0], r, p
        means = solve_each(np.eye(2 * K) - signal[:, None, None] * answer, np.eye(2 * K))
        return cls(at, signal, inverse, X, Y, means, means @ source)

    @property
    def _parts(self) -> tuple[Array, Array]:
        K = self.X.shape[1]
        return self.z[:, :K], self.z[:, K:]

    def transforms(self) -> Transforms:
        """Averages of the graph (Eqs. 3.24 and 3.27)."""
        (q, h), (p, r), lam = self._parts, _pulls(self.at), self.signal
        W = np.vecdot(self.at.g, _apply(self.at.C, self.at.g))
        WW = np.vecdot(p, _apply(self.Y, p)) + np.vecdot(r, _apply(self.X, r))
        along = lam[:, None] * (_apply(q.mT, p) + _apply(h.mT, r))
        across = q.mT @ self.X @ q + h.mT @ self.Y @ h
        return Transforms(
            W=W,
            UU=W * (1.0 - W) - WW,
            WW_bulk=WW,
            stretch=1.0 / (1.0 - W),
            U=_apply(self.at.L.mT, self.at.g)[:, 0] + along[:, 0],
            excess=along[:, 1],
            UU_across=across[:, 0, 0],
            UW_across=across[:, 0, 1],
            WW_across=across[:, 1, 1],
        )

    def positive(self) -> npt.NDArray[np.bool_]:
        """Where the derivatives are positive, as they are at the solution of a network."""
        diagonals = np.concatenate([np.einsum("bii->bi", matrix) for matrix in (self.X, self.Y)], axis=1)
        return np.asarray(np.all(diagonals >= 0.0, axis=1))

    def gradient(self, slope: Transforms) -> Array:
        """Derivative in the coefficients of a function whose derivatives in the averages are given."""
        W = np.vecdot(self.at.g, _apply(self.at.C, self.at.g))
        by_W = slope.W + slope.UU * (1.0 - 2.0 * W) + slope.stretch / (1.0 - W) ** 2
        by = _Backwards(self.at)
        by.C += by_W[:, None, None] * _outer(self.at.g, self.at.g)
        by.g += 2.0 * by_W[:, None] * _apply(self.at.C, self.at.g)
        by_X, by_Y = self._through_means(slope, by)
        self._through_derivatives(by_X, by_Y, by)
        return self._through_responses(by)

    def _through_means(self, slope: Transforms, by: _Backwards) -> tuple[Array, Array]:
        """Derivatives that pass through the means and the pulls; return those in X and Y."""
        (q, h), (p, r), K = self._parts, _pulls(self.at), self.X.shape[1]
        lam, spread = self.signal[:, None], (slope.WW_bulk - slope.UU)[:, None]
        along = np.stack([slope.U, slope.excess], axis=1)
        across = np.stack([slope.UU_across, 0.5 * slope.UW_across, 0.5 * slope.UW_across, slope.WW_across], axis=1)
        across = across.reshape(-1, 2, 2)
        by.p += lam * _apply(q, along) + 2.0 * spread * _apply(self.Y, p)
        by.r += lam * _apply(h, along) + 2.0 * spread * _apply(self.X, r)
        by.first += slope.U
        by_z = np.concatenate(
            [
                lam[:, :, None] * _outer(p, along) + 2.0 * self.X @ q @ across,
                lam[:, :, None] * _outer(r, along) + 2.0 * self.Y @ h @ across,
            ],
            axis=1,
        )
        y = self.means.mT @ by_z
        answer = lam[:, :, None] * y @ self.z.mT
        by.L[:, :-1, 1:] += answer[:, :K, :K].mT + answer[:, K:, K:]
        by.M[:, 1:, 1:] -= answer[:, :K, K:]
        by.C[:, :-1, :-1] += answer[:, K:, :K]
        by.M[:, 1:, 0] -= y[:, :K, 0]
        by.L[:, :-1, 0] += y[:, K:, 0]
        by.r += y[:, :K, 1]
        by.p += y[:, K:, 1]
        spread = spread[:, :, None]
        return spread * _outer(r, r) + q @ across @ q.mT, spread * _outer(p, p) + h @ across @ h.mT

    def _through_derivatives(self, by_X: Array, by_Y: Array, by: _Backwards) -> None:
        """Derivatives that pass through X and Y."""
        (C, L, M), (p, r) = self.at.inner, _pulls(self.at)
        S, T = halves(_apply(self.inverse.mT, packed(by_X, by_Y)), C.shape[1])
        by.p += 2.0 * _apply(S, p)
        by.r += 2.0 * _apply(T, r)
        by.L[:, :-1, 1:] += 2.0 * (S @ L @ self.X + self.Y @ L @ T)
        by.C[:, :-1, :-1] += S @ C @ self.Y + self.Y @ C @ S
        by.M[:, 1:, 1:] += T @ M @ self.X + self.X @ M @ T

    def _through_responses(self, by: _Backwards) -> Array:
        """Derivatives that pass through the three matrices, and from there through V and its conjugate."""
        g, C, L, M = self.at.g, self.at.C, self.at.L, self.at.M
        by_h, by_q = np.pad(by.p, ((0, 0), (0, 1))), np.concatenate([by.first[:, None], by.r], axis=1)
        by_C, by_L = by.C + _outer(by_h, g), by.L + _outer(g, by_q)
        by_A = L.mT @ by_C @ L - M @ by.M @ M - L.mT @ by_L @ M
        by_B = L @ by.M @ L.mT - C @ by_C @ C - C @ by_L @ L.mT
        by_A, by_B = by_A + by_A.mT, by_B + by_B.mT
        p, r = _pulls(self.at)
        rows = packed(-0.5 * by_A[:, 1:, 1:], 0.5 * by_B[:, :-1, :-1])
        S, T = halves(_apply(self.inverse.mT, rows), p.shape[1])
        through = _apply(C[:, :, :-1], _apply(S, p)) + _apply(L[:, :, 1:], _apply(T, r))
        return np.asarray(by.g + _apply(C, by_h) + _apply(L, by_q) + _apply(by_B, g) + 2.0 * through)


class _Backwards:
    """Derivatives in the matrices of the responses, in their pulls `p`, `r` and `first`, and in the coefficients."""

    def __init__(self, at: Responses) -> None:
        self.C, self.L, self.M = (np.zeros_like(at.C) for _ in range(3))
        self.p, self.r = np.zeros_like(at.g[:, 1:]), np.zeros_like(at.g[:, 1:])
        self.g, self.first = np.zeros_like(at.g), np.zeros(len(at.g))


def _pulls(at: Responses) -> tuple[Array, Array]:
    r"""Pulls :math:`(p_h)_{<K}` and :math:`(p_q)_{>0}` on the layers and their conjugates."""
    return _apply(at.C, at.g)[:, :-1], _apply(at.L.mT, at.g)[:, 1:]


def _apply(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[:, :, None])[:, :, 0])


def _outer(a: Array, b: Array) -> Array:
    return np.asarray(a[:, :, None] * b[:, None, :])
