"""The network trained and applied in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from gcnlimit.nn.network import MessagePassing
from gcnlimit.nn.operators import from_graph
from gcnlimit.nn.train import train

__all__ = ["message_passing_scores"]


def message_passing_scores(
    features: npt.NDArray[Any],
    graph: Any,
    labels: npt.NDArray[np.int64],
    *,
    layers: int = 15,
    operator: str = "paper",
    seed: int = 0,
    device: str = "cpu",
    **options: Any,
) -> npt.NDArray[Any]:
    """Logits of all nodes from a network trained on the labelled ones; -1 marks the others. `options` are its ablations."""
    x = torch.from_numpy(np.ascontiguousarray(features, np.float32)).to(device)
    y = torch.from_numpy(np.asarray(labels, np.int64)).to(device)
    S = from_graph(graph, operator).to(device)
    network = MessagePassing(int(labels.max()) + 1, layers, **options).to(device)
    train(network, x, S, y, seed=seed)
    with torch.no_grad():
        return np.asarray(network(x, S, y, y >= 0).cpu().numpy())
