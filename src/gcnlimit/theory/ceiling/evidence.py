r"""Evidence on a label from graph and features, at a given overlap of the other labels (Eqs. 8.8 and 8.18).

Functions of the overlap in one direction of the codes; of a matrix, they are taken of its eigenvalues.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.spectrum import Spectrum


@dataclass(frozen=True, eq=False)
class Evidence:
    r"""Evidence of a batch of points; `graph` is :math:`\lambda_s^2`.

    >>> one = Evidence.of(CSBM(alpha=2.0, lam=1.5, mu=3.0, rho=0.1, directed=False))
    >>> one.at(np.array([0.5])) == 1.5**2 * 0.5 + 3.0**2 * 0.5 / (1.0 + 3.0 * 0.5) / 2.0
    array([ True])
    """

    alpha: Array
    graph: Array
    mu: Array
    features: Spectrum

    @classmethod
    def of(cls, data: CSBM) -> Self:
        """Evidence of all points of the data, along one axis."""
        signal = data.operator(symmetrize=True).signal
        alpha, signal, mu = (np.broadcast_to(p, data.shape).ravel() for p in (data.alpha, signal, data.mu))
        return cls(alpha, np.square(signal), mu, data.features)

    def take(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Self:
        """Evidence of some of the points."""
        return replace(self, alpha=self.alpha[rows], graph=self.graph[rows], mu=self.mu[rows])

    def levels(self) -> list[tuple[Array, float]]:
        r"""Return :math:`\mu\Gamma/\sigma^2` of each level of the features, and the fraction of the features there."""
        law = self.features
        if law.is_white:
            return [(self.mu, 1.0)]
        return [(self.mu * (g / s), float(w)) for g, s, w in zip(law.signal, law.variance, law.weight, strict=True)]

    def at(self, q: Array) -> Array:
        """Evidence on a node at overlap `q` of the others."""
        parts = sum(w * a * (a * q / (1.0 + a * q)) for a, w in self.levels())
        return np.asarray(self.graph * q + parts / self.alpha)

    def gain(self, q: Array) -> Array:
        """Derivative of the evidence in the overlap: the signal-to-noise ratio (Eq. 8.17) where there is none."""
        return np.asarray(self.graph + sum(w * (a / (1.0 + a * q)) ** 2 for a, w in self.levels()) / self.alpha)

    def saturation(self, q: Array) -> Array:
        """What the evidence has lost to its first order in the overlap."""
        return np.asarray(sum(w * a**3 * q**2 / (1.0 + a * q) for a, w in self.levels()) / self.alpha)

    def free_entropy(self, q: Array) -> Array:
        r"""Part of the free entropy that depends on the overlap alone, in the brackets of Eqs. 8.11 and 8.19."""
        parts = [w * (a * q - np.log1p(a * q) - (a * q) * (a * q / (1.0 + a * q))) for a, w in self.levels()]
        return np.asarray(sum(parts) / self.alpha - 0.5 * self.graph * q**2)
