"""Where a check failed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array

__all__ = ["first"]


def first(where: npt.NDArray[np.bool_], *arrays: Array) -> list[float]:
    """Entries of the arrays, which broadcast, at the first true place.

    >>> first(np.array([False, True, True]), np.array([1.0, 2.0, 3.0]))
    [2.0]
    """
    return [float(np.broadcast_to(array, where.shape)[where][0]) for array in arrays]
