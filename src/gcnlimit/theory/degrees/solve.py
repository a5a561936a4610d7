"""Finite regularization under any normalisation of the degrees: the equations of the layers, solved by continuation."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.numerics.fixed_point import FixedPoint
from gcnlimit.penalties import L2
from gcnlimit.results.order_parameters import Output
from gcnlimit.theory.degrees.large_reg import far_layers
from gcnlimit.theory.degrees.layers import LayerEquations, Layers, Wiring
from gcnlimit.theory.finite_reg.averages import eta_at_zero
from gcnlimit.theory.finite_reg.solution import status_of
from gcnlimit.theory.points import Points

_ROUGH = 1e-3  # residual that suffices on the way down from a large regularization
_ON_THE_WAY = 200  # iterations there
_FAR = 3.0  # regularization, over the pull of the loss times the size of an output, at which the way down begins


def check_degrees(points: Points) -> None:
    """Raise `ParameterError` where heterogeneous degrees have no theory."""
    law = points.degrees
    if law is None:
        return
    if not points.classes.equal or not isinstance(points.penalty, L2):
        got = f"penalty = {points.penalty!r}" if points.classes.equal else f"classes = {points.classes}"
        raise ParameterError(
            f"degrees = {law!r} are solved for equal classes and squared weights, got {got}; leave out one of the two"
        )
    points.normalization.check(law)


class LayerSolution(NamedTuple):
    """Outputs of a batch of points at each propensity, and how the search ended."""

    output: Output
    residual: Array
    iterations: npt.NDArray[np.int64]
    status: npt.NDArray[np.int64]

    @staticmethod
    def cost(points: Points) -> npt.NDArray[np.int64]:
        """Numbers that the search keeps at a time, for each point."""
        assert points.degrees is not None
        return 8 * points.degrees.theta.size * Wiring.layers(points) ** 2

    @classmethod
    def solve(cls, points: Points, chain: None = None, *, tol: float, max_iterations: int) -> Self:
        """Solve the equations of each point, by coming down from a large regularization."""
        assert points.degrees is not None
        equations = LayerEquations.of(points, points.degrees)
        start, weight = far_layers(equations), equations.weight
        output = equations.nodes(start).output
        reg = points.reg * (points.divisor() / equations.wiring.gain) ** 2
        pull, _, slope = eta_at_zero(equations.loss, reg.shape)
        size = np.sqrt((output.mean**2 + output.variance) @ weight) + output.v @ weight
        top = np.maximum(
            reg, _FAR * np.maximum(pull, slope) * size
        )  # above it outputs are small, and the loss is linear
        equations, start = replace(equations, reg=reg), start.at(top, pull)
        found = _descend(equations, start, top, step=10.0, tol=tol, max_iterations=max_iterations // 5)
        lost = np.flatnonzero(~found.converged)
        if lost.size:
            part = equations.take(lost), start.take(lost), top[lost]
            again = _descend(*part, step=2.0, tol=tol, max_iterations=max_iterations)
            for whole, values in zip(found, again, strict=True):
                whole[lost] = values
        output = equations.nodes(Layers.unpack(found.state, equations.wiring.b.shape[1])).output
        return cls(output, found.residual, found.iterations, status_of(found))


def _descend(
    equations: LayerEquations, start: Layers, top: Array, *, step: float, tol: float, max_iterations: int
) -> FixedPoint:
    """Follow the solution from the regularization `top` down to that of the equations, by factors of about `step`."""
    reg, k = equations.reg, equations.wiring.b.shape[1]
    steps = max(1, int(np.ceil(np.max(np.log(top / reg)) / np.log(step))))
    iterations = np.zeros(reg.size, np.int64)
    for i in range(steps + 1):
        last = i == steps
        here = replace(equations, reg=reg * (top / reg) ** (1.0 - i / steps))
        found = here.solve(
            start, tol=tol if last else max(tol, _ROUGH), max_iterations=max_iterations if last else _ON_THE_WAY
        )
        start, iterations = Layers.unpack(found.state, k), iterations + found.iterations
    return found._replace(iterations=iterations)
