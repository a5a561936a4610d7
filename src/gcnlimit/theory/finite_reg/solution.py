"""A solution of the self-consistent equations, whatever the kind of graph, and the way to it.

Solutions are followed from a large regularization, where they are explicit, down to the wanted one. Chains are first brought
to a scale on which their layers and their filter have gain 1.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from gcnlimit._values import Array, Integers
from gcnlimit.filters import Chain
from gcnlimit.numerics.fixed_point import FixedPoint, explicit, fixed_point
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.penalties import L2, Mixed
from gcnlimit.results.order_parameters import OrderFunctions, Output, Rows, Weights
from gcnlimit.results.performance import Status
from gcnlimit.theory.finite_reg.averages import eta_at_zero
from gcnlimit.theory.finite_reg.equations import NUMBERS, Equations
from gcnlimit.theory.points import Points

FAR = 1e15
"""Regularization, over that beyond which the loss is negligible, which is numerically infinite."""

ACCURACY = 1e-12
"""Of the chain that stands for a filter."""

ROUNDING = 7e-12
"""Residual that rounding may leave, over the root of the numbers of a state."""

_ROUGH = 1e-3  # residual that suffices on the way, where a spike that dominates magnifies it
_STRIDE, _LEAST_STRIDE = (
    0.05,
    1e-5,
)  # in the share of a penalty as it is turned on: first, and least
_LEAST = 1e-150  # regularization, in units of the squared gain, below which a square underflows
_WORK = 5e8  # iterations times numbers of a state to the power 3/2, about: ten seconds
_FURTHER = 10.0  # factor above the first regularization at which the explicit start is a solution


@dataclass(frozen=True, eq=False)
class Solution:
    """Output and weights of a batch of points at the solution, and how the search for it ended."""

    points: Points
    state: Array
    output: Output
    weights: Weights
    residual: Array
    iterations: Integers
    status: Integers

    @staticmethod
    def cost(points: Points) -> Integers:
        """Numbers that the search keeps at a time, for each point."""
        raise NotImplementedError

    @classmethod
    def solve(cls, points: Points, *, tol: float, max_iterations: int) -> Self:
        """Solve the equations of each point."""
        raise NotImplementedError

    @classmethod
    def asymptote(cls, points: Points) -> tuple[Self, Array]:
        """Return the explicit solution at a large regularization, and that regularization."""
        raise NotImplementedError

    def chain_layers(self) -> OrderFunctions:
        """Order functions at the layers of the chain that stands for the filter."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class FollowedSolution(Solution, ABC):
    """Solution of equations that all points share, followed down from a large regularization."""

    equations: Equations

    @staticmethod
    @abstractmethod
    def prepare(points: Points) -> Equations:
        """Equations of the points."""

    @classmethod
    def solve(cls, points: Points, *, tol: float, max_iterations: int) -> Self:
        equations = cls.prepare(points)
        return cls._at(points, equations, follow(equations, tol=tol, max_iterations=max_iterations))

    @classmethod
    def asymptote(cls, points: Points) -> tuple[Self, Array]:
        equations = cls.prepare(points)
        reg = FAR * equations.far
        far = equations.at(reg)
        return cls._at(points, far, explicit(far.start())), reg * far.gain**2

    @classmethod
    def _at(cls, points: Points, equations: Equations, end: FixedPoint) -> Self:
        state, residual, iterations, _ = end
        output, weights, _ = equations.evaluate(state)
        law = output, weights.in_units(equations.gain)
        return cls(points, state, *law, residual, iterations, status_of(end), equations)


def status_of(end: FixedPoint) -> Integers:
    """How the search for each point ended; without a residual it never began."""
    failed = np.where(np.isfinite(end.residual), Status.NOT_CONVERGED, Status.OUT_OF_RANGE)
    return np.where(end.converged, Status.CONVERGED, failed)


