r"""Population dynamics: the law of the messages of belief propagation on a large sparse graph (Eq. 9.6).

A node of class :math:`k` has a Poisson number of neighbours, of mean :math:`D`; each is of class :math:`l` with probability
:math:`p_l w_{kl}`, labelled with probability :math:`\rho`, and otherwise sends a message drawn from the population of its class.
The features give Gaussian evidence, whose size is a function of the overlap of the population, as in the state evolution.
With propensities :math:`\theta` the mean is :math:`D\theta`, and a neighbour is chosen in proportion to its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.classes import simplex_codes
from gcnlimit.csbm import CSBM
from gcnlimit.degrees import DegreeLaw
from gcnlimit.errors import ParameterError
from gcnlimit.numerics.gaussian import roc_area
from gcnlimit.numerics.linear import matrix_function
from gcnlimit.theory.ceiling.state_evolution import Evidence

_TINY = 1e-300  # least factor of an edge, so that its logarithm stays finite
_HINT = (
    0.05  # weight of the true class in the start from below, without which no evidence at all would be a fixed point
)

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class SparseModel:
    r"""One point: the model at a finite mean degree.

    Parameters
    ----------
    fractions, codes
        :math:`p_k` and :math:`y_k`.
    strength
        :math:`\varepsilon = \lambda/\sqrt d`, with which :math:`w_{kl} = 1 + \varepsilon\, y_k \cdot y_l`.
    neighbours
        Mean number :math:`D` of neighbours, :math:`d`, or :math:`2d` on a directed graph, in whose both directions they are.
    rho
        Fraction of labelled nodes.
    features
        Evidence of the features, without that of the graph.
    degrees
        Law of the propensities; None if all nodes are alike.
    """

    fractions: Array
    codes: Array
    strength: float
    neighbours: float
    rho: float
    features: Evidence
    degrees: DegreeLaw | None = None

    @classmethod
    def of(cls, data: CSBM, degree: float) -> Self:
        """Model of single parameters at that mean degree, or `ParameterError` if the degree cannot carry the signal.

        >>> SparseModel.of(CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), degree=4).neighbours
        8.0
        """
        p, strength = data.fractions, float(data.lam) / math.sqrt(degree)
        if min(1.0 - strength, float(np.min(1.0 - strength + strength / p))) < -1e-12:
            raise ParameterError(
                f"lam = {float(data.lam):g} is not allowed at degree {degree:g}: a probability of an edge would be negative; "
                "take a larger degree or a weaker signal"
            )
        features = replace(Evidence.of(data), graph=np.zeros(1))
        neighbours = degree * (2.0 if data.directed else 1.0)
        return cls(p, simplex_codes(p), strength, neighbours, float(data.rho), features, data.degrees)

    def evidence(self, overlap: Array) -> Array:
        r"""Evidence :math:`\langle a\, aQ (1 + aQ)^{-1}\rangle/\alpha` of the features at the overlap :math:`Q`, a matrix."""
        return matrix_function(overlap, lambda q: self.features.at(np.maximum(q, 0.0)))

    def feature_entropy(self, overlap: Array) -> float:
        """Free entropy of the features at that overlap (Eq. 9.7)."""
        q = np.maximum(np.linalg.eigvalsh(overlap), 0.0)
        parts = sum(w * np.sum(a * q / (1.0 + a * q) - np.log1p(a * q)) for a, w in self.features.levels())
        return 0.5 * float(parts / self.features.alpha[0])

    def neighbour_table(self) -> Array:
        """Cumulative probabilities of the class of a neighbour, increasing through the rows, one for each class."""
        C = self.fractions.size
        chances = self.fractions * (1.0 - self.strength) + self.strength * np.eye(C)
        return np.asarray((np.cumsum(np.maximum(chances, 0.0), axis=1) + np.arange(C)[:, None]).ravel())


class Draw(NamedTuple):
    """What one sweep measures on the unlabelled nodes: means over the classes by their fractions."""

    accuracy: float
    loss: float
    balanced: float
    roc_auc: float
    overlap: float
    free_entropy: float


class Population:
    """Posteriors of unlabelled nodes of each class.

    Parameters
    ----------
    model
        The model.
    size
        Number of nodes, shared equally between the classes.
    informed
        Whether the first posteriors are certain; else they are little more than the fractions of the classes.
    rng
        Source of randomness.
    """

    def __init__(self, model: SparseModel, size: int, informed: bool, rng: np.random.Generator) -> None:
        C = model.fractions.size
        self.model, self.rng, self.each = model, rng, max(1, size // C)
        self.truth = np.repeat(np.arange(C), self.each)
        self.table = model.neighbour_table()
        self.theta = self._propensities()
        weight = 1.0 if informed else _HINT
        certain = np.arange(C)[:, None] == self.truth
        self.members = weight * certain + (1.0 - weight) * model.fractions[:, None]
        self.logarithms = np.log(self.members, where=self.members > 0.0, out=np.full(self.members.shape, -np.inf))

    @property
    def overlap(self) -> Array:
        r"""Overlap :math:`Q = \rho + (1 - \rho)\, \mathbb E\, \hat y y^T`, a symmetric matrix."""
        y, p, rho = self.model.codes, self.model.fractions, self.model.rho
        mean = self.members.reshape(p.size, p.size, self.each).mean(axis=2)  # posterior, then true class
        found = y.T @ (mean * p) @ y
        return np.asarray(rho * np.eye(y.shape[1]) + 0.5 * (1.0 - rho) * (found + found.T))

    def _propensities(self) -> Array | None:
        """Propensities of new nodes, None if they are alike."""
        law = self.model.degrees
        return None if law is None else law.draw(self.rng, self.truth.size)

    def sweep(self, edges: bool = False) -> float:
        """Draw the posteriors of new nodes; returns the Bethe term of their edges per node, if asked for."""
        p, strength, nodes = self.model.fractions, self.model.strength, self.truth.size
        theta = self._propensities()
        share = 1.0 if theta is None else theta
        field = self._features() + share * self._absent()
        owner = np.repeat(np.arange(nodes), self.rng.poisson(share * self.model.neighbours, nodes))
        own = self.truth[owner]
        other = np.searchsorted(self.table, self.rng.random(owner.size) + own, side="right") - own * p.size
        received = self._messages(np.clip(other, 0, p.size - 1))
        factors = np.log(np.maximum(1.0 - strength + strength * received / p[:, None], _TINY))
        term = self._edge_term(own, received) if edges else 0.0
        sums = np.stack([np.bincount(owner, weights=row, minlength=nodes) for row in factors])
        total = np.log(p)[:, None] + field + sums
        self.scale = np.logaddexp.reduce(total, axis=0)
        self.logarithms = total - self.scale
        self.members, self.theta = np.exp(self.logarithms), theta
        return term

    def _edge_term(self, own: Indices, received: Array) -> float:
        r"""Mean over the nodes of :math:`\frac12 \sum_l \log \sum_{km} \psi_k w_{km} \psi'_m` over their edges."""
        p, strength = self.model.fractions, self.model.strength
        both = np.sum(received * self._messages(own) / p[:, None], axis=0)
        terms = np.log(np.maximum(1.0 - strength + strength * both, _TINY))
        return 0.5 * float(np.sum(terms * p[own])) / self.each

    def measure(self) -> Draw:
        """One sweep, and what is seen in it."""
        p, rho, truth, nodes = self.model.fractions, self.model.rho, self.truth, np.arange(self.truth.size)
        overlap, edges = self.overlap, self.sweep(edges=True)

        def mean(values: npt.NDArray[Any]) -> float:
            return float(p @ values.reshape(p.size, self.each).mean(axis=1))

        right = self.logarithms[truth, nodes]
        decided = np.argmax(self.logarithms - np.log(p)[:, None], axis=0) == truth
        known = self.scale + right - np.log(p)[truth]
        entropy = rho * mean(known) + (1.0 - rho) * mean(self.scale) - edges + self.model.feature_entropy(overlap)
        return Draw(
            mean(np.argmax(self.logarithms, axis=0) == truth),
            -mean(right),
            float(np.mean(decided)),
            roc_area(self.logarithms[0] - self.logarithms[1], truth) if p.size == 2 else math.nan,
            float(np.trace(self.overlap)) / (p.size - 1),
            entropy,
        )

    def _messages(self, classes: Indices) -> Array:
        """Messages of nodes of these classes, certain if the node is labelled; classes along the first axis."""
        members: Array = self.members[:, self._chosen(classes)]
        labelled = np.flatnonzero(self.rng.random(classes.size) < self.model.rho)
        members[:, labelled] = np.arange(len(members))[:, None] == classes[labelled]
        return members

    def _chosen(self, classes: Indices) -> Indices:
        """Members of these classes, each in proportion to its propensity."""
        if self.theta is None:
            return classes * self.each + self.rng.integers(self.each, size=classes.size)
        line = np.cumsum(self.theta.reshape(-1, self.each), axis=1)
        line = (line / line[:, -1:] + np.arange(len(line))[:, None]).ravel()
        place = np.searchsorted(line, classes + self.rng.random(classes.size), side="right")
        return np.clip(place, classes * self.each, classes * self.each + self.each - 1)

    def _absent(self) -> Array:
        """Evidence of the absent edges, which cancels what all neighbours have in common by the chance of a finite population."""
        y, p = self.model.codes, self.model.fractions
        members = self.members.reshape(p.size, p.size, self.each)
        weight = None if self.theta is None else np.broadcast_to(self.theta.reshape(-1, self.each), members.shape)
        mean = (members.mean(axis=2) if weight is None else np.average(members, axis=2, weights=weight)) @ p
        pull = self.model.neighbours * self.model.strength * (1.0 - self.model.rho)
        return np.asarray(-pull * (y @ (y.T @ mean)))[:, None]

    def _features(self) -> Array:
        """Logarithm of the evidence of the features on each class of new nodes."""
        y, M = self.model.codes, self.model.evidence(self.overlap)
        values, vectors = np.linalg.eigh(M)
        noise = vectors * np.sqrt(np.maximum(values, 0.0)) @ self.rng.standard_normal((y.shape[1], self.truth.size))
        return np.asarray(y @ (M @ y.T[:, self.truth] + noise) - 0.5 * np.sum((y @ M) * y, axis=1)[:, None])
