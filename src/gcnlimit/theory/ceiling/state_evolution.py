"""The state evolution of numbers: evidence, its fixed points (Eq. 8.8), their free entropy (Eq. 8.11), and the ceiling there.

For two equal classes the evidence returned is concave and its largest fixed point is the only one of interest; in general it is
first convex, then concave, and may have two stable fixed points with an unstable one between them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.numerics.linear import batches
from gcnlimit.parameters import labelled
from gcnlimit.results.order_parameters import Output
from gcnlimit.results.performance import BayesPrediction, Prediction, scalar_or_array
from gcnlimit.spectrum import Spectrum
from gcnlimit.theory.ceiling.posterior import Overlap, Posterior
from gcnlimit.theory.decision import ceiling_prediction


@dataclass(frozen=True, eq=False)
class Evidence:
    r"""Evidence of graph and features in one direction of the codes, of a batch of points; `graph` is :math:`\lambda_s^2`.

    What another graph has taught enters by two numbers of each point (Eqs. 10.15 and 10.16): `given`, evidence on a node that
    does not depend on the others, and `known`, :math:`\mu m_y` of that graph, evidence on the class means of the features.
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

    def _levels(self) -> list[tuple[Array, Array | float, float]]:
        r"""Levels of the features: `mu` times :math:`\Gamma/\sigma^2`, `known` times the same, and fraction of the features."""
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


_SMALL = 0.1  # evidence below which the deficit m - T enters the balance, which keeps its digits at the transition
_STEPS = 400  # of a search for a root: halving the distance from 1 to 1e-120
_GRID = 16  # evidences at which the steepest rise is first sought
_STEEP = 0.8  # rise on that grid from which it may exceed 1 between
_ZOOMS = 8  # grids of half the width around it
_BLOCK = 4096  # points solved together, whose numbers fit in a cache

Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


