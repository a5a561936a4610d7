r"""Polynomial filters as a smooth problem: the margin, square loss, and its gradient.

The polynomials of order at most :math:`K` are written in coordinates in which the form :math:`\tau(g^2) + e(g^2)` of the data is
well conditioned at any order; filters of lower order have the same first coordinates. At infinite regularization the margin does
not depend on the length of the vector of coordinates. At finite regularization its scale stands for the regularization:
one more coordinate, the last, is the logarithm of that scale.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.choose.spectral_margin import SpectralMargin
from gcnlimit.csbm import CSBM
from gcnlimit.filters import Averages, Polynomial
from gcnlimit.network import GCN
from gcnlimit.numerics.linear import hankel
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.performance import Status
from gcnlimit.theory.large_reg import coefficient_averages, margins
from gcnlimit.theory.points import Points
from gcnlimit.theory.predict import predict

__all__ = ["DirectedFilters", "FreeFilters", "SymmetricFilters", "TrainedDirectedFilters"]

Index = npt.NDArray[np.intp]

_TINY = 1e-100  # imaginary step of exact derivatives
_MORE = 127  # nodes on the spectrum beyond those of a polynomial: at finite regularization the integrands are rational
_NOISE = 1e-12  # of margins on directed graphs, where equations are solved
_STEP = 1e-4  # of their differences
_FARTHEST = 100.0  # logarithm of the largest scale of a filter


class FreeFilters(ABC):
    """Polynomials of one order, on the data of each point; a filter is a row of coordinates in the basis of its point.

    Parameters
    ----------
    points
        The data, arrays of one axis; its filter and regularization are not used.
    order
        Highest power.
    finite
        Whether the regularization is finite.
    """

    monomials: Array
    """Powers of each polynomial of the basis: point, power, member."""

    noise: float = 4e-16
    """Relative error of the margins."""

    def __init__(self, points: Points, order: int, *, finite: bool = False) -> None:
        self.points, self.order, self.finite = points, order, finite

    def coefficients(self, a: Array) -> Array:
        """Coefficients of the powers, one row for each point."""
        return np.asarray(np.einsum("bkj,bj->bk", self.monomials, self.unscaled(a)))

    def unscaled(self, a: Array) -> Array:
        """Coordinates in the basis, the scale multiplied in."""
        if not self.finite:
            return a
        size = np.linalg.norm(a[:, :-1], axis=1, keepdims=True)
        return np.asarray(np.exp(np.clip(a[:, -1:], -_FARTHEST, _FARTHEST)) * a[:, :-1] / size)

    def margin(self, a: Array, where: Index) -> Array:
        """Margin of a test node."""
        return self.margin_of(self.unscaled(a), where)

    def gradient(self, a: Array, where: Index) -> Array:
        """Gradient of the margin in the coordinates."""
        full = self.unscaled(a)
        slope = self.gradient_of(full, where)
        if not self.finite:
            return slope
        size = np.linalg.norm(a[:, :-1], axis=1, keepdims=True)
        along = np.vecdot(slope, full)[:, None]  # the derivative in the logarithm of the scale
        turn = (np.exp(np.clip(a[:, -1:], -_FARTHEST, _FARTHEST)) * slope - along * a[:, :-1] / size) / size
        return np.concatenate([turn, along], axis=1)

    @abstractmethod
    def fit(self, g: Array) -> Array:
        """Coordinates in the basis of the filters closest to Taylor series `g`, one row for each point."""

    @abstractmethod
    def margin_of(self, a: Array, where: Index) -> Array:
        """Margin of a test node for coordinates in the basis."""

    @abstractmethod
    def gradient_of(self, a: Array, where: Index) -> Array:
        """Gradient of `margin_of`."""


class SymmetricFilters(FreeFilters):
    r"""Polynomial filters of a symmetric operator, known by their values at the nodes of the quadrature.

    At finite regularization the filter is in units in which :math:`\kappa V_w = 1`.
    """

    def __init__(self, points: Points, order: int, *, finite: bool = False) -> None:
        super().__init__(points, order, finite=finite)
        measure = SpikedSemicircle.of(points.signal, 4 * order + 2 + (12 * order + _MORE if finite else 0))
        s = np.full(points.size, float(finite))
        self.problem = SpectralMargin(measure, s, points.alpha, points.mu, points.rho, points.features)
        self.basis, self.monomials = _orthonormal(measure, order)

    def fit(self, g: Array) -> Array:
        """Project on the basis."""
        measure = self.problem.measure
        values = np.zeros_like(measure.x)
        for k in range(g.shape[-1] - 1, -1, -1):
            values = values * measure.x + g[..., k, None]
        return np.asarray(np.einsum("bnj,bn,bn->bj", self.basis, measure.tau + measure.e, values))

    def reg(self, a: Array) -> Array:
        """Regularization of the filter of each point, in the units of its coefficients."""
        g, d = self._values(self.unscaled(a), np.arange(len(a)))
        return self.problem.reg(g**2 * d)

    def _values(self, a: Array, where: Index) -> tuple[Array, Array]:
        g = np.einsum("bnj,bj->bn", self.basis[where], a)
        return g, 1.0 / (1.0 + g**2) if self.finite else np.ones_like(g)

    def margin_of(self, a: Array, where: Index) -> Array:
        """Quadrature."""
        g, d = self._values(a, where)
        return self.problem.take(where).value(g * d, g**2 * d)

    def gradient_of(self, a: Array, where: Index) -> Array:
        """Derivative in the values at the nodes, then in the coordinates."""
        g, d = self._values(a, where)
        by_U, by_W = self.problem.take(where).by_values(g * d, g**2 * d)
        U1, W1 = ((1.0 - g**2) * d**2, 2.0 * g * d**2) if self.finite else (d, 2.0 * g)
        return np.asarray(np.einsum("bnj,bn->bj", self.basis[where], by_U * U1 + by_W * W1))


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
    r"""Polynomial filters of a directed operator at infinite regularization.

    The coordinates are the tails :math:`G_i = \sum_k g_{i+k} \lambda^k`; coefficients are :math:`g_i = G_i - \lambda G_{i+1}`.
    """

    def __init__(self, points: Points, order: int, *, finite: bool = False) -> None:
        super().__init__(points, order, finite=finite)
        self.monomials = np.eye(order + 1) - points.signal[:, None, None] * np.eye(order + 1, k=1)
        self.mu = points.mu / points.features.moments[0]  # at which the averages are taken, Eq. 8.15

    def fit(self, g: Array) -> Array:
        """Cut the series and sum its tails."""
        G = np.array(g[..., : self.order + 1])
        for i in range(self.order - 1, -1, -1):
            G[..., i] += self.points.signal * G[..., i + 1]
        return G

    def _series(self, a: Array, where: Index) -> Array:
        return np.asarray(np.einsum("bkj,bj->bk", self.monomials[where], a))

    def _averages(self, a: Array, where: Index) -> Averages:
        return coefficient_averages(self._series(a, where).T, a.T, self.points.signal[where], self.mu[where])

    def _margins(self, averages: Averages, where: Index) -> Array:
        points = self.points
        return margins(averages, points.alpha[where], points.mu[where], points.rho[where], points.features)[0]

    def margin_of(self, a: Array, where: Index) -> Array:
        """Sums over the coefficients."""
        return self._margins(self._averages(a, where), where)

    def gradient_of(self, a: Array, where: Index) -> Array:
        r"""With the Hankel matrices :math:`H_{ik} = g_{i+k}`, :math:`J_{ik} = G_{i+k}`: :math:`M = HH^T`, :math:`N = HJ^T`."""
        g, G, mu = self._series(a, where), a, self.mu[where][:, None]
        tau, e, excess, e_g, coherent, scattered = (s[:, None] for s in self._slope(a, where))
        H, J = hankel(g), hankel(G)
        M, N = H @ H.mT, H @ J.mT
        M[:, 0, 0] = 0.0
        N[:, :, 0] = 0.0
        v = mu * G[:, :1] * G + np.einsum("bik,bk->bi", J, G)
        v[:, 0] = 0.0
        by_H = 4.0 * scattered[:, :, None] * (M @ H) + 2.0 * coherent[:, :, None] * (N @ J)
        by_J = 2.0 * coherent[:, :, None] * (N.mT @ H + v[:, :, None] * G[:, None, :])
        by_g = 2.0 * (tau - excess) * g + _gather(by_H)
        by_G = 2.0 * (e + excess) * G + _gather(by_J)
        by_G += 2.0 * coherent * (np.einsum("bik,bi->bk", J, v) + mu * G[:, :1] * v)
        by_G[:, 0] += e_g[:, 0] + 2.0 * coherent[:, 0] * mu[:, 0] * np.sum(v * G, axis=1)
        return np.asarray(by_G + np.einsum("bkj,bk->bj", self.monomials[where], by_g))

    def _slope(self, a: Array, where: Index) -> Averages:
        """Derivatives of the margin in each of the averages, by an imaginary step: exact to rounding."""
        averages = self._averages(a, where)
        steps = (averages._replace(**{name: v + 1j * _TINY}) for name, v in averages._asdict().items())
        return Averages(*(self._margins(step, where).imag / _TINY for step in steps))


def _gather(by_hankel: Array) -> Array:
    """Sum over the entries of a Hankel matrix that hold the same number: rows shifted by one another, then added."""
    n = by_hankel.shape[1]
    wide = np.pad(by_hankel, ((0, 0), (0, 0), (0, n))).reshape(-1, 2 * n * n)
    return np.asarray(wide[:, : n * (2 * n - 1)].reshape(-1, n, 2 * n - 1).sum(axis=1)[:, :n])


class TrainedDirectedFilters(DirectedFilters):
    """Polynomial filters of a directed operator at regularization 1, of any scale: equations solved, slopes by differences."""

    noise = _NOISE

    def margin_of(self, a: Array, where: Index) -> Array:
        """Solve the self-consistent equations."""
        p = self.points
        data = CSBM(p.alpha[where], p.signal[where], p.mu[where], p.rho[where], features=p.features)
        gcn = GCN(Polynomial(self._series(a, where)), reg=1.0, symmetrize=False)
        found = predict(data, gcn, throw=False, tol=_NOISE, progress=False)
        solved = np.asarray(found.status) == Status.CONVERGED
        return np.where(solved, np.asarray(found.order_parameters.test_margin), -np.inf)

    def gradient_of(self, a: Array, where: Index) -> Array:
        """Central differences, all in one call."""
        size = np.linalg.norm(a, axis=1)[:, None, None]
        offsets = np.concatenate([np.eye(a.shape[1]), -np.eye(a.shape[1])]) * _STEP
        around = (a[:, None] + size * offsets).reshape(-1, a.shape[1])
        margin = self.margin_of(around, np.repeat(where, len(offsets))).reshape(len(a), 2, -1)
        with np.errstate(invalid="ignore"):
            slope = (margin[:, 0] - margin[:, 1]) / (2.0 * _STEP * size[:, 0])
        return np.where(np.isfinite(slope), slope, 0.0)
