"""Networks on heterogeneous degrees: from points to margins at each propensity, by the shortest route."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.degrees import DegreeLaw
from gcnlimit.errors import ParameterError
from gcnlimit.numerics.fixed_point import FixedPoint
from gcnlimit.numerics.linear import batches
from gcnlimit.penalties import L2
from gcnlimit.results.order_parameters import Output
from gcnlimit.results.performance import Status
from gcnlimit.theory.degrees.far_layers import far_layers
from gcnlimit.theory.degrees.large_reg import margins_by_degree
from gcnlimit.theory.degrees.layers import LayerEquations, Layers
from gcnlimit.theory.finite_reg.averages import eta_at_zero, expected_losses
from gcnlimit.theory.finite_reg.class_losses import node_loss, train_push
from gcnlimit.theory.finite_reg.solution import status_of
from gcnlimit.theory.finite_reg.solve import solve as solve_spectral
from gcnlimit.theory.points import Points

_ROUGH = 1e-3  # residual that suffices on the way down from a large regularization
_ON_THE_WAY = 200  # iterations there
_BLOCK = 1 << 18  # numbers held by one temporary array
_FAR = 3.0  # regularization, over the pull of the loss times the size of an output, at which the way down begins


class ByDegree(NamedTuple):
    """Margins of test and train nodes, points along the first axis and propensities along the second; losses and the search."""

    test_margin: Array
    train_margin: Array
    test_loss: Array
    train_loss: Array
    status: npt.NDArray[np.int64]
    residual: Array
    iterations: npt.NDArray[np.int64]


def solve(points: Points, *, tol: float = 1e-10, max_iterations: int = 5000) -> ByDegree:
    """Solve all points, which share a law of degrees and a normalization: all at infinite, or all at finite regularization.

    The symmetric normalization takes the homogeneous theory with one more number; others, and directed operators at finite
    regularization, the equations of the layers.
    """
    law = _checked(points)
    far = bool(np.all(np.isinf(points.reg)))
    with np.errstate(all="ignore"):  # out-of-range points are reported as such
        if not points.normalization.plain or not (far or points.symmetric):
            equations = LayerEquations.of(points, law)
            together = max(1, _BLOCK // math.prod(equations.shape[1:]))
            found = [
                _by_layers(points.take(rows), equations.take(rows), tol, max_iterations)
                for rows in batches(points.size, together)
            ]
            return ByDegree(*map(np.concatenate, zip(*found, strict=True)))
        if far:
            return _explicit(points, *margins_by_degree(points, law.mean_root, law.theta))
        spectral = solve_spectral(points, tol=tol, max_iterations=max_iterations)
    ended = spectral.status, spectral.residual, spectral.iterations
    return _from_outputs(points, spectral.output, *ended)


def _checked(points: Points) -> DegreeLaw:
    """Law of the degrees of the points, or a `ParameterError` where the theory has no answer."""
    law = points.degrees
    assert law is not None
    if not points.classes.equal or not isinstance(points.penalty, L2):
        got = f"penalty = {points.penalty!r}" if points.classes.equal else f"classes = {points.classes}"
        raise ParameterError(
            f"degrees = {law!r} are solved for equal classes and squared weights, got {got}; leave out one of the two"
        )
    points.normalization.check(law)
    train_push(points)  # refuses a loss that does not push outputs towards their labels
    return law


def _explicit(points: Points, test: Array, train: Array) -> ByDegree:
    loss, none = np.full(points.size, points.class_loss.at_rest), np.zeros(points.size, np.int64)
    lost = np.isnan(test + train).any(axis=1)
    status = np.where(lost, int(Status.OUT_OF_RANGE), int(Status.EXPLICIT))
    return ByDegree(test, train, loss, loss, status, 0.0 * loss, none)


def _from_outputs(points: Points, output: Output, status: npt.NDArray[np.int64], *ended: npt.NDArray[Any]) -> ByDegree:
    """Margins and losses from the law of the outputs at each propensity."""
    mean, variance, v = output.mean, output.variance, output.v
    deviation, push, law = np.sqrt(variance), train_push(points), _checked(points)
    flat = Output(np.ravel(mean), np.ravel(variance), np.ravel(v))
    test_loss, train_loss = (part.reshape(mean.shape) @ law.weight for part in expected_losses(node_loss(points), flat))
    test, train = mean / deviation, (mean + v * push) / deviation
    lost = np.isnan(test + train).any(axis=1)
    status = np.where(lost, np.maximum(status, Status.NOT_CONVERGED), status)
    return ByDegree(test, train, test_loss, train_loss, status, *ended)


def _by_layers(points: Points, equations: LayerEquations, tol: float, max_iterations: int) -> ByDegree:
    """Solve the equations of the layers, at a finite regularization by coming down from a large one."""
    start, weight = far_layers(equations), equations.weight
    output = equations.nodes(start).output
    if np.all(np.isinf(points.reg)):
        deviation = np.sqrt(output.variance)
        return _explicit(points, output.mean / deviation, (output.mean + output.v) / deviation)
    reg = points.reg * (points.divisor() / equations.wiring.gain) ** 2
    pull, _, slope = eta_at_zero(equations.loss, reg.shape)
    size = np.sqrt((output.mean**2 + output.variance) @ weight) + output.v @ weight
    top = np.maximum(reg, _FAR * np.maximum(pull, slope) * size)  # above it outputs are small, and the loss is linear
    equations, start = replace(equations, reg=reg), start.at(top, pull)
    found = _descend(equations, start, top, step=10.0, tol=tol, max_iterations=max_iterations // 5)
    lost = np.flatnonzero(~found.converged)
    if lost.size:
        part = equations.take(lost), start.take(lost), top[lost]
        again = _descend(*part, step=2.0, tol=tol, max_iterations=max_iterations)
        for whole, values in zip(found, again, strict=True):
            whole[lost] = values
    output = equations.nodes(Layers.unpack(found.state, equations.wiring.b.shape[1])).output
    return _from_outputs(points, output, status_of(found), found.residual, found.iterations)


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