def scaled_chain(points: Points) -> ScaledChain:
    """Chain of the filter, brought to gain 1."""
    if points.symmetric:
        chain = points.filter.chain(accuracy=ACCURACY, radius=points.radius)
    else:
        chain = points.filter.directed_chain(points.signal, accuracy=ACCURACY)
    scaled = ScaledChain.of(chain, points.signal, points.symmetric)
    return scaled._replace(gain=points.units(scaled.gain))


def follow(equations: Equations, *, tol: float, max_iterations: int) -> FixedPoint:
    """Solve the equations of each point by continuation in the regularization.

    It starts where the loss is negligible and comes down by factors of ten, each solution extrapolated to the next; where a
    step fails it is made smaller and the search more thorough. A point that is still not solved is tried once more from further
    away. A penalty other than the squared weights is turned on step by step at the last regularization.
    """
    if not isinstance(equations.penalty, L2):
        # at a large regularization a corner would hold all weights at 0: it is turned on last
        plain = replace(equations, penalty=L2())
        end = follow(plain, tol=_ROUGH, max_iterations=max_iterations)
        return _turn_on(equations, end, tol, max_iterations)
    # a loss that is steep at 0 is negligible only further away
    steep = np.maximum(1.0, eta_at_zero(equations.loss, equations.reg.shape).pull)
    top = np.maximum(equations.reg, steep * equations.far)
    twice = max_iterations > 1000
    track = _Track(equations, top, 10.0, tied=not twice)
    end = track.run(tol, max_iterations)
    lost = np.flatnonzero(~end.converged & (end.iterations < track.most))
    if lost.size and twice:
        # the explicit start is a solution where its outputs are small; smaller steps lose less
        rest, top = equations.take(lost), top[lost]
        start = rest.at(top)
        mean, variance, v = start.evaluate(start.start())[0]
        size = (np.abs(mean) + np.sqrt(variance) + v).reshape(lost.size, -1)
        further = np.fmax(3.0, 3.0 * np.max(size, axis=1))  # of all propensities
        again = _Track(rest, further * top, 4.0).run(tol, max_iterations)
        again.iterations[:] += end.iterations[lost]
        for whole, part in zip(end, again, strict=True):
            whole[lost] = part
    return end


def _turn_on(equations: Equations, end: FixedPoint, tol: float, most: int) -> FixedPoint:
    """Solutions with a penalty, from those with the squared weights, through mixtures of both.

    The share of the penalty grows by strides that grow by half after a success and are quartered after a failure; each start is
    extrapolated from the last two solutions.
    """
    share = np.zeros(len(end.state))
    stride = np.full_like(share, _STRIDE)
    slope = np.zeros_like(end.state[:, :NUMBERS])  # of the last two solutions
    active = np.flatnonzero(np.isfinite(end.residual))
    end.converged[:] = False
    while active.size:
        # those that try the same share together, the least share first
        aim = np.minimum(1.0, share[active] + stride[active])
        here = float(np.min(aim))
        rows = active[aim == here]
        penalty = equations.penalty if here == 1.0 else Mixed(equations.penalty, here)
        stage = replace(equations.take(rows), penalty=penalty)
        wanted = tol if here == 1.0 else max(tol, _ROUGH)
        step = (here - share[rows])[:, None]
        start = end.state[rows]
        start[:, :NUMBERS] += np.clip(step * slope[rows], -3.0, 3.0)
        found = iterate(stage, start, tol=wanted, level=1)
        good = found.converged
        change = found.state[:, :NUMBERS] - end.state[rows, :NUMBERS]
        slope[rows] = np.where(good[:, None], change / step, 0.0)
        share[rows[good]] = here
        end.state[rows[good]] = found.state[good]
        end.residual[rows] = found.residual
        end.iterations[rows] += found.iterations
        end.converged[rows] = good & (here == 1.0)
        over = end.converged[rows] | (end.iterations[rows] >= most)
        over |= ~good & (stride[rows] < _LEAST_STRIDE)
        stride[rows] *= np.where(good, 1.5, 0.25)
        active = np.setdiff1d(active, rows[over], assume_unique=True)
    return end


