"""Linear systems, many at once: one that is singular does not take the others with it."""

from __future__ import annotations

import numpy as np

from gcnlimit._values import Array

__all__ = ["solve_each"]


def solve_each(matrices: Array, sides: Array) -> Array:
    """Solutions of a batch of linear systems along the first axis, NaN where a matrix is singular; `sides` broadcast.

    >>> solve_each(np.array([[[2.0]], [[0.0]]]), np.ones((2, 1, 1))).ravel()
    array([0.5, nan])
    """
    try:
        return np.asarray(np.linalg.solve(matrices, sides))
    except np.linalg.LinAlgError:
        each = zip(matrices, np.broadcast_to(sides, (len(matrices), *sides.shape[-2:])), strict=True)
        return np.stack([_one(matrix, side) for matrix, side in each])


def _one(matrix: Array, side: Array) -> Array:
    try:
        return np.asarray(np.linalg.solve(matrix, side))
    except np.linalg.LinAlgError:
        return np.full_like(side, np.nan)
