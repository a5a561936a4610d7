"""Ridge regression with exact leave-one-out, and the soft average of many by their leave-one-out losses."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax, softmax

from gcnlimit._values import Array

Indices = npt.NDArray[np.int64]
REG = tuple(np.logspace(-4, 3, 15).tolist())
COLDEST = 100.0  # largest inverse temperature
LARGE = 1000  # rows, or nodes, above which the largest matrices are in single precision
FLAT = 1e-12  # spread of rows, over their mean squared norm, that is rounding of single precision


class Ridge:
    r"""Ridge regression :math:`\min \sum_i w_i |y_i - b - W^T z_i|^2 + r |W|^2` on rows :math:`z_i`, its intercept free.

    With :math:`Z_c = U \Sigma V^T` the rows centred by their weighted mean and scaled by :math:`\sqrt{w_i}`, and
    :math:`P = U\Sigma`, the fit is linear in the targets, with the hat matrix

    .. math:: H = \frac{\sqrt w \sqrt w^T}{\sum_i w_i} + P (\Sigma^2 + r)^{-1} P^T,

    and the prediction of a node by the fit without it is :math:`y_i - (y_i - \hat y_i)/(1 - H_{ii})`.
    :math:`P` comes from the eigenvectors of the smaller of :math:`Z_c Z_c^T` and :math:`Z_c^T Z_c`.
    """

    def __init__(self, rows: Array, weights: Array | None = None) -> None:
        n = len(rows)
        self.rows = rows
        self.weights = np.ones(n) if weights is None else weights
        self._share = self.weights / self.weights.sum()
        Zc = np.sqrt(self.weights)[:, None] * (rows - self._share @ rows)
        few = rows.shape[1] < n
        squares, axes = np.linalg.eigh(Zc.T @ Zc if few else Zc @ Zc.T)
        self.squares = np.maximum(squares, 0.0)
        dtype = np.float32 if n > LARGE else np.float64
        self.P = Zc.astype(dtype) @ axes.astype(dtype) if few else axes * np.sqrt(self.squares)
        self.scale = float(self.squares.sum()) / n
        """Mean squared norm of a centred row, the unit of the regularization; where rows are equal, that of a row."""
        size = float(self.weights @ np.sum(rows**2, axis=1)) / n
        if self.scale <= FLAT * size:
            # equal rows predict the mean of the targets, which units of rounding would not
            self.squares *= 0.0
            self.P *= 0.0
            self.scale = size or 1.0

    def solve(self, targets: Array, reg: Array) -> tuple[Array, Array]:
        r"""Leave-one-out predictions of `targets` (nodes by outputs), and weights :math:`a` of the rows, :math:`W = Z^T a`.

        Both are along the first axis for each `reg`, in units of `scale`; the weights sum to 0 over the rows.
        """
        P = self.P
        mean = self._share @ targets
        root = np.sqrt(self.weights)[:, None]
        centred = root * (targets - mean)
        r = reg * self.scale
        shrink = 1.0 / (self.squares[:, None] + r)
        # second part of the hat matrix at every reg in one product: components by (reg, outputs)
        part = (shrink.T[:, :, None] * (P.T @ centred.astype(P.dtype))).astype(P.dtype)
        stacked = np.moveaxis(part, 0, 1).reshape(len(shrink), -1)
        smoothed = np.moveaxis((P @ stacked).reshape(len(centred), *part.shape[::2]), 1, 0)
        leverage = self._share[:, None] + P**2 @ shrink.astype(P.dtype)
        rest = np.maximum(1.0 - leverage, 1e-12).T[..., None]
        left_out = targets - (targets - (mean + smoothed / root)) / rest
        return left_out, root * (centred - smoothed) / r[:, None, None]

    def linear(self, targets: Array, a: Array) -> tuple[Array, Array]:
        r"""Coefficients :math:`W = Z^T a` of columns, and intercept, of weights :math:`a` of the rows."""
        W = self.rows.T @ a
        return W, self._share @ targets - (self._share @ self.rows) @ W


def targets(classes: Indices, count: int) -> Array:
    """One column of -1 and 1 for each class, and a single one for two."""
    one = np.where(classes[:, None] == np.arange(count), 1.0, -1.0)
    return one[:, 1:] if count == 2 else one


def correct(outputs: Array, classes: Indices) -> npt.NDArray[np.bool_]:
    """Whether each node is given its class."""
    return np.asarray(pair(outputs).argmax(axis=-1) == classes)


def pair(outputs: Array) -> Array:
    """One column for each class, two classes included; a tie goes to the first."""
    if outputs.shape[-1] > 1:
        return outputs
    return np.concatenate([np.zeros_like(outputs), outputs], axis=-1)


def averaged(outputs: Array, weights: Array, sharpness: Array) -> Array:
    """Weighted mean (nodes by classes) of softmax of sharpness times outputs, over the classifiers along the first axis."""
    total = np.zeros(())
    for one, weight, s in zip(outputs, weights, sharpness, strict=True):
        if weight > 0.0:
            total = total + weight * softmax(s * pair(one.astype(float)), axis=-1)
    return np.asarray(total)


def sharpened(left_out: Array, classes: Indices, share: Array) -> tuple[Array, Array]:
    """Inverse temperatures of least leave-one-out cross-entropy, and this loss of each node (classifiers by nodes).

    `left_out` are outputs (classifiers by nodes by columns), `share` the weights of the nodes, of sum 1.
    """
    outputs = pair(left_out)
    count = outputs.shape[-1]
    blur = 1.0 / (classes.size + 2.0)  # labels count as sure up to one in n + 2
    wanted = blur / count + (1.0 - blur) * (classes[:, None] == np.arange(count))
    aim = np.sum(wanted * outputs, axis=-1) @ share
    found = np.ones(len(outputs))
    for _ in range(20):  # steps of Newton
        p = softmax(found[:, None, None] * outputs, axis=-1)
        mean = np.sum(p * outputs, axis=-1)
        slope = np.sum(p * outputs**2, axis=-1) - mean**2
        step = (aim - mean @ share) / np.maximum(slope @ share, 1e-12)
        before = found
        found = np.clip(found + np.clip(step, -0.7 * found, 2.0 * found), 1.0 / COLDEST, COLDEST)
        if np.all(np.abs(found - before) <= 1e-6 * found):
            break
    logs = log_softmax(found[:, None, None] * outputs, axis=-1)
    return found, -np.take_along_axis(logs, classes[None, :, None], axis=-1)[..., 0]


def soft_weights(losses: Array, share: Array, prior: Array) -> Array:
    r"""Weights of classifiers in their average, by the losses :math:`q_i` of the nodes; those of prior 0 are left out.

    Each classifier is compared with the best on the same nodes: :math:`z` is the mean of :math:`q_i - q_i^{best}` over
    its standard error, and the weight is the `prior` times :math:`e^{-z^2/2}`.
    """
    with np.errstate(divide="ignore"):
        mean = losses @ share - np.log(prior) / share.size
    apart = losses - losses[mean.argmin()]
    gap = apart @ share
    # few nodes do not know their own spread: one more of the size of the typical loss is added
    error = np.sqrt((apart - gap[:, None]) ** 2 @ share**2 + (0.5 / share.size) ** 2)
    weights = prior * np.exp(-0.5 * (gap / error) ** 2)
    weights = np.where(weights > 1e-3 * weights.max(), weights, 0.0)
    return np.asarray(weights / (weights.sum() or 1.0))
