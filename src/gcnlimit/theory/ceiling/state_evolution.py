"""The state evolution of numbers: evidence, its fixed points (Eq. 8.8), and their free entropy (Eq. 8.11).

For two equal classes the evidence returned is concave and its largest fixed point is the only one of interest; in general it is
first convex, then concave, and may have two stable fixed points with an unstable one between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from gcnlimit._values import Array, Integers
from gcnlimit.csbm import CSBM
from gcnlimit.results.order_parameters import Record
from gcnlimit.spectrum import Spectrum
from gcnlimit.theory.ceiling.linear_node import LinearNode
from gcnlimit.theory.ceiling.posterior import Posterior, posterior
from gcnlimit.theory.points import Mask, Rows

Node: TypeAlias = Posterior | LinearNode
"""What makes an estimate of the evidence on a node: the posterior, or the best linear function."""


@dataclass(frozen=True, eq=False)
class Evidence(Record):
    r"""Evidence of graph and features in one direction of the codes, of a batch of points; `graph` is :math:`\lambda_s^2`.

    What another graph has taught enters by two numbers of each point (Eqs. 10.15 and 10.16): `node`, evidence on a node that
    does not depend on the others, and `means`, :math:`\mu m_y` of that graph, evidence on the class means of the features.
    """

    features: Spectrum
    alpha: Array
    graph: Array
    mu: Array
    node: Array
    means: Array

    shared: ClassVar[frozenset[str]] = frozenset({"features"})

    @classmethod
    def of(cls, data: CSBM, symmetrize: bool = True) -> Self:
        """Evidence of all points of the data, along one axis; of a directed graph in both directions, or in one."""
        signal = data.operator(symmetrize).signal
        columns = (data.alpha, signal, data.mu)
        alpha, signal, mu = (np.broadcast_to(p, data.shape).ravel() for p in columns)
        none = np.zeros_like(mu)
        return cls(data.features, alpha, np.square(signal), mu, none, none)

    def _levels(self) -> list[tuple[Array, Array, float]]:
        r"""Levels of the features: `mu` times :math:`\Gamma/\sigma^2`, `means` times the same, and fraction of the features."""
        law = self.features
        if law.is_white:  # the usual case, at once
            return [(self.mu, self.means, 1.0)]
        ratio = law.signal / law.variance
        levels = zip(ratio, law.weight, strict=True)
        return [(self.mu * r, self.means * r, float(w)) for r, w in levels]

    def at(self, q: Array) -> Array:
        """Evidence on a node at overlap `q` of the others."""
        seen = ((w * a, k + a * q) for a, k, w in self._levels())
        parts = sum(scale * (x / (1.0 + x)) for scale, x in seen)
        return np.asarray(self.node + self.graph * q + parts / self.alpha)

    def gain(self, q: Array) -> Array:
        """Derivative of the evidence in the overlap: the signal-to-noise ratio (Eq. 8.17) where there is none."""
        parts = sum(w * (a / (1.0 + k + a * q)) ** 2 for a, k, w in self._levels())
        return np.asarray(self.graph + parts / self.alpha)

    def saturation(self, q: Array) -> Array:
        """Difference between the evidence and its linear part, its slope at no overlap times the overlap."""
        lost = [
            w * (a**3 * q**2 / ((1.0 + k) ** 2 * (1.0 + k + a * q)) - a * (k / (1.0 + k)))
            for a, k, w in self._levels()
        ]
        return np.asarray(sum(lost) / self.alpha - self.node)

    def free_entropy(self, q: Array) -> Array:
        r"""Part of the free entropy that depends on the overlap alone, in the brackets of Eqs. 8.11 and 8.19."""
        parts = [
            w * (a * q - np.log1p(a * q / (1.0 + k)) - (a * q) * ((k + a * q) / (1.0 + k + a * q)))
            for a, k, w in self._levels()
        ]
        return np.asarray(sum(parts) / self.alpha - 0.5 * self.graph * q**2)


_SMALL = 0.1  # evidence below which the balance is that of the deficit m - T, to keep its digits
_HALVINGS = 400  # of a search for a root: halving the distance from 1 to 1e-120
_NOTHING = 1e-100  # evidence to which halving falls where there is none
_SAME = 1e-9  # relative distance of two fixed points that are one


class FixedPoints(NamedTuple):
    """Bayes-optimal fixed point and that which message passing reaches, whether they differ, residual, and steps of the search.

    They are known by their evidence, or with propensities by their overlaps.
    """

    best: Array
    reached: Array
    hard: Mask
    residual: Array
    iterations: Integers


class EvolutionState(NamedTuple):
    """What is known at a fixed point: overlap of the labels with their estimates, free entropy and cross-entropy."""

    overlap: Array
    free_entropy: Array
    loss: Array


@dataclass(frozen=True, eq=False)
class StateEvolution(Record):
    """State evolution of a batch of points, whose nodes are Bayes-optimal or linear."""

    evidence: Evidence
    rho: Array
    node: Node

    together: ClassVar[int] = 4096  # points solved together, whose numbers fit in a cache
    shared: ClassVar[frozenset[str]] = frozenset({"node"})

    @classmethod
    def of(cls, data: CSBM, node: Node | None = None, symmetrize: bool = True) -> Self:
        """State evolution of all points of the data, of Bayes-optimal nodes by default."""
        rho = np.broadcast_to(data.rho, data.shape).ravel()
        node = node or posterior(data.classes, data.noise)
        return cls(Evidence.of(data, symmetrize), rho, node)

    def take(self, rows: Rows) -> Self:
        """State evolution of some of the points, in their order."""
        return self if rows.size == self.rho.size else super().take(rows)

    def overlap(self, m: Array) -> Array:
        r"""Overlap :math:`q = \rho + (1 - \rho) T(m)`, less on labelled nodes where labels are not certain."""
        on_labels, _ = self.node.labelled(m)
        return np.asarray(self.rho * on_labels + (1.0 - self.rho) * self.node.at(m).overlap)

    def balance(self, m: Array) -> tuple[Array, Array, Array]:
        r"""Return :math:`m - M(m)`, its derivative, and the rounding error of the former.

        At small evidence it is :math:`m(1 - s(1-\rho)) - s\rho + s(1-\rho)(m - T)` plus the saturation of the features, with
        :math:`s` the signal-to-noise ratio: no digits cancel at the transition.
        """
        T = self.node.at(m)
        on_labels, rise = self.node.labelled(m)
        q = self.rho * on_labels + (1.0 - self.rho) * T.overlap
        back = self.evidence.at(q)
        value = m - back
        rounding = 1e-15 * m
        small = m < _SMALL
        if np.any(small):
            law = self.evidence.features
            # an expansion in the evidence of the features must converge as well
            small &= self.evidence.mu * q * np.max(law.signal / law.variance) < 1.0
            snr = self.evidence.gain(np.zeros_like(q))
            # linear gain of the iteration at no evidence: the transition is where it is 1
            hidden = snr * (1.0 - self.rho)
            lost = hidden * T.deficit + self.evidence.saturation(q)
            labels = snr * (self.rho * on_labels)
            value = np.where(small, m * (1.0 - hidden) - labels + lost, value)
            size = m * np.abs(1.0 - hidden) + labels + np.abs(lost)
            rounding = np.where(small, 1e-15 * size, rounding)
        slope = (1.0 - self.rho) * T.slope + self.rho * rise
        return value, 1.0 - self.evidence.gain(q) * slope, rounding

    def state(self, m: Array) -> EvolutionState:
        """State at a fixed point (Eq. 8.11)."""
        overlap = self.overlap(m)
        information, loss = self.node.information(m)
        free_entropy = 0.5 * self.node.directions * self.evidence.free_entropy(overlap)
        free_entropy += self.rho * self.node.labelled_information(m)
        free_entropy += (1.0 - self.rho) * information
        return EvolutionState(overlap, free_entropy, loss)

    def layers(self, depth: int) -> Array:
        """Evidence after each layer, from the labels alone: all layers of the first point, then those of the next."""
        m = [np.zeros_like(self.rho)]
        for _ in range(depth):
            m.append(self.evidence.at(self.overlap(m[-1])))
        return np.stack(m[1:], axis=1).ravel()

    def fixed_points(self) -> FixedPoints:
        """Find the fixed points of each point."""
        on_labels, _ = self.node.labelled(np.zeros_like(self.rho))
        low = self.evidence.at(self.rho * on_labels)  # without evidence, others add no overlap
        high = self.evidence.at(np.ones_like(self.rho))
        residual = np.zeros_like(high)
        iterations = np.zeros(high.size, np.int64)
        # above the critical fraction of labels there is one fixed point
        several = self.rho < (1.0 - self.rho) * self.node.convexity
        # no labels, and graph and features together below their transition: nothing is learned
        nothing = (low == 0.0) & (self.evidence.gain(np.zeros_like(high)) <= 1.0) & ~several
        best = np.where(nothing, 0.0, high)
        rows = np.flatnonzero(~nothing & np.isfinite(high))
        if rows.size:
            root = self.take(rows).root(low[rows], high[rows])
            best[rows], residual[rows], iterations[rows] = root
        # message passing starts from the labels, and stops at the smallest fixed point
        reached = best.copy()
        rows = np.flatnonzero(several & np.isfinite(high))
        if rows.size:
            best[rows], reached[rows] = self.take(rows)._two(low[rows], best[rows])
        return FixedPoints(best, reached, reached < best, residual, iterations)

    def root(self, low: Array, high: Array) -> tuple[Array, Array, Integers]:
        """Root of the balance between `low`, where it is not positive, and `high`, where it is not negative; residual, steps.

        Newton's method from above, which does not overshoot where the evidence is concave; elsewhere the interval is halved.
        """
        low, high = low.copy(), high.copy()
        m = high.copy()
        residual = np.zeros_like(m)
        iterations = np.zeros(m.size, np.int64)
        active = np.arange(m.size)
        for _ in range(_HALVINGS):
            at = m[active]
            value, slope, rounding = self.take(active).balance(at)
            residual[active] = np.abs(value) / (1.0 + at)
            iterations[active] += 1
            high[active] = np.where(value > 0.0, at, high[active])
            low[active] = np.where(value < 0.0, at, low[active])
            # a slope that is not positive has no Newton step: NaN lies outside, and halves
            ahead = at - value / np.where(slope > 0.0, slope, np.nan)
            below, above = low[active], high[active]
            inside = (ahead > below) & (ahead < above)
            # a value below its own rounding says no more of where the root is
            done = (np.abs(value) <= rounding) | (above - below <= 4e-16 * above)
            m[active] = np.where(inside, ahead, np.where(done, at, 0.5 * (below + above)))
            active = active[~done]
            if not active.size:
                break
        return m, residual, iterations

    def _two(self, low: Array, above: Array) -> tuple[Array, Array]:
        """Where two fixed points may be stable, of which `above` is the larger: the better one, and that reached from below.

        The balance is concave up to the steepest rise of the evidence and convex from there on. Newton's method from above
        therefore finds the largest root, and from below the smallest, unless it meets a slope that is not positive, or passes
        the root: then there is one only.
        """
        below, alone = self._from_below(low)
        above = np.where((below == 0.0) & (above < _NOTHING), 0.0, above)
        # roots that rounding has drawn apart are one
        reached = np.where(alone | (above - below <= _SAME * above), above, below)
        # the posterior is dominated by the fixed point of larger free entropy
        better = self.state(above).free_entropy > self.state(reached).free_entropy
        return np.where(better, above, reached), reached

    def _from_below(self, low: Array) -> tuple[Array, Mask]:
        """Smallest root of the balance, by Newton's method from below, and whether there is none before the largest."""
        m = low.copy()
        passed = np.zeros(m.size, bool)
        active = np.arange(m.size)
        for _ in range(_HALVINGS):
            at = m[active]
            value, slope, rounding = self.take(active).balance(at)
            # a slope that is not positive, or a value beyond a root: none before the largest
            passed[active] = (slope <= 0.0) | (value > 1e-12 * at)
            stay = ~passed[active] & (np.abs(value) > rounding)
            active = active[stay]
            m[active] -= (value / slope)[stay]
            if not active.size:
                break
        return m, passed
