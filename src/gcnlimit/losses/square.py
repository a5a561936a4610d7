"""The square loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array, Value
from gcnlimit.losses.base import Form, Loss


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
        """Loss at margin `z`."""
        return np.asarray(0.5 * (1.0 - np.asarray(z, float)) ** 2)

    def prox(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        r""":math:`(\omega + v)/(1 + v)`."""
        v = np.asarray(v, float)
        return np.asarray((np.asarray(omega, float) + v) / (1.0 + v))

    def prox_derivative(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        r""":math:`1/(1 + v)`."""
        omega, v = np.broadcast_arrays(np.asarray(omega, float), np.asarray(v, float))
        return np.asarray(1.0 / (1.0 + v))

    def pull(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Array, Array]:
        r""":math:`(1 - \omega)/(1 + v)` and :math:`1/(1 + v)`."""
        slope = self.prox_derivative(omega, v)
        return np.asarray((1.0 - np.asarray(omega, float)) * slope), slope

    def gaussian_pull(self, mean: Array, variance: Array, v: Array) -> tuple[Array, Array, Array]:
        r""":math:`(1-\bar\omega)\kappa`, :math:`[(1-\bar\omega)^2 + \sigma^2]\kappa^2` and :math:`\kappa = 1/(1+v)`."""
        stiffness = np.where((v > 0.0) & (variance >= 0.0), 1.0 / (1.0 + v), np.nan)
        return (1.0 - mean) * stiffness, ((1.0 - mean) ** 2 + variance) * stiffness**2, stiffness

    def gaussian_losses(self, mean: Array, variance: Array, v: Array) -> tuple[Array, Array]:
        r""":math:`\frac12[(1-\bar\omega)^2 + \sigma^2]`, and the same over :math:`(1+v)^2`."""
        test = 0.5 * ((1.0 - mean) ** 2 + variance)
        return test, test / (1.0 + v) ** 2
