"""Bayes-optimal inference on a sparse graph, by belief propagation."""

from __future__ import annotations

import numpy as np

from gcnlimit._validation import check_types, number, tolerance, whole
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.simulation.absent_edges import AbsentEdges
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.codes import class_codes
from gcnlimit.simulation.edge_messages import Affinity, EdgeMessages, normalized
from gcnlimit.simulation.feature_messages import FeatureMessages
from gcnlimit.simulation.inference import Inference, iterate, log_prior
from gcnlimit.simulation.instance import Instance
from gcnlimit.simulation.observation import Observation

__all__ = ["belief_propagation"]


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
        if np.min(observation.adjacency.data, initial=0.0) < 0.0:
            raise ParameterError("adjacency has negative weights, and weights count edges here; take amp")
        fractions = data.fractions
        self.codes = class_codes(data.classes)
        affinity = Affinity.of(float(data.lam), nodes, observation.degree, fractions)
        self.absent = AbsentEdges(affinity.repulsion, 2.0 if data.directed else 1.0, self.codes)
        self.edges = EdgeMessages(observation.adjacency, affinity, data.directed)  # type: ignore[arg-type]
        self.features = FeatureMessages(observation, self.codes, device)
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
