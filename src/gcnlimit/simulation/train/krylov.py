r"""Linear systems :math:`(G + r)x = b` for many shifts :math:`r`, from the products of one Krylov space."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh_tridiagonal

from gcnlimit._values import Array

_ROUNDING = float(np.finfo(float).eps)


class KrylovSpace:
    r"""Powers :math:`G^k b`, grown by one product at a time until they hold the solutions of all shifts `r`.

    Lanczos' method: in the orthonormal basis :math:`V` of the powers, the matrix is tridiagonal, :math:`T`, for every shift, and
    :math:`x = |b|\, V (T + r)^{-1} e_1`. The residual after :math:`k` steps is :math:`|b| \prod_{j \le k} \beta_j/d_j`, with
    :math:`\beta` beside the diagonal of :math:`T` and :math:`d` the pivots of :math:`T + r`; the smallest shift is the slowest.
    """

    def __init__(self, b: Array, r: Array, tol: float) -> None:
        self.size, self.shifts, self.tol = float(np.linalg.norm(b)), r, tol
        self.basis = np.empty((8, b.size))
        self.basis[0] = b / self.size
        self.diagonal: list[float] = []
        self.beside = [0.0]
        self.residual, self.pivot, self.smallest = 1.0, np.inf, float(np.min(r))

    @property
    def here(self) -> Array:
        """Vector whose product with :math:`G` is wanted next."""
        return np.asarray(self.basis[len(self.diagonal)])

    @property
    def done(self) -> bool:
        """Whether the residual is below half the tolerance."""
        return self.residual <= 0.5 * self.tol

    def take(self, product: Array) -> None:
        """Go one step, given the product with the vector `here`."""
        V = self.basis[: len(self.diagonal) + 1]
        overlap = V @ product
        rest = product - overlap @ V
        rest -= (V @ rest) @ V
        self.diagonal.append(float(overlap[-1]))
        whole = self.diagonal[-1] + self.smallest
        # a pivot that rounding cancels is as large as its rounding; the true residual decides whether that was enough
        self.pivot = (whole - self.beside[-1] * (self.beside[-1] / self.pivot)) or _ROUNDING * whole
        self.beside.append(float(np.linalg.norm(rest)))
        self.residual *= self.beside[-1] / abs(self.pivot)
        if self.done:
            return
        if len(V) == len(self.basis):
            self.basis = np.concatenate([self.basis, np.empty_like(self.basis)])
        self.basis[len(V)] = rest / self.beside[-1]

    def solutions(self) -> Array:
        """One row for each shift."""
        steps = len(self.diagonal)
        values, vectors = eigh_tridiagonal(self.diagonal, self.beside[1:steps])
        parts = vectors[0] / (values + self.shifts[:, None]) @ vectors.T
        return np.asarray(self.size * parts @ self.basis[:steps])


def solve_shifted(  # noqa: PLR0917
    product: Callable[[Array], Array], rough: Callable[[Array], Array], b: Array, r: Array, tol: float, steps: int
) -> Array | None:
    r"""Solutions :math:`x`, one row per shift `r`, to residuals of `tol` times :math:`|b|`; None if not converged in `steps`.

    The smaller the residual, the less precise a product needs to be, and `rough`, in single precision, takes over near the end.
    The true residual decides.

    >>> G, r = np.diag([1.0, 2.0, 5.0]), np.array([0.1, 1.0])
    >>> x = solve_shifted(G.__matmul__, G.__matmul__, np.ones(3), r, tol=1e-12, steps=3)
    >>> np.allclose(x, 1 / (np.diag(G) + r[:, None]))
    True
    """
    space = KrylovSpace(b, r, tol)
    for _ in range(steps):
        space.take((product if space.residual > 1e5 * tol else rough)(space.here))
        if space.done:
            break
    else:
        return None
    x = space.solutions()
    slowest = x[np.argmin(r)]
    left = np.linalg.norm(product(slowest) + space.smallest * slowest - b)
    return x if left <= tol * space.size else None
