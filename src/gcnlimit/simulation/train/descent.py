r"""Solvers that ask for products with a matrix :math:`K`, one at a time, and need nothing else of it.

Each is a generator: it yields a block, is sent the product of :math:`K` with it, and returns its answer. So one solver serves
training rows :math:`F` that are held, :math:`K = FF^T`, and features that are drawn anew in each pass, where several solvers
share the passes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.special import expit

from gcnlimit._values import Array
from gcnlimit.classes import Classes, Indices
from gcnlimit.losses import Loss
from gcnlimit.losses.base import Form
from gcnlimit.numerics.lanczos import Lanczos
from gcnlimit.simulation.data.features import Block

ROUNDING = float(np.finfo(float).eps)
RESOLVED = 2e-6  # relative size of a change that single precision resolves
_LONGEST = 2.0  # step of a bias, since Newton's method may overshoot where all outputs are large
T = TypeVar("T")
Solver = Generator[Block, Block, T]  # asks for single precision by the type of a block


def driven(solver: Solver[T], product: Callable[[Block], Block]) -> T:
    """Answer of one solver, given the product with its matrix."""
    try:
        wanted = next(solver)
        while True:
            wanted = solver.send(product(wanted))
    except StopIteration as ended:
        return ended.value  # type: ignore[no-any-return]


def krylov(b: Array, shifts: Array, tol: float, steps: int) -> Solver[Array | None]:
    r"""Solutions of :math:`(K + r)x = b`, one row for each shift `r`; None if the residual exceeds `tol` after `steps`.

    Lanczos' method: in the orthonormal basis :math:`V` of the powers :math:`K^k b`, the matrix is tridiagonal, :math:`T`, for
    every shift, and :math:`x = |b|\, V (T + r)^{-1} e_1`. The residual after :math:`k` steps is
    :math:`|b| \prod_{j \le k} \beta_j/d_j`, with :math:`\beta` beside the diagonal of :math:`T` and :math:`d` the pivots of
    :math:`T + r`; the smallest shift is the slowest.

    >>> K, r = np.diag([1.0, 2.0, 5.0]), np.array([0.1, 1.0])
    >>> x = driven(krylov(np.ones(3), r, 1e-12, steps=3), K.__matmul__)
    >>> np.allclose(x, 1 / (np.diag(K) + r[:, None]))
    True
    """
    space = Lanczos(b)
    slowest = float(np.min(shifts))
    residual = 1.0
    pivot = np.inf
    for _ in range(steps):
        # the smaller the residual, the less precise a product needs to be
        v = space.last
        space.extend((yield v if residual > 1e5 * tol else v.astype(np.float32)))
        before, beside = space.beside[-2:]
        whole = space.diagonal[-1] + slowest
        # a pivot that rounding cancels is as large as its rounding; the true residual decides
        pivot = (whole - before * (before / pivot)) or ROUNDING * whole
        residual *= beside / abs(pivot)
        if residual <= 0.5 * tol:
            break
    else:
        return None
    values, vectors = space.eigenvalues()
    parts = vectors[0] / (values + shifts[:, None]) @ vectors.T
    return np.asarray(space.size * parts @ space.vectors)


def krylov_function(
    b: Array, factor: Callable[[Array], Array], tol: float, steps: int
) -> Solver[Array | None]:
    r"""Products :math:`f(K)b`, one row for each of the functions whose values `factor` gives; None if `steps` do not suffice.

    As `krylov`, with :math:`x = |b|\, V f(T) e_1`; it has converged when the last directions hardly enter.

    >>> K = np.diag([1.0, 2.0, 5.0])
    >>> driven(krylov_function(np.ones(3), lambda x: np.exp(-x)[None], 1e-12, steps=3), K.__matmul__).round(6)
    array([[0.367879, 0.135335, 0.006738]])
    """
    space = Lanczos(b)
    for step in range(1, steps + 1):
        space.extend((yield space.last))
        whole = step == b.size or space.beside[-1] <= ROUNDING * abs(space.diagonal[0])
        if step % 8 and not whole:
            continue
        values, vectors = space.eigenvalues()
        parts = (vectors[0] * factor(np.maximum(values, 0.0))) @ vectors.T
        rest = np.linalg.norm(parts[:, -2:], axis=1)
        if whole or np.all(rest <= tol * np.linalg.norm(parts, axis=1)):
            return np.asarray(space.size * parts @ space.vectors)
    return None


@dataclass(frozen=True, eq=False)
class CrossEntropy:
    r"""Sum over nodes of the cross-entropy of the logits :math:`(h + b)E^T`, with the best :math:`b` if `biased`, else 0.

    `E` is a basis of logits that sum to 0 (Eq. 8.6): weight decay keeps their common part at 0, so nothing is lost.

    >>> loss = CrossEntropy(np.array([0, 1, 1]), np.array([[0.5], [-0.5]]), biased=True)
    >>> h, step = np.array([[0.3], [1.0], [0.0]]), 1e-6
    >>> away = np.array([[step], [0.0], [0.0]])
    >>> bool(abs((loss.value(h - away) - loss.value(h + away)) / (2 * step) - loss.pull(h)[0, 0]) < 1e-8)
    True
    """

    class_index: Indices
    E: Array
    biased: bool

    @staticmethod
    def of(loss: Loss, class_index: Indices, classes: Classes) -> CrossEntropy | None:
        """What the softmax and the logistic loss are on these nodes; None for other losses."""
        if loss.form is Form.LOGITS:
            return CrossEntropy(class_index, classes.one_hot_basis, not classes.equal)
        if loss.has_descent and classes.count == 2:
            return CrossEntropy(class_index, np.array([[0.5], [-0.5]]), not classes.equal)
        return None

    @cached_property
    def _targets(self) -> Array:
        return np.eye(len(self.E))[:, self.class_index]

    def _logits(self, outputs: Array) -> Array:
        """Logits minus the largest of each node, classes x nodes."""
        logits = self.E @ outputs.T
        return np.asarray(logits - logits.max(axis=0))

    def _missed(self, outputs: Array) -> Array:
        """Targets minus probabilities, nodes x classes."""
        if len(self.E) == 2:  # three times as fast
            first = self._targets[0] - expit(outputs @ (self.E[0] - self.E[1]))
            return np.stack([first, -first]).T
        p = np.exp(self._logits(outputs))
        p /= p.sum(axis=0)
        return np.asarray((self._targets - p).T)

    def value(self, h: Array) -> float:
        """Loss of outputs."""
        logits = self._logits(h + self.bias(h))
        return float(np.log(np.exp(logits).sum(axis=0)).sum() - np.vdot(self._targets, logits))

    def pull(self, h: Array) -> Array:
        r"""Minus the derivative in each output; with a free bias the pulls sum to 0, to the last digit."""
        f = self._missed(h + self.bias(h)) @ self.E
        return np.asarray(f - f.mean(axis=0) if self.biased else f)

    def bias(self, h: Array) -> Array:
        """Bias at which the pulls sum to 0, by Newton's method; 0 if there is none."""
        bias = -h.mean(axis=0) if self.biased else np.zeros(self.E.shape[1])
        for _ in range(200 if self.biased else 0):
            missed = self._missed(h + bias)
            p = self._targets - missed.T
            curvature = self.E.T @ (np.diag(p.sum(axis=1) + ROUNDING * len(h)) - p @ p.T) @ self.E
            # the ridge of rounding keeps Newton's matrix regular where all probabilities are 0 or 1
            step = np.linalg.solve(curvature, missed.sum(axis=0) @ self.E)
            length = float(np.linalg.norm(step))
            # where outputs are large the curvature vanishes, and a full step would leap away
            bias = bias + step * min(1.0, _LONGEST / max(length, ROUNDING))
            if not length > 1e-13 * (1.0 + float(np.linalg.norm(bias))):
                break
        return bias


