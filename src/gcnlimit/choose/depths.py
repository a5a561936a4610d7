"""The best depth or number of steps: whole numbers are all tried, each with its own best values of the other free numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit.choose.search import Optimum, highest, optimum, with_parameters
from gcnlimit.errors import ParameterError
from gcnlimit.theory.points import Points

_SEARCHES = 100  # whole numbers that are tried, each with a search of the others
_STEPS = 10_000  # numbers of steps that are tried alone


def best_of_depths(
    points: Points, free: Mapping[str, Any], throw: bool, progress: bool | None
) -> Optimum:
    """The best networks at each point, of any depth and after any number of steps of the training if these are free."""
    name = next((name for name in ("depth", "steps") if name in free), None)
    if name is None:
        return optimum(points, free, throw, progress)
    others = {other: bounds for other, bounds in free.items() if other != name}
    low, high = _whole_interval(name, free[name], _STEPS if free.keys() == {"steps"} else _SEARCHES)
    tried: npt.NDArray[Any] = np.arange(low, high + 1)
    if name == "steps":
        every = points.take(np.tile(np.arange(points.size), tried.size))
        trials = [with_parameters(every, {name: np.repeat(tried, points.size).astype(float)})]
    else:  # one by one: in one search all chains would be as long as the longest
        trials = [with_parameters(points, {name: depth}) for depth in tried]
    optima = [best_of_depths(trial, others, throw, progress) for trial in trials]
    return highest(points, optima, name, tried)


def _whole_interval(name: str, bounds: Any, most: int) -> tuple[int, int]:
    """Lowest and highest depth or number of steps."""
    try:
        low, high = (int(bound) if float(bound).is_integer() else 0 for bound in bounds)
    except (TypeError, ValueError, OverflowError):
        low = high = 0
    if min(low, high) < 1:
        told = f"free[{name!r}] = {bounds!r} is not a pair of whole numbers from 1"
        raise ParameterError(f"{told}, such as (1, 8)")
    if not 0 <= high - low < most:
        what = "depths" if name == "depth" else "numbers of steps"
        told = f"free[{name!r}] = ({low}, {high}) must hold 1 to {most} {what}"
        raise ParameterError(f"{told}: each takes a search")
    return low, high
