"""Bayes-optimal inference on an instance, by approximate message passing."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from gcnlimit._validation import check_types, number, tolerance, whole
from gcnlimit._values import Array
from gcnlimit.classes import code_moments
from gcnlimit.errors import ParameterError
from gcnlimit.normalization import as_normalization
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.data.instance import Instance
from gcnlimit.simulation.data.observation import Observation
from gcnlimit.simulation.infer.inference import Inference, iterate, log_prior
from gcnlimit.simulation.infer.messages import FeatureMessages, normalized

_CERTAIN = 40.0  # score of the true class over the others from which an informed start sets out


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
    :math:`\Gamma_\nu/\sigma_\nu^2` in place of 1. Under a law of degrees the measured propensities of the nodes weigh the
    terms of the graph (Eq. 11.16). Only observations enter; the latents of an instance serve to measure the
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
    place = observation.device(device)
    with backend_of(place).guard(observation.nodes), np.errstate(over="ignore", invalid="ignore"):
        iteration = Iteration(observation, place)
        iteration.evidence = iteration.informed(instance, start) if start != "labels" else iteration.uninformed(seed)
        ended, entropy = iterate(lambda: iteration.step(keep), steps, tol), iteration.free_entropy()
    scores, features = iteration.prior + iteration.evidence, iteration.features
    return Inference.of(instance, scores, iteration.means(), features.centroids * features.deviation, ended, entropy)


class Iteration:
    """State of the iteration on one observation: evidence on the classes of the nodes, and messages of the features."""

    def __init__(self, observation: Observation, device: Device) -> None:
        self.observation, self.backend = observation, backend_of(device)
        self.signal = float(observation.data.effective_signal(symmetrize=True))
        self.S = observation.operator(True, device, as_normalization("none"))
        self.theta = observation.theta
        self.codes, self.prior = observation.classes.codes, log_prior(observation)
        self.features = FeatureMessages(observation, self.codes, device)
        self.evidence = np.zeros(self.prior.shape)
        self.old = np.zeros((observation.nodes, self.codes.shape[1]))

    def uninformed(self, seed: int) -> Array:
        """Small random evidence, since none at all is a fixed point if no label is known."""
        noise = np.random.default_rng(whole("seed", seed, low=0)).standard_normal(self.old.shape)
        return np.asarray(1e-2 * noise @ self.codes.T)

    def informed(self, instance: Instance | Observation, start: str) -> Array:
        """Evidence that is sure of the latent labels."""
        if start != "truth":
            raise ParameterError(f"start = {start!r} is not allowed; it must be 'labels' or 'truth'")
        if not isinstance(instance, Instance) or np.isnan(instance.labels).any():
            raise ParameterError("start = 'truth' needs an Instance whose labels are all known; take start='labels'")
        return _CERTAIN * np.eye(len(self.codes))[self.observation.classes.index_of(instance.labels)]

    def means(self) -> Array:
        """Posterior means of the codes."""
        return np.asarray(normalized(self.prior + self.evidence) @ self.codes)

    def step(self, keep: float) -> float:
        """One step; returns the root mean square change of the posterior means, over one less `keep`."""
        marginals = normalized(self.prior + self.evidence)
        means = marginals @ self.codes
        new = self.graph(marginals) + self.features.field(marginals)
        self.evidence, self.old = (1.0 - keep) * new + keep * self.evidence, means
        change = float(np.sqrt(np.mean((self.means() - means) ** 2))) / (1.0 - keep)
        if not math.isfinite(change):
            data = self.observation.data
            raise ParameterError(f"lam = {data.lam:g}, mu = {data.mu:g}: the log-odds overflow; take weaker signals")
        return change

    def free_entropy(self) -> float:
        r"""Bethe free entropy per node: that of nodes in their evidence and of features (Eq. 9.5), and of the Gaussian entries,

        .. math:: -\frac{\lambda_s}2 \mathrm{tr}\, \hat Y^T S \hat Y
                  + \lambda_s^2\, \mathrm{tr}\, \hat Y^T\hat Y \big( C_y + \tfrac1{4N} \hat Y^T\hat Y \big) .
        """  # noqa: D400
        total = self.prior + self.evidence
        marginals = normalized(total)
        means, second, squares = code_moments(marginals, self.codes, self.theta)
        square = self.signal * self.signal / len(means)
        entries = square * np.sum(squares * (second - squares + 0.25 * squares)) - 0.5 * np.vdot(
            means, self._neighbours(means)
        )
        nodes = np.sum(np.logaddexp.reduce(total, axis=1))
        return float(nodes + entries + self.features.free_entropy()) / len(means)

    def graph(self, marginals: Array) -> Array:
        """Evidence of the graph on the classes of the nodes."""
        y, square = self.codes, self.signal * self.signal / len(marginals)
        means, second, squares = code_moments(marginals, y, self.theta)
        own = square if self.theta is None else square * self.theta[:, None]
        field = self._neighbours(means) - own * (self.old @ (second - squares))
        return np.asarray(field @ y.T - 0.5 * own * np.sum((y @ squares) * y, axis=1))

    def _neighbours(self, means: Array) -> Array:
        """Signal times the operator times the means."""
        placed = self.backend.place(np.ascontiguousarray(means.astype(self.observation.features.dtype)))
        return np.asarray(self.signal * self.backend.host(self.S @ placed).astype(float))
