r"""The best linear network on an instance: its layers, its linear system, and the one that fits two numbers a layer.

The layers are approximate message passing with a linear node: labelled nodes keep their codes, others have :math:`v = B/(1 + M)`.
Sums over posteriors are replaced by what the state evolution expects of them, a share :math:`w = 1` on labelled nodes and
:math:`M/(1 + M)` on others, of what is known of a code; with all of it known, :math:`w = 1`, the fields are those of the system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse.linalg import LinearOperator
from scipy.special import log_softmax

from gcnlimit import scope
from gcnlimit._validation import check_types, tolerance, whole
from gcnlimit._values import Array, Brief
from gcnlimit.errors import ParameterError
from gcnlimit.normalization import Regularized
from gcnlimit.numerics.lanczos import top_eigenvalues
from gcnlimit.results.performance import Performance, Status
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.data.features import one_pass
from gcnlimit.simulation.data.instance import Given, Instance, observed
from gcnlimit.simulation.data.observation import Observation
from gcnlimit.simulation.data.operator import propensities
from gcnlimit.simulation.infer.amp import GraphMessages, alike_pair
from gcnlimit.simulation.infer.inference import (
    CentroidMessages,
    Ended,
    iterate,
    log_prior,
    measured_posterior,
)

By = Literal["layers", "system", "bethe", "labels"]
_LAYERS = {"layers": 200, "system": 2000, "bethe": 2000, "labels": 20}  # steps at most, by default
_EXPECTED = 10_000  # steps of the state evolution
_MOST = 2.0  # squares of the estimates, over those expected, that are taken for signal
_ALONE = 1e-12  # least square of a field that counts


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
        How the iteration ended, after how many layers or steps, and the root mean square change of the last.
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

    It clamps the known labels and passes through graph and features in turn (Eq. 12.3); all classes, laws of degrees and
    features of the model are allowed. Only observations enter, and there must be labelled nodes.

    Parameters
    ----------
    instance, to, device
        As for `amp`: an instance or its observation, another one that shares its class means, and where to compute.
    by
        ``"layers"``, one after the other. ``"system"``, their limit, as one linear system solved by conjugate gradients
        (Eq. 12.4); where few labels leave it indefinite, its diagonal is raised. ``"bethe"``, the system of the Bethe Hessian
        (Eq. 12.10), better at degrees below about ten. ``"labels"``, a network that does not know the signals and fits two
        numbers in each layer by least squares on the labelled nodes (Eq. 12.9), on one graph.
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
    for given in (instance,) if to is None else (instance, to):
        check_types("linear_message_passing", instance=(given, (Instance, Observation)))
    if by not in _LAYERS:
        raise ParameterError(f"by = {by!r} is not allowed; it must be one of {', '.join(_LAYERS)}")
    graphs = [instance] if to is None else alike_pair(instance, to)
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
        network = (
            _Fitted(observations, place)
            if by == "labels"
            else _Network(observations, place, by == "bethe")
        )
        if isinstance(network, _Network) and by != "layers":
            ended = network.solve(steps, tol)
        else:
            ended = iterate(network.layer, observations, steps, tol, 0.0)
    return network.inference(graphs, ended)


class _Network:
    """The network on the nodes of all graphs, one after the other, with the parameters of the model."""

    def __init__(self, observations: Sequence[Observation], device: Device, bethe: bool) -> None:
        self.graphs = [GraphMessages(observation, device) for observation in observations]
        self.features = CentroidMessages(observations, device)
        self.mask = np.concatenate([observation.train_mask for observation in observations])
        self.codes = np.concatenate([observation.train_codes for observation in observations])
        self.ends = self.features.ends
        pairs = zip(observations, self.graphs, strict=True)
        self.weights = [_weight(observation, graph, bethe) for observation, graph in pairs]
        self.v = self.codes.copy()
        self.M = np.zeros(len(self.mask))
        self.fields = np.zeros_like(self.v)

    def expected(self, share: Array) -> Array:
        """Evidence on each node, if a `share` of what each code says is known."""
        shares = np.split(share, self.ends)
        parts = zip(self.features.share, shares, strict=True)
        resolved = self.features.rate * self.features.gain * sum(s * w.sum() for s, w in parts)
        on_features = np.sum(self.features.gain * resolved / (1.0 + resolved))
        signals = [graph.signal for graph in self.graphs]
        graphs = zip(signals, self.features.rates, self.weights, shares, strict=True)
        evidence = [
            stretch * signal**2 * np.mean(theta * w) * theta + rate * on_features
            for signal, rate, (theta, stretch), w in graphs
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

    def message(self, v: Array, share: Array) -> Array:
        """Fields on all nodes, from estimates of the codes, of which a `share` is known on each node."""
        one = np.eye(v.shape[1])
        nodes = list(zip(np.split(v, self.ends), np.split(share, self.ends), strict=True))
        fields = [
            stretch * graph.messages((means, np.sum(theta) * one, np.sum(theta * w) * one))
            for graph, (theta, stretch), (means, w) in zip(
                self.graphs, self.weights, nodes, strict=True
            )
        ]
        plain = [(means, len(w) * one, np.sum(w) * one) for means, w in nodes]
        return np.asarray(np.concatenate(fields) + np.concatenate(self.features.messages(plain)))

    def layer(self, keep: float) -> float:
        """One layer (Eq. 12.3); returns the root mean square change of the estimates."""
        share = self._share(self.M)
        fields = self.message(self.v, share)
        self.M = self.expected(share)
        self.fields = fields * self._bounded(fields / (1.0 + self.M)[:, None])
        before = self.v
        self.v = np.where(self.mask[:, None], self.codes, self.fields / (1.0 + self.M)[:, None])
        return float(np.sqrt(np.mean((self.v - before) ** 2)))

    def _bounded(self, estimate: Array) -> float:
        """Factor that holds estimates within twice their expected squares, where few labels leave a sample unstable."""
        hidden = ~self.mask
        most = _MOST * estimate.shape[1] * float(np.sum(self._share(self.M)[hidden]))
        size = float(np.sum(estimate[hidden] ** 2))
        return float(np.sqrt(most / size)) if size > most > 0.0 else 1.0

    def solve(self, steps: int, tol: float) -> Ended:
        """Limit of the layers by conjugate gradients (Eq. 12.4)."""
        known = np.ones(len(self.mask))
        diagonal = 1.0 + self.expected(known)  # of the system
        hidden = ~self.mask
        root = np.sqrt(diagonal[hidden])[:, None]

        def spread(x: Array) -> Array:
            """Fields of estimates on unlabelled nodes alone, all in units of the root of the diagonal."""
            v = np.zeros((len(self.mask), x.shape[1]))
            v[hidden] = x / root
            return np.asarray(self.message(v, known)[hidden] / root)

        source = self.message(self.codes, known)[hidden] / root
        self.M = self.limit()
        ended, x = _conjugate_gradients(lambda x: x - spread(x), source, steps, tol)
        if x is None:  # indefinite: raise the diagonal to the distance of the limit (Eq. 12.6)
            gap = np.mean(self.mask) / np.mean(self._share(self.M))
            size = int(hidden.sum())

            def column(x: Array) -> Array:
                return spread(np.repeat(np.reshape(x, (-1, 1)), source.shape[1], axis=1))[:, 0]

            top = max(top_eigenvalues(LinearOperator((size, size), column, dtype=float), 200))
            raised = top / (1.0 - gap)
            ended, x = _conjugate_gradients(lambda x: raised * x - spread(x), source, steps, tol)
            assert x is not None
        self.v[hidden] = x / root
        self.v[hidden] *= self._bounded(self.v)
        # a labelled node gives back its own label
        own = (self.M - diagonal + 1.0)[:, None] * self.codes
        field = own + self.message(self.v, known)
        self.fields = np.where(self.mask[:, None], field, (1.0 + self.M)[:, None] * self.v)
        return ended

    def inference(self, graphs: Sequence[Given], ended: Ended) -> LinearInference:
        """Answer on the last graph."""
        last = slice(self.ends[-1] if self.ends.size else 0, None)
        return _inference(graphs[-1], self.v[last], self.fields[last], self.M[last], ended=ended)


def _weight(observation: Observation, graph: GraphMessages, bethe: bool) -> tuple[Array, float]:
    r"""Propensities that weigh the nodes, and factor :math:`1/(1 - t^2)` of all that the graph says in the Bethe Hessian."""
    theta = graph.theta
    if not bethe:
        return (np.ones(observation.nodes) if theta is None else theta), 1.0
    if observation.degree is None:
        raise ParameterError("degree = None is a dense graph, which has no edges; take by='system'")
    square = float(observation.data.lam) ** 2 / observation.degree
    if not square < 1.0:
        raise ParameterError(
            f"lam = {observation.data.lam:g} at degree {observation.degree:g} makes neighbours "
            "alike, and the Bethe Hessian singular; take by='system'"
        )
    return propensities(observation.edge_counts), 1.0 / (1.0 - square)


def _conjugate_gradients(
    matrix: Any, source: Array, steps: int, tol: float
) -> tuple[Ended, Array | None]:
    """Solution of a symmetric system, all columns as one vector; None if the matrix is not positive."""
    x, r = np.zeros_like(source), source
    p, square, change = r, float(np.vdot(r, r)), 0.0
    for count in range(steps):
        if square <= tol**2 * r.size:
            return (Status.CONVERGED, count, change), x
        product = matrix(p)
        curvature = float(np.vdot(p, product))
        if curvature <= 0.0:
            return (Status.NOT_CONVERGED, count, change), None
        step = square / curvature
        x = x + step * p
        r = r - step * product
        change = step * float(np.sqrt(np.mean(p**2)))
        last, square = square, float(np.vdot(r, r))
        p = r + square / last * p
    return (Status.NOT_CONVERGED, steps, change), x


class _Fitted:
    """The network that knows no parameter of the model: two numbers a layer by least squares (Eq. 12.9)."""

    def __init__(self, observations: Sequence[Observation], device: Device) -> None:
        (observation,) = observations
        self.backend = backend_of(device)
        # hubs are regularized by the mean degree, the best constant being that of the signal
        self.a = observation.operator(True, device, Regularized(1.0))
        self.scale = 1.0
        X = observation.features
        self.X = X if not isinstance(X, np.ndarray) else self.backend.place(X)
        self.dtype = X.dtype
        self.mask, self.codes = observation.train_mask, observation.train_codes
        self.v = self.estimate = self.codes
        self.old = np.zeros_like(self.v)
        self.u = np.zeros((X.shape[1], self.v.shape[1]))
        self.weights: list[Array] = []
        if observation.theta is not None:  # in the unit in which the squares of a row sum to 1
            noise = np.random.default_rng(0).standard_normal((observation.nodes, 1))
            self.scale = 1.0 / float(np.sqrt(np.mean(self._through_graph(noise) ** 2)))

    def layer(self, keep: float) -> float:
        """One layer; returns the root mean square change of the estimates."""
        hidden = 1.0 - float(np.mean(self.mask))
        w = self.weights[-1] if self.weights else np.zeros(2)
        first = self._through_graph(self.v) - hidden * w[0] * self.old
        self.u, second = self._through_features(self.v, hidden * w[1] * self.u)
        fields = np.stack([first, second])
        self.weights.append(self._fit(fields))
        self.estimate = np.tensordot(self.weights[-1], fields, axes=1)
        self.old = self.v
        self.v = np.where(self.mask[:, None], self.codes, self.estimate)
        return float(np.sqrt(np.mean((self.v - self.old) ** 2)))

    def inference(self, graphs: Sequence[Given], ended: Ended) -> LinearInference:
        """Answer after the layers."""
        fields, M = self._calibrated(self.estimate)
        return _inference(graphs[0], self.v, fields, M, ended=ended, weights=np.array(self.weights))

    def _calibrated(self, estimate: Array) -> tuple[Array, Array]:
        """Fields and evidence, by mean and variance of the estimates on labelled nodes, which do not know their labels."""
        y, left_out = self.codes[self.mask], estimate[self.mask]
        along = float(np.sum(left_out * y) / np.sum(y**2))
        variance = float(np.sum((left_out - along * y) ** 2)) / max(y.size - 1, 1)
        # few labels know no large margin
        variance = max(variance, along**2 / (1.0 + y.size), 1e-300)
        return along / variance * estimate, np.full(len(estimate), along**2 / variance)

    def _fit(self, fields: Array) -> Array:
        """Two numbers that make codes of the fields: their squares over all nodes, their products with labels over the known."""
        square = np.einsum("ank,bnk->ab", fields, fields) / fields[0].size
        target = np.einsum("ank,nk->a", fields[:, self.mask], self.codes[self.mask])
        target /= self.codes[self.mask].size
        least = _ALONE * max(float(np.max(np.diag(square))), 1e-300)
        return np.linalg.solve(square + least * np.eye(2), target)

    def _through_graph(self, v: Array) -> Array:
        return self.scale * np.asarray(self.backend.host(self.a @ self._placed(v)), float)

    def _through_features(self, v: Array, memory: Array) -> tuple[Array, Array]:
        """Weights of the features, less their memory, and the field that they give on the nodes."""
        nodes, width = len(v), self.X.shape[1]
        back = self._placed(memory)
        root = float(np.sqrt(nodes))
        found = one_pass(self.X, self._placed(v), lambda part, weights: weights / root - back[part])
        weights, product = (np.asarray(self.backend.host(x), float) for x in found)
        return weights, product / root - width / nodes * v

    def _placed(self, block: Array) -> Any:
        return self.backend.place(np.ascontiguousarray(block.astype(self.dtype)))


def _inference(
    graph: Given, v: Array, fields: Array, M: Array, *, ended: Ended, weights: Array | None = None
) -> LinearInference:
    """Answer from estimates, fields and evidence on the nodes of a graph."""
    observation = observed(graph)
    y = observation.classes.codes
    evidence = fields @ y.T - 0.5 * M[:, None] * np.sum(y**2, axis=1)
    logs = log_softmax(log_prior(observation) + evidence, axis=1)
    performance = measured_posterior(graph, logs) if isinstance(graph, Instance) else None
    left_out = fields / (1.0 + M)[:, None]
    labels, left_out = (x[:, 0] if x.shape[1] == 1 else x for x in (v, left_out))
    return LinearInference(labels, np.exp(logs), left_out, weights, *ended, performance)
