"""The logistic loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from gcnlimit._values import Array, Value
from gcnlimit.losses.base import Loss


@dataclass(frozen=True, eq=False)
class Logistic(Value, Loss):
    r"""Logistic loss :math:`\ell(z) = \log(1 + e^{-z})`.

    >>> loss = Logistic()
    >>> x = loss.prox(0.3, v=2.0)
    >>> bool(abs(x - 0.3 - 2.0 / (1 + np.exp(x))) < 1e-14)  # stationarity: x - omega + v l'(x) = 0
    True
    """

    slope_at_zero = -0.5
    smallest_response = 1e-12
    has_descent = True

    def value(self, z: npt.ArrayLike) -> Array:
        """Loss at margin `z`."""
        return np.asarray(np.logaddexp(0.0, -np.asarray(z, float)))

    def derivatives(self, z: npt.ArrayLike) -> tuple[Array, Array]:
        r""":math:`-\sigma(-z)` and :math:`\sigma(z)\,\sigma(-z)`."""
        z = np.asarray(z, float)
        s = expit(-z)
        return np.asarray(-s), np.asarray(s * expit(z))

    def prox(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        r"""Root of :math:`x = \omega + v\,\sigma(-x)`, by Newton's method.

        The equation is unchanged by :math:`(x, \omega) \to (-x, -\omega - v)`, so that the root may be taken positive. There the
        equation is concave, and Newton's method cannot cycle; it starts from :math:`\omega + W(\frac v2 e^{-\omega})`, a bound
        that holds since :math:`\sigma(-x) \ge e^{-x}/2`, with Lambert's :math:`W` to a percent.
        """
        omega, v = np.broadcast_arrays(np.asarray(omega, float), np.asarray(v, float))
        flip = omega < -0.5 * v
        start = np.where(flip, -omega - v, omega)
        size = np.logaddexp(0.0, np.log(0.5 * np.maximum(v, 1e-300)) - start)
        x = np.maximum(start + size * (1.0 - np.log1p(size) / (2.0 + size)), 0.0)
        for _ in range(100):
            s = expit(-x)
            step = (start + v * s - x) / (1.0 + v * s * (1.0 - s))
            x = np.maximum(x + step, 0.0)
            if not np.any(np.abs(step) > 1e-8 * (1.0 + x)):  # quadratic convergence: the next error is rounding
                break
        return np.asarray(np.where(flip, -x, x))

    def prox_derivative(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        r""":math:`1/(1 + v\,\ell''(x))` at the proximal point :math:`x`."""
        return np.asarray(1.0 - np.asarray(v, float) * self.pull(omega, v)[1])

    def pull(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Array, Array]:
        r""":math:`\sigma(-x)` and :math:`\sigma'/(1 + v\sigma')` at the proximal point :math:`x`, exact at any `v` (Eq. 3.6)."""
        s = expit(-self.prox(omega, v))
        curvature = s * (1.0 - s)
        return s, np.asarray(curvature / (1.0 + np.asarray(v, float) * curvature))
