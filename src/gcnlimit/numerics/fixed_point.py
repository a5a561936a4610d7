"""The one fixed-point loop of the library: many independent problems at once, accelerated and safeguarded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import Array

__all__ = ["FixedPoint", "fixed_point"]

Update = Callable[[Array, npt.NDArray[np.intp]], Array]
"""Maps the states of some problems, one a row, and their indices to the next states; NaN where a state is not allowed."""


_TOLERATED = 30.0
_PATIENCE = 30


class FixedPoint(NamedTuple):
    """Where each problem ended: its state, the scaled residual there, the iterations spent, and whether that suffices."""

    state: Array
    residual: Array
    iterations: npt.NDArray[np.int64]
    converged: npt.NDArray[np.bool_]


def fixed_point(
    update: Update,
    start: Array,
    *,
    blocks: Sequence[int] = (),
    tol: float | Array = 1e-10,
    max_iterations: int = 5000,
    memory: int = 6,
    damping: float = 1.0,
) -> FixedPoint:
    r"""Solve :math:`x = G(x)` for each row of `start`.

    Anderson's acceleration combines the last `memory` steps; where the residual explodes or stalls, the row falls back to its
    best state with half the damping and an empty memory. Rows that have converged leave the batch.

    Parameters
    ----------
    update
        The map :math:`G`, on a batch of rows.
    start
        First states, one a row.
    blocks
        Lengths of the consecutive groups of entries that share a scale (all entries by default). The residual of a row is the
        largest over its blocks of :math:`\max|G(x) - x| / \max|x|`.
    tol
        Residual at which a row has converged; one number, or one for each row.
    damping
        First fraction of a step that is taken.

    Examples
    --------
    >>> result = fixed_point(lambda x, rows: np.cos(x), np.array([[0.0], [1.0]]), tol=1e-14)
    >>> result.state.ravel().round(12)
    array([0.739085133215, 0.739085133215])
    >>> bool(np.all(result.iterations < 12))
    True
    """
    rows, size = start.shape
    scale = _Scale(blocks or (size,))
    state, residual = start.copy(), np.full(rows, np.inf)
    iterations, converged = np.zeros(rows, np.int64), np.zeros(rows, bool)
    active = np.arange(rows)
    wanted = np.broadcast_to(tol, rows)
    search = _Search(start.copy(), memory, damping)
    for iteration in range(1, max_iterations + 1):
        if not active.size:
            break
        step = update(search.x, active) - search.x
        weight = scale.weight(search.x)
        error = scale.norm(step * weight)
        search.judge(step, error)
        iterations[active] = iteration
        better = search.accepted & (error <= residual[active])
        state[active[better]] = search.x[better]
        residual[active[better]] = error[better]
        done = search.accepted & (error <= wanted[active])
        if done.any():
            state[active[done]] += step[done]
            converged[active[done]] = True
            active = active[~done]
            search.keep(~done)
            step, weight = step[~done], weight[~done]
        search.move(step, weight)
    return FixedPoint(state, residual, iterations, converged)


class _Scale:
    """Scaled norm of a row: the largest entry of each block, relative to the block's largest."""

    def __init__(self, blocks: Sequence[int]) -> None:
        self._lengths = np.asarray([b for b in blocks if b], int)
        self._starts = np.concatenate([[0], np.cumsum(self._lengths)[:-1]]).astype(int)

    def weight(self, x: Array) -> Array:
        largest = np.maximum.reduceat(np.abs(x), self._starts, axis=1)
        return np.repeat(1.0 / np.maximum(largest, 1e-200), self._lengths, axis=1)

    def norm(self, scaled: Array) -> Array:
        return np.asarray(np.max(np.abs(scaled), axis=1))


class _Search:
    """States of the active rows and what is remembered of their past.

    The maps of this library are far from normal: on the way to a solution the residual grows for a while before it falls.
    A row is therefore sent back only if its residual exceeds its best `_TOLERATED` times, or has not improved on it for
    `_PATIENCE` steps.
    """

    def __init__(self, x: Array, memory: int, damping: float) -> None:
        rows, size = x.shape
        self.x = x
        self.accepted = np.ones(rows, bool)
        self._best_x, self._best_step = x.copy(), np.zeros_like(x)
        self._best_error = np.full(rows, np.inf)
        self._damping = np.full(rows, damping)
        self._past_x = np.zeros((rows, memory, size))
        self._past_step = np.zeros((rows, memory, size))
        self._known = np.zeros((rows, memory), bool)
        self._stalled = np.zeros(rows, int)
        self._slot = 0

    def judge(self, step: Array, error: Array) -> None:
        """Accept a step whose error is finite and not far above the best; else go back to the best state, more carefully."""
        with np.errstate(invalid="ignore"):
            improved = np.isfinite(error) & (error < self._best_error)
            self.accepted = np.isfinite(error) & (error <= _TOLERATED * self._best_error)
        self._stalled = np.where(improved, 0, self._stalled + 1)
        self.accepted &= self._stalled < _PATIENCE
        bad = ~self.accepted
        self._stalled[bad] = 0
        self._best_x[improved], self._best_step[improved] = self.x[improved], step[improved]
        self._best_error[improved] = error[improved]
        self._damping[improved] = np.minimum(1.0, 1.1 * self._damping[improved])
        self.x[bad], step[bad] = self._best_x[bad], self._best_step[bad]
        self._damping[bad] *= 0.5
        self._known[bad] = False

    def move(self, step: Array, weight: Array) -> None:
        """Replace each state by the combination of its past that makes the residual smallest, plus a damped step."""
        damping = self._damping[:, None]
        target = self.x + damping * step
        change = np.where(self._known[:, :, None], step[:, None] - self._past_step, 0.0)
        scaled = change * weight[:, None]
        gram = scaled @ scaled.transpose(0, 2, 1)
        size = np.trace(gram, axis1=1, axis2=2)[:, None, None]
        gram += (1e-12 * size + np.where(size > 0, 0.0, 1.0)) * np.eye(gram.shape[1])
        mix = np.linalg.solve(gram, scaled @ (step * weight)[:, :, None])
        drift = np.where(self._known[:, :, None], self.x[:, None] - self._past_x, 0.0) + damping[:, :, None] * change
        self._past_x[:, self._slot], self._past_step[:, self._slot] = self.x, step
        self._known[:, self._slot] = True
        self._slot = (self._slot + 1) % self._known.shape[1]
        self.x = target - (mix.transpose(0, 2, 1) @ drift)[:, 0]

    def keep(self, rows: npt.NDArray[np.bool_]) -> None:
        """Forget the other rows."""
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(self, name, value[rows])
