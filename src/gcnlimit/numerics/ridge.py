"""Ridge regression with leave-one-out: exact by eigenvectors, or by products with sparse rows alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gcnlimit._values import Array

LARGE = 1000  # rows, or nodes, above which the largest matrices are in single precision
FLAT = 1e-12  # spread of rows, over their mean squared norm, that is rounding of single precision
FLAT_SINGLE = 1e-5  # the same where the rows themselves are in single precision
CHUNK = 8192  # rows of a product in double precision at once
PROBES = 32  # random vectors that find the diagonal of an inverse
STEPS = 40  # of conjugate gradients, at most
SOLVED = 1e-2  # residual, over its start, of a system that is solved
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
            self.squares, self.P, self._centred = 0.0 * squares, 0.0 * self.P, 0.0 * Zc
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
        rest = np.maximum(1.0 - (self._share[:, None] + np.vstack([*parts])), 1e-12).T[..., None]
        left_out = targets - (targets - (mean + smoothed / root)) / rest
        return left_out, root * (centred - smoothed) / r[:, None, None]

    def linear(self, targets: Array, a: Array) -> tuple[Array, Array]:
        r"""Coefficients :math:`W = Z^T a` of columns, and intercept, of weights :math:`a` of the rows."""
        W = self._centred.T @ (a / np.sqrt(self.weights)[:, None]).astype(self._centred.dtype)
        return W, self._share @ targets - self._mean @ W


class Outputs(NamedTuple):
    """A regression with nothing to learn, on rows that are left-out probabilities of the classes."""

    rows: Array

    def solve(self, targets: Array, reg: Array) -> tuple[Array, Array]:
        """The rows on the scale of the targets, and no weights."""
        return 2.0 * self.rows[None, :, -targets.shape[1] :] - 1.0, 0.0 * targets[None]

    def linear(self, targets: Array, a: Array) -> tuple[Array, Array]:
        """Coefficients and intercept of that scale."""
        return 2.0 * np.eye(self.rows.shape[1])[:, -a.shape[1] :], -np.ones(a.shape[1])


class KernelRidge(Ridge):
    r"""Ridge regression on rows of which only the products :math:`ZZ^T` are given, such as a kernel.

    Of many rows, conjugate gradients solve :math:`(Z_c Z_c^T + r) a = y` at every regularization at once: these systems have
    the same Krylov space. Leave-one-out needs :math:`1 - H_{ii} = r\,[(Z_c Z_c^T + r)^{-1}]_{ii} - w_i/\sum w`; this diagonal is
    the mean of :math:`v_i\,[(Z_c Z_c^T + r)^{-1} v]_i` over random :math:`v` of entries :math:`\pm 1`, solved for as well.
    """

    def __init__(self, kernel: Any, weights: Array) -> None:
        self._kernel = kernel
        self.weights = weights
        self._dtype: Any = np.float64 if len(weights) <= LARGE else np.float32
        self._share: Any = (weights / weights.sum()).astype(self._dtype)
        self._root: Any = np.sqrt(weights).astype(self._dtype)[:, None]
        self._level = kernel @ self._share
        size = float(kernel.size if isinstance(kernel, Blocks) else self._share @ np.diag(kernel))
        apart = size - float(self._share @ self._level)
        # equal rows predict the mean of the targets, which units of rounding would not
        self.scale = float(weights.mean()) * (apart if apart > FLAT_SINGLE * size else size or 1.0)
        if len(weights) <= LARGE:
            self.squares, axes = np.linalg.eigh(self._gram(np.eye(len(weights))))
            self.squares = np.maximum(self.squares, 0.0)
            self.P = axes * np.sqrt(self.squares)

    def _gram(self, columns: Array) -> Array:
        r"""Product of :math:`Z_c Z_c^T` with columns."""
        scaled = self._root * columns
        scaled -= self._share[:, None] * scaled.sum(axis=0)
        product = self._kernel @ scaled
        return np.asarray(self._root * (product - self._share @ product))

    def solve(self, targets: Array, reg: Array) -> tuple[Array, Array]:
        """Leave-one-out predictions, and weights of the rows, as of `Ridge`."""
        n, outputs = targets.shape
        if n <= LARGE:
            return super().solve(targets, reg)
        mean = self._share @ targets.astype(np.float32)
        signs = np.random.default_rng(0).integers(2, size=(n, PROBES)) * 2.0 - 1.0
        wanted: Any = np.hstack([self._root * (targets - mean), signs]).astype(np.float32)
        r = reg * self.scale
        solutions = shifted_solutions(self._gram, wanted, r)
        diagonal = np.mean(solutions[..., outputs:] * wanted[:, outputs:], axis=-1)
        rest = np.clip(r[:, None] * diagonal - self._share, LEAST_REST, 1.0)
        a = solutions[..., :outputs]
        left = r[:, None, None] * a / self._root / rest[..., None]
        return (targets - left).astype(np.float32), a * self._root

    def linear(self, targets: Array, a: Array) -> tuple[Array, Array]:
        """Coefficients of the columns, if these are known, else of the rows; and intercept."""
        a = a.astype(self._dtype)
        W = self._kernel.coefficients(a) if isinstance(self._kernel, Blocks) else a
        return W, self._share @ targets - self._level @ a


class Blocks:
    """Products of rows in blocks of columns that may be sparse, each in units of its root mean squared norm."""

    def __init__(self, blocks: list[Any], share: Array) -> None:
        each = [float(share @ np.asarray((b * b).sum(axis=1)).ravel()) for b in blocks]
        self._squares = [square or 1.0 for square in each]
        self.size = np.count_nonzero(each)  # mean squared norm of all
        self._blocks = blocks
        self._across = [b.T if isinstance(b, np.ndarray) else sparse.csr_array(b.T) for b in blocks]

    def coefficients(self, a: Array) -> Array:
        """Of the columns of all blocks, one below the other."""
        each = zip(self._across, self._squares, strict=True)
        return np.vstack([across @ a / a.dtype.type(square) for across, square in each])

    def __matmul__(self, a: Array) -> Array:
        each = zip(self._blocks, self._across, self._squares, strict=True)
        return np.asarray(sum(block @ (across @ a) / a.dtype.type(s) for block, across, s in each))


def _gram(Z: Array) -> Array:
    r"""Products :math:`Z^T Z` of columns, summed in double precision."""
    parts = (Z[k : k + CHUNK].astype(float) for k in range(0, len(Z), CHUNK))
    return np.asarray(sum(part.T @ part for part in parts))


def shifted_solutions(product: Callable[[Array], Array], columns: Array, shifts: Array) -> Array:
    r"""Solutions :math:`(K + s)^{-1} b` for all shifts :math:`s` and columns :math:`b`, by conjugate gradients at the least.

    Multi-shift: residuals of the other shifts are :math:`\zeta` times that of the least one, and :math:`\zeta` has a recurrence.

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
    start = square = np.einsum("ij,ij->j", columns, columns, dtype=float)
    zeta = ratio = np.ones((len(shifts), columns.shape[1]))
    residual, step_before, turn = columns, np.ones_like(square), np.zeros_like(square)
    for _ in range(STEPS):
        active = square > SOLVED**2 * start  # a column that is solved stays as it is
        if not active.any():
            break
        # one product serves all shifts; the least, of the largest residual, says when to stop
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