class FixedPoints(NamedTuple):
    """Evidence at the Bayes-optimal fixed point and at that which message passing reaches; residual, and steps of the search."""

    best: Array
    reached: Array
    residual: Array
    iterations: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StateEvolution:
    """State evolution of a batch of points."""

    evidence: Evidence
    rho: Array
    tables: Posterior

    def take(self, rows: Rows | Mask) -> Self:
        """State evolution of some of the points."""
        return replace(self, evidence=self.evidence.take(rows), rho=self.rho[rows])

    def overlap(self, m: Array) -> Array:
        r"""Overlap :math:`q = \rho + (1 - \rho) T(m)`."""
        return np.asarray(self.rho + (1.0 - self.rho) * self.tables.at(m).overlap)

    def rise(self, m: Array) -> Array:
        """Derivative :math:`M'(m)` of the evidence returned."""
        T = self.tables.at(m)
        return np.asarray(self.evidence.gain(self.rho + (1.0 - self.rho) * T.overlap) * (1.0 - self.rho) * T.slope)

    def balance(self, m: Array) -> tuple[Array, Array, Array]:
        r"""Return :math:`m - M(m)`, its derivative, and the rounding error of the former.

        At small evidence it is :math:`m(1 - s(1-\rho)) - s\rho + s(1-\rho)(m - T)` plus the saturation of the features, with
        :math:`s` the signal-to-noise ratio: no digits cancel at the transition.
        """
        T = self.tables.at(m)
        q = self.rho + (1.0 - self.rho) * T.overlap
        back = self.evidence.at(q)
        value, rounding = m - back, 1e-15 * m
        small = m < _SMALL
        if np.any(small):
            law = self.evidence.features
            small &= self.evidence.mu * q * np.max(law.signal / law.variance) < 1.0
            fine, error = self._near_transition(m, T, q)
            value, rounding = np.where(small, fine, value), np.where(small, error, rounding)
        return value, 1.0 - self.evidence.gain(q) * (1.0 - self.rho) * T.slope, rounding

    def _near_transition(self, m: Array, T: Overlap, q: Array) -> tuple[Array, Array]:
        snr = self.evidence.gain(np.zeros_like(q))
        hidden = snr * (1.0 - self.rho)
        lost = hidden * T.deficit + self.evidence.saturation(q)
        size = m * np.abs(1.0 - hidden) + snr * self.rho + np.abs(lost)
        return np.asarray(m * (1.0 - hidden) - snr * self.rho + lost), np.asarray(1e-15 * size)

    def free_entropy(self, m: Array) -> Array:
        """Free entropy at a fixed point (Eq. 8.11)."""
        shape = self.rho * m + self.evidence.free_entropy(self.overlap(m))
        return np.asarray(0.5 * self.tables.directions * shape + (1.0 - self.rho) * self.tables.information(m)[0])

    def fixed_points(self) -> FixedPoints:
        """Find the fixed points of each point."""
        low, high = self.evidence.at(self.rho), self.evidence.at(np.ones_like(self.rho))
        best = high.copy()
        residual = np.zeros_like(high)
        iterations = np.zeros(high.size, np.int64)
        unlabelled = (low == 0.0) & (self.evidence.gain(np.zeros_like(high)) <= 1.0)
        several = self.rho < (1.0 - self.rho) * self.tables.convexity
        best[unlabelled & ~several] = 0.0
        rows = np.flatnonzero(~unlabelled & ~several & np.isfinite(high))
        if rows.size:
            best[rows], residual[rows], iterations[rows] = self.take(rows).root(low[rows], high[rows])
        reached = best.copy()
        rows = np.flatnonzero(several & np.isfinite(high))
        if rows.size:
            found = self.take(rows)._branches(low[rows], high[rows])
            best[rows], reached[rows], residual[rows], iterations[rows] = found
        return FixedPoints(best, reached, residual, iterations)

    def root(self, low: Array, high: Array) -> tuple[Array, Array, npt.NDArray[np.int64]]:
        """Root of the balance between `low`, where it is not positive, and `high`, where it is not negative; residual, steps.

        Newton's method from above, which does not overshoot where the evidence is concave; elsewhere the interval is halved.
        """
        low, high = low.copy(), high.copy()
        m = high.copy()
        residual = np.zeros_like(m)
        iterations = np.zeros(m.size, np.int64)
        active = np.arange(m.size)
        for _ in range(_STEPS):
            at = m[active]
            here = self if active.size == m.size else self.take(active)
            value, slope, rounding = here.balance(at)
            residual[active] = np.abs(value) / (1.0 + at)
            iterations[active] += 1
            high[active] = np.where(value > 0.0, at, high[active])
            low[active] = np.where(value < 0.0, at, low[active])
            ahead = at - value / np.where(slope > 0.0, slope, np.nan)
            inside = (ahead > low[active]) & (ahead < high[active])
            done = (np.abs(value) <= rounding) | (high[active] - low[active] <= 4e-16 * high[active])
            m[active] = np.where(inside, ahead, np.where(done, at, 0.5 * (low[active] + high[active])))
            active = active[~done]
            if not active.size:
                break
        return m, residual, iterations

    def _branches(self, low: Array, high: Array) -> tuple[Array, Array, Array, npt.NDArray[np.int64]]:
        """Where two fixed points may be stable: the better one, that reached from below, residual and steps."""
        flat = self.rise(low) < 1.0  # else the balance falls first, then rises, to its only root
        peak = low.copy()
        peak[flat] = self.take(flat)._steepest(low[flat], high[flat])
        folded = flat & (self.rise(peak) > 1.0)
        alone = (low == 0.0) & flat & ~folded  # no evidence is the only fixed point
        best, residual, steps = self.root(np.where(alone, 0.0, low), np.where(alone, 0.0, high))
        reached = best.copy()
        rows = np.flatnonzero(folded)
        if rows.size:
            both = self.take(rows)._two_branches(low[rows], peak[rows], high[rows])
            best[rows], reached[rows], residual[rows], steps[rows] = both
        return best, reached, residual, steps

    def _two_branches(self, low: Array, peak: Array, high: Array) -> tuple[Array, Array, Array, npt.NDArray[np.int64]]:
        """Where :math:`M'` exceeds 1 at `peak`: the balance rises, falls between the two evidences of slope 1, rises again."""
        first = self._turning(low, peak)
        last = self._turning(high, peak)
        lower = self.balance(first)[0] >= 0.0
        upper = ~lower | (self.balance(last)[0] <= 0.0)
        at_zero = lower & (low == 0.0)  # no evidence at all is a fixed point
        end = np.where(at_zero, 0.0, np.where(lower, first, high))
        below, residual, steps = self.root(np.where(at_zero, 0.0, low), end)
        above, other, more = self.root(np.where(upper, last, below), np.where(upper, high, below))
        better = upper & (~lower | (self.free_entropy(above) > self.free_entropy(below)))
        return (
            np.where(better, above, below),
            np.where(lower, below, above),
            np.where(better, other, residual),
            steps + more,
        )

    def _steepest(self, low: Array, high: Array) -> Array:
        """Evidence at which :math:`M'` is largest, by grids that narrow around it; roughly where it stays well below 1."""
        place = np.linspace(0.0, 1.0, _GRID)[:, None] ** 3
        value, peak, bottom, top = self._on_grid(low + (high - low) * place)
        rows = np.flatnonzero(value > _STEEP)
        for _ in range(_ZOOMS if rows.size else 0):
            grid = bottom[rows] + (top - bottom)[rows] * np.linspace(0.0, 1.0, 5)[:, None]
            _, peak[rows], bottom[rows], top[rows] = self.take(rows)._on_grid(grid)
        return peak

    def _on_grid(self, grid: Array) -> tuple[Array, Array, Array, Array]:
        """Largest :math:`M'` on a grid of evidences, where it is, and the neighbours of that place."""
        values = np.array([self.rise(m) for m in grid])
        best, column = np.argmax(values, axis=0), np.arange(grid.shape[1])
        here, below, above = (grid[np.clip(best + k, 0, len(grid) - 1), column] for k in (0, -1, 1))
        return values[best, column], here, below, above

    def _turning(self, outside: Array, peak: Array) -> Array:
        """Evidence between a place outside and the steepest one at which :math:`M' = 1`, by the Illinois method.

        It is `outside` if :math:`M'` exceeds 1 there as well.
        """
        a, b = outside, peak
        f_a, f_b = self.rise(a) - 1.0, self.rise(b) - 1.0
        steep = f_a >= 0.0
        for _ in range(16):
            c = b - f_b * (b - a) / np.where(f_b == f_a, 1.0, f_b - f_a)
            f_c = self.rise(c) - 1.0
            crossed = f_c * f_b < 0.0
            a, f_a = np.where(crossed, b, a), np.where(crossed, f_b, 0.5 * f_a)
            b, f_b = c, f_c
        return np.where(steep, outside, b)


