r"""Descent on a smooth loss, by products with :math:`K = FF^T` alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax

from gcnlimit._values import Array
from gcnlimit.classes import Indices
from gcnlimit.losses import Loss


class Slopes(NamedTuple):
    r"""A smooth loss of the outputs of all labelled nodes: its sum, and its pull :math:`f = -\ell'` on each output."""

    value: Callable[[Array], float]
    pull: Callable[[Array], Array]


def of_margins(loss: Loss, y: Array) -> Slopes:
    """Loss of the margins, for two classes; `y` is a column of signs."""
    return Slopes(lambda h: float(np.sum(loss.value(y * h))), lambda h: np.asarray(-y * loss.derivatives(y * h)[0]))


def at_best_bias(slopes: Slopes, bias: Callable[[Array], float]) -> Slopes:
    """Loss of outputs to which the number that minimises it is added: a free bias. The pulls sum to 0, to the last digit."""

    def pull(h: Array) -> Array:
        f = slopes.pull(h + bias(h))
        return np.asarray(f - f.mean(axis=0))

    return Slopes(lambda h: slopes.value(h + bias(h)), pull)


def cross_entropy(kinds: Indices, E: Array) -> Slopes:
    r"""Cross-entropy of the logits :math:`hE^T`, `E` an orthonormal basis of those that sum to 0 (Eq. 8.6).

    >>> E = np.array([[1.0], [-1.0]]) / np.sqrt(2)
    >>> value, pull = cross_entropy(np.array([0]), E)
    >>> h, step = np.array([[0.3]]), 1e-6
    >>> bool(abs((value(h - step) - value(h + step)) / (2 * step) - pull(h)[0, 0]) < 1e-8)
    True
    """
    rows, targets = np.arange(kinds.size), np.eye(len(E))[kinds]
    return Slopes(
        lambda h: -float(np.sum(log_softmax(h @ E.T, axis=1)[rows, kinds])),
        lambda h: np.asarray((targets - np.exp(log_softmax(h @ E.T, axis=1))) @ E),
    )


class SmoothDescent:
    r"""Minimise :math:`P(w) = \sum_i \ell(h_i) + \frac r2 |w|^2` with :math:`w = F^T\beta` and :math:`h = K\beta`.

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
        self.here = reg * self.beta - pull(self.outputs)
        self._before: tuple[Array, float] | None = None  # product and square norm of the last gradient
        self._way: tuple[Array, Array] | None = None  # direction and its product

    @property
    def done(self) -> bool:
        """Whether the gradient is small enough."""
        return self.steepest is not None and self.slope <= self.tol * self.steepest

    def gap(self, loss: float) -> float:
        r"""Duality gap :math:`|\nabla P|^2/2r` over the objective, given the sum of the losses."""
        objective = loss + 0.5 * self.reg * float(np.vdot(self.beta, self.outputs))
        return float(0.5 * self.slope**2 / (self.reg * max(objective, 1e-300)))

    def take(self, product: Array) -> None:
        r"""Go one step, given :math:`K\gamma`; or none if the gradient is small enough."""
        square = max(float(np.vdot(self.here, product)), 0.0)
        self.slope = np.sqrt(square)
        self.steepest = self.steepest or self.slope
        if self.done:
            return
        along, across = -self.here, -product
        if self._before is not None and self._way is not None:
            turn = max(0.0, (square - float(np.vdot(self.here, self._before[0]))) / self._before[1])
            along, across = along + turn * self._way[0], across + turn * self._way[1]
        length = self._length(along, across)
        self._before, self._way = (product, square), (along, across)
        self.beta, self.outputs = self.beta + length * along, self.outputs + length * across
        self.here = self.reg * self.beta - self.pull(self.outputs)

    def _length(self, along: Array, across: Array) -> float:
        r"""Step :math:`s` where :math:`P'(s) = r\,\pi^T(h + sK\pi) - f(h + sK\pi)^T K\pi` vanishes, by the secant method."""

        def derivative(s: float) -> float:
            h = self.outputs + s * across
            return float(self.reg * np.vdot(along, h) - np.vdot(self.pull(h), across))

        first = derivative(0.0)
        curvature = self.reg * float(np.vdot(along, across)) + float(np.vdot(across, across))
        before, here = 0.0, -first / curvature
        slope, value = first, derivative(here)
        for _ in range(20):
            if abs(value) <= 1e-4 * abs(first) or value == slope:
                break
            before, here, slope = here, here - value * (here - before) / (value - slope), value
            value = derivative(here)
        return here
