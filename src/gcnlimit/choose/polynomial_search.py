"""The best polynomial of an order: many starts of low order, the best continued to higher orders."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.choose.free_filter import DirectedFilters, FreeFilters, SymmetricFilters, TrainedDirectedFilters
from gcnlimit.numerics.climb import Ascent, ascend, spread
from gcnlimit.theory.points import Points

__all__ = ["PolynomialBest", "PolynomialSearch"]

_STARTS = 3  # number of climbs, from the best filters tried
_FIRST = 12  # steps of each climb before the best alone is continued
_SMALL = 8  # order at which many starts are tried
_SCALES = np.log(np.geomspace(1e-3, 1e1, 9))  # of the starts at finite regularization
_ORDERS = {
    "infinite": (16, 32, 64, 128),
    "finite": (12, 16, 20),
}  # after the first, to read off the limit on a directed graph

Index = npt.NDArray[np.intp]


class PolynomialBest(NamedTuple):
    """Best polynomials, one row for each point: margin, coefficients, regularization, and whether the search settled."""

    margin: Array
    coefficients: Array
    reg: Array
    settled: npt.NDArray[np.bool_]

    def widened(self, width: int) -> PolynomialBest:
        """The same with that number of coefficients."""
        more = width - self.coefficients.shape[1]
        return self._replace(coefficients=np.pad(self.coefficients, ((0, 0), (0, more))))


class PolynomialSearch:
    """Best polynomials of a batch of points; the searches at low order, from many starts, are made once for all higher ones."""

    def __init__(self, points: Points) -> None:
        self.points = points
        self._known: dict[tuple[int, bool], Ascent] = {}

    def best(self, order: int, *, infinite: bool) -> PolynomialBest:
        """Best polynomials of an order at infinite regularization, or at the best one."""
        best = self._found(order, finite=False)
        return best if infinite else _better(best, self._found(order, finite=True))

    def growing(self, *, infinite: bool, tol: float) -> tuple[PolynomialBest, Array]:
        """Best polynomials of growing order, until the margin grows by less than `tol`; and its last growth."""
        best, growth = self._grow(finite=False, tol=tol)
        if infinite:
            return best, growth
        trained, growth_there = self._grow(finite=True, tol=tol)
        chosen = trained.margin > best.margin
        return _better(best, trained), np.where(chosen, growth_there, growth)

    def _found(self, order: int, *, finite: bool) -> PolynomialBest:
        return _filters_found(self.points, order, self._climbed(order, finite=finite), finite=finite)

    def _climbed(self, order: int, *, finite: bool) -> Ascent:
        """The best filters of an order; those that are known are not sought again."""
        if (order, finite) not in self._known:
            lower = self._lower(order, finite=finite)
            self._known[order, finite] = _continue(self.points, order, lower, finite=finite)
        return self._known[order, finite]

    def _lower(self, order: int, *, finite: bool) -> Ascent:
        """Filters to climb from: those of the highest lower order that is known, at a low order the best of many starts."""
        if order > _SMALL:
            known = (n for n, kind in self._known if kind == finite and _SMALL < n < order)
            return self._climbed(max(known, default=_SMALL), finite=finite)
        explicit = self._climbed(order, finite=False) if finite else None
        return _search(self.points, order, finite=finite, known=explicit)

    def _grow(self, *, finite: bool, tol: float) -> tuple[PolynomialBest, Array]:
        """Raise the order; the coefficients are those of the largest order, padded."""
        left, growth = np.arange(self.points.size), np.full(self.points.size, np.inf)
        found, best = self._climbed(_SMALL, finite=finite), self._found(_SMALL, finite=finite)
        for order in _ORDERS["finite" if finite else "infinite"]:
            if not left.size:
                break
            points, everyone = self.points.take(left), left.size == self.points.size
            found = self._climbed(order, finite=finite) if everyone else _continue(points, order, found, finite=finite)
            growth[left] = np.abs(found.f - best.margin[left])
            best = best.widened(order + 1)
            for column, value in zip(best, _filters_found(points, order, found, finite=finite), strict=True):
                column[left] = value
            more = growth[left] > tol
            found, left = found.take(more), left[more]
        return best, growth


def _better(one: PolynomialBest, other: PolynomialBest) -> PolynomialBest:
    """Take the second where it is better by more than rounding, both written with the same number of coefficients."""
    width = max(one.coefficients.shape[1], other.coefficients.shape[1])
    one, other = one.widened(width), other.widened(width)
    second = other.margin > one.margin + 1e-11 * (1.0 + np.abs(one.margin))
    columns = (np.where(second if a.ndim == 1 else second[:, None], b, a) for a, b in zip(one, other, strict=True))
    return PolynomialBest(*columns)


def _filters(points: Points, order: int, *, finite: bool) -> FreeFilters:
    kind = SymmetricFilters if points.symmetric else TrainedDirectedFilters if finite else DirectedFilters
    return kind(points, order, finite=finite)


def _filters_found(points: Points, order: int, found: Ascent, *, finite: bool) -> PolynomialBest:
    """Coefficients and regularization of the filters found."""
    filters = _filters(points, order, finite=finite)
    return PolynomialBest(found.f.copy(), filters.coefficients(found.x), filters.reg(found.x), found.settled.copy())


def _search(points: Points, order: int, *, finite: bool, known: Ascent | None = None) -> Ascent:
    """The best filter of each point at a low order: of several climbs, that which is highest after some steps.

    Where it does not exceed the margin that is known, of infinite regularization, its Hessian is set to promise nothing.
    """
    starts = _starts(_filters(points, order, finite=finite), points.radius, None if known is None else known.x)
    where = np.repeat(np.arange(points.size), starts.shape[1])
    filters = _filters(points.take(where), order, finite=finite)
    found = _climb(filters, starts.reshape(where.size, -1), steps=_FIRST)
    best = np.arange(points.size) * starts.shape[1] + np.argmax(found.f.reshape(points.size, -1), axis=1)
    found = found.take(best)
    if known is not None:
        found.H[found.f <= known.f] = 0.0
    return found


def _starts(filters: FreeFilters, radius: Array, known: Array | None) -> Array:
    """The best of diffusions, PageRanks, the constant and evenly spread directions; point, start, coordinate."""
    k = np.arange(filters.order + 1.0)
    factorial = np.cumprod(np.maximum(k, 1.0))
    series = [np.power.outer(ratio / radius, k) / factorial for ratio in (-3.0, -1.5, 0.0, 1.5, 3.0)]
    series += [np.power.outer(ratio / radius, k) for ratio in (-0.8, 0.8)]
    shapes = [filters.fit(g) for g in series] + ([] if known is None else [known])
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


def _climb(filters: FreeFilters, a: Array, H: Array | None = None, steps: int = 500) -> Ascent:
    """Climb from the row of each point."""
    return ascend(filters.margin, filters.gradient, a, H=H, steps=steps, tol=1e-9, gain=1e-17)


def _continue(points: Points, order: int, found: Ascent, *, finite: bool) -> Ascent:
    """Climb from filters of lower order: the bases of two orders agree where both are defined."""
    filters, last = _filters(points, order, finite=finite), found.x.shape[1] - finite
    direction, more = found.x[:, :last], order + 1 - last
    direction = np.pad(direction / np.linalg.norm(direction, axis=1, keepdims=True), ((0, 0), (0, more)))
    places = np.r_[:last, order + 1 : order + 1 + finite]
    H = np.eye(order + 1 + finite) * found.H[:, last - 1, last - 1, None, None]
    H[:, places[:, None], places] = found.H
    return _climb(filters, np.concatenate([direction, found.x[:, last:]], axis=1), H)
