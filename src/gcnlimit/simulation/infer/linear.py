r"""The best linear network on an instance: its layers, its linear system, and the one that fits two numbers a layer.

The layers are approximate message passing with a linear node: labelled nodes keep their codes, others have :math:`v = B/(1 + M)`.
Sums over posteriors are replaced by what the state evolution expects of them, a share :math:`w = 1` on labelled nodes and
:math:`M/(1 + M)` on others, of what is known of a code; with all of it known, :math:`w = 1`, the fields are those of the system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from scipy.sparse.linalg import LinearOperator
from scipy.special import log_softmax

from gcnlimit import scope
from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import one_of, tolerance, whole
from gcnlimit._values import Array, Brief
from gcnlimit.errors import ParameterError
from gcnlimit.numerics.lanczos import top_eigenvalues
from gcnlimit.numerics.linear import conjugate_gradients
from gcnlimit.results.performance import Performance, Status
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.data.instance import Given, Instance, observed
from gcnlimit.simulation.data.observation import Observation
from gcnlimit.simulation.data.operator import propensities
from gcnlimit.simulation.infer.amp import GraphMessages, given_graphs
from gcnlimit.simulation.infer.inference import (
    CentroidMessages,
    Ended,
    iterate,
    log_prior,
    measured_posterior,
)
from gcnlimit.spectrum import Spectrum

By = Literal["layers", "system", "bethe", "labels"]
_LAYERS = {"layers": 200, "system": 2000, "bethe": 2000, "labels": 20}  # steps at most, by default
_EXPECTED = 10_000  # steps of the state evolution
_MOST = 2.0  # squares of the estimates, over those expected, that are taken for signal
_ALONE = 1e-12  # least square of a field that counts
_PULLS = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8)  # tried where degrees differ


@dataclass(frozen=True, eq=False)
class LinearInference(Brief):
    r"""Estimates of the best linear network for each node.

    Parameters
    ----------
    labels
        Estimates :math:`v` of the codes of the labels (Eq. 8.1), linear on unlabelled nodes; of :math:`C - 1` columns for three
        classes or more.
    probabilities
        Of each class, calibrated at large degree, :math:`N \times C`.
    left_out
        Estimates on all nodes that do not use the label of the node itself: of labelled nodes, leave-one-out (Eq. 12.8).
    weights
        Numbers of graph and features in each layer that were fitted (Eq. 12.9); else None.
    status, iterations, change
        How the iteration ended, after how many layers or steps, and the root mean square change in the last.
    performance
        Accuracies, and losses as cross-entropies in nats, if the latents are known, else None.
    """

    labels: Array
    probabilities: Array
    left_out: Array
    weights: Array | None
    status: Status
    iterations: int
    change: float
    performance: Performance | None


@progress_bar("passing messages")
def linear_message_passing(
    instance: Instance | Observation,
    *,
    to: Instance | Observation | None = None,
    by: By = "layers",
    layers: int | None = None,
    tol: float = 1e-6,
    device: Device | None = None,
) -> LinearInference:
    r"""Linear message passing: the best linear network on a graph, whose large-size limit is `best_linear`.

    It sets the known labels anew in each layer and passes through graph and features in turn (Eq. 12.3); all classes, laws of
    degrees and features of the model are allowed. Only observations enter, and there must be labelled nodes.

    Parameters
    ----------
    instance, to, device
        As for `amp`: an instance or its observation, another one that shares its class means, and where to compute.
    by
        ``"layers"``, one after the other. ``"system"``, their limit, as one linear system solved by conjugate gradients
        (Eq. 12.4); where few labels leave it indefinite, its diagonal is raised. ``"bethe"``, the system of the Bethe Hessian
        (Eq. 12.10), better at degrees below about ten. ``"labels"``, a network that does not know the signals and fits two
        numbers in each layer by least squares on the labelled nodes (Eq. 12.9), on one graph; where degrees differ, also the
        number by which what hubs receive counts less.
    layers, tol
        Layers or steps at most, by default as many as are needed, 20 for ``"labels"``; and the root mean square change of the
        estimates at which they end.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> graph = gl.sample(data, nodes=2000, degree=30, seed=0)
    >>> layers, system = (gl.linear_message_passing(graph, by=how) for how in ("layers", "system"))
    >>> bool(np.allclose(layers.labels, system.labels, atol=1e-3))
    True
    >>> bool(abs(layers.performance.test_accuracy - gl.best_linear(data).test_accuracy) < 0.04)
    True
    """
    one_of("by", by, *_LAYERS)
    graphs = given_graphs("linear_message_passing", instance, to)
    observations = [observed(graph) for graph in graphs]
    variant = " by labels on another graph" if to is not None and by == "labels" else ""
    if not any(observation.train_mask.any() for observation in observations):
        variant = " without labels"
    for observation in observations:
        scope.check(f"linear_message_passing{variant}", observation.data)
    steps = whole("layers", _LAYERS[by] if layers is None else layers, low=1)
    tolerance("tol", tol)
    place = observations[0].device(device)
    guard = backend_of(place).guard(observations[0].nodes)
    with guard, np.errstate(over="ignore", invalid="ignore"):
        network = (_FittedNetwork if by == "labels" else _Network)(observations, place, by)
        passing = partial(iterate, network.layer, observations, damping=0.0)
        ended = (network.solve if by in ("system", "bethe") else passing)(steps, tol)
    return network.inference(graphs[-1], ended)


class _Network:
    """The network on the nodes of all graphs, one after the other, with the parameters of the model."""

    def __init__(self, observations: Sequence[Observation], device: Device, by: By) -> None:
        self.graphs = [GraphMessages(observation, device) for observation in observations]
        self.features = CentroidMessages(observations, device)
        self.mask = np.concatenate([observation.train_mask for observation in observations])
        self.codes = np.concatenate([observation.train_codes for observation in observations])
        self.ends = self.features.ends
        pairs = zip(observations, self.graphs, strict=True)
        self.scales = [_scale(observation, graph, by) for observation, graph in pairs]
        self.v = self.codes.copy()
        self.M = np.zeros(len(self.mask))
        self.fields = np.zeros_like(self.v)
        self.weights: list[Array] = []

    def expected(self, share: Array) -> Array:
        """Evidence on each node, if a `share` of what each code says is known."""
        shares = np.split(share, self.ends)
        certain = self.features.summed([w.sum() for w in shares])
        resolved = self.features.rate * self.features.gain * certain
        on_features = np.sum(self.features.gain * resolved / (1.0 + resolved))
        graphs = zip(self.graphs, self.features.rates, self.scales, shares, strict=True)
        evidence = [
            stretch * graph.signal**2 * np.mean(theta * w) * theta + rate * on_features
            for graph, rate, (theta, stretch), w in graphs
        ]
        return np.concatenate(evidence)

    def limit(self) -> Array:
        """Evidence on each node after many layers."""
        M = np.zeros(len(self.mask))
        for _ in range(_EXPECTED):
            before = M
            M = self.expected(self._share(M))
            if np.max(np.abs(M - before)) <= 1e-12 * np.max(M):
                break
        return M

    def _share(self, M: Array) -> Array:
        return np.asarray(np.where(self.mask, 1.0, M / (1.0 + M)))

    def messages(self, v: Array, on_graph: Array, on_features: Array) -> tuple[Array, Array]:
        """Fields of graphs and features on all nodes, from estimates of the codes, of which these shares are known.

        The rest of each share is how much the estimate moves with the field: what the memory of the iteration takes back.
        """
        eye = np.eye(v.shape[1])
        means = np.split(v, self.ends)
        parts = zip(self.graphs, self.scales, means, np.split(on_graph, self.ends), strict=True)
        graphs = [
            stretch * graph.messages((mean, np.sum(theta) * eye, np.sum(theta * w) * eye))
            for graph, (theta, stretch), mean, w in parts
        ]
        shares = zip(means, np.split(on_features, self.ends), strict=True)
        features = self.features.messages([(m, len(w) * eye, np.sum(w) * eye) for m, w in shares])
        return np.concatenate(graphs), np.concatenate(features)

    def layer(self, keep: float) -> float:
        """One layer (Eq. 12.3); returns the root mean square change of the estimates."""
        share = self._share(self.M)
        fields = np.add(*self.messages(self.v, share, share))
        self.M = self.expected(share)
        self.fields = fields * self._bounded(fields / (1.0 + self.M)[:, None])
        return self._clamp(self.fields / (1.0 + self.M)[:, None])

    def _clamp(self, estimate: Array) -> float:
        """Renew the estimates on unlabelled nodes; returns the root mean square change."""
        before = self.v
        self.v = np.where(self.mask[:, None], self.codes, estimate)
        return float(np.sqrt(np.mean((self.v - before) ** 2)))

    def _bounded(self, estimate: Array) -> float:
        """Factor that holds estimates within twice their expected squares, where few labels leave a sample unstable."""
        hidden = ~self.mask
        most = _MOST * estimate.shape[1] * float(np.sum(self._share(self.M)[hidden]))
        size = float(np.sum(estimate[hidden] ** 2))
        return float(np.sqrt(most / size)) if size > most > 0.0 else 1.0

    def solve(self, steps: int, tol: float) -> Ended:
        """Limit of the layers by conjugate gradients (Eq. 12.4)."""
        everything = np.ones(len(self.mask))
        diagonal = 1.0 + self.expected(everything)  # of the system
        hidden = ~self.mask
        root = np.sqrt(diagonal[hidden])[:, None]

        def fields(v: Array) -> Array:
            return np.asarray(np.add(*self.messages(v, everything, everything)))

        def spread(x: Array) -> Array:
            """Fields of estimates on unlabelled nodes alone, all in units of the root of the diagonal."""
            v = np.zeros((len(self.mask), x.shape[1]))
            v[hidden] = x / root
            return np.asarray(fields(v)[hidden] / root)

        source = fields(self.codes)[hidden] / root
        self.M = self.limit()
        solved = partial(conjugate_gradients, source=source, steps=steps, tol=tol)
        x, settled, count, change = solved(lambda x: x - spread(x))
        if x is None:  # indefinite: raise the diagonal to the distance of the limit (Eq. 12.6)
            gap = np.mean(self.mask) / np.mean(self._share(self.M)) * np.mean(self.M / diagonal)
            shape = (len(root), len(root))

            def column(x: Array) -> Array:
                return spread(np.repeat(np.reshape(x, (-1, 1)), source.shape[1], axis=1))[:, 0]

            top = max(top_eigenvalues(LinearOperator(shape, column, dtype=float), 200))
            x, settled, count, change = solved(lambda x: (top + gap) * x - spread(x))
            assert x is not None
        self.v[hidden] = x / root
        self.v[hidden] *= self._bounded(self.v)
        # a labelled node gives back its own label
        direct = (self.M - diagonal + 1.0)[:, None] * self.codes
        unlabelled = (1.0 + self.M)[:, None] * self.v
        self.fields = np.where(self.mask[:, None], direct + fields(self.v), unlabelled)
        return Status.CONVERGED if settled else Status.NOT_CONVERGED, count, change

    def inference(self, graph: Given, ended: Ended) -> LinearInference:
        """Answer on the last graph."""
        observation = observed(graph)
        v, fields, M = (x[-observation.nodes :] for x in (self.v, self.fields, self.M))
        y = observation.classes.codes
        evidence = fields @ y.T - 0.5 * M[:, None] * np.sum(y**2, axis=1)
        logs = log_softmax(log_prior(observation) + evidence, axis=1)
        performance = measured_posterior(graph, logs) if isinstance(graph, Instance) else None
        left_out = fields / (1.0 + M)[:, None]
        labels, left_out = (x[:, 0] if x.shape[1] == 1 else x for x in (v, left_out))
        weights = np.array(self.weights) if self.weights else None
        return LinearInference(labels, np.exp(logs), left_out, weights, *ended, performance)


def _scale(observation: Observation, graph: GraphMessages, by: By) -> tuple[Array, float]:
    r"""Propensities that weigh the nodes, and factor :math:`1/(1 - t^2)` of all that the graph says in the Bethe Hessian."""
    theta = graph.theta
    if by != "bethe":
        return (np.ones(observation.nodes) if theta is None else theta), 1.0
    if observation.degree is None:
        raise ParameterError("degree = None is a dense graph, which has no edges; take by='system'")
    square = float(observation.data.lam) ** 2 / observation.degree
    if not square < 1.0:
        told = f"lam = {observation.data.lam:g} at degree {observation.degree:g} makes neighbours"
        raise ParameterError(f"{told} alike, and the Bethe Hessian singular; take by='system'")
    return propensities(observation.edge_counts), 1.0 / (1.0 - square)


class _FittedNetwork(_Network):
    r"""The network that knows no parameter of the model: two numbers a layer by least squares (Eq. 12.9).

    Where degrees differ, evidence grows with them, :math:`1 + M_\theta \propto 1 + \kappa\theta` (Eq. 12.11): the fields of a
    node are divided by that, and the third number :math:`\kappa` is the one of a few that explains most of the labels.
    """

    def __init__(self, observations: Sequence[Observation], device: Device, by: By) -> None:
        (observation,) = observations
        # messages of signals 1: the network does not read those of the model
        unit = observation.data.having(lam=1.0, mu=1.0, features=Spectrum.white())
        super().__init__([replace(observation, data=unit)], device, by)
        self.moved = np.zeros((2, len(self.mask)))  # derivatives of the estimates in their fields

    def layer(self, keep: float) -> float:
        """One layer; returns the root mean square change of the estimates."""
        fields = np.stack(self.messages(self.v, *(1.0 - self.moved)))
        theta = self.graphs[0].theta
        less = [np.ones(len(self.mask))]
        if theta is not None:
            less = [1.0 / (1.0 + pull * theta) for pull in _PULLS]
        fits = [self._fit(fields * g[:, None]) for g in less]
        best = int(np.argmax([explained for explained, _ in fits]))
        (_, w), g = fits[best], less[best]
        estimate = np.tensordot(w, fields * g[:, None], axes=1)
        self.moved = np.outer(w, g * ~self.mask)
        # in units of the operator and of the products with the features
        self.weights.append(w * [self.graphs[0].signal, 1.0 / (1.0 + self.features.resolved[0, 0])])
        self.fields, self.M = self._calibrated(estimate, g)
        return self._clamp(estimate)

    def _calibrated(self, estimate: Array, g: Array) -> tuple[Array, Array]:
        """Fields and evidence, by mean and variance of the estimates on labelled nodes, which do not know their labels."""
        y, left_out = self.codes[self.mask], estimate[self.mask]
        along = float(np.sum(left_out * y) / np.sum(y**2))
        variance = float(np.sum((left_out - along * y) ** 2)) / max(y.size - 1, 1)
        # few labels know no large margin
        variance = max(variance, along**2 / (1.0 + y.size), 1e-300)
        more = np.mean(g[self.mask]) / g
        M = np.maximum((1.0 + along**2 / variance) * more - 1.0, 0.0)
        return along / variance * more[:, None] * estimate, M

    def _fit(self, fields: Array) -> tuple[float, Array]:
        """Share of the labels explained by the fields, and the two numbers that make codes of them.

        Squares of the fields are averaged over all nodes, their products with labels over the known.
        """
        square = np.einsum("ank,bnk->ab", fields, fields) / fields[0].size
        target = np.einsum("ank,nk->a", fields[:, self.mask], self.codes[self.mask])
        target /= self.codes[self.mask].size
        least = _ALONE * max(float(np.max(np.diag(square))), 1e-300)
        w = np.linalg.solve(square + least * np.eye(2), target)
        return float(w @ target), w