class Descent(NamedTuple):
    r"""Dual variables :math:`\beta`, outputs :math:`K\beta`, norm of the gradient at 0, duality gap over objective."""

    beta: Array
    outputs: Array
    steepest: float = 0.0
    gap: float = np.inf


def descent(
    loss: CrossEntropy, reg: float, tol: float, steps: int, start: Descent | None = None
) -> Solver[tuple[Descent, bool]]:
    r"""Minimize :math:`P(w) = \sum_i \ell(h_i) + \frac r2 |w|^2` with :math:`w = F^T\beta` and :math:`h = K\beta`.

    Conjugate gradients with exact line searches. The gradient is :math:`F^T\gamma` with :math:`\gamma = r\beta - f`, where
    :math:`f = -\ell'(h)` is the pull of the loss; its norm is :math:`\sqrt{\gamma^T K \gamma}`, and the direction of search is
    a combination of such :math:`\gamma`. So each step takes one product, :math:`K\gamma`, and the line search none. Ends
    when the norm is at most `tol` times that at :math:`w = 0`, and the duality gap :math:`|\nabla P|^2/2r` at most `tol` times
    the objective; also returns whether it did so within `steps`. May start where a descent at a larger `reg` ended.

    >>> K, loss = np.array([[2.0, 0.5], [0.5, 1.0]]), CrossEntropy(np.array([0, 1]), np.array([[0.5], [-0.5]]), False)
    >>> found, settled = driven(descent(loss, 0.5, 1e-9, steps=20), K.__matmul__)
    >>> settled, np.allclose(0.5 * found.beta, loss.pull(K @ found.beta))
    (True, True)
    """
    # weights of 0 have outputs of 0: no product is needed to start
    none = np.zeros((loss.class_index.size, loss.E.shape[1]))
    beta, outputs, steepest, _ = start or Descent(none, none)
    f = loss.pull(outputs)
    coarse = 0.0  # largest gradient whose product was rounded to single precision
    last: tuple[Array, float] | None = None  # product and square norm of the last gradient
    along = across = none  # direction, and its product
    for step in range(steps + 1):
        gradient = reg * beta - f
        size = float(np.linalg.norm(gradient))
        # what such products left in the outputs is no longer small: compute them anew
        if size <= RESOLVED * coarse:
            outputs = yield beta
            f = loss.pull(outputs)
            gradient = reg * beta - f
            size = float(np.linalg.norm(gradient))
            coarse = 0.0
        # a rounded gradient is as good a direction, if the one of the weights is rounded alike
        unit = (gradient / (size or 1.0)).astype(np.float32)
        product = yield unit
        coarse = max(coarse, size) if product.dtype == np.float32 else coarse
        product = size * product.astype(float)
        gradient = size * unit.astype(float)
        square = max(float(np.vdot(gradient, product)), 0.0)
        steepest = steepest or float(np.sqrt(square))
        small = bool(np.sqrt(square) <= tol * steepest)
        if small or step == steps:
            objective = loss.value(outputs) + 0.5 * reg * float(np.vdot(beta, outputs))
            gap = float(np.float64(0.5 * square) / (reg * max(objective, 1e-300)))
            if step == steps or not gap > tol:
                break
        # the factor of Polak and Ribiere, or a fresh start
        turn = max(0.0, (square - float(np.vdot(gradient, last[0]))) / last[1]) if last else 0.0
        last = product, square
        along = turn * along - gradient
        across = turn * across - product
        # derivatives of the objective along the step; the loss adds to the second in the search
        slope = float(np.vdot(gradient, across))
        curvature = reg * float(np.vdot(along, across))
        length, f = line_search(loss, outputs, f, across, slope, curvature)
        beta = beta + length * along
        outputs = outputs + length * across
    return Descent(beta, outputs, steepest, gap), small and not gap > tol


def line_search(  # noqa: PLR0917
    loss: CrossEntropy, outputs: Array, f: Array, across: Array, slope: float, curvature: float
) -> tuple[float, Array]:
    r"""Multiple :math:`s` of a step at which :math:`P` is least, by the secant method, and the pulls :math:`f(s)` there.

    A whole step changes the outputs by `across` :math:`= c`. The derivative is :math:`P'(0) + s r|p|^2 + [f(0) - f(s)] \cdot c`,
    with :math:`P'(0)` the `slope` and :math:`r|p|^2` the `curvature` of the weights.
    """
    last, before = 0.0, slope
    # a quarter is the largest second derivative of the logistic loss: the first guess
    length = np.float64(-slope) / (curvature + 0.25 * float(np.vdot(across, across)))
    for _ in range(20):
        there = loss.pull(outputs + length * across)
        tilt = slope + curvature * length + float(np.vdot(f - there, across))
        if abs(tilt) <= 1e-3 * abs(slope) or tilt == before:
            break
        # secant of the derivative, which is as cheap to evaluate as a second derivative
        step = tilt * (length - last) / (tilt - before)
        last, before = length, tilt
        length = length - step
    else:
        there = loss.pull(outputs + length * across)
    return float(length), there
