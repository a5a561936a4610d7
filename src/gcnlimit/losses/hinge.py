"""The hinge loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array, Value
from gcnlimit.losses.base import Loss


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
        """Loss at margin `z`."""
        return np.asarray(np.maximum(0.0, 1.0 - np.asarray(z, float)))

    def prox(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        r""":math:`\omega` clipped to 1 from below, moved by at most :math:`v`."""
        omega = np.asarray(omega, float)
        return np.asarray(np.maximum(omega, np.minimum(1.0, omega + np.asarray(v, float))))

    def prox_derivative(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """0 where the proximal point sits in the corner at 1, else 1."""
        omega = np.asarray(omega, float)
        return np.asarray(np.where((omega < 1.0) & (omega + np.asarray(v, float) > 1.0), 0.0, 1.0))

    def pull(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Array, Array]:
        r""":math:`(1 - \omega)/v` clipped to :math:`[0, 1]`, and minus its slope (Eq. 3.6)."""
        v = np.asarray(v, float)
        ratio = (1.0 - np.asarray(omega, float)) / v
        return np.clip(ratio, 0.0, 1.0), np.where((ratio > 0.0) & (ratio < 1.0), 1.0 / v, 0.0)

    def breakpoints(self, v: npt.ArrayLike) -> Array:
        r"""Where the proximal operator has kinks: :math:`1 - v` and 1."""
        v = np.asarray(v, float)
        return np.stack([1.0 - v, np.ones_like(v)])
