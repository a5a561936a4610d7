"""What inference on an instance answers, and what its algorithms share: prior, loop, messages of the features, measurement."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import log_softmax, logsumexp

from gcnlimit._validation import number, tolerance, whole
from gcnlimit._values import Array, Brief
from gcnlimit.classes import Classes, Indices, code_moments
from gcnlimit.errors import ParameterError
from gcnlimit.numerics.gaussian import roc_area
from gcnlimit.results.calibration import calibration_column
from gcnlimit.results.performance import Performance, Status
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.data.features import feature_levels, one_pass, streamed
from gcnlimit.simulation.data.instance import Given, Instance
from gcnlimit.simulation.data.observation import Observation
from gcnlimit.simulation.measure import balanced_rate, by_cell, hits_of, measurable, measured

Ended = tuple[Status, int, float]  # how an iteration ended, its steps, and the change in the last
Moments = tuple[Array, Array, Array]  # means of the codes, and the sums of `code_moments`


@dataclass(frozen=True, eq=False)
class Inference(Brief):
    r"""Posterior of labels and centroids.

    Parameters
    ----------
    probabilities
        Posterior probability of each class, :math:`N \times C`; for two equal classes the first column is that of :math:`+1`.
    labels
        Posterior means :math:`\hat y_i` of the codes of the labels (Eq. 8.1), of :math:`C - 1` columns for three classes or more.
    log_odds
        Half of the posterior log-odds of the first of two classes, or of each of more, in columns; infinite on labelled nodes.
    centroid
        Posterior mean :math:`\hat u` of the directions of the features, one column for each of :math:`C - 1` of them.
    status, iterations, change
        How the iteration ended, after how many steps, and the root mean square change in the last.
    performance
        Accuracies, and losses as cross-entropies in nats, if the latents are known, else None. Without labelled nodes
        classes of equal size can be exchanged, and the best assignment counts.
    free_entropy
        Bethe free entropy per node (Eq. 9.5). Of two states that different starts lead to, the one with the larger is
        Bayes-optimal; on large graphs it is that of `bayes_optimal` (Eqs. 8.11 and 8.19).
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
        cls, graph: Given, logs: Array, means: Array, centroid: Array, ended: Ended, entropy: float
    ) -> Self:
        """Posterior from its logarithms up to a constant, and the posterior means of codes and centroids."""
        logs = log_softmax(logs, axis=1)
        odds = _half_log_odds(logs)
        performance = measured_posterior(graph, logs) if isinstance(graph, Instance) else None
        labels, centroid = (x[:, 0] if x.shape[1] == 1 else x for x in (means, centroid))
        return cls(np.exp(logs), labels, odds, centroid, *ended, performance, entropy)


def iterate(
    step: Callable[[float], float],
    observations: Sequence[Observation],
    max_iterations: int,
    tol: float,
    damping: float,
) -> Ended:
    """Repeat a step, which is given the `damping`, until the change that it returns is at most `tol`; how and when it ended.

    >>> changes = iter([1.0, 0.1, 0.01])
    >>> iterate(lambda damping: next(changes), [], max_iterations=9, tol=0.1, damping=0.0)
    (<Status.CONVERGED: 1>, 2, 0.1)
    """
    most = whole("max_iterations", max_iterations, low=1)
    tol = tolerance("tol", tol)
    keep = number("damping", damping, low=0, high=0.99)
    for count in range(1, most + 1):
        change = step(keep)
        if change <= tol:
            return Status.CONVERGED, count, change
        if not math.isfinite(change):
            at = ", ".join(f"lam = {o.data.lam:g}, mu = {o.data.mu:g}" for o in observations)
            raise ParameterError(f"{at}: the messages overflow; take weaker signals")
    return Status.NOT_CONVERGED, most, change


def log_prior(observation: Observation) -> Array:
    """Logarithm of the probability of each class of each node by its label alone, certain if no label is wrong."""
    mask, noise = observation.train_mask, observation.data.noise
    prior = np.tile(np.log(observation.classes.fractions), (observation.nodes, 1))
    prior[mask] = math.log(noise) if noise else -np.inf
    prior[mask, observation.train_class_index] = math.log1p(-noise)
    return prior


