"""One trainer and one budget of tuning for all popular networks."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from benchmarks.gnn.networks import NETWORKS, Graph, Setting
from gcnlimit._values import Array
from gcnlimit.benchmark.task import Task

EVERY = 4  # epochs between two looks at the validation nodes
PATIENCE = 48  # epochs without a better look after which training ends


class Inputs(NamedTuple):
    """A task on a device: features, graph, classes, and the places of training and validation nodes."""

    x: Any
    graph: Graph
    y: Any
    train: Any
    val: Any


def tune_network(task: Task, name: str, epochs: int, device: str) -> Setting:
    """Setting of the best accuracy on validation nodes."""
    trials = {
        setting: _train(task, name, setting, epochs, device)[1]
        for setting in NETWORKS[name].settings()
    }
    return max(trials, key=lambda setting: trials[setting])


def fit_network(task: Task, name: str, setting: Setting, epochs: int, device: str) -> Array:
    """Scores of a network trained on the training nodes, at its best epoch on the validation nodes."""
    return np.asarray(_train(task, name, setting, epochs, device)[0].float().cpu().numpy())


@lru_cache(maxsize=16)  # the first graph is that of the tuning
def _train(
    task: Task, name: str, setting: Setting, epochs: int, device: str
) -> tuple[Any, tuple[float, float]]:
    """Scores at the epoch of the best accuracy on validation nodes, the lowest loss among equal ones, and these two."""
    torch.manual_seed(task.seed)
    given, network = _inputs(task, device), NETWORKS[name]
    operator = getattr(given.graph, network.operator)
    model = network.build(given.x.shape[1], task.classes, setting.structure).to(device)
    optimizer = torch.optim.Adam(
        model.parameters(), lr=setting.rate, weight_decay=setting.weight_decay
    )
    best, when = (None, (-np.inf, -np.inf)), 0
    for epoch in range(1, epochs + 1):
        model.train()
        optimizer.zero_grad()
        cross_entropy(model(given.x, operator)[given.train], given.y[given.train]).backward()
        optimizer.step()
        if epoch % EVERY == 0:
            scores, merit = _look(model, given, operator)
            if merit > best[1]:
                best, when = (scores, merit), epoch
            elif epoch - when >= PATIENCE:
                break
    return best


def _look(model: Any, given: Inputs, operator: Any) -> tuple[Any, tuple[float, float]]:
    """Scores, and their accuracy and loss on the validation nodes."""
    model.eval()
    with torch.no_grad():
        scores = torch.nan_to_num(model(given.x, operator))
        seen, wanted = scores[given.val], given.y[given.val]
        accuracy = (seen.argmax(1) == wanted).float().mean()
        merit = torch.stack([accuracy, -cross_entropy(seen, wanted)]).tolist()
    return scores, (merit[0], merit[1])


@lru_cache(maxsize=5)
def _inputs(task: Task, device: str) -> Inputs:
    places = (np.flatnonzero(task.train_mask), np.flatnonzero(task.val_mask))
    arrays = (torch.from_numpy(part).to(device) for part in (task.features, task.labels, *places))
    x, y, train, val = arrays
    graph = Graph(task.adjacency, device, None if task.new is None else task.observation.nodes)
    return Inputs(x, graph, y, train, val)
