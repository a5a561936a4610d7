"""The front door of the theory: exact performance of a network on data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial, reduce
from typing import Any, NamedTuple, Never

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import LOOSEST, broadcast, flag, tolerance, whole
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ConvergenceError
from gcnlimit.network import GCN, check_problem
from gcnlimit.parameters import coordinates_of
from gcnlimit.results.order_parameters import OrderParameters, gathered
from gcnlimit.results.performance import Prediction, Status, scalar_or_array
from gcnlimit.theory.decision import accuracy, as_prediction, from_margins, mean_margin
from gcnlimit.theory.degrees.solve import LayerSolution, check_degrees, margins_by_degree
from gcnlimit.theory.finite_reg import class_losses
from gcnlimit.theory.finite_reg.averages import expected_losses, nonzero_weights
from gcnlimit.theory.finite_reg.propensities import losses_by_degree
from gcnlimit.theory.finite_reg.solution import Solution
from gcnlimit.theory.large_reg import filter_averages, margins
from gcnlimit.theory.points import Mask, Points, Rows, with_errors
from gcnlimit.theory.readout import explicit_margins, read_outputs
from gcnlimit.theory.solve import asymptote, kind, kind_by_degree, solve

_HISTORY = 1 << 21  # numbers held by the memory of the fixed-point search: 16 MiB


class Search(NamedTuple):
    """How self-consistent equations are solved; see `predict`."""

    tol: float = 1e-10
    max_iterations: int = 5000
    progress: bool | None = None


def predict(
    data: CSBM,
    gcn: GCN,
    *,
    tol: float = 1e-10,
    max_iterations: int = 5000,
    throw: bool = True,
    progress: bool | None = None,
) -> Prediction:
    r"""Exact performance of a trained network in the large-size limit.

    At infinite regularization the formulas are explicit (Eq. 4.7); the losses are then all :math:`\ell(0)`, since the outputs
    vanish, but their signs do not. At finite regularization self-consistent equations are solved (Eqs. 3.11 to 3.19), for all
    points together. Under a law of degrees the accuracy is the mean over the propensities (Eqs. 11.5 to 11.11). With a
    `test_filter`, test nodes are read through it (Eqs. 10.11 and 10.12), and labelled nodes as in training.

    Parameters
    ----------
    data, gcn
        Data and network; array parameters broadcast together, and each field of the answer has their common shape.
    tol, max_iterations
        Scaled residual of the equations at which a point has converged, and iterations after which it is given up.
    throw
        Whether to raise an error if a point has no answer: `ConvergenceError`, or `ParameterError` if the filter is not
        defined there. Otherwise the point has NaN or its last numbers, and `status` says why; the others are kept.
    progress
        Whether to draw a progress bar on standard error, by default only if it is a terminal.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> p = gl.predict(data, gl.GCN(gl.Diffusion(t=1.488), symmetrize=True))
    >>> round(p.test_accuracy, 5)
    0.88095
    >>> gl.predict(data, gl.GCN(gl.Residual.constant([0.0, 1.0, 2.0], depth=2), symmetrize=False)).test_accuracy.round(5)
    array([0.65397, 0.76775, 0.76521])
    >>> gl.predict(data, gl.GCN(gl.Diffusion(t=1.0), loss="logistic", reg=[0.1, 10.0], symmetrize=False)).test_accuracy.round(5)
    array([0.78477, 0.7969 ])
    """
    check_problem("predict", data, gcn)
    gcn.require_gain(data)
    tol = tolerance("tol", tol, high=LOOSEST)
    max_iterations = whole("max_iterations", max_iterations, low=1)
    throw = flag("throw", throw)
    progress = progress if progress is None else flag("progress", progress)
    points = Points.of(data, gcn) if throw else Points.unchecked(data, gcn)
    if gcn.test_filter is not None:
        data.require_alike("another filter at test")
    answer = predict_points(points, data, gcn, Search(tol, max_iterations, progress), throw)
    return with_errors(answer, data, lambda there: predict(there, gcn, tol=tol, throw=False))


def predict_points(
    points: Points, data: CSBM, gcn: GCN, search: Search, throw: bool = True
) -> Prediction:
    """Performance at the points of data and network, which are read as the points say."""
    check_degrees(points)
    shape = broadcast(data=data.shape, network=gcn.shape)
    usable = np.ones(points.size, bool) if throw else points.usable()
    found, solved = find(points, usable, search)
    known: dict[str, Any] = {"coordinates": coordinates_of(data, gcn)}
    if points.degrees is not None:
        known["by_degree"] = partial(_accuracy_by_degree, points, usable, shape, search)
    prediction = _prediction(points, found, solved, shape, **known)
    if throw and found.status.max() > Status.CONVERGED:
        _raise_failure(points, prediction)
    return prediction


class _Found(NamedTuple):
    """What was found for the points of some rows."""

    rows: Rows
    test_margin: Array
    train_margin: Array
    offset: Array
    test_loss: Array
    train_loss: Array
    status: npt.NDArray[np.int64]
    residual: Array
    iterations: npt.NDArray[np.int64]
    solution: Solution | None = None


_Solved = list[tuple[Rows, Solution]]


def find(points: Points, usable: Mask, search: Search) -> tuple[_Found, _Solved]:
    """What is found for all points: those refused, at infinite regularization, and at a finite one; and the solutions there."""
    infinite = np.isinf(points.reg)
    at_infinity = _pinned if points.class_loss.is_pinned else _explicit
    ways = {_refused: ~usable, at_infinity: usable & infinite, _self_consistent: usable & ~infinite}
    parts: list[_Found] = []
    for way, which in ways.items():
        (rows,) = which.nonzero()
        if rows.size:
            here = points if rows.size == points.size else points.take(rows)
            parts += way(here, rows, search)
    solved = [(part.rows, part.solution) for part in parts if part.solution is not None]
    if points.size == 1:
        return parts[0], solved
    order = np.argsort(np.concatenate([part.rows for part in parts]))
    columns = zip(*(part[:-1] for part in parts), strict=True)
    together: list[Any] = [np.concatenate(column)[order] for column in columns]
    return _Found(*together), solved


def _refused(points: Points, rows: Rows, _: Search) -> Iterator[_Found]:
    """Points at which the filter is not defined."""
    none = np.full(rows.size, np.nan)
    law = points.degrees
    margin = none if law is None else np.full((rows.size, law.theta.size), np.nan)
    status = np.full(rows.size, int(Status.REFUSED))
    yield _Found(rows, margin, margin, none, none, none, status, none, np.zeros_like(status))


def _accuracy_by_degree(
    points: Points, usable: Mask, shape: tuple[int, ...], search: Search, theta: npt.ArrayLike
) -> Array:
    """Accuracy on test nodes of given propensities, of the shape of the points and then that of `theta`."""
    assert points.degrees is not None
    asked = points.degrees.asked(theta)
    found, _ = find(points._replace(degrees=asked), usable, search)
    margin = found.test_margin[:, -np.size(theta) :]
    return accuracy(margin, points.classes.count).reshape(shape + np.shape(theta))


def _explicit(points: Points, rows: Rows, _: Search) -> Iterator[_Found]:
    """Infinite regularization: explicit formulas, chunk by chunk."""
    class_losses.train_push(points)  # refuses a loss that does not pull outputs to their labels
    at_zero = points.class_loss.at_rest
    limit = class_losses.limiting_offset(points.classes)
    cost = reduce(np.maximum, map(points.cost, points.filters))
    for where, chunk in points.chunks(cost):
        with np.errstate(all="ignore"):  # out-of-range points are reported as such
            test, train = _margins(chunk, int(cost[where[0]]))
        status = np.where(_any_nan(test, train), int(Status.OUT_OF_RANGE), int(Status.EXPLICIT))
        loss = np.full(len(where), at_zero)
        bias = np.full(len(where), limit)
        none = np.zeros(len(where), np.int64)
        yield _Found(rows[where], test, train, bias, loss, loss, status, none.astype(float), none)


def _pinned(points: Points, rows: Rows, _: Search) -> Iterator[_Found]:
    """Infinite regularization where a bias pins outputs at a corner: the self-consistent equations far away, chunk by chunk."""
    for where, chunk in points.chunks(kind(points).cost(points), _HISTORY):
        far = chunk._replace(reg=asymptote(chunk)[1])
        for found in _self_consistent(far, np.arange(far.size), Search(progress=False)):
            place = rows[where[found.rows]]
            bias = np.full(place.size, class_losses.limiting_offset(points.classes))
            loss = np.full(place.size, points.class_loss.at_rest)
            known = {"rows": place, "offset": bias, "test_loss": loss, "train_loss": loss}
            yield found._replace(**known, solution=None)


def _any_nan(test: Array, train: Array) -> Mask:
    """Which points have no margins, or none at some propensity."""
    return np.asarray(np.isnan(test + train).reshape(len(test), -1).any(axis=1))


def _margins(points: Points, quadrature_nodes: int) -> tuple[Array, Array]:
    """Margins at infinite regularization; under a law of degrees with a last axis over the propensities."""
    if points.degrees is not None:
        return margins_by_degree(points, points.degrees)
    features = points.features
    mu = points.mu / features.moments[0]
    averages = filter_averages(points.filter, points.operator, mu, quadrature_nodes)
    test, train = margins(averages, points.alpha, points.mu, points.rho, features)
    return test if points.test_filter is None else explicit_margins(points, quadrature_nodes), train


def _self_consistent(points: Points, rows: Rows, search: Search) -> Iterator[_Found]:
    """Finite regularization: the self-consistent equations, as many points at once as memory allows."""
    method = kind(points) if points.degrees is None else kind_by_degree(points)
    chunks = list(points.chunks(method.cost(points), _HISTORY))
    with progress_bar("batches", len(chunks), search.progress, unit="batches") as bar:
        for where, chunk in chunks:
            found = _solved(chunk, rows[where], search.tol, search.max_iterations)
            bar.advance(1)
            yield found


@np.errstate(all="ignore")  # a point without a solution may have no law of its output
def _solved(points: Points, rows: Rows, tol: float, max_iterations: int) -> _Found:
    """Margins and losses at the solution of some points."""
    loss = class_losses.node_loss(points)
    law = points.degrees
    s: Solution | LayerSolution
    if law is None:
        s = solve(points, tol=tol, max_iterations=max_iterations)
        lost, train_loss = expected_losses(loss, s.output)
        bias = class_losses.offset(points.class_loss, loss, s.output)
    else:
        s = kind_by_degree(points).solve(points, None, tol=tol, max_iterations=max_iterations)
        lost, train_loss = losses_by_degree(loss, s.output, law.weight)
        bias = np.zeros(points.size)
    mean, variance, v = s.output
    deviation = np.sqrt(variance)
    test = mean / deviation
    train = (mean + v * class_losses.train_push(points)) / deviation
    whole = s if law is None and isinstance(s, Solution) else None
    if whole is not None and points.test_filter is not None:
        read = read_outputs(whole)
        beyond = np.sqrt(read.variance)
        test = read.mean / beyond
        bias = bias * deviation / beyond
        lost = class_losses.loss_elsewhere(loss, read.mean, beyond, bias)
    status = np.where(_any_nan(test, train), np.maximum(s.status, Status.NOT_CONVERGED), s.status)
    ended = status, s.residual, s.iterations
    return _Found(rows, test, train, bias, lost, train_loss, *ended, whole)


def _raise_failure(points: Points, prediction: Prediction) -> Never:
    """Raise `ConvergenceError` that describes the first point without a solution."""
    status, residual = np.ravel(prediction.status), np.ravel(prediction.residual)
    failed = np.flatnonzero(status > Status.CONVERGED)
    first = failed[0]
    where = f"reg = {points.reg[first]:g} with residual {residual[first]:.1e}"
    raise ConvergenceError(
        f"{failed.size} of {points.size} points have no solution, the first at {where}: "
        f"{Status(int(status[first])).message}; "
        "pass throw=False to keep the others, and look at status"
    )


def _prediction(
    points: Points, found: _Found, solved: _Solved, shape: tuple[int, ...], **known: Any
) -> Prediction:
    """Prediction in the shape of the points; `known` as in `as_prediction`."""

    def shaped(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return values.reshape(shape + values.shape[1:])

    margin = shaped(found.test_margin), shaped(found.train_margin)
    losses = shaped(found.test_loss), shaped(found.train_loss)
    offset = shaped(found.offset)
    weight = None if points.degrees is None else points.degrees.weight
    performance = from_margins(points.classes, *margin, *losses, offset=offset, weight=weight)
    if weight is not None:
        margin = mean_margin(performance)
    output = weights = nonzero = None
    if solved:
        output = gathered([(rows, s.output) for rows, s in solved], points.size).reshape(shape)
        weights = gathered([(rows, s.weights) for rows, s in solved], points.size).reshape(shape)
        nonzero = nonzero_weights(points.penalty, points.reg.reshape(shape), weights)
    bias = class_losses.trained_bias(points.class_loss, offset, output)
    order_parameters = OrderParameters(
        test_margin=scalar_or_array(margin[0]),
        train_margin=scalar_or_array(margin[1]),
        output=output,
        weights=weights,
        bias=None if bias is None else scalar_or_array(bias),
        nonzero=nonzero,
        sources=tuple(solved) if points.filter.deep else (),
    )
    ended = map(shaped, (found.status, found.residual, found.iterations))
    return as_prediction(performance, order_parameters, *ended, **known)
