"""Extreme eigenvalues and the spectral density of symmetric operators, by Lanczos' method, which needs products alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal

from gcnlimit._values import Array
from gcnlimit.filters.action import norm

_STEPS = 500  # for the largest eigenvalue, at most


def largest_eigenvalue(operator: Any, start: Any) -> float:
    r"""Largest magnitude of the eigenvalues of a symmetric operator, from the vector `start`, of NumPy or PyTorch.

    Stops when the residual of the eigenvector, :math:`\beta_k` times its last entry in the Lanczos basis, is below a
    thousandth of the eigenvalue; lost orthogonality only repeats eigenvalues that were found.

    >>> round(largest_eigenvalue(np.diag([1.0, -3.0, 2.0]), np.ones(3)), 6)
    3.0
    """
    before, v, diagonal, beside = 0.0 * start, start / norm(start), [], [0.0]
    for k in range(1, _STEPS + 1):
        w = operator @ v - beside[-1] * before
        diagonal.append(float((v * w).sum()))
        w = w - diagonal[-1] * v
        beside.append(norm(w))
        if k % 8 == 0 or beside[-1] <= 1e-6 * abs(diagonal[-1]) or k == len(start):
            values, vectors = eigh_tridiagonal(diagonal, beside[1:-1])
            largest = int(np.argmax(np.abs(values)))
            if beside[-1] * abs(vectors[-1, largest]) <= 1e-3 * abs(values[largest]) or k == len(start):
                break
        before, v = v, w / beside[-1]
    return float(abs(values[largest]))


def top_eigenvalues(operator: Any, count: int, steps: int = 120) -> Array:
    """Distinct eigenvalues of a symmetric operator of largest magnitude, largest first, at most `count`.

    Those outside of the bulk of the spectrum converge in far fewer than `steps` products; those at its edge are then right to
    a thousandth of its width.

    >>> top_eigenvalues(np.diag([3.0, -5.0, 1.0, 0.5]), 2).round(9)
    array([-5.,  3.])
    """
    start = np.random.default_rng(0).standard_normal(operator.shape[0])
    values, _ = quadrature(operator, start, steps)
    return np.asarray(sorted(values, key=abs, reverse=True)[:count])


def quadrature(operator: Any, start: Array, steps: int) -> tuple[Array, Array]:
    r"""Nodes and weights that average :math:`f` over the spectrum: :math:`v^Tf(a)v = \sum_k w_k f(x_k)`, :math:`v` of norm 1.

    From random vectors it gives the spectral density; it is exact for polynomials of degree below twice the `steps`.

    >>> a, v = np.diag([1.0, 2.0, 4.0, 7.0]), np.full(4, 0.5)
    >>> x, w = quadrature(a, v, steps=2)
    >>> [round(float(w @ x**k - v @ np.linalg.matrix_power(a, k) @ v), 9) + 0.0 for k in range(4)]
    [0.0, 0.0, 0.0, 0.0]
    """
    steps = min(steps, start.size)
    basis = np.zeros((steps, start.size))
    diagonal, beside = np.zeros(steps), np.zeros(steps)
    v = start / np.linalg.norm(start)
    for k in range(steps):
        basis[k] = v
        w = operator @ v
        diagonal[k] = v @ w
        for _ in range(2):  # once more removes what rounding left
            w = w - (basis[: k + 1] @ w) @ basis[: k + 1]
        beside[k] = np.linalg.norm(w)
        if beside[k] <= 1e-10 * np.max(np.abs(diagonal[: k + 1]) + beside[: k + 1], initial=1e-300):
            steps = k + 1  # the space is invariant
            break
        v = w / beside[k]
    values, vectors = eigh_tridiagonal(diagonal[:steps], beside[: steps - 1])
    return np.asarray(values), np.asarray(vectors[0] ** 2)
