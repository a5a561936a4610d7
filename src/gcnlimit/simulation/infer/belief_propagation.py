"""Bayes-optimal inference on a sparse graph, by belief propagation.

Pairs of nodes without an edge are many and each says little: they enter by their mean and a reaction term.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gcnlimit._validation import check_types, number, tolerance, whole
from gcnlimit._values import Array
from gcnlimit.classes import code_moments
from gcnlimit.errors import ParameterError
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.data.instance import Instance
from gcnlimit.simulation.data.observation import Observation
from gcnlimit.simulation.infer.inference import Inference, iterate, log_prior
from gcnlimit.simulation.infer.messages import Affinity, EdgeMessages, FeatureMessages, normalized


@dataclass(frozen=True, eq=False)
class AbsentEdges:
    r"""Mean field of the absent edges, to second order in the density of the graph.

    Each of the `observations` :math:`c` of a pair (two on a directed graph) gives :math:`\log(1 - \theta\, y_k \cdot y_l)`.
    The sum over all nodes, less the reaction of node :math:`i` on them, is (Eq. 9.3)

    .. math:: f_{ik} = -c\theta\, y_k \cdot S + c^2\theta^2\, y_k^T \Sigma\, \hat y_i
              - \tfrac12 y_k^T (c\theta^2\, T + c^2\theta^2\, \Sigma) y_k,

    with :math:`S = \sum_l \hat y_l`, the second moments :math:`T = \sum_l \langle y_l y_l^T \rangle` and the covariances
    :math:`\Sigma = T - \sum_l \hat y_l \hat y_l^T`. The reaction counts the neighbours too, to which the odds of their edges
    are relative, and it is these that prevail in its sign. All but the first term vanish as :math:`d/N`.

    Parameters
    ----------
    repulsion
        :math:`\theta`, of :class:`gcnlimit.simulation.infer.messages.Affinity`.
    observations
        :math:`c`, 2 on a directed graph, else 1.
    codes
        Codes :math:`y_k`, one in each row.
    weight
        Propensities of the nodes, a column, by which the pull of a pair is multiplied; 1 if they are alike.
    """

    repulsion: float
    observations: float
    codes: Array
    weight: Array | float = 1.0

    def field(self, marginals: Array, old: Array) -> Array:
        """Logarithm of the evidence on each class of each node; `old` are the marginals one step before."""
        y, theta = self.codes, self.repulsion
        pull = self.observations * theta
        means, second, squares = self._moments(marginals)
        spread = second - squares
        square = np.sum((y @ (pull * theta * second + pull**2 * spread)) * y, axis=1)
        first, own = -pull * (y @ np.sum(self.weight * means, axis=0)), self.weight * self.weight
        return np.asarray(self.weight * first - own * 0.5 * square + own * pull**2 * (old @ y) @ spread @ y.T)

    def _moments(self, marginals: Array) -> tuple[Array, Array, Array]:
        weight = None if isinstance(self.weight, float) else self.weight[:, 0] ** 2
        return code_moments(marginals, self.codes, weight)

    def free_entropy(self, marginals: Array) -> float:
        """Bethe term: energy of the absent edges, less their field on the nodes."""
        pull = self.observations * self.repulsion
        means, second, squares = self._moments(marginals)
        quadratic = pull * self.repulsion * np.sum(second**2) + pull**2 * np.sum((second - squares) ** 2)
        energy = -0.5 * pull * np.sum(np.sum(self.weight * means, axis=0) ** 2) - 0.25 * quadratic
        return float(energy - np.sum(marginals * self.field(marginals, marginals)))


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
    mean (Eq. 9.3), features as in `amp` (Eq. 9.4). An iteration takes time proportional to the number of edges, and to the
    size of the features. A directed graph observes each pair of nodes twice, and both observations count. Only observations
    enter; the latents of an instance serve to measure the result. Its accuracy on large graphs is
    ``bayes_optimal(data, degree=...)``.

    Parameters
    ----------
    instance
        An instance, or its observation alone; its graph must be sparse.
    max_iterations, tol
        Stop when the root mean square change of the posterior means, over one less `damping`, is below `tol`.
    damping
        Fraction of the old messages and centroids kept in each step, in [0, 0.99]; of use where the iteration oscillates.
    seed
        Of the small random start.
    device
        Where the features are multiplied, as for `amp`; messages along the edges stay with NumPy.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> sparse = gl.sample(gl.CSBM(alpha=10, lam=1.0, mu=1.0, rho=0.1, directed=False), nodes=1000, degree=3, seed=0)
    >>> bool(gl.belief_propagation(sparse).performance.test_loss < gl.amp(sparse).performance.test_loss)
    True
    """
    check_types("belief_propagation", instance=(instance, (Instance, Observation)))
    steps, tol = whole("max_iterations", max_iterations, low=1), tolerance("tol", tol)
    keep = number("damping", damping, low=0, high=0.99)
    observation = instance.observation if isinstance(instance, Instance) else instance
    place = observation.device(device)
    with backend_of(place).guard(observation.nodes):
        iteration = _Iteration(observation, seed, place)
        ended, features = iterate(lambda: iteration.step(keep), steps, tol), iteration.features
    means, centroid = iteration.marginals @ iteration.codes, features.centroids * features.deviation
    entropy = iteration.free_entropy()
    return Inference.of(instance, iteration.logarithms, means, centroid, ended, entropy)


