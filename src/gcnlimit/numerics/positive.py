"""Batches of positive matrices as rows of unconstrained numbers."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array

_LEAST = 1e-300  # a diagonal entry of 0


def pack(matrix: Array) -> Array:
    r"""Rows of :math:`\log A_{ii}` and :math:`A_{ij}/\sqrt{A_{ii} A_{jj}}`, `i > j`; NaN where the diagonal is negative.

    Powers of a parameter become straight lines, and no step makes a diagonal negative.

    Examples
    --------
    >>> A = np.array([[[4.0, 1.0], [1.0, 0.25]]])
    >>> bool(np.allclose(unpack(pack(A), 2), A))
    True
    """
    diagonal = np.einsum("bii->bi", matrix)
    diagonal = np.where(diagonal >= 0.0, np.maximum(diagonal, _LEAST), np.nan)
    root = np.sqrt(diagonal)
    i, j = _below(matrix.shape[1])
    return np.concatenate([np.log(diagonal), matrix[:, i, j] / (root[:, i] * root[:, j])], axis=1)


def unpack(rows: Array, size: int) -> Array:
    """Inverse of `pack` for matrices of that size."""
    root = np.exp(0.5 * rows[:, :size])
    i, j = _below(size)
    matrix = np.empty((len(rows), size, size))
    matrix[:, range(size), range(size)] = root**2
    matrix[:, i, j] = matrix[:, j, i] = rows[:, size:] * (root[:, i] * root[:, j])
    return matrix


def log_diagonal(rows: Array, size: int) -> Array:
    r"""For each entry of packed rows of matrices, :math:`\log\sqrt{A_{ii} A_{jj}}`."""
    half = 0.5 * rows[:, :size]
    i, j = _below(size)
    return np.concatenate([2.0 * half, half[:, i] + half[:, j]], axis=1)


@cache
def _below(size: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows and columns below the diagonal."""
    return np.tril_indices(size, -1)