def iterate(equations: Equations, start: Array, *, tol: float | Array, level: int) -> FixedPoint:
    """Solve the equations from given states: at level 0 by a search among pulls, above by one among outputs.

    Where nearly all outputs are beyond a kink of the loss, outputs that hardly move change their pulls by orders of magnitude. A
    search among pulls then swings, and one among outputs does not; elsewhere it only costs more.
    """

    def update(states: Array, rows: Rows) -> Array:
        part = equations if len(rows) == len(start) else equations.take(rows)
        return part.outputs_of(part.states_of(states)) if level else part.next(states)

    def scale(outputs: Array) -> Array:
        size = np.ones_like(outputs)
        columns = NUMBERS - 1 + math.prod(equations.laws)
        size[:, columns:] = equations.scale(outputs[:, columns - NUMBERS :])[:, NUMBERS:]
        return size

    effort = equations.effort(level) | {"tol": tol}
    if level == 0:
        return fixed_point(update, start, scale=equations.scale, **effort)
    end = fixed_point(update, equations.outputs_of(start), scale=scale, **effort)
    return end._replace(state=equations.states_of(end.state))


class _Track:
    """Each point's way down from the regularization `top` to its own, first by factors of `step`.

    Unless it is `tied` to its start, a point that small steps do not lead away from there is given up.
    """

    def __init__(self, equations: Equations, top: Array, step: float, tied: bool = True) -> None:
        points = len(top)
        self._equations = equations
        self._least = np.where(tied, 1.1, 2.0) * np.ones(points)  # step below which it is given up
        self._reg = top.copy()  # tried next
        self._state = equations.at(_FURTHER * top).start()
        self._solved = _FURTHER * top  # regularization of the state
        self._before = equations.at(_FURTHER**2 * top).start()  # the solution before it
        self._span = np.full(points, -np.log(_FURTHER))  # and how far that was
        self._step = np.full(points, step)
        self._active = np.flatnonzero(equations.reg >= _LEAST)
        self._residual = np.full(points, np.inf)
        self._iterations = np.zeros(points, np.int64)
        self._converged = np.zeros(points, bool)

    def run(self, tol: float, max_iterations: int) -> FixedPoint:
        """Follow each point until it arrives or is given up."""
        self.most = min(max_iterations, 1 + int(_WORK / self._state.shape[1] ** 1.5))
        while self._active.size:
            # points to solve together, those of the least effort first: small steps cost more
            step = self._step[self._active]
            level = (step < 10.0).astype(int) + (step < 2.0)
            rows = self._active[level == level.min()]

            # extrapolate the last two solutions: in logarithms, powers of reg are lines
            reg = self._reg[rows]
            ratio = np.log(reg / self._solved[rows]) / self._span[rows]
            start = self._state[rows]
            change = start[:, :NUMBERS] - self._before[rows, :NUMBERS]
            start[:, :NUMBERS] += np.clip(ratio[:, None] * change, -3.0, 3.0)
            wanted = np.where(reg == self._equations.reg[rows], tol, max(tol, _ROUGH))
            stage = self._equations.take(rows).at(reg)
            end = iterate(stage, stage.settled(start), tol=wanted, level=int(level.min()))
            end.converged[end.residual <= ROUNDING * np.sqrt(start.shape[1])] = True
            self._record(rows, end)
        return FixedPoint(self._state, self._residual, self._iterations, self._converged)

    def _record(self, rows: Rows, end: FixedPoint) -> None:
        """Advance the points that were solved, let the others try a smaller step, and drop those that are done."""
        state, residual, iterations, good = end
        wanted = self._equations.reg[rows]
        arrived = good & (self._reg[rows] == wanted)
        won = rows[good]
        self._least[won] = 1.1
        self._iterations[rows] += iterations
        self._before[won] = self._state[won]
        self._state[won] = state[good]
        self._span[won] = np.log(self._reg[won] / self._solved[won])
        self._solved[won] = self._reg[won]

        # in the logarithm of reg, steps grow by half after a success and are halved after a failure
        step = self._step[rows]
        step = np.where(good, np.clip(step**1.5, 3.0, 10.0), np.sqrt(step))
        self._step[rows] = step
        aim = self._solved[rows] / step
        near = np.minimum(2.0, np.sqrt(step))  # no small last step
        self._reg[rows] = np.where(aim < near * wanted, wanted, aim)

        over = arrived | (step < self._least[rows]) | (self._iterations[rows] >= self.most)
        self._residual[rows[over]] = residual[over]
        self._converged[rows[arrived]] = True
        self._active = np.setdiff1d(self._active, rows[over], assume_unique=True)


