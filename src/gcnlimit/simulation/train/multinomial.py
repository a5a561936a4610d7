r"""Training of the cross-entropy of three classes or more, by Newton's method with conjugate gradients.

Minimise :math:`P(W, b) = \sum_i -\log\mathrm{softmax}_{k_i}(o_i) + \frac r2 |W|^2` with the logits :math:`o = (FW + b)E^T`,
:math:`E` an orthonormal basis of the logits that sum to 0 (Eq. 8.6): weight decay keeps the part common to all classes at 0.
The gradient is exact, and products with the Hessian replace the matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax

from gcnlimit._values import Array
from gcnlimit.classes import Indices

STEPS = 60  # of Newton's method; it needs about ten
PRODUCTS = 500  # of conjugate gradients in one step, at most


class Softened(NamedTuple):
    """Weights, bias, and the duality gap over the objective that they reach."""

    weights: Array
    bias: Array
    gap: float


@dataclass(frozen=True, eq=False)
class Multinomial:
    """Training rows `F`, index `kinds` of the class of each row, basis `E` of the logits, and whether there is a free bias."""

    F: Array
    kinds: Indices
    E: Array
    biased: bool = False

    @cached_property
    def targets(self) -> Array:
        """One-hot targets."""
        return np.eye(len(self.E))[self.kinds]

    def solve(self, reg: float, start: Array | None = None, tol: float = 1e-10) -> tuple[Softened, Array]:
        r"""Solution where :math:`|\nabla P|` is at most `tol` times that at 0, or as small as it gets; and where to start next.

        >>> F, kinds = np.array([[1.0, 2.0], [0.0, 1.0], [-1.0, 0.5]]), np.array([0, 1, 2])
        >>> E = np.array([[2.0, 0.0], [-1.0, 3**0.5], [-1.0, -(3**0.5)]]) / 6**0.5
        >>> (W, b, gap), _ = Multinomial(F, kinds, E).solve(0.5)
        >>> missed = np.eye(3)[kinds] - np.exp(log_softmax(F @ W @ E.T, axis=1))
        >>> bool(np.allclose(F.T @ missed @ E, 0.5 * W, atol=1e-9)), bool(gap < 1e-15)
        (True, True)
        """
        size = (self.F.shape[1] + self.biased, self.E.shape[1])
        first = float(np.linalg.norm(self._slope(np.zeros(size), reg)[1]))
        x = np.zeros(size) if start is None else start
        value, slope, p = self._slope(x, reg)
        for _ in range(STEPS):
            steepness = float(np.linalg.norm(slope))
            if not steepness > tol * first:
                break
            direction = _conjugate_gradients(self._curvature(p, reg), -slope, min(0.1, (steepness / first) ** 0.5))
            found = self._search(x, direction, value, slope, reg)
            if found is None:
                break
            x, (value, slope, p) = found
        gap = 0.5 * float(np.linalg.norm(slope)) ** 2 / (reg * max(value, 1e-300))
        weights, bias = x[: self.F.shape[1]], x[-1] if self.biased else np.zeros(size[1])
        return Softened(weights, bias, gap if np.isfinite(value) else np.nan), x

    def _logits(self, x: Array) -> Array:
        """Outputs in the basis `E`, of weights and, in a last row, a bias."""
        outputs = self.F @ x[: self.F.shape[1]]
        return np.asarray(outputs + x[-1] if self.biased else outputs)

    def _back(self, pull: Array) -> Array:
        """Transpose of that."""
        weights = self.F.T @ pull
        return np.concatenate([weights, pull.sum(axis=0)[None]]) if self.biased else np.asarray(weights)

    def _decay(self, x: Array, reg: float) -> Array:
        decay = reg * x
        if self.biased:
            decay[-1] = 0.0
        return decay

    def _slope(self, x: Array, reg: float) -> tuple[float, Array, Array]:
        """Objective, its gradient, and the probabilities of the classes."""
        logs = log_softmax(self._logits(x) @ self.E.T, axis=1)
        p, decay = np.exp(logs), self._decay(x, reg)
        value = -float(np.sum(logs[np.arange(len(logs)), self.kinds])) + 0.5 * float(np.vdot(decay, x))
        return value, self._back((p - self.targets) @ self.E) + decay, p

    def _curvature(self, p: Array, reg: float) -> Callable[[Array], Array]:
        """Product with the Hessian at the probabilities `p`."""

        def product(x: Array) -> Array:
            change = self._logits(x) @ self.E.T
            change = p * (change - np.sum(p * change, axis=1, keepdims=True))
            return self._back(change @ self.E) + self._decay(x, reg)

        return product

    def _search(
        self, x: Array, direction: Array, value: float, slope: Array, reg: float
    ) -> tuple[Array, tuple[float, Array, Array]] | None:
        """First of the step, a half, a quarter ... of it that lowers the objective enough, or at least the gradient."""
        downhill, steepness = float(np.vdot(direction, slope)), float(np.linalg.norm(slope))
        for fraction in 0.5 ** np.arange(30.0):
            ahead = x + fraction * direction
            state = self._slope(ahead, reg)
            if state[0] <= value + 1e-4 * fraction * downhill or np.linalg.norm(state[1]) <= 0.5 * steepness:
                return ahead, state
        return None


def _conjugate_gradients(product: Callable[[Array], Array], target: Array, tol: float) -> Array:
    """Solution of a positive definite linear system, to a residual of `tol` times the target."""
    x, residual = np.zeros_like(target), target
    p, size = residual, float(np.vdot(residual, residual))
    goal = tol * tol * size
    for _ in range(PRODUCTS):
        turned = product(p)
        length = size / float(np.vdot(p, turned))
        x, residual = x + length * p, residual - length * turned
        before, size = size, float(np.vdot(residual, residual))
        if size <= goal:
            break
        p = residual + size / before * p
    return x
