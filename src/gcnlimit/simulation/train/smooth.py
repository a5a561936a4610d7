r"""Descent on a smooth loss with squared weights, :math:`P(w) = \sum_i \ell(h_i) + \frac r2 |w|^2` at outputs :math:`h = Fw`.

Conjugate gradients with exact line searches, which need no product. There are two forms of one method. `descend` has the rows
:math:`F`, and keeps the weights. `SmoothDescent` has only products with :math:`K = FF^T`, and keeps dual variables: a step then
takes one pass over features that are drawn anew in each pass, where weights would take two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax

from gcnlimit._values import Array
from gcnlimit.classes import Indices
from gcnlimit.losses import Loss

Block = npt.NDArray[Any]

CORRECTIONS = 8
FINEST = 2e-6  # relative change of a gradient that single precision resolves
CURVATURE = 0.25  # second derivative of the logistic loss, at most: the first guess of a line search


class Slopes(NamedTuple):
    r"""A smooth loss of the outputs of all labelled nodes: its sum, and its pull :math:`f = -\ell'` on each output."""

    value: Callable[[Array], float]
    pull: Callable[[Array], Array]


def of_margins(loss: Loss, y: Array) -> Slopes:
    """Loss of the margins, for two classes; `y` is a column of signs."""
    return Slopes(lambda h: float(np.sum(loss.value(y * h))), lambda h: np.asarray(-y * loss.derivatives(y * h)[0]))


def at_best_bias(slopes: Slopes, bias: Callable[[Array], float]) -> Slopes:
    """Loss of outputs to which the number that minimizes it is added: a free bias. The pulls sum to 0, to the last digit."""

    def pull(h: Array) -> Array:
        f = slopes.pull(h + bias(h))
        return np.asarray(f - f.mean(axis=0))

    return Slopes(lambda h: slopes.value(h + bias(h)), pull)


def cross_entropy(class_index: Indices, E: Array) -> Slopes:
    r"""Cross-entropy of the logits :math:`hE^T`, `E` an orthonormal basis of those that sum to 0 (Eq. 8.6).

    Weight decay keeps the part common to all classes at 0, so that nothing is lost in that basis.

    >>> E = np.array([[1.0], [-1.0]]) / np.sqrt(2)
    >>> value, pull = cross_entropy(np.array([0]), E)
    >>> h, step = np.array([[0.3]]), 1e-6
    >>> bool(abs((value(h - step) - value(h + step)) / (2 * step) - pull(h)[0, 0]) < 1e-8)
    True
    """
    rows, targets = np.arange(class_index.size), np.eye(len(E))[class_index]

    def pull(h: Array) -> Array:
        logits = h @ E.T
        p = np.exp(logits - logits.max(axis=1, keepdims=True))  # faster than scipy's softmax on a few hundred rows
        return np.asarray((targets - p / p.sum(axis=1, keepdims=True)) @ E)

    return Slopes(lambda h: -float(np.sum(log_softmax(h @ E.T, axis=1)[rows, class_index])), pull)


class Descent(NamedTuple):
    r"""Weights, their outputs, the pulls :math:`f = -\ell'(h)` there, and the gradient of the objective."""

    weights: Array
    outputs: Array
    pull: Array
    gradient: Array

    @property
    def slope(self) -> float:
        """Norm of the gradient."""
        return float(np.linalg.norm(self.gradient))

    def gap(self, loss: float, reg: float | Array) -> float:
        """Duality gap over the objective, given the sum of the losses."""
        return relative_gap(self.slope, float(np.max(reg)), loss + 0.5 * float(np.sum(reg * self.weights**2)))


def relative_gap(slope: float, reg: float, objective: float) -> float:
    r"""Duality gap :math:`|\nabla P|^2/2r`, at the duals :math:`f = -\ell'(h)`, over the objective; NaN if both underflow."""
    return float(np.float64(0.5 * slope**2) / (reg * max(objective, 1e-300)))


def descend(  # noqa: PLR0917
    F: Array,
    pull: Callable[[Array], Array],
    reg: float | Array,
    start: Array,
    tol: float,
    steps: int,
    dtype: npt.DTypeLike = np.float32,
) -> tuple[Descent, bool]:
    r"""Descend from the weights `start`; also whether :math:`|\nabla P(w)| \le` `tol` :math:`|\nabla P(0)|` was reached.

    Corrections of the weights, of at most `steps` each, are computed in the precision `dtype`; the gradients that they start
    from, and the last one, which decides, are in double: 1.7 times as fast as in double alone. `reg` is a number or a column,
    such as one that is 0 for a bias.

    >>> F, class_index = np.array([[1.0, 2.0], [0.0, 1.0], [-1.0, 0.5]]), np.array([0, 1, 2])
    >>> E = np.array([[2.0, 0.0], [-1.0, 3**0.5], [-1.0, -(3**0.5)]]) / 6**0.5
    >>> found, settled = descend(F, cross_entropy(class_index, E).pull, 0.5, np.zeros((2, 2)), 1e-12, steps=50)
    >>> missed = np.eye(3)[class_index] - np.exp(log_softmax(F @ found.weights @ E.T, axis=1))
    >>> settled, bool(np.allclose(F.T @ missed @ E, 0.5 * found.weights, atol=1e-10))
    (True, True)
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # Weights 0, whose gradient is the measure of the others; it needs one product, in the precision of the corrections.
        rough = F.astype(dtype)
        rest = np.zeros((len(F), start.shape[1]))
        here = Descent(np.zeros_like(start), rest, pull(rest), rest)
        here = here._replace(gradient=-(rough.T @ here.pull.astype(dtype)))
        wanted = tol * here.slope
        if rough.dtype == np.float32 and not 1e-8 < here.slope < 1e12:  # whose square single precision does not hold
            return here, False
        if start.any():
            here = _descent(F, pull, reg, start)
        arrived = True
        for _ in range(CORRECTIONS):
            if not (arrived and wanted < here.slope < math.inf):
                break
            change, arrived = _correction(rough, pull, reg, here, _goal(here.slope, wanted), steps)
            here = _descent(F, pull, reg, here.weights + change)
        return here, here.slope <= wanted