class _Iteration:
    """State of the iteration on one observation."""

    def __init__(self, observation: Observation, seed: int, device: Device) -> None:
        data, nodes = observation.data, observation.nodes
        if observation.degree is None:
            raise ParameterError("degree = None is a dense Gaussian graph, which has no edges; take amp")
        fractions = data.fractions
        self.codes = data.classes.codes
        affinity = Affinity.of(float(data.lam), nodes, observation.degree, fractions)
        weight = 1.0 if observation.theta is None else observation.theta[:, None]
        self.absent = AbsentEdges(affinity.repulsion, 2.0 if data.directed else 1.0, self.codes, weight)
        self.edges = EdgeMessages(observation.edge_counts, affinity, data.directed)  # type: ignore[arg-type]
        self.features = FeatureMessages([observation], device)
        self.prior = log_prior(observation)
        noise = np.random.default_rng(whole("seed", seed, low=0)).standard_normal((nodes, fractions.size))
        self.marginals = normalized(self.prior + 1e-2 * noise)
        self.old = np.broadcast_to(fractions, self.marginals.shape)
        self.edges.start(self.marginals)
        self.logarithms = self.prior

    def field(self, keep: float = 0.0) -> Array:
        """Logarithm of what is known of each node beside its edges: label, features, absent edges (Eq. 9.3)."""
        absent = self.absent.field(self.marginals, self.old)
        return np.asarray(self.prior + self.features.field(self.marginals, keep) + absent)

    def step(self, keep: float) -> float:
        """One step; returns the root mean square change of the posterior means that it would make without damping."""
        self.logarithms = self.edges.step(self.field(keep), keep)
        new = normalized(self.logarithms)
        if not np.all(np.isfinite(new)):
            raise ParameterError("the messages overflow; take weaker signals lam and mu")
        self.old, self.marginals = self.marginals, (1.0 - keep) * new + keep * self.marginals
        change = (new - self.old) @ self.codes
        return float(np.sqrt(np.mean(change**2)))

    def free_entropy(self) -> float:
        """Bethe free entropy per node (Eq. 9.5)."""
        total, _ = self.edges.evidence(self.field())
        nodes = float(np.sum(np.logaddexp.reduce(total, axis=1)))
        others = self.absent.free_entropy(self.marginals) + self.features.free_entropy()
        return (nodes - self.edges.pairs() + others) / len(total)
