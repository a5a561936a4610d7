"""The best of all filters: what a linear network gains when its filter is free."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_ndtr, ndtr

from gcnlimit._display import Labels, Shown, draw_filter, status_names
from gcnlimit._labels import each_layer
from gcnlimit._values import Array
from gcnlimit.choose.free_filter import DirectedFilters, FreeFilters, SymmetricFilters
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Polynomial
from gcnlimit.network import GCN
from gcnlimit.numerics.optimize import ascend, spread
from gcnlimit.performance import Prediction, Status, scalar_or_array
from gcnlimit.theory.points import Points
from gcnlimit.theory.predict import predict

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BestFilter", "FilterCeiling", "best_filter", "filter_ceiling"]

_BLOCK = 64  # points searched together
_STARTS = 3  # filters climbed from, the best of those tried
_SMALL = 8  # order at which many starts are tried; higher orders continue from its best
_LARGEST = 256, 128  # order at which the limit is read off at last, on symmetric and directed graphs
_MAX_ORDER = 30  # beyond it, the powers of the operator lose the digits of the filter


@dataclass(frozen=True)
class FilterCeiling:
    """The ceiling of all linear graph filters at infinite regularization: the limit of growing order.

    Parameters
    ----------
    test_accuracy, log_test_error, margin
        Of the best polynomial of order `order`: a lower bound, which grows with the order.
    error
        Its growth since half that order: how far the limit may still be above, in units of the margin.
    order
        Order at which the growth fell below the tolerance.
    status
        ``CONVERGED`` if it did, else ``NOT_CONVERGED``: the ceiling is then known to `error`.
    """

    test_accuracy: Any
    log_test_error: Any
    margin: Any
    error: Any
    order: Any
    status: Any


@dataclass(frozen=True, repr=False)
class BestFilter(Shown):
    """The best polynomial filter of a order at infinite regularization.

    Parameters
    ----------
    data
        The data.
    gcn
        The network; its coefficients have the shape of the data, then one axis of ``order + 1`` powers.
    prediction
        Its exact performance.
    x, g
        Points of the real spectrum, the position of the spike (or the edge, if there is none) last, and the filter there; the
        largest magnitude is 1.
    status
        ``CONVERGED`` where the search settled.
    """

    data: CSBM
    gcn: GCN
    prediction: Prediction
    x: Any
    g: Any
    status: Any

    def _points(self) -> Labels:
        return self.prediction._points().without(self._chosen())

    def _chosen(self) -> dict[str, Any]:
        return each_layer("coefficients", self.coefficients, first=0)

    def _shown(self) -> dict[str, Any]:
        return self.prediction.as_dict() | {"status": status_names(Status, self.status)} | self._chosen()

    def plot(self, name: str | None = None, *, axes: Axes | None = None) -> Axes:
        """Draw the filter over the spectrum, the spike as a dot; or a quantity by name, as for every result."""
        if name is not None or np.ndim(self.x) > 1:
            return super().plot(name, axes=axes)
        return draw_filter(self.x, self.g, axes)

    @cached_property
    def ceiling(self) -> FilterCeiling:
        """The limit of growing order: no linear graph filter does better."""
        return filter_ceiling(self.data, self.gcn.symmetrize)

    @property
    def coefficients(self) -> Array:
        """Coefficients of the powers of the operator."""
        return np.asarray(self.gcn.filter.coefficients)  # type: ignore[attr-defined]


def best_filter(data: CSBM, order: int = 12, symmetrize: bool = True) -> BestFilter:
    r"""Find the polynomial filter of a order with the highest test accuracy at infinite regularization.

    The margin is climbed with its exact gradient, in a basis orthonormal for the spectrum of the data, from many starts
    of low order; the best is continued to higher orders.

    Parameters
    ----------
    data
        The data; array parameters broadcast.
    order
        Highest power of the operator, at most 30.
    symmetrize
        Whether the filter applies to the symmetrized graph.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> best = gl.best_filter(data, order=12)
    >>> round(best.prediction.test_accuracy, 5), round(best.ceiling.test_accuracy, 5)
    (0.88609, 0.88609)
    """
    if isinstance(order, bool) or not isinstance(order, int | np.integer) or not 0 <= order <= _MAX_ORDER:
        raise ParameterError(f"order = {order!r} is not allowed; it must be a whole number from 0 to {_MAX_ORDER}")
    points = _points(data, symmetrize)
    coefficients, settled = np.empty((points.size, order + 1)), np.empty(points.size, bool)
    for block in _blocks(points):
        a, settled[block] = _search(points, block, order)
        coefficients[block] = _filters(points, block, order).coefficients(a)
    x = _spectrum(points)
    g = Polynomial(coefficients)
    values = np.stack([g[i](x[i]) for i in range(points.size)])
    scale = values[np.arange(points.size), np.argmax(np.abs(values), axis=1)][:, None]
    gcn = GCN(Polynomial((coefficients / scale).reshape(*data.shape, order + 1)), symmetrize=symmetrize)
    return BestFilter(
        data=data,
        gcn=gcn,
        prediction=predict(data, gcn),
        x=x.reshape(*data.shape, -1),
        g=(values / scale).reshape(*data.shape, -1),
        status=_status(settled.reshape(data.shape)),
    )


def filter_ceiling(data: CSBM, symmetrize: bool = True, *, tol: float = 1e-9) -> FilterCeiling:
    r"""Accuracy that no linear graph filter exceeds at infinite regularization: the best polynomial of growing order.

    The order doubles from 8 until the margin grows by less than `tol`, up to 256 (128 on a directed graph). Near
    :math:`\mu = 0` on a symmetric graph it grows slowly: only :math:`g^2` counts there, the best filter vanishes on a part of the
    bulk and has a kink at its border, so that what is left falls as the third power of the order. `error` then stays above
    `tol` and says how far the limit may be.

    Parameters
    ----------
    data
        The data; array parameters broadcast.
    symmetrize
        Whether the filters apply the symmetrized graph.
    tol
        Growth of the margin at which the order is large enough.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> ceiling = filter_ceiling(gl.CSBM(alpha=4, lam=1.0, mu=[0.0, 2.0], rho=0.1))
    >>> ceiling.error < 2e-7, ceiling.status == gl.Status.CONVERGED
    (array([ True,  True]), array([False,  True]))
    """
    points = _points(data, symmetrize)
    margin, error = np.empty(points.size), np.empty(points.size)
    order = np.empty(points.size, int)
    for block in _blocks(points):
        margin[block], error[block], order[block] = _grow(points, block, tol)
    return FilterCeiling(
        test_accuracy=scalar_or_array(ndtr(margin).reshape(data.shape)),
        log_test_error=scalar_or_array(log_ndtr(-margin).reshape(data.shape)),
        margin=scalar_or_array(margin.reshape(data.shape)),
        error=scalar_or_array(error.reshape(data.shape)),
        order=scalar_or_array(order.reshape(data.shape)),
        status=_status((error <= tol).reshape(data.shape)),
    )


def _points(data: CSBM, symmetrize: bool) -> Points:
    if not isinstance(data, CSBM):
        raise ParameterError(f"the best filter needs a CSBM, got {type(data).__name__}")
    return Points.of(data, GCN(Polynomial(np.ones(1)), symmetrize=symmetrize))


def _blocks(points: Points) -> list[Any]:
    return [np.arange(start, min(start + _BLOCK, points.size)) for start in range(0, points.size, _BLOCK)]


def _filters(points: Points, block: Any, order: int) -> FreeFilters:
    family = SymmetricFilters if points.symmetric else DirectedFilters
    return family(points.signal[block], points.alpha[block], points.mu[block], points.rho[block], order)


def _search(points: Points, block: Any, order: int) -> tuple[Array, Any]:
    """Coordinates of the best filter of each point of the block, and whether they are settled."""
    small = min(order, _SMALL)
    filters = _filters(points, block, small)
    starts = _starts(filters, points.radius[block])
    where = np.repeat(np.arange(block.size), _STARTS)
    a, margin, settled = _climb(filters, starts.reshape(-1, small + 1), where)
    best = np.arange(block.size) * _STARTS + np.argmax(margin.reshape(-1, _STARTS), axis=1)
    if order == small:
        return a[best], settled[best]
    a, _, settled = _continue(_filters(points, block, order), a[best])
    return a, settled


def _starts(filters: FreeFilters, radius: Array) -> Array:
    """The best of diffusions, PageRanks, the constant and evenly spread directions; point, start, coordinate."""
    k = np.arange(filters.order + 1.0)
    factorial = np.cumprod(np.maximum(k, 1.0))
    series = [np.power.outer(ratio / radius, k) / factorial for ratio in (-3.0, -1.5, 0.0, 1.5, 3.0)]
    series += [np.power.outer(ratio / radius, k) for ratio in (-0.8, 0.8)]
    known = np.stack([filters.fit(g) for g in series], axis=1)
    others = 2.0 * spread(7, filters.order + 1)[1:] - 1.0
    every = np.concatenate([known, np.broadcast_to(others, (radius.size, *others.shape))], axis=1)
    every = every / np.linalg.norm(every, axis=-1, keepdims=True)
    where = np.repeat(np.arange(radius.size), every.shape[1])
    margin = filters.margin(every.reshape(where.size, -1), where).reshape(radius.size, -1)
    first = np.argsort(-margin, axis=1, kind="stable")[:, :_STARTS, None]
    return np.take_along_axis(every, first, axis=1)


def _climb(filters: FreeFilters, a: Array, where: Any) -> tuple[Array, Array, Any]:
    return ascend(
        lambda a, rows: filters.margin(a, where[rows]), lambda a, rows: filters.gradient(a, where[rows]), a, tol=1e-9
    )


def _continue(filters: FreeFilters, a: Array) -> tuple[Array, Array, Any]:
    """Climb from filters of lower order: the bases of two orders agree where both are defined."""
    longer = np.pad(a, ((0, 0), (0, filters.order + 1 - a.shape[1])))
    longer /= np.linalg.norm(longer, axis=1, keepdims=True)
    return _climb(filters, longer, np.arange(a.shape[0]))


def _grow(points: Points, block: Any, tol: float) -> tuple[Array, Array, Any]:
    """Margin of the best filter of growing order, its last growth, and the order reached."""
    a, _ = _search(points, block, _SMALL)
    margin = _filters(points, block, _SMALL).margin(a, np.arange(block.size))
    growth, reached = np.full(block.size, np.inf), np.full(block.size, _SMALL)
    order, left = _SMALL, np.arange(block.size)
    while left.size and order < _LARGEST[0 if points.symmetric else 1]:
        order *= 2
        a, higher, _ = _continue(_filters(points, block[left], order), a)
        growth[left], margin[left], reached[left] = np.abs(higher - margin[left]), higher, order
        a, left = a[growth[left] > tol], left[growth[left] > tol]
    return margin, growth, reached


def _spectrum(points: Points) -> Array:
    """Real points of the spectrum, the spike or the edge on its side last."""
    edge = 2.0 if points.symmetric else 1.0
    bulk = np.broadcast_to(np.linspace(-edge, edge, 201), (points.size, 201))
    spike = np.where(points.signal < 0, -1.0, 1.0) * points.radius
    return np.concatenate([bulk, spike[:, None]], axis=1)


def _status(settled: Any) -> Any:
    status = np.where(settled, Status.CONVERGED, Status.NOT_CONVERGED)
    return status if status.ndim else Status(int(status))
