"""The free bias of two unequal classes where all other output vanishes."""

from __future__ import annotations

import numpy as np

from gcnlimit.errors import ParameterError
from gcnlimit.losses.base import Loss

_FARTHEST = 1e6  # bias beyond which there is none that is finite
_NEAR, _NARROW = 1e-5, 1e-8  # distance from a margin at which pulls are compared, and width of their proximal operator


def resting_bias(loss: Loss, first: float) -> float:
    r"""Bias :math:`b` that minimises :math:`p\,\ell(b) + (1-p)\,\ell(-b)`, with the fraction `first` :math:`p` of one class.

    >>> from gcnlimit import Logistic
    >>> round(resting_bias(Logistic(), 0.25), 8)  # minus the logarithm of 3
    -1.09861229
    """
    from scipy.optimize import brentq  # slow to import, and rarely needed

    given = loss.kinks or loss.breakpoints(np.ones(1)) is None

    def slope(bias: float) -> float:
        return float(loss.derivatives(bias)[0] if given else -loss.pull(bias, 1e-6)[0])

    def excess(bias: float) -> float:
        return first * slope(bias) - (1.0 - first) * slope(-bias)

    reach = 1.0
    while excess(-reach) * excess(reach) > 0.0:
        reach *= 2.0
        if reach > _FARTHEST:
            raise ParameterError(
                f"loss = {loss!r} has no finite bias for unequal classes; take a loss that flattens, or equal classes"
            )
    return float(brentq(excess, -reach, reach, xtol=1e-15, rtol=1e-15))


def is_pinned(loss: Loss, classes: int | tuple[float, ...]) -> bool:
    r"""Whether the free bias of two unequal classes pins outputs at a corner of the loss, at the resting bias :math:`\pm b`.

    Outputs of one class then stay there, within a width that vanishes like the outputs as the regularization grows: the pulls on
    them differ from node to node, and infinite regularization has no explicit formula.

    >>> from gcnlimit import Hinge, Logistic
    >>> is_pinned(Hinge(), (0.2, 0.8)), is_pinned(Logistic(), (0.2, 0.8)), is_pinned(Hinge(), 2)
    (True, False, False)
    """
    if isinstance(classes, int) or len(classes) > 2 or loss.breakpoints(np.ones(1)) is None:
        return False
    bias = resting_bias(loss, classes[0])
    left, right = (loss.pull(np.array([bias, -bias]) + side, _NARROW)[0] for side in (-_NEAR, _NEAR))
    return bool(np.any(left - right > 1e-3 * np.abs(left)))
