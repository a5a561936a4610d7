"""Networks under a law of degrees: margins at infinite regularization, and the equations of the layers at a finite one."""

from __future__ import annotations

import math
from dataclasses import replace
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
from gcnlimit.theory.finite_reg.solution import Solution, status_of
from gcnlimit.theory.points import Points

_NUMBERS_AT_ONCE = 1 << 18  # held by one temporary array
_ROUGH = 1e-3  # residual that suffices on the way down from a large regularization
_ON_THE_WAY = 120  # iterations there
_LONG, _SHORT = 10.0, 1.04  # factor of the first stride, and that below which a point is given up
_LONGER, _NEAR = 1.25, 1.5  # power of a stride after a success; no last one is shorter
_WORK = 2_000_000_000  # multiplications of a descent, about: twenty seconds
_FAR = 3.0  # reg over the pull of the loss times the size of an output: the way down begins there


def margins_by_degree(points: Points, law: DegreeLaw) -> tuple[Array, Array]:
    """Margins of test and train nodes, points along the first axis and the propensities of the law along the second."""
    if points.normalization.plain:
        return symmetric_margins(points, law.mean_root, law.theta)
    # the loss is linear in outputs that vanish: any has the equations of the square loss
    equations = LayerEquations.of(points._replace(loss=Square()), law)
    together = max(1, _NUMBERS_AT_ONCE // math.prod(equations.shape[1:]))
    parts = map(equations.take, batches(points.size, together))
    outputs = [part.nodes(far_layers(part)).output for part in parts]
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
        equations = LayerEquations.of(points, points.degrees)
        weight = equations.law.weight
        start = far_layers(equations)
        output = equations.nodes(start).output
        reg = points.reg * (points.divisor() / equations.wiring.gain) ** 2
        pull, _, slope = eta_at_zero(equations.loss, reg.shape)
        size = np.sqrt((output.mean**2 + output.variance) @ weight) + output.v @ weight
        # above it outputs are small, and the loss is linear
        top = np.maximum(reg, _FAR * np.maximum(pull, slope) * size)
        equations = replace(equations, reg=reg)
        start = start.at(top, pull)
        _, different, _, layers = equations.shape
        work = layers**2 * (different * layers + 8 * weight.size)
        most = min(max_iterations, 1 + _WORK // work)
        end = _descend(equations, start, top, tol, most)
        state = LayerState.unpack(end.state, equations.wiring.b.shape[1])
        weights = Weights(state.m_w, state.Q_w, state.V_w, *np.full((3, points.size), np.nan))
        output = equations.nodes(state).output
        return cls(points, end.state, output, weights, *end[1:3], status_of(end))


def _descend(
    equations: LayerEquations, start: LayerState, top: Array, tol: float, most: int
) -> FixedPoint:
    """Follow each solution down from the regularization `top`, as powers of it; a stride that fails is halved."""
    wanted, whole = equations.reg, explicit(start.pack())
    whole.converged[:], whole.residual[:] = False, np.inf
    reg, solved, stride = top.copy(), _LONG * top, np.full(wanted.size, _LONG)
    before, span = whole.state.copy(), np.ones(wanted.size)  # the solution before, and how far
    # one beyond the range of numbers is not solved
    active = np.flatnonzero(np.isfinite(top / wanted))
    while active.size:
        behind = active[reg[active] > wanted[active]]  # first, and then the last stage of all
        rows = behind if behind.size else active
        effort = (max(tol, _ROUGH), min(_ON_THE_WAY, most)) if behind.size else (tol, most)
        stage = replace(equations.take(rows), reg=reg[rows])
        state = whole.state[rows]
        change = np.log(state / before[rows])
        change *= (np.log(solved[rows] / reg[rows]) / span[rows])[:, None]
        begin = state * np.exp(np.clip(np.where(np.isfinite(change), change, 0.0), -3.0, 3.0))
        end = stage.solve(begin, *effort)
        whole.iterations[rows] += end.iterations
        # a start that is not allowed says nothing: the next is the last solution itself
        good, allowed = end.converged, np.isfinite(end.residual)
        whole.residual[rows[allowed]] = end.residual[allowed]
        before[rows] = np.where((good | ~allowed)[:, None], state, before[rows])
        won = rows[good]
        whole.state[won], whole.converged[won] = end.state[good], reg[won] == wanted[won]
        span[won], solved[won] = np.log(solved[won] / reg[won]), reg[won]
        stride[rows] = np.minimum(_LONG, stride[rows] ** np.where(good, _LONGER, 0.5))
        aim = solved[rows] / stride[rows]
        reg[rows] = np.where(aim < _NEAR * wanted[rows], wanted[rows], aim)
        over = whole.converged[rows] | (stride[rows] < _SHORT) | (whole.iterations[rows] >= most)
        whole.state[rows[over]] = end.state[over]
        active = np.setdiff1d(active, rows[over], assume_unique=True)
    return whole
