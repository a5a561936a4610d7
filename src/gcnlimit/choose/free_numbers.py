"""The free numbers of a network: their names, their bounds, and the scales on which they are searched."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import reals
from gcnlimit._values import Array, Mask, shown
from gcnlimit.choose.method import Method
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter, Residual, SearchScale
from gcnlimit.network import GCN
from gcnlimit.normalization import NUMBERS
from gcnlimit.numerics.climb import Index
from gcnlimit.parameters import TIMES, long_name
from gcnlimit.penalties import L2
from gcnlimit.theory.points import Points

Interval = tuple[float, float]
Bounds = Interval | Sequence[Interval]  # of a parameter, or of each of its layers

MOST_NUMBERS = 32
"""Free numbers that are searched together: their climbs take seconds at 8, and the time grows with the square."""
_SEARCHED = 40  # layers up to which a series without bounds is searched, in half a minute
_ANY_REG = (1e-2, 1e6)  # regularizations searched if any is allowed, over the filter's gain
_ANY_CLOSED = (1e-7, 1e7)  # the same where the margin is closed, at any of them
_ANY_TIME = (1e-5, 1e6)  # times and step sizes searched if any is allowed, times the squared gain
_EQUAL_STEPS = SearchScale(to=np.positive, back=np.positive)
_LEAST = {"left": -10.0, "right": -10.0, "tau": 0.0}
_MOST = {"left": 10.0, "right": 10.0, "tau": math.inf}
GAINS = {"reg": 2.0, "time": -2.0, "rate": -2.0}
"""Numbers that are searched by their logarithm, and the power of the filter's gain that is their unit."""
_SCALES = {
    **dict.fromkeys(GAINS, SearchScale(to=np.log, back=np.exp, largest=1e6)),
    "tau": SearchScale(),
    "left": _EQUAL_STEPS,
    "right": _EQUAL_STEPS,
}


@dataclass(frozen=True, eq=False)
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
        """Number at `u` in [0, 1]; an infinite regularization or time is reached at ``u = 1``."""
        low, high = (self._scaled(end[which], which) for end in (self.low, self.high))
        value = self.scale.back(low + u * (high - low)) / self.unit[which]
        value = np.clip(value, self.low[which], self.high[which])
        unbounded = self.name in ("reg", "time") and math.isinf(self.asked[1])
        return np.where(u == 1.0, math.inf if unbounded else self.high[which], value)

    def place(self, value: npt.ArrayLike, which: Index) -> Array:
        """Coordinate in [0, 1] of a number, the inverse of `value`."""
        low, high = (self._scaled(end[which], which) for end in (self.low, self.high))
        at = self._scaled(np.clip(value, self.low[which], self.high[which]), which)
        return np.asarray((at - low) / np.where(high > low, high - low, 1.0))

    def _scaled(self, value: Array, which: Index) -> Array:
        return np.asarray(self.scale.to(value * self.unit[which]))

    @property
    def anything(self) -> bool:
        """Whether it is a regularization, time or step size, and any is allowed: then it is searched in units of the gain."""
        return self.name in GAINS and self.asked[0] == 0.0


def free_numbers(
    points: Points, free: Mapping[str, Any], method: Method
) -> tuple[tuple[FreeNumber, ...], Mask, str]:
    """The free numbers, which problems have no allowed values, and the first reason."""
    filters = named_filters(points.filters)
    refused = np.zeros(points.size, bool)
    reason = ""
    numbers = []
    for name, bounds in free.items():
        if name == "test_filter":
            continue
        filter = filters.get(name)
        scale = _SCALES[name] if filter is None else filter.scale
        for layer, asked in _intervals(filter, name, bounds):
            low, high, unit, outside, why = _allowed(points, method, filter, name, asked)
            if np.any(outside):
                reason = reason or f"free[{name!r}] = {asked} {why}"
            refused |= outside
            numbers.append(FreeNumber(name, scale, layer, low, high, unit, asked))
    if len(numbers) > MOST_NUMBERS:
        told = f"free contains {len(numbers)} numbers, and more than {MOST_NUMBERS} take minutes"
        raise ParameterError(f"{told}; free fewer, such as one interval for all layers")
    for number in numbers:
        if number.name not in GAINS:  # every filter can be computed at 0
            number.low[refused] = number.high[refused] = 0.0
    return tuple(numbers), refused, reason


