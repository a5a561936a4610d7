"""Popular graph networks for the study: layers of PyTorch Geometric, one trainer and one budget of tuning for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy, dropout, relu
from torch_geometric import nn as pyg
from torch_geometric.utils import from_scipy_sparse_matrix, to_undirected

from gcnlimit._values import Array
from gcnlimit.benchmark.task import Task
from gcnlimit.nn import SymmetricOperator, from_graph

__all__ = ["NETWORKS", "Setting", "fit_network", "tune_network"]

HIDDEN, DROPOUT = 64, 0.5
EVERY = 2  # epochs between two looks at the validation nodes


@dataclass(frozen=True)
class Setting:
    """What is tuned: structure (`depth` layers or `strength`, see `NETWORKS`), weight decay, learning rate, epochs."""

    structure: float
    weight_decay: float
    rate: float
    epochs: int


@dataclass(frozen=True)
class Network:
    """How a network is built from numbers of features and classes and a structure, of which two are tried."""

    build: Callable[[int, int, float], torch.nn.Module]
    structures: tuple[float, float]
    centred: bool = False
    rate: float = 0.01

    def settings(self, epochs: int) -> list[Setting]:
        """Four settings: two structures and two weight decays."""
        return [Setting(s, decay, self.rate, epochs) for s in self.structures for decay in (5e-4, 5e-3)]


class Stack(torch.nn.Module):  # type: ignore[misc]
    """A linear map of the features, then convolutions with dropout and ReLU, then a linear map to the classes."""

    def __init__(self, features: int, classes: int, convolutions: list[Any]) -> None:
        super().__init__()
        self.first, self.last = torch.nn.Linear(features, HIDDEN), torch.nn.Linear(HIDDEN, classes)
        self.convolutions = torch.nn.ModuleList(convolutions)

    def forward(self, x: Any, edges: Any) -> Any:
        """Logits."""
        h = relu(self.first(dropout(x, DROPOUT, self.training)))
        for convolution in self.convolutions:
            h = relu(convolution(dropout(h, DROPOUT, self.training), edges))
        return self.last(h)


class GCN(torch.nn.Module):  # type: ignore[misc]
    """Graph convolutional network (Kipf and Welling 2017)."""

    def __init__(self, features: int, classes: int, layers: float) -> None:
        super().__init__()
        widths = [features, *([HIDDEN] * (int(layers) - 1)), classes]
        self.layers = torch.nn.ModuleList([pyg.GCNConv(a, b, cached=True) for a, b in pairwise(widths)])

    def forward(self, x: Any, edges: Any) -> Any:
        """Logits."""
        for k, layer in enumerate(self.layers):
            x = layer(dropout(relu(x) if k else x, DROPOUT, self.training), edges)
        return x


class Powers(torch.nn.Module):  # type: ignore[misc]
    r"""Sum :math:`\sum_k g_k S^k h` of powers of the operator on the output of a perceptron.

    With trained :math:`g` it is GPR-GNN (Chien et al. 2021), with fixed :math:`g` APPNP (Gasteiger et al. 2019), and with the
    last power alone on a linear map SGC (Wu et al. 2019).
    """

    def __init__(self, encoder: Any, weights: list[float], trained: bool) -> None:
        super().__init__()
        self.encoder = encoder
        self.step = pyg.APPNP(K=1, alpha=0.0, cached=True)
        self.weights = torch.nn.Parameter(torch.tensor(weights), requires_grad=trained)

    def forward(self, x: Any, edges: Any) -> Any:
        """Logits."""
        h = self.encoder(dropout(x, DROPOUT, self.training))
        total = self.weights[0] * h
        for weight in self.weights[1:]:
            h = edges @ h if isinstance(edges, SymmetricOperator) else self.step(h, edges)
            total = total + weight * h
        return total


class GCNII(torch.nn.Module):  # type: ignore[misc]
    """Deep graph convolutional network with initial residuals (Chen et al. 2020)."""

    def __init__(self, features: int, classes: int, layers: float) -> None:
        super().__init__()
        self.first, self.last = torch.nn.Linear(features, HIDDEN), torch.nn.Linear(HIDDEN, classes)
        self.layers = torch.nn.ModuleList(
            [pyg.GCN2Conv(HIDDEN, alpha=0.1, theta=0.5, layer=k + 1, cached=True) for k in range(int(layers))]
        )

    def forward(self, x: Any, edges: Any) -> Any:
        """Logits."""
        h = start = relu(self.first(dropout(x, DROPOUT, self.training)))
        for layer in self.layers:
            h = relu(layer(dropout(h, DROPOUT, self.training), start, edges))
        return self.last(h)


def _perceptron(features: int, classes: int) -> Any:
    layers = (
        torch.nn.Linear(features, HIDDEN),
        torch.nn.ReLU(),
        torch.nn.Dropout(DROPOUT),
        torch.nn.Linear(HIDDEN, classes),
    )
    return torch.nn.Sequential(*layers)


def _mlp(features: int, classes: int, layers: float) -> Any:
    return Stack(features, classes, []) if layers == 2 else Powers(torch.nn.Linear(features, classes), [1.0], False)


def _stack(convolution: Callable[[], Any]) -> Callable[[int, int, float], Any]:
    return lambda features, classes, layers: Stack(features, classes, [convolution() for _ in range(int(layers))])


def _sgc(features: int, classes: int, power: float) -> Any:
    return Powers(torch.nn.Linear(features, classes), [0.0] * int(power) + [1.0], False)


def _appnp(features: int, classes: int, teleport: float) -> Any:
    weights = [teleport * (1.0 - teleport) ** k for k in range(10)] + [(1.0 - teleport) ** 10]
    return Powers(_perceptron(features, classes), weights, False)


def _gpr(features: int, classes: int, teleport: float) -> Any:
    network = _appnp(features, classes, teleport)
    network.weights.requires_grad_(True)
    return network


def _gin() -> Any:
    inner = torch.nn.Sequential(torch.nn.Linear(HIDDEN, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, HIDDEN))
    return pyg.GINConv(torch.nn.Sequential(inner, torch.nn.BatchNorm1d(HIDDEN)))


NETWORKS = {
    "MLP": Network(_mlp, (1, 2)),
    "GCN": Network(GCN, (2, 3)),
    "GraphSAGE": Network(_stack(lambda: pyg.SAGEConv(HIDDEN, HIDDEN)), (1, 2)),
    "GAT": Network(_stack(lambda: pyg.GATConv(HIDDEN, HIDDEN // 8, heads=8)), (1, 2)),
    "GIN": Network(_stack(_gin), (1, 2)),
    "SGC": Network(_sgc, (2, 4), rate=0.1),
    "APPNP": Network(_appnp, (0.1, 0.3)),
    "GPR-GNN": Network(_gpr, (0.1, 0.3)),
    "GPR-GNN, centred": Network(_gpr, (0.1, 0.3), centred=True),
    "GCNII": Network(GCNII, (4, 8)),
    "graph transformer": Network(_stack(lambda: pyg.TransformerConv(HIDDEN, HIDDEN // 4, heads=4)), (1, 2)),
}
"""Networks by name, and the two structures of each that are tried: layers, powers of the operator, or teleports."""


def tune_network(task: Task, name: str, epochs: int, device: str) -> Setting:
    """Setting of the best accuracy on validation nodes."""
    trials = {s: _train(task, name, s, device)[1] for s in NETWORKS[name].settings(epochs)}
    return max(trials, key=lambda setting: trials[setting])


def fit_network(task: Task, name: str, setting: Setting, device: str) -> Array:
    """Scores of a network trained on the training nodes, at its best epoch on the validation nodes."""
    return _train(task, name, setting, device)[0]


def _train(task: Task, name: str, setting: Setting, device: str) -> tuple[Array, float]:
    """Scores at the epoch of the best accuracy on validation nodes, the lowest loss among equal ones, and that accuracy."""
    torch.manual_seed(task.seed)
    network = NETWORKS[name]
    x, edges = torch.from_numpy(task.features).to(device), _edges(task, network.centred, device)
    y, mask, val = (torch.from_numpy(part).to(device) for part in (task.labels, task.train_mask, task.val_mask))
    model = network.build(x.shape[1], task.classes, setting.structure).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=setting.rate, weight_decay=setting.weight_decay)
    best: tuple[tuple[float, float], Any] | None = None
    for epoch in range(1, setting.epochs + 1):
        model.train()
        optimizer.zero_grad()
        cross_entropy(model(x, edges)[mask], y[mask]).backward()
        optimizer.step()
        if epoch % EVERY == 0:
            scores = _scores(model, x, edges)
            accuracy = (scores[val].argmax(1) == y[val]).float().mean().item()
            merit = (accuracy, -cross_entropy(scores[val], y[val]).item())
            best = (merit, scores) if best is None or merit > best[0] else best
    assert best is not None
    return np.asarray(best[1].float().cpu().numpy()), best[0][0]


def _scores(model: Any, x: Any, edges: Any) -> Any:
    model.eval()
    with torch.no_grad():
        return model(x, edges)


def _edges(task: Task, centred: bool, device: str) -> Any:
    """Edges in both directions, or the centred operator."""
    if centred:
        return from_graph(task.adjacency).to(device)
    return to_undirected(from_scipy_sparse_matrix(task.adjacency.tocoo())[0]).to(device)
