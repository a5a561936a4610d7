r"""Weights that minimize the loss on given training rows, for any classes.

Equal classes need no bias. Unequal classes have one that is not regularized, as in the theory (Eqs. 8.13 and 8.14): with the
square loss it is the mean of the targets less that of the outputs, with other losses the root of a monotone function.
"""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError

from gcnlimit._values import Array
from gcnlimit.classes import Classes, Indices
from gcnlimit.errors import ConvergenceError
from gcnlimit.losses import Loss
from gcnlimit.losses.base import Form
from gcnlimit.numerics.roots import first_root
from gcnlimit.simulation.train.descent import CrossEntropy, descent, driven
from gcnlimit.simulation.train.solvers import TrainingRows
from gcnlimit.training import Training

_FEW = 100  # steps of a descent of two classes, above which Newton's method is cheaper
_MANY = 10_000  # steps of one of more classes, which have no other solver


Minimum = tuple[Array, Array, Array]  # weights, biases, and duality gaps over the objective


@dataclass(frozen=True, eq=False)
class TrainingTask:
    """Rows `F` to train a loss on, of nodes whose class has the index `class_index`.

    >>> from gcnlimit import Square
    >>> F, class_index = np.array([[1.0, 2.0], [0.0, 1.0], [-1.0, 0.5]]), np.array([0, 1, 1])
    >>> W, b, _ = TrainingTask(F, class_index, Classes.of([0.3, 0.7]), Square()).minimize(np.array([1.0]), 1e-12)
    >>> missed = Square().on(Classes.of([0.3, 0.7])).targets[class_index] - F @ W[0] - b[0]
    >>> bool(np.allclose(F.T @ missed, W[0])), bool(abs(missed.sum()) < 1e-12)
    (True, True)
    """

    F: Array
    class_index: Indices
    classes: Classes
    loss: Loss

    def minimize(self, reg: Array, tol: float, training: Training | None = None) -> Minimum:
        r"""Weights, :math:`M \times (C - 1)`, biases and gap at each `reg`, to that tolerance or where `training` stops."""
        if self.loss.form is Form.CODES:
            return self._ridge(reg, tol, training)
        # a weaker regularization starts where the stronger one ended
        order = np.argsort(-reg)
        trained = self._descend(reg[order], tol) or self._binary(reg[order], tol)
        back = np.argsort(order)
        weights, bias, gap = (np.array(part)[back] for part in zip(*trained, strict=True))
        return weights, bias, gap

    def _ridge(self, reg: Array, tol: float, training: Training | None) -> Minimum:
        """Square loss: each column of the targets by itself, around the means if there is a bias."""
        targets = self.loss.on(self.classes).targets[self.class_index]
        biased = not self.classes.equal
        # at the best bias outputs and targets have the same mean: what is left is centred
        row = biased * self.F.mean(axis=0)
        target = biased * targets.mean(axis=0)
        rows = TrainingRows(self.F - row if biased else self.F)
        columns = np.ascontiguousarray((targets - target).T)
        weights = np.stack([rows.ridge(reg, tol, column, training) for column in columns], axis=-1)
        return weights, target - row @ weights, np.zeros(reg.size)

    def _descend(self, reg: Array, tol: float) -> list[tuple[Array, Array, float]]:
        """Cross-entropy, each `reg` from where the last ended; empty for other losses, or if two classes take many steps."""
        entropy = CrossEntropy.of(self.loss, self.class_index, self.classes)
        if entropy is None:
            return []
        two = self.classes.count == 2
        rows = TrainingRows(self.F)
        trained = []
        last = None
        for strength in reg.tolist():
            solver = descent(entropy, strength, tol, _FEW if two else _MANY, last)
            last, settled = driven(solver, rows.kernel)
            # of two classes Newton's method, by `_binary`, is cheaper than many steps
            if two and not settled:
                return []
            _check_gap(last.gap, strength, tol)
            trained.append((self.F.T @ last.beta, entropy.bias(last.outputs), last.gap))
        return trained

    def _binary(self, reg: Array, tol: float) -> list[tuple[Array, Array, float]]:
        """A loss of the margin, each `reg` from where the last ended."""
        rows = TrainingRows(self.signed)
        trained = []
        start = None
        for strength in reg.tolist():
            loss = self.loss
            bias = 0.0
            gap = np.nan
            # what overflowed cannot be factorized
            with contextlib.suppress(LinAlgError, ValueError):
                if not self.classes.equal:
                    bias, start = self._balanced(rows, strength, start, tol)
                    loss = Shifted(loss, self._signs * bias)
                weights, gap, start = rows.solve(loss, strength, start, tol)
            _check_gap(gap, strength, tol)
            trained.append((weights[:, None], np.array([bias]), gap))
        return trained

    def _balanced(
        self, rows: TrainingRows, reg: float, start: Array | None, tol: float
    ) -> tuple[float, Array | None]:
        """Bias at which the pulls of the two classes balance, and the dual variables there."""

        def excess(bias: float) -> float:
            nonlocal start
            _, _, start = rows.solve(Shifted(self.loss, self._signs * bias), reg, start, tol)
            return float(self._signs @ start)

        # the pulls decrease with the bias: it lies on the side to which they pull
        side = float(np.copysign(1.0, excess(0.0)))
        reaches = (side * 2.0**k for k in range(20))
        intervals = itertools.pairwise(itertools.chain([0.0], reaches))
        bias = first_root(excess, intervals, xtol=1e-13, rtol=1e-13)
        if bias is None:
            raise ConvergenceError("the free bias is not finite; label more nodes or raise reg")
        return bias, start

    @property
    def _signs(self) -> Array:
        return np.where(self.class_index == 0, 1.0, -1.0)

    @property
    def signed(self) -> Array:
        """Rows of two classes, each times the sign of its node."""
        return self._signs[:, None] * self.F


def _check_gap(gap: float, reg: float, tol: float) -> None:
    if not gap <= max(1e-6, tol):
        stopped = f"the training at reg = {reg:g} stopped at a duality gap of {gap:.1e}"
        raise ConvergenceError(f"{stopped} of the objective; raise reg")


@dataclass(frozen=True, eq=False)
class Shifted(Loss):
    """A loss of margins to which a number is added, one for each node."""

    loss: Loss
    shift: Array

    def value(self, z: npt.ArrayLike) -> Array:
        """Loss at margin `z` plus the shift."""
        return self.loss.value(np.asarray(z, float) + self.shift)

    def prox(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """Proximal operator, shifted there and back."""
        return np.asarray(self.loss.prox(np.asarray(omega, float) + self.shift, v) - self.shift)

    def prox_derivative(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """Derivative of the shifted proximal operator."""
        return self.loss.prox_derivative(np.asarray(omega, float) + self.shift, v)
