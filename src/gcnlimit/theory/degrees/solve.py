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
_ON_THE_WAY = 200  # iterations there
_LONG, _SHORT = 10.0, 1.4  # factors of the first strides, and of the next
_WORK = 2_000_000_000  # multiplications of a descent, about: twenty seconds
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
        start = start.at(top, pull)
        _, different, _, layers = equations.shape
        work = layers**2 * (different * layers + 8 * weight.size)
        most = min(max_iterations, 1 + _WORK // work)
        # long strides first; the points that get lost on them take short ones
        end, top = _descend(equations, start, top, _LONG, tol, most)
        lost = np.flatnonzero(~end.converged)
        if lost.size:
            start = LayerState.unpack(end.state[lost], equations.wiring.b.shape[1])
            again, _ = _descend(equations.take(lost), start, top[lost], _SHORT, tol, most)
            for whole, values in zip(end, again, strict=True):
                whole[lost] = values
        state = LayerState.unpack(end.state, equations.wiring.b.shape[1])
        weights = Weights(state.m_w, state.Q_w, state.V_w, *np.full((3, points.size), np.nan))
        laws = end.state, equations.nodes(state).output, weights
        return cls(points, *laws, end.residual, end.iterations, status_of(end))


def balanced(equations: LayerEquations) -> LayerEquations:
    """The same equations for layers of one size: those of size 1 without hubs grow by orders with each layer."""
    spread = equations.nodes(far_layers(equations)).C
    size = np.sqrt(equations.average(1.0, np.einsum("ptkk->ptk", spread)))
    return replace(equations, wiring=equations.wiring.scaled(size))


def _descend(  # noqa: PLR0917
    equations: LayerEquations, start: LayerState, top: Array, step: float, tol: float, most: int
) -> tuple[FixedPoint, Array]:
    """Follow the solution from the regularization `top` down to that of the equations, by factors of about `step`.

    Return where it ended, or the last solution before a long stride that failed, and the regularization there.
    """
    reg = equations.reg
    layers = equations.wiring.b.shape[1]
    # each point has its own number of stages, so that its answer does not depend on the others;
    # one beyond the range of numbers has none, and is not solved below
    stages = np.ceil(np.log(top / reg) / np.log(step))
    stages = np.where(np.isfinite(stages), np.maximum(stages, 1.0), 1.0)
    steps = int(stages.max())
    whole = explicit(start.pack())
    whole.converged[:] = False
    lost, reached = np.zeros(reg.size, bool), top.copy()
    for i in range(steps + 1):
        active = np.flatnonzero(~lost & (stages >= steps - i))
        if not active.size:
            continue
        accepted, limit = (tol, most) if i == steps else (max(tol, _ROUGH), min(_ON_THE_WAY, most))
        stage = equations.take(active)
        left = (steps - i) / stages[active]
        stage = replace(stage, reg=stage.reg * (top[active] / stage.reg) ** left)
        begin = LayerState.unpack(whole.state[active], layers)
        end = stage.solve(begin, tol=accepted, max_iterations=limit)
        # a long stride that fails leads nowhere; after a short one the next may find back
        stay = end.converged | (step < _LONG)
        whole.state[active[stay]], reached[active[stay]] = end.state[stay], stage.reg[stay]
        whole.residual[active] = end.residual
        whole.iterations[active] += end.iterations
        whole.converged[active] = end.converged & (i == steps)
        lost[active] = ~stay | (whole.iterations[active] >= most)
    return whole, reached
