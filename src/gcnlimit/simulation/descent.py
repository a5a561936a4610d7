"""Training of the logistic loss without forming a Gram matrix: cheap where the regularization is not weak."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from gcnlimit._validation import Array

__all__ = ["logistic_descent"]


def logistic_descent(Z: Array, reg: float, start: Array) -> Array:
    r"""Dual variables :math:`f = \sigma(-Zw)` after a descent from the weights :math:`Z^T f_0/r` of `start` :math:`f_0`.

    Limited-memory quasi-Newton steps on :math:`\sum_i \log(1 + e^{-z_i}) + \frac r2 |w|^2`, at most a hundred.

    >>> Z = np.array([[1.0, 2.0, 0.5], [0.0, 1.0, -1.0]])
    >>> f = logistic_descent(Z, 1.0, np.zeros(2))
    >>> np.allclose(f, expit(-Z @ (f @ Z)), atol=1e-6)
    True
    """

    def objective(w: Array) -> tuple[float, Array]:
        z = Z @ w
        return float(np.sum(np.logaddexp(0.0, -z)) + 0.5 * reg * (w @ w)), reg * w - expit(-z) @ Z

    tolerance = 1e-8 * float(np.max(np.abs(Z.sum(axis=0))))
    found = minimize(
        objective,
        start @ Z / reg,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 100, "maxcor": 20, "ftol": 0.0, "gtol": tolerance},
    )
    return np.asarray(expit(-Z @ found.x))
