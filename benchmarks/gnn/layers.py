"""Layers of popular graph networks, as PyTorch Geometric has them, on a few operators of the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn.functional import leaky_relu


def _glorot(*shape: int) -> torch.nn.Parameter:
    """Trained numbers, started as PyTorch Geometric does."""
    found = torch.empty(shape)
    bound = (6.0 / (shape[-2] + shape[-1])) ** 0.5
    return torch.nn.Parameter(found.uniform_(-bound, bound))


class GCNConv(torch.nn.Module):  # type: ignore[misc]
    """Layer of a graph convolutional network on a normalized operator."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.lin = torch.nn.Linear(width, out, bias=False)
        self.lin.weight = _glorot(out, width)
        self.bias = torch.nn.Parameter(torch.zeros(out))

    def forward(self, x: Any, S: Any) -> Any:
        """Outputs of the nodes."""
        return S @ self.lin(x) + self.bias


class SAGEConv(torch.nn.Module):  # type: ignore[misc]
    """Layer of GraphSAGE on the operator of the mean."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.lin_l, self.lin_r = (
            torch.nn.Linear(width, out),
            torch.nn.Linear(width, out, bias=False),
        )

    def forward(self, x: Any, S: Any) -> Any:
        """Outputs of the nodes."""
        return self.lin_l(S @ x) + self.lin_r(x)


class GINConv(torch.nn.Module):  # type: ignore[misc]
    """Layer of a graph isomorphism network on the operator of the sum."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.nn = inner

    def forward(self, x: Any, S: Any) -> Any:
        """Outputs of the nodes."""
        return self.nn(x + S @ x)


class GCN2Conv(torch.nn.Module):  # type: ignore[misc]
    """Layer of GCNII on a normalized operator."""

    def __init__(self, width: int, alpha: float, theta: float = 0.5, layer: int = 1) -> None:
        super().__init__()
        self.weight1 = _glorot(width, width)
        self.alpha, self.beta = alpha, float(np.log(theta / layer + 1.0))

    def forward(self, x: Any, start: Any, S: Any) -> Any:
        """Outputs of the nodes."""
        h = (1.0 - self.alpha) * (S @ x) + self.alpha * start
        return (1.0 - self.beta) * h + self.beta * (h @ self.weight1)


class GATConv(torch.nn.Module):  # type: ignore[misc]
    """Layer of a graph attention network, self-loops added."""

    def __init__(self, width: int, out: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.lin = torch.nn.Linear(width, heads * out, bias=False)
        self.lin.weight = _glorot(heads * out, width)
        self.att_src, self.att_dst = _glorot(1, heads, out), _glorot(1, heads, out)
        self.bias = torch.nn.Parameter(torch.zeros(heads * out))

    def forward(self, x: Any, edges: Any) -> Any:
        """Outputs of the nodes."""
        loops = torch.arange(len(x), device=edges.device)
        source, target = torch.cat([edges, torch.stack([loops, loops])], dim=1)
        h = self.lin(x).view(len(x), self.heads, -1)
        scores = (h * self.att_src).sum(2)[source] + (h * self.att_dst).sum(2)[target]
        return _attended(leaky_relu(scores, 0.2), h, source, target) + self.bias


class TransformerConv(torch.nn.Module):  # type: ignore[misc]
    """Layer of a graph transformer, with a skip connection."""

    def __init__(self, width: int, out: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        for name in ("key", "query", "value", "skip"):
            setattr(self, f"lin_{name}", torch.nn.Linear(width, heads * out))

    def forward(self, x: Any, edges: Any) -> Any:
        """Outputs of the nodes."""
        source, target = edges
        key, query, value = (
            layer(x).view(len(x), self.heads, -1)
            for layer in (self.lin_key, self.lin_query, self.lin_value)
        )
        scores = (query[target] * key[source]).sum(2) / key.shape[2] ** 0.5
        return _attended(scores, value, source, target) + self.lin_skip(x)


def _attended(scores: Any, values: Any, source: Any, target: Any) -> Any:
    """Means of the values of the neighbours, weighted by the softmax of the scores of their edges."""
    nodes, heads, width = values.shape
    place = target[:, None].expand(-1, heads)
    top = torch.full((nodes, heads), -torch.inf, device=scores.device).scatter_reduce(
        0, place, scores.detach(), "amax"
    )
    weight = torch.exp(scores - top[target])
    total = torch.zeros_like(top).fill_(0.0).index_add(0, target, weight)
    mean = torch.zeros_like(values).index_add(0, target, weight[:, :, None] * values[source])
    return (mean / total.clamp(min=1e-16)[:, :, None]).reshape(nodes, heads * width)
