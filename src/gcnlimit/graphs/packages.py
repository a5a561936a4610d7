"""Graphs of other packages: NetworkX and PyTorch Geometric."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from contextvars import copy_context
from typing import Any

import numpy as np

from gcnlimit._runtime.extras import load
from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import check_types, plain_array, whole
from gcnlimit._values import shown
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.check import dense, is_symmetric, node_order, of_networkx
from gcnlimit.graphs.columns import features_of, spelling
from gcnlimit.graphs.dataset import SPLITS, Dataset
from gcnlimit.graphs.tables import from_edges

Names = str | Sequence[str]


@progress_bar("converting")
def from_networkx(
    graph: Any, features: Names = "x", label: str = "label", words: Names = ()
) -> Dataset:
    """Data set of a NetworkX graph, with weights from the attribute ``weight`` of its edges.

    Parameters
    ----------
    graph
        Graph, directed or not; weights of parallel edges are added.
    features
        Attribute that holds a sequence of numbers; or names of attributes, each a number or a word, encoded as in a table.
    label
        Attribute that holds the class; a node without it is unlabelled.
    words
        Attributes among `features` whose values are words even if they look like numbers, such as codes.
    """
    load("a NetworkX graph", "graphs", "networkx")
    nodes = hasattr(graph, "number_of_nodes") and np.iterable(graph) and node_order(graph)
    if not nodes:
        kind = type(graph).__name__
        made = "; its to_networkx() makes one" if hasattr(graph, "to_networkx") else ""
        raise ParameterError(f"graph must be a NetworkX graph with nodes, got {kind}{made}")
    attributes = [graph.nodes[node] for node in nodes]
    present = {name for node in attributes for name in node}
    one = isinstance(features, str | set | frozenset) or not np.iterable(features)
    columns = [features] if one else [*features]  # a set has no order
    for name in (*columns, label):
        if not isinstance(name, Hashable) or name not in {*present, "x", "label"}:
            there = ", ".join(sorted(map(str, present))) or "none"
            raise ParameterError(f"no node has the attribute {shown(name)}; choose among: {there}")
    cells = {str(n): [node.get(n) for node in attributes] for n in columns if n in present}
    notes: list[str] = []
    X = copy_context().run(_features, cells, notes, [words] if isinstance(words, str) else words)
    y = np.fromiter((node.get(label) for node in attributes), object, len(attributes))
    if left := sorted({str(name) for name in present} - {*map(str, columns), label}):
        told = f"Attributes that were not taken: {', '.join(left)}"
        notes.append(f"{told} (name those of features in features, that of the classes in label).")
        if not cells or label not in present:
            warnings.warn(notes[-1], stacklevel=3)
    return Dataset(of_networkx(graph), X, y, names=np.array([*map(str, nodes)]), notes=tuple(notes))


def _features(columns: dict[str, list[Any]], notes: list[str], words: Sequence[str]) -> Any:
    """Matrix of features, rows of one attribute or a column of each; what was encoded is noted."""
    # sentences name the parameters of `from_networkx`, not options of tables
    spelling.set(lambda name, value: "features=[...]" if name == "drop" else f"{name}={value!r}")
    name, cells = next(iter(columns.items()), ("", []))
    if len(columns) > 1 or not any(plain_array(name, value).ndim for value in cells):
        return features_of(columns, notes, words)
    if any(row is None for row in cells):
        raise ParameterError(f"some nodes have no attribute {name!r}; give it to all or to none")
    return [plain_array(name, row).ravel() for row in cells]


@progress_bar("converting")
def to_networkx(data: Dataset) -> Any:
    """NetworkX graph whose nodes have ``x``, ``label`` and ``train`` (of the first split); directed if not symmetric."""
    check_types("to_networkx", data=(data, Dataset))
    nx = load("a NetworkX graph", "graphs", "networkx")
    kind = nx.Graph if is_symmetric(data.graph) else nx.DiGraph
    graph = nx.from_scipy_sparse_array(data.graph, create_using=kind)
    classes = {k: c for k, c in enumerate(data.y.tolist()) if c not in ("", -1)}
    nx.set_node_attributes(graph, classes, "label")
    if data.train is not None:
        nx.set_node_attributes(graph, dict(enumerate(data.train[0].tolist())), "train")
    if data.X is not None:
        nx.set_node_attributes(graph, dict(enumerate(dense(data.X).tolist())), "x")
    if data.names is None:
        return graph
    return nx.relabel_nodes(graph, dict(enumerate(data.names.tolist())))


def from_pyg(data: Any) -> Dataset:
    """Data set of a PyTorch Geometric ``Data``: ``edge_index``, and ``x, y, edge_weight`` and masks where it has them."""
    index = getattr(data, "edge_index", None)
    if index is None:
        kind = type(data).__name__
        made = "to_homogeneous() makes one of several kinds of nodes; leave out ToSparseTensor"
        needed = "data must be a torch_geometric Data with an edge_index"
        raise ParameterError(f"{needed}, got {kind}; {made}")
    names = ("edge_weight", "x", "y", *(f"{name}_mask" for name in SPLITS))
    weight, x, y, *masks = (_numpy(getattr(data, name, None)) for name in names)
    nodes = getattr(data, "num_nodes", None if x is None else len(x))
    graph = from_edges(_numpy(index).T, nodes, weight)
    kept = getattr(data, "edge_attr", None) is None
    notes = () if kept else ("Left out edge_attr; weights of edges are those of edge_weight.",)
    y = np.full(graph.shape[0], -1) if y is None else y
    y = y[:, 0] if y.shape[1:] == (1,) else y
    train, val, test = (None if mask is None else np.atleast_2d(mask.T) for mask in masks)
    return Dataset(graph, x, y, train, val, test, notes=notes)


def to_pyg(data: Dataset, split: int = 0) -> Any:
    """PyTorch Geometric ``Data`` with the masks of one split; classes are numbered in order, -1 where unknown."""
    check_types("to_pyg", data=(data, Dataset))
    torch = load("a PyTorch Geometric graph", "pyg", "torch")
    geometric = load("a PyTorch Geometric graph", "pyg", "torch_geometric.data")
    coo = data.graph.tocoo()
    y = data.y
    if y.dtype.kind == "U":
        y = np.where(y == "", -1, np.searchsorted(np.unique(y[y != ""]), y))
    fields = {"edge_index": np.stack([coo.row, coo.col]).astype(np.int64)}
    fields["y"] = np.maximum(y, -1).astype(np.int64)
    if data.X is not None:
        fields["x"] = dense(data.X).astype(np.float32)
    if not np.all(coo.data == 1.0):
        fields["edge_weight"] = coo.data.astype(np.float32)
    for name in SPLITS:
        if (masks := getattr(data, name)) is not None:
            fields[f"{name}_mask"] = masks[whole("split", split, 0, len(masks) - 1)].copy()
    tensors = {name: torch.from_numpy(array) for name, array in fields.items()}
    return geometric.Data(num_nodes=data.nodes, **tensors)


def _numpy(tensor: Any) -> Any:
    """A tensor, or what is like an array, as an array; None stays."""
    if not hasattr(tensor, "detach"):
        return None if tensor is None else np.atleast_1d(plain_array("a field of data", tensor))
    plain = tensor.detach().cpu().to_dense()
    return (plain.double() if plain.is_floating_point() else plain).numpy()  # not of bfloat16
