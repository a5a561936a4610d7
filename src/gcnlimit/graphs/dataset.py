"""A graph with features and labels, in memory and in one file of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import plain_array, whole
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.check import as_adjacency, as_features, is_sparse
from gcnlimit.graphs.labels import classes_of_nodes
from gcnlimit.graphs.npz import Location, assembling, field, graph_fields, read_arrays, stored_csr, write_arrays

Masks = npt.NDArray[np.bool_]
SPLITS = ("train", "val", "test")


@dataclass(frozen=True, eq=False)
class Dataset:
    """A graph, the features of its nodes, their classes, and splits into training and other nodes.

    Parameters
    ----------
    graph
        Adjacency matrix, kept in CSR form without self-loops; see `gcnlimit.graphs`.
    X
        Features, dense or sparse (then kept in CSR form), or None.
    y
        Classes, kept as integers with -1, or as strings with ``""``, where unknown.
    train, val, test
        Booleans, one row for each split, or None if there is no split.
    names
        Name of each node, or None for 0, 1, ...
    notes
        Sentences on what was dropped, joined or filled in on the way here.

    Examples
    --------
    >>> path = Dataset([[1, 1], [1, 0]], None, [1, None])
    >>> path.nodes, path.training().tolist(), path.notes
    (2, [1, -1], ('Dropped 1 self-loop.',))
    >>> path
    Dataset(2 nodes, 2 entries of the adjacency matrix, no features, 1 labelled nodes in 1 classes, 0 splits)
    """

    graph: Any
    X: Any
    y: npt.NDArray[Any]
    train: Masks | None = None
    val: Masks | None = None
    test: Masks | None = None
    names: npt.NDArray[Any] | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        notes = list(self.notes)
        graph = as_adjacency(self.graph, notes=notes)
        nodes = graph.shape[0]
        checked = {
            "graph": graph,
            "X": None if self.X is None else as_features(self.X, nodes),
            "y": classes_of_nodes(self.y, nodes),
            "names": None if self.names is None else _names(self.names, nodes),
            "notes": tuple(notes),
        }
        masks = {name: _masks(name, getattr(self, name), nodes) for name in SPLITS}
        if len({len(rows) for rows in masks.values() if rows is not None}) > 1:
            raise ParameterError("train, val and test have different numbers of rows; each must have one per split")
        for name, value in (checked | masks).items():
            object.__setattr__(self, name, value)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return int(self.graph.shape[0])

    @property
    def splits(self) -> int:
        """Number of splits."""
        return 0 if self.train is None else len(self.train)

    def __repr__(self) -> str:
        width = "no" if self.X is None else self.X.shape[1]
        known = self.y[self.y != ("" if self.y.dtype.kind == "U" else -1)]
        return (
            f"Dataset({self.nodes} nodes, {self.graph.nnz} entries of the adjacency matrix, {width} features, "
            f"{known.size} labelled nodes in {np.unique(known).size} classes, {self.splits} splits)"
        )

    def training(self, split: int = 0) -> npt.NDArray[Any]:
        """Classes of the training nodes of a split, all known classes if there is no split.

        The others are -1, or None where classes are strings.
        """
        return self._marked(np.ones(self.nodes, bool) if self.train is None else self.train[self._row(split)])

    def testing(self, split: int = 0) -> npt.NDArray[Any]:
        """Classes of the test nodes of a split, by default all but the training nodes; marked as in `training`."""
        if self.train is None:
            return self._marked(np.zeros(self.nodes, bool))
        row = self._row(split)
        return self._marked(~self.train[row] if self.test is None else self.test[row])

    def _row(self, split: int) -> int:
        if whole("split", split, low=0) >= self.splits:
            raise ParameterError(f"split = {split} is not allowed; there are {self.splits}, counted from 0")
        return split

    def _marked(self, seen: Masks) -> npt.NDArray[Any]:
        if self.y.dtype.kind == "U":
            return np.array([c if c and s else None for c, s in zip(self.y.tolist(), seen, strict=True)], object)
        return np.where(seen, self.y, -1)


def load(path: Location) -> Dataset:
    """Read a file that `save` wrote; nothing in it is executed."""
    stored = read_arrays(path, "a graph")
    with assembling(path, "a graph"):
        nodes = stored["indptr"].size - 1
        graph, X = stored_csr(stored, "weights", (nodes, nodes)), stored.get("x_dense")
        if "x_indptr" in stored:
            rows, columns = field(stored, "x_shape", 2).tolist()
            X = stored_csr(stored, "x_data", (whole("x_shape", rows, low=1), whole("x_shape", columns, low=1)), "x_")
        masks: dict[str, Any] = {name: _unpacked(stored[name], nodes) for name in SPLITS if name in stored}
        y = stored.get("labels", np.full(nodes, -1))
        return Dataset(graph, X, y, **masks, names=stored.get("names"))


def save(data: Dataset, path: Location) -> None:
    """Write a data set to one ``.npz`` file."""
    fields = graph_fields(data.graph) | {"labels": data.y}
    if is_sparse(data.X):
        fields |= {"x_indptr": data.X.indptr, "x_indices": data.X.indices, "x_data": data.X.data}
        fields["x_shape"] = np.array(data.X.shape)
    elif data.X is not None:
        fields["x_dense"] = data.X
    packed = {name: getattr(data, name) for name in SPLITS if getattr(data, name) is not None}
    fields |= {name: np.packbits(masks, axis=1) for name, masks in packed.items()}
    write_arrays(path, fields | ({} if data.names is None else {"names": data.names}), compress=True)


def _unpacked(packed: npt.NDArray[Any], nodes: int) -> Masks:
    if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != (nodes + 7) // 8:
        raise ParameterError(f"the splits have shape {packed.shape}; they must be numpy.packbits of rows of booleans")
    return np.unpackbits(packed, axis=1)[:, :nodes].astype(bool)


def _masks(name: str, value: Any, nodes: int) -> Masks | None:
    if value is None:
        return None
    masks = plain_array(name, value)
    if masks.dtype != np.bool_ or masks.ndim != 2 or masks.shape[1] != nodes or not len(masks):
        raise ParameterError(
            f"{name} has dtype {masks.dtype} and shape {masks.shape}; it must have a row of {nodes} booleans for each split: "
            f"write {name}=mask[None] for one"
        )
    return masks.copy()


def _names(value: Any, nodes: int) -> npt.NDArray[Any]:
    names = plain_array("names", value).astype(str)
    if names.shape != (nodes,) or len(set(names.tolist())) != nodes:
        raise ParameterError(
            f"names have shape {names.shape}; there must be one for each of the {nodes} nodes, all different"
        )
    return names
