r"""Finite regularization on a symmetric graph: averages over its spectrum, whatever the filter (Eq. 3.20).

Here :math:`U = gd(a)` and :math:`W = g^2d(a)` with :math:`d = 1/(1 + \kappa V_w g^2)` are functions of the operator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from gcnlimit._values import Array
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.theory.finite_reg.equations import Equations, Pulls, Transforms
from gcnlimit.theory.finite_reg.scaling import ScaledChain
from gcnlimit.theory.points import Points

__all__ = ["SymmetricEquations"]


@dataclass(frozen=True)
class SymmetricEquations(Equations):
    r"""The equations for a batch of points, on the nodes of a quadrature over the spectrum.

    `g`: values of the filter at the nodes, divided by its `gain` :math:`\sqrt{\tau(g^2)}`.
    """

    g: Array
    tau: Array
    e: Array
    excess: Array

    _POINTWISE: ClassVar[tuple[str, ...]] = (*Equations._POINTWISE, "g", "e", "excess")

    @classmethod
    def of(cls, points: Points, nodes: int, scaled: ScaledChain | None = None) -> Self:
        """Put the filter of the points on a grid, or a chain that takes its place."""
        measure = SpikedSemicircle.of(points.signal, nodes)
        if scaled:
            g, gain = scaled.chain.values(measure.x), scaled.gain
        else:
            g, size = points.filter.normalized(measure.x)
            bulk = np.sqrt(g**2 @ measure.tau)
            g, gain = g / bulk[:, None], points.units(np.exp(size) * bulk)
        return cls(
            **cls.shared(points, gain, np.einsum("bn,bn->b", measure.e, g**2)),
            g=g,
            tau=measure.tau,
            e=measure.e,
            excess=measure.excess,
        )

    def respond(self, pulls: Pulls, rest: Array) -> tuple[Transforms, Array]:
        """Averages over the spectrum (Eq. 3.20); the graph has no unknowns of its own."""
        d = 1.0 / (1.0 + pulls.product[:, None] * self.g**2)
        U = self.g * d
        W = self.g * U
        W_bulk, U_labels = W @ self.tau, self._e(U)
        uneven = (self.g**2 - 1.0) * d / (1.0 + pulls.product[:, None])  # W less its value for a gain of 1
        excess = np.einsum("bn,bn->b", self.excess, uneven)
        U_across, W_across = U - U_labels[:, None], uneven - self._e(uneven)[:, None]
        return Transforms(
            W=W_bulk,
            UU=U**2 @ self.tau,
            WW_bulk=(uneven - (uneven @ self.tau)[:, None]) ** 2 @ self.tau,
            stretch=1.0 / (d @ self.tau),
            U=U_labels,
            excess=excess,
            UU_across=self._e(U_across**2),
            UW_across=self._e(U_across * W_across),
            WW_across=self._e(W_across**2),
        ), rest

    def _e(self, values: Array) -> Array:
        """Average :math:`e` over the spectral measure of the labels (Eq. 6.2)."""
        return np.asarray(np.einsum("bn,bn->b", self.e, values))
