"""Messages along the edges of a sparse graph: belief propagation, given what else is known of each node."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._values import Array
from gcnlimit.errors import ParameterError

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
