r"""The hard phase of three or more unequal classes on a graph without features and labels.

Without labels all fixed points of Eq. 8.18 on such a graph have :math:`m = \lambda_s^2\, T(m)`. They are followed along the trace
of :math:`m`, from large to small: at a given trace :math:`m` is the multiple of :math:`T(m)` that has it, and
:math:`\lambda_s^2 = \mathrm{tr}\,m/\mathrm{tr}\,T(m)`, which is the :math:`m/T(m)` of equal classes. Where the smallest class is
recovered alone, the others being one to it, :math:`m` has rank one, and the signals are those of two classes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
import numpy.typing as npt
from numpy.polynomial import Polynomial
from scipy.optimize import brentq

from gcnlimit._values import Array
from gcnlimit.numerics.fixed_point import fixed_point
from gcnlimit.theory.unequal.evolution import symmetric_matrix
from gcnlimit.theory.unequal.nodes import GaussianRule, gaussian_rules
from gcnlimit.theory.unequal.posterior import MatrixPosterior

__all__ = ["hard_phase_ends"]

_GRID = 24  # points at which the curve is first sampled
_LEAST, _MOST = 0.02, 40.0  # evidence on the two nearest classes there: their squared distance
_TOL = 1e-12
_FLAT = 1e-6  # of the square of the signal, below which the transition counts as continuous


def hard_phase_ends(fractions: Array) -> tuple[float, float]:
    """Signals at the spinodal and at the transition of classes of these fractions; both are 1 if it is continuous.

    >>> [round(signal, 6) for signal in hard_phase_ends(np.array([0.1, 0.9]))]  # two classes, as a matrix of one entry
    [0.914518, 0.920595]
    """
    curve = _Curve.of(fractions)
    sizes = curve.sizes()
    squares = np.array([curve.square(x) for x in sizes])
    if np.min(squares) > 1.0 - _FLAT:
        return 1.0, 1.0
    place, step = float(sizes[np.argmin(squares)]), 0.5 * float(sizes[0] - sizes[1])
    for _ in range(5):
        place, step = curve.lowest(place, step), 0.3 * step
    stop = next(x for x in sizes[::-1] if x > place and curve.advantage(x) > 0.0)
    transition = float(brentq(curve.advantage, place, stop, xtol=1e-10))
    return float(np.sqrt(curve.square(place))), float(np.sqrt(curve.square(transition)))


@dataclass(frozen=True, eq=False)
class _Curve:
    """Fixed points by the logarithm of the trace of the evidence; those found are kept."""

    posterior: MatrixPosterior
    found: dict[float, Array] = field(default_factory=dict)

    @classmethod
    def of(cls, fractions: Array) -> Self:
        """Curve of classes of these fractions; several random rules are taken as one."""
        rules = gaussian_rules(fractions.size - 1)
        nodes = np.concatenate([rule.nodes for rule in rules])
        weights = np.concatenate([rule.weights for rule in rules]) / len(rules)
        return cls(MatrixPosterior(fractions, GaussianRule(nodes, weights)))

    def sizes(self) -> Array:
        """Places from large to small, so that each point is found from the one before it."""
        p = self.posterior.fractions
        nearest = float(np.sum(1.0 / np.sort(p)[-2:])) / (p.size - 1)
        return np.linspace(np.log(_MOST / nearest), np.log(_LEAST / nearest), _GRID)

    def evidence(self, x: float) -> Array:
        """Evidence at that place, its direction sought from that of the nearest point found before."""
        if x in self.found:
            return self.found[x]
        size, count = float(np.exp(x)), self.posterior.codes.shape[1]
        near = min(self.found, key=lambda other: abs(other - x), default=None)
        start = np.eye(count) if near is None else self.found[near]
        upper = np.triu_indices(count)

        def update(states: Array, _: npt.NDArray[np.intp]) -> Array:
            overlaps = [self.posterior.overlap(size * symmetric_matrix(state, count)) for state in states]
            return np.stack([(q / np.trace(q))[upper] for q in overlaps])

        first = (start / np.trace(start))[upper][None]  # of trace 1, so that residuals are relative as they are
        found = fixed_point(update, first, scale=np.ones_like, tol=_TOL, max_iterations=300, memory=4)
        self.found[x] = size * symmetric_matrix(found.state[0], count)
        return self.found[x]

    def square(self, x: float) -> float:
        r"""Square :math:`\lambda_s^2` of the signal."""
        return float(np.exp(x) / np.trace(self.posterior.overlap(self.evidence(x))))

    def advantage(self, x: float) -> float:
        """Free entropy (Eq. 8.19), which is 0 where nothing is recovered."""
        m = self.evidence(x)
        return float(self.posterior.information(m)[0] - 0.25 * np.sum(m * self.posterior.overlap(m)))

    def lowest(self, x: float, step: float) -> float:
        """Place of the lowest signal, from a polynomial through five points a step apart."""
        points = x + step * np.arange(-2.0, 3.0)
        fit = Polynomial.fit(points, [self.square(p) for p in points], 4)
        fine = np.linspace(points[0], points[-1], 2001)
        return float(fine[int(np.argmin(fit(fine)))])
