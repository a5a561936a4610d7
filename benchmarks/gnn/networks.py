"""Popular graph networks for the study, in PyTorch: the layers of PyTorch Geometric on a few operators of the graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch.nn.functional import dropout, relu

from benchmarks.gnn.layers import GATConv, GCN2Conv, GCNConv, GINConv, SAGEConv, TransformerConv
from gcnlimit.graphs.operator import propagation
from gcnlimit.graphs.verdict import edge_counts, has_hubs
from gcnlimit.nn.operators import SymmetricOperator, TwoGraphs, as_operator, from_graph

HIDDEN, DROPOUT = 64, 0.5
DECAYS = (5e-4, 5e-3)


class Graph:
    """Edges in both directions, without self-loops, and the operators of networks on a device, each made when first used.

    Of an inductive task the first `nodes` are those of the training graph.
    """

    def __init__(self, adjacency: Any, device: str, nodes: int | None = None) -> None:
        both = adjacency.maximum(adjacency.T)
        self.both = (
            both - sparse.diags_array(both.diagonal())
        ).tocsr()  # layers that want self-loops add them
        self.both.eliminate_zeros()
        self.given, self.device, self.nodes = adjacency, device, nodes

    @cached_property
    def edges(self) -> Any:
        """Edges as PyTorch Geometric has them: sources, then targets."""
        return torch.from_numpy(np.stack(self.both.nonzero()).astype(np.int64)).to(self.device)

    @cached_property
    def total(self) -> SymmetricOperator:
        """Sum over the neighbours."""
        return as_operator(self.both).to(self.device)

    @cached_property
    def mean(self) -> Mean:
        """Mean over the neighbours."""
        return Mean(self.total, torch.from_numpy(_inverse_degrees(self.both)).to(self.device))

    @cached_property
    def normalized(self) -> SymmetricOperator:
        r"""Operator :math:`D^{-1/2}(A + 1)D^{-1/2}`."""
        return as_operator(propagation(self.both, "symmetric").operator.matrix).to(self.device)

    @cached_property
    def centred(self) -> SymmetricOperator | TwoGraphs:
        """Operator of the theory, less the mean of the adjacency; divided by the degrees if there are hubs."""
        kind, n = "normalized" if has_hubs(edge_counts(self.given)) else "paper", self.nodes
        if n is None:
            return from_graph(self.given, kind).to(self.device)
        parts = (self.given[:n, :n], self.given[n:, n:])
        return TwoGraphs(*(from_graph(part, kind).to(self.device) for part in parts), ratio=1.0)


@dataclass(frozen=True, eq=False)
class Mean:
    """Operator that averages over the neighbours."""

    total: SymmetricOperator
    weight: Any

    def __matmul__(self, block: Any) -> Any:
        """Product with a block of columns."""
        return self.weight * (self.total @ block)


@dataclass(frozen=True)
class Setting:
    """What is tuned: structure (layers, powers or a teleport, see `NETWORKS`), learning rate, weight decay."""

    structure: float
    rate: float
    weight_decay: float


@dataclass(frozen=True)
class Network:
    """How a network is built from numbers of features and classes and a structure, of which two are tried."""

    build: Callable[[int, int, float], torch.nn.Module]
    operator: str
    structures: tuple[float, float]
    rates: tuple[float, float] = (0.01, 0.05)

    def settings(self) -> list[Setting]:
        """Eight settings: two structures, two learning rates and two weight decays."""
        return [Setting(*one) for one in product(self.structures, self.rates, DECAYS)]


class Stack(torch.nn.Module):  # type: ignore[misc]
    """A linear map of the features, convolutions with dropout and ReLU, and a linear map to the classes."""

    def __init__(self, features: int, classes: int, convolutions: list[Any]) -> None:
        super().__init__()
        self.first, self.last = torch.nn.Linear(features, HIDDEN), torch.nn.Linear(HIDDEN, classes)
        self.convolutions = torch.nn.ModuleList(convolutions)

    def forward(self, x: Any, edges: Any) -> Any:
        """Logits."""
        h = self.first(dropout(x, DROPOUT, self.training))
        for convolution in self.convolutions:
            h = relu(convolution(dropout(h, DROPOUT, self.training), edges))
        return self.last(h)


class GCN(torch.nn.Module):  # type: ignore[misc]
    """Graph convolutional network (Kipf and Welling 2017)."""

    def __init__(self, features: int, classes: int, layers: float) -> None:
        super().__init__()
        widths = [features, *([HIDDEN] * (int(layers) - 1)), classes]
        self.layers = torch.nn.ModuleList([GCNConv(a, b) for a, b in pairwise(widths)])

    def forward(self, x: Any, edges: Any) -> Any:
        """Logits."""
        for k, layer in enumerate(self.layers):
            x = layer(dropout(relu(x) if k else x, DROPOUT, self.training), edges)
        return x


class GCNII(torch.nn.Module):  # type: ignore[misc]
    """Deep graph convolutional network with initial residuals (Chen et al. 2020)."""

    def __init__(self, features: int, classes: int, layers: float) -> None:
        super().__init__()
        self.first, self.last = torch.nn.Linear(features, HIDDEN), torch.nn.Linear(HIDDEN, classes)
        self.layers = torch.nn.ModuleList(
            [GCN2Conv(HIDDEN, alpha=0.1, theta=0.5, layer=k + 1) for k in range(int(layers))]
        )

    def forward(self, x: Any, edges: Any) -> Any:
        """Logits."""
        h = start = relu(self.first(dropout(x, DROPOUT, self.training)))
        for layer in self.layers:
            h = relu(layer(dropout(h, DROPOUT, self.training), start, edges))
        return self.last(h)


class Powers(torch.nn.Module):  # type: ignore[misc]
    r"""Sum :math:`\sum_k g_k S^k h` of powers of the operator on the output of a perceptron.

    With trained :math:`g` it is GPR-GNN (Chien et al. 2021), with fixed :math:`g` APPNP (Gasteiger et al. 2019), and with the
    last power alone on a linear map SGC (Wu et al. 2019).
    """

    def __init__(self, encoder: Any, weights: list[float], trained: bool = False) -> None:
        super().__init__()
        self.encoder = encoder
        self.weights = torch.nn.Parameter(torch.tensor(weights), requires_grad=trained)

    def forward(self, x: Any, edges: Any) -> Any:
        """Logits."""
        h = self.encoder(dropout(x, DROPOUT, self.training))
        total = self.weights[0] * h
        for weight in self.weights[1:]:
            h = edges @ h
            total = total + weight * h
        return total


def _perceptron(features: int, classes: int) -> Any:
    layers = (torch.nn.Linear(features, HIDDEN), torch.nn.ReLU(), torch.nn.Dropout(DROPOUT))
    return torch.nn.Sequential(*layers, torch.nn.Linear(HIDDEN, classes))


def _mlp(features: int, classes: int, layers: float) -> Any:
    encoder = _perceptron(features, classes) if layers == 2 else torch.nn.Linear(features, classes)
    return Powers(encoder, [1.0])


def _stack(convolution: Callable[[], Any]) -> Callable[[int, int, float], Any]:
    return lambda features, classes, layers: Stack(
        features, classes, [convolution() for _ in range(int(layers))]
    )


def _sgc(features: int, classes: int, power: float) -> Any:
    return Powers(torch.nn.Linear(features, classes), [0.0] * int(power) + [1.0])


def _appnp(features: int, classes: int, teleport: float, trained: bool = False) -> Any:
    weights = [teleport * (1.0 - teleport) ** k for k in range(10)] + [(1.0 - teleport) ** 10]
    return Powers(_perceptron(features, classes), weights, trained)


def _gpr(features: int, classes: int, teleport: float) -> Any:
    return _appnp(features, classes, teleport, trained=True)


def _gin() -> Any:
    inner = torch.nn.Sequential(
        torch.nn.Linear(HIDDEN, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, HIDDEN)
    )
    return GINConv(torch.nn.Sequential(inner, torch.nn.BatchNorm1d(HIDDEN)))


def _gat() -> Any:
    return GATConv(HIDDEN, HIDDEN // 8, heads=8)


def _transformer() -> Any:
    return TransformerConv(HIDDEN, HIDDEN // 4, heads=4)


NETWORKS = {
    "MLP": Network(_mlp, "normalized", (1, 2)),
    "GCN": Network(GCN, "normalized", (2, 3)),
    "GraphSAGE": Network(_stack(lambda: SAGEConv(HIDDEN, HIDDEN)), "mean", (1, 2)),
    "GIN": Network(_stack(_gin), "total", (1, 2)),
    "SGC": Network(_sgc, "normalized", (2, 4), rates=(0.05, 0.2)),
    "APPNP": Network(_appnp, "normalized", (0.1, 0.3)),
    "GPR-GNN": Network(_gpr, "normalized", (0.1, 0.3)),
    "GPR-GNN, centred": Network(_gpr, "centred", (0.1, 0.3)),
    "GCNII": Network(GCNII, "normalized", (4, 8)),
    "GAT": Network(_stack(_gat), "edges", (1, 2), rates=(0.005, 0.02)),
    "graph transformer": Network(_stack(_transformer), "edges", (1, 2), rates=(0.005, 0.02)),
}
"""Networks by name, their operator, and the two structures that are tried: layers, powers of the operator, or teleports."""


def _inverse_degrees(graph: sparse.csr_array) -> Any:
    degrees = np.asarray(graph.sum(axis=1))
    return (1.0 / np.maximum(degrees, 1.0))[:, None].astype(np.float32)
