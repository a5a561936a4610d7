"""What inference on an instance answers, and what its algorithms share: the prior, the loop, the measurement."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy.special import log_softmax, logsumexp

from gcnlimit._values import Array, Brief
from gcnlimit.classes import Classes, Indices
from gcnlimit.numerics.gaussian import roc_area
from gcnlimit.results.performance import Performance, Status
from gcnlimit.simulation.data.instance import Instance
from gcnlimit.simulation.data.observation import Observation
from gcnlimit.simulation.measure import balanced_rate, by_cell, hits_of, measurable, measured


@dataclass(frozen=True, eq=False)
class Inference(Brief):
    r"""Posterior of labels and centroids.

    Parameters
    ----------
    probabilities
        Posterior probability of each class, :math:`N \times C`; the largest is the Bayes-optimal classification. For two equal
        classes the first column is that of :math:`+1`.
    labels
        Posterior means :math:`\hat y_i` of the codes of the labels (Eq. 8.1): in :math:`[-1, 1]` for two equal classes, of
        :math:`C - 1` columns for three classes or more.
    log_odds
        Half of the posterior log-odds: of the first of two classes, :math:`\mathrm{artanh}\, \hat y_i` if they are equal, and of
        each class, in columns, for more; infinite on labelled nodes.
    centroid
        Posterior mean :math:`\hat u` of the directions of the features, one column for each of :math:`C - 1` of them.
    status, iterations, change
        How the iteration ended, after how many steps, and the root mean square change of the last.
    performance
        Accuracies, and losses as cross-entropies in nats, if the latents are known, else None. Without labelled nodes
        classes of equal size can be exchanged, and the best assignment counts.
    free_entropy
        Logarithm of the probability of graph and features given the labels of the labelled nodes, over that of a graph and
        features without classes, per node, in Bethe's approximation (Eq. 9.5). Of two states that different starts lead to, the
        one with the larger is Bayes-optimal; on large graphs it is that of `bayes_optimal` (Eqs. 8.11 and 8.19).
    """

    probabilities: Array
    labels: Array
    log_odds: Array
    centroid: Array
    status: Status
    iterations: int
    change: float
    performance: Performance | None
    free_entropy: float

    @classmethod
    def of(  # noqa: PLR0917
        cls,
        instance: Instance | Observation,
        scores: Array,
        means: Array,
        centroid: Array,
        ended: Ended,
        entropy: float,
    ) -> Self:
        """Posterior from its logarithms up to a constant, `scores`, and the posterior means of codes and centroids."""
        logs = log_softmax(scores, axis=1)
        performance = _measured(instance, logs) if isinstance(instance, Instance) else None
        labels, centroid = (x[:, 0] if x.shape[1] == 1 else x for x in (means, centroid))
        return cls(np.exp(logs), labels, _half_log_odds(logs), centroid, *ended, performance, entropy)


class Ended(NamedTuple):
    """How an iteration ended, after how many steps, and with what change in the last."""

    status: Status
    iterations: int
    change: float


def iterate(step: Callable[[], float], most: int, tol: float) -> Ended:
    """Repeat a step, at most so many times, until the change that it returns is at most `tol`.

    >>> changes = iter([1.0, 0.1, 0.01])
    >>> iterate(lambda: next(changes), most=9, tol=0.1).iterations
    2
    """
    change = math.inf
    for count in range(1, most + 1):
        change = step()
        if change <= tol:
            return Ended(Status.CONVERGED, count, change)
    return Ended(Status.NOT_CONVERGED, most, change)


def log_prior(observation: Observation) -> Array:
    """Logarithm of the probability of each class of each node without its graph and features, certain where it is labelled."""
    mask = observation.train_mask
    prior = np.tile(np.log(observation.classes.fractions), (observation.nodes, 1))
    prior[mask] = -np.inf
    prior[mask, observation.train_class_index] = 0.0
    return prior


def _half_log_odds(logs: Array) -> Array:
    """Half of the log-odds of the first of two classes, or of each of more."""
    if logs.shape[1] == 2:
        return np.asarray(0.5 * (logs[:, 0] - logs[:, 1]))
    others = [logsumexp(np.delete(logs, k, axis=1), axis=1) for k in range(logs.shape[1])]
    return np.asarray(0.5 * (logs - np.stack(others, axis=1)))


def _measured(instance: Instance, logs: Array) -> Performance:
    """Performance of a posterior, given by its logarithms."""
    test, classes = measurable(instance), instance.data.classes
    class_index, prior = classes.index_of(instance.labels)[test], classes.fractions
    scores = logs[test] if instance.train_mask.any() else _renamed(logs[test], class_index, classes)
    hits = hits_of(scores, class_index)
    right = float(np.mean(hits)) if hits.size else math.nan
    loss = -float(np.mean(scores[np.arange(class_index.size), class_index])) if class_index.size else math.nan
    balanced = balanced_rate(scores - np.log(prior), class_index, prior.size)
    area = roc_area(scores[:, 0] - scores[:, 1], class_index) if prior.size == 2 else math.nan
    fields = [right, 1.0, loss, 0.0, right, balanced, area]
    return measured(instance.data, np.array([*fields, *by_cell(instance, test, hits)]))


def _renamed(scores: Array, class_index: Indices, classes: Classes) -> Array:
    """Scores with classes of equal size exchanged, so that most nodes are right."""
    from scipy.optimize import linear_sum_assignment

    count = scores.shape[1]
    together = np.zeros((count, count))
    np.add.at(together, (class_index, np.argmax(scores, axis=1)), 1.0)
    alike = np.equal.outer(classes.fractions, classes.fractions)
    return scores[:, linear_sum_assignment(np.where(alike, together, -1.0 - class_index.size), maximize=True)[1]]
