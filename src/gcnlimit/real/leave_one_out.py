"""Ridge regression with exact leave-one-out, and the soft average of many by their leave-one-out losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax, softmax

from gcnlimit._values import Array
from gcnlimit.graphs.check import is_sparse, squared

Indices = npt.NDArray[np.int64]
REG = tuple(np.logspace(-4, 3, 15).tolist())
COLDEST = 100.0  # largest inverse temperature
LARGE = 1000  # rows, or nodes, above which the largest matrices are in single precision
FLAT = 1e-12  # spread of rows, over their mean squared norm, that is rounding of single precision
CHUNK = 8192  # rows of a product in double precision at once
SAMPLE = 5000  # labelled nodes that are enough to find a temperature
STEPS = 60  # of conjugate gradients, at most
SOLVED = 1e-3  # residual, over its start, of a system that is solved
PROBES = 32  # random vectors that find the diagonal of an inverse
LEAST_REST = 0.05  # of 1 - leverage, as far as probes tell it


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
        self.weights = np.ones(n) if weights is None else weights
        self._share = self.weights / self.weights.sum()
        self._mean = self._share @ rows
        root = np.sqrt(self.weights)[:, None].astype(rows.dtype)
        Zc = root * (rows - self._mean.astype(rows.dtype))
        self._centred = Zc
        few = rows.shape[1] < n
        squares, axes = np.linalg.eigh(_gram(Zc if few else Zc.T))
        self.squares = np.maximum(squares, 0.0)
        dtype = np.float32 if n > LARGE else np.float64
        self.P = Zc.astype(dtype) @ axes.astype(dtype) if few else axes * np.sqrt(self.squares)
        self.scale = float(self.squares.sum()) / n
        """Mean squared norm of a centred row, the unit of the regularization; where rows are equal, that of a row."""
        size = float(self.weights @ np.einsum("ij,ij->i", rows, rows, dtype=float)) / n
        if self.scale <= FLAT * size:
            # equal rows predict the mean of the targets, which units of rounding would not
            self.squares *= 0.0
            self.P *= 0.0
            self._centred *= 0.0
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
        parts = (P[k : k + CHUNK] ** 2 @ shrink.astype(P.dtype) for k in range(0, len(P), CHUNK))
        leverage = self._share[:, None] + np.vstack([*parts])
        rest = np.maximum(1.0 - leverage, 1e-12).T[..., None]
        left_out = targets - (targets - (mean + smoothed / root)) / rest
        return left_out, root * (centred - smoothed) / r[:, None, None]

    def linear(self, targets: Array, a: Array) -> tuple[Array, Array]:
        r"""Coefficients :math:`W = Z^T a` of columns, and intercept, of weights :math:`a` of the rows."""
        W = self._centred.T @ (a / np.sqrt(self.weights)[:, None]).astype(self._centred.dtype)
        return W, self._share @ targets - self._mean @ W


class IteratedRidge:
    r"""The same regression on many rows, in blocks of columns that may be sparse, by products with them alone.

    Each block counts in units of its root mean squared norm. Conjugate gradients solve :math:`(Z_c Z_c^T + r) a = y` at every
    regularization at once, because all these systems have the same Krylov space (Frommer 2003). Leave-one-out needs
    :math:`1 - H_{ii} = r\,[(Z_c Z_c^T + r)^{-1}]_{ii} - w_i/\sum w`, whose diagonal is the mean of
    :math:`v_i\,[(Z_c Z_c^T + r)^{-1} v]_i` over random :math:`v` of entries :math:`\pm 1`, solved for beside the targets.
    """

    def __init__(self, blocks: list[Any], weights: Array) -> None:
        self.weights = weights
        self._share = (weights / weights.sum()).astype(np.float32)
        self._root = np.sqrt(weights).astype(np.float32)[:, None]
        norms = [np.asarray(squared(block).sum(axis=1)).ravel() for block in blocks]
        self._sizes = [np.sqrt(float(self._share @ norm)) or 1.0 for norm in norms]
        self._blocks = [
            block.astype(np.float32) / np.float32(size)
            for block, size in zip(blocks, self._sizes, strict=True)
        ]
        self._across = [b.T.tocsr() if is_sparse(b) else b.T for b in self._blocks]
        self._means = [across @ self._share for across in self._across]
        squares = len(blocks) - sum(float(mean @ mean) for mean in self._means)
        self.scale = max(squares, FLAT) * float(weights.mean())

    def _gram(self, columns: Array) -> Array:
        r"""Product of :math:`Z_c Z_c^T` with columns."""
        scaled = self._root * columns
        scaled -= self._share[:, None] * scaled.sum(axis=0)
        product = np.zeros_like(scaled)
        for block, across in zip(self._blocks, self._across, strict=True):
            product += block @ (across @ scaled)
        return np.asarray(self._root * (product - self._share @ product))

    def solve(self, targets: Array, reg: Array) -> tuple[Array, Array]:
        """Leave-one-out predictions, and weights of the rows, as of `Ridge`."""
        n, outputs = targets.shape
        mean = self._share @ targets.astype(np.float32)
        signs = np.random.default_rng(0).integers(2, size=(n, PROBES)) * 2.0 - 1.0
        wanted = np.hstack([self._root * (targets - mean), signs]).astype(np.float32)
        r = reg * self.scale
        found = shifted_solutions(self._gram, wanted, r)
        diagonal = np.mean(found[..., outputs:] * wanted[:, outputs:], axis=-1)
        rest = np.clip(r[:, None] * diagonal - self._share, LEAST_REST, 1.0)
        a = found[..., :outputs]
        left = r[:, None, None] * a / self._root / rest[..., None]
        return (targets - left).astype(np.float32), a * self._root

    def linear(self, targets: Array, a: Array) -> tuple[Array, Array]:
        """Coefficients of the columns of all blocks, one below the other, and intercept."""
        each = [across @ a.astype(np.float32) for across in self._across]
        shift = sum(mean @ W for mean, W in zip(self._means, each, strict=True))
        W = np.vstack([part / size for part, size in zip(each, self._sizes, strict=True)])
        return W, self._share @ targets - shift


def shifted_solutions(product: Callable[[Array], Array], columns: Array, shifts: Array) -> Array:
    r"""Solutions :math:`(K + s)^{-1} b` for all shifts :math:`s` and columns :math:`b`, by conjugate gradients at the least.

    The residuals of the other shifts are :math:`\zeta` times that of the least one, and :math:`\zeta` has a recurrence.

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


