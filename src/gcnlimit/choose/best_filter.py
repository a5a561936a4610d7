"""The best filter and regularization of a linear network: among polynomials of an order, and among all functions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr

from gcnlimit import scope
from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import check_types, whole
from gcnlimit._values import Array, Integers, Numbers, Value, shown
from gcnlimit.choose.polynomials import best_polynomials, growing_polynomials
from gcnlimit.choose.spectral import Best
from gcnlimit.choose.spectral_ceiling import spectral_ceiling
from gcnlimit.csbm import CSBM, SpikedOperator
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Polynomial
from gcnlimit.network import GCN
from gcnlimit.numerics.linear import batches
from gcnlimit.parameters import each_layer
from gcnlimit.results.performance import Prediction, Status, scalar_or_array
from gcnlimit.results.result import Coordinates, Result, status_names
from gcnlimit.theory.decision import best_log_error
from gcnlimit.theory.points import Points, check_range
from gcnlimit.theory.predict import predict

LARGEST = 1e9  # parameter of the data, or inverse of one, for which filters are searched
_BLOCK = 64  # points searched together
_STEADY = 1e-9  # change of a margin at which the resolution suffices
MAX_ORDER = 30  # coefficients of higher powers lose digits by cancellation


@dataclass(frozen=True, eq=False)
class FilterCeiling(Value):
    """Highest accuracy of a linear network over all filters, square loss; on a directed graph, a lower bound.

    Parameters
    ----------
    test_accuracy, log_test_error, margin
        Of the best filter, for unequal classes at the best threshold (Eqs. 8.3 and 8.4).
    error
        Last change of the margin as the resolution (on a directed graph, the order of the polynomial) was raised.
    reg
        Regularization of the best filter, in the units of `g`; infinite where none is better.
    x, g
        Points of the real spectrum, the spike (or the edge, if there is none) last, and the best filter there, of largest
        magnitude 1. Values beyond ten thousand times the scale set by the regularization are cut.
    status, lower_bound
        ``NOT_CONVERGED`` if the ceiling is known to `error` only; whether it is a lower bound, as on a directed graph.
    """

    test_accuracy: float | Array
    log_test_error: float | Array
    margin: float | Array
    error: float | Array
    reg: float | Array
    x: Array
    g: Array
    status: Status | Integers
    lower_bound: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class BestFilter(Result):
    """The best polynomial filter of an order, as a network, and its exact performance.

    The filter has the values `g`, of largest magnitude 1, at the points `x` of the real spectrum, the spike (or the edge, if
    there is none) last. The status is ``CONVERGED`` where the search settled.
    """

    data: CSBM
    gcn: GCN
    prediction: Prediction
    x: Array
    g: Array
    status: Status | Integers

    @property
    def test_accuracy(self) -> Numbers:
        """Test accuracy of the network."""
        return self.prediction.test_accuracy

    def _points(self) -> Coordinates:
        return self.prediction._points().without(self._chosen())

    def _chosen(self) -> dict[str, Any]:
        return each_layer("coefficients", self.coefficients, first=0) | {"reg": self.gcn.reg}

    def _shown(self) -> dict[str, Any]:
        status = {"status": status_names(Status, self.status)}
        numbers = self.prediction.as_dict() | self.prediction._shown()  # with errors of an estimate
        return numbers | status | self._chosen()

    @cached_property
    def ceiling(self) -> FilterCeiling:
        """The best network of one filter and one weight vector, at any regularization; on a directed graph, a lower bound."""
        return filter_ceiling(self.data, self.gcn.symmetrize)

    @cached_property
    def ceiling_at_infinite_reg(self) -> FilterCeiling:
        """The best network of one filter at infinite regularization; on a directed graph, a lower bound."""
        return filter_ceiling(self.data, self.gcn.symmetrize, reg=math.inf)

    @property
    def coefficients(self) -> Array:
        """Coefficients of the powers of the operator."""
        assert isinstance(self.gcn.filter, Polynomial)
        return np.asarray(self.gcn.filter.coefficients)


def best_filter(
    data: CSBM,
    order: int = 12,
    symmetrize: bool = True,
    *,
    reg: float | None = None,
    progress: bool | None = None,
) -> BestFilter:
    r"""Find the polynomial filter of a given order, and the regularization, with the highest test accuracy (square loss).

    The margin is climbed with its exact gradient, in a basis orthonormal for the spectrum of the data, from many starts
    of low order; the best is continued to higher orders. On a directed graph the regularization is infinite. The margin does
    not depend on the classes, and every accuracy increases with it; for unequal classes it is taken at the best threshold.
    For another loss, tune the coefficients of a `Polynomial`.

    Parameters
    ----------
    data, symmetrize
        The data, whose array parameters broadcast, and whether the filter applies to the symmetrized graph.
    order
        Highest power of the operator, at most 30.
    reg
        The best regularization if None (infinite on a directed graph), or ``math.inf``; a finite value would only set the
        scale of the filter.
    progress
        Whether to show progress on standard error; by default where it takes more than two seconds.

    Examples
    --------
    >>> import math
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> best = gl.best_filter(data, order=12)
    >>> round(best.prediction.test_accuracy, 5), round(best.ceiling.test_accuracy, 5)
    (0.88749, 0.88749)
    >>> round(gl.best_filter(data, order=12, reg=math.inf).prediction.test_accuracy, 5)
    0.88609
    """
    order = whole("order", order, low=0, high=MAX_ORDER)
    infinite = is_infinite(reg)
    points = _points(data, symmetrize)
    best, filter = polynomials_at(points, order, infinite, progress)
    filter = filter.replaced(filter.values.reshape(*data.shape, order + 1))
    gcn = GCN(filter, reg=best.reg.reshape(data.shape), symmetrize=symmetrize)
    prediction = predict(data, gcn, throw=False, progress=False)
    solved = np.asarray(prediction.status) <= Status.CONVERGED
    settled = best.settled.reshape(data.shape) & solved
    status = Status.of(np.where(settled, Status.CONVERGED, Status.NOT_CONVERGED))
    x, g = (values.reshape(*data.shape, -1) for values in (_spectrum(points.operator), best.g))
    return BestFilter(data, gcn, prediction, x, g, status)


def polynomials_at(
    points: Points, order: int, infinite: bool, progress: bool | None = False
) -> tuple[Best, Polynomial]:
    """The best polynomials of an order at points, by their values on the real spectrum, and as filters."""
    blocks = list(batches(points.size, _BLOCK))
    parts = []
    shown = progress_bar("searching filters", len(blocks), progress, unit="batches")
    # filters out of range have a margin of minus infinity
    with np.errstate(all="ignore"), shown as bar:
        for rows in blocks:
            parts.append(best_polynomials(points.take(rows), order, infinite=infinite))
            bar.advance(1)
        together = Best(*map(np.concatenate, zip(*parts, strict=True)))
        return _on_spectrum(together, _spectrum(points.operator))


def filter_ceiling(
    data: CSBM, symmetrize: bool = True, *, reg: float | None = None
) -> FilterCeiling:
    r"""Accuracy that no linear graph filter exceeds; square loss, at any regularization, or with ``reg=math.inf`` at infinity.

    On a symmetric graph the filter enters through its values on the spectrum, and the regularization through their scale: all
    functions are searched, by Newton's method from several starts. On a directed graph the order of the best polynomial at
    infinite regularization grows, 8, 16, 32, 64 and 128, until the margin is steady; that is a lower bound of the ceiling.

    >>> import gcnlimit as gl
    >>> ceiling = filter_ceiling(gl.CSBM(alpha=4, lam=1.0, mu=[0.0, 2.0], rho=0.1))
    >>> ceiling.test_accuracy.round(5), ceiling.error < 1e-9
    (array([0.85465, 0.88749]), array([ True,  True]))
    """
    infinite = is_infinite(reg)
    points = _points(data, symmetrize)
    best = ceiling_at(points, infinite)
    log_error = best_log_error(best.margin, data.classes)
    accuracy = ndtr(best.margin) if data.classes.two else -np.expm1(log_error)
    columns = (accuracy, log_error, best.margin, best.error, best.reg)
    shaped = (scalar_or_array(column.reshape(data.shape)) for column in columns)
    x, g = (values.reshape(*data.shape, -1) for values in (_spectrum(points.operator), best.g))
    settled = (best.settled & np.isfinite(best.margin)).reshape(data.shape)
    status = Status.of(np.where(settled, Status.CONVERGED, Status.NOT_CONVERGED))
    numbers = [*shaped, x, g, status, not points.symmetric]
    return FilterCeiling(*numbers)


def ceiling_at(points: Points, infinite: bool) -> Best:
    """The best of all filters at points; on a directed graph that of growing polynomials at infinite regularization."""
    with np.errstate(all="ignore"):  # filters out of range have a margin of minus infinity
        if points.symmetric:
            return spectral_ceiling(points, infinite=infinite, tol=_STEADY)
        parts = []
        for rows in batches(points.size, _BLOCK):
            some = points.take(rows)
            grown = growing_polynomials(some, tol=_STEADY)
            parts.append(_on_spectrum(grown, _spectrum(some.operator))[0])
        return Best(*map(np.concatenate, zip(*parts, strict=True)))


def is_infinite(reg: float | None) -> bool:
    """Whether the regularization is to be infinite."""
    if reg is not None and not (isinstance(reg, float) and reg == math.inf):
        told = f"reg = {shown(reg)} is not allowed: finite, it only sets the scale of the filter"
        raise ParameterError(f"{told}; take None for the best regularization, or math.inf")
    return reg is not None


def _points(data: CSBM, symmetrize: bool) -> Points:
    check_types("best_filter", data=(data, CSBM))
    scope.check("best_filter", data)
    check_range(data, LARGEST)
    return Points.of(data, GCN(Polynomial(np.ones(1)), symmetrize=symmetrize))


def _spectrum(operator: SpikedOperator) -> Array:
    """Real points of the spectrum, the spike or the edge on its side last."""
    bulk = np.linspace(-operator.edge, operator.edge, 201)
    bulk = np.broadcast_to(bulk, (operator.signal.size, bulk.size))
    # beyond the transition the spike decides; below it the edge that it would leave
    spike = np.where(operator.signal < 0.0, -1.0, 1.0) * operator.radius
    return np.concatenate([bulk, spike[:, None]], axis=1)


def _on_spectrum(best: Best, x: Array) -> tuple[Best, Polynomial]:
    """The best filters by their values on each row of `x`, of largest magnitude 1; and the polynomials that have them."""
    filters = Polynomial(best.g)
    values = np.stack([filters[i](x[i]) for i in range(len(x))])
    # scale and sign of a filter are free; a regularization is in units of its square
    scale = values[np.arange(len(x)), np.argmax(np.abs(values), axis=1)][:, None]
    on_spectrum = best._replace(reg=best.reg / scale[:, 0] ** 2, g=values / scale)
    return on_spectrum, Polynomial(best.g / scale)
