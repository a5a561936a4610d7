"""The best depth or number of steps: whole numbers are all tried, each with its own best values of the other free numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.choose.search import FLAT, Optimum, TuneStatus, optimum, with_parameters
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Residual
from gcnlimit.theory.points import Points

_SEARCHES = 100  # whole numbers that are tried, each with a search of the others
_STEPS = 10_000  # numbers of steps that are tried alone


def best_of_depths(
    points: Points, free: Mapping[str, Any], throw: bool, progress: bool | None
) -> Optimum:
    """The best networks at each point, of any of the depths if the depth is free."""
    if "depth" not in free:
        return _best_of_steps(points, free, throw, progress)
    others = {name: bounds for name, bounds in free.items() if name != "depth"}
    low, high = _whole_interval("depth", free["depth"], _SEARCHES)
    name, strength = points.filter.parameter, points.filter.values
    several = name in free and np.ndim(free[name]) > 1
    if several or (name not in free and np.any(strength != strength[:, :1])):
        raise ParameterError(
            f"free['depth'] = ({low}, {high}) needs layers that are alike; "
            f"give {name} one value, or one interval"
        )
    optima = []
    for depth in range(low, high + 1):
        filter = Residual.constant(strength[:, 0], depth)
        optima.append(_best_of_steps(points._replace(filter=filter), others, throw, progress))
    return _highest(optima, range(low, high + 1))


def _best_of_steps(
    points: Points, free: Mapping[str, Any], throw: bool, progress: bool | None
) -> Optimum:
    """The best networks at each point, after any number of steps of the training if that is free: all in one search."""
    if "steps" not in free:
        return optimum(points, free, throw, progress)
    others = {name: bounds for name, bounds in free.items() if name != "steps"}
    low, high = _whole_interval("steps", free["steps"], _SEARCHES if others else _STEPS)
    steps = np.arange(low, high + 1)
    every = points.take(np.tile(np.arange(points.size), steps.size))
    every = with_parameters(every, {"steps": np.repeat(steps, points.size).astype(float)})
    best = optimum(every, others, throw, progress)
    choice, bend, ends = _choice(best.margin.reshape(steps.size, -1))
    rows = choice * points.size + np.arange(points.size)
    return Optimum(
        best.points.take(rows),
        {name: values[rows] for name, values in best.parameters.items()} | {"steps": steps[choice]},
        {name: values[rows] for name, values in best.curvature.items()} | {"steps": bend},
        best.margin[rows],
        np.maximum(best.status[rows], ends),
    )


def _whole_interval(name: str, bounds: Any, most: int) -> tuple[int, int]:
    """Lowest and highest depth or number of steps."""
    try:
        low, high = (int(bound) if float(bound).is_integer() else 0 for bound in bounds)
    except (TypeError, ValueError, OverflowError):
        low = high = 0
    if min(low, high) < 1:
        raise ParameterError(
            f"free[{name!r}] = {bounds!r} is not a pair of whole numbers from 1, such as (1, 8)"
        )
    if not 0 <= high - low < most:
        what = "depths" if name == "depth" else "numbers of steps"
        raise ParameterError(
            f"free[{name!r}] = ({low}, {high}) must hold 1 to {most} {what}: each takes a search"
        )
    return low, high


def _choice(margin: Array) -> tuple[npt.NDArray[np.intp], Array, npt.NDArray[np.int64]]:
    """Place of the best along the first axis, the first of several that are as good; second difference there, and status."""
    tie = FLAT * (1.0 + np.abs(margin))
    choice = np.argmax(margin + tie >= np.max(margin, axis=0), axis=0)
    # No second difference exists at the ends of the interval.
    bend = np.diff(margin, 2, axis=0, prepend=np.nan, append=np.nan)[choice, range(choice.size)]
    ends = np.where(choice == 0, TuneStatus.LOWER_BOUND, TuneStatus.INTERIOR)
    ends = np.where(choice == len(margin) - 1, TuneStatus.UPPER_BOUND, ends)
    return choice, np.nan_to_num(bend), ends


def _highest(optima: Sequence[Optimum], depths: Sequence[int]) -> Optimum:
    """The best depth of each problem, the lowest of several that are as good; its second difference is the curvature."""
    choice, bend, ends = _choice(np.stack([optimum.margin for optimum in optima]))
    problems = np.arange(choice.size)

    def chosen(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return np.asarray(np.stack(columns)[choice, problems])

    first = optima[0]
    numbers = {name: chosen([o.parameters[name] for o in optima]) for name in first.parameters}
    curvature = {name: chosen([o.curvature[name] for o in optima]) for name in numbers}
    depth = np.array(depths)[choice]
    strength = chosen([optimum.points.filter.values[:, 0] for optimum in optima])
    rest = {name: v for name, v in numbers.items() if name != first.points.filter.parameter}
    filter = Residual.constant(strength, depth)
    return Optimum(
        with_parameters(first.points, rest)._replace(filter=filter),
        numbers | {"depth": depth},
        curvature | {"depth": bend},
        chosen([optimum.margin for optimum in optima]),
        np.maximum(chosen([optimum.status for optimum in optima]), ends),
    )