@np.errstate(all="ignore")
def ceiling(data: CSBM, evolution: StateEvolution) -> BayesPrediction:
    """Bayes-optimal performance at the fixed points of a state evolution, whose points are those of the data."""
    blocks = [evolution.take(rows).fixed_points() for rows in batches(evolution.rho.size, _BLOCK)]
    found = FixedPoints(*map(np.concatenate, zip(*blocks, strict=True)))
    best = _prediction(data, evolution, found, found.best)
    hard = found.reached < found.best
    reached = _prediction(data, evolution, found, found.reached) if np.any(hard) else best
    free_entropy = evolution.free_entropy(found.best).reshape(data.shape)
    return BayesPrediction(
        **vars(best),
        algorithmic=labelled(reached, data),
        hard=scalar_or_array(hard.reshape(data.shape)),
        free_entropy=scalar_or_array(free_entropy),
    )


def _prediction(data: CSBM, evolution: StateEvolution, found: FixedPoints, m: Array) -> Prediction:
    """Prediction at that evidence."""
    shape = data.shape
    return ceiling_prediction(
        data.classes,
        np.sqrt(m).reshape(shape),
        evolution.tables.information(m)[1].reshape(shape),
        found.residual,
        found.iterations,
        output=Output(m, m, np.zeros_like(m)).reshape(shape),
        overlap=scalar_or_array(evolution.overlap(m).reshape(shape)),
    )
