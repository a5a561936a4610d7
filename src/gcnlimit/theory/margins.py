"""Margins and losses of networks at points: explicit at infinite regularization, from equations at a finite one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from gcnlimit._runtime.progress import progress_bar
from gcnlimit._values import Array, Integers
from gcnlimit.losses.base import ClassLoss
from gcnlimit.results.performance import Status
from gcnlimit.theory.decision import given_margin, mean_margin
from gcnlimit.theory.degrees.solve import margins_by_degree
from gcnlimit.theory.finite_reg import class_losses
from gcnlimit.theory.finite_reg.averages import expected_losses
from gcnlimit.theory.finite_reg.propensities import losses_by_degree
from gcnlimit.theory.finite_reg.solution import Solution
from gcnlimit.theory.large_reg import filter_averages, margins
from gcnlimit.theory.points import Mask, Points, Rows
from gcnlimit.theory.readout import explicit_margins, read_outputs
from gcnlimit.theory.solve import asymptote, solve, solver
from gcnlimit.theory.training import Stopped, largest_stable_rate, trained_outputs

_LEAST = 1e-300  # variance of the outputs of a training that stops
_HISTORY = 1 << 21  # numbers held by the memory of the fixed-point search: 16 MiB


class Effort(NamedTuple):
    """How self-consistent equations are solved, see `predict`; and whether losses are wanted."""

    tol: float = 1e-10
    max_iterations: int = 5000
    progress: bool | None = None
    losses: bool = True


MARGINS_ONLY = Effort(progress=False, losses=False)


class PointAnswers(NamedTuple):
    """What is known of each point; under a law of degrees margins have a last axis over the propensities.

    `deviation` is the standard deviation of the output of a test node, `offset` the bias over it. `solution` is that of all
    points, if they were solved together, degrees alike.
    """

    test_margin: Array
    train_margin: Array
    deviation: Array
    offset: Array
    test_loss: Array
    train_loss: Array
    status: Integers
    residual: Array
    iterations: Integers
    solution: Solution | Stopped | None = None


Solved = list[tuple[Rows, Solution | Stopped]]


def margins_of(points: Points) -> Array:
    """Margin of a test node at each point, NaN where there is no answer.

    Under a law of degrees it is that of the mean accuracy. Points need not be usable; their variant must have a theory.

    >>> import gcnlimit as gl
    >>> data, gcn = gl.CSBM(alpha=4, lam=[0.5, 1.0], mu=2.0, rho=0.1), gl.GCN(gl.PageRank(0.45))
    >>> margin = gl.predict(data, gcn, throw=False).order_parameters.test_margin
    >>> bool(np.array_equal(margins_of(Points.unchecked(data, gcn)), margin, equal_nan=True))
    True
    """
    answers, _ = answers_at(points, MARGINS_ONLY)
    margin = answers.test_margin
    if points.degrees is not None:
        margin = mean_margin(margin, points.classes.count, points.degrees.weight)
    return np.where(answers.status == Status.NOT_CONVERGED, np.nan, margin)


def answers_at(
    points: Points, effort: Effort, usable: Mask | None = None
) -> tuple[PointAnswers, Solved]:
    """Answers at all points, those not usable refused; and the solutions of the equations, with the points of each."""
    usable = points.usable() if usable is None else usable
    infinite = np.isinf(points.reg)
    at_infinity = _pinned if points.class_loss.is_pinned else _explicit
    cases = (
        (_refused, ~usable),
        (at_infinity, usable & infinite),
        (_self_consistent if points.training is None else _stopped, usable & ~infinite),
    )
    parts: list[tuple[Rows, PointAnswers]] = []
    for method, which in cases:
        (rows,) = which.nonzero()
        if rows.size:
            some = points if rows.size == points.size else points.take(rows)
            parts += [(rows[where], part) for where, part in method(some, effort)]
    solved = [(rows, part.solution) for rows, part in parts if part.solution is not None]
    if points.size == 1:
        return parts[0][1], solved
    # parts come method by method, and cheap points after expensive ones: back to their own order
    order = np.argsort(np.concatenate([rows for rows, _ in parts]))
    columns = zip(*(part[:-1] for _, part in parts), strict=True)
    together: list[Any] = [np.concatenate(column)[order] for column in columns]
    return PointAnswers(*together), solved


_Parts = Iterator[tuple[Rows, PointAnswers]]


def _refused(points: Points, _: Effort) -> _Parts:
    """Points at which the filter is not defined."""
    none = np.full(points.size, np.nan)
    law = points.degrees
    margin = none if law is None else np.full((points.size, law.theta.size), np.nan)
    status = np.full(points.size, int(Status.REFUSED))
    answers = PointAnswers(margin, margin, margin, none, none, none, status, none, 0 * status)
    yield np.arange(points.size), answers


def _explicit(points: Points, effort: Effort) -> _Parts:
    """Infinite regularization: explicit formulas, chunk by chunk."""
    class_losses.train_push(points)  # refuses a loss that does not pull outputs to their labels
    cost = reduce(np.maximum, map(points.cost, points.filters))
    chunks = list(points.chunks(cost))
    with progress_bar("predicting", len(chunks), effort.progress, unit="batches") as bar:
        for where, chunk in chunks:
            with np.errstate(all="ignore"):  # out-of-range points are reported as such
                test, train = _explicit_margins(chunk, int(cost[where[0]]))
            status = np.where(_any_nan(test, train), Status.OUT_OF_RANGE, Status.EXPLICIT)
            offset, loss = _at_rest(points.class_loss, where.size)
            ended = (status, np.zeros(where.size), np.zeros(where.size, np.int64))
            bar.advance(1)
            yield where, PointAnswers(test, train, np.zeros_like(test), offset, loss, loss, *ended)


def _pinned(points: Points, _: Effort) -> _Parts:
    """Infinite regularization where a bias pins outputs at a corner: the self-consistent equations far away, chunk by chunk."""
    for where, chunk in points.chunks(solver(points).cost(points), _HISTORY):
        far = chunk._replace(reg=asymptote(chunk)[1])
        for rows, answers in _self_consistent(far, MARGINS_ONLY):
            offset, loss = _at_rest(points.class_loss, rows.size)
            none = np.zeros_like(answers.deviation)
            resting = answers._replace(deviation=none, offset=offset, solution=None)
            yield where[rows], resting._replace(test_loss=loss, train_loss=loss)


def _at_rest(loss: ClassLoss, size: int) -> tuple[Array, Array]:
    """Offset and loss of `size` points at infinite regularization, where outputs vanish."""
    offset = class_losses.limiting_offset(loss.classes)
    return np.full(size, offset), np.full(size, loss.at_rest)


def _any_nan(test: Array, train: Array) -> Mask:
    """Which points have no margins, or none at some propensity."""
    return np.asarray(np.isnan(test + train).reshape(len(test), -1).any(axis=1))


def _explicit_margins(points: Points, nodes: int) -> tuple[Array, Array]:
    """Margins at infinite regularization; under a law of degrees with a last axis over the propensities."""
    if points.degrees is not None:
        return margins_by_degree(points, points.degrees)
    mu = points.mu / points.features.moments[0]
    averages = filter_averages(points.filter, points.operator, mu, nodes)
    kept = 1.0 - 2.0 * points.noise
    test, train = margins(averages, points.alpha, points.mu, points.rho * kept**2, points.features)
    if points.noise:  # a label pushes its own node by 1/kept, if the mean label is 1
        train = given_margin(test, kept * (train - test), points.noise)
    return test if points.test_filter is None else explicit_margins(points, nodes), train


def _self_consistent(points: Points, effort: Effort) -> _Parts:
    """Finite regularization: the self-consistent equations, as many points at once as memory allows."""
    chunks = list(points.chunks(solver(points).cost(points), _HISTORY))
    with progress_bar("predicting", len(chunks), effort.progress, unit="batches") as bar:
        for where, chunk in chunks:
            # a point without a solution may have no law of its output
            with np.errstate(all="ignore"):
                answers = _solved(chunk, effort)
            bar.advance(1)
            yield where, answers


def _stopped(points: Points, _: Effort) -> _Parts:
    """Training that stops: integrals over ridge regressions."""
    assert points.training is not None
    with np.errstate(all="ignore"):  # points that are not resolved are reported as such
        outputs = trained_outputs(points, points.training)
        mean, variance, _ = outputs.output
        out_of_range = variance < _LEAST  # squares underflow
        deviation = np.sqrt(np.where(out_of_range, np.nan, variance))
        test = mean / deviation
        train = outputs.train_mean / np.sqrt(outputs.train_variance)
        if points.noise:
            push, true = outputs.push, 1.0 - 2.0 * points.noise
            pull = (outputs.train_mean - push) / true
            spread = np.sqrt(outputs.train_variance - (1.0 - true**2) * pull**2)
            train = given_margin(pull / spread, push / spread, points.noise)
        losses = (
            0.5 * ((1.0 - mean) ** 2 + variance),
            0.5 * ((1.0 - outputs.train_mean) ** 2 + outputs.train_variance),
        )
    unresolved = np.isnan(test) | np.isnan(train)
    status = np.full(points.size, int(Status.EXPLICIT))
    if unresolved.any():
        some = points.take(unresolved)
        diverges = np.asarray(getattr(some.training, "rate", 0.0)) > largest_stable_rate(some)
        status[unresolved] = np.where(diverges, Status.DIVERGED, Status.UNRESOLVED)
        status[out_of_range] = Status.OUT_OF_RANGE
    none = np.zeros(points.size)
    ended: Any = status, none, np.zeros(points.size, np.int64), outputs
    yield np.arange(points.size), PointAnswers(test, train, deviation, none, *losses, *ended)


def _solved(points: Points, effort: Effort) -> PointAnswers:
    """Answers at the solution of the equations."""
    loss = class_losses.node_loss(points)
    solution = solve(points, tol=effort.tol, max_iterations=effort.max_iterations)
    mean, variance, v = solution.output
    deviation = np.sqrt(variance)
    push = v * class_losses.train_push(points)
    test, train = mean / deviation, (mean + push) / deviation
    if points.noise:
        train = given_margin(test, push / deviation, points.noise)
    if points.degrees is not None:
        weight, none = points.degrees.weight, np.zeros(points.size)
        averaged = losses_by_degree(loss, solution.output, weight) if effort.losses else None
        return _ended(solution, (test, train, deviation, none), averaged)
    offset = class_losses.offset(points.class_loss, loss, solution.output)
    losses = expected_losses(loss, solution.output) if effort.losses else None
    if points.test_filter is not None:
        # test nodes are read through another filter: their output is another
        read = read_outputs(solution)
        trained, deviation = deviation, np.sqrt(read.variance)
        test, offset = read.mean / deviation, offset * trained / deviation
        if losses is not None:
            at_test = class_losses.loss_elsewhere(loss, read.mean, deviation, offset)
            losses = (at_test, losses[1])
    answers = _ended(solution, (test, train, deviation, offset), losses)
    return answers._replace(solution=solution)


def _ended(
    solution: Solution,
    columns: tuple[Array, Array, Array, Array],
    losses: tuple[Array, Array] | None,
) -> PointAnswers:
    """Answers from margins, deviation and offset; without a margin no convergence, without a loss out of range."""
    failed = np.maximum(solution.status, Status.NOT_CONVERGED)
    status = np.where(_any_nan(*columns[:2]), failed, solution.status)
    if losses is None:
        none = np.full(status.shape, np.nan)
        losses = none, none
    else:
        out_of_range = (status == Status.CONVERGED) & _any_nan(*losses)
        status = np.where(out_of_range, Status.OUT_OF_RANGE, status)
    return PointAnswers(*columns, *losses, status, solution.residual, solution.iterations)
