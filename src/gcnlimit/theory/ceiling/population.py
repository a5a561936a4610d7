r"""Population dynamics: the law of the messages of belief propagation on a large sparse graph (Eq. 9.6).

A node of class :math:`k` has a Poisson number of neighbours, of mean :math:`D`; each is of class :math:`l` with probability
:math:`p_l w_{kl}`, labelled with probability :math:`\rho`, and otherwise sends a message drawn from the population of its class.
The features give Gaussian evidence, whose size is a function of the overlap of the population, as in the state evolution.
With propensities :math:`\theta` the mean is :math:`D\theta`, and a neighbour is chosen in proportion to its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import scipy
from numpy.random import Generator
from scipy.special import pdtr

from gcnlimit._values import Array
from gcnlimit.classes import Classes, simplex_codes
from gcnlimit.csbm import CSBM
from gcnlimit.degrees import DegreeLaw
from gcnlimit.errors import ParameterError
from gcnlimit.numerics.gaussian import roc_area
from gcnlimit.numerics.linear import matrix_function
from gcnlimit.theory.ceiling.linear_node import LinearNode
from gcnlimit.theory.ceiling.state_evolution import Evidence
from gcnlimit.theory.decision import from_margins

_TINY = 1e-300  # least factor of an edge, so that its logarithm stays finite
_HINT = 0.05  # weight of the true class in the start from below: none would be a fixed point
_RUNS = 64  # runs of messages in a class, at least
_WEAK = 0.25  # least factor of an edge with which messages are drawn in runs
_QUANTILES = 2**14  # of a Poisson number
_ALIKE = 1e-6  # least distance of a correlation from 1, so that sums of evidence keep their digits
_LOSSES = 129  # margins at which the loss of several unequal classes is computed
_SURE = 9.0  # margin at which all classes are known: no two codes are nearer than 2

Places = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class SparseModel:
    r"""One point: the model at a finite mean degree.

    `strength` is :math:`\varepsilon = \lambda/\sqrt d`, with which :math:`w_{kl} = 1 + \varepsilon\, y_k \cdot y_l`; `neighbours`
    their mean number :math:`D`, :math:`d`, or :math:`2d` on a directed graph, in whose both directions they are; `features`
    the evidence without that of the graph.
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
        """Model of single parameters at that mean degree, or `ParameterError` if the degree cannot carry the signal."""
        p = data.fractions
        strength = float(data.lam) / math.sqrt(degree)
        if min(1.0 - strength, float(np.min(1.0 - strength + strength / p))) < -1e-12:
            raise ParameterError(
                f"lam = {float(data.lam):g} is not allowed at degree {degree:g}: a probability of "
                "an edge would be negative; take a larger degree or a weaker signal"
            )
        features = replace(Evidence.of(data), graph=np.zeros(1))
        neighbours = degree * (2.0 if data.directed else 1.0)
        rho = float(data.rho)
        return cls(p, simplex_codes(p), strength, neighbours, rho, features, data.degrees)


class Draw(NamedTuple):
    """Measurements of one sweep on the unlabelled nodes: means over the classes by their fractions."""

    accuracy: float
    loss: float
    balanced: float
    roc_auc: float
    overlap: float
    free_entropy: float


