r"""Lanczos' method: a symmetric matrix in the space of :math:`b, Kb, K^2b, \dots`, where it is tridiagonal.

It needs nothing but products with the matrix. It gives the ends of a spectrum, averages over it, and solves linear systems.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal

from gcnlimit._values import Array
from gcnlimit.numerics.linear import norm

_MOST_PRODUCTS = 500  # for the largest eigenvalue
_EDGE_PRODUCTS = 120  # for several of the largest
_INVARIANT = 1e-10  # size of a new direction, over that of the matrix, below which there is none


class Lanczos:
    r"""Orthonormal basis :math:`V` of a growing Krylov space, and the tridiagonal matrix :math:`T = V^TKV` on it.

    The user multiplies `last`, the newest vector, by the matrix and hands the product to `extend`. If all vectors are `kept`,
    each new one is made orthogonal to all of them. Else the last two suffice, of NumPy or PyTorch; orthogonality is lost in
    the end, which repeats eigenvalues that were found.

    >>> K = np.diag([1.0, 2.0, 5.0])
    >>> space = Lanczos(np.ones(3))
    >>> for _ in range(3):
    ...     space.extend(K @ space.last)
    >>> space.eigenvalues()[0].round(9)
    array([1., 2., 5.])
    """

    def __init__(self, start: Any, kept: bool = True) -> None:
        self.size = norm(start)
        self.diagonal: list[float] = []
        self.beside: list[float] = [0.0]  # beside the diagonal, from one place outside to the next
        self._room = np.empty((8 if kept else 0, start.shape[0]))
        self._last = self._before = 0.0 * start
        self._rest: Any = start  # of the last product, orthogonal to the basis
        self._length = self.size

    @property
    def last(self) -> Any:
        """Newest vector of the basis, whose product is wanted."""
        if self._rest is not None:
            # divided only when it is wanted: the last rest may be 0, where the space is whole
            self._before, self._last = self._last, self._rest / self._length
            self._rest = None
            if len(self._room):
                if len(self.diagonal) == len(self._room):
                    self._room = np.concatenate([self._room, np.empty_like(self._room)])
                self._room[len(self.diagonal)] = self._last
        return self._last

    def extend(self, product: Any) -> None:
        """Take the product of the matrix with `last`."""
        if len(self._room):
            V = self._room[: len(self.diagonal) + 1]
            overlaps = V @ product
            overlap = overlaps[-1]
            rest = product - overlaps @ V
            rest -= (V @ rest) @ V  # once more removes what rounding left
        else:
            rest = product - self.beside[-1] * self._before
            overlap = (self._last * rest).sum()
            rest = rest - float(overlap) * self._last
        self.diagonal.append(float(overlap))
        self._rest = rest
        self._length = norm(rest)
        self.beside.append(self._length)

    @property
    def vectors(self) -> Array:
        """Vectors whose products were taken, one a row."""
        return self._room[: len(self.diagonal)]

    def eigenvalues(self) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of the tridiagonal matrix."""
        values, vectors = eigh_tridiagonal(self.diagonal, self.beside[1:-1])
        return np.asarray(values, float), np.asarray(vectors, float)


def largest_eigenvalue(operator: Any, start: Any) -> float:
    r"""Largest magnitude of the eigenvalues of a symmetric operator, from the vector `start`, of NumPy or PyTorch.

    Stops when the residual of the eigenvector, :math:`\beta_k` times its last entry in the Lanczos basis, is below a
    thousandth of the eigenvalue.

    >>> round(largest_eigenvalue(np.diag([1.0, -3.0, 2.0]), np.ones(3)), 6)
    3.0
    """
    space = Lanczos(start, kept=False)
    for k in range(1, _MOST_PRODUCTS + 1):
        space.extend(operator @ space.last)
        beside = space.beside[-1]
        whole = k == len(start)
        # eigenvalues of T cost little beside a product, but not every time
        if k % 8 == 0 or beside <= 1e-6 * abs(space.diagonal[-1]) or whole:
            values, vectors = space.eigenvalues()
            top = int(np.argmax(np.abs(values)))
            if beside * abs(vectors[-1, top]) <= 1e-3 * abs(values[top]) or whole:
                break
    return float(abs(values[top]))


def top_eigenvalues(operator: Any, count: int) -> Array:
    """Distinct eigenvalues of a symmetric operator of largest magnitude, largest first, at most `count`.

    Those outside of the bulk converge in far fewer products than are taken; those at its edge are right to a thousandth of it.

    >>> top_eigenvalues(np.diag([3.0, -5.0, 1.0, 0.5]), 2).round(9)
    array([-5.,  3.])
    """
    # a random vector has a part along every eigenvector
    start = np.random.default_rng(0).standard_normal(operator.shape[0])
    values, _ = quadrature(operator, start, _EDGE_PRODUCTS)
    return np.asarray(sorted(values, key=abs, reverse=True)[:count])


def quadrature(operator: Any, start: Array, steps: int) -> tuple[Array, Array]:
    r"""Nodes and weights that average :math:`f` over the spectrum: :math:`v^Tf(a)v = \sum_k w_k f(x_k)`, :math:`v` of norm 1.

    From random vectors it gives the spectral density; it is exact for polynomials of degree below twice the `steps`.

    >>> a, v = np.diag([1.0, 2.0, 4.0, 7.0]), np.full(4, 0.5)
    >>> x, w = quadrature(a, v, steps=2)
    >>> [round(float(w @ x**k - v @ np.linalg.matrix_power(a, k) @ v), 9) + 0.0 for k in range(4)]
    [0.0, 0.0, 0.0, 0.0]
    """
    space = Lanczos(start)
    largest = 0.0
    for _ in range(min(steps, start.size)):
        product = operator @ space.last
        largest = max(largest, norm(product))
        space.extend(product)
        if space.beside[-1] <= _INVARIANT * largest:
            break
    values, vectors = space.eigenvalues()
    return values, vectors[0] ** 2
