"""A graph with features and labels, in memory and in one file of arrays."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._validation import plain_array, whole
from gcnlimit.errors import ParameterError, writing
from gcnlimit.graphs.check import as_adjacency, as_features, is_sparse
from gcnlimit.graphs.labels import classes_of_nodes
from gcnlimit.graphs.npz import read_arrays, unreadable

Masks = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A graph, the features of its nodes, their classes, and splits into training and other nodes.

    Parameters
    ----------
    graph
        Adjacency matrix, kept in CSR form.
    X
        Features, dense or sparse (then kept in CSR form), or None.
    y
        Classes, kept as integers with -1, or as strings with ``""``, where unknown.
    train, val, test
        Booleans, one row for each split, or None if there is no split.
    names
        Name of each node, or None for 0, 1, ...

    Examples
    --------
    >>> path = Dataset([[0, 1], [1, 0]], None, [1, None])
    >>> path.nodes, path.training().tolist()
    (2, [1, -1])
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

    def __post_init__(self) -> None:
        graph = as_adjacency(self.graph)
        nodes = graph.shape[0]
        checked = {
            "graph": graph,
            "X": None if self.X is None else as_features(self.X, nodes),
            "y": classes_of_nodes(self.y, nodes),
            "names": None if self.names is None else _names(self.names, nodes),
        }
        for name in ("train", "val", "test"):
            masks = getattr(self, name)
            checked[name] = None if masks is None else _masks(name, masks, nodes)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if len({len(checked[name]) for name in ("train", "val", "test") if checked[name] is not None}) > 1:
            raise ParameterError(
                "train, val and test have different numbers of rows; each must have one for each split"
            )

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return int(self.graph.shape[0])

    def __repr__(self) -> str:
        width = "no" if self.X is None else self.X.shape[1]
        known = np.array([c not in ("", -1) for c in self.y.tolist()])
        classes = np.unique(self.y[known]).size
        return (
            f"Dataset({self.nodes} nodes, {self.graph.nnz} entries of the adjacency matrix, {width} features, "
            f"{known.sum()} labelled nodes in {classes} classes, {self.splits} splits)"
        )

    @property
    def splits(self) -> int:
        """Number of splits."""
        return 0 if self.train is None else len(self.train)

    def training(self, split: int = 0) -> npt.NDArray[Any]:
        """Classes of the training nodes of a split, unknown elsewhere; all known classes if there is no split."""
        if self.train is None:
            return self._marked(np.ones(self.nodes, bool))
        return self._marked(self.train[self._row(split)])

    def testing(self, split: int = 0) -> npt.NDArray[Any]:
        """Classes of the test nodes of a split, by default all but the training nodes; unknown elsewhere."""
        if self.train is None:
            return self._marked(np.zeros(self.nodes, bool))
        row = self._row(split)
        return self._marked(~self.train[row] if self.test is None else self.test[row])

    def _row(self, split: int) -> int:
        if whole("split", split, low=0) >= self.splits:
            raise ParameterError(f"split = {split} is not allowed; there are {self.splits}, counted from 0")
        return split

    def _marked(self, seen: Masks) -> npt.NDArray[Any]:
        if self.y.dtype.kind in "U":
            return np.array([c if c and s else None for c, s in zip(self.y.tolist(), seen, strict=True)], object)
        return np.where(seen, self.y, -1)


def load(path: str | os.PathLike[str]) -> Dataset:
    """Read a file that `save` wrote; nothing in it is executed."""
    stored = read_arrays(path, "a graph")
    try:
        return _assemble(stored)
    except KeyError as missing:
        raise unreadable(path, "a graph", f"the field {missing} is missing") from None
    except ParameterError as error:
        raise unreadable(path, "a graph", error) from None


def save(data: Dataset, path: str | os.PathLike[str]) -> None:
    """Write a data set to one ``.npz`` file."""
    fields: dict[str, Any] = {"indptr": data.graph.indptr, "indices": data.graph.indices, "labels": data.y}
    if not np.all(data.graph.data == 1.0):
        fields["weights"] = data.graph.data
    if is_sparse(data.X):
        fields |= {"x_indptr": data.X.indptr, "x_indices": data.X.indices, "x_data": data.X.data}
        fields["x_shape"] = np.array(data.X.shape)
    elif data.X is not None:
        fields["x_dense"] = data.X
    masks = {"train": data.train, "val": data.val, "test": data.test}
    fields |= {name: np.packbits(mask, axis=1) for name, mask in masks.items() if mask is not None}
    if data.names is not None:
        fields["names"] = data.names.astype(str)
    with writing(path), open(path, "wb") as file:
        np.savez_compressed(file, **fields)


def _assemble(stored: dict[str, Any]) -> Dataset:
    nodes = stored["indptr"].size - 1
    graph = _csr("", stored, (nodes, nodes), stored.get("weights"))
    X = stored.get("x_dense")
    if "x_indptr" in stored:
        X = _csr("x_", stored, _shape(stored["x_shape"]), stored.get("x_data"))
    masks = {name: _unpacked(name, stored[name], nodes) for name in ("train", "val", "test") if name in stored}
    return Dataset(graph, X, stored.get("labels", np.full(nodes, -1)), names=stored.get("names"), **masks)


def _csr(prefix: str, stored: dict[str, Any], shape: tuple[int, int], data: Any) -> Any:
    """Sparse matrix of stored arrays, which may be anything; what its indices lead to is checked by `Dataset`."""
    indptr, indices = stored[f"{prefix}indptr"], stored[f"{prefix}indices"]
    data = np.ones(indices.shape) if data is None else data
    if indptr.dtype.kind not in "iu" or indices.dtype.kind not in "iu" or data.dtype.kind not in "biuf":
        raise ParameterError(
            f"{prefix}indptr, {prefix}indices and the entries have dtypes {indptr.dtype}, {indices.dtype} and {data.dtype}; "
            "they must be whole, whole and real numbers"
        )
    try:
        return sparse.csr_array((data, indices.astype(np.int64), indptr.astype(np.int64)), shape=shape)
    except ValueError as error:
        raise ParameterError(f"{prefix}indptr and {prefix}indices are no sparse matrix: {error}") from None


def _shape(stored: npt.NDArray[Any]) -> tuple[int, int]:
    if stored.shape != (2,) or stored.dtype.kind not in "iu" or stored.min() < 1:
        raise ParameterError(f"x_shape = {stored.tolist()} is not allowed; it must be two numbers, of rows and columns")
    return int(stored[0]), int(stored[1])


def _unpacked(name: str, packed: Any, nodes: int) -> Masks:
    if packed.ndim != 2 or packed.dtype != np.uint8 or packed.shape[1] != (nodes + 7) // 8:
        raise ParameterError(
            f"{name} has shape {packed.shape}; it must be numpy.packbits of a row of {nodes} booleans per split"
        )
    return np.unpackbits(packed, axis=1)[:, :nodes].astype(bool)


def _masks(name: str, value: Any, nodes: int) -> Masks:
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
