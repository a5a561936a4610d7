"""The losses by name: square, logistic, hinge, and the cross-entropy of softmax outputs for any number of classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from gcnlimit._validation import reals
from gcnlimit._values import Array, Value
from gcnlimit.losses.base import Form, Loss, both


@dataclass(frozen=True, eq=False)
class Square(Value, Loss):
    r"""Square loss :math:`\ell(z) = (1-z)^2/2` (ridge regression).

    >>> float(Square().prox(0.0, v=1.0))
    0.5
    """

    slope_at_zero = -1.0
    smallest_response = 1e-300
    form = Form.CODES

    def value(self, z: npt.ArrayLike) -> Array:
        return np.asarray(0.5 * (1.0 - reals("z", z)) ** 2)

    def prox(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        r""":math:`(\omega + v)/(1 + v)`."""
        omega, v = both(omega, v)
        return np.asarray((omega + v) / (1.0 + v))

    def prox_derivative(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        r""":math:`1/(1 + v)`."""
        _, v = np.broadcast_arrays(*both(omega, v))
        return np.asarray(1.0 / (1.0 + v))

    def pull(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Array, Array]:
        r""":math:`(1 - \omega)/(1 + v)` and :math:`1/(1 + v)`."""
        slope = self.prox_derivative(omega, v)
        return np.asarray((1.0 - reals("omega", omega)) * slope), slope

    def gaussian_pull(self, mean: Array, variance: Array, v: Array) -> tuple[Array, Array, Array]:
        r""":math:`(1-\bar\omega)\kappa`, :math:`[(1-\bar\omega)^2 + \sigma^2]\kappa^2` and :math:`\kappa = 1/(1+v)`."""
        stiffness = np.where((v > 0.0) & (variance >= 0.0), 1.0 / (1.0 + v), np.nan)
        return (1.0 - mean) * stiffness, ((1.0 - mean) ** 2 + variance) * stiffness**2, stiffness

    def gaussian_losses(self, mean: Array, variance: Array, v: Array) -> tuple[Array, Array]:
        r""":math:`\frac12[(1-\bar\omega)^2 + \sigma^2]`, and the same over :math:`(1+v)^2`."""
        test = 0.5 * ((1.0 - mean) ** 2 + variance)
        return test, test / (1.0 + v) ** 2


@dataclass(frozen=True, eq=False)
class Logistic(Value, Loss):
    r"""Logistic loss :math:`\ell(z) = \log(1 + e^{-z})`.

    >>> x = Logistic().prox(0.3, v=2.0)
    >>> bool(abs(x - 0.3 - 2.0 / (1 + np.exp(x))) < 1e-14)  # stationarity: x - omega + v l'(x) = 0
    True
    """

    slope_at_zero = -0.5
    smallest_response = 1e-12
    has_descent = True

    def value(self, z: npt.ArrayLike) -> Array:
        return np.asarray(np.logaddexp(0.0, -reals("z", z)))

    def derivatives(self, z: npt.ArrayLike) -> tuple[Array, Array]:
        r""":math:`-\sigma(-z)` and :math:`\sigma(z)\,\sigma(-z)`."""
        z = reals("z", z)
        s = scipy.special.expit(-z)
        return np.asarray(-s), np.asarray(s * scipy.special.expit(z))

    def prox(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        r"""Root of :math:`x = \omega + v\,\sigma(-x)`, by Newton's method.

        The equation is unchanged by :math:`(x, \omega) \to (-x, -\omega - v)`, so that the root may be taken positive. There the
        equation is concave, and Newton's method cannot cycle; it starts from :math:`\omega + W(\frac v2 e^{-\omega})`, a bound
        that holds since :math:`\sigma(-x) \ge e^{-x}/2`, with Lambert's :math:`W` to a percent.
        """
        omega, v = both(omega, v)
        flip = omega < -0.5 * v
        start = np.where(flip, -omega - v, omega)
        size = np.logaddexp(0.0, np.log(0.5 * np.maximum(v, 1e-300)) - start)
        x = np.maximum(start + size * (1.0 - np.log1p(size) / (2.0 + size)), 0.0)
        for _ in range(100):
            s = scipy.special.expit(-x)
            pull = v * s
            step = (start + pull - x) / (1.0 + pull * (1.0 - s))
            x = np.maximum(x + step, 0.0)
            # convergence is quadratic: the next error is rounding
            if not np.any(np.abs(step) > 1e-8 * (1.0 + x)):
                break
        return np.asarray(np.where(flip, -x, x))


@dataclass(frozen=True, eq=False)
class Hinge(Value, Loss):
    r"""Hinge loss :math:`\ell(z) = \max(0, 1-z)` (support vector machine).

    >>> Hinge().prox([-3.0, 0.5, 2.0], v=1.0)
    array([-2.,  1.,  2.])
    """

    kinks = (1.0,)
    slope_at_zero = -1.0
    smallest_response = 1e-12

    def value(self, z: npt.ArrayLike) -> Array:
        return np.asarray(np.maximum(0.0, 1.0 - reals("z", z)))

    def prox(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        r""":math:`\omega` clipped to 1 from below, moved by at most :math:`v`."""
        omega, v = both(omega, v)
        return np.asarray(np.maximum(omega, np.minimum(1.0, omega + v)))

    def prox_derivative(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """0 where the proximal point sits in the corner at 1, else 1."""
        omega, v = both(omega, v)
        return np.asarray(np.where((omega < 1.0) & (omega + v > 1.0), 0.0, 1.0))

    @np.errstate(divide="ignore", invalid="ignore")  # by v = 0
    def pull(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Array, Array]:
        r""":math:`(1 - \omega)/v` clipped to :math:`[0, 1]`, and minus its slope (Eq. 3.6)."""
        omega, v = both(omega, v)
        ratio = (1.0 - omega) / v
        return np.clip(ratio, 0.0, 1.0), np.where((ratio > 0.0) & (ratio < 1.0), 1.0 / v, 0.0)

    def breakpoints(self, v: npt.ArrayLike) -> Array:
        r"""Where the proximal operator has kinks: :math:`1 - v` and 1."""
        v = reals("v", v)
        return np.stack([1.0 - v, np.ones_like(v)])


_LOGISTIC = Logistic()
_UNIT = np.sqrt(2.0)  # two outputs of equal weight decay differ by sqrt(2) times the output of one


@dataclass(frozen=True, eq=False)
class Softmax(Value, Loss):
    r"""Cross-entropy :math:`-\log \mathrm{softmax}_k(o)` of one output for each class, all with weight decay (Eq. 8.6).

    For two classes, whose methods these are, it is the logistic loss of :math:`\sqrt 2 z`: softmax at regularization :math:`r` is
    the logistic loss at :math:`r/2`.
    """

    slope_at_zero = -(0.5**0.5)
    smallest_response = 1e-12
    form = Form.LOGITS

    def value(self, z: npt.ArrayLike) -> Array:
        return _LOGISTIC.value(_UNIT * reals("z", z))

    def derivatives(self, z: npt.ArrayLike) -> tuple[Array, Array]:
        slope, curvature = _LOGISTIC.derivatives(_UNIT * reals("z", z))
        return np.asarray(_UNIT * slope), np.asarray(2.0 * curvature)

    def prox(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        omega, v = both(omega, v)
        return np.asarray(_LOGISTIC.prox(_UNIT * omega, 2.0 * v) / _UNIT)
