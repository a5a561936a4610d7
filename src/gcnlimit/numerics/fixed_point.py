"""The one fixed-point loop of the library: many independent problems at once, accelerated and safeguarded."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.numerics.linear import solve_each

Update = Callable[[Array, npt.NDArray[np.intp]], Array]
"""Maps the states of some problems, one per row, and their indices to the next states; NaN where a state is not allowed."""

_STUCK = 1e-6  # damping after about twenty falls in a row
_TOLERATED = 30.0  # residual, relative to the best of its row, above which a step is rejected
_PATIENCE = 30  # steps without improvement after which a row falls back


class FixedPoint(NamedTuple):
    """Where each problem ended: its state, the scaled residual there, the iterations spent, and whether that suffices."""

    state: Array
    residual: Array
    iterations: npt.NDArray[np.int64]
    converged: npt.NDArray[np.bool_]


def explicit(state: Array) -> FixedPoint:
    """States that are solutions without a search."""
    points = len(state)
    return FixedPoint(state, np.zeros(points), np.zeros(points, np.int64), np.ones(points, bool))


def fixed_point(
    update: Update,
    start: Array,
    *,
    scale: Callable[[Array], Array],
    tol: float | Array,
    max_iterations: int,
    memory: int = 6,
) -> FixedPoint:
    r"""Solve :math:`x = G(x)` for each row of `start`.

    Anderson acceleration combines the last `memory` steps; where the residual explodes or stalls, the row falls back to its
    best state with an empty memory and half the damping. Rows that have converged leave the batch, and so do those whose
    start is not allowed.

    The residual of a row is the largest :math:`|G(x) - x|` over the `scale` of :math:`G(x)`, and `tol` that at which it has
    converged, one number or one for each row.

    >>> result = fixed_point(lambda x, rows: np.cos(x), np.array([[0.0], [1.0]]), scale=np.abs, tol=1e-13, max_iterations=99)
    >>> bool(np.all(np.abs(np.cos(result.state) - result.state) < 1e-13))
    True
    """
    rows = len(start)
    end = explicit(start.copy())
    end.residual[:], end.converged[:] = np.inf, False
    state, residual, iterations, converged = end
    active = np.arange(rows)
    wanted = np.broadcast_to(tol, rows)
    search = _Search(start.copy(), memory)
    for iteration in range(1, max_iterations + 1):
        if not active.size:
            break
        after = update(search.x, active)
        step = after - search.x
        size = scale(after)
        weight = 1.0 / np.where((size > 0.0) & np.isfinite(size), size, 1.0)
        error = np.max(np.abs(step) * weight, axis=1, initial=0.0)
        search.judge(step, error, weight)
        iterations[active] = iteration
        better = search.accepted & (error <= residual[active])
        state[active[better]] = search.x[better]
        residual[active[better]] = error[better]
        done = search.accepted & (error <= wanted[active])
        converged[active[done]] = True
        # a start that is not allowed has nothing to fall back on; steps of no length lead nowhere
        stay = ~done & (np.isfinite(error) | (iteration > 1)) & (search.damping > _STUCK)
        if not stay.all():
            active = active[stay]
            step = step[stay]
            search.keep(stay)
        search.move(step)
    return end


class _Search:
    """States of the active rows, their best states and their last steps.

    The maps of this library are far from normal, and on the way to a solution the residual grows for a while before it falls.
    A row is therefore sent back only if its residual exceeds its best `_TOLERATED` times, or has not improved for `_PATIENCE`
    steps.
    """

    def __init__(self, x: Array, memory: int) -> None:
        rows, size = x.shape
        self.x = x
        self.accepted = np.ones(rows, bool)
        self._weight = np.ones_like(x)  # of the residuals, renewed when a row restarts
        self._best_x = x.copy()
        self._best_step = np.zeros_like(x)
        self._best_error = np.full(rows, np.inf)
        self.damping = np.ones(rows)
        self._stalled = np.zeros(rows, int)
        self._last_x = x.copy()
        self._last_step = np.zeros_like(x)
        self._fresh = np.ones(rows, bool)  # no last state to compare with
        self._moves = np.zeros((rows, memory, size))  # differences of successive states
        self._turns = np.zeros((rows, memory, size))  # and of their steps, scaled
        self._gram = np.zeros((rows, memory, memory))
        self._slot = 0

    def judge(self, step: Array, error: Array, weight: Array) -> None:
        """Accept a step whose error is finite and not far above the best; else go back to the best state, more carefully."""
        improved = np.isfinite(error) & (error < self._best_error)
        self.accepted = np.isfinite(error) & (error <= _TOLERATED * self._best_error)
        self._stalled = np.where(improved, 0, self._stalled + 1)
        self.accepted &= self._stalled < _PATIENCE
        self._best_x[improved] = self.x[improved]
        self._best_step[improved] = step[improved]
        self._best_error[improved] = error[improved]
        # weights stay fixed while the memory lasts: steps scaled differently cannot be combined
        anew = self._fresh & self.accepted
        self._weight[anew] = weight[anew]
        # careful steps that succeed may grow again
        self.damping[improved] = np.minimum(1.0, 1.1 * self.damping[improved])
        if not self.accepted.all():
            self._fall_back(~self.accepted, step)

    def _fall_back(self, bad: npt.NDArray[np.bool_], step: Array) -> None:
        """Send rows back to their best states, with half the damping, full patience and an empty memory."""
        self.x[bad] = self._best_x[bad]
        step[bad] = self._best_step[bad]
        self.damping[bad] *= 0.5
        self._stalled[bad] = 0
        # the memory that led astray is dropped; zero rows of the Gram matrix take no part
        self._fresh[bad] = True
        self._moves[bad] = self._turns[bad] = self._gram[bad] = 0.0

    def move(self, step: Array) -> None:
        """Replace each state by the combination of its past that makes the residual smallest, plus a damped step."""
        scaled = step * self._weight
        self._remember(scaled)
        # least squares: the mix of the last turns that cancels most of the scaled step
        gram = self._gram.copy()
        diagonal = np.einsum("bii->bi", gram)
        size = diagonal.sum(axis=1, keepdims=True)
        diagonal += np.where(size > 1e-280, 1e-12 * size, 1.0)  # a ridge
        mix = solve_each(gram, self._turns @ scaled[:, :, None]).mT
        left = step - (mix @ self._turns)[:, 0] / self._weight  # of the step, after the combination
        self._last_x = self.x
        self._last_step = scaled
        self.x = self.x + self.damping[:, None] * left - (mix @ self._moves)[:, 0]

    def _remember(self, scaled: Array) -> None:
        """Store the last difference of states and steps, and its products with the others."""
        slot = self._slot
        remembered = ~self._fresh[:, None]
        self._moves[:, slot] = np.where(remembered, self.x - self._last_x, 0.0)
        self._turns[:, slot] = np.where(remembered, scaled - self._last_step, 0.0)
        products = (self._turns @ self._turns[:, slot, :, None])[:, :, 0]
        self._gram[:, slot, :] = products
        self._gram[:, :, slot] = products
        self._fresh[:] = False
        self._slot = (slot + 1) % self._gram.shape[1]

    def keep(self, rows: npt.NDArray[np.bool_]) -> None:
        """Forget the other rows."""
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(self, name, value[rows])
