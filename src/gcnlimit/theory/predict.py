"""The front door of the theory: exact performance of a network on data."""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import Any, Never

import numpy as np
import numpy.typing as npt

from gcnlimit import scope
from gcnlimit._validation import LOOSEST, flag, number, tolerance, whole
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ConvergenceError
from gcnlimit.network import GCN, check_problem
from gcnlimit.parameters import with_coordinates
from gcnlimit.results.order_parameters import OrderParameters, gathered
from gcnlimit.results.performance import Prediction, Status, scalar_or_array
from gcnlimit.theory import decision
from gcnlimit.theory.calibration import calibration_at
from gcnlimit.theory.finite_reg import class_losses
from gcnlimit.theory.finite_reg.averages import nonzero_weights
from gcnlimit.theory.margins import Effort, PointAnswers, answers_at
from gcnlimit.theory.points import Mask, Points
from gcnlimit.theory.training import largest_stable_rate
from gcnlimit.theory.uncertainty import carries_errors

ALONE = "pass throw=False to see status alone"
"""How to have the status of a single point in place of an error."""


@carries_errors
def predict(
    data: CSBM,
    gcn: GCN,
    *,
    degree: float | None = None,
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
    degree
        Mean degree of the graphs that you have in mind. The answer is that of large degrees; a warning says where nodes of few
        edges make it unreliable.
    tol, max_iterations
        Scaled residual of the equations at which a point has converged, and iterations after which it is given up.
    throw
        Whether to raise an error if a point has no answer: `ConvergenceError`, or `ParameterError` if the filter is not
        defined there. Otherwise the point has NaN or its last numbers, and `status` says why; the others are kept.
    progress
        Whether to show progress on standard error; by default where it takes more than two seconds.

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
    scope.check("predict", data, gcn)
    tol = tolerance("tol", tol, high=LOOSEST)
    max_iterations = whole("max_iterations", max_iterations, low=1)
    throw = flag("throw", throw)
    if degree is not None:
        degree = number("degree", degree, low=0.0, open_low=True)
        if few := gcn.normalization.leaves(data.degrees, degree):
            warnings.warn(few, stacklevel=3)
    progress = progress if progress is None else flag("progress", progress)
    points = Points.of(data, gcn) if throw else Points.unchecked(data, gcn)
    shape = np.broadcast_shapes(data.shape, gcn.shape)
    answer = predict_points(points, shape, Effort(tol, max_iterations, progress), throw)
    return with_coordinates(answer, data, gcn)


def predict_points(
    points: Points, shape: tuple[int, ...], effort: Effort, throw: bool = True
) -> Prediction:
    """Performance at points, in the shape of data and network."""
    # points that were not refused at the door are usable
    usable = np.ones(points.size, bool) if throw else None
    began = time.monotonic()
    answers, solved = answers_at(points, effort, usable)
    if throw and answers.status.max() > Status.CONVERGED:
        _raise_failure(points, answers, effort.max_iterations, time.monotonic() - began)

    def shaped(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return values.reshape(shape + values.shape[1:])

    margins = shaped(answers.test_margin), shaped(answers.train_margin)
    losses = shaped(answers.test_loss), shaped(answers.train_loss)
    offset = shaped(answers.offset)
    outputs = (answers.test_margin, answers.deviation, answers.offset)
    law = (points.classes, points.degrees)
    functions: dict[str, Any] = {"calibrated": partial(calibration_at, *law, outputs, shape)}
    if points.degrees is None:
        performance = decision.from_margins(points.classes, margins, losses, offset)
    else:
        functions["by_degree"] = partial(_accuracy_by_degree, points, usable, shape, effort)
        count, weight = points.classes.count, points.degrees.weight
        performance = decision.mean_performance(count, margins, losses, weight)
        test, train = (decision.mean_margin(margin, count, weight) for margin in margins)
        margins = test, train
    output = weights = nonzero = None
    if solved:
        output = gathered([(rows, s.output) for rows, s in solved], points.size).reshape(shape)
        weights = gathered([(rows, s.weights) for rows, s in solved], points.size).reshape(shape)
        nonzero = nonzero_weights(points.penalty, points.reg.reshape(shape), weights)
    bias = class_losses.trained_bias(points.class_loss, offset, output)
    order_parameters = OrderParameters(
        test_margin=scalar_or_array(margins[0]),
        train_margin=scalar_or_array(margins[1]),
        output=output,
        weights=weights,
        bias=None if bias is None else scalar_or_array(bias),
        nonzero=nonzero,
        # those of the layers are known of networks that are trained to the end
        sources=tuple(solved) if points.filter.deep and points.training is None else (),
    )
    ended = map(shaped, (answers.status, answers.residual, answers.iterations))
    return decision.as_prediction(performance, order_parameters, *ended, **functions)


def _accuracy_by_degree(
    points: Points,
    usable: Mask | None,
    shape: tuple[int, ...],
    effort: Effort,
    theta: npt.ArrayLike,
) -> Array:
    """Accuracy on test nodes of given propensities, of the shape of the points and then that of `theta`."""
    assert points.degrees is not None
    asked = points.degrees.asked(theta)
    answers, _ = answers_at(points._replace(degrees=asked), effort._replace(losses=False), usable)
    margin = answers.test_margin[:, -np.size(theta) :]
    return decision.accuracy(margin, points.classes.count).reshape(shape + np.shape(theta))


def _raise_failure(points: Points, answers: PointAnswers, most: int, seconds: float) -> Never:
    """Raise `ConvergenceError` that describes the first point without a solution, and what was spent."""
    failed = np.flatnonzero(answers.status > Status.CONVERGED)
    first = failed[0]
    where = f"reg = {points.reg[first]:g}"
    if (steps := answers.iterations[first]) and np.isfinite(answers.residual[first]):
        where += f" with residual {answers.residual[first]:.1e} after {steps} iterations"
        where += f" and {seconds:.0f} s" if seconds >= 1.0 else ""
    why = Status(int(answers.status[first])).message
    if steps < most:  # it swings, creeps, or costs too much
        why = why.replace("allow more iterations or", "more iterations would not help; take")
    if answers.status[first] == Status.DIVERGED:
        rate = np.asarray(getattr(points.training, "rate", np.nan))[first]
        stable = largest_stable_rate(points.take(failed[:1]))[0]
        where = f"rate = {rate:g}, whose largest stable value is {stable:.4g}"
    which = f"{failed.size} of {points.size} points have no solution, the first at {where}"
    remedy = "pass throw=False to keep the others, and look at status"
    if points.size == 1:
        which, remedy = f"there is no solution at {where}", ALONE
    raise ConvergenceError(f"{which}: {why}; {remedy}")
