"""Batched linear algebra: solves, Hankel matrices, matrix functions, positive matrices as rows; batches, sizes of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array, Integers

_LEAST = 1e-300  # a diagonal entry of 0


def solve_each(matrices: Array, sides: Array) -> Array:
    """Solutions of a batch of linear systems along the first axis, NaN where a matrix is singular; `sides` broadcast.

    >>> solve_each(np.array([[[2.0]], [[0.0]]]), np.ones((2, 1, 1))).ravel()
    array([0.5, nan])
    """
    try:
        return np.asarray(np.linalg.solve(matrices, sides))
    except np.linalg.LinAlgError:
        if len(matrices) == 1:
            return np.full_like(sides, np.nan)
    # one singular matrix fails the whole batch: each by itself, and NaN for that one
    sides = np.broadcast_to(sides, (len(matrices), *sides.shape[-2:]))
    pairs = zip(matrices[:, None], sides[:, None], strict=True)
    return np.concatenate([solve_each(matrix, side) for matrix, side in pairs])


def conjugate_gradients(
    matrix: Callable[[Array], Array], source: Array, steps: int, tol: float
) -> tuple[Array | None, bool, int, float]:
    """Solution of a system, None if its matrix is not positive; whether and after how many steps it settled; the last, rms."""
    x, r = np.zeros_like(source), source
    p, square, change = r, float(np.vdot(r, r)), 0.0
    for count in range(steps):
        if square <= tol**2 * r.size:
            return x, True, count, change
        product = matrix(p)
        curvature = float(np.vdot(p, product))
        if curvature <= 0.0:
            return None, False, count, change
        step = square / curvature
        x = x + step * p
        r = r - step * product
        change = step * float(np.sqrt(np.mean(p**2)))
        last, square = square, float(np.vdot(r, r))
        p = r + square / last * p
    return x, False, steps, change


def norm(block: Any) -> float:
    """Euclidean norm of all entries of an array of NumPy or a tensor of PyTorch."""
    return float(np.linalg.norm(block) if isinstance(block, np.ndarray) else block.norm())


def hankel(rows: Array) -> Array:
    r"""Matrices :math:`H_{ip} = r_{i+p}`, 0 beyond the end, of the last axis."""
    n = rows.shape[-1]
    index = np.add.outer(np.arange(n), np.arange(n))
    padded = np.concatenate([rows, np.zeros((*rows.shape[:-1], n - 1))], axis=-1)
    return np.asarray(padded[..., index])


def matrix_function(matrix: Array, function: Callable[[Array], Array]) -> Array:
    """Function of a symmetric matrix: that of its eigenvalues."""
    values, basis = np.linalg.eigh(matrix)
    return np.asarray((basis * function(values)) @ basis.T)


def triangular_factor(matrix: Array, least: float = 0.0) -> Array:
    """Lower triangular L with L L^T the matrix, real or complex without conjugation.

    The square of a diagonal entry is at least `least`, if that is not 0: a row that follows from those before it then keeps a
    trace of its own.
    """
    factor = np.zeros_like(matrix)
    for j in range(len(matrix)):
        for i in range(j):
            factor[j, i] = (matrix[j, i] - factor[j, :i] @ factor[i, :i]) / factor[i, i]
        square = matrix[j, j] - factor[j, :j] @ factor[j, :j]
        factor[j, j] = np.sqrt(max(square, least) if least else square)
    return factor


def batches(count: int, size: int) -> Iterator[npt.NDArray[np.intp]]:
    """Numbers from 0 to ``count - 1`` in runs of at most `size`."""
    for start in range(0, count, size):
        yield np.arange(start, min(start + size, count))


def pack_positive(matrix: Array) -> Array:
    r"""Rows of :math:`\log A_{ii}` and :math:`A_{ij}/\sqrt{A_{ii} A_{jj}}`, `i > j`; NaN where the diagonal is negative.

    Powers of a parameter become straight lines, and no step makes a diagonal negative.
    """
    diagonal = np.einsum("...ii->...i", matrix)
    diagonal = np.where(diagonal >= 0.0, np.maximum(diagonal, _LEAST), np.nan)
    root = np.sqrt(diagonal)
    i, j = _below(matrix.shape[-1])
    cosine = matrix[..., i, j] / (root[..., i] * root[..., j])
    return np.concatenate([np.log(diagonal), cosine], axis=-1)


def unpack_positive(rows: Array, size: int) -> Array:
    """Inverse of `pack_positive` for matrices of that size."""
    root = np.exp(0.5 * rows[..., :size])
    i, j = _below(size)
    matrix = np.empty((*rows.shape[:-1], size, size))
    np.einsum("...ii->...i", matrix)[...] = root**2
    matrix[..., i, j] = matrix[..., j, i] = rows[..., size:] * (root[..., i] * root[..., j])
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


def by_moment(X: Any) -> Integers:
    """Columns in the order of their third moment with the sums of the rows, whatever the order of either; ties stay."""
    moment = X.T @ np.asarray(X.sum(axis=1)).ravel() ** 2
    return np.argsort(np.round(moment / (np.abs(moment).max() or 1.0), 10), kind="stable")


def root_mean_square(view: Array) -> Array:
    """Root of the mean square of each column."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", view, view, dtype=float) / len(view)))
