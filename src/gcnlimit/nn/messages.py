"""Evidence of a layer on each node: from neighbours, with a memory or along edges, and from class centroids of the features."""

from __future__ import annotations

import math
from typing import Any

import torch

from gcnlimit.nn.operators import SymmetricOperator

_LOW = -0.99  # of g (C p - 1), which is above -1 for probabilities
_LEAST = (
    -0.9
)  # of the shrinkage: 1 + s q stays positive, however large q grows once more labels are known than in training


class NodeMessages:
    r"""Evidence :math:`\gamma S\hat y - \gamma^2 m (1 - q)\,\hat y^{old}`: its second term, Onsager's, takes the echo back."""

    def __init__(self, S: SymmetricOperator, means: Any) -> None:
        self.S, self.old = S, torch.zeros_like(means)

    def evidence(self, means: Any, q: Any, gain: Any, memory: Any) -> Any:
        """Evidence on each node, of shape (nodes, batch, classes)."""
        field = (self.S @ means.reshape(len(means), -1)).reshape(means.shape)
        found = gain * field - gain**2 * memory * (1.0 - q) * self.old
        self.old = means
        return found

    def update(self, logits: Any, means_of: Any, seen: Any, code: Any) -> None:
        """The messages are the means of the nodes: nothing is left to do."""


class EdgeMessages:
    r"""Evidence :math:`\sum_j \log(1 + \gamma S_{ij}(C p_{j\to i} - 1))/\sqrt C - \gamma\, v v^T\hat y`, as on a sparse graph.

    The message :math:`p_{j\to i}` is the posterior of :math:`j` without the evidence that :math:`i` gave it, of which
    Onsager's term is the limit of large degree.
    """

    def __init__(self, S: SymmetricOperator, means: Any) -> None:
        self.S, self.edges = S, S.edges
        self.sent, self.root = means[self.edges.column], math.sqrt(means.shape[2])

    def evidence(self, means: Any, q: Any, gain: Any, memory: Any) -> Any:
        """Evidence on each node, of shape (nodes, batch, classes)."""
        ratio = gain * self.edges.weight[:, None, None] * self.root * self.sent
        self.received, self.memory = torch.log1p(ratio.clamp(min=_LOW)) / self.root, memory
        found = torch.zeros_like(means).index_add(0, self.edges.row, self.received)
        if self.S.vector is None:
            return found
        return found - gain * torch.einsum("i,j,jbc->ibc", self.S.vector, self.S.vector, means)

    def update(self, logits: Any, means_of: Any, seen: Any, code: Any) -> None:
        """Send to each neighbour the mean without what it said itself."""
        column, back = self.edges.column, self.received[self.edges.reverse]
        cavity = means_of(logits[column] - self.memory * self.root * back)
        self.sent = torch.where(seen[column], code[column], cavity)


class NoMessages:
    """Features alone: there is no graph."""

    def evidence(self, means: Any, q: Any, gain: Any, memory: Any) -> Any:
        """No evidence."""
        return 0.0

    def update(self, logits: Any, means_of: Any, seen: Any, code: Any) -> None:
        """Nothing to do."""


class FeatureMessages:
    r"""Evidence :math:`\kappa (X u - \frac{m M/N}{1 + s q}\hat y)` of the class centroids :math:`u`.

    They are :math:`u = (X^T\hat y/N - \kappa m (1 - q) u^{old})/(1 + s q)`, or given ones, in which these nodes have no part.
    """

    def __init__(self, x: Any, centroids: Any = None) -> None:
        self.x, self.centroids, self.fixed = x, centroids, centroids is not None

    def evidence(self, means: Any, q: Any, gain: Any, shrinkage: Any, memory: Any) -> Any:
        """Evidence on each node, of shape (nodes, batch, classes)."""
        (nodes, width), columns = self.x.shape, means[0].numel()
        shrunk = 1.0 + torch.clamp(shrinkage, min=_LEAST) * q
        if not self.fixed:
            found = (self.x.T @ means.reshape(nodes, columns)).reshape(width, *means.shape[1:]) / nodes
            echo = 0.0 if self.centroids is None else gain * memory * (1.0 - q) * self.centroids
            self.centroids = (found - echo) / shrunk
        field = (self.x @ self.centroids.reshape(width, columns)).reshape(means.shape)
        return gain * (field if self.fixed else field - memory * width / nodes / shrunk * means)
