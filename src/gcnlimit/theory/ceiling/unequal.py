r"""The ceiling of three or more unequal classes, whose order parameter is a matrix (Eqs. 8.18 and 8.19).

In the order of symmetric matrices the evidence increases with the overlap, and the overlap with the evidence. The iteration
from :math:`q = 1` therefore falls to the largest fixed point, and that from :math:`q = \rho` rises to the smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.numerics.fixed_point import fixed_point
from gcnlimit.numerics.linear import matrix_function
from gcnlimit.results.order_parameters import OrderParameters, Output
from gcnlimit.results.performance import BayesPrediction, Performance, Prediction, Status
from gcnlimit.theory.ceiling.state_evolution import Evidence
from gcnlimit.theory.ceiling.unequal_posterior import (
    MatrixPosterior,
    coarse_rule,
    gaussian_rules,
    log_ratios,
    posterior_log_error,
    single_rule,
)

_LENGTH = 0.01  # relative change up to which small steps are lengthened
_NEAR = (3e-4, 3e-5, 1e-6)  # changes below which the iteration is accelerated, in turn if it fails
_PLAIN_STEPS = 1000  # down to one of them, at most
_TOL = 1e-11
_SURE = 320.0  # least squared distance of two classes at which all is known: errors below exp(-40)
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

    def evidence(self, q: Array) -> Array:
        """Evidence on a node at overlap `q` of the others (Eq. 8.18)."""
        return matrix_function(q, self.source.at)

    def overlap(self, m: Array) -> Array:
        r"""Overlap :math:`q = \rho + (1 - \rho)\, T(m)`."""
        identity = np.eye(len(m))
        apart = -2.0 * log_ratios(self.posterior.codes, m, m) + 2.0 * _SURE * np.eye(len(m) + 1)
        # beyond it rounding, not the overlap, would decide
        if np.min(apart) > _SURE:
            return identity
        return np.asarray(self.rho * identity + (1.0 - self.rho) * self.posterior.overlap(m))

    def free_entropy(self, q: Array) -> float:
        r"""Free entropy with the evidence at overlap `q` (Eq. 8.19); its fixed points are the stationary ones."""
        m = self.evidence(q)
        of_others = self.source.free_entropy(np.asarray(np.linalg.eigvalsh(q), float))
        shape = float(self.rho * np.trace(m) + np.sum(of_others))
        return 0.5 * shape + (1.0 - self.rho) * self.posterior.information(m)[0]

    def fixed_points(self) -> tuple[MatrixFixedPoint, MatrixFixedPoint]:
        """Return the largest fixed point, and the smallest one, which message passing reaches; the same twice if they agree."""
        identity = np.eye(self.posterior.codes.shape[1])
        unlabelled = self.rho == 0.0 and float(self.source.gain(np.zeros(1))[0]) <= 1.0
        none = MatrixFixedPoint(0.0 * identity, 0.0 * identity, 0.0, 0, True)
        above = self._search(identity)
        below = none if unlabelled else self._search((self.rho or _SEED) * identity)
        size = np.trace(above.overlap)
        if size - np.trace(below.overlap) > 1e-6 * size + 1e-9:
            return above, below
        return (none, none) if unlabelled else (above, above)

    def _search(self, start: Array) -> MatrixFixedPoint:
        """Fixed point to which the iteration from there leads: by steps in one direction, accelerated at the end."""
        q = start
        total = 0
        for near in _NEAR:
            q, sign, steps = self._march(q, near)
            end = self._accelerated(q)
            total += steps + end.iterations
            # the acceleration may turn back to an unstable fixed point; smaller steps then lead on
            onward = sign * np.trace(end.overlap - q) > -1e-9
            if end.converged and onward:
                return end._replace(iterations=total)
        return end._replace(iterations=total, converged=False)

    def _march(self, start: Array, tolerance: float) -> tuple[Array, float, int]:
        """Overlap after steps in one direction, until the change is below the tolerance; their sign, and their number.

        Small steps are lengthened, to less than the distance of two fixed points unless these are about to merge.
        """
        q = start
        step = self._next(start) - start
        sign = float(np.sign(np.trace(step)))
        for steps in range(_PLAIN_STEPS):
            change = float(np.max(np.abs(step)) / np.max(_size(q[None])))
            if not change > tolerance:
                return q, sign, steps
            trial = _clipped(q + step * np.clip(_LENGTH / change, 1.0, 16.0))
            ahead = self._next(trial) - trial
            # a lengthened step has passed the fixed point: take the plain one
            if sign * np.trace(ahead) < 0.0:
                trial = q + step
                ahead = self._next(trial) - trial
            q, step = trial, ahead
        return q, sign, _PLAIN_STEPS

    def _next(self, q: Array) -> Array:
        return self.overlap(self.evidence(q))

    def _accelerated(self, start: Array) -> MatrixFixedPoint:
        """Fixed point by Anderson acceleration."""

        def step(row: Array, _: Any) -> Array:
            return self._next(_clipped(row.reshape(start.shape))).reshape(1, -1)

        how: Any = {"tol": _TOL, "max_iterations": 200, "memory": 4}
        end = fixed_point(step, start.reshape(1, -1), scale=_size, **how)
        q = _clipped(end.state.reshape(start.shape))
        ended = end.residual.item(), end.iterations.item(), end.converged.item()
        return MatrixFixedPoint(q, self.evidence(q), *ended)


def _size(states: Array) -> Array:
    """Size by which residuals are measured: that of the overlap, unless it vanishes."""
    largest = np.max(np.abs(states), axis=1, keepdims=True)
    return np.broadcast_to(np.maximum(largest, 1e-3), states.shape)


def _clipped(matrix: Array) -> Array:
    """Nearest matrix with eigenvalues between 0 and 1."""
    return matrix_function(matrix, lambda values: np.clip(values, 0.0, 1.0))


@np.errstate(all="ignore")  # evidence beyond the largest number is infinite
def unequal_ceiling(data: CSBM, *, coarse: bool = False) -> BayesPrediction:
    """Bayes-optimal performance on three or more unequal classes, at one point; see `bayes_optimal`.

    It is the mean over the rules, with its standard error if there are several; quick and to about four digits if `coarse`.
    """
    dimensions = data.fractions.size - 1
    rules = (coarse_rule(dimensions),) if coarse else gaussian_rules(dimensions)
    posteriors = [MatrixPosterior(data.fractions, rule) for rule in rules]
    source = Evidence.of(data)
    evolutions = [MatrixEvolution(source, float(data.rho), posterior) for posterior in posteriors]
    pairs = [evolution.fixed_points() for evolution in evolutions]
    above, below = map(list, zip(*pairs, strict=True))

    def entropy(points: list[MatrixFixedPoint]) -> float:
        each = [e.free_entropy(x.overlap) for e, x in zip(evolutions, points, strict=True)]
        return float(np.mean(each))

    entropies = entropy(above), entropy(below)
    best = below if entropies[1] > entropies[0] else above
    hard = best is above and any(high is not low for high, low in pairs)
    answer = _prediction(posteriors, best)
    return BayesPrediction(
        **vars(answer),
        algorithmic=_prediction(posteriors, below) if hard else answer,
        hard=hard,
        free_entropy=max(entropies),
    )


def _prediction(posteriors: list[MatrixPosterior], points: list[MatrixFixedPoint]) -> Prediction:
    """Prediction at these fixed points, one for each rule; their scatter is its standard error."""
    p = posteriors[0].fractions
    equal = np.full(p.size, 1.0 / p.size)
    numbers = []
    for posterior, x in zip(posteriors, points, strict=True):
        # the decision has one variable fewer: a rule of its own, or some of the random coordinates
        rule = single_rule(p.size - 2) if p.size <= 4 else posterior.rule
        log, unfair = (posterior_log_error(x.evidence, p, prior, rule) for prior in (p, equal))
        loss = posterior.information(x.evidence)[1]
        numbers.append((np.exp(log), loss, log, np.exp(unfair)))
    columns = np.transpose(numbers)
    wrong, loss, _, unfair = np.mean(columns, axis=1).tolist()
    log = float(np.logaddexp.reduce(columns[2]) - np.log(len(numbers)))
    right = 1.0 - wrong
    error, loss_error, log_error, unfair_error = map(_spread, columns)
    errors = Performance(error, 0.0, loss_error, 0.0, log_error, error, unfair_error, None)
    evidence = float(np.mean([np.diag(x.evidence) for x in points]))
    output: Any = (evidence, evidence, 0.0)
    return Prediction(
        **vars(Performance(right, 1.0, loss, 0.0, log, right, 1.0 - unfair, None)),
        standard_error=errors,
        order_parameters=OrderParameters(
            test_margin=float(np.sqrt(evidence)),
            train_margin=np.inf,
            output=Output(*output),
            overlap=float(np.mean([np.diag(x.overlap) for x in points])),
        ),
        status=Status.CONVERGED if all(x.converged for x in points) else Status.NOT_CONVERGED,
        residual=max(x.residual for x in points),
        iterations=max(x.iterations for x in points),
    )


def _spread(values: Array) -> float:
    """Standard error of the mean of random values; 0 for a single rule, which is exact to the digits kept."""
    if values.size == 1 or not np.all(np.isfinite(values)):
        return 0.0
    return float(np.std(values, ddof=1) / np.sqrt(values.size))