class Population:
    """Posteriors of unlabelled nodes: an array of true class, node and class; `size` nodes, as many of each class.

    `informed` says whether the first posteriors are certain; else they are little more than the fractions of the classes.
    """

    def __init__(self, model: SparseModel, size: int, informed: bool, rng: Generator) -> None:
        C = model.fractions.size
        self.model = model
        self.rng = rng
        self.each = max(1, size // C)
        # mean number of neighbours of each class, columns, of a node of each class, rows
        chances = model.fractions * (1.0 - model.strength) + model.strength * np.eye(C)
        self.rates = model.neighbours * np.maximum(chances, 0.0)
        # runs of messages that make the draws fewest, unless a single message may weigh much
        least = np.min(self.rates / model.fractions) / model.neighbours
        fewest = int(min(math.sqrt(2.0 * float(np.mean(self.rates))), self.each // _RUNS))
        self.run = max(fewest, 1) if least > _WEAK else 1
        # a Poisson number of neighbours splits into two independent ones, labelled and not
        self.labelled = _Poisson(model.rho * self.rates, rng)
        self.unlabelled = _Poisson((1.0 - model.rho) * self.rates, rng)
        weight = 1.0 if informed else _HINT
        start = weight * np.eye(C) + (1.0 - weight) * model.fractions
        self.members: Array = np.repeat(start[:, None], self.each, axis=1)
        self.sent = self.members

    @property
    def overlap(self) -> Array:
        r"""Overlap :math:`Q = \rho + (1 - \rho)\, \mathbb E\, \hat y y^T`, a symmetric matrix."""
        y, p, rho = self.model.codes, self.model.fractions, self.model.rho
        matrix = y.T @ (p[:, None] * self.members.mean(axis=1)) @ y
        return np.asarray(rho * np.eye(y.shape[1]) + 0.5 * (1.0 - rho) * (matrix + matrix.T))

    def learn_from(self, other: Population) -> None:
        """Take what a graph of the same features says of the class means: :math:`\\mu m_y` there (Eq. 10.15)."""
        taught = other.model.features.mu * np.trace(other.overlap) / len(other.overlap)
        self.model = replace(self.model, features=replace(self.model.features, means=taught))

    def sweep(self) -> Array:
        """Draw the posteriors of new nodes; returns the logarithm of the evidence that they follow from."""
        law = self.model.degrees
        shape = (*self.members.shape[:2], 1)
        theta = None if law is None else law.draw(self.rng, shape[0] * shape[1]).reshape(shape)
        absent = self._absent() if theta is None else theta * self._absent()
        evidence = self._features() + absent + self._present(theta)
        self.members = self._estimate(evidence)
        # a node has neighbours in proportion to its propensity, and sends to each of them
        self.sent = self.members if theta is None else self._in_proportion(theta[..., 0])
        return evidence

    def _estimate(self, evidence: Array) -> Array:
        """Posteriors of new nodes from the logarithm of the evidence on their classes."""
        members = np.log(self.model.fractions) + evidence
        members -= np.max(members, axis=2, keepdims=True)
        np.exp(members, out=members)
        members /= np.sum(members, axis=2, keepdims=True)
        return members

    def _in_proportion(self, theta: Array) -> Array:
        """As many messages as nodes of each class, in proportion to the propensities of those who send them."""
        # evenly spaced places scatter less than independent draws
        ends = np.cumsum(theta, axis=1)
        even = (np.arange(self.each) + self.rng.random()) / self.each
        rows = [np.searchsorted(end[:-1], end[-1] * even, side="right") for end in ends]
        return np.take_along_axis(self.members, self.rng.permuted(rows, axis=1)[..., None], axis=1)

    def measure(self) -> Draw:
        """One sweep, and what is seen in it."""
        p, rho, C = self.model.fractions, self.model.rho, self.model.fractions.size
        q = np.maximum(np.linalg.eigvalsh(self.overlap), 0.0)
        elsewhere = 0.5 * float(np.sum(self.model.features.free_entropy(q))) - self._edge_term()
        total = np.log(p) + self.sweep()
        top = np.max(total, axis=2)
        largest = np.max(self.members, axis=2)  # exp(top) over the sum
        scale = top - np.log(largest)
        posterior = total - scale[..., None]  # logarithms

        def mean(values: npt.NDArray[Any]) -> float:
            return float(p @ values.mean(axis=1))

        truth = np.arange(C)[:, None]
        right = posterior[np.arange(C), :, np.arange(C)]
        # without the fractions of the classes, so that each counts alike
        decided = np.argmax(posterior - np.log(p), axis=2) == truth
        # a labelled node has the evidence of its own class, another the sum over all
        of_label = scale + right - np.log(p)[:, None]
        odds = posterior[..., 0] - posterior[..., 1]
        return Draw(
            mean(np.argmax(posterior, axis=2) == truth),
            -mean(right),
            float(np.mean(decided)),
            roc_area(odds.ravel(), np.repeat([0, 1], self.each)) if C == 2 else math.nan,
            float(np.trace(self.overlap)) / (C - 1),
            rho * mean(of_label) + (1.0 - rho) * mean(scale) + elsewhere,
        )

    def _present(self, theta: Array | None) -> Array:
        """Evidence of the edges: the sum over a Poisson number of neighbours of each class, labelled and not."""
        C = self.model.fractions.size
        of_label = self._factors(np.eye(C))
        labelled = self.labelled.draw(self.each, theta)
        unlabelled = self.unlabelled.draw(self.each, theta)
        # n neighbours are n // r sums of r messages in a row, and the rest one by one: fewer draws
        pieces = np.stack(np.divmod(unlabelled, self.run), axis=-1)
        drawn = self._drawn(pieces.reshape(-1, 2 * C)) @ self._tables()
        return np.asarray(labelled @ of_label + drawn.reshape(self.members.shape))

    def _factors(self, members: Array) -> Array:
        """Logarithms of the factors of an edge on the classes of a node, by the posterior of its neighbour."""
        p, strength = self.model.fractions, self.model.strength
        return np.asarray(np.log(np.maximum(1.0 - strength + strength * members / p, _TINY)))

    def _tables(self) -> Array:
        r"""Logarithms of the factors of an edge, of each class those of runs of messages and those of single ones.

        A run is the sum over :math:`r` of the :math:`n` messages of a class, in a row. As none is taken twice, it scatters
        :math:`\sqrt{(n - r)/(n - 1)}` times as much as :math:`r` independent ones; it is scaled to scatter as these do.
        """
        each, run = self.each, self.run
        single = self._factors(self.sent)
        sums = np.cumsum(np.concatenate([single, single[:, :run]], axis=1), axis=1)
        mean = single.mean(axis=1, keepdims=True)
        scatter = (sums[:, run:] - sums[:, :each]) - run * mean
        runs = run * mean + math.sqrt((each - 1.0) / (each - run)) * scatter if run > 1 else single
        return np.stack([runs, single], axis=1).reshape(-1, single.shape[2])

    def _drawn(self, pieces: Places) -> scipy.sparse.csr_array:
        """Random rows of the tables, a number of each kind for each node: an array of ones, of node and row."""
        nodes, kinds = pieces.shape
        ends = np.append(0, np.cumsum(pieces)[kinds - 1 :: kinds])
        first = np.tile(np.arange(kinds, dtype=np.int32) * self.each, nodes)
        rows = np.repeat(first, pieces.ravel())
        rows += self.rng.integers(self.each, size=rows.size, dtype=np.int32)
        ones = np.ones(rows.size)
        return scipy.sparse.csr_array((ones, rows, ends), shape=(nodes, kinds * self.each))

    def _edge_term(self) -> float:
        r"""Mean over the nodes of :math:`\frac12 \sum \log(1 + x)` over their edges.

        Here :math:`x = \varepsilon\, \hat y \cdot \hat y'`. The mean of :math:`x - x^2/2` is one over all pairs of messages;
        only the rest is drawn, a pair for each node.
        """
        codes, rho, strength = self.model.codes, self.model.rho, self.model.strength
        y = self.sent @ codes
        joint = self.model.fractions[:, None] * self.rates
        # moments of the estimates that nodes of each class send, labelled or not
        mean = (1.0 - rho) * y.mean(axis=1) + rho * codes
        square = (1.0 - rho) / self.each * np.swapaxes(y, 1, 2) @ y
        square += rho * codes[:, :, None] * codes[:, None, :]
        orders = strength * mean @ mean.T
        orders -= 0.5 * strength**2 * np.einsum("kij,lij->kl", square, square)
        nodes = len(joint) * self.each
        places = np.sum(joint) * (np.arange(nodes) + self.rng.random()) / nodes
        # pairs of classes, by their numbers of edges
        cells = np.searchsorted(np.cumsum(joint)[:-1], places, side="right")
        first, other = (self._sent(y, ends) for ends in np.divmod(cells, len(joint)))
        x = strength * np.sum(first * other, axis=1)
        rest = np.log(np.maximum(1.0 + x, _TINY)) - x + 0.5 * x**2
        return 0.5 * float(np.sum(joint * orders) + joint.sum() * np.mean(rest))

    def _sent(self, estimates: Array, classes: npt.NDArray[np.intp]) -> Array:
        """Estimates of the codes by random nodes of these classes, certain if the node is labelled."""
        sent = estimates[classes, self.rng.integers(self.each, size=classes.size, dtype=np.int32)]
        labelled = np.flatnonzero(self.rng.random(classes.size) < self.model.rho)
        sent[labelled] = self.model.codes[classes[labelled]]
        return np.asarray(sent)

    def _absent(self) -> Array:
        """Evidence of the absent edges, which cancels what all neighbours have in common by the chance of a finite population."""
        y, p = self.model.codes, self.model.fractions
        pull = self.model.neighbours * self.model.strength * (1.0 - self.model.rho)
        return np.asarray(-pull * (y @ (y.T @ (p @ self.sent.mean(axis=1)))))

    def _features(self) -> Array:
        """Logarithm of the evidence of the features on each class of new nodes."""
        y = self.model.codes
        M = matrix_function(self.overlap, lambda q: self.model.features.at(np.maximum(q, 0.0)))
        values, vectors = np.linalg.eigh(M)
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        noise = self.rng.standard_normal((*self.members.shape[:2], y.shape[1])) @ root
        return np.asarray(((y @ M)[:, None] + noise) @ y.T - 0.5 * np.sum((y @ M) * y, axis=1))


class LinearPopulation(Population):
    r"""Population of messages of linear nodes: the one class has the overlap :math:`q` of a node for its member (Eq. 12.10).

    The correlation of two labels is that of a Gaussian field on the tree, so that evidence is a number that adds:
    :math:`P_i = c^2 + \sum_j t^2 q_j/(1 - t^2 q_j)` with :math:`q = P/(1 + P)`, and 1 on labelled nodes.
    """

    def __init__(self, model: SparseModel, size: int, informed: bool, rng: Generator) -> None:
        ones = np.ones(1)
        super().__init__(replace(model, fractions=ones, codes=np.eye(1)), size, informed, rng)
        self.classes = Classes.of(model.fractions.tolist())
        # a start at 1, or at little, of the overlap
        self.members = np.full((1, self.each, 1), 1.0 if informed else _HINT)
        self.sent = self.members

    def measure(self) -> Draw:
        """One sweep, and what is seen in it, fields taken for Gaussian; there is no free entropy."""
        evidence = self.sweep()[0, :, 0]
        margin = np.sqrt(np.maximum(evidence, 0.0))  # the sums of runs are rounded
        loss = _losses(self.classes)(margin)
        answer = from_margins(self.classes, (margin, margin), (loss, loss))
        area = math.nan if answer.roc_auc is None else answer.roc_auc
        fields = answer.test_accuracy, loss, answer.balanced_accuracy, area, self.overlap, 0.0
        return Draw._make(float(np.mean(value)) for value in fields)

    def _estimate(self, evidence: Array) -> Array:
        return evidence / (1.0 + evidence)

    def _factors(self, members: Array) -> Array:
        x = self.model.strength**2 * members
        return np.asarray(x / np.maximum(1.0 - x, _ALIKE))

    def _absent(self) -> Array:
        return np.zeros((1, 1, 1))

    def _features(self) -> Array:
        return self.model.features.at(self.overlap[0])[:, None, None]


@lru_cache(maxsize=16)
def _losses(classes: Classes) -> Callable[[Array], Array]:
    """Cross-entropy as a function of the margin; of several unequal classes, where it takes long, by a spline."""
    node = LinearNode(classes)
    if classes.equal or classes.count == 2:
        return lambda margin: node.cross_entropy(np.square(margin))
    margins = np.linspace(0.0, _SURE, _LOSSES)
    loss = scipy.interpolate.CubicSpline(margins, node.cross_entropy(margins**2), bc_type="clamped")
    return lambda margin: np.asarray(loss(np.minimum(margin, _SURE)))


class _Poisson:
    """Poisson numbers of these means, rows and columns, drawn from the quantiles at evenly spaced places.

    The places have a random start, so that each number alone is a Poisson number exactly.
    """

    def __init__(self, means: Array, rng: Generator) -> None:
        distinct, self.kinds = np.unique(means.astype(np.float32), return_inverse=True)
        self.rng, self.means = rng, means
        places = (np.arange(_QUANTILES) + rng.random()) / _QUANTILES
        numbers = np.arange(distinct[-1] + 10.0 * math.sqrt(distinct[-1]) + 40.0)
        quantiles = [np.searchsorted(pdtr(numbers, mean), places) for mean in distinct]
        self.quantiles = np.array(quantiles, dtype=np.int32)

    def draw(self, each: int, theta: Array | None) -> Places:
        """Poisson numbers for `each` nodes of a row, of the means times their propensities: an array of row, node and column."""
        if theta is not None:
            return np.asarray(self.rng.poisson(theta * self.means[:, None]), dtype=np.int32)
        shape = (len(self.kinds), each, len(self.kinds))
        places = self.rng.integers(_QUANTILES, size=shape, dtype=np.int32)
        return np.asarray(self.quantiles[self.kinds[:, None], places])
