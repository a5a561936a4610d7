"""Bayes-optimal inference on an instance, by approximate message passing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

import numpy as np
from scipy.special import softmax

from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import check_types, one_of, whole
from gcnlimit._values import Array
from gcnlimit.classes import code_moments
from gcnlimit.errors import ParameterError
from gcnlimit.normalization import as_normalization
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.data.features import streamed
from gcnlimit.simulation.data.instance import Given, Instance, observed
from gcnlimit.simulation.data.observation import Observation
from gcnlimit.simulation.infer.inference import (
    CentroidMessages,
    Inference,
    Moments,
    iterate,
    log_prior,
)
from gcnlimit.two_graphs import check_pair

T = TypeVar("T")
_CERTAIN = 40.0  # score of the true class over the others from which an informed start sets out


@progress_bar("passing messages")
def amp(
    instance: Instance | Observation,
    *,
    to: Instance | Observation | None = None,
    start: Literal["labels", "truth"] | Inference = "labels",
    max_iterations: int = 200,
    tol: float = 1e-6,
    damping: float = 0.0,
    seed: int = 0,
    device: Device | None = None,
) -> Inference:
    r"""Approximate message passing: Bayes-optimal inference of the labels, given the parameters of the model.

    With :math:`S = A^s/\sqrt N` the symmetrized operator, :math:`\lambda_s` its signal, :math:`\hat Y` the posterior means of the
    codes and :math:`C_y = \frac1N \sum_i \mathrm{Cov}(y_i)` their mean covariance, it iterates the centroids :math:`\hat u` of
    Eq. 9.4 and

    .. math::
        B_y = \lambda_s S \hat Y - \lambda_s^2\, \hat Y^{old} C_y
              + \sqrt{\tfrac\mu N} X \hat u - \frac{\mu M}N \hat Y (1 + \tfrac\mu N \hat Y^T \hat Y)^{-1}, \quad
        A_y = \frac{\lambda_s^2}N \hat Y^T \hat Y + \frac\mu N \hat u^T \hat u,

    and the posterior of a node, :math:`P(k) \propto p_k \exp(B_y \cdot y_k - \frac12 y_k^T A_y y_k)`. Labelled nodes keep their
    codes. Under a law of degrees the measured propensities of the nodes weigh the terms of the graph (Eq. 11.16). Only
    observations enter. The accuracy in the large-size limit is that of the state evolution, Eqs. 5.1 and 8.8.

    Parameters
    ----------
    instance
        An instance, or its observation alone.
    to
        Another instance with the same class means, drawn by ``sample(..., beside=instance)``: the features of both give these one
        posterior, and the answer is that on `to` (Eq. 10.16).
    start
        ``"labels"``, with a little noise on other nodes; ``"truth"``, which reaches the other fixed point of a hard phase; or an
        earlier answer, to go on from.
    max_iterations, tol
        Stop when the root mean square change of :math:`\hat Y`, divided by 1 - `damping`, is below `tol`.
    damping
        Fraction of the old log-odds kept in each step, in [0, 0.99].
    seed
        Seed of the small random start.
    device
        Where to compute, as for `fit`. An iteration draws streamed features once.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> posterior = gl.amp(gl.sample(data, nodes=2000, degree=30, seed=0))
    >>> bool(abs(posterior.performance.test_accuracy - gl.bayes_optimal(data).test_accuracy) < 0.04)
    True
    """
    graphs = given_graphs("amp", instance, to)
    observations = [observed(graph) for graph in graphs]
    place = observations[0].device(device)
    guard = backend_of(place).guard(observations[0].nodes)
    with guard, np.errstate(over="ignore", invalid="ignore"):
        iteration = _NodeIteration(observations, place)
        if isinstance(start, Inference):
            iteration.go_on(start)
        elif isinstance(start, str) and start == "labels":
            iteration.evidence = iteration.uninformed(seed)
        else:
            iteration.evidence = _informed(graphs, start)
        ended = iterate(iteration.step, observations, max_iterations, tol, damping)
        entropy = iteration.free_entropy()
    nodes = observations[-1].nodes
    scores = (iteration.prior + iteration.evidence)[-nodes:]
    means = iteration.means(iteration.marginals())[-nodes:]
    centroid = iteration.features.centroids * iteration.features.deviation
    return Inference.of(graphs[-1], scores, means, centroid, ended, entropy)


def given_graphs(function: str, instance: Given, to: Given | None) -> list[Given]:
    """The graph, or the two graphs if their features can have the same class means."""
    graphs = [instance] if to is None else [instance, to]
    for graph in graphs:
        check_types(function, instance=(graph, (Instance, Observation)))
    if to is None:
        return graphs
    first = observed(instance)
    there = observed(to)
    check_pair(first.data, there.data)
    if streamed(first.features) or streamed(there.features):
        needed = "two graphs need stored features"
        raise ParameterError(f"{function}: {needed}; sample with streamed=False")
    remedy = "draw it with sample(..., beside=instance)"
    width, other = first.features.shape[1], there.features.shape[1]
    if width != other:
        raise ParameterError(f"to has {other} features, but instance has {width}; {remedy}")
    if isinstance(instance, Instance) and isinstance(to, Instance):
        means = instance.latents.centroid, to.latents.centroid
        if np.isfinite(means).all() and not np.array_equal(*means):
            raise ParameterError(f"to has other class means than instance; {remedy}")
    return graphs


def _informed(graphs: Sequence[Given], start: str) -> Array:
    """Evidence that is sure of the latent labels."""
    one_of("start", start, "labels", "truth")
    sure = []
    for graph in graphs:
        if not isinstance(graph, Instance) or np.isnan(graph.labels).any():
            wanted = "an Instance whose labels are all known"
            raise ParameterError(f"start = 'truth' needs {wanted}; take start='labels'")
        classes = graph.data.classes
        sure.append(_CERTAIN * np.eye(classes.count)[classes.index_of(graph.labels)])
    return np.concatenate(sure)


class _NodeIteration:
    """State of the iteration on the nodes of all graphs, one after the other: evidence on their classes, and messages."""

    def __init__(self, observations: Sequence[Observation], device: Device) -> None:
        self.graphs = [GraphMessages(observation, device) for observation in observations]
        self.features = CentroidMessages(observations, device)
        self.prior = np.concatenate([log_prior(observation) for observation in observations])
        self.evidence = np.zeros(self.prior.shape)

    def of_graphs(self, function: Callable[[GraphMessages, Array], T], rows: Array) -> list[T]:
        """Answers of a function of each graph and its rows."""
        return list(map(function, self.graphs, np.split(rows, self.features.ends)))

    def uninformed(self, seed: int) -> Array:
        """Small random evidence, since none at all is a fixed point if no label is known."""
        shape = len(self.prior), self.prior.shape[1] - 1
        noise = np.random.default_rng(whole("seed", seed, low=0)).standard_normal(shape)
        parts = self.of_graphs(lambda graph, second: second @ graph.codes.T, 1e-2 * noise)
        return np.concatenate(parts)

    def go_on(self, posterior: Inference) -> None:
        """Take up the state of an earlier answer on one graph."""
        # what the prior forbids is no number to subtract, and evidence there counts nothing
        prior = np.where(np.isneginf(self.prior), 0.0, self.prior)
        self.evidence = np.log(np.maximum(posterior.probabilities, 1e-300)) - prior
        self.graphs[0].old = posterior.labels.reshape(len(self.prior), -1)
        deviation = self.features.deviation
        self.features.centroids = posterior.centroid.reshape(len(deviation), -1) / deviation

    def marginals(self) -> Array:
        """Posterior probabilities of the classes."""
        return softmax(self.prior + self.evidence, axis=1)

    def means(self, marginals: Array) -> Array:
        """Posterior means of the codes."""
        return np.concatenate(self.of_graphs(lambda graph, second: second @ graph.codes, marginals))

    def step(self, keep: float) -> float:
        """One step; returns the root mean square change of the posterior means, divided by 1 - `keep`."""
        # graph and features see the same marginals, and the next ones come from both
        marginals = self.marginals()
        fields = self.of_graphs(GraphMessages.field, marginals)
        new = np.concatenate(fields) + self.features.field(marginals)
        self.evidence = (1.0 - keep) * new + keep * self.evidence
        moved = self.means(self.marginals()) - self.means(marginals)
        return float(np.sqrt(np.mean(moved**2))) / (1.0 - keep)

    def free_entropy(self) -> float:
        """Bethe free entropy per node: that of nodes in their evidence, of features (Eq. 9.5), and of the graphs."""
        entries = sum(self.of_graphs(GraphMessages.free_entropy, self.marginals()))
        nodes = np.sum(np.logaddexp.reduce(self.prior + self.evidence, axis=1))
        return float(nodes + entries + self.features.free_entropy()) / len(self.prior)


class GraphMessages:
    """Approximate message passing along the Gaussian entries that stand for a graph."""

    def __init__(self, observation: Observation, device: Device) -> None:
        self.backend = backend_of(device)
        self.signal = float(observation.data.effective_signal(symmetrize=True))
        self.S = observation.operator(True, device, as_normalization("none"))
        self.theta = observation.theta
        self.dtype = observation.features.dtype
        self.codes = observation.classes.codes
        self.old = np.zeros((observation.nodes, self.codes.shape[1]))
        self.square = self.signal * self.signal / observation.nodes
        self.variance = self.square * (1.0 if self.theta is None else self.theta[:, None])

    def field(self, marginals: Array) -> Array:
        """Evidence on the classes of the nodes, with the reaction to the means of one step before."""
        y = self.codes
        moments = code_moments(marginals, y, self.theta)
        field = self.messages(moments)
        return np.asarray(field @ y.T - 0.5 * self.variance * np.sum((y @ moments[2]) * y, axis=1))

    def messages(self, moments: Moments) -> Array:
        """Fields on the nodes, from the moments of their codes, less what the neighbours only heard from the node itself."""
        means, second, squares = moments
        field = self._neighbours(means) - self.variance * (self.old @ (second - squares))
        self.old = means
        return np.asarray(field)

    def free_entropy(self, marginals: Array) -> float:
        r"""Bethe term of the entries.

        .. math:: -\frac{\lambda_s}2 \mathrm{tr}\, \hat Y^T S \hat Y
                  + \lambda_s^2\, \mathrm{tr}\, \hat Y^T\hat Y \big( C_y + \tfrac1{4N} \hat Y^T\hat Y \big) .
        """
        means, second, squares = code_moments(marginals, self.codes, self.theta)
        energy = self.square * np.sum(squares * (second - squares + 0.25 * squares))
        return float(energy - 0.5 * np.vdot(means, self._neighbours(means)))

    def _neighbours(self, means: Array) -> Array:
        """Signal times the operator times the means."""
        placed = self.backend.place(np.ascontiguousarray(means.astype(self.dtype)))
        return np.asarray(self.signal * self.backend.host(self.S @ placed).astype(float))
