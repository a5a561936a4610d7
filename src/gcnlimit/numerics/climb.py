"""Local maxima of many functions at once, by the BFGS method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array, Mask

Index = npt.NDArray[np.intp]
Objective = Callable[[Array, Index], Array]

FIRST = 0.1
"""Longest first step of a climb, where the range of the variables is about 1."""
_LONGEST = 0.5  # longest of its steps


class Ascent(NamedTuple):
    """Where climbs ended: points, their values, whether each is settled, and the inverse Hessians of minus the value."""

    x: Array
    f: Array
    settled: Mask
    H: Array

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """Some of the climbs, by their numbers or marks."""
        return type(self)(*(values[rows] for values in self))


def ascend(
    value: Objective,
    gradient: Objective,
    x: Array,
    *,
    at_start: tuple[Array, Array] | None = None,
    H: Array | None = None,
    steps: int = 500,
    tol: float = 1e-10,
    gain: float = 0.0,
    accuracy: float = 4e-16,
) -> Ascent:
    """Climb to a local maximum from each row of `x` by the BFGS method.

    `value`, known to a relative `accuracy`, and `gradient` take points and the numbers of their rows; `at_start` are both at the
    start, if they are, and `H` guesses of the inverse Hessians. A row is settled when its gradient is below `tol`, when a
    step promises a relative gain below `gain`, or when no step raises a value whose gradient is already small.

    >>> found = ascend(lambda x, _: -((x[:, 0] - 1) ** 4), lambda x, _: -4 * (x - 1) ** 3, np.zeros((1, 1)))
    >>> bool(found.settled[0])
    True
    """
    rows = np.arange(x.shape[0])
    f, g = (value(x, rows), gradient(x, rows)) if at_start is None else at_start
    # without a Hessian the first step follows the gradient, and must not leave the range
    scale = np.maximum(1.0, np.linalg.norm(g, axis=1) / FIRST)[:, None, None]
    first = np.eye(x.shape[1]) / scale if H is None else H.copy()
    state = _Climb(value, gradient, accuracy, np.array(x), f, g, first)
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
    # an update of negative curvature would turn the next step downhill
    good = curvature > 1e-14 * np.linalg.norm(step, axis=1) * np.linalg.norm(change, axis=1)
    weight = np.where(good, 1.0 / np.where(good, curvature, 1.0), 0.0)[:, None, None]
    project = np.eye(step.shape[1]) - weight * step[:, :, None] * change[:, None, :]
    start = H
    if unscaled:
        square = np.vecdot(change, change)
        size = curvature / np.where(square > 0.0, square, 1.0)
        start = np.eye(step.shape[1]) * size[:, None, None]
    updated = project @ start @ project.mT + weight * step[:, :, None] * step[:, None, :]
    return np.where(good[:, None, None], updated, 4.0 * H)
