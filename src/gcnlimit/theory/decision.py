r"""From margins to accuracies, for any number of classes of any sizes: the one step of the theory that depends on them.

The output on a node of class :math:`k` is :math:`h = \bar\omega\,y_k + \sigma z` with the code :math:`y_k` of the class
(Eq. 8.1; :math:`\pm 1` for two equal classes), and the margin is :math:`m = \bar\omega/\sigma`. The decision for the largest of
:math:`m\,h\cdot y_k/\sigma - \frac{m^2}2 |y_k|^2 + \log w_k`, the posterior for a prior :math:`w`, is right with probability

.. math::
    \sum_l w_l \int Dz \prod_{k \ne l} \Phi\Big( \sqrt{p_k} \Big[ \frac m{2p_l} + \frac m{2p_k} + \frac z{\sqrt{p_l}}
    + \frac1m \log\frac{w_l}{w_k} \Big] \Big)

if a fraction :math:`w_l` of the nodes is of class :math:`l` (Eq. 8.4): with the fractions :math:`w = p` the best accuracy, with
equal :math:`w` the best balanced one. For :math:`C` equal classes both are :math:`\Phi_C(m)` (Eq. 8.3), and :math:`\Phi(m)` for
two. Errors are integrals of positive terms, taken in logarithms.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtr, ndtri_exp

from gcnlimit._values import Array
from gcnlimit.classes import Classes
from gcnlimit.numerics.chebyshev import Panels
from gcnlimit.numerics.linear import batches
from gcnlimit.numerics.roots import bracketed_roots
from gcnlimit.results.order_parameters import OrderParameters, Output
from gcnlimit.results.performance import (
    Performance,
    Prediction,
    Status,
    same_everywhere,
    scalar_or_array,
)

_NORMAL = np.linspace(-10.0, 10.0, 401)  # nodes of an average over a normal variable
_LOWEST, _WIDTH, _PANELS, _DEGREE = -12.0, 0.25, 144, 7  # of the table of an error, in sqrt(C) m
_REACH = 9.0  # deviations of a Gaussian that carry all but 1e-18 of it
_BLOCK = 1 << 20  # numbers held by one temporary array

Pair = tuple[Array, Array]  # of a test node, and of a train node


@np.errstate(invalid="ignore")  # the margins of refused points are NaN, and so are their answers
def from_margins(
    classes: Classes, margins: Pair, losses: Pair, offset: Array | None = None
) -> Performance:
    """Return the performance from margins in units of their standard deviation, and losses.

    `offset` is the bias of a network trained on two unequal classes, over the standard deviation of its output. Without it, where
    it is NaN, and if they are more than two, unequal classes are decided by the posterior, which is the best threshold of two.
    """
    margin, train_margin = margins
    two = classes.count == 2
    if not classes.equal or np.any(0.0 if offset is None else offset):
        log_test_error, log_train_error = _unequal_decision(classes, *margins, offset)
        test, train = -np.expm1(log_test_error), -np.expm1(log_train_error)
        best = test
        if two:  # at the best threshold
            p = classes.fractions
            first, second = _two_bounds(np.abs(margin), p, p)
            best = np.asarray(p[0] * ndtr(first) + p[1] * ndtr(second))
        elif (margin < 0.0).any():  # the other sign is better
            best = -np.expm1(best_log_error(margin, classes))
        balanced = balanced_accuracy(margin, classes)
    else:
        log_test_error = log_error(margin, classes.count)
        # the logarithm is at hand, and quicker than another table
        test = ndtr(margin) if two else -np.expm1(log_test_error)
        train = accuracy(train_margin, classes.count)
        best = balanced = test
        if (margin < 0.0).any():  # the other sign is better
            best = np.maximum(test, accuracy(-margin, classes.count))
    area = roc_auc(margin, classes) if two else None
    return _performance(losses, test, train, log_test_error, best, balanced, area)


@np.errstate(invalid="ignore")
def mean_performance(count: int, margins: Pair, losses: Pair, weight: Array) -> Performance:
    """Performance on equal classes of nodes of different degrees: margins have a last axis over them, of that `weight`."""
    log_test_error = _mean_log_error(margins[0], count, weight)
    # weights add up to 1 within rounding
    test, train = (np.minimum(accuracy(margin, count) @ weight, 1.0) for margin in margins)
    best = np.maximum(test, accuracy(-margins[0], count) @ weight)
    return _performance(losses, test, train, log_test_error, best, test, None)


def _performance(losses: Pair, test: Array, train: Array, *decided: Array | None) -> Performance:
    columns = (test, train, *losses, *decided)
    numbers: list[Any] = [None if c is None else scalar_or_array(c) for c in columns]
    return Performance(*numbers)


def mean_margin(margin: Array, count: int, weight: Array) -> Array:
    r"""Margin at which all nodes alike would have the mean accuracy of nodes of different degrees: the inverse of `log_error`.

    >>> m = np.array([[0.3, 0.3], [2.0, 2.0]])
    >>> all(np.allclose(mean_margin(m, C, np.array([0.2, 0.8])), m[:, 0], rtol=1e-13) for C in (2, 3, 10))
    True
    """
    log = _mean_log_error(margin, count, weight)
    if count == 2:
        return np.asarray(-ndtri_exp(log))
    # the error of pairs is larger, so that this start is above the root of a concave function
    with np.errstate(divide="ignore"):
        shift = np.asarray(-np.sqrt(2.0) * ndtri_exp(log - np.log(count - 1.0)))
    near = shift <= _LOWEST + _WIDTH * _PANELS

    def below(x: Array) -> tuple[Array, Array]:
        value, slope = _log_error(count)(x)
        fall = np.maximum(x, 0.0)
        return log[near] - value + 0.25 * fall**2, 0.5 * fall - slope

    start = np.maximum(shift[near], _LOWEST)
    shift[near] = bracketed_roots(below, start, np.full_like(start, _LOWEST), start)
    return np.asarray(shift / np.sqrt(count))


@np.errstate(divide="ignore")
def _mean_log_error(margin: Array, count: int, weight: Array) -> Array:
    log = log_error(margin, count)
    # by hand: SciPy's function takes longer than all other averages over the nodes; without any
    # error the largest is no number to subtract
    top = np.maximum(np.max(log, axis=-1, keepdims=True), -1e300)
    return np.asarray(top[..., 0] + np.log(np.exp(log - top) @ weight))


def ceiling_prediction(
    performance: Performance,
    margin: Array,
    residual: Array,
    iterations: npt.NDArray[np.int64],
    *,
    status: Status = Status.CONVERGED,
    output: Output | None = None,
    overlap: Array,
    **functions: Any,
) -> Prediction:
    """Prediction of inference at a margin; it knows the labels of train nodes."""
    order_parameters = OrderParameters(
        test_margin=scalar_or_array(margin),
        train_margin=scalar_or_array(np.full(margin.shape, np.inf)),
        output=output,
        overlap=scalar_or_array(overlap),
    )
    ended = np.full(margin.shape, int(status)), residual, iterations
    return as_prediction(performance, order_parameters, *ended, **functions)


def given_margin(margin: Array, push: Array, noise: float) -> Array:
    """Margin of the labels as given, a fraction `noise` of them wrong, which push the outputs of their own nodes.

    >>> round(float(given_margin(np.array(1.0), np.array(0.5), 0.0)), 12)
    1.5
    """
    both = np.stack([push + margin, push - margin], axis=-1)
    return mean_margin(both, 2, np.array([1.0 - noise, noise]))


def certain(margin: Array, loss: Array, noise: float = 0.0) -> tuple[Pair, Pair]:
    """Margins and losses of inference, which knows the labels of train nodes, or that a fraction `noise` of them is wrong.

    On train nodes they are those of the labels as given, whose half log-odds add to the evidence of the others.
    """
    if not noise:
        return (margin, np.full(margin.shape, np.inf)), (loss, np.zeros(loss.shape))
    odds = 0.5 * np.log((1.0 - noise) / noise)
    field = np.square(margin)[..., None] + margin[..., None] * _NORMAL
    normal = np.exp(-0.5 * _NORMAL**2)
    right, wrong = (np.logaddexp(0.0, -2.0 * (odds + s * field)) @ normal for s in (1.0, -1.0))
    train_loss = ((1.0 - noise) * right + noise * wrong) / np.sum(normal)
    with np.errstate(divide="ignore"):
        push = odds / margin
    return (margin, given_margin(margin, push, noise)), (loss, train_loss)


def as_prediction(
    performance: Performance,
    order_parameters: OrderParameters,
    status: npt.NDArray[np.int64],
    residual: npt.NDArray[Any],
    iterations: npt.NDArray[np.int64],
    **functions: Any,
) -> Prediction:
    """Prediction without standard errors or coordinates, of the shape of the status; `functions` are those behind it."""
    shape = status.shape
    return Prediction(
        **vars(performance) | functions,
        standard_error=same_everywhere(0.0, shape),
        order_parameters=order_parameters,
        status=Status.of(status),
        residual=scalar_or_array(residual.reshape(shape)),
        iterations=scalar_or_array(iterations.reshape(shape)),
    )


def _unequal_decision(
    classes: Classes, test_margin: Array, train_margin: Array, offset: Array | None
) -> tuple[Array, Array]:
    """Logarithms of the errors of unequal classes on test and on train nodes."""
    p = classes.fractions
    test, train = (_posterior_log_error(margin, p, p) for margin in (test_margin, train_margin))
    if offset is None or classes.count > 2:
        return test, train
    at_best, push = np.isnan(offset), train_margin - test_margin
    test = np.where(at_best, test, own_log_error(test_margin, 0.0, offset, p))
    return test, np.where(at_best, train, own_log_error(test_margin, push, offset, p))


def balanced_accuracy(margin: Array, classes: Classes) -> Array:
    """Best average over unequal classes of the accuracy in each."""
    if classes.count == 2:
        return np.asarray(ndtr(0.5 * _distance(classes.fractions) * margin))
    equal = np.full(classes.count, 1.0 / classes.count)
    return np.asarray(-np.expm1(_posterior_log_error(margin, classes.fractions, equal)))


def accuracy(margin: Array, classes: int) -> Array:
    r"""Accuracy :math:`\Phi_C(m)` for `classes` equal classes (Eq. 8.3), to rounding."""
    if classes == 2:
        return np.asarray(ndtr(margin))
    # the table rounds
    return np.clip(_accuracy(classes).value(np.sqrt(classes) * margin), 0.0, 1.0)


def log_error(margin: Array, classes: int) -> Array:
    r"""Logarithm of :math:`1 - \Phi_C(m)`, for `classes` equal classes; right however small the error is.

    Two classes: :math:`\log\Phi(-m)`. More: a table, less :math:`\frac C4 m^2` if :math:`m > 0`; beyond its end
    :math:`\log\Phi(-m\sqrt{C/2}) + \log(C - 1)`.
    """
    if classes == 2:
        return np.asarray(log_ndtr(-margin))
    shift = np.asarray(np.sqrt(classes) * margin)
    log = np.asarray(_log_error(classes).value(shift) - 0.25 * np.maximum(shift, 0.0) ** 2)
    far = shift > _LOWEST + _WIDTH * _PANELS
    log[far] = log_ndtr(-np.sqrt(0.5) * shift[far]) + np.log(classes - 1.0)
    return log


def best_log_error(margin: Array, classes: Classes) -> Array:
    """Logarithm of the error at the best threshold, or of the posterior decision; the sign of the margin is known to it."""
    if classes.equal:
        return log_error(np.abs(margin), classes.count)
    return _posterior_log_error(np.abs(margin), classes.fractions, classes.fractions)


def roc_auc(margin: Array, classes: Classes) -> Array:
    r"""Area :math:`\Phi(m\Delta/\sqrt2)` under the ROC curve of two classes, :math:`\Delta` the distance of their codes."""
    return np.asarray(ndtr(np.sqrt(0.5) * _distance(classes.fractions) * margin))


def own_log_error(margin: Array, push: Array | float, offset: Array, fractions: Array) -> Array:
    r"""Logarithm of the error of two classes decided by the sign of the output with its own bias.

    It is one minus :math:`p\,\Phi(m\eta_+ + \beta + \text{push}) + (1-p)\,\Phi(-m\eta_- - \beta + \text{push})` (Eq. 8.13);
    `offset` :math:`\beta` is the bias and `push` what training adds to the margin of a train node, over :math:`\sigma`.
    """
    upper, lower = two_codes(fractions)
    first = log_ndtr(-(margin * upper + offset + push))
    second = log_ndtr(-(-margin * lower - offset + push))
    return np.asarray(np.logaddexp(np.log(fractions[0]) + first, np.log(fractions[1]) + second))


def two_codes(fractions: Array) -> tuple[float, float]:
    r"""Codes :math:`\eta_+ = \sqrt{(1-p)/p}` and :math:`\eta_- = -\sqrt{p/(1-p)}` of two classes: mean 0 and variance 1."""
    p, other = fractions
    return float(np.sqrt(other / p)), -float(np.sqrt(p / other))


def _distance(fractions: Array) -> float:
    upper, lower = two_codes(fractions)
    return upper - lower


@lru_cache(maxsize=64)
def _accuracy(classes: int) -> Panels:
    """Table of the accuracy of equal classes."""

    def height(shift: Array) -> Array:
        return np.asarray(-np.expm1(log_error(shift / np.sqrt(classes), classes)))

    return Panels.fit(height, _LOWEST, _WIDTH, _PANELS, _DEGREE)


@lru_cache(maxsize=64)
def _log_error(classes: int) -> Panels:
    """Table of the logarithm of the error of equal classes, without its leading fall; a panel begins where that does."""

    def height(shift: Array) -> Array:
        others = np.array([classes - 1.0])
        log = _any_larger(shift.reshape(-1, 1), np.ones(1), others).reshape(shift.shape)
        return np.asarray(log + 0.25 * np.maximum(shift, 0.0) ** 2)

    return Panels.fit(height, _LOWEST, _WIDTH, _PANELS, _DEGREE)


def _posterior_log_error(margin: Array, fractions: Array, prior: Array) -> Array:
    """Logarithm of the error of the posterior decision, averaged over the prior; it takes outputs to lie along the classes."""
    flat = np.ravel(margin)
    errors = [np.log(w) + _class_log_error(flat, k, fractions, prior) for k, w in enumerate(prior)]
    return np.asarray(np.logaddexp.reduce(errors, axis=0).reshape(np.shape(margin)))


def _two_bounds(margin: Array, fractions: Array, prior: Array) -> tuple[Array, Array]:
    r"""Bounds :math:`\frac{m\Delta}2 \pm \frac{L_0}{m\Delta}` below which a normal variable leaves each of two classes right."""
    half = 0.5 * margin * _distance(fractions)
    odds = np.log(prior[0] / prior[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        lead = np.where(odds == 0.0, 0.0, 0.5 * odds / np.abs(half))
    return np.asarray(half + lead), np.asarray(half - lead)


def _class_log_error(margin: Array, true: int, fractions: Array, prior: Array) -> Array:
    """Logarithm of the error on the nodes of the class `true`; margins along one axis."""
    if fractions.size == 2:
        return np.asarray(log_ndtr(-_two_bounds(margin, fractions, prior)[true]))
    p = fractions[true]
    others = np.delete(fractions, true)
    steepness = np.sqrt(others / p)
    odds = np.log(prior[true] / np.delete(prior, true))
    with np.errstate(divide="ignore", invalid="ignore"):
        lead = np.where(odds == 0.0, 0.0, odds / np.abs(margin[:, None]))
        shift = np.sqrt(others) * (margin[:, None] * (0.5 / p + 0.5 / others) + lead)
    answer = np.where(margin == np.inf, -np.inf, np.nan)
    rows = np.flatnonzero(np.isfinite(margin))
    # about 600 nodes of the integral over z for each point and competing class
    together = max(1, _BLOCK // (600 * others.size))
    for part in (rows[block] for block in batches(rows.size, together)):
        answer[part] = _any_larger(np.clip(shift[part], -1e4, 1e4), steepness, np.ones(others.size))
    return answer


def _any_larger(shift: Array, steepness: Array, count: Array) -> Array:
    r"""Logarithm of :math:`1 - \int Dz \prod_k \Phi(c_k z + o_k)^{n_k}`, by the trapezoid rule.

    `shift` is :math:`o`, one row per point; `steepness` :math:`c` and `count` :math:`n` are those of the competing classes.
    """
    # z at which the first competitor wins
    nearest = -np.max(shift * steepness / (1.0 + steepness**2), axis=1)
    low = np.minimum(nearest, 0.0) - _REACH
    step = 0.2 / max(1.0, float(np.max(steepness)), float(np.log(np.sum(count))) / 3.7)
    # the trapezoid rule is exact to rounding once the step resolves the steepest competitor
    z = low[:, None] + np.arange(np.ceil((_REACH - np.min(low)) / step) + 1.0) * step
    tail = log_ndtr(-(steepness * z[:, :, None] + shift[:, None, :]))
    with np.errstate(divide="ignore"):
        lost = np.log(-np.expm1(np.log1p(-np.exp(tail)) @ count))
    # where all tails are below rounding, one less the product is their sum
    tiny = np.max(tail, axis=2) < -40.0
    lost = np.where(tiny, np.logaddexp.reduce(tail + np.log(count), axis=2), lost)
    total = np.logaddexp.reduce(lost - 0.5 * z**2, axis=1)
    return np.asarray(total + np.log(step / np.sqrt(2.0 * np.pi)))