class ScaledChain(NamedTuple):
    r"""A chain whose layers and filter have gain 1 on the bulk of the spectrum, and the gains that were divided out.

    `layers[k]` is the gain :math:`s_k` of layer :math:`k`, `gain` that of the whole, :math:`|g| = \sqrt{\tau(gg^T)}`, and
    `spike` the mean squared gain :math:`e(g^2)/\tau(g^2)` along the labels.
    """

    chain: Chain
    layers: Array
    gain: Array
    spike: Array

    @classmethod
    def of(cls, chain: Chain, signal: Array, symmetric: bool) -> Self:
        """Scale a chain, for each signal."""
        chain = chain.broadcast(signal.shape)
        layers, gain, spike = (_symmetric_gain if symmetric else _directed_gain)(chain, signal)
        # each layer is divided by its gain, and what is read from it multiplied
        step = layers[:, 1:] / layers[:, :-1]
        scaled = Chain(chain.b / step, chain.c / step, chain.g * layers / gain[:, None])
        return cls(scaled, layers, gain, spike)

    def take(self, rows: Rows) -> Self:
        """Chains of some of the points."""
        chain, layers, gain, spike = self
        return type(self)(chain.take(rows), layers[rows], gain[rows], spike[rows])


def _symmetric_gain(chain: Chain, signal: Array) -> tuple[Array, Array, Array]:
    """Root mean square of each layer and of the filter over the semicircle, and the gain along the labels."""
    measure = SpikedSemicircle.of(signal, 2 * chain.depth + 2)
    # products of two layers are polynomials, which so many nodes integrate exactly
    layers, total = _gains(chain, measure.x, lambda layer: layer**2 @ measure.tau)
    square = total**2
    mean = square @ measure.tau
    return layers, np.sqrt(mean), np.einsum("bn,bn->b", measure.e, square) / mean


def _directed_gain(chain: Chain, signal: Array) -> tuple[Array, Array, Array]:
    """Root sum of squares of the Taylor coefficients of each layer and of the filter, and the gain along the labels."""
    layers, total = _gains(chain, None, lambda layer: np.sum(layer**2, axis=-1))
    mean = np.sum(total**2, axis=1)
    tail = np.zeros(len(signal))
    spike = np.zeros(len(signal))
    for k in range(chain.depth, -1, -1):
        tail = total[:, k] + signal * tail
        spike += tail**2
    return layers, np.sqrt(mean), spike / mean


def _gains(chain: Chain, x: Array | None, square: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Root mean square of each layer, 1 where it vanishes, and the filter: at points `x` or as Taylor coefficients."""
    products = chain.products(x)
    total = chain.g[:, :1] * next(products)
    gains = np.ones(chain.g.shape)
    for k, layer in enumerate(products, start=1):
        gains[:, k] = np.sqrt(square(layer))
        total = total + chain.g[:, k, None] * layer
    return np.where(gains > 0.0, gains, 1.0), total
