r"""The ceiling with propensities: two overlaps in place of one (Eq. 11.13).

The graph weights the overlap by degree, the features do not. For up to four classes the solution above 0 is the only one; with
more there may be two that are stable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import as_real
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.degrees import DegreeLaw
from gcnlimit.numerics.linear import batches
from gcnlimit.results.order_parameters import Record
from gcnlimit.theory.ceiling.posterior import posterior
from gcnlimit.theory.ceiling.state_evolution import (
    Evidence,
    EvolutionState,
    FixedPoints,
    Node,
    StateEvolution,
)
from gcnlimit.theory.decision import accuracy
from gcnlimit.theory.points import Mask

_SWEEPS = 3000  # of the map at most, before Newton's method, where there may be two fixed points
_SETTLED = 1e-4  # relative change in a sweep at which Newton's method takes over
_LITTLE = 1e-6  # overlap from which evidence grows where there are no labels
_NEWTON_STEPS = 60  # of Newton's method
_APART = 1e-9  # overlaps by which two fixed points differ


@dataclass(frozen=True, eq=False)
class PropensityEvolution(Record):
    r"""State evolution of a batch of points under a law of degrees; `signal` is :math:`\lambda_s^2`.

    Overlaps are rows of two: that which the graph weights by degree, and the plain one.
    """

    evidence: Evidence
    signal: Array
    rho: Array
    law: DegreeLaw
    node: Node

    together: ClassVar[int] = 256  # points solved together
    shared: ClassVar[frozenset[str]] = frozenset({"law", "node"})

    @classmethod
    def of(
        cls, data: CSBM, law: DegreeLaw, node: Node | None = None, symmetrize: bool = True
    ) -> Self:
        """State evolution of the data under that law, of Bayes-optimal nodes by default."""
        evidence = Evidence.of(data, symmetrize)
        rho = np.broadcast_to(data.rho, data.shape).ravel()
        # the graph weights its overlap by degree, the features do not: two overlaps
        features = replace(evidence, graph=np.zeros_like(evidence.graph))
        return cls(features, evidence.graph, rho, law, node or posterior(data.classes, data.noise))

    def at(self, x: Array, theta: Array) -> Array:
        """Evidence on nodes of each propensity at overlaps `x`, points along the first axis."""
        graph = (self.signal * x[:, 0])[:, None] * theta
        return np.asarray(graph + self.evidence.at(x[:, 1])[:, None])

    def fixed_points(self) -> FixedPoints:
        """Overlaps at the Bayes-optimal fixed point, and at that which message passing reaches from the labels alone."""
        # the map rises with the overlaps: from certainty it falls to the largest fixed point
        best = below = self._follow(np.ones_like(self.rho))
        if self.node.convexity > 0.0:
            # without labels, no overlap at all is a fixed point even where it is unstable
            start = np.where(self.detectable(), np.maximum(self.rho, _LITTLE), self.rho)
            below = self._follow(start)
            # the posterior is dominated by the fixed point of larger free entropy
            better = self.state(best).free_entropy >= self.state(below).free_entropy
            best = np.where(better[:, None], best, below)
        hard = below[:, 1] < best[:, 1] - _APART
        residual = np.max(np.abs(self.next(best)[0] - best), axis=1)
        return FixedPoints(best, below, hard, residual, np.zeros(residual.size, np.int64))

    def _follow(self, start: Array) -> Array:
        """Fixed point to which the map falls, or rises, from a start: some sweeps, then Newton's method."""
        x = np.stack([start, start], axis=1)
        least = self.next(np.zeros_like(x))[0]  # what labels give by themselves
        # of two fixed points Newton's method might reach the wrong one: it begins close to its own
        for _ in range(_SWEEPS if self.node.convexity else 2):
            last = x
            x = self.next(x)[0]
            if np.all(np.abs(x - last) <= _SETTLED * (x + _LITTLE)):
                break
        for _ in range(_NEWTON_STEPS):
            image, slope = self.next(x)
            step = np.linalg.solve(np.eye(2) - slope, (image - x)[:, :, None])[:, :, 0]
            ahead = x + step
            clipped = np.clip(ahead, least, 1.0)
            # a step that leaves what is possible is replaced by one of the map, which cannot
            inside = np.all(np.abs(ahead - clipped) <= 1e-12, axis=1, keepdims=True)
            ahead = np.where(inside, clipped, image)
            moved = np.max(np.abs(ahead - x))
            x = ahead
            if moved <= 1e-15:
                break
        return x

    def next(self, x: Array) -> tuple[Array, Array]:
        """Overlaps that follow from overlaps, and their derivatives."""
        theta, weight = self.law.theta, self.law.weight
        shares = np.stack([theta * weight, weight], axis=1)
        m = self.at(x, theta)
        T = self.node.at(m)
        labels, label_slope = self.node.labelled(m)
        rho = self.rho[:, None]
        rate = (1.0 - rho) * T.slope + rho * label_slope
        rise = self.signal[:, None], self.evidence.gain(x[:, 1])[:, None]
        slope = rise[0] * (rate @ (theta[:, None] * shares)), rise[1] * (rate @ shares)
        from_labels = labels @ shares if isinstance(labels, np.ndarray) else labels
        return rho * from_labels + (1.0 - rho) * (T.overlap @ shares), np.stack(slope, axis=2)

    def layers(self, depth: int) -> Array:
        """Overlaps that each layer starts from: all layers of the first point, then those of the next."""
        x = [self.next(np.zeros((self.rho.size, 2)))[0]]
        for _ in range(depth - 1):
            x.append(self.next(x[-1])[0])
        return np.stack(x, axis=1).reshape(-1, 2)

    def state(self, x: Array) -> EvolutionState:
        """State at a fixed point, where the free entropy is extremal."""
        m = self.at(x, self.law.theta)
        weight = self.law.weight
        parts = self.rho * (m @ weight) + self.evidence.free_entropy(x[:, 1])
        parts -= 0.5 * self.signal * x[:, 0] ** 2
        psi, loss = (values @ weight for values in self.node.information(m))
        free_entropy = 0.5 * self.node.directions * parts + (1.0 - self.rho) * psi
        return EvolutionState(x[:, 1], free_entropy, loss)

    def detectable(self) -> Mask:
        """Where evidence grows from nothing, without any label: the threshold of the features and of the degrees."""
        slope = self.next(np.zeros((self.rho.size, 2)))[1]
        return np.asarray(np.max(np.abs(np.linalg.eigvals(slope)), axis=1) > 1.0)

    def accuracy_by_degree(self, data: CSBM, x: Array, theta: npt.ArrayLike) -> Array:
        """Accuracy on test nodes of given propensities, of the shape of the points and then that of `theta`."""
        asked = np.asarray(as_real("theta", theta, low=0))
        margin = np.sqrt(self.at(x, np.ravel(asked)))
        return accuracy(margin, data.classes.count).reshape(data.shape + asked.shape)


Evolution: TypeAlias = StateEvolution | PropensityEvolution


def evolution_of(data: CSBM, node: Node | None = None, symmetrize: bool = True) -> Evolution:
    """State evolution of the data, with propensities if degrees vary; of Bayes-optimal nodes by default."""
    if data.degrees is None:
        return StateEvolution.of(data, node, symmetrize)
    return PropensityEvolution.of(data, data.degrees, node, symmetrize)


def fixed_points(evolution: Evolution) -> FixedPoints:
    """Fixed points of all points, some of them together."""
    together = batches(evolution.rho.size, evolution.together)
    blocks = [evolution.take(rows).fixed_points() for rows in together]
    return FixedPoints(*map(np.concatenate, zip(*blocks, strict=True)))
