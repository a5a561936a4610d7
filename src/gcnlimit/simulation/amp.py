"""Bayes-optimal inference on an instance, by approximate message passing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import log_softmax, logsumexp

from gcnlimit._validation import check_types, number, tolerance, whole
from gcnlimit._values import Array, Brief
from gcnlimit.errors import ParameterError
from gcnlimit.performance import FullPerformance, Status
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.codes import Classes, Indices, class_codes, class_fractions, indices_of
from gcnlimit.simulation.features import StreamedFeatures, one_pass
from gcnlimit.simulation.instance import Instance
from gcnlimit.simulation.measure import balanced_rate, hit_rate, measurable, measured, roc_area
from gcnlimit.simulation.observation import Observation, feature_levels

__all__ = ["Inference", "amp"]

_CERTAIN = 40.0  # score of the true class over the others from which an informed start sets out


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
    """

    probabilities: Array
    labels: Array
    log_odds: Array
    centroid: Array
    status: Status
    iterations: int
    change: float
    performance: FullPerformance | None


def amp(
    instance: Instance | Observation,
    *,
    start: Literal["labels", "truth"] = "labels",
    max_iterations: int = 200,
    tol: float = 1e-6,
    damping: float = 0.0,
    seed: int = 0,
    device: Device | None = None,
) -> Inference:
    r"""Approximate message passing: Bayes-optimal inference of the labels, given the parameters of the model.

    With :math:`S = A^s/\sqrt N` the symmetrized operator, :math:`\lambda_s` its signal, :math:`\hat Y` the posterior means of the
    codes and :math:`C_y = \frac1N \sum_i \mathrm{Cov}(y_i)` their mean covariance, it iterates

    .. math::
        \hat u_\nu &= (1 + A_u)^{-1} B_u, \quad A_u = \frac\mu N \hat Y^T \hat Y, \quad
        B_u = \sqrt{\tfrac\mu N} X^T \hat Y - \mu\, \hat u^{old} C_y, \\
        B_y &= \lambda_s S \hat Y - \lambda_s^2\, \hat Y^{old} C_y
               + \sqrt{\tfrac\mu N} X \hat u - \frac{\mu M}N \hat Y (1 + A_u)^{-1}, \quad
        A_y = \frac{\lambda_s^2}N \hat Y^T \hat Y + \frac\mu N \hat u^T \hat u,

    and the posterior of a node, :math:`P(k) \propto p_k \exp(B_y \cdot y_k - \frac12 y_k^T A_y y_k)`: for two equal classes
    :math:`\hat y = \tanh B_y`. Labelled nodes keep their codes. Features of noise :math:`\sigma_\nu^2` and signal
    :math:`\Gamma_\nu` are divided by :math:`\sigma_\nu`, and their centroids have the prior variance
    :math:`\Gamma_\nu/\sigma_\nu^2` in place of 1. Only observations enter; the latents of an instance serve to measure the
    result. Its accuracy in the large-size limit is that of the state evolution, Eqs. 5.1 and 8.8.

    Parameters
    ----------
    instance
        An instance, or its observation alone.
    start
        ``"labels"`` starts with a little noise on the nodes that are not labelled, as an algorithm must; ``"truth"`` from all
        latent labels, which reaches the other fixed point of a hard phase.
    max_iterations, tol
        Stop when the root mean square change of :math:`\hat Y`, over one less `damping`, is below `tol`.
    damping
        Fraction of the old log-odds kept in each step, in [0, 0.99].
    seed
        Of the small random start.
    device
        Where to compute: ``"cpu"``, or ``"cuda"`` for a graphics card (PyTorch, extra ``gpu``); by default where the features
        were drawn. An iteration draws streamed features once.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> posterior = gl.amp(gl.sample(data, nodes=2000, degree=30, seed=0))
    >>> bool(abs(posterior.performance.test_accuracy - gl.bayes_optimal(data).test_accuracy) < 0.04)
    True
    >>> five = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1, classes=5)
    >>> gl.amp(gl.sample(five, nodes=2000, degree=60, seed=0)).probabilities.shape
    (2000, 5)
    """
    check_types("amp", instance=(instance, (Instance, Observation)))
    steps, tol = whole("max_iterations", max_iterations, low=1), tolerance("tol", tol)
    observation = instance.observation if isinstance(instance, Instance) else instance
    keep = number("damping", damping, low=0, high=0.99)
    update = _Update(observation, observation.device(device))
    scores = update.informed(instance, start) if start != "labels" else update.uninformed(seed)
    state = _State(
        update.means(scores), np.zeros(update.shape), np.zeros((observation.features.shape[1], update.shape[1]))
    )
    status, change = Status.NOT_CONVERGED, math.inf
    for iteration in range(1, steps + 1):  # noqa: B007
        u, new = update(state)
        scores = (1.0 - keep) * new + keep * scores
        state = _State(update.means(scores), state.y, u)
        change = float(np.sqrt(np.mean((state.y - state.old) ** 2))) / (1.0 - keep)
        if not math.isfinite(change):
            raise ParameterError(
                f"lam = {observation.data.lam:g}, mu = {observation.data.mu:g}: the log-odds overflow; take weaker signals"
            )
        if change <= tol:
            status = Status.CONVERGED
            break
    certain = update.certain(scores)
    performance = _measure(instance, certain) if isinstance(instance, Instance) else None
    labels, centroid = (x[:, 0] if x.shape[1] == 1 else x for x in (state.y, state.u * update.deviation))
    odds = _half_log_odds(certain)
    return Inference(np.exp(certain), labels, odds, centroid, status, iteration, change, performance)


