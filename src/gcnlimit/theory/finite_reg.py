r"""Finite regularization: from data and network to the solution of the chain equations.

The chain is first brought to a scale on which all its layers have gain 1 on the bulk of the spectrum, and the filter too;
the regularization is then measured in units of :math:`\tau(g^2)`. At large regularization the solution is explicit; from there
it is continued to the wanted regularization.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import Array
from gcnlimit.filters import Chain
from gcnlimit.numerics.fixed_point import FixedPoint, fixed_point
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.theory.chain import ChainProblem, Moments, State
from gcnlimit.theory.far import far_state
from gcnlimit.theory.points import Points

__all__ = ["Scaled", "Solution", "solve"]


@dataclass(frozen=True)
class Scaled:
    r"""A chain problem whose layers and filter have gain 1, and the gains that were divided out.

    `layers[k]` is the gain :math:`s_k` of layer :math:`k`, `filter` that of the whole, :math:`\kappa = \sqrt{\tau(g^2)}`, and
    `spike` the mean squared gain :math:`e(g^2)/\tau(g^2)` along the labels.
    """

    problem: ChainProblem
    layers: Array
    filter: Array
    spike: Array

    @classmethod
    def of(cls, points: Points, accuracy: float = 1e-12) -> Self:
        """Write the filter as a chain and scale it."""
        return cls.of_chain(points, points.filter.chain(accuracy=accuracy, radius=points.radius))

    @classmethod
    def of_chain(cls, points: Points, chain: Chain) -> Self:
        """Scale a chain that stands for the filter of the points."""
        chain = Chain(*(np.broadcast_to(p, (points.size, p.shape[-1])) for p in chain))
        gain = _symmetric_gain if points.symmetric else _directed_gain
        layers, kappa, spike = gain(chain, points.signal)
        step = layers[:, 1:] / layers[:, :-1]
        scaled = Chain(chain.b / step, chain.c / step, chain.g * layers / kappa[:, None])
        problem = ChainProblem(
            points.alpha,
            points.signal,
            points.mu,
            points.rho,
            points.reg / kappa**2,
            scaled,
            points.loss,
            points.symmetric,
        )
        return cls(problem, layers, kappa, spike)


def _symmetric_gain(chain: Chain, signal: Array) -> tuple[Array, Array, Array]:
    """Root mean square of each layer and of the filter over the semicircle, and the gain along the labels."""
    measure = SpikedSemicircle.of(signal, 2 * chain.depth + 2)
    layer = np.ones(measure.x.shape)
    total = chain.g[:, :1] * layer
    gains = [np.ones(len(signal))]
    for k in range(chain.depth):
        layer = (chain.b[:, k, None] * measure.x + chain.c[:, k, None]) * layer
        gains.append(_nonzero(np.sqrt(layer**2 @ measure.tau)))
        total = total + chain.g[:, k + 1, None] * layer
    square = total**2
    mean = square @ measure.tau
    return np.stack(gains, axis=1), np.sqrt(mean), np.einsum("bn,bn->b", measure.e, square) / mean


def _directed_gain(chain: Chain, signal: Array) -> tuple[Array, Array, Array]:
    """Root sum of squares of the Taylor coefficients of each layer and of the filter, and the gain along the labels."""
    layer = np.zeros((len(signal), chain.depth + 1))
    layer[:, 0] = 1.0
    total = chain.g[:, :1] * layer
    gains = [np.ones(len(signal))]
    for k in range(chain.depth):
        up = chain.b[:, k, None] * layer[:, :-1]
        layer = chain.c[:, k, None] * layer
        layer[:, 1:] += up
        gains.append(_nonzero(np.sqrt(np.sum(layer**2, axis=1))))
        total = total + chain.g[:, k + 1, None] * layer
    mean, tail, spike = np.sum(total**2, axis=1), np.zeros(len(signal)), np.zeros(len(signal))
    for k in range(chain.depth, -1, -1):
        tail = total[:, k] + signal * tail
        spike += tail**2
    return np.stack(gains, axis=1), np.sqrt(mean), spike / mean


def _nonzero(gain: Array) -> Array:
    return np.where(gain > 0.0, gain, 1.0)


_EFFORTS: tuple[Callable[[int], dict[str, Any]], ...] = (
    lambda K: {"max_iterations": 100 + 5 * K, "memory": min(2 * K + 4, 20)},
    lambda K: {"max_iterations": 200 + 10 * K, "memory": min(2 * K + 4, 64)},
    lambda K: {"max_iterations": 2000, "memory": 1, "damping": 0.1, "patience": 2000},
)
"""How hard to search, by depth: for steps of ten in the regularization, for smaller ones, for the smallest."""


class Solution(NamedTuple):
    """Where the equations were solved: the moments of the output and how the search ended."""

    moments: Moments
    state: State
    residual: Array
    iterations: npt.NDArray[np.int64]
    converged: npt.NDArray[np.bool_]


def solve(scaled: Scaled, *, tol: float, max_iterations: int) -> Solution:
    r"""Solve the equations of each point by continuation in the regularization.

    It starts where the filter's gain along the labels, the largest there is, no longer feels the loss, and comes down by
    factors of ten, each solution extrapolated as a power law to the next; where a step fails it is made smaller and more is
    remembered, and after two failures the point is iterated slowly, with strong damping. A point that is still not solved is
    tried once more from the start, in small steps.
    """
    problem = scaled.problem
    far = 10.0 if hasattr(problem.loss, "breakpoints") else 1.0  # kinks come unannounced
    top = np.maximum(problem.reg, far * np.maximum(1.0, scaled.spike))
    track = _follow(problem, top, 10.0, tol, max_iterations)
    lost = np.flatnonzero(~track.converged)
    if lost.size and max_iterations > 1000:
        track.replace(lost, _follow(problem.take(lost), 3.0 * top[lost], 4.0, tol, max_iterations))
    with np.errstate(all="ignore"):
        state = State.unpack(track.state, problem.depth)
        return Solution(problem.moments(state), state, track.residual, track.iterations, track.converged)


def _follow(problem: ChainProblem, top: Array, step: float, tol: float, max_iterations: int) -> _Track:
    """Follow each point from the regularization `top` down to its own, first by factors of `step`."""
    K = problem.depth
    track = _Track(problem.reg, top, step, State.blocks(K))
    track.state = far_state(problem, track.reg).pack()
    while track.active.size:
        rows, effort = track.next()
        here = replace(problem.take(rows), reg=track.reg[rows])
        result = fixed_point(
            partial(_next, here),
            track.guess(rows),
            tol=np.where(track.reg[rows] == problem.reg[rows], tol, max(tol, 0.03)),
            scale=_scale(K),
            **_EFFORTS[effort](K),
        )
        track.record(rows, result, max_iterations)
    return track


def _scale(depth: int) -> Callable[[Array], Array]:
    """Scale of each entry of a packed state."""

    def scale(states: Array) -> Array:
        with np.errstate(all="ignore"):
            return State.unpack(states, depth).scale().pack()

    return scale


def _next(problem: ChainProblem, states: Array, rows: npt.NDArray[np.intp]) -> Array:
    with np.errstate(all="ignore"):  # a state that is not allowed gives NaN, which the search rejects
        part = problem if len(rows) == len(problem.reg) else problem.take(rows)
        return part.moments(State.unpack(states, problem.depth)).state.pack()


class _Track:
    """Each point's way down from a large regularization to its own."""

    def __init__(self, target: Array, top: Array, step: float, blocks: list[int]) -> None:
        points = len(target)
        self.reg = top.copy()
        self.state = np.empty(0)
        self.residual = np.full(points, np.inf)
        self.iterations = np.zeros(points, np.int64)
        self.converged = np.zeros(points, bool)
        self.active = np.arange(points)
        self._target = target
        self._step = np.full(points, step)
        self._solved = np.full(points, np.nan)  # regularization of `state`, once solved
        self._growth = np.zeros((points, sum(1 for b in blocks if b)))  # log size of each block per log regularization
        self._lengths = np.array([b for b in blocks if b])
        self._starts = np.concatenate([[0], np.cumsum(self._lengths)[:-1]]).astype(int)

    def next(self) -> tuple[npt.NDArray[np.intp], int]:
        """Points to solve together and the effort they need, least first: it grows as their steps become small."""
        step = self._step[self.active]
        effort = (step < 10.0).astype(int) + (step < 2.0)
        least = int(effort.min())
        return self.active[effort == least], least

    def guess(self, rows: npt.NDArray[np.intp]) -> Array:
        """State to start from: the last solution, each block continued as a power of the regularization."""
        ratio = np.where(np.isnan(self._solved[rows]), 0.0, np.log(self.reg[rows] / self._solved[rows]))
        factor = np.exp(np.nan_to_num(ratio)[:, None] * self._growth[rows])
        return np.asarray(self.state[rows] * np.repeat(factor, self._lengths, axis=1))

    def record(self, rows: npt.NDArray[np.intp], result: FixedPoint, limit: int) -> None:
        """Advance the points that were solved, let the others try a smaller step, and drop those that are done."""
        state, residual, iterations, good = result
        self.iterations[rows] += iterations
        arrived = self.reg[rows] == self._target[rows]
        won, lost = rows[good], rows[~good]
        old = self.state[won].copy()
        self.state[won] = state[good]
        self._learn(won, old)
        self._solved[won] = self.reg[won]
        self._step[won] = np.clip(self._step[won] ** 1.5, 3.0, 10.0)
        self._step[lost] = np.sqrt(self._step[lost])
        base = np.where(np.isnan(self._solved[rows]), 10.0 * self.reg[rows] * self._step[rows], self._solved[rows])
        aim = base / self._step[rows]
        near = np.minimum(2.0, np.sqrt(self._step[rows]))  # no small last step
        self.reg[rows] = np.where(aim < near * self._target[rows], self._target[rows], aim)
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

    def _learn(self, rows: npt.NDArray[np.intp], old: Array) -> None:
        """Exponent of each block between the last two solutions."""
        known = ~np.isnan(self._solved[rows])
        rows, old = rows[known], old[known]
        span = np.log(self.reg[rows] / self._solved[rows])[:, None]
        new_size, old_size = (np.maximum.reduceat(np.abs(x), self._starts, axis=1) for x in (self.state[rows], old))
        ok = (new_size > 0) & (old_size > 0)
        self._growth[rows] = np.where(ok, np.log(np.where(ok, new_size, 1) / np.where(ok, old_size, 1)) / span, 0.0)