def _gram(Z: Array) -> Array:
    r"""Products :math:`Z^T Z` of columns, summed in double precision."""
    parts = (Z[k : k + CHUNK].astype(float) for k in range(0, len(Z), CHUNK))
    return np.asarray(sum(part.T @ part for part in parts))


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
    n = classes.size
    some = np.sort(np.random.default_rng(0).permutation(n)[:SAMPLE])
    found = _temperatures(pair(left_out[:, some]), classes[some], share[some] / share[some].sum())
    losses = np.empty((len(found), n))
    for k, sharpness in enumerate(found.tolist()):
        logs = log_softmax(sharpness * pair(left_out[k]), axis=-1)
        losses[k] = -logs[np.arange(n), classes]
    return found, losses


def _temperatures(outputs: Array, classes: Indices, share: Array) -> Array:
    """Inverse temperature of each classifier, by steps of Newton."""
    count = outputs.shape[-1]
    blur = 1.0 / (classes.size + 2.0)  # labels count as sure up to one in n + 2
    wanted = blur / count + (1.0 - blur) * (classes[:, None] == np.arange(count))
    aim = np.sum(wanted * outputs, axis=-1) @ share
    found = np.ones(len(outputs))
    for _ in range(20):
        p = softmax(found[:, None, None] * outputs, axis=-1)
        mean = np.sum(p * outputs, axis=-1)
        slope = np.sum(p * outputs**2, axis=-1) - mean**2
        step = (aim - mean @ share) / np.maximum(slope @ share, 1e-12)
        before = found
        found = np.clip(found + np.clip(step, -0.7 * found, 2.0 * found), 1.0 / COLDEST, COLDEST)
        if np.all(np.abs(found - before) <= 1e-6 * found):
            break
    return found


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
