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
from gcnlimit.choose.directed_margin import DirectedAverages
from gcnlimit.choose.directed_responses import Responses, responses
from gcnlimit.choose.spectral_margin import SpectralMargin
from gcnlimit.filters import Averages
from gcnlimit.numerics.batches import batches
from gcnlimit.numerics.linear import hankel
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.theory.finite_reg.equations import Transforms
from gcnlimit.theory.finite_reg.square import most_freedom, square_margin, square_reg
from gcnlimit.theory.large_reg import coefficient_averages, margins
from gcnlimit.theory.points import Points

__all__ = ["DirectedFilters", "FreeFilters", "SymmetricFilters", "TrainedDirectedFilters"]

Index = npt.NDArray[np.intp]

_TINY = 1e-100  # imaginary step of exact derivatives
_MORE = 127  # nodes on the spectrum beyond those of a polynomial: at finite regularization the integrands are rational
_NUMBERS = 1 << 20  # in a matrix of the directed filters that are computed together
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

    def reg(self, a: Array) -> Array:
        """Regularization of the filter of each point, in the units of its coefficients."""
        return np.full(len(a), np.inf)

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
        if not self.finite:
            return super().reg(a)
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
    r"""Polynomial filters of a directed operator at finite regularization, in units in which :math:`\kappa V_w = 1`.

    The responses of the layers found last at each point are where the next search for them starts.
    """

    def __init__(self, points: Points, order: int, *, finite: bool = True) -> None:
        super().__init__(points, order, finite=finite)
        self._found = Responses.start(np.zeros((points.size, order + 1)))
        self._last: tuple[Array, Index, DirectedAverages, npt.NDArray[np.bool_]] | None = None

    def reg(self, a: Array) -> Array:
        """Regularization of the filter of each point, in the units of its coefficients."""
        W = self._solved(self.unscaled(a), np.arange(len(a)))[0].transforms().W
        return square_reg(W, np.ones_like(W), self.points.alpha, self.points.rho, self.points.features)

    def margin_of(self, a: Array, where: Index) -> Array:
        """Solve for the responses of the layers, some rows at a time."""
        size = max(1, _NUMBERS // (1 + self.order) ** 2)
        return np.concatenate([self._margin_of(a[rows], where[rows]) for rows in batches(len(a), size)])

    def _margin_of(self, a: Array, where: Index) -> Array:
        graph, solved = self._solved(a, where)
        averages = graph.transforms()
        margin = self._of_averages(averages, where)
        most = most_freedom(self.points.alpha, self.points.rho)[where]
        return np.where(solved & (most > averages.W) & np.isfinite(margin), margin, -np.inf)

    def gradient_of(self, a: Array, where: Index) -> Array:
        """Derivatives in the averages, by an imaginary step, then backwards to the coefficients."""
        graph, _ = self._solved(a, where)
        averages = graph.transforms()
        steps = (averages._replace(**{name: v + 1j * _TINY}) for name, v in averages._asdict().items())
        by_g = graph.gradient(Transforms(*(self._of_averages(step, where).imag / _TINY for step in steps)))
        return np.asarray(np.einsum("bkj,bk->bj", self.monomials[where], by_g))

    def _of_averages(self, averages: Transforms, where: Index) -> Array:
        p = self.points
        one = np.ones(where.size)
        return square_margin(averages, one, p.alpha[where], p.mu[where], p.rho[where], features=p.features)

    def _solved(self, a: Array, where: Index) -> tuple[DirectedAverages, npt.NDArray[np.bool_]]:
        """Averages of the graph, and where they are those of a network; the gradient is asked for where the margin was."""
        if self._last is not None and np.array_equal(a, self._last[0]) and np.array_equal(where, self._last[1]):
            return self._last[2:]
        at, solved = responses(self._found.take(where)._replace(g=self._series(a, where)))
        graph = DirectedAverages.of(at, self.points.signal[where])
        self._found.put(where[solved], at.take(np.flatnonzero(solved)))
        self._last = a.copy(), where.copy(), graph, solved
        return graph, solved
