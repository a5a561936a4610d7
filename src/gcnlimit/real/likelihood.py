"""Estimates of the two signals from all nodes, by the likelihood that the fixed point of AMP gives."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import entr

from gcnlimit._values import Array
from gcnlimit.graphs.standard import Signals, StandardizedGraph, from_labels

TOL, STEPS, ROUNDS, HOPELESS = 1e-6, 150, 60, 12.0
_SURE = 1.0 - 1e-12  # largest posterior mean whose field is told apart


class Likelihood(NamedTuple):
    """Maximum of the free entropy for one sign of the graph's signal.

    `skewness` of the fields on unlabelled nodes, in standard errors, is about 0 for classes of equal size.
    """

    signals: Signals
    free_entropy: float
    converged: bool
    skewness: float


class _State(NamedTuple):
    """Posterior means of the labels, those of the step before, and centroid."""

    m: Array
    old: Array
    u: Array


def from_likelihood(given: StandardizedGraph) -> tuple[Likelihood, Likelihood]:
    r"""Maxima of the free entropy over :math:`(\lambda, \mu)`, for a positive and a negative signal of the graph, best first.

    At the fixed point of AMP with posterior means :math:`m` (labels on :math:`R`), :math:`q = |m|^2/N`,
    :math:`s = 1/(1 + \mu q)` and centroid :math:`u`, the free entropy is

    .. math::

        \phi = \sum_{i \notin R} [H(m_i) - \log 2] + \frac\lambda2 m^Tam + \frac{N\lambda^2}4 [(1-q)^2 - 1]
        + \sqrt{\frac\mu N} m^TXu - \frac\mu2 (|u|^2 + q M s) + \frac M2 (\log s + 1 - s) - \frac{|u|^2}2,

    stationary in :math:`m, u, s`. So its derivatives in the signals are explicit, vanish at
    :math:`\lambda = (m^Tam/N)/(1 - (1-q)^2)` and :math:`\sqrt\mu = (m^TXu/\sqrt N)/(|u|^2 + qMs)`, and their own
    derivatives, by differences, give the standard errors. Two classes of equal size.
    """
    fixed = _Fixed(given)
    first = math.copysign(1.0, from_labels(given).lam)
    one = _climb(fixed, first, -math.inf)
    two = _climb(fixed, -first, one.free_entropy)
    best, other = (one, two) if one.free_entropy >= two.free_entropy else (two, one)
    mu = best.signals.mu  # at a vanishing signal of the graph, which either sign attains
    without_graph = fixed.free_entropy(fixed.run(fixed.start, 0.0, mu)[0], 0.0, mu)
    return best, other._replace(free_entropy=max(other.free_entropy, without_graph))


class _Fixed:
    """Message passing on one graph for two classes, its signals free: `gcnlimit.amp` in their two numbers for each node."""

    def __init__(self, given: StandardizedGraph) -> None:
        self.a, self.X = given.symmetrized(), given.features
        self.N, self.M, self.directed = given.nodes, given.width, given.directed
        self.known = given.labels.labelled
        self.y = np.where(given.labels.codes == 1, 1.0, -1.0)
        m = np.zeros(self.N)
        m[self.known] = self.y
        self.start = _State(m, np.zeros(self.N), np.zeros(self.M))

    def step(self, state: _State, lam: float, mu: float) -> _State:
        """One iteration; the centroid is that of the same step, so that its reaction is on `m`."""
        m, old, u = state
        unsure = float(np.sum(1.0 - m**2))
        h = lam * (self.a @ m) - lam**2 * unsure / self.N * old
        if self.X is not None:
            precision = 1.0 + mu / self.N * float(m @ m)
            root = math.sqrt(mu / self.N)
            u = (root * (self.X.T @ m) - mu / self.N * unsure * u) / precision
            h = h + root * (self.X @ u) - mu / self.N * self.M / precision * m
        new = np.tanh(h)
        new[self.known] = self.y
        return _State(new, m, u)

    def run(self, state: _State, lam: float, mu: float, steps: int = STEPS) -> tuple[_State, bool]:
        """Iterate until the means stand still."""
        for _ in range(steps):
            state = self.step(state, lam, mu)
            if float(np.mean((state.m - state.old) ** 2)) < TOL**2:
                return state, True
        return state, False

    def averages(self, state: _State, mu: float) -> tuple[float, float, float, float]:
        r""":math:`m^Tam/N`, :math:`q`, :math:`m^TXu/\sqrt N`, and :math:`|u|^2 + qMs`."""
        m, _, u = state
        q = float(m @ m) / self.N
        cross = 0.0 if self.X is None else float(m @ (self.X @ u)) / math.sqrt(self.N)
        return float(m @ (self.a @ m)) / self.N, q, cross, float(u @ u) + q * self.M / (1.0 + mu * q)

    def gradient(self, state: _State, lam: float, mu: float) -> Array:
        r"""Derivatives of the free entropy in :math:`\lambda` and :math:`\sqrt\mu`."""
        graph, q, cross, size = self.averages(state, mu)
        return np.array([0.5 * self.N * (graph - lam * (1.0 - (1.0 - q) ** 2)), cross - math.sqrt(mu) * size])

    def free_entropy(self, state: _State, lam: float, mu: float) -> float:
        graph, q, cross, size = self.averages(state, mu)
        p, s = 0.5 * (1.0 + np.delete(state.m, self.known)), 1.0 / (1.0 + mu * q)
        labels = float(np.sum(entr(p) + entr(1.0 - p) - math.log(2.0)))
        edges = 0.5 * lam * self.N * graph + 0.25 * self.N * lam**2 * ((1.0 - q) ** 2 - 1.0)
        centroid = math.sqrt(mu) * cross - 0.5 * mu * size - 0.5 * float(state.u @ state.u)
        return labels + edges + centroid + 0.5 * self.M * (math.log(s) + 1.0 - s)

    def skewness(self, state: _State) -> float:
        """Skewness of the fields on unlabelled nodes, over its standard error for a Gaussian."""
        h = np.arctanh(np.clip(np.delete(state.m, self.known), -_SURE, _SURE))
        spread = float(np.std(h)) if h.size else 0.0
        return 0.0 if spread == 0.0 else float(np.mean((h - h.mean()) ** 3)) / spread**3 / math.sqrt(6.0 / h.size)


def _climb(fixed: _Fixed, sign: float, other: float) -> Likelihood:
    """Maximum for one sign, given up where it falls short of the `other` by far.

    Each round sets the signals to where the derivatives vanish, the posterior held; that of the graph keeps its sign.
    """
    lam, root, state = sign, 1.0 if fixed.M else 0.0, fixed.start
    for k in range(ROUNDS):
        state, _ = fixed.run(state, lam, root**2, steps=10)
        graph, q, cross, size = fixed.averages(state, root**2)
        before = lam, root
        lam = sign * max(sign * graph / (1.0 - (1.0 - q) ** 2), 1e-3)
        root = max(cross / size, 1e-2) if fixed.M else 0.0
        if abs(lam - before[0]) + abs(root - before[1]) < 1e-4:
            break
        if k % 5 == 4 and fixed.free_entropy(state, lam, root**2) < other - HOPELESS - 400.0 / (k + 1):
            break
    state, steady = fixed.run(state, lam, root**2)
    phi = fixed.free_entropy(state, lam, root**2)
    errors = _errors(fixed, state, lam, root) if phi > other - HOPELESS else np.full(2, math.inf)
    half = math.sqrt(0.5) if fixed.directed else 1.0  # of the symmetrized signal
    signals = Signals(half * lam, root**2, half * float(errors[0]), 2.0 * root * float(errors[1]))
    return Likelihood(signals, phi, steady, fixed.skewness(state))


def _errors(fixed: _Fixed, state: _State, lam: float, root: float) -> Array:
    r"""Standard errors of :math:`\lambda` and :math:`\sqrt\mu` from the curvature; infinite where there is none."""
    size, h = 2 if fixed.M else 1, 1e-2

    def slope(shift: Array) -> Array:
        there = lam + shift[0], max(root + shift[1], 0.0) ** 2
        return fixed.gradient(fixed.run(state, *there)[0], *there)

    H = np.array([(slope(e) - slope(-e)) / (2.0 * h) for e in h * np.eye(2)[:size]])[:, :size]
    curvature = -0.5 * (H + H.T)
    if np.linalg.eigvalsh(curvature)[0] <= 0.0:
        return np.full(2, math.inf)
    return np.append(np.sqrt(np.diag(np.linalg.inv(curvature))), 0.0)[:2]
