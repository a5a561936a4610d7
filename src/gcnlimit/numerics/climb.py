"""Maxima in a cube, of many functions at once, by climbing from many starts; problems as in `gcnlimit.numerics.scan`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.numerics.scan import Index, Maxima, Objective, best_of_each, favoured

__all__ = ["ascend", "maximize_box", "spread"]

_STEPS = 500  # of a climb, at most


def maximize_box(
    objective: Objective, candidates: Array, *, keep: int = 6, apart: float = 0.0, accuracy: float = 4e-16
) -> Maxima:
    r"""Maximum of each problem in the unit cube, from many starts.

    All `candidates`, of shape (problems, candidates, dimension), are tried; the best `keep` of each problem, at least
    `apart` from one another, are climbed from, and the walls are tried at the end. `accuracy` is that of the values.

    >>> hill = lambda u, which: -np.sum((u - [0.3, 2.0]) ** 2, axis=-1)
    >>> best = maximize_box(hill, spread(20, 2)[None])
    >>> np.allclose(best.u, [[0.3, 1.0]]), bool(best.converged[0])
    (True, True)
    """
    problems, count, d = candidates.shape
    which = np.repeat(np.arange(problems), count)
    values = objective(candidates.reshape(-1, d), which).reshape(problems, count)
    first = _first(candidates, values, keep, apart)
    start = np.take_along_axis(candidates, first[:, :, None], axis=1).reshape(-1, d)
    which = np.repeat(np.arange(problems), first.shape[1])
    best = best_of_each(which, *_climb(objective, start, which, accuracy), np.ptp(values, axis=1))
    return _try_walls(objective, best, accuracy)


def _first(candidates: Array, values: Array, keep: int, apart: float) -> Index:
    """Numbers of the best candidates of each problem, none within the distance `apart` (in any coordinate) of a better one."""
    if apart == 0.0:
        return np.argsort(-values, axis=1, kind="stable")[:, :keep]
    left, everyone = values.copy(), np.arange(len(values))
    chosen = np.empty((len(values), keep), np.intp)
    for k in range(keep):
        chosen[:, k] = np.argmax(left, axis=1)
        here = candidates[everyone, chosen[:, k]][:, None]
        left[np.max(np.abs(candidates - here), axis=2) < apart] = -np.inf
    return chosen


def _climb(objective: Objective, start: Array, which: Index, accuracy: float) -> tuple[Array, Array, Array]:
    r"""Climb from each row of `start`; return the points, their values and whether each is settled.

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

    inside = np.clip(start, 1e-3, 1.0 - 1e-3)
    start = np.arcsin(np.sqrt(inside))
    phi, f, settled = ascend(value, gradient, start, tol=max(1e-8, noise), accuracy=accuracy)
    return np.sin(phi) ** 2, f, settled


def _try_walls(objective: Objective, best: Maxima, accuracy: float) -> Maxima:
    """Move each coordinate onto a wall of the cube where that loses nothing."""
    u, value = best.u.copy(), best.value.copy()
    everyone = np.arange(value.size)
    for k in range(u.shape[1]):
        for wall in (0.0, 1.0):
            moved = u.copy()
            moved[:, k] = wall
            f = objective(moved, everyone)
            no_loss = favoured(f, accuracy) >= value
            u[no_loss], value[no_loss] = moved[no_loss], f[no_loss]
    return best._replace(u=u, value=value)


