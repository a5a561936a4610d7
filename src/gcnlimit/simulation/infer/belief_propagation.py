"""Bayes-optimal inference on a sparse graph, by belief propagation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import softmax

from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import check_types, whole
from gcnlimit._values import Array
from gcnlimit.classes import Classes, code_moments
from gcnlimit.errors import ParameterError
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.data.instance import Instance, observed
from gcnlimit.simulation.data.observation import Observation
from gcnlimit.simulation.data.size import edge_probabilities
from gcnlimit.simulation.infer.inference import CentroidMessages, Inference, iterate, log_prior

_TINY = 1e-300  # least factor of an edge, so that differences of logarithms stay finite


@dataclass(frozen=True, eq=False)
class Affinity:
    r"""Odds of an edge between two classes, over those of a graph without classes (Eq. 9.1).

    With :math:`w_{kl} = 1 + \varepsilon\, y_k \cdot y_l`, :math:`\varepsilon = \lambda\sqrt{(1 - p)/d}` and :math:`p = d/N`, an
    edge has probability :math:`p w_{kl}` and odds :math:`(1 - p) w_{kl}/(1 - p w_{kl})` over those without classes: `same` for
    each class with itself, `other` for all pairs of classes. A pair of nodes without an edge has
    :math:`1 - \theta\, y_k \cdot y_l` with the `repulsion` :math:`\theta = p\varepsilon/(1 - p)`.
    """

    same: Array
    other: float
    repulsion: float

    @classmethod
    def of(cls, lam: float, nodes: int, degree: float, classes: Classes) -> Self:
        """Affinity of a block model of that signal, or `ParameterError` if there is none.

        >>> odds = Affinity.of(0.5, nodes=10**9, degree=4, classes=Classes.of(2))
        >>> odds.same.round(6), round(odds.other, 6)
        (array([1.25, 1.25]), 0.75)
        """
        edge_probabilities(lam, nodes, degree, classes)  # refuses a signal beyond the degree
        p = degree / nodes
        epsilon = lam * math.sqrt((1.0 - p) / degree)
        other = 1.0 - epsilon
        same = 1.0 - epsilon + epsilon / classes.fractions
        odds = [(1.0 - p) * np.maximum(w, 0.0) / (1.0 - p * w) for w in (same, np.array(other))]
        return cls(odds[0], float(odds[1]), p * epsilon / (1.0 - p))


class EdgeBeliefs:
    r"""Belief propagation on the edges of a graph, with messages :math:`\psi^{j \to i}_k` along both directions of each edge.

    With a local field :math:`f_{jk}` on each node, the logarithm of what else is known of its class,

    .. math:: \psi^{j \to i}_k \propto e^{f_{jk}} \prod_{l \in \partial j \setminus i} \sum_m W_{km} \psi^{l \to j}_m, \qquad
              W_{km} = r_{kk}\delta_{km} + r (1 - \delta_{km}),

    (Eq. 9.2) where :math:`W` are the odds of `Affinity`; two edges between the same nodes, one for each direction, have the
    squares of these. One step takes time proportional to the number of edges. On a tree the marginals are exact. Positive
    weights of the adjacency count edges; on a `directed` graph each direction was observed independently.
    """

    def __init__(self, graph: Any, affinity: Affinity, directed: bool, marginals: Array) -> None:
        counts = sparse.csr_array(graph + graph.T) if directed else graph.copy()
        self.loops = graph.diagonal()[:, None] * np.log(np.maximum(affinity.same, _TINY))
        counts.setdiag(0.0)
        counts.eliminate_zeros()
        counts.sort_indices()
        # row i lists the edges into node i: their sources, numbers, and the edges back
        rows = counts.indptr
        numbers = np.arange(counts.nnz)
        self.source = counts.indices
        numbered = sparse.csr_array((numbers, counts.indices, rows), shape=counts.shape)
        self.reverse = sparse.csr_array(numbered.T).data
        shape = (counts.shape[0], counts.nnz)
        self.sums = sparse.csr_array((np.ones(counts.nnz), numbers, rows), shape=shape)
        # edges observed twice have the product of their odds
        times = counts.data if np.any(counts.data != 1.0) else np.ones(1)
        self.base = affinity.other**times
        self.gain = affinity.same[:, None] ** times - self.base
        # each node sends its marginals; classes first, since sums over them are then fast
        self.messages = marginals.T[:, self.source]

    def evidence(self, field: Array) -> tuple[Array, Array]:
        """Logarithms, not normalized, of the marginals of the nodes, and of the factor that each message contributes."""
        factors = np.log(np.maximum(self.base + self.gain * self.messages, _TINY))
        received = np.stack([self.sums @ of_class for of_class in factors], axis=1)
        return field + self.loops + received, factors

    def step(self, field: Array, keep: float = 0.0) -> Array:
        """Renew the messages, of which a fraction `keep` stays, and return logarithms of the marginals, not normalized."""
        total, factors = self.evidence(field)
        # a node tells its neighbour what it knows but for what that neighbour told it
        new = softmax(total.T[:, self.source] - factors[:, self.reverse], axis=0)
        self.messages = new if keep == 0.0 else (1.0 - keep) * new + keep * self.messages
        return total

    def pairs(self) -> float:
        r"""Sum over the edges of :math:`\log\sum_{kl} \psi^{i \to j}_k W_{kl} \psi^{j \to i}_l`, the Bethe term of the edges."""
        alike = self.messages * self.messages[:, self.reverse]
        both = np.sum(self.gain * alike, axis=0) + self.base
        return 0.5 * float(np.sum(np.log(np.maximum(both, _TINY))))


@dataclass(frozen=True, eq=False)
class AbsentEdges:
    r"""Mean field of the absent edges, to second order in the density of the graph.

    Each of the `observations` :math:`c` of a pair (two on a directed graph) gives :math:`\log(1 - \theta\, y_k \cdot y_l)`.
    The sum over all nodes, less the reaction of node :math:`i` on them, is (Eq. 9.3)

    .. math:: f_{ik} = -c\theta\, y_k \cdot S + c^2\theta^2\, y_k^T \Sigma\, \hat y_i
              - \tfrac12 y_k^T (c\theta^2\, T + c^2\theta^2\, \Sigma) y_k,

    with :math:`S = \sum_l \hat y_l`, the second moments :math:`T = \sum_l \langle y_l y_l^T \rangle` and the covariances
    :math:`\Sigma = T - \sum_l \hat y_l \hat y_l^T`. The reaction counts the neighbours too, to which the odds of their edges
    are relative, and it is these that prevail in its sign. All but the first term vanish as :math:`d/N`. The `weight` of the
    nodes, a column of propensities or 1, multiplies the pull of a pair.
    """

    repulsion: float
    observations: float
    codes: Array
    weight: Array | float = 1.0

    def field(self, marginals: Array, old: Array) -> Array:
        """Logarithm of the evidence on each class of each node; `old` are the marginals one step before."""
        y = self.codes
        pull, means, second, spread = self._moments(marginals)
        first = -pull * (y @ np.sum(self.weight * means, axis=0))
        square = np.sum((y @ (pull * self.repulsion * second + pull**2 * spread)) * y, axis=1)
        variance = self.weight * self.weight
        reaction = variance * pull**2 * (old @ y) @ spread @ y.T
        return np.asarray(self.weight * first - variance * 0.5 * square + reaction)

    def _moments(self, marginals: Array) -> tuple[float, Array, Array, Array]:
        r""":math:`c\theta`, means :math:`\hat y`, second moments :math:`T` and covariances :math:`\Sigma`."""
        weight = None if isinstance(self.weight, float) else self.weight[:, 0] ** 2
        means, second, squares = code_moments(marginals, self.codes, weight)
        return self.observations * self.repulsion, means, second, second - squares

    def free_entropy(self, marginals: Array) -> float:
        """Bethe term: energy of the absent edges, less their field on the nodes."""
        pull, means, second, spread = self._moments(marginals)
        quadratic = pull * self.repulsion * np.sum(second**2) + pull**2 * np.sum(spread**2)
        energy = -0.5 * pull * np.sum(np.sum(self.weight * means, axis=0) ** 2) - 0.25 * quadratic
        return float(energy - np.sum(marginals * self.field(marginals, marginals)))


@progress_bar("passing messages")
def belief_propagation(
    instance: Instance | Observation,
    *,
    max_iterations: int = 200,
    tol: float = 1e-6,
    damping: float = 0.0,
    seed: int = 0,
    device: Device | None = None,
) -> Inference:
    r"""Belief propagation along the edges, and message passing on the features: Bayes-optimal on sparse graphs.

    :func:`gcnlimit.amp` replaces the edges by Gaussian entries, which needs a large degree; this keeps them, and at a degree
    below about ten it is more accurate. Messages (Eq. 9.2) follow both directions of each edge; absent edges act through their
    mean (Eq. 9.3), features as in `amp` (Eq. 9.4). On a directed graph both observations of a pair of nodes count. The accuracy
    on large graphs is ``bayes_optimal(data, degree=...)``.

    Parameters
    ----------
    instance
        An instance, or its observation alone; its graph must be sparse.
    max_iterations, tol, damping, seed, device
        As for `amp`; messages along the edges stay with NumPy.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> sparse = gl.sample(gl.CSBM(alpha=10, lam=1.0, mu=1.0, rho=0.1, directed=False), nodes=1000, degree=3, seed=0)
    >>> bool(gl.belief_propagation(sparse).performance.test_loss < gl.amp(sparse).performance.test_loss)
    True
    """
    check_types("belief_propagation", instance=(instance, (Instance, Observation)))
    observation = observed(instance)
    place = observation.device(device)
    guard = backend_of(place).guard(observation.nodes)
    # where an edge has probability 1, its odds are infinite
    with guard, np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        iteration = _EdgeIteration(observation, seed, place)
        ended = iterate(iteration.step, [observation], max_iterations, tol, damping)
    means = iteration.marginals @ iteration.codes
    centroid = iteration.features.centroids * iteration.features.deviation
    entropy = iteration.free_entropy()  # renews the centroids
    return Inference.of(instance, iteration.logarithms, means, centroid, ended, entropy)


class _EdgeIteration:
    """State of the iteration on one observation."""

    def __init__(self, observation: Observation, seed: int, device: Device) -> None:
        data = observation.data
        nodes = observation.nodes
        if observation.degree is None:
            raise ParameterError("degree = None is a dense graph, which has no edges; take amp")
        self.codes = data.classes.codes
        affinity = Affinity.of(float(data.lam), nodes, observation.degree, data.classes)
        weight = 1.0 if observation.theta is None else observation.theta[:, None]
        directions = 2.0 if data.directed else 1.0
        self.absent = AbsentEdges(affinity.repulsion, directions, self.codes, weight)
        self.features = CentroidMessages([observation], device)
        self.prior = log_prior(observation)
        rng = np.random.default_rng(whole("seed", seed, low=0))
        noise = rng.standard_normal(self.prior.shape)
        self.marginals = softmax(self.prior + 1e-2 * noise, axis=1)
        self.old = np.broadcast_to(data.fractions, self.marginals.shape)
        counts = observation.edge_counts
        self.edges = EdgeBeliefs(counts, affinity, data.directed, self.marginals)
        self.logarithms = self.prior

    def field(self, keep: float = 0.0) -> Array:
        """Logarithm of what is known of each node beside its edges: label, features, absent edges (Eq. 9.3)."""
        absent = self.absent.field(self.marginals, self.old)
        return np.asarray(self.prior + self.features.field(self.marginals, keep) + absent)

    def step(self, keep: float) -> float:
        """One step; returns the root mean square change of the posterior means that it would make without damping."""
        self.logarithms = self.edges.step(self.field(keep), keep)
        new = softmax(self.logarithms, axis=1)
        self.old = self.marginals
        self.marginals = (1.0 - keep) * new + keep * self.marginals
        return float(np.sqrt(np.mean(((new - self.old) @ self.codes) ** 2)))

    def free_entropy(self) -> float:
        """Bethe free entropy per node (Eq. 9.5)."""
        total, _ = self.edges.evidence(self.field())
        nodes = float(np.sum(np.logaddexp.reduce(total, axis=1)))
        others = self.absent.free_entropy(self.marginals) + self.features.free_entropy()
        return (nodes - self.edges.pairs() + others) / len(total)
