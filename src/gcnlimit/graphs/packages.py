"""Graphs of other packages: NetworkX and PyTorch Geometric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gcnlimit._runtime.extras import load
from gcnlimit._validation import check_types
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.check import dense, is_symmetric
from gcnlimit.graphs.columns import features_of
from gcnlimit.graphs.dataset import SPLITS, Dataset
from gcnlimit.graphs.tables import from_edges


def from_networkx(graph: Any, features: str | Sequence[str] = "x", label: str = "label") -> Dataset:
    """Data set of a NetworkX graph, its weights those of the attribute ``weight`` of the edges.

    Parameters
    ----------
    graph
        Graph, directed or not; parallel edges are added.
    features
        Attribute of the nodes that holds a sequence of numbers, ``"x"`` if they have one; or names of attributes, each a number
        or a word, encoded and filled in as in a table.
    label
        Attribute of the nodes that holds their class; a node without it is unlabelled.
    """
    load("a NetworkX graph", "graphs", "networkx")
    if not hasattr(graph, "number_of_nodes") or graph.number_of_nodes() == 0:
        raise ParameterError(f"graph must be a NetworkX graph with nodes, got {type(graph).__name__}")
    attributes = [own for _, own in graph.nodes(data=True)]
    columns = [features] if isinstance(features, str) else list(features)
    _check_attributes(attributes, [*(columns if columns != ["x"] else []), *([label] if label != "label" else [])])
    given = {name: [own.get(name) for own in attributes] for name in columns}
    if len(columns) == 1 and any(np.ndim(value) for value in given[columns[0]]):
        X, notes = _rows(columns[0], given[columns[0]])
    else:
        X, notes = features_of(given if columns != ["x"] or any(v is not None for v in given["x"]) else {})
    y = np.empty(len(attributes), object)
    y[:] = [own.get(label) for own in attributes]
    return Dataset(graph, X, y, names=np.array([str(node) for node in graph]), notes=tuple(notes))


def _check_attributes(attributes: list[dict[str, Any]], names: list[str]) -> None:
    present = {name for own in attributes for name in own}
    for name in names:
        if name not in present:
            shown = ", ".join(sorted(map(str, present))) or "none"
            raise ParameterError(f"no node has the attribute {name!r}; those of the nodes are: {shown}")


def _rows(name: str, given: list[Any]) -> tuple[Any, list[str]]:
    """Rows of features, and nothing to say about them."""
    if any(row is None for row in given):
        raise ParameterError(f"some nodes have no attribute {name!r}; give features to all of them or to none")
    return [np.ravel(row) for row in given], []


def to_networkx(data: Dataset) -> Any:
    """NetworkX graph with ``x``, ``label`` and, of the first split, ``train`` on its nodes; directed if not symmetric."""
    check_types("to_networkx", data=(data, Dataset))
    nx = load("a NetworkX graph", "graphs", "networkx")
    kind = nx.Graph if is_symmetric(data.graph) else nx.DiGraph
    graph = nx.from_scipy_sparse_array(data.graph, create_using=kind)
    known = {k: c for k, c in enumerate(data.y.tolist()) if c not in ("", -1)}
    nx.set_node_attributes(graph, known, "label")
    if data.train is not None:
        nx.set_node_attributes(graph, dict(enumerate(data.train[0].tolist())), "train")
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
    masks = {name: _mask(getattr(data, f"{name}_mask", None)) for name in SPLITS}
    return Dataset(graph, X, y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y, **masks)


def to_pyg(data: Dataset, split: int = 0) -> Any:
    """PyTorch Geometric ``Data`` with the masks of one split; classes are numbered in order, -1 where unknown."""
    check_types("to_pyg", data=(data, Dataset))
    torch, geometric = (load("a PyTorch Geometric graph", "pyg", name) for name in ("torch", "torch_geometric.data"))
    coo = data.graph.tocoo()
    y = data.y
    if y.dtype.kind == "U":
        y = np.where(y == "", -1, np.searchsorted(np.unique(y[y != ""]), y))
    fields = {"edge_index": torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64)), "num_nodes": data.nodes}
    fields["y"] = torch.from_numpy(np.maximum(y, -1).astype(np.int64))
    if data.X is not None:
        fields["x"] = torch.from_numpy(dense(data.X).astype(np.float32))
    if not np.all(data.graph.data == 1.0):
        fields["edge_weight"] = torch.from_numpy(coo.data.astype(np.float32))
    for name in SPLITS:
        if (masks := getattr(data, name)) is not None:
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
