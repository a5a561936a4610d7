r"""The ceiling with propensities: two overlaps in place of one.

The field on a node of propensity :math:`\theta` has the evidence :math:`m_\theta`, with the overlap :math:`q_s` that the graph
weights by degree and the plain one :math:`q`, which the features see,

.. math::
    m_\theta = \lambda_s^2\,\theta\,q_s + M_X(q), \qquad q_s = \rho + (1-\rho)\,\mathbb E[\theta\,T(m_\theta)], \qquad
    q = \rho + (1-\rho)\,\mathbb E\,T(m_\theta),

:math:`M_X` the evidence of the features (Eq. 8.8) and :math:`T` the overlap of the posterior. :math:`T` is concave for up to four
classes, and then the solution above 0 is the only one; with more there may be two that are stable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.degrees import DegreeLaw
from gcnlimit.theory.ceiling.posterior import Posterior, posterior
from gcnlimit.theory.ceiling.state_evolution import Evidence

_SWEEPS = 3000  # of the map itself at most, before Newton's method, where there may be two fixed points
_SETTLED = 1e-4  # relative change in a sweep at which Newton's method takes over
_LITTLE = 1e-6  # overlap from which evidence grows where there are no labels
_STEPS = 60  # of Newton's method


class Overlaps(NamedTuple):
    """Overlaps weighted by degree and plain, at each point, and the residual."""

    graph: Array
    features: Array
    residual: Array


@dataclass(frozen=True, eq=False)
class PropensityEvolution:
    """State evolution of a batch of points under a law of degrees.

    `received` are the propensities whose evidence a neighbour passes on: `theta`, or less one edge over the mean degree where
    the law is that of the raw degrees of a sparse graph.
    """

    evidence: Evidence
    signal: Array
    rho: Array
    law: DegreeLaw
    received: Array
    tables: Posterior

    @classmethod
    def of(cls, data: CSBM, law: DegreeLaw, degree: float | None = None) -> Self:
        """State evolution of the data; `degree` is the mean degree if the law is that of raw degrees."""
        evidence = Evidence.of(data)
        received = law.theta if degree is None else np.maximum(law.theta - 1.0 / degree, 0.0)
        rho = np.broadcast_to(data.rho, data.shape).ravel()
        features = replace(evidence, graph=np.zeros_like(evidence.graph))
        return cls(features, evidence.graph, rho, law, received, posterior(data.classes))

    def at(self, overlaps: Overlaps, theta: Array) -> Array:
        """Evidence on nodes of each propensity, points along the first axis."""
        graph = (self.signal * overlaps.graph)[:, None] * theta
        return np.asarray(graph + self.evidence.at(overlaps.features)[:, None])

    def fixed_points(self) -> tuple[Overlaps, Overlaps]:
        """Overlaps at the Bayes-optimal fixed point, and at that which message passing reaches from the labels alone."""
        above = self._follow(np.ones_like(self.rho))
        if self.tables.convexity == 0.0:
            return above, above
        below = self._follow(np.where(self.detectable(), np.maximum(self.rho, _LITTLE), self.rho))
        better = self.free_entropy(above) >= self.free_entropy(below)
        best = Overlaps(*(np.where(better, a, b) for a, b in zip(above, below, strict=True)))
        return best, below

    def _follow(self, start: Array) -> Overlaps:
        """Fixed point to which the map falls, or rises, from a start: some sweeps, then Newton's method."""
        x = np.stack([start, start], axis=1)
        for _ in range(_SWEEPS if self.tables.convexity else 2):
            last, x = x, self._map(x)[0]
            if np.all(np.abs(x - last) <= _SETTLED * (x + _LITTLE)):
                break
        for _ in range(_STEPS):
            image, slope = self._map(x)
            step = np.linalg.solve(np.eye(2) - slope, (image - x)[:, :, None])[:, :, 0]
            ahead = x + step
            inside = np.all((ahead >= self.rho[:, None] - 1e-12) & (ahead <= 1.0 + 1e-12), axis=1, keepdims=True)
            ahead = np.where(inside, np.clip(ahead, self.rho[:, None], 1.0), image)
            moved, x = np.max(np.abs(ahead - x)), ahead
            if moved <= 1e-15:
                break
        return Overlaps(x[:, 0], x[:, 1], np.max(np.abs(self._map(x)[0] - x), axis=1))

    def _map(self, x: Array) -> tuple[Array, Array]:
        """Overlaps that follow from overlaps, rows of two, and their derivatives."""
        here = Overlaps(x[:, 0], x[:, 1], x[:, 0])
        theta, weight = self.law.theta, self.law.weight
        sides = ((theta * weight, self.received), (weight, theta))
        gain = self.evidence.gain(here.features)
        image, slope = np.empty_like(x), np.empty((len(x), 2, 2))
        for i, (share, known) in enumerate(sides):
            T = self.tables.at(self.at(here, known))
            image[:, i] = self.rho + (1.0 - self.rho) * (T.overlap @ share)
            slope[:, i, 0] = (1.0 - self.rho) * self.signal * (T.slope @ (known * share))
            slope[:, i, 1] = (1.0 - self.rho) * gain * (T.slope @ share)
        return image, slope

    def free_entropy(self, overlaps: Overlaps) -> Array:
        """Free entropy, extremal at a fixed point."""
        m, weight = self.at(overlaps, self.law.theta), self.law.weight
        parts = self.rho * (m @ weight) + self.evidence.free_entropy(overlaps.features)
        parts -= 0.5 * self.signal * overlaps.graph**2
        psi = self.tables.information(m)[0] @ weight
        return np.asarray(0.5 * self.tables.directions * parts + (1.0 - self.rho) * psi)

    def detectable(self) -> npt.NDArray[np.bool_]:
        """Where evidence grows from nothing, without any label: the threshold of the features and of the degrees."""
        slope = self._map(np.zeros((self.rho.size, 2)))[1]
        return np.asarray(np.max(np.abs(np.linalg.eigvals(slope)), axis=1) > 1.0)
