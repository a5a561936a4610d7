"""Following solutions from a large regularization, where they are explicit, down to the wanted one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.numerics.fixed_point import FixedPoint, fixed_point
from gcnlimit.penalties import L2, Mixed
from gcnlimit.theory.finite_reg.equations import Equations

_ROUGH = 1e-3  # residual that suffices on the way: small, since outputs may be far off where the spike dominates
_SHARES = (0.2, 0.5, 0.8, 1.0)  # of a penalty as it is turned on
_LEAST = 1e-150  # regularization, in units of the squared gain, below which a square underflows: there is no way down
_FURTHER = 10.0  # factor above the first regularization at which the explicit start is accepted as a solution


def follow(equations: Equations, *, tol: float, max_iterations: int) -> FixedPoint:
    """Solve the equations of each point by continuation in the regularization.

    It starts where the loss is negligible and comes down by factors of ten, each solution extrapolated to the next; where a
    step fails it is made smaller and the search more thorough, and at last slow, with strong damping. A point that is still
    not solved is tried once more from further away, in small steps. A penalty other than the squared weights is turned on
    step by step at the last regularization.
    """
    if not isinstance(equations.penalty, L2):
        return _turn_on(
            equations, follow(replace(equations, penalty=L2()), tol=_ROUGH, max_iterations=max_iterations), tol
        )
    top = np.maximum(equations.reg, equations.far)
    track = _descend(equations, top, 10.0, tol, max_iterations)
    lost = np.flatnonzero(~track.converged)
    if lost.size and max_iterations > 1000:
        track.replace(lost, _descend(equations.take(lost), 3.0 * top[lost], 4.0, tol, max_iterations))
    return FixedPoint(track.state, track.residual, track.iterations, track.converged)


def _turn_on(equations: Equations, found: FixedPoint, tol: float) -> FixedPoint:
    """Solutions with a penalty, from those with the squared weights, through mixtures of both."""
    iterations = found.iterations
    for share in _SHARES:
        mixed = equations if share == 1.0 else replace(equations, penalty=Mixed(equations.penalty, share))
        found = iterate(mixed, found.state, tol=tol if share == 1.0 else max(tol, _ROUGH), level=1)
        iterations = iterations + found.iterations
    return found._replace(iterations=iterations)


def iterate(equations: Equations, start: Array, *, tol: float | Array, level: int = 0) -> FixedPoint:
    """Solve the equations from given states."""

    def update(states: Array, rows: npt.NDArray[np.intp]) -> Array:
        return (equations if len(rows) == len(start) else equations.take(rows)).next(states)

    return fixed_point(update, start, tol=tol, scale=equations.scale, **equations.effort(level))


def _descend(equations: Equations, top: Array, step: float, tol: float, max_iterations: int) -> _Track:
    """Follow each point from the regularization `top` down to its own, first by factors of `step`."""
    track = _Track(equations, top, step)
    while track.active.size:
        rows, level = track.next()
        reg = track.reg[rows]
        wanted = np.where(reg == equations.reg[rows], tol, max(tol, _ROUGH))
        result = iterate(equations.take(rows).at(reg), track.guess(rows), tol=wanted, level=level)
        track.record(rows, result, max_iterations)
    return track


class _Track:
    """Each point's way down from a large regularization to its own."""

    def __init__(self, equations: Equations, top: Array, step: float) -> None:
        points = len(top)
        self.reg = top.copy()
        self.state = equations.at(_FURTHER * top).start()
        self.residual = np.full(points, np.inf)
        self.iterations = np.zeros(points, np.int64)
        self.converged = np.zeros(points, bool)
        self.active = np.flatnonzero(equations.reg >= _LEAST)
        self._equations = equations
        self._step = np.full(points, step)
        self._solved = _FURTHER * top  # regularization of `state`
        self._before = equations.at(_FURTHER**2 * top).start()  # the solution before it
        self._span = np.full(points, -np.log(_FURTHER))  # and how far that was

    def next(self) -> tuple[npt.NDArray[np.intp], int]:
        """Points to solve together and the effort they need, least first: it grows as their steps become small."""
        step = self._step[self.active]
        level = (step < 10.0).astype(int) + (step < 2.0)
        least = int(level.min())
        return self.active[level == least], least

    def guess(self, rows: npt.NDArray[np.intp]) -> Array:
        """State to start from: the last solution, extrapolated from the one before it."""
        ratio = np.log(self.reg[rows] / self._solved[rows]) / self._span[rows]
        return self._equations.extrapolate(self.state[rows], self._before[rows], ratio)

    def record(self, rows: npt.NDArray[np.intp], result: FixedPoint, limit: int) -> None:
        """Advance the points that were solved, let the others try a smaller step, and drop those that are done."""
        state, residual, iterations, good = result
        self.iterations[rows] += iterations
        arrived = self.reg[rows] == self._equations.reg[rows]
        won, lost = rows[good], rows[~good]
        self._before[won], self.state[won] = self.state[won], state[good]
        self._span[won] = np.log(self.reg[won] / self._solved[won])
        self._solved[won] = self.reg[won]
        # in the logarithm of reg, steps grow by half after a success and are halved after a failure
        self._step[won] = np.clip(self._step[won] ** 1.5, 3.0, 10.0)
        self._step[lost] = np.sqrt(self._step[lost])
        aim = self._solved[rows] / self._step[rows]
        near = np.minimum(2.0, np.sqrt(self._step[rows]))  # no small last step
        self.reg[rows] = np.where(aim < near * self._equations.reg[rows], self._equations.reg[rows], aim)
        self.residual[rows[good & arrived]] = residual[good & arrived]
        self.converged[rows[good & arrived]] = True
        stuck = (self._step[rows] < 1.1) | (self.iterations[rows] >= limit)
        given_up = ~(good & arrived) & stuck
        self.residual[rows[given_up]] = residual[given_up]
        self.active = np.setdiff1d(self.active, rows[(good & arrived) | stuck], assume_unique=True)

    def replace(self, rows: npt.NDArray[np.intp], other: _Track) -> None:
        """Take over where another attempt at some of the points ended."""
        self.state[rows], self.residual[rows], self.converged[rows] = other.state, other.residual, other.converged
        self.iterations[rows] += other.iterations
