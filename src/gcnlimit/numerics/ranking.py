"""How well scores order two groups."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array

__all__ = ["roc_area"]


def roc_area(scores: Array, kinds: npt.NDArray[np.integer]) -> float:
    """Probability that a score of group 0 is larger than one of group 1, half of it if they are equal; NaN without either.

    It is the area under the receiver operating characteristic.

    >>> roc_area(np.array([3.0, 1.0, 2.0, 1.0]), np.array([0, 0, 1, 1]))
    0.625
    """
    first, second = np.sort(scores[kinds == 0]), np.sort(scores[kinds == 1])  # sorted numbers are found faster
    if not (first.size and second.size):
        return float("nan")
    below = np.searchsorted(second, first, "left") + np.searchsorted(second, first, "right")
    return float(np.mean(below) / (2.0 * second.size))
