r"""Weights under any other penalty than their squares, by the alternating direction method of multipliers.

It minimizes :math:`\sum_i \ell(z_i) + r \sum_\nu \gamma(w_\nu)` subject to :math:`z = Zw`, each function by its proximal
operator, then a projection onto the constraint, one linear system that is factorized once.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from gcnlimit._values import Array
from gcnlimit.errors import ConvergenceError
from gcnlimit.losses import Loss
from gcnlimit.penalties import Penalty

_ITERATIONS = 20_000  # at most
_RELAXATION = 1.6
_CHECK = 25  # iterations between two looks at the residual
_ACCEPTED = 1e-5  # residual of weights that count as trained


def penalized(
    Z: Array, loss: Loss, penalty: Penalty, reg: float, tol: float
) -> tuple[Array, float]:
    r"""Weights on signed training rows, and the residual of the optimality conditions that they reach.

    With :math:`f_i = -\ell'(z_i)`, they are :math:`z = Zw` and :math:`w = \mathrm{prox}_{\gamma}(w + Z^T f/r)`; the residual is
    relative to the norms of :math:`z` and :math:`w`.

    >>> from gcnlimit import ElasticNet, Square
    >>> Z = np.array([[1.0, 2.0, 0.1], [0.0, 1.0, -0.1]])
    >>> w, residual = penalized(Z, Square(), ElasticNet(0.5), 0.5, 1e-10)
    >>> residual < 1e-10, (Z.T @ (1.0 - Z @ w))[1].round(8) == (0.25 + 0.25 * w[1]).round(8)  # stationary where w > 0
    (True, np.True_)
    """
    rows, columns = Z.shape
    size = max(float(np.vdot(Z, Z)) / max(rows, columns), 1e-300)  # square of a typical gain of Z
    v = size / reg
    factor = cho_factor(np.eye(columns) + Z.T @ Z / size)
    w, z, off_w, off_z = (np.zeros(n) for n in (columns, rows, columns, rows))
    residual = np.inf
    for iteration in range(1, _ITERATIONS + 1):
        near_w = penalty.prox(w - off_w, 1.0)
        near_z = loss.prox(z - off_z, v)
        if iteration % _CHECK == 0:
            pull = (near_z - z + off_z) / v
            moved = penalty.prox(near_w + Z.T @ pull / reg, 1.0)
            residual = _relative(Z @ near_w - near_z, near_z)
            residual = max(residual, _relative(moved - near_w, near_w))
            if residual <= tol:
                break
        # beyond the proximal points, and back onto z = Zw
        target_w = _RELAXATION * near_w + (1.0 - _RELAXATION) * w + off_w
        target_z = _RELAXATION * near_z + (1.0 - _RELAXATION) * z + off_z
        w = cho_solve(factor, target_w + Z.T @ target_z / size)
        z = Z @ w
        off_w, off_z = target_w - w, target_z - z
    if not residual <= _ACCEPTED:
        stopped = f"the training at reg = {reg:g} stopped at a residual of {residual:.1e}"
        raise ConvergenceError(f"{stopped}; raise reg")
    return np.asarray(near_w), float(residual)


def _relative(difference: Array, whole: Array) -> float:
    return float(np.linalg.norm(difference) / max(float(np.linalg.norm(whole)), 1e-300))