class CentroidMessages:
    r"""Approximate message passing between the centroids of the classes and the nodes.

    With :math:`\hat Y` the posterior means of the codes and :math:`\Sigma` the sum over the nodes of their covariances (Eq. 9.4)

    .. math::
        \hat U &= \Bigl(\sqrt{\tfrac\mu N} X^T \hat Y - \tfrac\mu N \hat U^{old} \Sigma\Bigr) V, \qquad
        V = (1 + A)^{-1}, \quad A = \tfrac\mu N \hat Y^T \hat Y, \\
        f_{ik} &= b_i \cdot y_k - \tfrac\mu{2N} |\hat U y_k|^2, \qquad
        b = \sqrt{\tfrac\mu N} X \hat U - \tfrac{\mu M}N \hat Y V .

    Features of noise :math:`\sigma_\nu^2` and signal :math:`\Gamma_\nu` are divided by :math:`\sigma_\nu`, and their
    centroids have the prior variance :math:`\gamma_\nu = \Gamma_\nu/\sigma_\nu^2`, the `gain`, in place of 1. The graphs of
    several `observations` share the centroids: each has its own rate :math:`\mu/N`, and sums are over all nodes (Eq. 10.16).
    """

    def __init__(self, observations: Sequence[Observation], device: Device) -> None:
        self.codes = [o.classes.codes for o in observations]
        self.backend = backend_of(device)
        self.rates = [float(o.data.mu) / o.nodes for o in observations]
        self.rate = max(self.rates)
        self.share = [rate / self.rate if self.rate else 1.0 for rate in self.rates]
        self.ends = np.cumsum([o.nodes for o in observations])[:-1]
        X: Any = observations[0].features
        if len(observations) > 1:
            X = np.concatenate([np.asarray(o.features) for o in observations])
        self.X = X if streamed(X) else self.backend.place(X)
        self.dtype = X.dtype
        nodes, width = X.shape
        directions = self.codes[0].shape[1]
        variance, signal = feature_levels(observations[0].data.features, width)
        self.deviation = np.sqrt(variance)[:, None]
        self.gain = (signal / variance)[:, None]
        self.centroids = np.zeros((width, directions))  # over the noise of their features
        self.product = np.zeros((nodes, directions))  # of the features with them
        self.resolved = np.zeros((width, directions))  # gains times the eigenvalues of A

    def field(self, marginals: Array, keep: float = 0.0) -> Array:
        """Renew the centroids, of which a fraction `keep` stays, and return logarithms of the evidence on classes of nodes."""
        moments = list(map(code_moments, np.split(marginals, self.ends), self.codes))
        fields = self.messages(moments, keep)
        evidence = []
        for rate, y, field in zip(self.rates, self.codes, fields, strict=True):
            size = np.sum((self.centroids @ y.T) ** 2, axis=0)
            evidence.append(field @ y.T - 0.5 * rate * size)
        return np.concatenate(evidence)

    def messages(self, moments: Sequence[Moments], keep: float = 0.0) -> list[Array]:
        """Renew the centroids and return the fields :math:`b` on the nodes of each graph, from the moments of their codes."""
        means, second, each = zip(*moments, strict=True)
        squares = self.summed(each)
        # each eigenvector of the squares is a regression of its own, of as many features
        values, basis = np.linalg.eigh(squares)
        self.resolved = self.rate * self.gain * np.maximum(values, 0.0)
        # posterior variances of the centroids in that basis, and Onsager's reaction
        shrink = self.gain / (1.0 + self.resolved)
        reaction = self.rate * self.centroids @ (self.summed(second) - squares)
        sent = [math.sqrt(share) * part for share, part in zip(self.share, means, strict=True)]
        self._renew(np.concatenate(sent), reaction, shrink, basis, keep)
        variance = basis * shrink.sum(axis=0) @ basis.T
        parts = zip(self.rates, means, np.split(self.product, self.ends), strict=True)
        return [math.sqrt(rate) * product - rate * mean @ variance for rate, mean, product in parts]

    def summed(self, matrices: Sequence[Array]) -> Array:
        """Sum over the graphs, each with its rate over the largest."""
        return np.asarray(sum(s * matrix for s, matrix in zip(self.share, matrices, strict=True)))

    def free_entropy(self) -> float:
        r"""Bethe term of the features, :math:`M\,\mathrm{tr}(1 - V) - \frac M2\log\det(1 + A) - \frac12|\hat U|^2` (Eq. 9.5)."""
        terms = self.resolved / (1.0 + self.resolved) - 0.5 * np.log1p(self.resolved)
        used = self.gain[:, 0] > 0.0
        return float(np.sum(terms) - 0.5 * np.sum(self.centroids[used] ** 2 / self.gain[used]))

    def _renew(self, means: Array, react: Array, shrink: Array, basis: Array, keep: float) -> None:
        """Renew the centroids, and the features times them, in one pass over the features."""
        root = math.sqrt(self.rate)
        parts = (means, 1.0 / self.deviation, react, shrink, basis)
        placed = (self.backend.place(np.ascontiguousarray(v.astype(self.dtype))) for v in parts)
        sent, over, back, shrunk, turn = placed

        def weigh(part: slice, weights: Any) -> Any:
            # in units of the noise of each feature, and back
            field = root * weights * over[part] - back[part]
            return (field @ turn * shrunk[part]) @ turn.T * over[part]

        sums = one_pass(self.X, sent, weigh)
        weights, product = (self.backend.host(v).astype(float) for v in sums)
        self.centroids = (1.0 - keep) * weights * self.deviation + keep * self.centroids
        self.product = (1.0 - keep) * product + keep * self.product


