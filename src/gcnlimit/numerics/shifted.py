"""Conjugate gradients for many shifts of one matrix at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gcnlimit._values import Array

STEPS = 40  # at most
SOLVED = 1e-2  # residual, over its start, of a system that is solved


def shifted_solutions(product: Callable[[Array], Array], columns: Array, shifts: Array) -> Array:
    r"""Solutions :math:`(K + s)^{-1} b` for all shifts :math:`s` and columns :math:`b`, by conjugate gradients at the least.

    In this method, multi-shift conjugate gradients, the residuals of the other shifts are :math:`\zeta` times that of the
    least one, and :math:`\zeta` has a recurrence.

    >>> K, b = np.diag([1.0, 2.0, 5.0]), np.ones((3, 1))
    >>> found = shifted_solutions(lambda v: K @ v, b, np.array([0.5, 2.0]))
    >>> np.allclose(found[:, :, 0], 1.0 / (np.diag(K) + [[0.5], [2.0]]))
    True
    """
    least = float(shifts.min())
    above = (shifts - least)[:, None]
    dtype = columns.dtype
    solutions = np.zeros((len(shifts), *columns.shape), dtype)
    searches = np.repeat(columns[None], len(shifts), axis=0)
    lowest = int(shifts.argmin())
    residual = columns
    start = square = np.einsum("ij,ij->j", residual, residual, dtype=float)
    zeta = ratio = np.ones((len(shifts), columns.shape[1]))
    step_before = np.ones(columns.shape[1])
    turn = np.zeros(columns.shape[1])
    for _ in range(STEPS):
        active = square > SOLVED**2 * start  # a column that is solved stays as it is
        if not active.any():
            break
        # Krylov spaces of all shifts are the same: one product serves them, and the least shift,
        # whose residual is the largest, says when to stop
        search = searches[lowest]
        image = product(search) + dtype.type(least) * search
        bent = np.einsum("ij,ij->j", search, image, dtype=float)
        step = np.divide(square, bent, out=np.zeros_like(square), where=active & (bent > 0))
        # ratio of zeta to that before, for every shift: between 0 and 1
        ratio = 1.0 / (1.0 + above * step + step / step_before * turn * (1.0 - ratio))
        zeta = zeta * ratio
        residual = residual - step.astype(dtype) * image
        after = np.einsum("ij,ij->j", residual, residual, dtype=float)
        turn = np.divide(after, square, out=np.zeros_like(square), where=step > 0)
        for k in range(len(shifts)):
            solutions[k] += (step * ratio[k]).astype(dtype) * searches[k]
            searches[k] *= (turn * ratio[k] ** 2).astype(dtype)
            searches[k] += zeta[k].astype(dtype) * residual
        step_before = np.where(step > 0, step, 1.0)
        square = after
    return solutions
