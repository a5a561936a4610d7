"""Bayes-optimal inference on an instance, by approximate message passing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gcnlimit._validation import check_types, number, tolerance, whole
from gcnlimit._values import Array, Brief
from gcnlimit.errors import ParameterError
from gcnlimit.performance import Performance, Status
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.features import StreamedFeatures, one_pass
from gcnlimit.simulation.instance import Instance
from gcnlimit.simulation.measure import accuracy, mean_over
from gcnlimit.simulation.observation import Observation

__all__ = ["Inference", "amp"]


@dataclass(frozen=True, eq=False)
class Inference(Brief):
    r"""Posterior of labels and centroid.

    Parameters
    ----------
    labels
        Posterior means :math:`\hat y_i \in [-1, 1]`; the signs are the Bayes-optimal classification.
    log_odds
        :math:`\mathrm{artanh}\, \hat y_i`, half of the posterior log-odds; infinite on labelled nodes.
    centroid
        Posterior mean :math:`\hat u`.
    status, iterations, change
        How the iteration ended, after how many steps, and the root mean square change of the last.
    performance
        Accuracies, and losses as cross-entropies in nats, if the latents are known, else None. Without labelled nodes
        the two classes can be exchanged, and the better of the two assignments counts.
    """

    labels: Array
    log_odds: Array
    centroid: Array
    status: Status
    iterations: int
    change: float
    performance: Performance | None


def amp(
    instance: Instance | Observation,
    *,
    max_iterations: int = 200,
    tol: float = 1e-6,
    damping: float = 0.0,
    seed: int = 0,
    device: Device | None = None,
) -> Inference:
    r"""Approximate message passing: Bayes-optimal inference of the labels, given the parameters of the model.

    With :math:`S = A^s/\sqrt N` the symmetrized operator and :math:`\lambda_s` its signal, it iterates

    .. math::
        \hat u &= \frac{B_u}{1 + A_u}, \quad A_u = \frac\mu N |\hat y|^2, \quad
        B_u = \sqrt{\tfrac\mu N} X^T \hat y - \frac\mu N \sum_i (1 - \hat y_i^2)\, \hat u^{old}, \\
        B_y &= \lambda_s S \hat y - \frac{\lambda_s^2}{N} \sum_i (1 - \hat y_i^2)\, \hat y^{old}
               + \sqrt{\tfrac\mu N} X \hat u - \frac{\mu M/N}{1 + A_u}\, \hat y^{old}, \quad \hat y = \tanh B_y,

    with :math:`\hat y = y` on labelled nodes. Only observations enter; the latents of an instance serve to measure the result.
    Its accuracy in the large-size limit is that of the state evolution, Eq. 5.1.

    Parameters
    ----------
    instance
        An instance, or its observation alone.
    max_iterations, tol
        Stop when the root mean square change of :math:`\hat y` is below `tol`.
    damping
        Fraction of the old log-odds kept in each step, in [0, 1].
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
    """
    check_types("amp", instance=(instance, (Instance, Observation)))
    steps, tol = whole("max_iterations", max_iterations, low=1), tolerance("tol", tol)
    observation = instance.observation if isinstance(instance, Instance) else instance
    keep = number("damping", damping, low=0, high=1)
    update = _Update(observation, observation.device(device))
    log_odds, old = update.start(seed), np.zeros(observation.nodes)
    y, u = update.labels(log_odds), np.zeros(observation.features.shape[1])
    status, change = Status.NOT_CONVERGED, math.inf
    for iteration in range(1, steps + 1):  # noqa: B007
        u, new = update(y, old, u)
        log_odds = (1.0 - keep) * new + keep * log_odds
        old, y = y, update.labels(log_odds)
        change = float(np.sqrt(np.mean((y - old) ** 2)))
        if not math.isfinite(change):
            raise ParameterError(
                f"lam = {observation.data.lam:g}, mu = {observation.data.mu:g}: the log-odds overflow; take weaker signals"
            )
        if change <= tol:
            status = Status.CONVERGED
            break
    log_odds = np.where(observation.train_mask, np.copysign(np.inf, observation.train_labels), log_odds)
    performance = _measure(instance, log_odds) if isinstance(instance, Instance) else None
    return Inference(y, log_odds, u, status, iteration, change, performance)


class _Update:
    """One step of the iteration, on the observation alone."""

    def __init__(self, observation: Observation, device: Device) -> None:
        self.observation, self.backend = observation, backend_of(device)
        self.signal = float(observation.data.effective_signal(symmetrize=True))
        self.mu = float(observation.data.mu)
        self.S = observation.operator(True, device)
        X = observation.features
        self.X = X if isinstance(X, StreamedFeatures) else self.backend.place(X)

    def start(self, seed: int) -> Array:
        """Small random log-odds, since exactly 0 is a fixed point if no label is known."""
        return 1e-2 * np.random.default_rng(whole("seed", seed, low=0)).standard_normal(self.observation.nodes)

    def labels(self, log_odds: Array) -> Array:
        """Posterior means, certain where the label is known."""
        return np.where(self.observation.train_mask, self.observation.train_labels, np.tanh(log_odds))

    def __call__(self, y: Array, old: Array, u: Array) -> tuple[Array, Array]:
        """New centroid and log-odds."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._step(y, old, u)

    def _step(self, y: Array, old: Array, u: Array) -> tuple[Array, Array]:
        n, dtype = self.observation.nodes, self.observation.features.dtype
        mu, unsure = self.mu / n, float(np.sum(1.0 - y**2))
        precision = 1.0 + mu * float(y @ y)
        root = math.sqrt(mu)
        here, before = (self.backend.place(v.astype(dtype)[:, None]) for v in (y, u))

        def weigh(part: slice, weights: Any) -> Any:
            return (root * weights - mu * unsure * before[part]) * (1.0 / precision)

        u, features = (self.backend.host(v)[:, 0].astype(float) for v in one_pass(self.X, here, weigh))
        neighbours = self.backend.host(self.S @ here)[:, 0]
        graph = self.signal * neighbours - self.signal * self.signal * unsure / n * old
        return u, graph + root * features - mu * u.size / precision * old


def _measure(instance: Instance, log_odds: Array) -> Performance:
    mask = instance.train_mask
    if mask.all():
        raise ParameterError("rho = 1 leaves no node to test on; take rho < 1")
    margins = (log_odds * instance.labels)[~mask & ~np.isnan(instance.labels)]
    if not mask.any() and accuracy(margins) < 0.5:
        margins = -margins
    right = float(accuracy(margins))
    log_error = -math.inf if right == 1.0 else math.log1p(-right)
    return Performance(right, 1.0, float(mean_over(np.logaddexp(0.0, -2.0 * margins))), 0.0, log_error)
