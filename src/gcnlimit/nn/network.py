"""The network: approximate message passing unrolled, with a handful of trained numbers."""

from __future__ import annotations

import math
from typing import Any

import torch

from gcnlimit.nn.operators import SymmetricOperator, from_edge_index

__all__ = ["NUMBERS", "MessagePassing"]

NUMBERS = ("graph", "features", "shrinkage", "graph_memory", "feature_memory")
"""The trained numbers, of which each layer has the same ones."""


class MessagePassing(torch.nn.Module):  # type: ignore[misc]
    r"""Unrolled message passing: posterior means of the classes, updated from the graph and from the class centroids.

    With :math:`\hat y_i = \sqrt C(p_i - \pi)` from the class probabilities :math:`p_i`, certain on known nodes, a layer is

    .. math::
        u &= \frac{X^T\hat y/\sqrt N - \kappa\,(1 - q)\,u^{old}}{1 + s\,q}, \qquad q = \frac{|\hat y|^2}{N(C-1)}, \\
        b &= \gamma\, S\hat y - \gamma^2 m_1(1 - q)\,\hat y^{old} + \kappa\Big[\frac{X u}{\sqrt N}
             - \frac{m_2\,M/N}{1 + s\,q}\,\hat y\Big], \qquad p = \mathrm{softmax}(\sqrt C\, b + \beta).

    Its numbers are the gain :math:`\gamma` of the graph, of either sign, :math:`\kappa` of the features, the shrinkage
    :math:`s`, and the weights :math:`m_1, m_2` of the two memories, 1 where state evolution is exact
    (:func:`gcnlimit.theory.message_passing`).

    Parameters
    ----------
    layers
        Number of layers.
    classes
        Number of classes.
    bias
        Whether each class has a trained bias :math:`\beta`, for classes of unequal sizes.
    memory
        ``"trained"``, ``"exact"`` (1) or ``"none"`` (0).
    tied
        Whether all layers share their numbers.
    clamp
        Whether known labels enter every layer, or the first alone.
    nonlinear
        Whether the posterior means are a softmax of the evidence, or the evidence itself (a linear network).
    """

    def __init__(
        self,
        classes: int,
        layers: int = 15,
        *,
        bias: bool = False,
        memory: str = "trained",
        tied: bool = True,
        clamp: bool = True,
        nonlinear: bool = True,
    ) -> None:
        super().__init__()
        self.classes, self.layers, self.tied = classes, layers, tied
        self.clamp, self.nonlinear, self.memory = clamp, nonlinear, memory
        start = torch.tensor([0.7, 0.7, 0.7, *([0.0 if memory == "none" else 1.0] * 2)])
        self.numbers = torch.nn.Parameter(start.repeat(1 if tied else layers, 1))
        self.bias = torch.nn.Parameter(torch.zeros(classes), requires_grad=bias)

    def forward(self, x: Any, edge_index: Any, y: Any, mask: Any) -> Any:
        """Logits of the classes.

        Parameters
        ----------
        x
            Features, of mean 0 and variance 1 in the noise.
        edge_index
            Edges as in PyTorch Geometric, or a `SymmetricOperator`, which is not built anew in every call.
        y, mask
            Classes, and which of the nodes are given to the network; the classes of the others are not looked at.
        """
        S = edge_index
        if not isinstance(S, SymmetricOperator):
            S = from_edge_index(edge_index, x.shape[0])
        known = torch.nn.functional.one_hot(torch.where(mask, y, 0), self.classes).to(x.dtype) * mask[:, None]
        return self.evidence(x, S, known[:, None])[:, 0]

    def evidence(self, x: Any, S: SymmetricOperator, known: Any) -> Any:
        """Logits from indicators of the known classes, of shape (nodes, batch, classes); rows of 0 are unknown nodes."""
        nodes, C, shape = x.shape[0], self.classes, known.shape
        seen = known.sum(dim=2, keepdim=True) > 0
        prior = torch.softmax(self.bias, 0)
        code = math.sqrt(C) * (known - prior)
        y = torch.where(seen, code, 0.0)
        old, u, logits = torch.zeros_like(y), None, y
        for layer in range(self.layers):
            gamma, kappa, s, m1, m2 = self._of(layer)
            q = (y**2).sum(dim=2, keepdim=True).mean(dim=0, keepdim=True) / (C - 1)
            shrunk = 1.0 + s * q
            r = (x.T @ y.reshape(nodes, -1)).reshape(-1, *shape[1:]) / math.sqrt(nodes)
            u = (r if u is None else r - kappa * m2 * (1.0 - q) * u) / shrunk
            fields = (x @ u.reshape(x.shape[1], -1)).reshape(shape) / math.sqrt(nodes) - m2 * x.shape[
                1
            ] / nodes / shrunk * y
            field = (S @ y.reshape(nodes, -1)).reshape(shape)
            b = gamma * field - gamma**2 * m1 * (1.0 - q) * old + kappa * fields
            logits = math.sqrt(C) * b + self.bias
            old, y = y, self._means(logits, prior)
            if self.clamp:
                y = torch.where(seen, code, y)
        return logits

    def _of(self, layer: int) -> Any:
        numbers = self.numbers[0 if self.tied else layer]
        if self.memory == "trained":
            return numbers
        return torch.cat([numbers[:3], numbers[3:].detach()])

    def _means(self, logits: Any, prior: Any) -> Any:
        C = math.sqrt(self.classes)
        return C * (torch.softmax(logits, 2) - prior) if self.nonlinear else (logits - logits.mean(2, keepdim=True)) / C
