"""The free numbers of a network as points of the unit cube, and the margin of the networks there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import broadcast
from gcnlimit._values import Array, brief
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter, PageRank, Polynomial, Residual, SearchScale
from gcnlimit.losses.base import Form
from gcnlimit.network import GCN
from gcnlimit.normalization import NUMBERS
from gcnlimit.numerics.climb import Index
from gcnlimit.penalties import L2
from gcnlimit.results.performance import Status
from gcnlimit.theory.decision import from_margins, mean_margin
from gcnlimit.theory.degrees.solve import check_degrees
from gcnlimit.theory.finite_reg.square import square_margins
from gcnlimit.theory.points import Points
from gcnlimit.theory.predict import Search, find
from gcnlimit.theory.readout import best_readout

Interval = tuple[float, float]
Bounds = Interval | Sequence[Interval]  # of a parameter, or of each of its layers
Mask = npt.NDArray[np.bool_]

_LONGEST = 64  # layers of a chain: on directed graphs the equations of a longer one take minutes
_WORST = -1e3  # margin given to a point without an answer: worse than any other
_ANY_REG = (1e-2, 1e6)  # regularizations searched if any is allowed, over the filter's gain
_ANY_CLOSED = (1e-7, 1e7)  # the same where the margin is closed, at any of them
_FILTERS = ("filter", "test_filter")
_EQUAL_STEPS = SearchScale(to=np.positive, back=np.positive)
_LEAST = {"left": -10.0, "right": -10.0, "tau": 0.0}
_MOST = {"left": 10.0, "right": 10.0, "tau": math.inf}
_SCALES = {
    "reg": SearchScale(to=np.log, back=np.exp, largest=1e6),
    "tau": SearchScale(),
    "left": _EQUAL_STEPS,
    "right": _EQUAL_STEPS,
}


class Method(Enum):
    """How the margins of trials are computed: a word, their relative accuracy, and problems searched together."""

    BEST_READOUT = "explicit, test nodes read through the best filter", 4e-16, 8192
    EXPLICIT = "explicit", 4e-16, 8192
    EXPLICIT_LAYERS = "explicit, layer by layer", 4e-16, 64
    CLOSED = "one equation for one number", 1e-13, 8192
    EQUATIONS = "self-consistent equations", 1e-11, 8192
    LAYERS = "self-consistent equations of all layers, which are slow to solve", 1e-11, 64

    @classmethod
    def of(cls, points: Points, free: Mapping[str, Any]) -> Method:
        """The quickest method for the points with those parameters free."""
        if "test_filter" in free:
            return cls.BEST_READOUT
        explicit = "reg" not in free and bool(np.all(np.isinf(points.reg)))
        alike = points.degrees is None
        short = points.symmetric or explicit or (type(points.filter) is PageRank and alike)
        if not (
            short and (alike or (points.normalization.plain and free.keys().isdisjoint(NUMBERS)))
        ):
            return cls.EXPLICIT_LAYERS if explicit else cls.LAYERS
        if explicit:
            return cls.EXPLICIT
        ridge = points.loss.form is Form.CODES and isinstance(points.penalty, L2)
        one_filter = points.test_filter is None
        closed = ridge and alike and points.features.is_white and one_filter
        return cls.CLOSED if closed else cls.EQUATIONS

    @property
    def accuracy(self) -> float:
        """Relative accuracy of a margin."""
        return self.value[1]

    @property
    def together(self) -> int:
        """Number of problems that are searched together."""
        return self.value[2]

    @property
    def layered(self) -> bool:
        """Whether the equations are those of all layers."""
        return self in (Method.EXPLICIT_LAYERS, Method.LAYERS)

    @property
    def solved(self) -> bool:
        """Whether self-consistent equations are solved, which takes long."""
        return self in (Method.EQUATIONS, Method.LAYERS)


@dataclass(frozen=True)
class FreeNumber:
    """One free number: its interval for each problem and the scale on which it is searched."""

    name: str
    scale: SearchScale
    layer: int  # -1 for a number that all layers share
    low: Array
    high: Array
    unit: Array  # multiplies the number before the scale is applied: the spectral radius, or 1
    asked: Interval

    def value(self, u: Array, which: Index) -> Array:
        """Number at `u` in [0, 1]; an infinite regularization is reached at ``u = 1``."""
        low, high = (self._scaled(end[which], which) for end in (self.low, self.high))
        value = self.scale.back(low + u * (high - low)) / self.unit[which]
        value = np.clip(value, self.low[which], self.high[which])
        unbounded = self.name == "reg" and math.isinf(self.asked[1])
        return np.where(u == 1.0, math.inf if unbounded else self.high[which], value)

    def place(self, value: npt.ArrayLike, which: Index) -> Array:
        """Coordinate in [0, 1] of a number, the inverse of `value`."""
        low, high = (self._scaled(end[which], which) for end in (self.low, self.high))
        at = self._scaled(np.clip(value, self.low[which], self.high[which]), which)
        return np.asarray((at - low) / np.where(high > low, high - low, 1.0))

    def _scaled(self, value: Array, which: Index) -> Array:
        return np.asarray(self.scale.to(value * self.unit[which]))

    @property
    def any_reg(self) -> bool:
        """Whether it is the regularization, and any is allowed; it is then searched in units of the gain."""
        return self.name == "reg" and self.asked[0] == 0.0

    def without(self, refused: Mask) -> FreeNumber:
        """Same number; 0, at which every filter can be computed, for problems that are refused."""
        if self.name == "reg":
            return self
        low, high = (np.where(refused, 0.0, end) for end in (self.low, self.high))
        return replace(self, low=low, high=high)


@dataclass(frozen=True, eq=False)
class NetworkSearch:
    """Problems to tune, points of data and network along one axis, with the free numbers of each."""

    points: Points
    free: Mapping[str, Any]
    method: Method
    numbers: tuple[FreeNumber, ...]
    refused: Mask  # problems without allowed values

    @classmethod
    def of(cls, points: Points, free: Mapping[str, Any], throw: bool = True) -> NetworkSearch:
        """Search over the `free` numbers; `throw` says that a problem which has no allowed values raises an error."""
        method = Method.of(points, free)
        refused = np.zeros(points.size, bool)
        numbers = []
        for name, bounds in free.items():
            if name == "test_filter":
                continue
            filter = named_filters(points).get(name)
            for layer, interval in _intervals(filter, name, bounds):
                allowed = _allowed(points, method, name, interval)
                if throw and np.any(allowed.refused):
                    raise ParameterError(f"free[{name!r}] = {interval} {allowed.reason}")
                refused |= allowed.refused
                low, high, unit, scale = allowed[:4]
                numbers.append(FreeNumber(name, scale, layer, low, high, unit, interval))
        computable = tuple(number.without(refused) for number in numbers)
        return cls(points, free, method, computable, refused)

    @property
    def size(self) -> int:
        """Number of problems."""
        return self.points.size

    @property
    def reg_place(self) -> int:
        """Place of the regularization among the free numbers, -1 if it is not one of them."""
        return next((k for k, number in enumerate(self.numbers) if number.name == "reg"), -1)

    def at_infinite_reg(self, which: Index) -> NetworkSearch:
        """Return the same problems at infinite regularization."""
        others = {name: bounds for name, bounds in self.free.items() if name != "reg"}
        points = self.points.take(which)
        return NetworkSearch.of(points._replace(reg=np.full(which.size, math.inf)), others)

    def values(self, u: Array, which: Index) -> Array:
        """Free numbers at points of the unit cube, one row per point."""
        values = np.empty((which.size, len(self.numbers)))
        for k, number in enumerate(self.numbers):
            values[:, k] = number.value(u[:, k], which)
        points = self.points
        gain_known = points.degrees is None or points.normalization.plain
        if any(number.any_reg for number in self.numbers) and gain_known and not points.normalize:
            # Regularizations are searched in units of the mean square gain of the filters.
            gain = self.trial(values, which).filter.log_gain(points.symmetric)
            values[:, self.reg_place] *= np.exp(np.clip(2.0 * gain, -600.0, 600.0))
        return values

    def start(self, which: Index) -> Array:
        """Networks as they were given, as points of the unit cube."""
        columns = [number.place(self._given(number, which), which) for number in self.numbers]
        return np.stack(columns, axis=1)

    def _given(self, number: FreeNumber, which: Index) -> Array:
        """Value of a number in the network as it was given; 1 for any regularization, or a `tau` of its own choice."""
        if number.name in NUMBERS:
            tau = getattr(self.points.normalization, number.name)
            return np.broadcast_to(1.0 if tau is None else tau, which.size)
        if number.name == "reg":
            return np.ones(which.size) if number.any_reg else self.points.reg[which]
        filter = named_filters(self.points)[number.name]
        values = filter.values[which]
        return np.asarray(values[:, max(number.layer, 0)] if filter.deep else values)

    def by_name(self, values: Array) -> dict[str, Array]:
        """Free parameters by name; the last axis of a parameter given for each layer runs over the layers."""
        columns: dict[str, Any] = {}
        for k, number in enumerate(self.numbers):
            if number.layer < 0:
                columns[number.name] = k
            else:
                columns.setdefault(number.name, []).append(k)
        return {name: values[..., column] for name, column in columns.items()}

    def trial(self, values: Array, which: Index) -> Points:
        """Points of some problems with these values of the free numbers."""
        return with_parameters(self.points.take(which), self.by_name(values))

    def margins(self, values: Array, which: Index) -> Array:
        """Margins of a test node of these networks on the data of their problems; very low where there is no answer."""
        points = self.trial(values, which)
        usable = points.usable()
        margin = np.full(points.size, np.nan)
        if self.method in (Method.BEST_READOUT, Method.CLOSED):
            with np.errstate(all="ignore"):  # a filter or a regularization may be extreme
                taken = points.take(np.flatnonzero(usable))
                best_read = self.method is Method.BEST_READOUT
                margin[usable] = best_readout(taken)[1] if best_read else square_margins(taken)
        else:
            margin = _solved_margins(points, usable)
        return np.where(np.isnan(margin), _WORST, margin)


def _solved_margins(points: Points, usable: Mask) -> Array:
    """Margins of a test node, NaN where there is no answer."""
    answer, _ = find(points, usable, Search(progress=False))
    margin = answer.test_margin
    if points.degrees is not None:
        weight = points.degrees.weight
        margins = answer.test_margin, answer.train_margin
        losses = answer.test_loss, answer.train_loss
        margin, _ = mean_margin(from_margins(points.classes, *margins, *losses, weight=weight))
    return np.where(answer.status == Status.NOT_CONVERGED, np.nan, margin)


def named_filters(network: Points | GCN) -> dict[str, Filter]:
    """Filters of a network by the names of their parameters; those of the test begin with ``test_``."""
    return {f"{'test_' * k}{filter.parameter}": filter for k, filter in enumerate(network.filters)}


def with_parameters(points: Points, parameters: Mapping[str, Array]) -> Points:
    """Same points with other values of the named parameters."""
    changes: dict[str, Any] = {}
    if "reg" in parameters:
        changes["reg"] = parameters["reg"]
    scaled = {name: parameters[name] for name in NUMBERS if name in parameters}
    if scaled:
        changes["normalization"] = points.normalization.replaced(**scaled)
    for field, (name, filter) in zip(_FILTERS, named_filters(points).items(), strict=False):
        if name in parameters:
            changes[field] = _with_parameter(filter, parameters[name])
    return points._replace(**changes)


def _with_parameter(filter: Filter, parameter: Array) -> Filter:
    """Filters with these values of their parameter, of all layers if there is one for each point."""
    if filter.deep and parameter.ndim == 1:
        parameter = np.repeat(parameter[:, None], filter.values.shape[-1], axis=1)
    if isinstance(filter, Polynomial):
        # Only the direction of the coefficients matters, and 0 has none.
        first = np.eye(1, parameter.shape[-1])
        parameter = np.where(np.any(parameter, axis=-1)[:, None], parameter, 1e-9 * first)
    return filter.replaced(parameter)


def start_points(data: CSBM, gcn: GCN, free: Mapping[str, Any]) -> tuple[Points, tuple[int, ...]]:
    """Points from which the search starts, and the shape of the problems; of a free array the first value counts."""
    changes: dict[str, Any] = {}
    if "reg" in free:
        changes["reg"] = float(np.ravel(gcn.reg)[0])
    for field, (name, filter) in zip(_FILTERS, named_filters(gcn).items(), strict=False):
        if name in free:
            changes[field] = filter.ravel(filter.shape)[0]
    normalization = gcn.normalization
    arrays = {name: getattr(normalization, name) for name in NUMBERS if name in free}
    firsts = {name: np.ravel(value)[0] for name, value in arrays.items() if np.ndim(value)}
    network = gcn.replaced(**changes, normalization=normalization.replaced(**firsts))
    network.require_gain(data)
    points = Points.unchecked(data, network)
    check_degrees(points)
    return points, broadcast(data=data.shape, network=network.shape)


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


class _Allowed(NamedTuple):
    """Where a free number can be searched; problems without an allowed value, and why."""

    low: Array
    high: Array
    unit: Array
    scale: SearchScale
    refused: Mask
    reason: str = ""


def _allowed(points: Points, method: Method, name: str, asked: Interval) -> _Allowed:
    """The part of an interval in which networks can be computed."""
    ones = np.ones(points.size)
    nowhere = np.zeros(points.size, bool)
    filter = named_filters(points).get(name)
    scale = _SCALES[name] if filter is None else filter.scale
    if name == "reg" and asked[0] == 0.0:
        least, most = _ANY_CLOSED if method is Method.CLOSED else _ANY_REG
        return _Allowed(least * ones, most * ones, ones, scale, nowhere)
    unit = points.radius if scale.per_radius else ones
    limit = scale.largest / unit
    if scale.strict:
        low, high = np.maximum(asked[0], -limit), np.minimum(asked[1], limit)
        convergent = f"the convergent interval |{name}| < {np.min(limit):.6g} of the data"
        return _Allowed(low, high, unit, scale, low > high, f"lies outside {convergent}")
    far = max((abs(bound) for bound in asked if math.isfinite(bound)), default=0.0)
    limit = np.maximum(limit, 10.0 * far)
    reason = ""
    if method.layered and filter is not None and not filter.deep:
        limit, nowhere, reason = _longest(points, filter, far, limit)
    low, high = (
        np.maximum(asked[0], np.maximum(-limit, _LEAST.get(name, -np.inf))),
        np.minimum(asked[1], limit),
    )
    return _Allowed(low, high, unit, scale, nowhere, reason)


def _longest(points: Points, filter: Filter, far: float, limit: Array) -> tuple[Array, Mask, str]:
    """Largest magnitude, below `limit`, of a continuous filter whose series can be solved layer by layer."""
    reach = points.radius
    tried = np.linspace(0.0, 1.0, 501)[:, None] * limit
    computed = filter.replaced(tried).layers(radius=reach) <= _LONGEST
    allowed = np.max(np.where(computed, tried, 0.0), axis=0)
    layers = filter.replaced(far).layers(radius=reach)
    reason = (
        f"reaches series of {np.max(layers)} layers, too long for a directed graph at finite reg; "
        f"keep |{filter.parameter}| below {np.min(allowed):.3g}, symmetrize, or tune at reg = inf"
    )
    return np.asarray(np.maximum(allowed, far)), layers > _LONGEST, reason


def check_names(data: CSBM, gcn: GCN, free: Mapping[str, Any]) -> None:
    """Refuse what cannot be tuned, and say what can."""
    if not isinstance(free, Mapping) or not free:
        example = "write for example free={'t': (0, 10)}"
        raise ParameterError(f"free = {brief(free)} names nothing to tune; {example}")
    filters = named_filters(gcn)
    depth = ["depth"] if isinstance(gcn.filter, Residual) else []
    scales = NUMBERS if data.degrees is not None else ()
    allowed = (*filters, "reg", *depth, *scales, "test_filter")
    for name, bounds in free.items():
        if name in NUMBERS and not scales:
            raise ParameterError(
                f"free contains {name!r}, which has no effect where all degrees are alike; "
                f"leave it out, or give the data degrees; choose among {', '.join(allowed)}"
            )
        if name not in allowed:
            families = (f"{type(f).__name__}, whose parameter is {n!r}" for n, f in filters.items())
            raise ParameterError(
                f"free contains {name!r}, which is unknown here: the filter is "
                f"{' and '.join(families)}; choose among {', '.join(allowed)}"
            )
        if name == "test_filter" and bounds != "best":
            raise ParameterError(
                f"free['test_filter'] = {bounds!r} is not allowed; take 'best', or give the "
                "network a test_filter and free its parameter, such as 'test_t'"
            )
        if name in filters and filters[name].deep and filters[name].values.shape[-1] == 0:
            raise ParameterError("the network has no layers to tune; give it at least one")


def _interval(name: str, bounds: Any) -> Interval:
    """Check one pair of bounds."""
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"free[{name!r}] = {bounds!r} is not a pair (low, high)") from None
    asked = f"free[{name!r}] = ({low:g}, {high:g})"
    if not low <= high:
        raise ParameterError(f"{asked} is empty; the lower bound must come first")
    if name == "reg" and not (low > 0 or (low == 0 and math.isinf(high))):
        raise ParameterError(
            f"{asked} is not allowed: the lower bound must be > 0, such as 1e-2; "
            "for any regularization write (0, math.inf)"
        )
    if name in NUMBERS and not (_LEAST[name] <= low and high <= _MOST[name]):
        raise ParameterError(
            f"{asked} is not allowed; stay between {_LEAST[name]:g} and {_MOST[name]:g}"
        )
    if low == high and math.isinf(low):
        raise ParameterError(f"{asked} contains no finite value; widen it")
    # No wider interval exists below tau = 0: an optimum there is at a limit of the family.
    return (-math.inf, high) if name == "tau" and low == 0.0 < high else (low, high)
