r"""Linear systems :math:`(G + r)x = b` for many shifts :math:`r`, from the products of one Krylov space."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh_tridiagonal

from gcnlimit._values import Array

__all__ = ["solve_shifted"]


def solve_shifted(  # noqa: PLR0917
    product: Callable[[Array], Array], rough: Callable[[Array], Array], b: Array, r: Array, tol: float, steps: int
) -> Array | None:
    r"""Solutions :math:`x`, one row per shift `r`, to residuals of `tol` times :math:`|b|`; None if not converged in `steps`.

    Lanczos' method: in the orthonormal basis :math:`V` of the powers :math:`G^k b`, the matrix is tridiagonal, :math:`T`, for
    every shift, and :math:`x = |b|\, V (T + r)^{-1} e_1`. The residual after :math:`k` steps is
    :math:`|b| \prod_{j \le k} \beta_j/d_j`, with :math:`\beta` beside the diagonal of :math:`T` and :math:`d` the pivots of
    :math:`T + r`; the smallest shift is the slowest. The smaller the residual, the less precise a product needs to be, and
    `rough`, in single precision, takes over near the end. The true residual decides.

    >>> G, r = np.diag([1.0, 2.0, 5.0]), np.array([0.1, 1.0])
    >>> x = solve_shifted(G.__matmul__, G.__matmul__, np.ones(3), r, tol=1e-12, steps=3)
    >>> np.allclose(x, 1 / (np.diag(G) + r[:, None]))
    True
    """
    size, smallest = float(np.linalg.norm(b)), float(np.min(r))
    V, diagonal, beside = np.empty((steps + 1, b.size)), np.empty(steps), np.zeros(steps + 1)
    V[0] = b / size
    residual, pivot = 1.0, np.inf
    for k in range(steps):
        w = (product if residual > 1e5 * tol else rough)(V[k])
        overlap = V[: k + 1] @ w
        w -= overlap @ V[: k + 1]
        w -= (V[: k + 1] @ w) @ V[: k + 1]
        diagonal[k], beside[k + 1] = overlap[k], np.linalg.norm(w)
        pivot = diagonal[k] + smallest - beside[k] ** 2 / pivot
        residual *= beside[k + 1] / abs(pivot)
        if residual <= 0.5 * tol:
            break
        V[k + 1] = w / beside[k + 1]
    else:
        return None
    values, vectors = eigh_tridiagonal(diagonal[: k + 1], beside[1 : k + 1])
    x = size * (vectors[0] / (values + r[:, None]) @ vectors.T) @ V[: k + 1]
    slowest = x[np.argmin(r)]
    left = np.linalg.norm(product(slowest) + smallest * slowest - b)
    return np.asarray(x) if left <= tol * size else None
