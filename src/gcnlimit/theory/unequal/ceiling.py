"""The ceiling of three or more unequal classes, by the fixed points of a matrix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gcnlimit._labels import labelled
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.order_parameters import OrderParameters, Output
from gcnlimit.performance import BayesPrediction, Performance, Prediction, Status
from gcnlimit.theory.points import at_each_point
from gcnlimit.theory.unequal.decision import posterior_log_error
from gcnlimit.theory.unequal.evolution import MatrixEvolution, MatrixFixedPoint
from gcnlimit.theory.unequal.nodes import GaussianRule, gaussian_rules
from gcnlimit.theory.unequal.posterior import MatrixPosterior

__all__ = ["unequal_ceiling"]

Found = list[MatrixFixedPoint]


def unequal_ceiling(data: CSBM) -> BayesPrediction:
    """Bayes-optimal performance on three or more unequal classes; see `bayes_optimal`.

    >>> answer = unequal_ceiling(CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1, classes=[0.5, 0.3, 0.2]))
    >>> round(answer.test_accuracy, 6), round(answer.test_loss, 6)
    (0.940375, 0.157293)
    """
    with np.errstate(all="ignore"):  # evidence beyond the largest number is infinite
        answer: BayesPrediction = at_each_point(data, _ceiling)
    return replace(answer, algorithmic=labelled(answer.algorithmic, data))


def _ceiling(data: CSBM) -> BayesPrediction:
    """Answer at one point: the means over the rules, with their standard error if there are several."""
    evolutions = [
        MatrixEvolution.of(data, MatrixPosterior(data.fractions, rule))
        for rule in gaussian_rules(data.fractions.size - 1)
    ]
    pairs = [evolution.fixed_points() for evolution in evolutions]
    above, below = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    entropies = [
        np.mean([e.free_entropy(x.overlap) for e, x in zip(evolutions, found, strict=True)]) for found in (above, below)
    ]
    best = below if entropies[1] > entropies[0] else above
    hard = best is above and any(high is not low for high, low in pairs)
    posteriors = [evolution.posterior for evolution in evolutions]
    answer = _fields(posteriors, best)
    return BayesPrediction(
        **answer,
        algorithmic=Prediction(**(_fields(posteriors, below) if hard else answer)),
        hard=hard,
        free_entropy=float(max(entropies)),
    )


def _fields(posteriors: list[MatrixPosterior], found: Found) -> dict[str, Any]:
    """Fields of the prediction at these fixed points, one for each rule."""
    p = posteriors[0].fractions
    rules = [_fewer(posterior.rule, p.size - 2) for posterior in posteriors]
    logs, balanced = (
        np.array([posterior_log_error(x.evidence, p, prior, rule) for x, rule in zip(found, rules, strict=True)])
        for prior in (p, np.full(p.size, 1.0 / p.size))
    )
    errors = np.exp(logs)
    losses = np.array([a.information(x.evidence)[1] for a, x in zip(posteriors, found, strict=True)])
    evidence, overlap = (
        float(np.mean([np.trace(x) / len(x) for x in values]))
        for values in ([x.evidence for x in found], [x.overlap for x in found])
    )
    law: Any = evidence, evidence, 0.0
    accuracy = float(1.0 - np.mean(errors))
    return {
        "test_accuracy": accuracy,
        "train_accuracy": 1.0,
        "test_loss": float(np.mean(losses)),
        "train_loss": 0.0,
        "log_test_error": float(np.logaddexp.reduce(logs) - np.log(logs.size)),
        "best_accuracy": accuracy,
        "balanced_accuracy": float(1.0 - np.mean(np.exp(balanced))),
        "roc_auc": None,
        "standard_error": Performance(_spread(errors), 0.0, _spread(losses), 0.0, _spread(logs)),
        "order_parameters": OrderParameters(
            test_margin=float(np.sqrt(evidence)),
            train_margin=np.inf,
            output=Output(*law),
            overlap=overlap,
        ),
        "status": Status.CONVERGED if all(x.converged for x in found) else Status.NOT_CONVERGED,
        "residual": max(x.residual for x in found),
        "iterations": max(x.iterations for x in found),
    }


def _fewer(rule: GaussianRule, dimensions: int) -> GaussianRule:
    """Rule for the decision, in one dimension fewer: a product rule of its own, or the first coordinates of random nodes."""
    rules = gaussian_rules(dimensions)
    return rules[0] if len(rules) == 1 and rule.nodes.shape[1] <= 3 else rule


def _spread(values: Array) -> float:
    """Standard error of the mean of random values; 0 for a single rule, which is exact to the digits kept."""
    if values.size == 1 or not np.all(np.isfinite(values)):
        return 0.0
    return float(np.std(values, ddof=1) / np.sqrt(values.size))
