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

__all__ = ["Evidence"]


@dataclass(frozen=True, eq=False)
class Evidence:
    r"""Evidence of a batch of points; `graph` is :math:`\lambda_s^2`.

    What another graph has taught enters by two numbers of each point (Eqs. 10.15 and 10.16): `given`, evidence on a node that
    does not depend on the others, and `known`, :math:`\mu m_y` of that graph, evidence on the class means of the features.

    >>> one = Evidence.of(CSBM(alpha=2.0, lam=1.5, mu=3.0, rho=0.1, directed=False))
    >>> one.at(np.array([0.5])) == 1.5**2 * 0.5 + 3.0**2 * 0.5 / (1.0 + 3.0 * 0.5) / 2.0
    array([ True])
    """

    alpha: Array
    graph: Array
    mu: Array
    features: Spectrum
    given: Array | float = 0.0
    known: Array | float = 0.0

    @classmethod
    def of(cls, data: CSBM) -> Self:
        """Evidence of all points of the data, along one axis."""
        signal = data.operator(symmetrize=True).signal
        alpha, signal, mu = (np.broadcast_to(p, data.shape).ravel() for p in (data.alpha, signal, data.mu))
        return cls(alpha, np.square(signal), mu, data.features)

    def take(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Self:
        """Evidence of some of the points."""
        given, known = (part if isinstance(part, float) else part[rows] for part in (self.given, self.known))
        alpha, graph, mu = self.alpha[rows], self.graph[rows], self.mu[rows]
        return replace(self, alpha=alpha, graph=graph, mu=mu, given=given, known=known)

    def levels(self) -> list[tuple[Array, float]]:
        r"""Return :math:`\mu\Gamma/\sigma^2` of each level of the features, and the fraction of the features there."""
        return [(a, w) for a, _, w in self._levels()]

    def _levels(self) -> list[tuple[Array, Array | float, float]]:
        r"""Levels with :math:`\Gamma/\sigma^2` times `known` between their two numbers."""
        law = self.features
        if law.is_white:
            return [(self.mu, self.known, 1.0)]
        ratio = law.signal / law.variance
        return [(self.mu * r, self.known * r, float(w)) for r, w in zip(ratio, law.weight, strict=True)]

    def at(self, q: Array) -> Array:
        """Evidence on a node at overlap `q` of the others."""
        parts = sum(w * a * ((k + a * q) / (1.0 + k + a * q)) for a, k, w in self._levels())
        return np.asarray(self.given + self.graph * q + parts / self.alpha)

    def gain(self, q: Array) -> Array:
        """Derivative of the evidence in the overlap: the signal-to-noise ratio (Eq. 8.17) where there is none."""
        return np.asarray(self.graph + sum(w * (a / (1.0 + k + a * q)) ** 2 for a, k, w in self._levels()) / self.alpha)

    def saturation(self, q: Array) -> Array:
        """What the evidence lacks to its slope at no overlap times the overlap."""
        lost = sum(w * a**3 * q**2 / ((1.0 + k) ** 2 * (1.0 + k + a * q)) for a, k, w in self._levels())
        return np.asarray(lost / self.alpha - self.at(np.zeros_like(q)))

    def free_entropy(self, q: Array) -> Array:
        r"""Part of the free entropy that depends on the overlap alone, in the brackets of Eqs. 8.11 and 8.19."""
        parts = [
            w * (a * q - np.log1p(a * q / (1.0 + k)) - (a * q) * ((k + a * q) / (1.0 + k + a * q)))
            for a, k, w in self._levels()
        ]
        return np.asarray(sum(parts) / self.alpha - 0.5 * self.graph * q**2)