def _descent(F: Array, pull: Callable[[Array], Array], reg: float | Array, weights: Array) -> Descent:
    outputs = F @ weights
    f = pull(outputs)
    return Descent(weights, outputs, f, reg * weights - F.T @ f)


def _goal(slope: float, wanted: float) -> float:
    """Slope at which a correction ends: half of that wanted if single precision resolves it, or an even step on the way there."""
    corrections = max(1, math.ceil(math.log(slope / (0.5 * wanted)) / -math.log(FINEST)))
    return float(slope * (0.5 * wanted / slope) ** (1.0 / corrections))


def _correction(  # noqa: PLR0917
    F: Block, pull: Callable[[Array], Array], reg: float | Array, start: Descent, goal: float, steps: int
) -> tuple[Block, bool]:
    r"""Change :math:`\delta` of the weights, computed like `F`, and whether it lowers the slope to `goal`.

    The gradient after it is :math:`\nabla P + r\delta - F^T [f(h + F\delta) - f(h)]`, of which all is small.
    """
    first = start.gradient.astype(F.dtype)
    decay = np.asarray(reg, F.dtype)
    outputs, f = start.outputs, start.pull
    here, way = first, -first
    change = np.zeros_like(first)
    for _ in range(steps):
        across = (F @ way).astype(float)
        curvature = float(np.vdot(way, decay * way))
        length, f = line_search(pull, outputs, f, across, float(np.vdot(here, way)), curvature)
        change = change + F.dtype.type(length) * way
        outputs = outputs + length * across
        before, here = here, first + decay * change - F.T @ (f - start.pull).astype(F.dtype)
        if not np.linalg.norm(here) > goal:
            return change, True
        turn = here - before  # the factor of Hestenes and Stiefel, or a fresh start
        way = max(F.dtype.type(0.0), np.vdot(here, turn) / np.vdot(way, turn)) * way - here
    return change, False


