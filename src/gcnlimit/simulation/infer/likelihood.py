"""Estimates of the two signals from all nodes, by the likelihood that the fixed point of AMP gives."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gcnlimit._runtime.threads import single_threaded_blas
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.operator import weight_unit
from gcnlimit.graphs.standard import Signals, StandardizedGraph, from_labels
from gcnlimit.results.performance import Status
from gcnlimit.simulation.data.observation import Observation
from gcnlimit.simulation.infer.amp import amp
from gcnlimit.simulation.infer.inference import Inference

STEPS = 150
ROUNDS = 60
HOPELESS = 12.0  # free entropy by which the better of two signs is sure


class Likelihood(NamedTuple):
    """Maximum of the free entropy for one sign of the graph's signal."""

    signals: Signals
    free_entropy: float
    converged: bool
    skewness: float  # of the fields, in standard errors: about 0 for classes of equal size


@single_threaded_blas()
def from_likelihood(standard: StandardizedGraph) -> tuple[Likelihood, Likelihood]:
    r"""Maxima of the free entropy over :math:`(\lambda, \mu)`, for a positive and a negative signal of the graph, best first.

    The free entropy that `gcnlimit.amp` gives is stationary in the posterior. With its means :math:`m` of the labels,
    :math:`q = |m|^2/N`, :math:`s = 1/(1 + \mu q)` and centroid :math:`u`, its derivatives in the signals are explicit,

    .. math::

        \partial_\lambda \phi = \frac N2 \Bigl[\frac{m^Tam}N - \lambda(1 - (1-q)^2)\Bigr], \qquad
        \partial_{\sqrt\mu} \phi = \frac{m^TXu}{\sqrt N} - \sqrt\mu\, (|u|^2 + qMs) ,

    and their own derivatives, by differences, give the standard errors. Two classes of equal size.
    """
    if not standard.classes.two:
        told = f"their fractions are {standard.classes.fractions.round(2).tolist()}"
        raise ParameterError(f"method = 'likelihood' needs two equal classes; {told}: use 'labels'")
    graph = Posteriors(standard)
    first = math.copysign(1.0, from_labels(standard).lam)
    same = _climb(graph, first, -math.inf)
    flipped = _climb(graph, -first, same.free_entropy)
    best, other = sorted((same, flipped), key=lambda top: -top.free_entropy)
    mu = best.signals.mu  # at a vanishing signal of the graph, which either sign attains
    without_graph = standard.nodes * graph.at(0.0, mu).free_entropy
    return best, other._replace(free_entropy=max(other.free_entropy, without_graph))


class Posteriors:
    """Posteriors of one graph by message passing, its symmetrized signal and that of the features free."""

    def __init__(self, standard: StandardizedGraph) -> None:
        self.a = standard.operator
        self.N = standard.nodes
        self.M = standard.width
        self.half = math.sqrt(0.5) if standard.directed else 1.0
        self.labelled = standard.labels.labelled
        A = standard.operator.matrix
        labels = np.zeros(self.N)
        labels[self.labelled] = standard.classes.labels_of(standard.labels.index)
        features: Any = standard.features
        self.X = np.zeros((self.N, 1)) if features is None else features
        data = CSBM(standard.alpha, 0.0, 0.0, standard.rho, standard.directed)
        degree = float(A.sum()) / weight_unit(A) / self.N
        self.observation = Observation(data, degree, A, self.X, labels != 0.0, labels)

    def at(self, lam: float, mu: float, start: Any = "labels", steps: int = STEPS) -> Inference:
        """Posterior at two signals, from the labels or from an earlier one."""
        data = self.observation.data.replaced(lam=self.half * lam, mu=mu)
        return amp(replace(self.observation, data=data), start=start, max_iterations=steps)

    def averages(self, posterior: Inference, mu: float) -> tuple[float, float, float, float]:
        r""":math:`m^Tam/N` with the symmetrized :math:`a`, :math:`q`, :math:`m^TXu/\sqrt N`, and :math:`|u|^2 + qMs`."""
        m = posterior.labels
        u = posterior.centroid
        q = float(m @ m) / self.N
        along = float(m @ (self.a @ m)) / (self.half * self.N)
        cross = float(m @ (self.X @ u)) / math.sqrt(self.N)
        return along, q, cross, float(u @ u) + q * self.M / (1.0 + mu * q)

    def gradient(self, posterior: Inference, lam: float, mu: float) -> Array:
        r"""Derivatives of the free entropy in :math:`\lambda` and :math:`\sqrt\mu`."""
        along, q, cross, size = self.averages(posterior, mu)
        in_lam = 0.5 * self.N * (along - lam * (1.0 - (1.0 - q) ** 2))
        return np.array([in_lam, cross - math.sqrt(mu) * size])

    def skewness(self, posterior: Inference) -> float:
        """Skewness of the fields on unlabelled nodes, over its standard error for a Gaussian."""
        h = np.delete(posterior.log_odds, self.labelled)
        spread = float(np.std(h)) if h.size else 0.0
        if spread == 0.0:
            return 0.0
        return float(np.mean((h - h.mean()) ** 3)) / spread**3 / math.sqrt(6.0 / h.size)


def _climb(graph: Posteriors, sign: float, other: float) -> Likelihood:
    """Maximum for one sign, given up where it falls short of the `other` by far.

    Each round sets the signals to where the derivatives vanish, the posterior held; that of the graph keeps its sign.
    """
    lam = sign
    root = 1.0 if graph.M else 0.0
    state = None
    for k in range(ROUNDS):
        state = graph.at(lam, root**2, state or "labels", steps=10)
        along, q, cross, size = graph.averages(state, root**2)
        before = lam, root
        lam = sign * max(sign * along / (1.0 - (1.0 - q) ** 2), 1e-3)
        root = max(cross / size, 1e-2) if graph.M else 0.0
        if abs(lam - before[0]) + abs(root - before[1]) < 1e-4:
            break
        if k % 5 == 4 and graph.N * state.free_entropy < other - HOPELESS - 400.0 / (k + 1):
            break
    state = graph.at(lam, root**2, state)
    phi = graph.N * state.free_entropy
    errors = _errors(graph, state, lam, root) if phi > other - HOPELESS else np.full(2, math.inf)
    lam_error = graph.half * float(errors[0])
    mu_error = 2.0 * root * float(errors[1]) if graph.M else 0.0
    signals = Signals(graph.half * lam, root**2, lam_error, mu_error)
    return Likelihood(signals, phi, state.status is Status.CONVERGED, graph.skewness(state))


def _errors(graph: Posteriors, state: Inference, lam: float, root: float) -> Array:
    r"""Standard errors of :math:`\lambda` and :math:`\sqrt\mu` from the curvature; infinite where there is none."""
    size = 2 if graph.M else 1
    h = 1e-2

    def slope(shift: Array) -> Array:
        there = lam + shift[0], max(root + shift[1], 0.0) ** 2
        return graph.gradient(graph.at(*there, state), *there)

    steps = h * np.eye(2)[:size]
    H = np.array([slope(e) - slope(-e) for e in steps])[:, :size] / (2.0 * h)
    curvature = -0.5 * (H + H.T)
    if np.linalg.eigvalsh(curvature)[0] <= 0.0:
        return np.full(2, math.inf)
    errors = np.zeros(2)
    errors[:size] = np.sqrt(np.diag(np.linalg.inv(curvature)))
    return errors