def _half_log_odds(logs: Array) -> Array:
    """Half of the log-odds of the first of two classes, or of each of more."""
    if logs.shape[1] == 2:
        return np.asarray(0.5 * (logs[:, 0] - logs[:, 1]))
    others = [logsumexp(np.delete(logs, k, axis=1), axis=1) for k in range(logs.shape[1])]
    return np.asarray(0.5 * (logs - np.stack(others, axis=1)))


def measured_posterior(instance: Instance, logs: Array) -> Performance:
    """Performance of a posterior, given by its logarithms."""
    test = measurable(instance)
    classes = instance.data.classes
    class_index = classes.index_of(instance.labels)[test]
    prior = classes.fractions
    scores = logs[test] if instance.train_mask.any() else _renamed(logs[test], class_index, classes)
    hits = hits_of(scores, class_index)
    true = scores[np.arange(hits.size), class_index]
    right, loss = (float(np.mean(v)) if v.size else math.nan for v in (hits, -true))
    balanced = balanced_rate(scores - np.log(prior), class_index, prior.size)
    area = roc_area(scores[:, 0] - scores[:, 1], class_index) if prior.size == 2 else math.nan
    trained = (1.0, 0.0)
    if instance.data.noise:
        labelled = logs[instance.train_mask], instance.observation.train_class_index
        kept = labelled[0][np.arange(labelled[1].size), labelled[1]]
        trained = (float(np.mean(hits_of(*labelled))), -float(np.mean(kept)))
    fields = [right, trained[0], loss, trained[1], right, balanced, area]
    sure = calibration_column(scores, class_index)
    return measured(instance.data, np.array([*fields, *sure, *by_cell(instance, test, hits)]))


def _renamed(scores: Array, class_index: Indices, classes: Classes) -> Array:
    """Scores with classes of equal size exchanged, so that most nodes are right."""
    from scipy.optimize import linear_sum_assignment

    count = scores.shape[1]
    together = np.zeros((count, count))
    np.add.at(together, (class_index, np.argmax(scores, axis=1)), 1.0)
    alike = np.equal.outer(classes.fractions, classes.fractions)
    gain = np.where(alike, together, -1.0 - class_index.size)
    return scores[:, linear_sum_assignment(gain, maximize=True)[1]]
