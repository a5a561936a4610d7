r"""Global maxima on an interval, of many functions at once.

`objective(u, which)` returns the value of problem number ``which[i]`` at the point ``u[i]``, so that thousands of problems
cost a few vectorized calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array

Index = npt.NDArray[np.intp]
Objective = Callable[[Array, Index], Array]

_SCAN = 33  # points of the scan: maxima closer than their spacing may be taken for one
_NUDGE = 1e-6  # distance from an end of the interval at which the function must be lower for the end to be a maximum


class Maxima(NamedTuple):
    """Best point of each problem in the unit cube, its value, the range of values seen, and whether it is settled."""

    u: Array
    value: Array
    range: Array
    converged: npt.NDArray[np.bool_]


def maximize_interval(objective: Objective, problems: int, *, accuracy: float = 4e-16) -> Maxima:
    """Global maximum of each problem on [0, 1].

    The interval is scanned, *every* local maximum of the scan is refined in its bracket (Chandrupatla's method), and the
    best wins; the ends count as maxima if the function falls on leaving them.

    Parameters
    ----------
    objective
        Called with arrays of one axis, points and numbers of problems.
    problems
        Number of problems.
    accuracy
        Relative accuracy of the values.

    Examples
    --------
    >>> bumps = lambda u, which: np.exp(-99 * (u - 0.2) ** 2) + 0.8 * which * np.exp(-99 * (u - 0.9) ** 2)
    >>> maximize_interval(bumps, 3).u[:, 0].round(3)  # the second bump is absent, lower, higher
    array([0.2, 0.2, 0.9])
    """
    from scipy.optimize import elementwise

    grid = np.concatenate([[0.0, _NUDGE], np.linspace(0.0, 1.0, _SCAN)[1:-1], [1.0 - _NUDGE, 1.0]])
    everyone = np.arange(problems)
    values = objective(np.tile(grid, problems), np.repeat(everyone, grid.size)).reshape(problems, grid.size)
    left, middle, right = values[:, :-2], values[:, 1:-1], values[:, 2:]
    which, peak = np.nonzero((middle >= left) & (middle > right))
    refined = elementwise.find_minimum(  # type: ignore[call-overload]
        lambda u, problem: -objective(u, problem.astype(np.intp)) if u.size else u,
        (grid[peak], grid[peak + 1], grid[peak + 2]),
        args=(which.astype(float),),
        tolerances={"xatol": 1e-9, "xrtol": 1e-8, "fatol": 0.0, "frtol": accuracy},
    )
    found = refined.status != -1  # a plateau, level to rounding, is not a bracket
    u = np.where(found, refined.x, grid[peak + 1])
    value = np.where(found, -refined.f_x, values[which, peak + 1])
    return best_of_each(
        np.concatenate([which, everyone, everyone]),
        np.concatenate([u, np.ones(problems), np.zeros(problems)])[:, None],
        np.concatenate([value, favoured(values[:, -1], accuracy), favoured(values[:, 0], accuracy)]),
        np.concatenate([refined.success | ~found, np.ones(2 * problems, bool)]),
        np.ptp(values, axis=1),
    )


def favoured(value: Array, accuracy: float) -> Array:
    """Raise a value by a few rounding errors, so that ties go to the end of the interval."""
    return value + max(1e-13, 10.0 * accuracy) * (1.0 + np.abs(value))


def better(one: Maxima, other: Maxima, *, accuracy: float = 4e-16) -> Maxima:
    """Return the higher of two maxima of each problem; of two equal ones, the second."""
    second = favoured(other.value, accuracy) >= one.value
    columns = (np.where(second if a.ndim == 1 else second[:, None], b, a) for a, b in zip(one, other, strict=True))
    return Maxima(*columns)._replace(range=np.maximum(one.range, other.range))


def best_of_each(which: Index, u: Array, value: Array, settled: npt.NDArray[np.bool_], seen: Array) -> Maxima:
    """The best candidate of each problem."""
    last = np.lexsort((value, which))[np.append(np.flatnonzero(np.diff(np.sort(which))), which.size - 1)]
    return Maxima(u[last], value[last], seen, settled[last])
