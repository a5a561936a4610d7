"""The free parameters of a network as points of the unit cube, and the margin there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import broadcast
from gcnlimit._values import Array, brief
from gcnlimit.csbm import CSBM, SIGNALS
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter, PageRank, Polynomial, SearchScale
from gcnlimit.losses.base import Form
from gcnlimit.network import GCN
from gcnlimit.numerics.climb import Index
from gcnlimit.penalties import L2
from gcnlimit.results.performance import Prediction, Status
from gcnlimit.theory import scope
from gcnlimit.theory.finite_reg.square import square_margins
from gcnlimit.theory.points import Points
from gcnlimit.theory.predict import predict
from gcnlimit.theory.propensity_spectrum import radius
from gcnlimit.theory.readout import best_readout

Interval = tuple[float, float]
Bounds = Interval | Sequence[Interval]  # of a parameter, or of each of its layers
Free = Mapping[str, Bounds]
Mask = npt.NDArray[np.bool_]

_LONGEST = 64  # layers of a chain: on directed graphs the equations of a longer one take minutes
_WORST = -1e3  # margin given to a point without an answer: worse than any other
_REG = SearchScale(to=np.log, back=np.exp, largest=1e6)
_ANY_REG = (1e-2, 1e6)  # regularizations searched if any is allowed, over the filter's gain
_ANY_CLOSED = (1e-7, 1e7)  # the same where the margin is closed, at any of them


@dataclass(frozen=True)
class Axis:
    """One free number: its interval for each problem and the scale on which it is searched."""

    name: str
    scale: SearchScale
    layer: int  # -1 for a number that all layers share
    low: Array
    high: Array
    unit: Array  # multiplies the parameter before the scale is applied: the spectral radius, or 1
    asked: Interval

    def value(self, u: Array, which: Index) -> Array:
        """Parameter at `u` in [0, 1]; an infinite regularization is reached at ``u = 1``."""
        low, high = (self._scaled(end[which], which) for end in (self.low, self.high))
        value = self.scale.back(low + u * (high - low)) / self.unit[which]
        value = np.clip(value, self.low[which], self.high[which])
        unbounded = self.name == "reg" and math.isinf(self.asked[1])
        return np.where(u == 1.0, math.inf if unbounded else self.high[which], value)

    def place(self, value: npt.ArrayLike, which: Index) -> Array:
        """Coordinate in [0, 1] of a parameter, the inverse of `value`."""
        low, high = (self._scaled(end[which], which) for end in (self.low, self.high))
        here = self._scaled(np.clip(value, self.low[which], self.high[which]), which)
        return np.asarray((here - low) / np.where(high > low, high - low, 1.0))

    def _scaled(self, value: Array, which: Index) -> Array:
        return np.asarray(self.scale.to(value * self.unit[which]))

    @property
    def any_reg(self) -> bool:
        """Whether it is the regularization, and any is allowed; it is then searched in units of the gain."""
        return self.name == "reg" and self.asked[0] == 0.0


@dataclass(frozen=True, eq=False)
class Search:
    """Problems to tune, data and network broadcast to one `shape`, with the free numbers of each; see `search_of`."""

    data: CSBM  # along one axis
    gcn: GCN
    free: Free
    filters: Mapping[str, Filter]  # of the network, by the names of their parameters
    shape: tuple[int, ...]
    explicit: bool  # no equations to solve, and so no noise
    layered: bool  # the equations are those of all layers, which are slow to solve
    closed: bool  # the margin solves one equation for one number
    reads_best: bool  # test nodes are read through the best filter, given that of the training
    axes: tuple[Axis, ...]
    refused: Mask  # problems without allowed values

    @property
    def size(self) -> int:
        """Number of problems."""
        return math.prod(self.shape)

    @property
    def reg_axis(self) -> int:
        """Number of the axis of the regularization, -1 if it is not free."""
        return next((k for k, axis in enumerate(self.axes) if axis.name == "reg"), -1)

    def at_infinite_reg(self, which: Index) -> Search:
        """Return the same problems at infinite regularization."""
        others = {name: bounds for name, bounds in self.free.items() if name != "reg"}
        return search_of(self._data(which), self.gcn.replaced(reg=math.inf), others)

    def values(self, u: Array, which: Index) -> Array:
        """Free numbers at points of the unit cube, one row per point."""
        values = np.empty((which.size, len(self.axes)))
        for k, axis in enumerate(self.axes):
            values[:, k] = axis.value(u[:, k], which)
        known = self.data.degrees is None or self.gcn.normalization.plain
        in_gains = any(axis.any_reg for axis in self.axes)
        if in_gains and not self.gcn.normalize and known:
            # Regularizations are searched in units of the mean square gain of the filters.
            operator = self.data.operator(self.gcn.symmetrize)
            gain = self.network(values, which).filter.log_gain(operator.symmetric)
            values[:, self.reg_axis] *= np.exp(np.clip(2.0 * gain, -600.0, 600.0))
        return values

    def place(self, axis: Axis, which: Index) -> Array:
        """Coordinate in [0, 1] of the given network on an axis (of the first, if there are several)."""
        if axis.name != "reg":
            given = float(np.ravel(self.filters[axis.name].values)[max(axis.layer, 0)])
        else:
            given = 1.0 if axis.any_reg else float(np.ravel(self.gcn.reg)[0])
        return axis.place(given, which)

    def parameters(self, values: Array) -> dict[str, Array]:
        """Free parameters by name; the last axis of a parameter given for each layer runs over the layers."""
        columns: dict[str, Any] = {}
        for k, axis in enumerate(self.axes):
            if axis.layer < 0:
                columns[axis.name] = k
            else:
                columns.setdefault(axis.name, []).append(k)
        return {name: values[..., column] for name, column in columns.items()}

    def network(self, values: Array, which: Index) -> GCN:
        """Networks with these values of the free numbers."""
        free = self.parameters(values)
        train, *test = (self._filter(name, free.get(name), which) for name in self.filters)
        reg = free.get("reg")
        if reg is None:
            reg = np.broadcast_to(self.gcn.reg, self.shape).ravel()[which]
        return self.gcn.replaced(filter=train, reg=reg, test_filter=test[0] if test else None)

    def _filter(self, name: str, parameter: Array | None, which: Index) -> Filter:
        """Filters with these values of their parameter; as they were given if it is not free."""
        filter = self.filters[name]
        if parameter is None:
            return filter.ravel(self.shape)[which]
        if filter.deep and parameter.ndim == 1:
            parameter = np.repeat(parameter[:, None], filter.values.shape[-1], axis=1)
        if isinstance(filter, Polynomial):
            # Only the direction of the coefficients matters, and 0 has none.
            parameter[~np.any(parameter, axis=-1), 0] = 1e-9
        return filter.replaced(parameter)

    def margin(self, values: Array, which: Index) -> Array:
        """Margins of these networks on the data of their problems."""
        data = self._data(which)
        network = self.network(values, which)
        if not self.closed and not self.reads_best:
            return margin(predict(data, network, throw=False, progress=False))
        points = Points.unchecked(data, network)
        usable = points.usable()
        found = np.full(points.size, np.nan)
        with np.errstate(all="ignore"):  # a filter or a regularization may be extreme
            taken = points.take(np.flatnonzero(usable))
            found[usable] = best_readout(taken)[1] if self.reads_best else square_margins(taken)
        return np.where(np.isnan(found), _WORST, found)

    def _data(self, which: Index) -> CSBM:
        return self.data.replaced(**{name: getattr(self.data, name)[which] for name in SIGNALS})


def search_of(data: CSBM, gcn: GCN, free: Mapping[str, Any], throw: bool = True) -> Search:
    """Search over the `free` numbers; `throw` says that a problem which has no allowed values raises an error."""
    filters = {f"{'test_' * k}{filter.parameter}": filter for k, filter in enumerate(gcn.filters)}
    _check_names(filters, free)
    reads_best = "test_filter" in free
    free = {name: bounds for name, bounds in free.items() if name != "test_filter"}
    given = {name: filter.shape for name, filter in filters.items()} | {"reg": np.shape(gcn.reg)}
    fixed = {name: shape for name, shape in given.items() if name not in free}
    shape = broadcast(data=data.shape, **fixed)
    # a regularization that is free is finite, and perhaps infinite
    scope.check("tune", data, gcn.replaced(reg=1.0) if "reg" in free else gcn)
    if reads_best:
        scope.check("best_test_filter", data, gcn)
    data = data.model
    symmetric = data.operator(gcn.symmetrize).symmetric
    explicit = "reg" not in free and bool(np.all(np.isinf(gcn.reg)))
    alike = data.degrees is None
    short = symmetric or explicit or (type(gcn.filter) is PageRank and alike)
    layered = not (short and (alike or gcn.normalization.plain))
    ridge = gcn.loss.form is Form.CODES and isinstance(gcn.penalty, L2)
    plain = short and alike and data.features.is_white and gcn.test_filter is None
    closed = ridge and plain and not (explicit or reads_best)
    kind = (explicit, layered, closed, reads_best)
    refused = np.zeros(math.prod(shape), bool)
    flat = data.replaced(**{name: np.full(shape, getattr(data, name)).ravel() for name in SIGNALS})
    search = Search(flat, gcn, free, filters, shape, *kind, axes=(), refused=refused)
    axes = []
    for name, bounds in free.items():
        for layer, interval in _intervals(filters.get(name), name, bounds):
            axis, impossible, sentence = _axis(search, name, layer, interval)
            if throw and np.any(impossible):
                raise ParameterError(sentence)
            axes.append(axis)
            refused |= impossible
    for axis in axes:
        if axis.name != "reg":  # a filter that can be computed, to be hidden
            axis.low[refused] = 0.0
            axis.high[refused] = 0.0
    return replace(search, axes=tuple(axes))


def _intervals(filter: Filter | None, name: str, bounds: Bounds) -> Iterable[tuple[int, Interval]]:
    """Layer and interval of each free number: one for all layers (-1), or one for each."""
    depth = filter.values.shape[-1] if filter is not None and filter.deep else -1
    if not (isinstance(bounds, Sequence) and all(isinstance(pair, Sequence) for pair in bounds)):
        layers = [-1] if filter is None or filter.shared or depth < 0 else range(depth)
        return [(layer, _interval(name, bounds)) for layer in layers]
    if len(bounds) != depth:
        raise ParameterError(
            f"free[{name!r}] = {bounds!r} is neither a pair (low, high) "
            "nor one pair for each layer of the network"
        )
    return enumerate(_interval(name, pair) for pair in bounds)


def _axis(search: Search, name: str, layer: int, asked: Interval) -> tuple[Axis, Mask, str]:
    """Axis of a free number, cut to where networks can be computed; problems without an allowed value, and why."""
    ones = np.ones(search.size)
    impossible = np.zeros(search.size, bool)
    sentence = ""
    if name == "reg" and asked[0] == 0.0:
        least, most = _ANY_CLOSED if search.closed else _ANY_REG
        return Axis(name, _REG, layer, least * ones, most * ones, ones, asked), impossible, sentence
    scale = _REG if name == "reg" else search.filters[name].scale
    unit = _radius(search) if scale.per_radius else ones
    limit = scale.largest / unit
    if not scale.strict:
        far = max((abs(bound) for bound in asked if math.isfinite(bound)), default=0.0)
        limit = np.maximum(limit, 10.0 * far)
        if search.layered and name != "reg" and not search.filters[name].deep:
            limit, impossible, too_long = _longest(search, far, limit)
            sentence = f"free[{name!r}] = {asked} {too_long}"
    low = np.maximum(asked[0], -limit)
    high = np.minimum(asked[1], limit)
    if scale.strict:
        impossible = low > high
        convergent = f"the convergent interval |{name}| < {np.min(limit):.6g} of the data"
        sentence = f"free[{name!r}] = {asked} lies outside {convergent}"
    return Axis(name, scale, layer, low, high, unit, asked), impossible, sentence


def _radius(search: Search) -> Array:
    """Spectral radius of each problem."""
    operator = search.data.operator(search.gcn.symmetrize)
    law = search.data.degrees
    if law is None or search.gcn.normalization.plain:
        return operator.radius
    return radius(search.gcn.normalization, law, *operator)


def _longest(search: Search, far: float, limit: Array) -> tuple[Array, Mask, str]:
    """Largest magnitude, below `limit`, of a continuous filter whose series can be solved on a directed graph."""
    filter = search.gcn.filter
    reach = _radius(search)
    tried = np.linspace(0.0, 1.0, 501)[:, None] * limit
    computed = filter.replaced(tried).layers(radius=reach) <= _LONGEST
    allowed = np.max(np.where(computed, tried, 0.0), axis=0)
    layers = filter.replaced(far).layers(radius=reach)
    sentence = (
        f"reaches series of {np.max(layers)} layers, too long for a directed graph at finite reg; "
        f"keep |{filter.parameter}| below {np.min(allowed):.3g}, symmetrize, or tune at reg = inf"
    )
    return np.asarray(np.maximum(allowed, far)), layers > _LONGEST, sentence


def margin(prediction: Prediction) -> Array:
    r"""Return the margin :math:`\bar\omega/\sigma`, very low where there is no answer."""
    found = np.asarray(prediction.order_parameters.test_margin)
    failed = (np.asarray(prediction.status) == Status.NOT_CONVERGED) | np.isnan(found)
    return np.where(failed, _WORST, found)


def _check_names(filters: Mapping[str, Filter], free: Mapping[str, Any]) -> None:
    if not isinstance(free, Mapping) or not free:
        example = "write for example free={'t': (0, 10)}"
        raise ParameterError(f"free = {brief(free)} names nothing to tune; {example}")
    for name, bounds in free.items():
        if name == "test_filter":
            if bounds != "best":
                raise ParameterError(
                    f"free['test_filter'] = {bounds!r} is not allowed; take 'best', or give the "
                    "network a test_filter and free its parameter, such as 'test_t'"
                )
            continue
        if name not in ("reg", *filters):
            kinds = (f"{type(f).__name__}, whose parameter is {n!r}" for n, f in filters.items())
            raise ParameterError(
                f"free contains {name!r}, which is unknown here: the filter is "
                f"{' and '.join(kinds)}; choose among {', '.join((*filters, 'reg'))}"
            )
        if name != "reg" and filters[name].deep and filters[name].values.shape[-1] == 0:
            raise ParameterError("the network has no layers to tune; give it at least one")


def _interval(name: str, bounds: Any) -> Interval:
    """Check one pair of bounds."""
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"free[{name!r}] = {bounds!r} is not a pair (low, high)") from None
    given = f"free[{name!r}] = ({low:g}, {high:g})"
    if not low <= high:
        raise ParameterError(f"{given} is empty; the lower bound must come first")
    if name == "reg" and not (low > 0 or (low == 0 and math.isinf(high))):
        raise ParameterError(
            f"{given} is not allowed: the lower bound must be > 0, such as 1e-2; "
            "for any regularization write (0, math.inf)"
        )
    if low == high and math.isinf(low):
        raise ParameterError(f"{given} contains no finite value; widen it")
    return low, high
