"""The graph in a layer: messages between nodes with a memory, or along edges without the message that came back."""

from __future__ import annotations

import math
from typing import Any

import torch

from gcnlimit.nn.operators import SymmetricOperator

__all__ = ["EdgeMessages", "NodeMessages"]

_LOW = -0.99  # of g (C p - 1), which is above -1 for probabilities


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
