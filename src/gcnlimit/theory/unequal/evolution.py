r"""Fixed points of the state evolution whose order parameter is a matrix (Eq. 8.18), and their free entropy (Eq. 8.19).

In the order of symmetric matrices the evidence increases with the overlap, and the overlap with the evidence. The iteration
from :math:`q = 1` therefore falls to the largest fixed point, and that from :math:`q = \rho` rises to the smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.numerics.fixed_point import fixed_point
from gcnlimit.numerics.linear import matrix_function
from gcnlimit.theory.evidence import Evidence
from gcnlimit.theory.unequal.posterior import MatrixPosterior

__all__ = ["MatrixEvolution", "MatrixFixedPoint", "symmetric_matrix"]

_LENGTH = 0.01  # relative change up to which small steps are lengthened
_NEAR = (3e-4, 3e-5, 1e-6)  # relative changes below which the iteration is accelerated, in turn where that fails
_STEPS = 1000  # down to one of them, at most
_TOL = 1e-11
_SURE = 320.0  # smallest squared distance of two classes from which nothing is left to infer: errors below exp(-320/8)
_SEED = 1e-2  # overlap to start from without labels, where none at all is a fixed point


class MatrixFixedPoint(NamedTuple):
    """Overlap and evidence at a fixed point, its residual, the steps of the search, and whether they sufficed."""

    overlap: Array
    evidence: Array
    residual: float
    iterations: int
    converged: bool


@dataclass(frozen=True, eq=False)
class MatrixEvolution:
    """State evolution of one point."""

    source: Evidence
    rho: float
    posterior: MatrixPosterior

    @classmethod
    def of(cls, data: CSBM, posterior: MatrixPosterior) -> Self:
        """State evolution of data whose parameters are single numbers."""
        return cls(Evidence.of(data), float(data.rho), posterior)

    def evidence(self, q: Array) -> Array:
        """Evidence on a node at overlap `q` of the others (Eq. 8.18)."""
        return matrix_function(q, self.source.at)

    def overlap(self, m: Array) -> Array:
        r"""Overlap :math:`q = \rho + (1 - \rho)\, T(m)`."""
        one = np.eye(len(m))
        distance = self.posterior.distances(m) + 2.0 * _SURE * np.eye(len(m) + 1)
        if np.min(distance) > _SURE:
            return one
        return np.asarray(self.rho * one + (1.0 - self.rho) * self.posterior.overlap(m))

    def free_entropy(self, q: Array) -> float:
        r"""Free entropy with the evidence at overlap `q` (Eq. 8.19); its fixed points are the stationary ones."""
        m = self.evidence(q)
        shape = self.rho * float(np.trace(m)) + float(
            np.sum(self.source.free_entropy(np.asarray(np.linalg.eigvalsh(q), float)))
        )
        return 0.5 * shape + (1.0 - self.rho) * self.posterior.information(m)[0]

    def fixed_points(self) -> tuple[MatrixFixedPoint, MatrixFixedPoint]:
        """Return the largest fixed point, and the smallest one, which message passing reaches; the same twice if they agree."""
        one = np.eye(self.posterior.codes.shape[1])
        if self.certain:
            sure = MatrixFixedPoint(one, np.diag(self.source.at(np.diag(one))), 0.0, 0, True)
            return sure, sure
        unlabelled = self.rho == 0.0 and float(self.source.gain(np.zeros(1))[0]) <= 1.0
        none = MatrixFixedPoint(0.0 * one, 0.0 * one, 0.0, 0, True)
        above = self._search(one)
        below = none if unlabelled else self._search((self.rho or _SEED) * one)
        apart = np.trace(above.overlap - below.overlap) > 1e-6 * np.trace(above.overlap) + 1e-9
        if apart:
            return above, below
        return (none, none) if unlabelled else (above, above)

    @property
    def certain(self) -> bool:
        """Whether the labels alone leave nothing to infer."""
        p = self.posterior.fractions
        nearest = float(np.sum(1.0 / np.sort(p)[-2:]))  # squared distance of the two largest classes
        return not float(self.source.at(np.array([self.rho]))[0]) * nearest <= _SURE

    def _search(self, start: Array) -> MatrixFixedPoint:
        """Fixed point to which the iteration from there leads: by steps in one direction, accelerated at the end.

        The acceleration may turn back to another fixed point, such as none at all where that is unstable; the steps are then
        continued until they are smaller.
        """
        q, total = start, 0
        for near in _NEAR:
            q, sign, steps = self._march(q, near)
            found = self._accelerated(q)
            total += steps + found.iterations
            onward = sign * np.trace(found.overlap - q) > -1e-9
            if found.converged and onward:
                return found._replace(iterations=total)
        return found._replace(iterations=total, converged=False)

    def _march(self, start: Array, tolerance: float) -> tuple[Array, float, int]:
        """Steps that keep their direction, small ones lengthened, until the relative change is below the tolerance.

        Lengthened steps stay below the distance of two fixed points, unless these are about to merge. Returned are the overlap
        there, the direction, 1 for up and -1 for down, and the number of steps.
        """
        q, step = start, self._step(start)
        sign, steps = float(np.sign(np.trace(step))), 0
        while steps < _STEPS and (change := _change(q, step)) > tolerance:
            steps += 1
            trial = _clipped(q + step * np.clip(_LENGTH / change, 1.0, 16.0))
            ahead = self._step(trial)
            if sign * np.trace(ahead) < 0.0:
                trial = q + step
                ahead = self._step(trial)
            q, step = trial, ahead
        return q, sign, steps

    def _step(self, q: Array) -> Array:
        return np.asarray(self.overlap(self.evidence(q)) - q)

    def _accelerated(self, start: Array) -> MatrixFixedPoint:
        """Fixed point by Anderson acceleration."""
        size, upper = len(start), np.triu_indices(len(start))

        def update(states: Array, _: npt.NDArray[np.intp]) -> Array:
            overlaps = (self.overlap(self.evidence(_clipped(symmetric_matrix(x, size)))) for x in states)
            return np.stack([q[upper] for q in overlaps])

        found = fixed_point(update, start[upper][None], scale=_size, tol=_TOL, max_iterations=200, memory=4)
        q = _clipped(symmetric_matrix(found.state[0], size))
        residual, iterations, converged = float(found.residual[0]), int(found.iterations[0]), bool(found.converged[0])
        return MatrixFixedPoint(q, self.evidence(q), residual, iterations, converged)


def _change(q: Array, step: Array) -> float:
    """Size of a step relative to that of the overlap."""
    return float(np.max(np.abs(step)) / np.max(_size(q[None])))


def _size(states: Array) -> Array:
    """Size by which residuals are measured: that of the overlap, unless it vanishes."""
    return np.broadcast_to(np.maximum(np.max(np.abs(states), axis=1, keepdims=True), 1e-3), states.shape)


def _clipped(matrix: Array) -> Array:
    """Nearest matrix with eigenvalues between 0 and 1."""
    return matrix_function(matrix, lambda values: np.clip(values, 0.0, 1.0))


def symmetric_matrix(entries: Array, size: int) -> Array:
    """Symmetric matrix of these entries on and above the diagonal."""
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size)] = entries
    return matrix + np.triu(matrix, 1).T
