r"""Polynomial filters at infinite regularization as a smooth problem: the margin and its gradient.

The polynomials of order at most :math:`K` are written in coordinates in which the form :math:`\tau(g^2) + e(g^2)` of the data is
well conditioned at any order. The margin does not depend on the length of the vector of coordinates, and filters of lower
order have the same first coordinates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.theory.large_reg import Averages, coefficient_averages, margins, spectral_averages

__all__ = ["DirectedFilters", "FreeFilters", "SymmetricFilters"]

Index = npt.NDArray[np.intp]


class FreeFilters(ABC):
    """Polynomials of one order, on the data of each point; a filter is a row of coordinates in the basis of its point.

    Parameters
    ----------
    signal, alpha, mu, rho
        Data of the points, arrays of one axis.
    order
        Highest power.
    """

    monomials: Array
    """Powers of each polynomial of the basis: point, power, member."""

    def __init__(self, signal: Array, alpha: Array, mu: Array, rho: Array, order: int) -> None:
        self.signal, self.alpha, self.mu, self.rho, self.order = signal, alpha, mu, rho, order

    def coefficients(self, a: Array) -> Array:
        """Coefficients of the powers, one row for each point."""
        return np.asarray(np.einsum("bkj,bj->bk", self.monomials, a))

    @abstractmethod
    def fit(self, g: Array) -> Array:
        """Coordinates of the filters closest to Taylor series `g`, one row for each point."""

    @abstractmethod
    def averages(self, a: Array, where: Index) -> Averages:
        """Averages of the filters on the points `where`."""

    @abstractmethod
    def pull_back(self, slope: Averages, a: Array, where: Index) -> Array:
        """Gradient in the coordinates from the derivatives in the averages."""

    def margin(self, a: Array, where: Index) -> Array:
        """Margin of a test node."""
        return margins(self.averages(a, where), self.alpha[where], self.mu[where], self.rho[where])[0]

    def gradient(self, a: Array, where: Index) -> Array:
        """Gradient of the margin in the coordinates."""
        slope = _slope(self.averages(a, where), self.alpha[where], self.mu[where], self.rho[where])
        return self.pull_back(slope, a, where)


def _slope(averages: Averages, alpha: Array, mu: Array, rho: Array) -> Averages:
    """Derivatives of the margin of `margins` in each of the averages."""
    a = averages
    hidden = (1.0 - rho) / rho
    mean = a.excess + mu * a.e_g**2
    weights = a.e_g2 + hidden * a.tau_g2 + mu * a.e_g**2
    var = a.coherent + hidden * a.scattered + alpha * a.tau_g2 * weights
    by_mean, by_var = 1.0 / np.sqrt(var), -0.5 * mean / var**1.5
    return Averages(
        tau_g2=by_var * alpha * (weights + hidden * a.tau_g2),
        e_g2=by_var * alpha * a.tau_g2,
        excess=by_mean,
        e_g=2.0 * mu * a.e_g * (by_mean + by_var * alpha * a.tau_g2),
        coherent=by_var,
        scattered=by_var * hidden,
    )


class SymmetricFilters(FreeFilters):
    r"""Polynomial filters of a symmetric operator, known by their values at the nodes of the quadrature."""

    def __init__(self, signal: Array, alpha: Array, mu: Array, rho: Array, order: int) -> None:
        super().__init__(signal, alpha, mu, rho, order)
        self.measure = SpikedSemicircle.of(signal, 4 * order + 2)
        self.basis, self.monomials = _orthonormal(self.measure, order)

    def fit(self, g: Array) -> Array:
        """Project on the basis."""
        values = np.zeros_like(self.measure.x)
        for k in range(g.shape[-1] - 1, -1, -1):
            values = values * self.measure.x + g[..., k, None]
        return np.asarray(np.einsum("bnj,bn,bn->bj", self.basis, self.measure.tau + self.measure.e, values))

    def _at(self, where: Index) -> SpikedSemicircle:
        m = self.measure
        return SpikedSemicircle(x=m.x[where], tau=m.tau, e=m.e[where], excess=m.excess[where])

    def averages(self, a: Array, where: Index) -> Averages:
        """Quadrature."""
        return spectral_averages(self._at(where), np.einsum("bnj,bj->bn", self.basis[where], a), self.mu[where])

    def pull_back(self, slope: Averages, a: Array, where: Index) -> Array:
        """Derivative in the values at the nodes, then in the coordinates."""
        measure, basis, mu = self._at(where), self.basis[where], self.mu[where]
        g = np.einsum("bnj,bj->bn", basis, a)
        e_g = np.sum(measure.e * g, axis=1)
        spread = g * g + (mu * e_g)[:, None] * g
        spread -= np.sum(measure.e * spread, axis=1, keepdims=True)
        tau, e, excess, by_e_g, coherent, scattered = (s[:, None] for s in slope)
        by_e_g = by_e_g + 2.0 * coherent * (mu * np.sum(measure.e * spread * g, axis=1))[:, None]
        centred = g * g - (g * g @ measure.tau)[:, None]
        by_g = 2.0 * g * (tau * measure.tau + e * measure.e + excess * measure.excess) + by_e_g * measure.e
        by_g += 2.0 * coherent * measure.e * spread * (2.0 * g + (mu * e_g)[:, None])
        by_g += 4.0 * scattered * measure.tau * centred * g
        return np.asarray(np.einsum("bnj,bn->bj", basis, by_g))


def _orthonormal(measure: SpikedSemicircle, order: int) -> tuple[Array, Array]:
    r"""Polynomials orthonormal for :math:`\tau + e`, by the recurrence of Stieltjes: values at the nodes, and powers."""
    weight, x = measure.tau + measure.e, measure.x
    basis, powers = np.zeros((*x.shape, order + 1)), np.zeros((x.shape[0], order + 1, order + 1))
    basis[:, :, 0], powers[:, 0, 0] = np.sqrt(0.5), np.sqrt(0.5)
    for k in range(order):
        value = x * basis[:, :, k]
        power = np.roll(powers[:, :, k], 1, axis=1)
        for _ in range(2):  # twice is enough
            overlap = np.einsum("bnj,bn->bj", basis[:, :, : k + 1], weight * value)
            value = value - np.einsum("bnj,bj->bn", basis[:, :, : k + 1], overlap)
            power = power - np.einsum("bkj,bj->bk", powers[:, :, : k + 1], overlap)
        norm = np.sqrt(np.sum(weight * value**2, axis=1, keepdims=True))
        basis[:, :, k + 1], powers[:, :, k + 1] = value / norm, power / norm
    return basis, powers


class DirectedFilters(FreeFilters):
    r"""Polynomial filters of a directed operator; the coordinates are the tails :math:`G_i = \sum_k g_{i+k} \lambda^k`.

    Their coefficients are :math:`g_i = G_i - \lambda G_{i+1}`.
    """

    def __init__(self, signal: Array, alpha: Array, mu: Array, rho: Array, order: int) -> None:
        super().__init__(signal, alpha, mu, rho, order)
        self.index = np.add.outer(np.arange(order + 1), np.arange(order + 1))
        self.monomials = np.eye(order + 1) - signal[:, None, None] * np.eye(order + 1, k=1)

    def fit(self, g: Array) -> Array:
        """Cut the series and sum its tails."""
        G = np.array(g[..., : self.order + 1])
        for i in range(self.order - 1, -1, -1):
            G[..., i] += self.signal * G[..., i + 1]
        return G

    def _series(self, a: Array, where: Index) -> tuple[Array, Array]:
        return np.einsum("bkj,bj->bk", self.monomials[where], a), a

    def averages(self, a: Array, where: Index) -> Averages:
        """Sums over the coefficients."""
        g, G = self._series(a, where)
        return coefficient_averages(g.T, G.T, self.signal[where], self.mu[where])

    def pull_back(self, slope: Averages, a: Array, where: Index) -> Array:
        r"""With the Hankel matrices :math:`H_{ik} = g_{i+k}`, :math:`J_{ik} = G_{i+k}`: :math:`M = HH^T`, :math:`N = HJ^T`."""
        (g, G), mu = self._series(a, where), self.mu[where][:, None]
        H, J = self._hankel(g), self._hankel(G)
        tau, e, excess, e_g, coherent, scattered = (s[:, None] for s in slope)
        M, N = H @ np.swapaxes(H, 1, 2), H @ np.swapaxes(J, 1, 2)
        M[:, 0, 0] = 0.0
        N[:, :, 0] = 0.0
        v = mu * G[:, :1] * G + np.einsum("bik,bk->bi", J, G)
        v[:, 0] = 0.0
        by_H = 4.0 * scattered[:, :, None] * (M @ H) + 2.0 * coherent[:, :, None] * (N @ J)
        by_J = 2.0 * coherent[:, :, None] * (np.swapaxes(N, 1, 2) @ H + v[:, :, None] * G[:, None, :])
        by_g = 2.0 * (tau - excess) * g + self._gather(by_H)
        by_G = 2.0 * (e + excess) * G + self._gather(by_J)
        by_G += 2.0 * coherent * (np.einsum("bik,bi->bk", J, v) + mu * G[:, :1] * v)
        by_G[:, 0] += e_g[:, 0] + 2.0 * coherent[:, 0] * mu[:, 0] * np.sum(v * G, axis=1)
        return np.asarray(by_G + np.einsum("bkj,bk->bj", self.monomials[where], by_g))

    def _hankel(self, g: Array) -> Array:
        """Hankel matrix of each row, zero beyond its end."""
        return np.pad(g, ((0, 0), (0, self.order)))[:, self.index]

    def _gather(self, by_hankel: Array) -> Array:
        """Sum over the entries of a Hankel matrix that hold the same number: rows shifted by one another, then added."""
        n = self.order + 1
        wide = np.pad(by_hankel, ((0, 0), (0, 0), (0, n))).reshape(-1, 2 * n * n)
        return np.asarray(wide[:, : n * (2 * n - 1)].reshape(-1, n, 2 * n - 1).sum(axis=1)[:, :n])
