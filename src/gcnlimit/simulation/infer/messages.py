"""Messages: of the features, approximately, and along the edges of a sparse graph, given what else is known of each node."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._values import Array
from gcnlimit.classes import code_moments
from gcnlimit.errors import ParameterError
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.data.features import StreamedFeatures, one_pass
from gcnlimit.simulation.data.observation import Observation, feature_levels


class FeatureMessages:
    r"""Approximate message passing between the centroids of the classes and the nodes.

    With :math:`\hat Y` the posterior means of the codes and :math:`\Sigma` the sum over the nodes of their covariances (Eq. 9.4)

    .. math::
        \hat U &= \Bigl(\sqrt{\tfrac\mu N} X^T \hat Y - \tfrac\mu N \hat U^{old} \Sigma\Bigr) V, \qquad
        V = (1 + A)^{-1}, \quad A = \tfrac\mu N \hat Y^T \hat Y, \\
        f_{ik} &= b_i \cdot y_k - \tfrac\mu{2N} |\hat U y_k|^2, \qquad
        b = \sqrt{\tfrac\mu N} X \hat U - \tfrac{\mu M}N \hat Y V .

    Features of noise :math:`\sigma_\nu^2` and signal :math:`\Gamma_\nu` are divided by :math:`\sigma_\nu`, and their
    centroids have the prior variance :math:`\gamma_\nu = \Gamma_\nu/\sigma_\nu^2`, the `gain`, in place of 1.

    Several graphs may share the centroids: each has a rate :math:`\mu/N` of its own, and the sums are over all nodes (Eq. 10.16).

    Parameters
    ----------
    observations
        Features and model of each graph, one after the other.
    device
        Where to compute.
    """

    def __init__(self, observations: Sequence[Observation], device: Device) -> None:
        self.codes, self.backend = [o.classes.codes for o in observations], backend_of(device)
        self.rates = [float(o.data.mu) / o.nodes for o in observations]
        self.rate = max(self.rates)
        self.share = [rate / self.rate if self.rate else 1.0 for rate in self.rates]
        self.ends = np.cumsum([o.nodes for o in observations])[:-1]
        X = observations[0].features
        if len(observations) > 1:
            X = np.concatenate([np.asarray(o.features) for o in observations])
        self.X, self.dtype = X if isinstance(X, StreamedFeatures) else self.backend.place(X), X.dtype
        (nodes, width), directions = X.shape, self.codes[0].shape[1]
        variance, signal = feature_levels(observations[0].data.features, width)
        self.deviation, self.gain = np.sqrt(variance)[:, None], (signal / variance)[:, None]
        self.centroids = np.zeros((width, directions))  # over the noise of their features
        self.product = np.zeros((nodes, directions))  # of the features with them
        self.resolved = np.zeros((width, directions))  # gain of each feature times the eigenvalues of A

    def field(self, marginals: Array, keep: float = 0.0) -> Array:
        """Renew the centroids, of which a fraction `keep` stays, and return logarithms of the evidence on classes of nodes."""
        moments = [code_moments(*of_graph) for of_graph in zip(np.split(marginals, self.ends), self.codes, strict=True)]
        squares = sum(share * own for share, (_, _, own) in zip(self.share, moments, strict=True))
        spread = sum(share * (second - own) for share, (_, second, own) in zip(self.share, moments, strict=True))
        values, basis = np.linalg.eigh(squares)
        self.resolved = self.rate * self.gain * np.maximum(values, 0.0)
        shrink = self.gain / (1.0 + self.resolved)  # posterior variances of the centroids in that basis
        sent = [math.sqrt(share) * means for share, (means, _, _) in zip(self.share, moments, strict=True)]
        self._renew(np.concatenate(sent), self.rate * self.centroids @ spread, shrink, basis, keep)
        variance = basis * shrink.sum(axis=0) @ basis.T
        received = zip(self.rates, self.codes, moments, np.split(self.product, self.ends), strict=True)
        return np.concatenate([self._received(rate, y, own[0], xu, variance) for rate, y, own, xu in received])

    def _received(self, rate: float, codes: Array, means: Array, product: Array, variance: Array) -> Array:
        """Evidence on the nodes of one graph, given the features times the centroids."""
        size = np.sum((self.centroids @ codes.T) ** 2, axis=0)
        return np.asarray((math.sqrt(rate) * product - rate * means @ variance) @ codes.T - 0.5 * rate * size)

    def free_entropy(self) -> float:
        r"""Bethe term of the features, :math:`M\,\mathrm{tr}(1 - V) - \frac M2\log\det(1 + A) - \frac12|\hat U|^2` (Eq. 9.5)."""
        terms = self.resolved / (1.0 + self.resolved) - 0.5 * np.log1p(self.resolved)
        used = self.gain[:, 0] > 0.0
        return float(np.sum(terms) - 0.5 * np.sum(self.centroids[used] ** 2 / self.gain[used]))

    def _renew(self, means: Array, reaction: Array, shrink: Array, basis: Array, keep: float) -> None:
        """Renew the centroids, and the features times them, in one pass over the features."""
        root = math.sqrt(self.rate)
        over, back, shrunk, turn = (self._placed(v) for v in (1.0 / self.deviation, reaction, shrink, basis))

        def weigh(part: slice, weights: Any) -> Any:
            field = root * weights * over[part] - back[part]
            return (field @ turn * shrunk[part]) @ turn.T * over[part]

        weights, product = (self.backend.host(v).astype(float) for v in one_pass(self.X, self._placed(means), weigh))
        self.centroids = (1.0 - keep) * weights * self.deviation + keep * self.centroids
        self.product = (1.0 - keep) * product + keep * self.product

    def _placed(self, values: Array) -> Any:
        return self.backend.place(np.ascontiguousarray(values.astype(self.dtype)))


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
    def of(cls, lam: float, nodes: int, degree: float, fractions: Array) -> Self:
        """Affinity of a block model of that signal, or `ParameterError` if there is none.

        >>> odds = Affinity.of(0.5, nodes=10**9, degree=4, fractions=np.array([0.5, 0.5]))
        >>> odds.same.round(6), round(odds.other, 6)
        (array([1.25, 1.25]), 0.75)
        """
        p = degree / nodes
        epsilon = lam * math.sqrt((1.0 - p) / degree)
        other, same = 1.0 - epsilon, 1.0 - epsilon + epsilon / fractions
        if min(other, float(np.min(same))) < -1e-12 or p * max(other, float(np.max(same))) >= 1.0:
            raise ParameterError(
                f"lam = {lam:g} is not allowed at degree {degree:g} and {nodes} nodes: edge probabilities would leave [0, 1); "
                "take a larger degree or a weaker signal"
            )
        odds = [(1.0 - p) * np.maximum(w, 0.0) / (1.0 - p * w) for w in (same, np.array(other))]
        return cls(odds[0], float(odds[1]), p * epsilon / (1.0 - p))


class EdgeMessages:
    r"""Belief propagation on the edges of a graph, with messages :math:`\psi^{j \to i}_k` along both directions of each edge.

    With a local field :math:`f_{jk}` on each node, the logarithm of what else is known of its class,

    .. math:: \psi^{j \to i}_k \propto e^{f_{jk}} \prod_{l \in \partial j \setminus i} \sum_m W_{km} \psi^{l \to j}_m, \qquad
              W_{km} = r_{kk}\delta_{km} + r (1 - \delta_{km}),

    (Eq. 9.2) where :math:`W` are the odds of `Affinity`; two edges between the same nodes, one for each direction, have the
    squares of these. One step takes time proportional to the number of edges. On a tree the marginals are exact.

    Parameters
    ----------
    adjacency
        Graph of zeros and ones or of positive weights, which count edges.
    affinity
        Odds of an edge.
    directed
        Whether each direction was observed independently.
    """

    def __init__(self, adjacency: sparse.csr_array[np.float64], affinity: Affinity, directed: bool) -> None:
        counts = sparse.csr_array(adjacency + adjacency.T) if directed else adjacency.copy()
        self.loops = adjacency.diagonal()[:, None] * np.log(np.maximum(affinity.same, _TINY))
        counts.setdiag(0.0)
        counts.eliminate_zeros()
        counts.sort_indices()
        edges = counts.nnz
        self.source = counts.indices
        numbered = sparse.csr_array((np.arange(edges), counts.indices, counts.indptr), shape=counts.shape)
        self.reverse = sparse.csr_array(numbered.T).data
        self.sums = sparse.csr_array((np.ones(edges), np.arange(edges), counts.indptr), shape=(counts.shape[0], edges))
        times = counts.data if np.any(counts.data != 1.0) else np.ones(1)
        self.base = affinity.other**times
        self.gain = affinity.same[:, None] ** times - self.base
        self.messages = np.empty((affinity.same.size, edges))  # classes first: sums over them are then fast

    def start(self, marginals: Array) -> None:
        """Let each node send its marginals along all of its edges."""
        self.messages = marginals.T[:, self.source]

    def evidence(self, field: Array) -> tuple[Array, Array]:
        """Logarithms, not normalized, of the marginals of the nodes, and of the factor that each message contributes."""
        factors = np.log(np.maximum(self.base + self.gain * self.messages, _TINY))
        received = np.stack([self.sums @ of_class for of_class in factors], axis=1)
        return field + self.loops + received, factors

    def step(self, field: Array, keep: float = 0.0) -> Array:
        """Renew the messages, of which a fraction `keep` stays, and return logarithms of the marginals, not normalized."""
        total, factors = self.evidence(field)
        new = normalized(total.T[:, self.source] - factors[:, self.reverse], axis=0)
        self.messages = new if keep == 0.0 else (1.0 - keep) * new + keep * self.messages
        return total

    def pairs(self) -> float:
        r"""Sum over the edges of :math:`\log\sum_{kl} \psi^{i \to j}_k W_{kl} \psi^{j \to i}_l`, the Bethe term of the edges."""
        both = np.sum(self.gain * self.messages * self.messages[:, self.reverse], axis=0) + self.base
        return 0.5 * float(np.sum(np.log(np.maximum(both, _TINY))))


def normalized(logarithms: npt.NDArray[Any], axis: int = -1) -> Array:
    """Probabilities along an axis from their logarithms up to a constant.

    >>> normalized(np.log([[1.0, 3.0]]))
    array([[0.25, 0.75]])
    """
    weights = np.exp(logarithms - np.max(logarithms, axis=axis, keepdims=True))
    return np.asarray(weights / np.sum(weights, axis=axis, keepdims=True))
