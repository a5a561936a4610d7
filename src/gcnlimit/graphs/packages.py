"""Graphs of other packages: NetworkX and PyTorch Geometric."""

from __future__ import annotations

from typing import Any

import numpy as np

from gcnlimit._runtime.extras import load
from gcnlimit._validation import check_types
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.check import dense, is_symmetric
from gcnlimit.graphs.dataset import Dataset
from gcnlimit.graphs.tables import from_edges


def from_networkx(graph: Any, features: str = "x", label: str = "label") -> Dataset:
    """Data set of a NetworkX graph; `features` (a sequence) and `label` name attributes of its nodes, if there.

    A node without a label is unlabelled.
    """
    load("a NetworkX graph", "graphs", "networkx")
    if not hasattr(graph, "number_of_nodes") or graph.number_of_nodes() == 0:
        raise ParameterError(f"graph must be a NetworkX graph with nodes, got {type(graph).__name__}")
    given = [attributes.get(label) for _, attributes in graph.nodes(data=True)]
    rows = [attributes.get(features) for _, attributes in graph.nodes(data=True)]
    if any(row is None for row in rows) and any(row is not None for row in rows):
        raise ParameterError(f"some nodes have no attribute {features!r}; give features to all of them or to none")
    X = None if rows[0] is None else [np.ravel(row) for row in rows]
    y = np.empty(len(given), object)
    y[:] = given
    return Dataset(graph, X, y, names=np.array([str(node) for node in graph]))


def to_networkx(data: Dataset) -> Any:
    """NetworkX graph with ``x`` and ``label`` on its nodes, directed if the matrix is not symmetric."""
    check_types("to_networkx", data=(data, Dataset))
    nx = load("a NetworkX graph", "graphs", "networkx")
    kind = nx.Graph if is_symmetric(data.graph) else nx.DiGraph
    graph = nx.from_scipy_sparse_array(data.graph, create_using=kind)
    known = {k: c for k, c in enumerate(data.y.tolist()) if c not in ("", -1)}
    nx.set_node_attributes(graph, known, "label")
    if data.X is not None:
        nx.set_node_attributes(graph, dict(enumerate(dense(data.X).tolist())), "x")
    return graph if data.names is None else nx.relabel_nodes(graph, dict(enumerate(data.names.tolist())))


def from_pyg(data: Any) -> Dataset:
    """Data set of a PyTorch Geometric ``Data``: ``edge_index``, and ``x, y, edge_weight`` and masks where it has them."""
    index = getattr(data, "edge_index", None)
    if index is None:
        raise ParameterError(f"data must be a torch_geometric Data with an edge_index, got {type(data).__name__}")
    weight, x, y = (getattr(data, name, None) for name in ("edge_weight", "x", "y"))
    graph = from_edges(_numpy(index).T, data.num_nodes, None if weight is None else _numpy(weight))
    X = None if x is None else _numpy(x)
    y = np.full(graph.shape[0], -1) if y is None else _numpy(y)
    masks = {name: _mask(getattr(data, f"{name}_mask", None)) for name in ("train", "val", "test")}
    return Dataset(graph, X, y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y, **masks)


def to_pyg(data: Dataset, split: int = 0) -> Any:
    """PyTorch Geometric ``Data`` with the masks of one split; classes are numbered in order, -1 where unknown."""
    check_types("to_pyg", data=(data, Dataset))
    torch, geometric = (load("a PyTorch Geometric graph", "pyg", name) for name in ("torch", "torch_geometric.data"))
    coo = data.graph.tocoo()
    y = data.y
    if y.dtype.kind == "U":
        y = np.searchsorted(np.unique(y[y != ""]), y) - (len(y) + 1) * (y == "")
    fields = {"edge_index": torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64)), "num_nodes": data.nodes}
    fields["y"] = torch.from_numpy(np.maximum(y, -1).astype(np.int64))
    if data.X is not None:
        fields["x"] = torch.from_numpy(dense(data.X).astype(np.float32))
    if not np.all(data.graph.data == 1.0):
        fields["edge_weight"] = torch.from_numpy(coo.data.astype(np.float32))
    for name in ("train", "val", "test"):
        masks = getattr(data, name)
        if masks is not None:
            fields[f"{name}_mask"] = torch.from_numpy(masks[split].copy())
    return geometric.Data(**fields)


def _mask(given: Any) -> Any:
    """Masks with one row per split, from a vector or PyTorch Geometric's one column per split."""
    if given is None:
        return None
    array = _numpy(given)
    return array[None] if array.ndim == 1 else array.T


def _numpy(tensor: Any) -> Any:
    return tensor.detach().cpu().numpy() if hasattr(tensor, "detach") else np.asarray(tensor)
