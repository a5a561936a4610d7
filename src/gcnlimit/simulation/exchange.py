"""Instances on disk and in other libraries."""

from __future__ import annotations

import importlib
import os
import zipfile
from typing import Any

import numpy as np
from scipy import sparse

from gcnlimit.csbm import CSBM
from gcnlimit.errors import GCNLimitError, ParameterError
from gcnlimit.simulation.features import StreamedFeatures
from gcnlimit.simulation.observation import Latents, Observation, streamed

__all__ = ["load", "save", "to_networkx", "to_pyg"]


def save(observation: Observation, latents: Latents, path: str | os.PathLike[str]) -> None:
    """Write an instance to one ``.npz`` file; streamed features are kept as their key."""
    o, data = observation, observation.data
    fields: dict[str, Any] = {
        "model": np.array([data.alpha, data.lam, data.mu, data.rho]),
        "directed": np.array(data.directed),
        "degree": np.array(np.nan if o.degree is None else o.degree),
        "train_mask": o.train_mask,
        "labels": latents.labels.astype(np.int8),
        "centroid": latents.centroid,
    }
    if isinstance(o.adjacency, np.ndarray):
        fields["adjacency"] = o.adjacency
    else:
        fields |= {"indices": o.adjacency.indices, "indptr": o.adjacency.indptr}
        if not np.all(o.adjacency.data == 1.0):
            fields["weights"] = o.adjacency.data
    if streamed(o.features):
        fields |= {"key": np.array(o.features.key, np.uint64), "spike": o.features.spike}
    else:
        fields["features"] = o.features
    with open(path, "wb") as file:
        np.savez(file, **fields)


def load(path: str | os.PathLike[str]) -> tuple[Observation, Latents]:
    """Read an instance that `save` wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            stored = {name: file[name] for name in file.files}
        return _assemble(stored)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ParameterError(f"path = {os.fspath(path)!r} cannot be read as an instance: {error}") from None


def _assemble(stored: dict[str, Any]) -> tuple[Observation, Latents]:
    alpha, lam, mu, rho = stored["model"].tolist()
    data = CSBM(alpha, lam, mu, rho, directed=bool(stored["directed"]))
    labels = stored["labels"].astype(float)
    if "adjacency" in stored:
        adjacency: Any = stored["adjacency"]
    else:
        indices, indptr = stored["indices"], stored["indptr"]
        weights = stored.get("weights", np.ones(indices.size))
        adjacency = sparse.csr_array((weights, indices, indptr), shape=(labels.size, labels.size))
    features = (
        stored["features"] if "features" in stored else StreamedFeatures(int(stored["key"]), labels, stored["spike"])
    )
    mask, degree = stored["train_mask"], float(stored["degree"])
    observation = Observation(
        data, None if np.isnan(degree) else degree, adjacency, features, mask, np.where(mask, labels, 0.0)
    )
    return observation, Latents(labels, stored["centroid"])


def to_networkx(observation: Observation, latents: Latents) -> Any:
    """Return the graph for NetworkX, directed or not as it is, with ``label`` and ``train`` on the nodes."""
    nx = _package("networkx")
    _edges(observation)
    kind = nx.DiGraph if observation.data.directed else nx.Graph
    graph = nx.from_scipy_sparse_array(observation.adjacency, create_using=kind)
    nx.set_node_attributes(graph, dict(enumerate(latents.labels.astype(int).tolist())), "label")
    nx.set_node_attributes(graph, dict(enumerate(observation.train_mask.tolist())), "train")
    return graph


def to_pyg(observation: Observation, latents: Latents) -> Any:
    """Return the instance as PyTorch Geometric ``Data``: ``x, edge_index, y`` (0 or 1), ``train_mask, test_mask``."""
    torch, geometric = _package("torch"), _package("torch_geometric.data")
    row, column = _edges(observation)
    return geometric.Data(
        x=torch.from_numpy(np.array(observation.features)),
        edge_index=torch.from_numpy(np.stack([row, column]).astype(np.int64)),
        y=torch.from_numpy((latents.labels > 0).astype(np.int64)),
        train_mask=torch.from_numpy(observation.train_mask.copy()),
        test_mask=torch.from_numpy(~observation.train_mask),
    )


def _package(name: str) -> Any:
    """Import an optional package, or say how to install it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        raise GCNLimitError(f"this needs {missing.name}; install it with: pip install {missing.name}") from None


def _edges(observation: Observation) -> tuple[Any, Any]:
    if isinstance(observation.adjacency, np.ndarray):
        raise ParameterError("degree = None gives a Gaussian matrix, which is no graph; sample with a degree")
    edges = observation.adjacency.tocoo()
    return edges.row, edges.col
