"""The hard phase of three or more unequal classes on a graph without features and labels, along the curve of its fixed points.

``python -m validation.unequal_hard_phase 0.8 0.1 0.1`` prints the signals at the spinodal and at the transition. For two
classes they are those of `gcnlimit.limits.hard_phase`; at one signal `bayes_optimal` says whether it is in the phase.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from gcnlimit._values import Array
from gcnlimit.numerics.fixed_point import fixed_point
from gcnlimit.numerics.roots import first_root
from gcnlimit.theory.ceiling.unequal_posterior import MatrixPosterior, single_rule

_GRID = 24  # points at which the curve is first sampled
_LEAST, _MOST = 0.02, 40.0  # evidence on the two nearest classes there: their squared distance
_HARD_TOL = 1e-12
_FLAT = 1e-6  # of the square of the signal, below which the transition counts as continuous


def hard_phase_ends(fractions: Array) -> tuple[float, float]:
    r"""Signals at the spinodal and at the transition of classes of these fractions; both are 1 if it is continuous.

    Without labels and features all fixed points of Eq. 8.18 have :math:`m = \lambda_s^2\, T(m)`. They are followed along the
    trace of :math:`m`, from large to small: at a given trace :math:`m` is the multiple of :math:`T(m)` that has it, and
    :math:`\lambda_s^2 = \mathrm{tr}\,m/\mathrm{tr}\,T(m)`.

    >>> [round(signal, 6) for signal in hard_phase_ends(np.array([0.1, 0.9]))]
    [0.914518, 0.920595]
    """
    curve = _Curve(MatrixPosterior(fractions, single_rule(fractions.size - 1)))
    # squared distance of the codes of the two largest classes, the nearest ones
    nearest = float(np.sum(1.0 / np.sort(fractions)[-2:])) / (fractions.size - 1)
    sizes = np.linspace(np.log(_MOST / nearest), np.log(_LEAST / nearest), _GRID)
    squares = np.array([curve.square(x) for x in sizes])
    if np.min(squares) > 1.0 - _FLAT:
        return 1.0, 1.0
    near = sizes[np.argmin(squares)] + (sizes[0] - sizes[1]) * np.array([-1.0, 1.0])
    how: dict[str, Any] = {"method": "bounded", "options": {"xatol": 1e-7}}
    place = float(minimize_scalar(curve.square, bounds=near, **how).x)
    stop = next(x for x in sizes[::-1] if x > place and curve.advantage(x) > 0.0)
    transition = first_root(curve.advantage, [(place, stop)], xtol=1e-10)
    assert transition is not None
    return float(np.sqrt(curve.square(place))), float(np.sqrt(curve.square(transition)))


@dataclass(frozen=True, eq=False)
class _Curve:
    """Fixed points by the logarithm of the trace of the evidence; those found are kept."""

    posterior: MatrixPosterior
    found: dict[float, Array] = field(default_factory=dict)

    def evidence(self, x: float) -> Array:
        """Evidence at that place, its direction sought from that of the nearest point found before."""
        if x in self.found:
            return self.found[x]
        near = min(self.found, key=lambda other: abs(other - x), default=None)
        start = np.eye(self.posterior.codes.shape[1]) if near is None else self.found[near]
        size = float(np.exp(x))

        # the direction is of trace 1, so that residuals are relative as they are
        def update(row: Array, _: Any) -> Array:
            q = self.posterior.overlap(size * row.reshape(start.shape))
            return np.asarray(q / np.trace(q)).reshape(1, -1)

        how: Any = {"tol": _HARD_TOL, "max_iterations": 300, "memory": 4}
        row = (start / np.trace(start)).reshape(1, -1)
        end = fixed_point(update, row, scale=np.ones_like, **how)
        self.found[x] = size * end.state.reshape(start.shape)
        return self.found[x]

    def square(self, x: float) -> float:
        r"""Square :math:`\lambda_s^2` of the signal."""
        return float(np.exp(x) / np.trace(self.posterior.overlap(self.evidence(x))))

    def advantage(self, x: float) -> float:
        """Free entropy (Eq. 8.19), which is 0 where nothing is recovered."""
        m = self.evidence(x)
        lost = 0.25 * np.sum(m * self.posterior.overlap(m))
        return float(self.posterior.information(m)[0] - lost)


def main() -> None:
    """Print the two signals of the fractions on the command line."""
    print(*(f"{signal:.6f}" for signal in hard_phase_ends(np.array(sys.argv[1:], float))))


if __name__ == "__main__":
    main()
