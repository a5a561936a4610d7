r"""The best polynomial filter of an order: its margin, square loss, climbed with the gradient from many starts of low order.

A filter is a row of coordinates in a basis of its point, in which the form :math:`\tau(g^2) + e(g^2)` of the data is well
conditioned at any order; filters of lower order have the same first coordinates. At infinite regularization the margin does
not depend on the length of the row. At finite regularization the scale of the filter stands for the regularization: one more
coordinate, the last, is the logarithm of that scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.choose.spectral import Best, SpectralMargin
from gcnlimit.filters import Averages
from gcnlimit.numerics.climb import Ascent, Index, ascend
from gcnlimit.numerics.linear import hankel
from gcnlimit.numerics.maximize import spread
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.theory.large_reg import coefficient_averages, margins
from gcnlimit.theory.points import Points

_TINY = 1e-100  # imaginary step of exact derivatives
_MORE = 127  # further nodes on the spectrum at finite regularization, whose integrands are rational
_FARTHEST = 100.0  # logarithm of the largest scale of a filter
_TOL = 1e-9  # gradient at which a climb is settled
_GAIN = 1e-17  # relative gain of a step below which it is settled too
_STARTS = 3  # number of climbs, from the best filters tried
_FIRST = 12  # steps of each climb before the best alone is continued
_SMALL = 8  # order at which many starts are tried
_SCALES = np.log(np.geomspace(1e-3, 1e1, 9))  # of the starts at finite regularization
_ORDERS = (16, 32, 64, 128)  # after the first, to read off the limit on a directed graph


class SymmetricFilters:
    """Polynomials of a symmetric operator on the data of each point, by their values at the nodes of the quadrature."""

    def __init__(self, points: Points, order: int, finite: bool = False) -> None:
        self.order = order
        self.finite = finite  # then the filter is in units in which kappa V_w = 1
        # fourth powers of the values are averaged exactly; rational functions of them need more
        nodes = 16 * order + 2 + _MORE if finite else 4 * order + 2
        measure = SpikedSemicircle.of(points.signal, nodes)
        self.problem = SpectralMargin.of(points, measure, finite)
        self.basis, self.monomials = _orthonormal(measure, order)

    def coefficients(self, a: Array) -> Array:
        """Coefficients of the powers, one row for each point."""
        return np.asarray(np.einsum("bkj,bj->bk", self.monomials, self._unscaled(a)))

    def fit(self, g: Array) -> Array:
        """Coordinates of the filters closest to Taylor series `g`, one row for each point."""
        measure = self.problem.measure
        # projected on the basis: a series may be longer than the order
        values = np.zeros_like(measure.x)
        for k in range(g.shape[-1] - 1, -1, -1):
            values = values * measure.x + g[..., k, None]
        return np.asarray(np.einsum("bnj,bn,bn->bj", self.basis, measure.tau + measure.e, values))

    def reg(self, a: Array) -> Array:
        """Regularization of the filter of each point, in the units of its coefficients."""
        g, d = self._values(self._unscaled(a), np.arange(len(a)))
        return self.problem.reg(g**2 * d)

    def margin(self, a: Array, where: Index) -> Array:
        """Margin of a test node."""
        g, d = self._values(self._unscaled(a), where)
        return self.problem.take(where).value(g * d, g**2 * d)

    def gradient(self, a: Array, where: Index) -> Array:
        """Gradient of the margin: in the values at the nodes, then in the coordinates, then in direction and scale."""
        full = self._unscaled(a)
        g, d = self._values(full, where)
        by_U, by_W = self.problem.take(where).by_values(g * d, g**2 * d)
        # derivatives of U = g/(1 + g^2) and W = g^2/(1 + g^2), or of g and its square
        U1, W1 = ((1.0 - g**2) * d**2, 2.0 * g * d**2) if self.finite else (d, 2.0 * g)
        slope = np.asarray(np.einsum("bnj,bn->bj", self.basis[where], by_U * U1 + by_W * W1))
        if not self.finite:
            return slope
        along = np.vecdot(slope, full)[:, None]  # the derivative in the logarithm of the scale
        size, scale = self._size(a)
        # the length of a direction does not count: what lies along it moves the scale alone
        turn = (scale * slope - along * a[:, :-1] / size) / size
        return np.concatenate([turn, along], axis=1)

    def _unscaled(self, a: Array) -> Array:
        """Coordinates in the basis, the scale multiplied in."""
        if not self.finite:
            return a
        size, scale = self._size(a)
        return scale * a[:, :-1] / size

    def _size(self, a: Array) -> tuple[Array, Array]:
        """Length of a direction, which does not count, and the scale."""
        # an optimum at reg = 0 lies at infinite scale, and a climb to it must stay in range
        scale = np.exp(np.clip(a[:, -1:], -_FARTHEST, _FARTHEST))
        return np.linalg.norm(a[:, :-1], axis=1, keepdims=True), scale

    def _values(self, a: Array, where: Index) -> tuple[Array, Array]:
        g = np.einsum("bnj,bj->bn", self.basis[where], a)
        return g, 1.0 / (1.0 + g**2) if self.finite else np.ones_like(g)


def _orthonormal(measure: SpikedSemicircle, order: int) -> tuple[Array, Array]:
    r"""Polynomials orthonormal for :math:`\tau + e`, by the recurrence of Stieltjes: values at the nodes, and powers."""
    weight = measure.tau + measure.e
    x = measure.x
    basis = np.zeros((*x.shape, order + 1))
    powers = np.zeros((x.shape[0], order + 1, order + 1))
    basis[:, :, 0] = powers[:, 0, 0] = np.sqrt(0.5)
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


class DirectedFilters:
    r"""Polynomials of a directed operator at infinite regularization; methods are those of `SymmetricFilters`.

    The coordinates are the tails :math:`G_i = \sum_k g_{i+k} \lambda^k`; coefficients are :math:`g_i = G_i - \lambda G_{i+1}`.
    """

    finite = False

    def __init__(self, points: Points, order: int) -> None:
        self.points = points
        self.order = order
        self.monomials = np.eye(order + 1) - points.signal[:, None, None] * np.eye(order + 1, k=1)
        self.mu = points.mu / points.features.moments[0]  # that of the averages, Eq. 8.15

    def fit(self, g: Array) -> Array:
        G = np.array(g[..., : self.order + 1])
        for i in range(self.order - 1, -1, -1):
            G[..., i] += self.points.signal * G[..., i + 1]
        return G

    def coefficients(self, a: Array, where: Any = ...) -> Array:
        return np.asarray(np.einsum("bkj,bj->bk", self.monomials[where], a))

    def _averages(self, a: Array, where: Index) -> Averages:
        g = self.coefficients(a, where)
        return coefficient_averages(g.T, a.T, self.points.signal[where], self.mu[where])

    def _margins(self, averages: Averages, where: Index) -> Array:
        alpha, mu, rho = (column[where] for column in self.points[:3])
        return margins(averages, alpha, mu, rho, self.points.features)[0]

    def margin(self, a: Array, where: Index) -> Array:
        return self._margins(self._averages(a, where), where)

    def gradient(self, a: Array, where: Index) -> Array:
        r"""Gradient by Hankel matrices :math:`H_{ik} = g_{i+k}`, :math:`J_{ik} = G_{i+k}`: :math:`M = HH^T`, :math:`N = HJ^T`."""
        g = self.coefficients(a, where)
        G = a
        mu = self.mu[where][:, None]
        tau, e, excess, e_g, coherent, scattered = (s[:, None] for s in self._slope(a, where))
        H, J = hankel(g), hankel(G)
        M, N = H @ H.mT, H @ J.mT
        # The variances are |M|^2 (scattered) and |N|^2 + |v|^2 (coherent), without these entries.
        M[:, 0, 0] = 0.0
        N[:, :, 0] = 0.0
        v = mu * G[:, :1] * G + np.einsum("bik,bk->bi", J, G)
        v[:, 0] = 0.0
        # Derivatives in the entries of H and J, which hold each number many times.
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
        slope = []
        for name, value in averages._asdict().items():
            step = averages._replace(**{name: value + 1j * _TINY})
            slope.append(self._margins(step, where).imag / _TINY)
        return Averages(*slope)


def _gather(by_hankel: Array) -> Array:
    """Sum over the entries of a Hankel matrix that hold the same number: rows shifted by one another, then added."""
    n = by_hankel.shape[1]
    wide = np.pad(by_hankel, ((0, 0), (0, 0), (0, n))).reshape(-1, 2 * n * n)
    return np.asarray(wide[:, : n * (2 * n - 1)].reshape(-1, n, 2 * n - 1).sum(axis=1)[:, :n])


Filters = SymmetricFilters | DirectedFilters
Found = tuple[Ascent, Best]


def best_polynomials(points: Points, order: int, *, infinite: bool) -> Best:
    """Best polynomials of an order at infinite regularization, or at the best one, which is searched on symmetric graphs."""
    low, best = _climbed(points, order, False)
    if infinite or not points.symmetric:
        return best
    _, trained = _climbed(points, order, True, low)
    return best.or_higher(trained, 1e-11 * (1.0 + np.abs(best.margin)))


def growing_polynomials(points: Points, *, tol: float) -> Best:
    """Best polynomials of growing order, padded, at infinite regularization, until the margin grows by `tol` at most."""
    left = np.arange(points.size)
    ascent, best = _climbed(points, _SMALL, False)
    for order in _ORDERS:
        ascent, grown = _continued(_filters(points.take(left), order, False), ascent)
        growth = np.abs(grown.margin - best.margin[left])
        grown = grown._replace(error=growth, settled=growth <= tol)
        more = order + 1 - best.g.shape[1]
        best = best._replace(g=np.pad(best.g, ((0, 0), (0, more))))
        for column, value in zip(best, grown, strict=True):
            column[left] = value
        on = growth > tol
        ascent = ascent.take(on)
        left = left[on]
        if not left.size:
            break
    return best


def _climbed(points: Points, order: int, finite: bool, rival: Ascent | None = None) -> Found:
    """Filters at an order low enough for many starts, and the best of the order that they lead to."""
    filters = _filters(points, min(order, _SMALL), finite)
    low, best = _continued(filters, _search(filters, points.radius, rival))
    return low, best if order <= _SMALL else _continued(_filters(points, order, finite), low)[1]


def _filters(points: Points, order: int, finite: bool) -> Filters:
    if points.symmetric:
        return SymmetricFilters(points, order, finite)
    return DirectedFilters(points, order)


def _search(filters: Filters, radius: Array, rival: Ascent | None) -> Ascent:
    """The best filter of each point at a low order: of several climbs, that which is highest after some steps."""
    starts = _starts(filters, radius, None if rival is None else rival.x)
    points, count, _ = starts.shape
    where = np.repeat(np.arange(points), count)
    # most climbs lead to the same few maxima: a dozen steps tell which is the highest
    ascent = ascend(
        lambda a, climbs: filters.margin(a, where[climbs]),
        lambda a, climbs: filters.gradient(a, where[climbs]),
        starts.reshape(where.size, -1),
        steps=_FIRST,
        tol=_TOL,
        gain=_GAIN,
    )
    highest = np.argmax(ascent.f.reshape(points, count), axis=1)
    ascent = ascent.take(np.arange(points) * count + highest)
    if rival is not None:  # no more steps where it stays below infinite regularization
        ascent.H[ascent.f <= rival.f] = 0.0
    return ascent


def _starts(filters: Filters, radius: Array, guess: Array | None) -> Array:
    """The best of diffusions, PageRanks, the constant and evenly spread directions; point, start, coordinate."""
    k = np.arange(filters.order + 1.0)
    factorial = np.cumprod(np.maximum(k, 1.0))
    # signals of either sign, weak and strong: what suits one lies in a valley of another
    diffusions = (np.power.outer(t / radius, k) / factorial for t in (-3.0, -1.5, 0.0, 1.5, 3.0))
    pageranks = (np.power.outer(theta / radius, k) for theta in (-0.8, 0.8))
    shapes = [filters.fit(g) for g in (*diffusions, *pageranks)]
    if guess is not None:
        shapes.append(guess)
    others = 2.0 * spread(7, filters.order + 1)[1:] - 1.0
    shapes += [np.broadcast_to(other, (radius.size, other.size)) for other in others]
    every = np.stack(shapes, axis=1)
    every = every / np.linalg.norm(every, axis=-1, keepdims=True)
    if filters.finite:
        every = np.repeat(every, _SCALES.size, axis=1)
        scale = np.broadcast_to(np.tile(_SCALES, len(shapes)), every.shape[:2])
        every = np.concatenate([every, scale[:, :, None]], axis=2)
    where = np.repeat(np.arange(radius.size), every.shape[1])
    margin = filters.margin(every.reshape(where.size, -1), where).reshape(radius.size, -1)
    first = np.argsort(-margin, axis=1, kind="stable")[:, :_STARTS, None]
    return np.take_along_axis(every, first, axis=1)


def _continued(filters: Filters, ascent: Ascent) -> Found:
    """Climb from filters of lower order: the bases of two orders agree where both are defined."""
    order, finite = filters.order, filters.finite
    # rows of unit length, so that the curvature found at the lower order keeps its scale
    last = ascent.x.shape[1] - finite
    direction = ascent.x[:, :last] / np.linalg.norm(ascent.x[:, :last], axis=1, keepdims=True)
    direction = np.pad(direction, ((0, 0), (0, order + 1 - last)))
    start = np.concatenate([direction, ascent.x[:, last:]], axis=1)
    # The new coordinates take the curvature of the last one.
    places = np.r_[:last, order + 1 : order + 1 + finite]
    H = np.eye(order + 1 + finite) * ascent.H[:, last - 1, last - 1, None, None]
    H[:, places[:, None], places] = ascent.H
    top = ascend(filters.margin, filters.gradient, start, H=H, tol=_TOL, gain=_GAIN)
    x, margin, settled, _ = top
    error = np.full(margin.size, np.inf)  # not known yet
    reg = filters.reg(x) if isinstance(filters, SymmetricFilters) else error.copy()
    return top, Best(margin.copy(), error, reg, filters.coefficients(x), settled.copy())
