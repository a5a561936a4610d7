"""Hankel matrices, which shift series."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array

__all__ = ["hankel"]


def hankel(rows: npt.NDArray[np.float64]) -> Array:
    r"""Matrices :math:`H_{ip} = r_{i+p}`, 0 beyond the end, of the last axis.

    >>> hankel(np.array([1.0, 2.0, 3.0]))
    array([[1., 2., 3.],
           [2., 3., 0.],
           [3., 0., 0.]])
    """
    n = rows.shape[-1]
    index = np.add.outer(np.arange(n), np.arange(n))
    padded = np.concatenate([rows, np.zeros((*rows.shape[:-1], n - 1))], axis=-1)
    return np.asarray(padded[..., index])
