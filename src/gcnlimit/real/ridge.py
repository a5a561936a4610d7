r"""Ridge regression with exact leave-one-out, for every regularization from one eigendecomposition."""

from __future__ import annotations

import numpy as np

from gcnlimit._values import Array


class Ridge:
    r"""Ridge regression :math:`\min \sum_i w_i |y_i - b - W^T z_i|^2 + r |W|^2` on rows :math:`z_i`, its intercept free.

    With :math:`Z_c = U \Sigma V^T` the rows centred by their weighted mean and scaled by :math:`\sqrt{w_i}`, and
    :math:`P = U\Sigma`, the fit is linear in the targets, with the hat matrix

    .. math:: H = \frac{\sqrt w \sqrt w^T}{\sum_i w_i} + P (\Sigma^2 + r)^{-1} P^T,

    and the prediction of a node by the fit without it is :math:`y_i - (y_i - \hat y_i)/(1 - H_{ii})`.
    :math:`P` comes from the eigenvectors of the smaller of :math:`Z_c Z_c^T` and :math:`Z_c^T Z_c`.

    Parameters
    ----------
    rows
        Matrix of :math:`n \times M`, or None if `gram` is given.
    weights
        Positive weights of the rows.
    gram
        :math:`Z Z^T`, which suffices for everything but the coefficients.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z, y = rng.standard_normal((20, 3)), rng.standard_normal((20, 1))
    >>> ridge = Ridge(rows=Z)
    >>> left_out = ridge.left_out(y, np.array([0.5]))[0, 0, 0]
    >>> r = 0.5 * ridge.scale
    >>> A = np.column_stack([Z, np.ones(20)])[1:]
    >>> w = np.linalg.solve(A.T @ A + r * np.diag([1, 1, 1, 0]), A.T @ y[1:, 0])  # without the first row
    >>> bool(abs(Z[0] @ w[:3] + w[3] - left_out) < 1e-12)
    True
    """

    def __init__(self, rows: Array | None = None, gram: Array | None = None, weights: Array | None = None) -> None:
        n = len(rows) if rows is not None else len(gram) if gram is not None else 0
        self.weights = np.ones(n) if weights is None else weights
        share = self.weights / self.weights.sum()
        root = np.sqrt(self.weights)[:, None]
        if rows is not None and rows.shape[1] < n:
            centred = root * (rows - share @ rows)
            self.P, self.squares = _from_columns(centred)
        else:
            K = rows @ rows.T if rows is not None else np.asarray(gram)
            mean = K @ share
            K = root * (K - mean[:, None] - mean + share @ mean) * root.T
            self.P, self.squares = _from_rows(K)
        self.scale = max(float(self.squares.sum()) / n, 1e-300)
        """Mean squared norm of a centred row, the unit of the regularization."""

    def left_out(self, targets: Array, reg: Array) -> Array:
        """Leave-one-out predictions of `targets` (nodes by outputs) at each `reg`, in units of `scale`, along the first axis."""
        root = np.sqrt(self.weights)[:, None]
        mean = self.weights @ targets / self.weights.sum()
        projected = self.P.T @ (root * (targets - mean))
        left_out = np.empty((len(reg), *targets.shape))
        for k, r in enumerate(reg):
            shrink = 1.0 / (self.squares + r * self.scale)
            fitted = mean + self.P @ (shrink[:, None] * projected) / root
            leverage = self.weights / self.weights.sum() + self.P**2 @ shrink
            left_out[k] = targets - (targets - fitted) / np.maximum(1.0 - leverage, 1e-12)[:, None]
        return left_out

    def dual(self, targets: Array, reg: float) -> Array:
        r"""Weights :math:`a` of the rows in the solution, :math:`W = Z^T a`; they sum to 0 over the rows."""
        root = np.sqrt(self.weights)[:, None]
        mean = self.weights @ targets / self.weights.sum()
        centred = root * (targets - mean)
        shrink = 1.0 / (self.squares + reg * self.scale)
        residual = centred - self.P @ (shrink[:, None] * (self.P.T @ centred))
        return np.asarray(root * residual / (reg * self.scale))


def _from_rows(K: Array) -> tuple[Array, Array]:
    squares, U = np.linalg.eigh(K)
    squares = np.maximum(squares, 0.0)
    return U * np.sqrt(squares), squares


def _from_columns(Z: Array) -> tuple[Array, Array]:
    squares, V = np.linalg.eigh(Z.T @ Z)
    return Z @ V, np.maximum(squares, 0.0)
