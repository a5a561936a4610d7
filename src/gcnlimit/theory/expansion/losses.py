r"""The averages of a loss for small outputs, from its Taylor series at the output of an infinite regularization.

That output is 0, beside the free bias of two unequal classes. The pull on a labelled node is
:math:`f = \varphi(\omega + v f)` with :math:`\varphi = -\ell'`. By Lagrange's inversion

.. math::
    f = \sum_b \frac{v^b}{(b+1)!}\, \partial_\omega^b\, \varphi(\omega)^{b+1}, \qquad
    f^2 = \sum_b \frac{2 v^b}{(b+2)\, b!}\, \partial_\omega^b\, \varphi(\omega)^{b+2} .
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial

from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.losses import Loss
from gcnlimit.losses.base import resting_bias
from gcnlimit.numerics.series import Series
from gcnlimit.theory.decision import two_codes
from gcnlimit.theory.finite_reg.averages import slope_at_zero
from gcnlimit.theory.finite_reg.class_losses import Biased, node_loss
from gcnlimit.theory.finite_reg.softmax import SoftmaxOf, class_averages, softmax_series
from gcnlimit.theory.points import Points

_NODES = 24
_NOISE = 1e-14  # Chebyshev coefficients below it, relative to the curvature or the slope, are rounding
_REACHES = (0.8, 0.4, 0.2, 0.1)  # of the interval on which a loss is sampled; kinks may be near


def pull_at(loss: Loss, place: float, order: int) -> Polynomial:
    r"""Taylor polynomial of :math:`\varphi = -\ell'` around a margin.

    At :math:`x = \mathrm{prox}_\ell(\omega)` the curvature is :math:`\ell''(x) = 1/\mathrm{prox}'_\ell(\omega) - 1`, which is
    interpolated between points around it.

    >>> from gcnlimit import Logistic
    >>> pull_at(Logistic(), 0.0, 3).coef.round(10) * 48  # 1/2 - x/4 + x^3/48
    array([ 24., -12.,   0.,   1.])
    """
    slope = slope_at_zero(loss) if place == 0.0 else float(loss.derivatives(place)[0])
    for reach in _REACHES:
        omega = place + slope + reach * np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
        x, rise = np.asarray(loss.prox(omega, 1.0)) - place, np.asarray(loss.prox_derivative(omega, 1.0))
        if np.any(rise <= 0.0):  # a corner
            continue
        curvature = 1.0 / rise - 1.0
        fit = Chebyshev.fit(x, curvature, _NODES - 1, domain=[x.min(), x.max()])
        small = np.abs(fit.coef) < _NOISE * max(abs(slope), float(np.max(np.abs(curvature))))
        if small[-4:].all():
            kept = Chebyshev(np.where(small, 0.0, fit.coef), fit.domain).convert(kind=Polynomial)
            return Polynomial(np.pad(-kept.integ().coef, (0, order))[: order + 1] - slope * np.eye(order + 1)[0])
    raise ParameterError(f"loss = {loss!r} has no Taylor series at {place:g}; an expansion in 1/reg needs one")


Averages = tuple[Series, Series, Series]
Expansion = Callable[[Series, Series, Series], Averages]


def expansion_of(points: Points, order: int) -> Expansion:
    r"""Return the function that gives :math:`\eta_1, \eta_2, \eta_3` of the points as series (Eqs. 3.7, 8.6 and 8.14).

    Its arguments are what multiplies :math:`\epsilon, \epsilon^2, \epsilon` in mean, variance and response of the output.
    """
    loss = node_loss(points)
    if isinstance(loss, SoftmaxOf):
        return partial(_softmax_series, loss.classes)
    if not isinstance(loss, Biased):
        return partial(eta_series, pull_at(loss, 0.0, order))
    bias = resting_bias(loss.loss, float(loss.fractions[0]))
    pulls = pull_at(loss.loss, bias, order), pull_at(loss.loss, -bias, order)
    return partial(_biased_series, loss.fractions, pulls)


def _biased_series(
    fractions: Array, pulls: tuple[Polynomial, Polynomial], mean: Series, variance: Series, v: Series
) -> Averages:
    r"""Averages of two unequal classes; the change of the bias, of order :math:`\epsilon`, by Newton's method for series."""
    (p, other), (first, second) = fractions, two_codes(fractions)
    bias = mean * 0.0
    for _ in range(mean.order.bit_length() + 2):  # each doubles the number of orders that are right
        above = eta_series(pulls[0], first * mean + bias, variance, v)
        below = eta_series(pulls[1], -1.0 * (second * mean + bias), variance, v)
        bias = bias + (p * above[0] - other * below[0]).lowered() / (p * above[2] + other * below[2])
    return (
        p * first * above[0] - other * second * below[0],
        p * above[1] + other * below[1],
        p * above[2] + other * below[2],
    )


def _softmax_series(classes: int, mean: Series, variance: Series, v: Series) -> Averages:
    """Averages of the cross-entropy of equal classes, at each point by itself."""
    columns = [[Series(x.c[:, k]) for x in (mean, variance, v)] for k in range(mean.c.shape[1])]
    parts = [class_averages(classes, *softmax_series(classes, *column)) for column in columns]
    first, second, third = (Series(np.stack([x.c for x in each], axis=1)) for each in zip(*parts, strict=True))
    return first, second, third


def eta_series(pull: Polynomial, mean: Series, variance: Series, v: Series) -> tuple[Series, Series, Series]:
    r"""Averages :math:`\eta_1, \eta_2, \eta_3` for an output of mean, deviation and response of order :math:`\epsilon`.

    `mean`, `variance` and `v` are what multiplies :math:`\epsilon, \epsilon^2, \epsilon`; the answers are series in it.
    """
    moments = _moments(mean, variance)
    n = mean.order
    f, square = [], []
    for b in range(n + 1):
        f.append(_cut(pull ** (b + 1), n).deriv(b) / math.factorial(b + 1))
        square.append(_cut(pull ** (b + 2), n).deriv(b) * (2.0 / ((b + 2) * math.factorial(b))))

    def average(parts: list[Polynomial]) -> Series:
        total, power = mean * 0.0, mean * 0.0 + 1.0
        for b, part in enumerate(parts):
            total += power * _expectation(np.asarray(part.coef[: n - b + 1], float), moments)
            power = (power * v).raised()
        return total

    return average(f), average(square), -average([part.deriv() for part in f])


def _cut(polynomial: Polynomial, order: int) -> Polynomial:
    return Polynomial(polynomial.coef[: order + 1])


def _expectation(coefficients: Array, moments: list[Series]) -> Series:
    total = moments[0] * float(coefficients[0])
    for c, moment in zip(coefficients[1:], moments[1:], strict=False):
        total += moment * float(c)
    return total


def _moments(mean: Series, variance: Series) -> list[Series]:
    r"""Moments of a Gaussian variable, :math:`M_{k+1} = \text{mean}\, M_k + k\, \text{variance}\, M_{k-1}`, times powers."""
    mean, variance = mean.raised(), variance.raised(2)
    moments = [mean * 0.0 + 1.0, mean]
    for k in range(1, mean.order):
        moments.append(mean * moments[k] + variance * moments[k - 1] * float(k))
    return moments
