r"""Weights that minimise the loss on given training rows, for any classes.

Equal classes need no bias. Unequal classes have one that is not regularized, as in the theory (Eqs. 8.13 and 8.14): with the
square loss it is the mean of the targets less that of the outputs, with a loss of the margin one monotone equation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError

from gcnlimit._values import Array
from gcnlimit.classes import Classes, Indices
from gcnlimit.errors import ConvergenceError, ParameterError
from gcnlimit.losses import Loss
from gcnlimit.losses.base import Form
from gcnlimit.simulation.train.bias import decreasing_root
from gcnlimit.simulation.train.multinomial import Multinomial
from gcnlimit.simulation.train.solvers import TrainingRows


class Minimum(NamedTuple):
    r"""Weights of each regularization, :math:`M \times (C - 1)`, its :math:`C - 1` biases, and duality gap over objective."""

    weights: Array
    bias: Array
    gap: Array


def check_loss_of_classes(loss: Loss, classes: Classes) -> None:
    """Refuse a loss of the margin, which has a sign, for three classes or more."""
    if not loss.on(classes).solved:
        raise ParameterError(
            f"loss = {loss!r} is a function of a margin of two classes, got classes = {classes}; take loss='softmax' or "
            "'square', or reg=math.inf"
        )


@dataclass(frozen=True, eq=False)
class Training:
    """Rows `F` to train a loss on, of nodes whose class has the index `kinds`.

    >>> from gcnlimit import Square
    >>> F, kinds = np.array([[1.0, 2.0], [0.0, 1.0], [-1.0, 0.5]]), np.array([0, 1, 1])
    >>> W, b, _ = Training(F, kinds, Classes.of([0.3, 0.7]), Square()).minimise(np.array([1.0]), 1e-12)
    >>> missed = Square().on(Classes.of([0.3, 0.7])).targets[kinds] - F @ W[0] - b[0]
    >>> bool(np.allclose(F.T @ missed, W[0])), bool(abs(missed.sum()) < 1e-12)
    (True, True)
    """

    F: Array
    kinds: Indices
    classes: Classes
    loss: Loss

    @property
    def biased(self) -> bool:
        """Whether there is a free bias."""
        return not self.classes.equal

    def minimise(self, reg: Array, tol: float) -> Minimum:
        """Train at each `reg`, to the tolerance of `gcnlimit.fit`."""
        if self.loss.form is Form.CODES:
            return self._ridge(reg, tol)
        check_loss_of_classes(self.loss, self.classes)
        count = self.classes.count
        if self.biased and np.unique(self.kinds).size < count:
            raise ParameterError(
                "a class has no labelled node, and the free bias of unequal classes has no minimum; label more nodes, or take "
                "loss='square'"
            )
        return self._binary(reg, tol) if count == 2 else self._softmax(reg, tol)

    def _ridge(self, reg: Array, tol: float) -> Minimum:
        """Square loss: each column of the targets by itself, around the means if there is a bias."""
        targets = self.loss.on(self.classes).targets[self.kinds]
        around = float(self.biased)
        row, target = around * self.F.mean(axis=0), around * targets.mean(axis=0)
        rows = TrainingRows(self.F - row if self.biased else self.F)
        columns = [rows.ridge(reg, tol, np.ascontiguousarray(column)) for column in (targets - target).T]
        weights = np.stack(columns, axis=-1)
        return Minimum(weights, target - row @ weights, np.zeros(reg.size))

    def _softmax(self, reg: Array, tol: float) -> Minimum:
        problem = Multinomial(self.F, self.kinds, self.classes.one_hot_basis, self.biased)
        found, start = self._empty(reg.size, problem.E.shape[1]), None
        for place in _from_strongest(reg):
            (found.weights[place], found.bias[place], found.gap[place]), start = problem.solve(reg[place], start, tol)
            _check_gap(float(found.gap[place]), float(reg[place]), tol)
        return found

    def _binary(self, reg: Array, tol: float) -> Minimum:
        """A loss of the margin; each regularization starts where the last ended."""
        rows = TrainingRows(self._signs[:, None] * self.F)
        found, start = self._empty(reg.size, 1), None
        for place in _from_strongest(reg):
            try:
                if self.biased:
                    found.bias[place], start = self._balanced(rows, float(reg[place]), start, tol)
                loss = self._shifted(float(found.bias[place, 0])) if self.biased else self.loss
                (found.weights[place, :, 0], found.gap[place]), start = rows.solve(loss, float(reg[place]), start, tol)
            except (LinAlgError, ValueError):  # what overflowed cannot be factorised
                found.gap[place] = np.nan
            _check_gap(float(found.gap[place]), float(reg[place]), tol)
        return found

    def _balanced(self, rows: TrainingRows, reg: float, start: Array | None, tol: float) -> tuple[float, Array]:
        """Bias at which the pulls of the two classes balance, and the dual variables there."""
        last = [np.zeros(self.kinds.size) if start is None else start]

        def excess(bias: float) -> float:
            last[0] = rows.solve(self._shifted(bias), reg, last[0], tol)[1]
            return float(self._signs @ last[0])

        return decreasing_root(excess), last[0]

    @property
    def _signs(self) -> Array:
        return np.where(self.kinds == 0, 1.0, -1.0)

    def _shifted(self, bias: float) -> Shifted:
        return Shifted(self.loss, self._signs * bias)

    def _empty(self, count: int, directions: int) -> Minimum:
        shape = (count, self.F.shape[1], directions)
        return Minimum(np.empty(shape), np.zeros((count, directions)), np.full(count, np.nan))


def _from_strongest(reg: Array) -> Iterator[int]:
    return iter(np.argsort(-reg).tolist())


def _check_gap(gap: float, reg: float, tol: float) -> None:
    if not gap <= max(1e-6, tol):
        raise ConvergenceError(
            f"the training at reg = {reg:g} stopped at a duality gap of {gap:.1e} of the objective; raise reg"
        )


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
        """Derivative of it."""
        return self.loss.prox_derivative(np.asarray(omega, float) + self.shift, v)
