"""The search for the best networks: free numbers as points of the unit cube, climbed to the highest margin."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.progress import progress_bar
from gcnlimit._values import Array, Integers, Mask
from gcnlimit.choose.free_numbers import GAINS, FreeNumber, free_numbers, named_filters
from gcnlimit.choose.method import Method
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter, Polynomial, Residual
from gcnlimit.normalization import NUMBERS
from gcnlimit.numerics import maximize
from gcnlimit.numerics.climb import Index, Objective
from gcnlimit.numerics.maximize import Maxima
from gcnlimit.penalties import L2
from gcnlimit.results.performance import Outcome
from gcnlimit.theory.points import Points

_SPREAD = 256  # evenly spread starts at most
_CLIMBS = 16  # climbs at most: the layers of a network can be exchanged, and many starts are alike
_SLOW_CLIMBS = 4  # the same where equations are solved
_APART = 0.1  # distance of the starts: else all would lie on the plateau of large regularization
_NEAR = 0.05  # distance of a wall that is worth trying where evaluations are expensive
_FLAT = 1e-12  # range of explicit margins below which no choice is better than another

_LOST = -100.0  # margin below that of any network that has an answer


class TuneStatus(Outcome):
    """Position of an optimum within the bounds of its search."""

    INTERIOR = 0, "the optimum lies inside the bounds"
    LOWER_BOUND = 1, "the optimum is at a lower bound; a wider interval may hold a better network"
    UPPER_BOUND = 2, "the optimum is at an upper bound; a wider interval may hold a better network"
    INFINITE = 3, "accuracy rises to a limit of the family (infinity, reg = 0, pole of PageRank)"
    FLAT = 4, "the accuracy does not depend on the parameters; an end of the interval is reported"
    NOT_CONVERGED = 5, "not settled, or beside networks without an answer; change start or bounds"
    REFUSED = 6, "no network within the bounds can be computed at this point; narrow the bounds"


@dataclass(frozen=True, eq=False)
class NetworkSearch:
    """Problems to tune, points of data and network along one axis, with the free numbers of each."""

    points: Points
    free: Mapping[str, Any]
    method: Method
    numbers: tuple[FreeNumber, ...]
    refused: Mask  # problems without allowed values
    refusal: str  # of the first of them

    @classmethod
    def of(cls, points: Points, free: Mapping[str, Any]) -> NetworkSearch:
        """Search over the `free` numbers."""
        method = Method.of(points, free)
        return cls(points, free, method, *free_numbers(points, free, method))

    @property
    def reg_place(self) -> int:
        """Place of the regularization among the free numbers, -1 if it is not one of them."""
        return next((k for k, number in enumerate(self.numbers) if number.name == "reg"), -1)

    def values(self, u: Array, which: Index) -> Array:
        """Free numbers at points of the unit cube, one row per point."""
        values = np.empty((which.size, len(self.numbers)))
        for k, number in enumerate(self.numbers):
            values[:, k] = number.value(u[:, k], which)
        points = self.points
        gain_known = points.degrees is None or points.normalization.plain
        if any(number.anything for number in self.numbers) and gain_known and not points.normalize:
            # regularizations and times are in units of the mean square gain of the filters
            gain = self.trial(values, which).filter.log_gain(points.symmetric)
            for k, number in enumerate(self.numbers):
                if number.anything:
                    values[:, k] *= np.exp(np.clip(GAINS[number.name] * gain, -600.0, 600.0))
        return values

    def start(self, which: Index) -> Array:
        """Networks as they were given, as points of the unit cube."""
        columns = [number.place(self._given(number, which), which) for number in self.numbers]
        return np.stack(columns, axis=1)

    def _given(self, number: FreeNumber, which: Index) -> Array:
        """Value of a number in the given network; 1 if any regularization or time is searched, and for the default `tau`."""
        if number.name in NUMBERS:
            tau = getattr(self.points.normalization, number.name)
            return np.broadcast_to(1.0 if tau is None else tau, which.size)
        if number.anything:
            return np.ones(which.size)
        if number.name == "reg":
            return self.points.reg[which]
        if number.name in GAINS:
            return np.asarray(getattr(self.points.training, number.name))[which]
        filter = named_filters(self.points.filters)[number.name]
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
        return self.method.margins(self.trial(values, which))


def with_parameters(points: Points, parameters: Mapping[str, Array]) -> Points:
    """Same points with other values of the named parameters; a depth is that of layers that are alike."""
    changes: dict[str, Any] = {}
    if "reg" in parameters:
        changes["reg"] = parameters["reg"]
    if points.training is not None:
        times = {name: parameters[name] for name in points.training.names if name in parameters}
        changes["training"] = points.training.having(**times)
    scaled = {name: parameters[name] for name in NUMBERS if name in parameters}
    if scaled:
        changes["normalization"] = points.normalization.replaced(**scaled)
    for place, filter in zip(("", "test_"), points.filters, strict=False):
        if (name := f"{place}{filter.parameter}") in parameters:
            changes[f"{place}filter"] = _with_parameter(filter, parameters[name])
    if "depth" in parameters:
        strength = changes.get("filter", points.filter).values[:, 0]
        changes["filter"] = Residual.constant(strength, parameters["depth"])
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


class Optimum(NamedTuple):
    """The best networks, problems along one axis; the margin is NaN where a problem was refused."""

    points: Points
    parameters: dict[str, Array]
    curvature: dict[str, Array]
    margin: Array
    status: Integers


def optimum(
    points: Points, free: Mapping[str, Any], throw: bool = True, progress: bool | None = False
) -> Optimum:
    """The best networks at each point over the free numbers; with `throw` a refused point raises an error."""
    search = NetworkSearch.of(points, free)
    if throw and search.refusal:
        raise ParameterError(search.refusal)
    best = _maximized(search, progress)
    every = np.arange(points.size)
    values = search.values(best.u, every)
    curvature = _curvature(search, values) if search.numbers else values
    return Optimum(
        search.trial(values, every),
        search.by_name(values),
        search.by_name(curvature),
        np.where(search.refused, np.nan, best.value),
        _status(search, best, curvature),
    )


def highest(
    points: Points, optima: Sequence[Optimum], name: str, tried: npt.NDArray[Any]
) -> Optimum:
    """Optima of each problem at the best of the whole numbers, the lowest of several that are as good.

    The second difference of the margin there is the curvature, 0 at the ends of the interval.
    """
    margin = np.concatenate([optimum.margin for optimum in optima]).reshape(tried.size, -1)
    tie = _FLAT * (1.0 + np.abs(margin))
    choice = np.argmax(margin + tie >= np.max(margin, axis=0), axis=0)
    problems = np.arange(points.size)
    rows = choice * points.size + problems

    def chosen(columns: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
        return {key: np.concatenate([part[key] for part in columns])[rows] for key in columns[0]}

    bend = np.diff(margin, 2, axis=0, prepend=np.nan, append=np.nan)[choice, problems]
    ends = np.where(choice == 0, TuneStatus.LOWER_BOUND, TuneStatus.INTERIOR)
    ends = np.where(choice == tried.size - 1, TuneStatus.UPPER_BOUND, ends)
    numbers = chosen([optimum.parameters for optimum in optima]) | {name: tried[choice]}
    curvature = chosen([optimum.curvature for optimum in optima])
    status = np.concatenate([optimum.status for optimum in optima])[rows]
    return Optimum(
        with_parameters(points, numbers),
        numbers,
        curvature | {name: np.nan_to_num(bend)},
        margin[choice, problems],
        np.maximum(status, ends),
    )


def _maximized(search: NetworkSearch, progress: bool | None = False) -> Maxima:
    """Best points of all problems that are not refused, a block of them at a time."""
    rows = np.flatnonzero(~search.refused)
    n = search.points.size
    best = Maxima(np.zeros((n, len(search.numbers))), np.zeros(n), np.ones(n), np.ones(n, bool))
    if not search.numbers:  # nothing to search beside the depth or the best filter at test
        best.value[rows] = search.margins(best.u[rows], rows)
        return best
    together = search.method.together
    blocks = [rows[k : k + together] for k in range(0, rows.size, together)]
    with progress_bar("tuning", len(blocks), progress, unit="batches") as bar:
        for block in blocks:
            for column, part in zip(best, _maximize_block(search, block), strict=True):
                column[block] = part
            bar.advance(1)
    return best


def _maximize_block(search: NetworkSearch, block: Index) -> Maxima:
    def objective(u: Array, which: Index) -> Array:
        rows = block[which]
        return search.margins(search.values(u.reshape(rows.size, -1), rows), rows)

    accuracy = search.method.accuracy
    count = len(search.numbers)
    if count == 1:
        return maximize.maximize_interval(objective, block.size, accuracy=accuracy)
    keep, apart = min(4 * count, _CLIMBS), 0.0
    candidates = _candidates(search, block)
    at_infinity = None
    if search.method is Method.STOPPED:  # slow: few climbs
        keep, apart = _SLOW_CLIMBS, _APART
    elif search.reg_place >= 0 and np.isinf(search.numbers[search.reg_place].asked[1]):
        # the filters that are best at infinite regularization, at every regularization
        at_infinity = _at_infinity(search, block)
        rays = np.repeat(at_infinity.u[:, None], 33, axis=1)
        rays[:, :, search.reg_place] = np.linspace(0.0, 1.0, 33)
        if search.method is Method.LAYERS:
            return _along_rays(objective, rays[:, ::2], at_infinity, accuracy)
        candidates, apart = np.concatenate([rays, candidates], axis=1), _APART
    elif search.reg_place < 0 and search.method.solved and isinstance(search.points.penalty, L2):
        # slow: few climbs, one from the optimum at infinity, where all is explicit
        explicit = _at_infinity(search, block).u[:, None]
        candidates = np.concatenate([explicit, candidates], axis=1)
        keep, apart = _SLOW_CLIMBS, _APART
    best = maximize.maximize_box(objective, candidates, keep=keep, apart=apart, accuracy=accuracy)
    return best if at_infinity is None else maximize.better(best, at_infinity, accuracy=accuracy)


def _along_rays(objective: Objective, rays: Array, at_infinity: Maxima, accuracy: float) -> Maxima:
    """Maxima where evaluations are expensive: climbs from the best of the rays, where it exceeds infinite regularization."""
    problems, count, d = rays.shape
    every = np.repeat(np.arange(problems), count)
    values = objective(rays.reshape(-1, d), every).reshape(problems, count)
    best = at_infinity._replace(range=np.maximum(at_infinity.range, np.ptp(values, axis=1)))
    rows = np.flatnonzero(np.max(values, axis=1) > at_infinity.value)
    if not rows.size:
        return best

    # a single climb for each: every step solves the equations of all layers
    first = rays[rows, np.argmax(values[rows], axis=1)][:, None]
    seen = best.range[rows]
    climbed = maximize.maximize_from(
        lambda u, which: objective(u, rows[which]), first, seen, walls=_NEAR, accuracy=accuracy
    )
    infinite: Any = (column[rows] for column in best)
    higher = maximize.better(climbed, Maxima(*infinite), accuracy=accuracy)
    for column, value in zip(best, higher, strict=True):
        column[rows] = value
    return best


def _candidates(search: NetworkSearch, block: Index) -> Array:
    """Starts of the climbs: the network as given, evenly spread points, and the diagonal, where all layers are equal."""
    d = len(search.numbers)
    # Networks of equal layers are the simplest: no choice of each layer may end below them.
    diagonal = np.repeat(np.linspace(0.02, 0.98, 17)[:, None], d, axis=1)
    common = np.concatenate([maximize.spread(min(16 * d * d, _SPREAD), d), diagonal])
    common = np.broadcast_to(common, (block.size, *common.shape))
    return np.concatenate([search.start(block)[:, None], common], axis=1)


def _at_infinity(search: NetworkSearch, block: Index) -> Maxima:
    """Optima at infinite regularization, as points of the cube with one more coordinate."""
    bounds = {name: asked for name, asked in search.free.items() if name != "reg"}
    points = search.points.take(block)._replace(reg=np.full(block.size, math.inf))
    face = NetworkSearch.of(points, bounds)
    best = _maximized(face)
    values = face.values(best.u, np.arange(block.size))
    # the same numbers, placed in the intervals of the search at finite regularization
    others = [number for number in search.numbers if number.name != "reg"]
    u = np.stack([number.place(values[:, k], block) for k, number in enumerate(others)], axis=1)
    if search.reg_place >= 0:
        u = np.insert(u, search.reg_place, 1.0, axis=1)
    return best._replace(u=u)


def _curvature(search: NetworkSearch, values: Array) -> Array:
    """Second derivatives of the margin, by differences inside the bounds, in one call; 0 at infinity, NaN beside no answer."""
    count = len(search.numbers)
    trials = np.tile(values, (count, 3, 1, 1))
    step = np.ones_like(values)
    finite = np.zeros(values.shape, bool)
    for k, number in enumerate(search.numbers):
        log = number.name in GAINS
        ends: Any = (1e-300, 1e300) if number.anything else (number.low, number.high)
        low, high, at = (np.log(p) if log else p for p in (*ends, values[:, k]))
        size = np.where(np.isinf(at), 0.0, np.abs(at))
        # Three points must fit into the interval; at a bound the difference is taken beside it.
        h = np.minimum(1e-3 * (1.0 + size), (high - low) / 4.0)
        centre = np.clip(at, low + h, np.maximum(high - h, low + h))
        moved = centre + np.outer((-1.0, 0.0, 1.0), h)
        trials[k, :, :, k] = np.exp(moved) if log else moved
        finite[:, k] = np.isfinite(at) & (high > low)
        step[:, k] = np.where(finite[:, k], h, 1.0)
    every = np.tile(np.arange(search.points.size), 3 * count)
    margins = search.margins(trials.reshape(-1, count), every)
    below, middle, above = margins.reshape(count, 3, -1).swapaxes(0, 1)
    bend = np.where(np.minimum(below, above) > _LOST, below - 2.0 * middle + above, np.nan)
    return np.where(finite, bend.T / step**2, 0.0)


def _status(search: NetworkSearch, best: Maxima, curvature: Array) -> Integers:
    """Where each optimum lies: the most noteworthy of its coordinates."""
    status = np.full(search.points.size, TuneStatus.INTERIOR)
    for k, number in enumerate(search.numbers):
        asked = number.asked
        # a bound that was not asked for is one of the family, such as a pole
        lower = np.where(number.low == asked[0], TuneStatus.LOWER_BOUND, TuneStatus.INFINITE)
        upper = np.where(number.high == asked[1], TuneStatus.UPPER_BOUND, TuneStatus.INFINITE)
        for end, where in ((0.0, lower), (1.0, upper)):
            status = np.where(best.u[:, k] == end, np.maximum(status, where), status)
    flat = max(_FLAT, 10.0 * search.method.accuracy)
    status = np.where(best.range <= flat, TuneStatus.FLAT, status)
    beside = np.isnan(curvature).any(axis=1) & (status == TuneStatus.INTERIOR)
    settled = best.converged & (best.value > _LOST) & ~beside
    return np.where(settled | search.refused, status, TuneStatus.NOT_CONVERGED)
