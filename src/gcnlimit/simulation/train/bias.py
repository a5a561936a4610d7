"""The free bias of unequal classes in training."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from gcnlimit._values import Array
from gcnlimit.classes import Indices
from gcnlimit.errors import ConvergenceError
from gcnlimit.losses import Loss
from gcnlimit.losses.base import resting_bias
from gcnlimit.simulation.train.smooth import Slopes


def balancing_bias(loss: Loss, kinds: Indices) -> float:
    r"""Bias :math:`b` that minimises the sum of :math:`\ell(\pm b)` over nodes without any other output.

    >>> from gcnlimit import Logistic
    >>> round(balancing_bias(Logistic(), np.array([0, 1, 1, 1])), 8)  # minus the logarithm of 3
    -1.09861229
    """
    first = float(np.mean(kinds == 0))
    return resting_bias(loss, first) if 0.0 < first < 1.0 else float(np.copysign(np.inf, first - 0.5))


def decreasing_root(function: Callable[[float], float]) -> float:
    """Root of a decreasing function of one number, near 0."""
    value = function(0.0)
    if value == 0.0:
        return 0.0
    near, far = 0.0, float(np.copysign(1.0, value))
    while value * function(far) > 0.0:
        near, far = far, 2.0 * far
        if abs(far) > 1e6:
            raise ConvergenceError("the bias of the training has no finite value; label more nodes or raise reg")
    return float(brentq(function, near, far, xtol=1e-13, rtol=1e-13))


def best_bias(slopes: Slopes, outputs: Array) -> float:
    """Bias at which the pulls of a smooth loss on outputs sum to 0.

    >>> from gcnlimit import Logistic
    >>> from gcnlimit.simulation.train.smooth import of_margins
    >>> round(best_bias(of_margins(Logistic(), np.array([[1.0], [-1.0]])), np.array([[3.0], [1.0]])), 9)
    -2.0
    """
    return decreasing_root(lambda bias: float(np.sum(slopes.pull(outputs + bias))))