def ascend(
    value: Objective, gradient: Objective, x: Array, *, tol: float = 1e-10, accuracy: float = 4e-16
) -> tuple[Array, Array, Array]:
    """Climb to a local maximum from each row of `x` by the BFGS method; return points, values and whether each is settled.

    `value`, known to a relative `accuracy`, and `gradient` take points and the numbers of their rows. A row is settled when
    its gradient is below `tol`, or when no step raises a value whose gradient is already small.

    >>> rosenbrock = lambda x, rows: -((1 - x[:, 0]) ** 2) - 100 * (x[:, 1] - x[:, 0] ** 2) ** 2
    >>> slope = lambda x, rows: np.stack(
    ...     [2 * (1 - x[:, 0]) + 400 * x[:, 0] * (x[:, 1] - x[:, 0] ** 2), -200 * (x[:, 1] - x[:, 0] ** 2)], axis=1
    ... )
    >>> np.allclose(ascend(rosenbrock, slope, np.array([[-1.2, 1.0]]))[0], 1.0)
    True
    """
    rows = np.arange(x.shape[0])
    f, g = value(x, rows), gradient(x, rows)
    scale = np.maximum(1.0, np.linalg.norm(g, axis=1))[:, None, None]
    state = _State(np.array(x), f, g, np.eye(x.shape[1]) / scale)
    for _ in range(_STEPS):
        rows = rows[np.linalg.norm(state.g[rows], axis=1) > tol]
        if rows.size:
            rows = _advance(value, gradient, state, rows, accuracy)
    return state.x, state.f, np.linalg.norm(state.g, axis=1) < max(tol, 1e-6)


class _State(NamedTuple):
    """Points of a climb, their values, gradients and inverse Hessians (of minus the value); updated in place."""

    x: Array
    f: Array
    g: Array
    H: Array


def _advance(value: Objective, gradient: Objective, state: _State, rows: Index, accuracy: float) -> Index:
    """One step of the BFGS method for these rows; return those that it brought forward."""
    x, f, g = state.x[rows], state.f[rows], state.g[rows]
    noise = accuracy * (1.0 + np.abs(f))
    direction = np.einsum("bij,bj->bi", state.H[rows], g)
    length, reached = _line_search(
        lambda length, at: value(x[at] + length[:, None] * direction[at], rows[at]),
        f,
        np.sum(direction * g, axis=1),
        noise,
    )
    moved = length > 0.0
    rows, step = rows[moved], (length[:, None] * direction)[moved]
    if rows.size:
        state.x[rows] += step
        state.f[rows] = reached[moved]
        state.g[rows] = gradient(state.x[rows], rows)
        state.H[rows] = _bfgs(state.H[rows], step, g[moved] - state.g[rows])
    flatter = np.linalg.norm(state.g[rows], axis=1) < 0.9 * np.linalg.norm(g[moved], axis=1)
    return np.asarray(rows[flatter | (reached > f + noise)[moved]])


def _line_search(ray: Objective, f: Array, slope: Array, noise: Array) -> tuple[Array, Array]:
    """Length of a step that raises each value enough (Armijo's rule), by halving, and the value there; 0 if there is none.

    Values within their noise count as raised: near a maximum it is the gradient that decides.
    """
    length, reached = np.where(slope > 0.0, 1.0, 0.0), f.copy()
    search = np.flatnonzero(length)
    for _ in range(30):
        if search.size == 0:
            break
        reached[search] = ray(length[search], search)
        enough = f + 1e-4 * length * slope - noise
        search = search[~(reached[search] >= enough[search])]
        length[search] *= 0.5
    length[search] = 0.0
    return length, reached


def _bfgs(H: Array, step: Array, change: Array) -> Array:
    """Update of the inverse Hessians; where the curvature has the wrong sign, the next step is four times as long instead."""
    curvature = np.sum(step * change, axis=1)
    good = curvature > 1e-14 * np.linalg.norm(step, axis=1) * np.linalg.norm(change, axis=1)
    weight = np.where(good, 1.0 / np.where(good, curvature, 1.0), 0.0)[:, None, None]
    project = np.eye(step.shape[1]) - weight * step[:, :, None] * change[:, None, :]
    updated = project @ H @ project.mT + weight * step[:, :, None] * step[:, None, :]
    return np.where(good[:, None, None], updated, 4.0 * H)


def spread(count: int, dimension: int) -> Array:
    r"""Evenly spread points in the unit cube: the Kronecker sequence of the generalised golden ratio.

    >>> spread(3, 1)[:, 0].round(3)
    array([0.5  , 0.118, 0.736])
    """
    ratio = 1.5
    for _ in range(60):
        ratio = (1.0 + ratio) ** (1.0 / (dimension + 1))
    return np.asarray((0.5 + np.outer(np.arange(count), ratio ** -np.arange(1.0, dimension + 1))) % 1.0)