def line_search(  # noqa: PLR0917
    pull: Callable[[Array], Array], outputs: Array, f: Array, across: Array, slope: float, curvature: float
) -> tuple[float, Array]:
    r"""Multiple :math:`s` of a step at which :math:`P` is least, by the secant method, and the pulls :math:`f(s)` there.

    A whole step changes the outputs by `across` :math:`= c`. The derivative is :math:`P'(0) + s r|p|^2 + [f(0) - f(s)] \cdot c`,
    with :math:`P'(0)` the `slope` and :math:`r|p|^2` the `curvature` of the weights.
    """
    last, before = 0.0, slope
    length = np.float64(-slope) / (curvature + CURVATURE * float(np.vdot(across, across)))
    for _ in range(20):
        there = pull(outputs + length * across)
        here = slope + curvature * length + float(np.vdot(f - there, across))
        if abs(here) <= 1e-3 * abs(slope) or here == before:
            break
        last, length, before = length, length - here * (length - last) / (here - before), here
    else:
        there = pull(outputs + length * across)
    return float(length), there


class SmoothDescent:
    r"""Minimize :math:`P(w) = \sum_i \ell(h_i) + \frac r2 |w|^2` with :math:`w = F^T\beta` and :math:`h = K\beta`.

    Conjugate gradients with exact line searches. The gradient is :math:`F^T\gamma` with :math:`\gamma = r\beta - f`, where
    :math:`f = -\ell'(h)` is the `pull` of the loss; its norm is :math:`\sqrt{\gamma^T K \gamma}`, and the direction of search is
    a combination of such :math:`\gamma`. So each step takes one product, :math:`K\gamma`, and the line search none. Done when
    the norm is at most `tol` times that at :math:`w = 0`. A descent may start where another at a larger `reg` ended.

    >>> K, y = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -1.0])
    >>> descent = SmoothDescent(lambda h: y / (1.0 + np.exp(y * h)), 0.5, y.shape, tol=1e-9)
    >>> while not descent.done:
    ...     descent.take(K @ descent.here)
    >>> np.allclose(0.5 * descent.beta, y / (1.0 + np.exp(y * (K @ descent.beta))))
    True
    """

    def __init__(
        self,
        pull: Callable[[Array], Array],
        reg: float,
        shape: tuple[int, ...],
        tol: float,
        start: SmoothDescent | None = None,
    ) -> None:
        self.pull, self.reg, self.tol = pull, reg, tol
        self.beta: Array = np.zeros(shape) if start is None else start.beta
        self.outputs: Array = np.zeros(shape) if start is None else start.outputs
        self.steepest: float | None = None if start is None else start.steepest
        self.slope = np.inf
        self._f = pull(self.outputs)
        self._before: tuple[Array, float] | None = None  # product and square norm of the last gradient
        self._way: tuple[Array, Array] | None = None  # direction and its product

    @property
    def here(self) -> Array:
        r"""Dual gradient :math:`\gamma`, whose product is wanted next."""
        return self.reg * self.beta - self._f

    @property
    def done(self) -> bool:
        """Whether the gradient is small enough."""
        return self.steepest is not None and self.slope <= self.tol * self.steepest

    def gap(self, loss: float) -> float:
        """Duality gap over the objective, given the sum of the losses."""
        return relative_gap(self.slope, self.reg, loss + 0.5 * self.reg * float(np.vdot(self.beta, self.outputs)))

    def take(self, product: Array) -> None:
        r"""Go one step, given :math:`K\gamma`; or none if the gradient is small enough."""
        here = self.here
        square = max(float(np.vdot(here, product)), 0.0)
        self.slope = np.sqrt(square)
        self.steepest = self.steepest or self.slope
        if self.done:
            return
        along, across = -here, -product
        if self._before is not None and self._way is not None:  # the factor of Polak and Ribiere, or a fresh start
            turn = max(0.0, (square - float(np.vdot(here, self._before[0]))) / self._before[1])
            along, across = along + turn * self._way[0], across + turn * self._way[1]
        slope, curvature = float(np.vdot(here, across)), self.reg * float(np.vdot(along, across))
        length, self._f = line_search(self.pull, self.outputs, self._f, across, slope, curvature)
        self._before, self._way = (product, square), (along, across)
        self.beta = self.beta + length * along
        self.outputs = self.outputs + length * across