def named_filters(filters: Iterable[Filter]) -> dict[str, Filter]:
    """Filters of training and test by the names of their parameters; those of the test begin with ``test_``."""
    return {f"{'test_' * k}{filter.parameter}": filter for k, filter in enumerate(filters)}


def _intervals(filter: Filter | None, name: str, bounds: Bounds) -> Iterable[tuple[int, Interval]]:
    """Layer and interval of each free number: one for all layers (-1), or one for each."""
    depth = filter.values.shape[-1] if filter is not None and filter.deep else -1
    if not (isinstance(bounds, Sequence) and all(isinstance(pair, Sequence) for pair in bounds)):
        layers = range(0 if filter is None or filter.shared else depth)
        return [(layer, _interval(name, bounds)) for layer in layers or [-1]]
    if len(bounds) != depth:
        told = f"free[{name!r}] = {shown(bounds)} is neither a pair (low, high)"
        raise ParameterError(f"{told} nor one pair for each layer of the network")
    return enumerate(_interval(name, pair) for pair in bounds)


def _allowed(
    points: Points, method: Method, filter: Filter | None, name: str, asked: Interval
) -> tuple[Array, Array, Array, Mask, str]:
    """Ends of an interval in which networks can be computed, and their unit; problems without one, and why."""
    if name == "reg" and math.isinf(asked[1]):
        told = f"free['reg'] = {asked} reaches infinity,"
        remedy = "take bounds that are finite and above 0"
        if not isinstance(points.penalty, L2):
            raise ParameterError(f"{told} not allowed with penalty = {points.penalty!r}; {remedy}")
        if points.training is not None:
            raise ParameterError(f"{told} where nothing is left to train; {remedy}")
    ones = np.ones(points.size)
    nowhere = np.zeros(points.size, bool)
    if name in GAINS and asked[0] == 0.0:
        any_reg = _ANY_CLOSED if method is Method.CLOSED else _ANY_REG
        least, most = any_reg if name == "reg" else _ANY_TIME
        return least * ones, most * ones, ones, nowhere, ""
    if name in NUMBERS and points.degrees is not None:
        for end in (bound for bound in asked if math.isfinite(bound)):
            points.normalization.replaced(**{name: end}).check(points.degrees)
    scale = _SCALES[name] if filter is None else filter.scale
    unit = points.radius if scale.per_radius else ones
    limit = scale.largest / unit
    if scale.strict:
        low, high = np.maximum(asked[0], -limit), np.minimum(asked[1], limit)
        convergent = f"the convergent interval |{name}| < {np.min(limit):.6g} of the data"
        return low, high, unit, low > high, f"lies outside {convergent}"
    far = max((abs(bound) for bound in asked if math.isfinite(bound)), default=0.0)
    limit = np.maximum(limit, 10.0 * far)
    reason = ""
    if method.layered and filter is not None and not filter.deep:
        limit, nowhere, reason = _longest(points, filter, far, limit)
    # an infinite bound ends where the scale of the filter saturates, and beyond all that was asked
    lowest = np.maximum(-limit, _LEAST.get(name, -np.inf))
    low, high = np.maximum(asked[0], lowest), np.minimum(asked[1], limit)
    return low, high, unit, nowhere, reason


