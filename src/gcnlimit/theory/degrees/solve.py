"""Networks under a law of degrees: margins at infinite regularization, and the equations of the layers at a finite one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Self

import numpy as np

from gcnlimit._values import Array, Integers
from gcnlimit.degrees import DegreeLaw
from gcnlimit.losses import Square
from gcnlimit.numerics.fixed_point import FixedPoint, explicit
from gcnlimit.numerics.linear import batches
from gcnlimit.results.order_parameters import Weights
from gcnlimit.theory.degrees.far import far_layers
from gcnlimit.theory.degrees.layers import LayerEquations, LayerState, Wiring
from gcnlimit.theory.degrees.symmetric import symmetric_margins
from gcnlimit.theory.finite_reg.averages import eta_at_zero
from gcnlimit.theory.finite_reg.solution import ROUNDING, Solution, status_of
from gcnlimit.theory.points import Points, Rows

_NUMBERS_AT_ONCE = 1 << 18  # held by one temporary array
_FEW = 24  # propensities on the way down from a large regularization
_ROUGH = 3e-3  # residual that suffices there
_NEARER, _NEAR = 1e-2, 3e-2  # one that is put up with there, after long strides and short ones
_FINE = 1e-6  # residual below which a search has come as far as rounding lets it
_ARRIVED = 1e-8  # residual with few propensities from which all lead to the end
_LONG, _SHORT, _SHORTEST = 10.0, 2.0, 1.4  # strides, as factors
_ON_THE_WAY = 100, 200  # iterations on long strides and on short ones
_ASTRAY = 8  # strides without a solution after which a point is given up
_MODERATE = 30.0  # factor between two solutions up to which a number is extrapolated
_WORK = 1_000_000_000  # multiplications of a search, about: ten seconds
_FAR = 3.0  # reg over the pull of the loss times the size of an output: the way down begins there


def margins_by_degree(points: Points, law: DegreeLaw) -> tuple[Array, Array]:
    """Margins of test and train nodes, points along the first axis and the propensities of the law along the second."""
    if points.normalization.plain:
        return symmetric_margins(points, law.mean_root, law.theta)
    # the loss is linear in outputs that vanish: any has the equations of the square loss
    equations = LayerEquations.of(points._replace(loss=Square()), law)
    together = max(1, _NUMBERS_AT_ONCE // math.prod(equations.shape[1:]))
    outputs = []
    for rows in batches(points.size, together):
        part = equations.take(rows)
        outputs.append(part.nodes(far_layers(part)).output)
    mean, variance, v = (np.concatenate(column) for column in zip(*outputs, strict=True))
    deviation = np.sqrt(variance)
    return mean / deviation, (mean + v) / deviation


class LayerSolution(Solution):
    """Solution under a law of degrees, outputs with a second axis over the propensities; weights without conjugates."""

    @staticmethod
    def cost(points: Points) -> Integers:
        """Numbers that the search keeps at a time, for each point."""
        assert points.degrees is not None
        layers, propensities = Wiring.layers(points), points.degrees.theta.size
        different = 1 if points.normalization.plain else propensities
        return 8 * layers * (different * layers + propensities)

    @classmethod
    def solve(cls, points: Points, *, tol: float, max_iterations: int) -> Self:
        """Solve the equations of each point, by coming down from a large regularization."""
        assert points.degrees is not None
        equations = balanced(LayerEquations.of(points, points.degrees))
        weight = equations.law.weight
        start = far_layers(equations)
        output = equations.nodes(start).output
        reg = points.reg * (points.divisor() / equations.wiring.gain) ** 2
        pull, _, slope = eta_at_zero(equations.loss, reg.shape)
        size = np.sqrt((output.mean**2 + output.variance) @ weight) + output.v @ weight
        # above it outputs are small, and the loss is linear
        top = np.maximum(reg, _FAR * np.maximum(pull, slope) * size)
        equations = replace(equations, reg=reg)
        layers = equations.wiring.b.shape[1]
        few = LayerEquations.of(points, points.degrees.few(_FEW))
        few = replace(few, reg=reg, wiring=equations.wiring)
        most = _affordable(few, max_iterations)
        descent = _Descent(few, partial(start.at, pull=pull), top)
        end = descent.run(max(tol, _ARRIVED), most)
        if (near := np.flatnonzero(end.converged)).size:
            state = LayerState.unpack(end.state[near], layers)
            most = _affordable(equations, max_iterations)
            found = equations.take(near).solve(state, tol=tol, max_iterations=most)
            found.converged[found.residual <= ROUNDING * np.sqrt(end.state.shape[1])] = True
            found.iterations[:] += end.iterations[near]
            for every, some in zip(end, found, strict=True):
                every[near] = some
        state = LayerState.unpack(end.state, layers)
        weights = Weights(state.m_w, state.Q_w, state.V_w, *np.full((3, points.size), np.nan))
        laws = end.state, equations.nodes(state).output, weights
        return cls(points, *laws, end.residual, end.iterations, status_of(end))


def balanced(equations: LayerEquations) -> LayerEquations:
    """The same equations for layers of one size: those of size 1 without hubs grow by orders with each layer."""
    spread = equations.nodes(far_layers(equations)).C
    size = np.sqrt(equations.average(1.0, np.einsum("ptkk->ptk", spread)))
    return replace(equations, wiring=equations.wiring.scaled(size))


def _affordable(equations: LayerEquations, most: int) -> int:
    """Iterations of one point that a bounded amount of work allows, at most so many."""
    _, different, _, layers = equations.shape
    work = layers**2 * (different * layers + 8 * equations.law.weight.size)
    return min(most, 1 + _WORK // work)


class _Descent:
    """Each point's way from the regularization `top` down to that of the equations, so that its answer is its own.

    Strides grow by half after a success and are halved after a failure, in the logarithm; each start is extrapolated from the
    last two solutions.
    """

    def __init__(
        self, equations: LayerEquations, far: Callable[[Array], LayerState], top: Array
    ) -> None:
        points = top.size
        self._equations = equations
        self._reg = top.copy()  # tried next
        self._solved = _LONG * top  # regularization of the state
        self._state = far(self._solved).pack()
        self._before = far(_LONG * self._solved).pack()  # the solution before it
        self._span = np.full(points, np.log(_LONG))  # how far that was; infinite: not extrapolated
        self._step = np.full(points, _LONG)
        self._lost = np.zeros(points)  # times that a point went on without a solution
        self._end = explicit(self._state.copy())
        self._end.converged[:], self._end.residual[:] = False, np.inf

    def run(self, tol: float, most: int) -> FixedPoint:
        """Follow each point until it arrives or is given up."""
        reg, end, equations = self._reg, self._end, self._equations
        # one beyond the range of numbers is not solved below
        active = np.flatnonzero(np.isfinite(self._solved) & np.isfinite(self._state).all(axis=1))
        while active.size:
            # those of one kind together: on long strides, on short ones, and at the end
            kind = 2 * (reg[active] == equations.reg[active]) + (self._step[active] <= _SHORT)
            rows = active[kind == kind.min()]
            last, short = bool(kind.min() > 1), int(kind.min() % 2)
            start = LayerState.unpack(self._extrapolated(rows), equations.wiring.b.shape[1])
            stage = replace(equations.take(rows), reg=reg[rows])
            wanted, limit = (tol, most) if last else (max(tol, _ROUGH), _ON_THE_WAY[short])
            found = stage.solve(start, tol=wanted, max_iterations=min(most, limit))
            self._record(rows, found, last)
            over = end.converged[rows] | (self._lost[rows] > _ASTRAY)
            # shorter strides do not help one that only rounding keeps from its end
            over |= (end.iterations[rows] >= most) | (last & (found.residual <= _FINE))
            active = np.setdiff1d(active, rows[over], assume_unique=True)
        return end

    def _extrapolated(self, rows: Rows) -> Array:
        """Last two solutions continued as powers of the regularization, where their ratio is moderate."""
        state, before = self._state[rows], self._before[rows]
        ratio = np.log(self._solved[rows] / self._reg[rows]) / self._span[rows]
        with np.errstate(all="ignore"):
            change = state / before
            moderate = (change > 1.0 / _MODERATE) & (change < _MODERATE)
        power = np.minimum(ratio, 3.0)[:, None]
        return np.asarray(state * np.where(moderate, change, 1.0) ** power)

    def _record(self, rows: Rows, found: FixedPoint, last: bool) -> None:
        """Advance the points that were solved, and choose what each tries next."""
        good, known = found.converged, np.isfinite(found.residual)
        end, step = self._end, self._step[rows]
        end.iterations[rows] += found.iterations
        end.converged[rows[good]] = last
        end.state[rows[known]] = found.state[known]
        end.residual[rows[known]] = found.residual[known]
        # one that is nearly solved, or on the shortest stride, may find back further down
        near = ~good & (found.residual <= np.where(step <= _SHORT, _NEAR, _NEARER))
        short = step <= _SHORTEST
        self._lost[rows[~good & short & (last | ~near)]] += _ASTRAY + 1 if last else 1
        go = good | (known & (near | short) & (not last))
        on = rows[go]
        self._span[rows] = np.where(good, np.log(self._solved[rows] / self._reg[rows]), np.inf)
        self._before[on], self._solved[on] = self._state[on], self._reg[on]
        self._state[on] = found.state[go]
        step = np.clip(np.where(good, step**1.5, np.sqrt(step)), _SHORTEST, _LONG)
        self._step[rows] = step
        aim, wanted = self._solved[rows] / step, self._equations.reg[rows]
        self._reg[rows] = np.where(aim < np.sqrt(step) * wanted, wanted, aim)  # no small last step
