r"""The margin of a symmetric graph as a function of the values of its filter on the spectrum, with its derivatives.

For the square loss a filter :math:`g` at strength :math:`s` enters through :math:`U = g/(1 + s g^2)` and
:math:`W = g^2/(1 + s g^2)` alone (`gcnlimit.theory.finite_reg.square`). The scale of the filter can stand for :math:`s`,
so that two values suffice: :math:`s = 1`, any finite regularization, and :math:`s = 0`, the infinite one, where the scale
drops out. The margin is a function of eight numbers that are *linear* in functions of :math:`U` and :math:`W`,

.. math:: \tau(W),\; \tau(W^2),\; \tau(U^2),\; e(W) - \tau(W),\; e(W^2),\; e(U^2),\; e(U),\; e(UW) .
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.spectrum import Spectrum
from gcnlimit.theory.finite_reg.equations import Transforms
from gcnlimit.theory.finite_reg.square import WHITE, most_freedom, spectral_transforms, square_margin, square_reg

__all__ = ["NUMBERS", "SpectralMargin"]

NUMBERS = 8
_TINY = 1e-100  # imaginary step of exact derivatives
_STEP = 1e-5  # relative step of differences of derivatives


@dataclass(frozen=True)
class SpectralMargin:
    """The margin of a batch of points, one row of node values each; `s` is 0 or 1 for each point."""

    measure: SpikedSemicircle
    s: Array
    alpha: Array
    mu: Array
    rho: Array
    features: Spectrum = WHITE

    def take(self, rows: npt.NDArray[np.intp]) -> SpectralMargin:
        """The same for some of the points."""
        m = self.measure
        measure = SpikedSemicircle(x=m.x[rows], tau=m.tau, e=m.e[rows], excess=m.excess[rows])
        s, alpha, mu, rho = (column[rows] for column in (self.s, self.alpha, self.mu, self.rho))
        return SpectralMargin(measure, s, alpha, mu, rho, self.features)

    def value(self, U: Array, W: Array) -> Array:
        """Margins; minus infinity where the regularization would not be positive."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            graph = spectral_transforms(self.measure, U, W, self.s)
            margin = square_margin(graph, self.s, self.alpha, self.mu, self.rho, features=self.features)
        allowed = self.s * graph.W < most_freedom(self.alpha, self.rho)
        return np.where(allowed & np.isfinite(margin), margin, -np.inf)

    def reg(self, W: Array) -> Array:
        """Regularization, in the units of the filter's values."""
        return square_reg(W @ self.measure.tau, self.s, self.alpha, self.rho, self.features)

    def numbers(self, U: Array, W: Array) -> Array:
        """The eight numbers, one row for each point."""
        return np.stack([np.vecdot(w, f) for w, f in zip(self._weights(), _features(U, W), strict=True)], axis=1)

    def slope(self, numbers: Array) -> Array:
        """Derivative of the margin in each of the numbers, by an imaginary step: exact to rounding."""
        steps = 1j * _TINY * np.eye(NUMBERS)
        return np.stack([self._of_numbers(numbers + step).imag / _TINY for step in steps], axis=1)

    def curvature(self, numbers: Array) -> Array:
        """Second derivatives of the margin in the numbers, symmetric matrices."""
        columns = []
        for k in range(NUMBERS):
            h = _STEP * np.maximum(np.abs(numbers[:, k]), 1e-12)
            step = np.zeros_like(numbers)
            step[:, k] = h
            columns.append((self.slope(numbers + step) - self.slope(numbers - step)) / (2.0 * h)[:, None])
        matrix = np.stack(columns, axis=1)
        return np.asarray(0.5 * (matrix + matrix.mT))

    def by_values(self, U: Array, W: Array) -> tuple[Array, Array]:
        """Derivatives of the margin in U and in W at each node."""
        slope = self.slope(self.numbers(U, W))
        zero, one = np.zeros_like(U), np.ones_like(U)
        by_U, by_W = (zero, zero, 2 * U, zero, zero, 2 * U, one, W), (one, 2 * W, zero, one, 2 * W, zero, zero, U)
        return self.combine(slope, by_U), self.combine(slope, by_W)

    def combine(self, slope: Array, features: tuple[Array, ...]) -> Array:
        """Sum over the eight functions of the nodes, each with its weights and its row of coefficients."""
        terms = (slope[:, k, None] * w * f for k, (w, f) in enumerate(zip(self._weights(), features, strict=True)))
        return np.asarray(sum(terms))

    def share(self, slope: Array, U: Array, W: Array) -> Array:
        """What each node contributes to the linearized margin."""
        return self.combine(slope, _features(U, W))

    def rows(self, features: tuple[Array, ...]) -> Array:
        """The eight functions of the nodes with their weights: point, number, node."""
        return np.stack([w * f for w, f in zip(self._weights(), features, strict=True)], axis=1)

    def _weights(self) -> tuple[Array, ...]:
        tau, e, excess = self.measure.tau, self.measure.e, self.measure.excess
        return tau, tau, tau, excess, e, e, e, e

    def _of_numbers(self, numbers: Array) -> npt.NDArray[np.complex128]:
        W, W2, U2, excess, eW2, eU2, eU, eUW = np.moveaxis(numbers, 1, 0)
        eW = W + excess
        graph = Transforms(
            W=W,
            UU=U2,
            WW_bulk=W2 - W**2,
            stretch=1.0 / (1.0 - self.s * W),
            U=eU,
            excess=excess,
            UU_across=eU2 - eU**2,
            UW_across=eUW - eU * eW,
            WW_across=eW2 - eW**2,
        )
        return np.asarray(square_margin(graph, self.s, self.alpha, self.mu, self.rho, features=self.features), complex)


def _features(U: Array, W: Array) -> tuple[Array, ...]:
    return W, W**2, U**2, W, W**2, U**2, U, U * W