class _State(NamedTuple):
    """Posterior means of the codes, now and one step before, and of the centroids, over the noise of their features."""

    y: Array
    old: Array
    u: Array


class _Update:
    """One step of the iteration, on the observation alone."""

    def __init__(self, observation: Observation, device: Device) -> None:
        self.observation, self.backend = observation, backend_of(device)
        self.signal = float(observation.data.effective_signal(symmetrize=True))
        self.mu = float(observation.data.mu) / observation.nodes
        self.S = observation.operator(True, device)
        self.codes, self.prior = class_codes(observation.classes), class_fractions(observation.classes)
        self.shape = (observation.nodes, self.codes.shape[1])
        variance, signal = feature_levels(observation.data.features, observation.features.shape[1])
        self.deviation, self.gain = np.sqrt(variance)[:, None], (signal / variance)[:, None]
        X = observation.features
        self.X = X if isinstance(X, StreamedFeatures) else self.backend.place(X)

    def uninformed(self, seed: int) -> Array:
        """Scores of small random evidence, since none at all is a fixed point if no label is known."""
        evidence = 1e-2 * np.random.default_rng(whole("seed", seed, low=0)).standard_normal(self.shape)
        return self._scores(evidence, np.zeros((self.shape[1], self.shape[1])))

    def informed(self, instance: Instance | Observation, start: str) -> Array:
        """Scores that are sure of the latent labels."""
        if start != "truth":
            raise ParameterError(f"start = {start!r} is not allowed; it must be 'labels' or 'truth'")
        if not isinstance(instance, Instance) or np.isnan(instance.labels).any():
            raise ParameterError("start = 'truth' needs an Instance whose labels are all known; take start='labels'")
        return _CERTAIN * np.eye(self.prior.size)[indices_of(instance.labels, self.observation.classes)]

    def means(self, scores: Array) -> Array:
        """Posterior means of the codes, certain where the label is known."""
        seen = self.observation.train_mask[:, None]
        return np.where(seen, self.observation.train_codes, np.exp(log_softmax(scores, axis=1)) @ self.codes)

    def certain(self, scores: Array) -> Array:
        """Logarithms of the posterior probabilities, certain where the label is known."""
        mask, logs = self.observation.train_mask, log_softmax(scores, axis=1)
        logs[mask] = -np.inf
        logs[mask, indices_of(self.observation.train_labels[mask], self.observation.classes)] = 0.0
        return np.asarray(logs)

    def __call__(self, state: _State) -> tuple[Array, Array]:
        """New centroids, and new scores of the classes."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._step(state)

    def _step(self, state: _State) -> tuple[Array, Array]:
        y, old, u = state
        mu, overlap = self.mu, y.T @ y
        unsure = self._covariance(y, overlap)
        values, basis = np.linalg.eigh(overlap)
        shrink = self.gain / (1.0 + mu * self.gain * values)  # posterior variances of the centroids in that basis
        u, features = self._centroids(y, mu * u @ unsure, shrink, basis)
        neighbours = self.backend.host(self.S @ self._placed(y)).astype(float)
        graph = self.signal * neighbours - self.signal * self.signal / len(y) * (old @ unsure)
        features = math.sqrt(mu) * features - mu * y @ (basis * shrink.sum(axis=0) @ basis.T)
        precision = self.signal * self.signal / len(y) * overlap + mu * u.T @ u
        return u, self._scores(graph + features, precision)

    def _centroids(self, y: Array, reaction: Array, shrink: Array, basis: Array) -> tuple[Array, Array]:
        """Posterior means of the centroids over the noise of their features, and the features times them, in one pass."""
        root = math.sqrt(self.mu)
        over, back, shrunk, turn = (self._placed(v) for v in (1.0 / self.deviation, reaction, shrink, basis))

        def weigh(part: slice, weights: Any) -> Any:
            field = root * weights * over[part] - back[part]
            return (field @ turn * shrunk[part]) @ turn.T * over[part]

        weights, product = (self.backend.host(v).astype(float) for v in one_pass(self.X, self._placed(y), weigh))
        return weights * self.deviation, product

    def _placed(self, values: Array) -> Any:
        return self.backend.place(np.ascontiguousarray(values.astype(self.observation.features.dtype)))

    def _covariance(self, y: Array, overlap: Array) -> Array:
        """Sum over the nodes of the posterior covariance of their codes."""
        second = self.codes.T * self._class_sizes(y) @ self.codes
        return np.asarray(second - overlap)

    def _class_sizes(self, y: Array) -> Array:
        r"""Expected number of nodes in each class, from :math:`P(k) = p_k (1 + \hat y \cdot y_k)`."""
        return np.asarray(self.prior * (len(y) + self.codes @ y.sum(axis=0)))

    def _scores(self, evidence: Array, precision: Array) -> Array:
        return np.asarray(
            evidence @ self.codes.T
            - 0.5 * np.einsum("ka,ab,kb->k", self.codes, precision, self.codes)
            + np.log(self.prior)
        )


def _half_log_odds(logs: Array) -> Array:
    """Half of the log-odds of the first of two classes, or of each of more."""
    if logs.shape[1] == 2:
        return np.asarray(0.5 * (logs[:, 0] - logs[:, 1]))
    others = [logsumexp(np.delete(logs, k, axis=1), axis=1) for k in range(logs.shape[1])]
    return np.asarray(0.5 * (logs - np.stack(others, axis=1)))


def _measure(instance: Instance, logs: Array) -> FullPerformance:
    """Performance of a posterior, given by its logarithms."""
    test, classes = measurable(instance), instance.data.classes
    kinds, prior = indices_of(instance.labels, classes)[test], class_fractions(classes)
    scores = logs[test] if instance.train_mask.any() else _renamed(logs[test], kinds, classes)
    right = hit_rate(scores, kinds)
    loss = -float(np.mean(scores[np.arange(kinds.size), kinds])) if kinds.size else math.nan
    balanced = balanced_rate(scores - np.log(prior), kinds, prior.size)
    area = roc_area(scores[:, 0] - scores[:, 1], kinds) if prior.size == 2 else math.nan
    return measured(classes, np.array([right, 1.0, loss, 0.0, right, balanced, area]))


def _renamed(scores: Array, kinds: Indices, classes: Classes) -> Array:
    """Scores with classes of equal size exchanged, so that most nodes are right."""
    from scipy.optimize import linear_sum_assignment

    count = scores.shape[1]
    together = np.zeros((count, count))
    np.add.at(together, (kinds, np.argmax(scores, axis=1)), 1.0)
    alike = np.equal.outer(class_fractions(classes), class_fractions(classes))
    return scores[:, linear_sum_assignment(np.where(alike, together, -1.0 - kinds.size), maximize=True)[1]]
