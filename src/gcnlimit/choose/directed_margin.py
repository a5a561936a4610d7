r"""The margin of polynomials on a directed graph, square loss, at any regularization, and its gradient.

For the square loss everything is explicit in :math:`s = \kappa V_w` (`gcnlimit.theory.finite_reg.square`), and the scale of the
filter can stand for it: :math:`s = 1`. What is left are the responses of the layers (`gcnlimit.choose.directed_responses`); the
gradient is taken backwards through Eqs. 3.22 to 3.27, where Eq. 3.23 and its transpose are solved by their series.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.choose.directed_responses import Responses, apply, summed
from gcnlimit.numerics.linear import solve_each
from gcnlimit.theory.finite_reg.directed import outer
from gcnlimit.theory.finite_reg.equations import Transforms


class DirectedAverages(NamedTuple):
    r"""Averages of a directed graph for polynomials at :math:`s = 1`, and what their gradient needs.

    `z` holds the means along the labels (Eq. 3.26), of :math:`q` and then of :math:`h`, and `means` the matrix that gives them.
    """

    at: Responses
    signal: Array
    means: Array
    z: Array

    @classmethod
    def of(cls, at: Responses, signal: Array) -> DirectedAverages:
        """Solve for the means at given responses."""
        (C, L, M), (p, r), K = at.inner, at.pulls, at.X.shape[1]
        answer = np.concatenate([np.concatenate([L.mT, -M], axis=2), np.concatenate([C, L], axis=2)], axis=1)
        source = np.empty((len(p), 2 * K, 2))
        source[:, :K, 0], source[:, K:, 0], source[:, :K, 1], source[:, K:, 1] = -at.M[:, 1:, 0], at.L[:, :-1, 0], r, p
        means = solve_each(np.eye(2 * K) - signal[:, None, None] * answer, np.eye(2 * K))
        return cls(at, signal, means, means @ source)

    @property
    def _parts(self) -> tuple[Array, Array]:
        K = self.at.X.shape[1]
        return self.z[:, :K], self.z[:, K:]

    def transforms(self) -> Transforms:
        """Averages of the graph (Eqs. 3.24 and 3.27)."""
        (q, h), (p, r), lam = self._parts, self.at.pulls, self.signal
        W, WW = self.at.freedom, self.at.scatter
        along = lam[:, None] * (apply(q.mT, p) + apply(h.mT, r))
        across = q.mT @ self.at.X @ q + h.mT @ self.at.Y @ h
        return Transforms(
            W=W,
            UU=W * (1.0 - W) - WW,
            WW_bulk=WW,
            stretch=1.0 / (1.0 - W),
            U=apply(self.at.L.mT, self.at.g)[:, 0] + along[:, 0],
            excess=along[:, 1],
            UU_across=across[:, 0, 0],
            UW_across=across[:, 0, 1],
            WW_across=across[:, 1, 1],
        )

    def gradient(self, slope: Transforms) -> Array:
        """Derivative in the coefficients of a function whose derivatives in the averages are given."""
        W = self.at.freedom
        by_W = slope.W + slope.UU * (1.0 - 2.0 * W) + slope.stretch / (1.0 - W) ** 2
        by = _Backwards(self.at)
        by.C += by_W[:, None, None] * outer(self.at.g, self.at.g)
        by.g += 2.0 * by_W[:, None] * apply(self.at.C, self.at.g)
        by_X, by_Y = self._through_means(slope, by)
        self._through_derivatives(by_X, by_Y, by)
        return self._through_responses(by)

    def _through_means(self, slope: Transforms, by: _Backwards) -> tuple[Array, Array]:
        """Derivatives that pass through the means and the pulls; return those in X and Y."""
        (q, h), (p, r), K = self._parts, self.at.pulls, self.at.X.shape[1]
        lam, spread = self.signal[:, None], (slope.WW_bulk - slope.UU)[:, None]
        along = np.stack([slope.U, slope.excess], axis=1)
        across = np.stack([slope.UU_across, 0.5 * slope.UW_across, 0.5 * slope.UW_across, slope.WW_across], axis=1)
        across = across.reshape(-1, 2, 2)
        by.p += lam * apply(q, along) + 2.0 * spread * apply(self.at.Y, p)
        by.r += lam * apply(h, along) + 2.0 * spread * apply(self.at.X, r)
        by.first += slope.U
        by_z = np.concatenate(
            [
                lam[:, :, None] * outer(p, along) + 2.0 * self.at.X @ q @ across,
                lam[:, :, None] * outer(r, along) + 2.0 * self.at.Y @ h @ across,
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
        return spread * outer(r, r) + q @ across @ q.mT, spread * outer(p, p) + h @ across @ h.mT

    def _through_derivatives(self, by_X: Array, by_Y: Array, by: _Backwards) -> None:
        """Derivatives that pass through X and Y."""
        (C, L, M), (p, r) = self.at.inner, self.at.pulls
        S, T = self._adjoint(by_X, by_Y)
        by.p += 2.0 * apply(S, p)
        by.r += 2.0 * apply(T, r)
        by.L[:, :-1, 1:] += 2.0 * (S @ L @ self.at.X + self.at.Y @ L @ T)
        by.C[:, :-1, :-1] += S @ C @ self.at.Y + self.at.Y @ C @ S
        by.M[:, 1:, 1:] += T @ M @ self.at.X + self.at.X @ M @ T

    def _through_responses(self, by: _Backwards) -> Array:
        """Derivatives that pass through the three matrices, and from there through V and its conjugate."""
        g, C, L, M = self.at.g, self.at.C, self.at.L, self.at.M
        by_h, by_q = np.pad(by.p, ((0, 0), (0, 1))), np.concatenate([by.first[:, None], by.r], axis=1)
        by_C, by_L = by.C + outer(by_h, g), by.L + outer(g, by_q)
        by_A = L.mT @ by_C @ L - M @ by.M @ M - L.mT @ by_L @ M
        by_B = L @ by.M @ L.mT - C @ by_C @ C - C @ by_L @ L.mT
        by_A, by_B = by_A + by_A.mT, by_B + by_B.mT
        p, r = self.at.pulls
        S, T = self._adjoint(-0.5 * by_A[:, 1:, 1:], 0.5 * by_B[:, :-1, :-1])
        through = apply(C[:, :, :-1], apply(S, p)) + apply(L[:, :, 1:], apply(T, r))
        return np.asarray(by.g + apply(C, by_h) + apply(L, by_q) + apply(by_B, g) + 2.0 * through)

    def _adjoint(self, by_X: Array, by_Y: Array) -> tuple[Array, Array]:
        """Derivatives in the sources of X and Y, or of V and its conjugate, from those in themselves."""
        C, L, M = self.at.inner
        return summed(M, L.mT, C, by_X, by_Y)


class _Backwards:
    """Derivatives in the matrices of the responses, in their pulls `p`, `r` and `first`, and in the coefficients."""

    def __init__(self, at: Responses) -> None:
        self.C, self.L, self.M = (np.zeros_like(at.C) for _ in range(3))
        self.p, self.r = np.zeros_like(at.g[:, 1:]), np.zeros_like(at.g[:, 1:])
        self.g, self.first = np.zeros_like(at.g), np.zeros(len(at.g))
