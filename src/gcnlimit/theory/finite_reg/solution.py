"""A solution of the self-consistent equations, whatever the kind of graph, and the way to it.

Solutions are followed from a large regularization, where they are explicit, down to the wanted one. Chains are first brought
to a scale on which their layers and their filter have gain 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.filters import Chain
from gcnlimit.numerics.fixed_point import FixedPoint, explicit, fixed_point
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.penalties import L2, Mixed
from gcnlimit.results.order_parameters import OrderFunctions, Output, Weights
from gcnlimit.results.performance import Status
from gcnlimit.theory.finite_reg.equations import Equations
from gcnlimit.theory.points import Points

FAR = 1e15
"""Regularization, over that beyond which the loss is negligible, which is numerically infinite."""

ACCURACY = 1e-12
"""Of the chain that stands for a filter."""

_ROUGH = 1e-3  # residual that suffices on the way: small, since outputs may be far off where the spike dominates
_SHARES = (0.2, 0.5, 0.8, 1.0)  # of a penalty as it is turned on
_LEAST = 1e-150  # regularization, in units of the squared gain, below which a square underflows: there is no way down
_FURTHER = 10.0  # factor above the first regularization at which the explicit start is accepted as a solution


@dataclass(frozen=True, eq=False)
class Solution:
    """Output and weights of a batch of points at the solution, and how the search for it ended."""

    points: Points
    state: Array
    output: Output
    weights: Weights
    residual: Array
    iterations: npt.NDArray[np.int64]
    status: npt.NDArray[np.int64]

    def chain_layers(self) -> OrderFunctions:
        """Order functions at the layers of the chain that stands for the filter."""
        raise NotImplementedError

    def layers(self) -> OrderFunctions | None:
        """Order functions at the layers of a network; None if the filter has no layers of its own."""
        return self.chain_layers() if self.points.filter.deep else None


@dataclass(frozen=True, eq=False)
class FollowedSolution(Solution, ABC):
    """Solution of equations that all points share, followed down from a large regularization."""

    equations: Equations

    @staticmethod
    @abstractmethod
    def prepare(points: Points, chain: Chain | None) -> Equations:
        """Equations of the points; a `chain` takes the place of their filter."""

    @classmethod
    def solve(cls, points: Points, chain: Chain | None, *, tol: float, max_iterations: int) -> Self:
        """Solve the equations of each point."""
        equations = cls.prepare(points, chain)
        return cls._at(points, equations, follow(equations, tol=tol, max_iterations=max_iterations))

    @classmethod
    def asymptote(cls, points: Points, chain: Chain | None) -> tuple[Self, Array]:
        """Return the explicit solution at a large regularization, and that regularization."""
        equations = cls.prepare(points, chain)
        reg = FAR * equations.far
        far = equations.at(reg)
        return cls._at(points, far, explicit(far.start())), reg * far.gain**2

    @classmethod
    def _at(cls, points: Points, equations: Equations, found: FixedPoint) -> Self:
        side, _ = equations.evaluate(found.state)
        weights = side.weights.in_units(equations.gain)
        state, residual, iterations, _ = found
        return cls(points, state, side.output, weights, residual, iterations, status_of(found), equations)


def status_of(found: FixedPoint) -> npt.NDArray[np.int64]:
    """How the search for each point ended; without a residual it never began."""
    failed = np.where(np.isfinite(found.residual), Status.NOT_CONVERGED, Status.OUT_OF_RANGE)
    return np.where(found.converged, Status.CONVERGED, failed)


def scaled_chain(points: Points, chain: Chain | None) -> ScaledChain:
    """Chain of the filter, or another in its place, brought to gain 1."""
    if chain is None:
        filter = points.filter
        chain = (
            filter.chain(accuracy=ACCURACY, radius=points.radius)
            if points.symmetric
            else filter.directed_chain(points.signal, accuracy=ACCURACY)
        )
    scaled = ScaledChain.of(chain, points.signal, points.symmetric)
    return scaled._replace(gain=points.units(scaled.gain))


def follow(equations: Equations, *, tol: float, max_iterations: int) -> FixedPoint:
    """Solve the equations of each point by continuation in the regularization.

    It starts where the loss is negligible and comes down by factors of ten, each solution extrapolated to the next; where a
    step fails it is made smaller and the search more thorough. A point that is still not solved is tried once more from further
    away. A penalty other than the squared weights is turned on step by step at the last regularization.
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
        step = layers[:, 1:] / layers[:, :-1]
        return cls(Chain(chain.b / step, chain.c / step, chain.g * layers / gain[:, None]), layers, gain, spike)

    def take(self, rows: npt.NDArray[np.intp]) -> Self:
        """Chains of some of the points."""
        return type(self)(self.chain.take(rows), self.layers[rows], self.gain[rows], self.spike[rows])


def _symmetric_gain(chain: Chain, signal: Array) -> tuple[Array, Array, Array]:
    """Root mean square of each layer and of the filter over the semicircle, and the gain along the labels."""
    measure = SpikedSemicircle.of(signal, 2 * chain.depth + 2)
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
