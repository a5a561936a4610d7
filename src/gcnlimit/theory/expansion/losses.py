r"""The averages of a loss for small outputs, from its Taylor series at 0.

The pull on a labelled node is :math:`f = \varphi(\omega + v f)` with :math:`\varphi = -\ell'`. By Lagrange's inversion

.. math::
    f = \sum_b \frac{v^b}{(b+1)!}\, \partial_\omega^b\, \varphi(\omega)^{b+1}, \qquad
    f^2 = \sum_b \frac{2 v^b}{(b+2)\, b!}\, \partial_\omega^b\, \varphi(\omega)^{b+2} .
"""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial

from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.losses import Loss
from gcnlimit.numerics.series import Series
from gcnlimit.theory.finite_reg.loss_averages import slope_at_zero

__all__ = ["eta_series", "pull_at_zero"]

_NODES = 24
_NOISE = 1e-14  # Chebyshev coefficients below it, relative to the curvature or the slope, are rounding
_REACHES = (0.8, 0.4, 0.2, 0.1)  # of the interval on which a loss is sampled; kinks may be near


def pull_at_zero(loss: Loss, order: int) -> Polynomial:
    r"""Taylor polynomial of :math:`\varphi = -\ell'` at 0.

    At :math:`x = \mathrm{prox}_\ell(\omega)` the curvature is :math:`\ell''(x) = 1/\mathrm{prox}'_\ell(\omega) - 1`, which is
    interpolated between points around 0.

    >>> from gcnlimit import Logistic
    >>> pull_at_zero(Logistic(), 3).coef.round(10) * 48  # 1/2 - x/4 + x^3/48
    array([ 24., -12.,   0.,   1.])
    """
    slope = slope_at_zero(loss)
    for reach in _REACHES:
        omega = slope + reach * np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
        x, rise = np.asarray(loss.prox(omega, 1.0)), np.asarray(loss.prox_derivative(omega, 1.0))
        if np.any(rise <= 0.0):  # a corner
            continue
        curvature = 1.0 / rise - 1.0
        fit = Chebyshev.fit(x, curvature, _NODES - 1, domain=[x.min(), x.max()])
        small = np.abs(fit.coef) < _NOISE * max(abs(slope), float(np.max(np.abs(curvature))))
        if small[-4:].all():
            kept = Chebyshev(np.where(small, 0.0, fit.coef), fit.domain).convert(kind=Polynomial)
            return Polynomial(np.pad(-kept.integ().coef, (0, order))[: order + 1] - slope * np.eye(order + 1)[0])
    raise ParameterError(f"loss = {loss!r} has no Taylor series at 0; an expansion in 1/reg needs one")


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