def _longest(points: Points, filter: Filter, far: float, limit: Array) -> tuple[Array, Mask, str]:
    """Largest magnitude, below `limit`, of a continuous filter whose series can be solved layer by layer."""
    reach = points.radius
    longest = points.longest()
    # lengths of series grow in steps: on a grid, the last that is short enough
    tried = np.linspace(0.0, 1.0, 501)[:, None] * limit
    needed = filter.replaced(tried).layers(radius=reach)
    allowed, searched = (
        np.max(np.where(needed <= most, tried, 0.0), axis=0)
        for most in (longest, min(longest, _SEARCHED))
    )
    layers = filter.replaced(far).layers(radius=reach)
    reason = (
        f"reaches series of {np.max(layers)} layers, too long for a directed graph at finite reg; "
        f"keep |{filter.parameter}| below {np.min(allowed):.3g}, symmetrize, or tune at reg = inf"
    )
    return np.asarray(np.maximum(searched, far)), layers > longest, reason


def check_free(gcn: GCN, free: Mapping[str, Any], scales: Sequence[str]) -> None:
    """Refuse what cannot be tuned, and say what can; `scales` are the numbers of a normalization that has an effect."""
    if not isinstance(free, Mapping) or not len(free):
        example = "write for example free={'t': (0, 10)}"
        raise ParameterError(f"free = {shown(free)} names nothing to tune; {example}")
    filters = named_filters(gcn.filters)
    depth = ["depth"] if isinstance(gcn.filter, Residual) else []
    times = [] if gcn.training is None else gcn.training.tuned
    allowed = (*filters, "reg", *depth, *times, *scales, "test_filter")
    families = [f"{type(f).__name__}, whose parameter is {n!r}" for n, f in filters.items()]
    for key, bounds in free.items():
        name = key if isinstance(key, str) else shown(key)
        reason = f"is unknown here: the filter is {' and '.join(families)}"
        if name in TIMES:
            give = "give GCN(training=...) a GradientFlow to tune time, a GradientDescent to tune"
            reason = f"is not tuned in training = {gcn.training!r}; {give} steps and rate"
        if name in ("alpha", "lam", "mu", "rho", "noise"):
            reason = "is a parameter of the data, where only those of the network are tuned"
        if name in NUMBERS:
            remedy = "leave it out, or give the data degrees"
            reason = f"has no effect where all degrees are alike; {remedy}"
        if name not in allowed:
            use = f"choose among {', '.join(allowed)}"
            raise ParameterError(f"free contains {shown(name)}, which {reason}; {use}")
        if name == "test_filter" and bounds != "best":
            told = f"free['test_filter'] = {shown(bounds)} is not allowed"
            other = "give the network a test_filter and free its parameter, such as 'test_t'"
            raise ParameterError(f"{told}; take 'best', or {other}")
        if name in filters and filters[name].deep and filters[name].values.shape[-1] == 0:
            raise ParameterError("the network has no layers to tune; give it at least one")
    if "depth" in free:
        name, strength = gcn.filter.parameter, gcn.filter.values
        alike = np.ndim(free[name]) < 2 if name in free else np.all(strength == strength[..., :1])
        if not alike or not strength.size:
            told = f"free['depth'] = {free['depth']!r} needs layers that are alike"
            raise ParameterError(f"{told}; give {name} one value, or one interval")


def _interval(name: str, bounds: Any) -> Interval:
    """Check one pair of bounds."""
    try:
        low, high = map(float, reals(f"free[{name!r}]", bounds))
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(
            f"free[{name!r}] = {shown(bounds)} is not a pair (low, high)"
        ) from None
    asked = f"free[{name!r}] = ({low:g}, {high:g})"
    if not low <= high:
        raise ParameterError(f"{asked} is empty; the lower bound must come first")
    if name in GAINS and not (low > 0 or (low == 0 and math.isinf(high))):
        told = f"{asked} is not allowed: the lower bound must be > 0, such as 1e-2"
        raise ParameterError(f"{told}; for any {long_name(name)} write (0, math.inf)")
    if name in NUMBERS and not (_LEAST[name] <= low and high <= _MOST[name]):
        raise ParameterError(f"{asked} must stay between {_LEAST[name]:g} and {_MOST[name]:g}")
    if low == high and math.isinf(low):
        raise ParameterError(f"{asked} contains no finite value; widen it")
    # No wider interval exists below tau = 0: an optimum there is at a limit of the family.
    return (-math.inf, high) if name == "tau" and low == 0.0 < high else (low, high)
