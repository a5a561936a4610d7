r"""Global maxima of many functions at once: on an interval, and in a cube by climbing from many starts.

`objective(u, which)` returns the value of problem number ``which[i]`` at the point ``u[i]``, so that thousands of problems
cost a few vectorized calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array

Index = npt.NDArray[np.intp]
Marks = npt.NDArray[np.bool_]
Objective = Callable[[Array, Index], Array]

_SCAN = 33  # points of the scan: maxima closer than their spacing may be taken for one
_NUDGE = 1e-6  # from an end of the interval: where the function is lower if the end is a maximum
_FIRST = 0.1  # longest first step of a climb, in a cube of size 1
_LONGEST = 0.5  # longest of its steps


class Maxima(NamedTuple):
    """Best point of each problem in the unit cube, its value, the range of values seen, and whether it is settled."""

    u: Array
    value: Array
    range: Array
    converged: Marks


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
    found = refined.status != -1  # a plateau, level to rounding, is not a bracket
    u = np.where(found, refined.x, grid[peak + 1])
    value = np.where(found, -refined.f_x, values[which, peak + 1])
    # beside the maxima inside, both ends of each interval
    owner = np.concatenate([which, everyone, everyone])
    u = np.concatenate([u, np.ones(problems), np.zeros(problems)])
    value = np.append(value, _favoured(values[:, [-1, 0]].T, accuracy))
    settled = np.append(refined.success | ~found, np.ones(2 * problems, bool))
    return _best_of_each(owner, u[:, None], value, settled, np.ptp(values, axis=1))


def _favoured(value: Array, accuracy: float) -> Array:
    """Raise a value by a few rounding errors, so that ties go to the end of the interval."""
    return value + max(1e-13, 10.0 * accuracy) * (1.0 + np.abs(value))


def better(one: Maxima, other: Maxima, *, accuracy: float = 4e-16) -> Maxima:
    """Return the higher of two maxima of each problem; of two equal ones, the second."""
    second = _favoured(other.value, accuracy) >= one.value
    u = np.where(second[:, None], other.u, one.u)
    value = np.where(second, other.value, one.value)
    converged = np.where(second, other.converged, one.converged)
    return Maxima(u, value, np.maximum(one.range, other.range), converged)


def _best_of_each(which: Index, u: Array, value: Array, settled: Marks, seen: Array) -> Maxima:
    """The best candidate of each problem."""
    order = np.lexsort((value, which))
    best = order[np.append(np.diff(which[order]) > 0, True)]  # the last of each problem
    return Maxima(u[best], value[best], seen, settled[best])


def maximize_box(
    objective: Objective,
    candidates: Array,
    *,
    keep: int = 6,
    apart: float = 0.0,
    walls: float = 1.0,
    accuracy: float = 4e-16,
) -> Maxima:
    r"""Maximum of each problem in the unit cube, from many starts.

    All `candidates`, of shape (problems, candidates, dimension), are tried; the best `keep` of each problem, at least
    `apart` from one another, are climbed from, and at the end the walls within the distance `walls` are tried. `accuracy` is
    that of the values.

    >>> hill = lambda u, which: -np.sum((u - [0.3, 2.0]) ** 2, axis=-1)
    >>> bool(np.allclose(maximize_box(hill, spread(20, 2)[None]).u, [[0.3, 1.0]]))
    True
    """
    problems, count, d = candidates.shape
    which = np.repeat(np.arange(problems), count)
    values = objective(candidates.reshape(-1, d), which).reshape(problems, count)
    first = _first(candidates, values, keep, apart)
    start = np.take_along_axis(candidates, first[:, :, None], axis=1).reshape(-1, d)
    which = np.repeat(np.arange(problems), first.shape[1])
    found = _climb(objective, start, which, accuracy)
    best = _best_of_each(which, found.x, found.f, found.settled, np.ptp(values, axis=1))
    return _try_walls(objective, best, walls, accuracy)


def _first(candidates: Array, values: Array, keep: int, apart: float) -> Index:
    """Numbers of the best candidates of each problem, none within the distance `apart` (in any coordinate) of a better one."""
    if apart == 0.0:
        return np.argsort(-values, axis=1, kind="stable")[:, :keep]
    left = values.copy()
    chosen = np.empty((len(values), keep), np.intp)
    for k in range(keep):
        chosen[:, k] = np.argmax(left, axis=1)
        here = candidates[np.arange(len(values)), chosen[:, k]][:, None]
        left[np.max(np.abs(candidates - here), axis=2) < apart] = -np.inf
    return chosen


def _climb(objective: Objective, start: Array, which: Index, accuracy: float) -> Ascent:
    r"""Climb from each row of `start`, in the cube.

    With :math:`u = \sin^2\varphi` the cube has no walls, and a maximum on one is a smooth maximum in :math:`\varphi`.
    Gradients are central differences, all taken in one call; their step, the cube root of the accuracy, balances its two
    errors, and slopes below the noise are set to 0.
    """
    h = 1.4 * np.cbrt(accuracy)
    noise = 20.0 * accuracy / h
    d = start.shape[1]
    offsets = np.concatenate([h * np.eye(d), -h * np.eye(d)])

    def value(phi: Array, rows: Index) -> Array:
        return objective(np.sin(phi) ** 2, which[rows])

    def gradient(phi: Array, rows: Index) -> Array:
        around = (phi[:, None] + offsets).reshape(-1, d)
        f = value(around, np.repeat(rows, 2 * d)).reshape(-1, 2, d)
        slope = (f[:, 0] - f[:, 1]) / (2.0 * h)
        return np.where(np.abs(slope) > noise, slope, 0.0)

    phi = np.arcsin(np.sqrt(np.clip(start, 1e-3, 1.0 - 1e-3)))
    tol = max(1e-8, noise)
    found = ascend(value, gradient, phi, tol=tol, gain=1e-2 * accuracy, accuracy=accuracy)
    return found._replace(x=np.sin(found.x) ** 2)


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


class Ascent(NamedTuple):
    """Where climbs ended: points, their values, whether each is settled, and the inverse Hessians of minus the value."""

    x: Array
    f: Array
    settled: Marks
    H: Array

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """Some of the climbs, by their numbers or marks."""
        return type(self)(*(values[rows] for values in self))


def ascend(
    value: Objective,
    gradient: Objective,
    x: Array,
    *,
    H: Array | None = None,
    steps: int = 500,
    tol: float = 1e-10,
    gain: float = 0.0,
    accuracy: float = 4e-16,
) -> Ascent:
    """Climb to a local maximum from each row of `x` by the BFGS method.

    `value`, known to a relative `accuracy`, and `gradient` take points and the numbers of their rows; `H` are guesses of the
    inverse Hessians. A row is settled when its gradient is below `tol`, when a step promises a relative gain below `gain`, or
    when no step raises a value whose gradient is already small.

    >>> found = ascend(lambda x, _: -((x[:, 0] - 1) ** 4), lambda x, _: -4 * (x - 1) ** 3, np.zeros((1, 1)))
    >>> bool(found.settled[0])
    True
    """
    rows = np.arange(x.shape[0])
    g = gradient(x, rows)
    scale = np.maximum(1.0, np.linalg.norm(g, axis=1) / _FIRST)[:, None, None]
    first = np.eye(x.shape[1]) / scale if H is None else H.copy()
    state = _Climb(value, gradient, accuracy, np.array(x), value(x, rows), g, first)
    for step in range(steps):
        rows = rows[state.slope(rows) > tol]
        rows = rows[state.promise(rows) > gain]
        if not rows.size:
            break
        rows = state.advance(rows, unscaled=step == 0 and H is None)
    rows = np.arange(x.shape[0])
    settled = (state.slope(rows) < max(tol, 1e-6)) | (state.promise(rows) <= gain)
    return Ascent(state.x, state.f, settled, state.H)


class _Climb(NamedTuple):
    """Functions of a climb, its points, their values, gradients and inverse Hessians (of minus the value), in place."""

    value: Objective
    gradient: Objective
    accuracy: float
    x: Array
    f: Array
    g: Array
    H: Array

    def slope(self, rows: Index) -> Array:
        """Length of the gradient."""
        return np.asarray(np.linalg.norm(self.g[rows], axis=1))

    def promise(self, rows: Index) -> Array:
        """Gain that the next step would bring on a plane, over one plus the value."""
        g = self.g[rows]
        gain = np.einsum("bi,bij,bj->b", g, self.H[rows], g)
        return np.asarray(gain / (1.0 + np.abs(self.f[rows])))

    def advance(self, rows: Index, unscaled: bool) -> Index:
        """One step of the BFGS method for these rows; return those that it brought forward."""
        x, f, g = self.x[rows], self.f[rows], self.g[rows]
        noise = self.accuracy * (1.0 + np.abs(f))
        direction = np.einsum("bij,bj->bi", self.H[rows], g)
        direction /= np.maximum(1.0, np.linalg.norm(direction, axis=1, keepdims=True) / _LONGEST)

        def ray(length: Array, at: Index) -> Array:
            return self.value(x[at] + length[:, None] * direction[at], rows[at])

        length, reached = _line_search(ray, f, np.sum(direction * g, axis=1), noise)
        moved = length > 0.0
        rows = rows[moved]
        step = (length[:, None] * direction)[moved]
        if rows.size:
            self.x[rows] += step
            self.f[rows] = reached[moved]
            self.g[rows] = self.gradient(self.x[rows], rows)
            self.H[rows] = _bfgs(self.H[rows], step, g[moved] - self.g[rows], unscaled)
        # near a maximum values are lost in noise, and a smaller gradient is progress as well
        flatter = self.slope(rows) < 0.9 * np.linalg.norm(g[moved], axis=1)
        return np.asarray(rows[flatter | (reached > f + noise)[moved]])


def _line_search(ray: Objective, f: Array, slope: Array, noise: Array) -> tuple[Array, Array]:
    """Length of a step that raises each value enough (Armijo's rule), and the value there; 0 if there is none.

    A step that is too long is cut to the top of the parabola through what is known, to a tenth at least and a half at most.
    Values within their noise count as raised: near a maximum it is the gradient that decides. Steps that promise less than
    the noise are given up.
    """
    length = np.where(slope > 0.0, 1.0, 0.0)
    reached = f.copy()
    search = np.flatnonzero(length)
    for _ in range(30):
        if search.size == 0:
            break
        reached[search] = ray(length[search], search)
        enough = f + 1e-4 * length * slope - noise
        search = search[~(reached[search] >= enough[search])]
        promised = (length * slope)[search]
        with np.errstate(invalid="ignore"):
            top = 0.5 * promised / (promised + (f - reached)[search])
        cut = np.clip(np.nan_to_num(top), 0.1, 0.5)
        length[search] *= np.where(promised > noise[search], cut, 0.0)
        search = search[length[search] > 0.0]
    length[search] = 0.0
    return length, reached


def _bfgs(H: Array, step: Array, change: Array, unscaled: bool) -> Array:
    """Update of the inverse Hessians; where the curvature has the wrong sign, the next step is four times as long instead.

    An unscaled first guess is replaced by a multiple of the identity with the curvature of the step.
    """
    curvature = np.sum(step * change, axis=1)
    good = curvature > 1e-14 * np.linalg.norm(step, axis=1) * np.linalg.norm(change, axis=1)
    weight = np.where(good, 1.0 / np.where(good, curvature, 1.0), 0.0)[:, None, None]
    start = H
    if unscaled:
        square = np.vecdot(change, change)
        size = curvature / np.where(square > 0.0, square, 1.0)
        start = np.eye(step.shape[1]) * size[:, None, None]
    project = np.eye(step.shape[1]) - weight * step[:, :, None] * change[:, None, :]
    updated = project @ start @ project.mT + weight * step[:, :, None] * step[:, None, :]
    return np.where(good[:, None, None], updated, 4.0 * H)


def spread(count: int, dimension: int) -> Array:
    """Evenly spread points in the unit cube: the Kronecker sequence of the generalized golden ratio."""
    ratio = 1.5
    for _ in range(60):
        ratio = (1.0 + ratio) ** (1.0 / (dimension + 1))
    steps = ratio ** -np.arange(1.0, dimension + 1)
    return np.asarray((0.5 + np.outer(np.arange(count), steps)) % 1.0)
