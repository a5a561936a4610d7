r"""Global maxima of many functions at once: on an interval, and in a cube by climbing from many starts.

`objective(u, which)` returns the value of problem number ``which[i]`` at the point ``u[i]``, so that thousands of problems
cost a few vectorized calls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gcnlimit._values import Array, Mask
from gcnlimit.numerics.climb import FIRST, Ascent, Index, Objective, ascend

_SCAN = 33  # points of the scan: maxima closer than their spacing may be taken for one
_NUDGE = 1e-6  # from an end of the interval: where the function is lower if the end is a maximum
_TOGETHER = 32  # climbs whose gradients are taken in the call of their values


class Maxima(NamedTuple):
    """Best point of each problem in the unit cube, its value, the range of values seen, and whether it is settled."""

    u: Array
    value: Array
    range: Array
    converged: Mask


def maximize_interval(objective: Objective, problems: int, *, accuracy: float = 4e-16) -> Maxima:
    """Global maximum of each problem on [0, 1].

    The interval is scanned, *every* local maximum of the scan is refined in its bracket (Chandrupatla's method), and the
    best wins; the ends count as maxima if the function falls on leaving them. `accuracy` is that of the values, relative.

    >>> bumps = lambda u, which: np.exp(-99 * (u - 0.2) ** 2) + 0.8 * which * np.exp(-99 * (u - 0.9) ** 2)
    >>> maximize_interval(bumps, 3).u[:, 0].round(3)  # the second bump is absent, lower, higher
    array([0.2, 0.2, 0.9])
    """
    from scipy.optimize import elementwise

    grid = np.concatenate([[0.0, _NUDGE], np.linspace(0.0, 1.0, _SCAN)[1:-1], [1.0 - _NUDGE, 1.0]])
    everyone = np.arange(problems)
    values = objective(np.tile(grid, problems), np.repeat(everyone, grid.size))
    values = values.reshape(problems, grid.size)
    middle = values[:, 1:-1]
    which, peak = np.nonzero((middle >= values[:, :-2]) & (middle > values[:, 2:]))
    refined = elementwise.find_minimum(  # type: ignore[call-overload]
        lambda u, problem: -objective(u, problem.astype(np.intp)) if u.size else u,
        (grid[peak], grid[peak + 1], grid[peak + 2]),
        args=(which.astype(float),),
        tolerances={"xatol": 1e-9, "xrtol": 1e-8, "fatol": 0.0, "frtol": accuracy},
    )
    bracketed = refined.status != -1  # a plateau, level to rounding, is not a bracket
    u = np.where(bracketed, refined.x, grid[peak + 1])
    value = np.where(bracketed, -refined.f_x, values[which, peak + 1])
    # beside the maxima inside, both ends of each interval
    owner = np.concatenate([which, everyone, everyone])
    u = np.concatenate([u, np.ones(problems), np.zeros(problems)])
    value = np.append(value, _favoured(values[:, [-1, 0]].T, accuracy))
    settled = np.append(refined.success | ~bracketed, np.ones(2 * problems, bool))
    return _best_of_each(owner, u[:, None], value, settled, np.ptp(values, axis=1))


def _favoured(value: Array, accuracy: float) -> Array:
    """Raise a value by a few rounding errors, so that ties go to the end of the interval."""
    return value + max(1e-13, 10.0 * accuracy) * (1.0 + np.abs(value))


def better(first: Maxima, other: Maxima, *, accuracy: float = 4e-16) -> Maxima:
    """Return the higher of two maxima of each problem; of two equal ones, the second."""
    second = _favoured(other.value, accuracy) >= first.value
    u = np.where(second[:, None], other.u, first.u)
    value = np.where(second, other.value, first.value)
    converged = np.where(second, other.converged, first.converged)
    return Maxima(u, value, np.maximum(first.range, other.range), converged)


def _best_of_each(which: Index, u: Array, value: Array, settled: Mask, seen: Array) -> Maxima:
    """The best candidate of each problem."""
    # by problem, then by value: of equal values the later candidate, an end of the interval
    order = np.lexsort((value, which))
    best = order[np.append(np.diff(which[order]) > 0, True)]  # the last of each problem
    return Maxima(u[best], value[best], seen, settled[best])


def maximize_box(
    objective: Objective,
    candidates: Array,
    *,
    keep: int = 6,
    apart: float = 0.0,
    accuracy: float = 4e-16,
) -> Maxima:
    r"""Maximum of each problem in the unit cube, from many starts.

    All `candidates`, of shape (problems, candidates, dimension), are tried, and the best `keep` of each problem, at least
    `apart` from one another, are climbed from. `accuracy` is that of the values.

    >>> hill = lambda u, which: -np.sum((u - [0.3, 2.0]) ** 2, axis=-1)
    >>> bool(np.allclose(maximize_box(hill, spread(20, 2)[None]).u, [[0.3, 1.0]]))
    True
    """
    problems, count, d = candidates.shape
    which = np.repeat(np.arange(problems), count)
    values = objective(candidates.reshape(-1, d), which).reshape(problems, count)
    first = _first(candidates, values, keep, apart)
    start = np.take_along_axis(candidates, first[:, :, None], axis=1)
    return maximize_from(objective, start, np.ptp(values, axis=1), accuracy=accuracy)


def maximize_from(
    objective: Objective, start: Array, seen: Array, *, walls: float = 1.0, accuracy: float = 4e-16
) -> Maxima:
    """The highest of the climbs from each `start`, then the walls of the cube within the distance `walls` tried.

    `seen` is the range of the values known before.
    """
    problems, count, d = start.shape
    which = np.repeat(np.arange(problems), count)
    ascent = _climb(objective, start.reshape(-1, d), which, accuracy)
    best = _best_of_each(which, ascent.x, ascent.f, ascent.settled, seen)
    return _try_walls(objective, best, walls, accuracy)


def _first(candidates: Array, values: Array, keep: int, apart: float) -> Index:
    """Numbers of the best candidates of each problem, none within the distance `apart` (in any coordinate) of a better one."""
    if apart == 0.0:
        return np.argsort(-values, axis=1, kind="stable")[:, :keep]
    left = values.copy()
    chosen = np.empty((len(values), keep), np.intp)
    for k in range(keep):
        chosen[:, k] = np.argmax(left, axis=1)
        chosen_point = candidates[np.arange(len(values)), chosen[:, k]][:, None]
        left[np.max(np.abs(candidates - chosen_point), axis=2) < apart] = -np.inf
    return chosen


def _climb(objective: Objective, start: Array, which: Index, accuracy: float) -> Ascent:
    r"""Climb from each row of `start`, in the cube.

    With :math:`u = \sin^2\varphi` the cube has no walls, and a maximum on one is a smooth maximum in :math:`\varphi`.
    Gradients are central differences, all taken in one call, for a few climbs in that of the value, since a call then costs
    more than its points. Their step, the cube root of the accuracy, balances its two errors, and slopes below the noise are
    set to 0. The second differences at the start are the first guess of the Hessian, without which the first steps would
    only learn how much the scales of the coordinates differ.
    """
    h = 1.4 * np.cbrt(accuracy)
    noise = 20.0 * accuracy / h
    d = start.shape[1]
    offsets = np.concatenate([np.zeros((1, d)), h * np.eye(d), -h * np.eye(d)])
    slopes = np.empty_like(start)
    ahead = np.zeros(len(start), bool)  # slopes that came with the last value

    def at(phi: Array, rows: Index, offsets: Array) -> Array:
        around = np.sin(phi[:, None] + offsets) ** 2
        every = np.repeat(which[rows], len(offsets))
        return objective(around.reshape(-1, d), every).reshape(len(rows), -1)

    def differences(f: Array) -> Array:
        slope = (f[:, :d] - f[:, d:]) / (2.0 * h)
        return np.where(np.abs(slope) > noise, slope, 0.0)

    def value(phi: Array, rows: Index) -> Array:
        ahead[rows] = few = len(rows) <= _TOGETHER
        f = at(phi, rows, offsets if few else offsets[:1])
        if few:
            slopes[rows] = differences(f[:, 1:])
        return f[:, 0]

    def gradient(phi: Array, rows: Index) -> Array:
        late = np.flatnonzero(~ahead[rows])
        if late.size:
            slopes[rows[late]] = differences(at(phi[late], rows[late], offsets[1:]))
        return slopes[rows]

    # On a wall the slope in phi is 0, and a climb that starts there would stay.
    phi = np.arcsin(np.sqrt(np.clip(start, 1e-3, 1.0 - 1e-3)))
    f = at(phi, np.arange(len(phi)), offsets)
    slope = differences(f[:, 1:])
    bend = np.abs(f[:, 1 : d + 1] - 2.0 * f[:, :1] + f[:, d + 1 :]) / h**2
    # At least so stiff that the first step is short: second differences are lost in noise.
    bend = np.maximum(bend, np.maximum(1.0, np.abs(slope) / FIRST))
    at_start, H = (f[:, 0], slope), np.eye(d) / bend[:, None]
    tol, gain = max(1e-8, noise), 1e-2 * accuracy
    ascent = ascend(
        value, gradient, phi, at_start=at_start, H=H, tol=tol, gain=gain, accuracy=accuracy
    )
    return ascent._replace(x=np.sin(ascent.x) ** 2)


def _try_walls(objective: Objective, best: Maxima, reach: float, accuracy: float) -> Maxima:
    """Move each coordinate onto a wall of the cube within reach where that loses nothing."""
    u, value = best.u.copy(), best.value.copy()
    for k in range(u.shape[1]):
        for wall in (0.0, 1.0):
            rows = np.flatnonzero(np.abs(u[:, k] - wall) <= reach)
            if rows.size:
                moved = u[rows]
                moved[:, k] = wall
                f = objective(moved, rows)
                no_loss = _favoured(f, accuracy) >= value[rows]
                u[rows[no_loss]] = moved[no_loss]
                value[rows[no_loss]] = f[no_loss]
    return best._replace(u=u, value=value)


def spread(count: int, dimension: int) -> Array:
    """Evenly spread points in the unit cube: the Kronecker sequence of the generalized golden ratio."""
    ratio = 1.5
    for _ in range(60):
        ratio = (1.0 + ratio) ** (1.0 / (dimension + 1))
    steps = ratio ** -np.arange(1.0, dimension + 1)
    return np.asarray((0.5 + np.outer(np.arange(count), steps)) % 1.0)
