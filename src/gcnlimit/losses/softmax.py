"""The cross-entropy of softmax outputs, for any number of classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array, Value
from gcnlimit.losses.base import Form, Loss
from gcnlimit.losses.logistic import Logistic

_LOGISTIC = Logistic()
_UNIT = np.sqrt(2.0)  # two outputs of equal weight decay differ by sqrt(2) times the output of one


@dataclass(frozen=True, eq=False)
class Softmax(Value, Loss):
    r"""Cross-entropy :math:`-\log \mathrm{softmax}_k(o)` of one output for each class, all with weight decay (Eq. 8.6).

    For two classes it is the logistic loss of :math:`\sqrt 2 z`, so that softmax at regularization :math:`r` is the logistic loss
    at :math:`r/2`; the methods below are those of two classes.

    >>> loss = Softmax()
    >>> x = loss.prox(0.3, v=2.0)
    >>> bool(abs(x - 0.3 - 2.0 * np.sqrt(2) / (1 + np.exp(np.sqrt(2) * x))) < 1e-14)
    True
    """

    slope_at_zero = -(0.5**0.5)
    smallest_response = 1e-12
    form = Form.LOGITS

    def value(self, z: npt.ArrayLike) -> Array:
        """Loss at margin `z`."""
        return _LOGISTIC.value(_UNIT * np.asarray(z, float))

    def derivatives(self, z: npt.ArrayLike) -> tuple[Array, Array]:
        """First two derivatives, those of the logistic loss in other units."""
        slope, curvature = _LOGISTIC.derivatives(_UNIT * np.asarray(z, float))
        return np.asarray(_UNIT * slope), np.asarray(2.0 * curvature)

    def prox(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """Proximal operator, that of the logistic loss in other units."""
        return np.asarray(_LOGISTIC.prox(_UNIT * np.asarray(omega, float), 2.0 * np.asarray(v, float)) / _UNIT)

    def prox_derivative(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """Derivative of the proximal operator."""
        return _LOGISTIC.prox_derivative(_UNIT * np.asarray(omega, float), 2.0 * np.asarray(v, float))

    def pull(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Array, Array]:
        """Pull and its slope."""
        pull, slope = _LOGISTIC.pull(_UNIT * np.asarray(omega, float), 2.0 * np.asarray(v, float))
        return np.asarray(_UNIT * pull), np.asarray(2.0 * slope)
