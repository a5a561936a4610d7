"""Instances in other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from gcnlimit._runtime.extras import load
from gcnlimit.errors import ParameterError
from gcnlimit.simulation.data.observation import Latents, Observation


def to_networkx(observation: Observation, latents: Latents) -> Any:
    """Return the graph for NetworkX, directed or not as it is, with ``label`` (0 to C - 1), if known, and ``train``."""
    nx = load("a NetworkX graph", "graphs", "networkx")
    _edges(observation)
    kind = nx.DiGraph if observation.data.directed else nx.Graph
    graph = nx.from_scipy_sparse_array(observation.adjacency, create_using=kind)
    y = observation.classes.index_of(latents.labels).tolist()
    nx.set_node_attributes(graph, {k: c for k, c in enumerate(y) if c >= 0}, "label")
    nx.set_node_attributes(graph, dict(enumerate(observation.train_mask.tolist())), "train")
    return graph


def to_pyg(observation: Observation, latents: Latents) -> Any:
    """Return the instance as PyTorch Geometric ``Data``.

    Its fields are ``x, edge_index, y`` (0 to C - 1, and -1 if unknown), ``train_mask`` and ``test_mask``, the nodes to
    measure on.
    """
    torch, geometric = (load("a PyTorch Geometric graph", "pyg", name) for name in ("torch", "torch_geometric.data"))
    row, column = _edges(observation)
    y = observation.classes.index_of(latents.labels)
    return geometric.Data(
        x=torch.from_numpy(np.array(observation.features)),
        edge_index=torch.from_numpy(np.stack([row, column]).astype(np.int64)),
        y=torch.from_numpy(y),
        train_mask=torch.from_numpy(observation.train_mask.copy()),
        test_mask=torch.from_numpy(~observation.train_mask & (y >= 0)),
    )


def _edges(observation: Observation) -> tuple[Any, Any]:
    if isinstance(observation.adjacency, np.ndarray):
        raise ParameterError("degree = None gives a Gaussian matrix, not a graph; sample with a degree")
    edges = observation.adjacency.tocoo()
    return edges.row, edges.col
