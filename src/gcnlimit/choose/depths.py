"""The best depth: integers are searched one after the other, each with its own best values of the other free numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit.choose.search import FLAT, Optimum, TuneStatus, optimum, with_parameters
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Residual
from gcnlimit.theory.points import Points

_DEPTHS = 100  # that are searched one after the other


def best_of_depths(
    points: Points, free: Mapping[str, Any], throw: bool, progress: bool | None
) -> Optimum:
    """The best networks at each point, of any of the depths if the depth is free."""
    if "depth" not in free:
        return optimum(points, free, throw, progress)
    others = {name: bounds for name, bounds in free.items() if name != "depth"}
    low, high = _whole_interval(free["depth"])
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
        optima.append(optimum(points._replace(filter=filter), others, throw, progress))
    return _highest(optima, range(low, high + 1))


def _whole_interval(bounds: Any) -> tuple[int, int]:
    """Lowest and highest depth."""
    try:
        low, high = (int(bound) if float(bound).is_integer() else 0 for bound in bounds)
    except (TypeError, ValueError, OverflowError):
        low = high = 0
    if min(low, high) < 1:
        raise ParameterError(
            f"free['depth'] = {bounds!r} is not a pair of whole numbers from 1, such as (1, 8)"
        )
    if not 0 <= high - low < _DEPTHS:
        raise ParameterError(
            f"free['depth'] = ({low}, {high}) must hold 1 to {_DEPTHS} depths: each takes a search"
        )
    return low, high


def _highest(optima: Sequence[Optimum], depths: Sequence[int]) -> Optimum:
    """The best depth of each problem, the lowest of several that are as good; its second difference is the curvature."""
    margin = np.stack([optimum.margin for optimum in optima])
    tie = FLAT * (1.0 + np.abs(margin))
    choice = np.argmax(margin + tie >= np.max(margin, axis=0), axis=0)
    problems = np.arange(choice.size)

    def chosen(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return np.asarray(np.stack(columns)[choice, problems])

    first = optima[0]
    numbers = {name: chosen([o.parameters[name] for o in optima]) for name in first.parameters}
    curvature = {name: chosen([o.curvature[name] for o in optima]) for name in numbers}
    # No second difference exists at the ends of the interval.
    bend = np.diff(margin, 2, axis=0, prepend=np.nan, append=np.nan)[choice, problems]
    ends = np.where(choice == 0, TuneStatus.LOWER_BOUND, TuneStatus.INTERIOR)
    ends = np.where(choice == len(depths) - 1, TuneStatus.UPPER_BOUND, ends)
    depth = np.array(depths)[choice]
    strength = chosen([optimum.points.filter.values[:, 0] for optimum in optima])
    rest = {name: v for name, v in numbers.items() if name != first.points.filter.parameter}
    filter = Residual.constant(strength, depth)
    return Optimum(
        with_parameters(first.points, rest)._replace(filter=filter),
        numbers | {"depth": depth},
        curvature | {"depth": np.nan_to_num(bend)},
        chosen([optimum.margin for optimum in optima]),
        np.maximum(chosen([optimum.status for optimum in optima]), ends),
    )
