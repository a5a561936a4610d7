"""A graph with features and labels, in memory and in one file of arrays."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._validation import whole
from gcnlimit.errors import ParameterError, writing
from gcnlimit.given.inputs import as_adjacency, as_features, is_sparse
from gcnlimit.simulation.codes import class_numbers
from gcnlimit.simulation.disk import unreadable
from gcnlimit.simulation.instance import Instance

__all__ = ["Dataset", "load", "of_instance", "save"]

Masks = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A graph, the features of its nodes, their classes, and splits into training and other nodes.

    Parameters
    ----------
    graph
        Adjacency matrix (CSR).
    X
        Features, dense or sparse (CSR), or None.
    y
        Classes: integers with -1, or strings with ``""``, where unknown.
    train, val, test
        Booleans, one row for each split; without rows if there is no split.
    names
        Name of each node, or None for 0, 1, ...

    Examples
    --------
    >>> path = Dataset(as_adjacency([[0, 1], [1, 0]]), None, np.array([1, -1]))
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
    """Read a file that `save` or `Instance.save` wrote; nothing in it is executed.

    The classes of an instance become 0, 1, ...
    """
    try:
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            stored = {name: file[name] for name in file.files}
        return of_instance(Instance.load(path)) if "model" in stored else _assemble(stored)
    except (OSError, ValueError, KeyError, EOFError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        if isinstance(error, ParameterError):
            raise
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


def of_instance(instance: Instance) -> Dataset:
    """Data set of an instance, its classes 0, 1, ..., its training nodes the one split.

    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), nodes=200, degree=20, seed=0)
    >>> data = of_instance(i)
    >>> data.nodes, int((data.training() >= 0).sum())
    (200, 20)
    """
    mask = instance.train_mask[None]
    y = class_numbers(instance.labels, instance.data.classes)
    graph = as_adjacency(instance.adjacency)
    return Dataset(graph, as_features(np.asarray(instance.features), graph.shape[0]), y, mask, None, ~mask)


def _assemble(stored: dict[str, Any]) -> Dataset:
    nodes = stored["indptr"].size - 1
    graph = as_adjacency(_csr("", stored, (nodes, nodes), stored.get("weights")))
    X = None
    if "x_dense" in stored:
        X = as_features(stored["x_dense"], nodes)
    elif "x_indptr" in stored:
        rows, columns = (int(n) for n in stored["x_shape"])
        X = as_features(_csr("x_", stored, (rows, columns), stored.get("x_data")), nodes)
    y = stored.get("labels", np.full(nodes, -1))
    if y.shape != (nodes,) or y.dtype.kind not in "iuU":
        raise ParameterError(
            f"labels have shape {y.shape} and dtype {y.dtype}; they must be {nodes} integers or strings"
        )
    masks = {name: _masks(name, stored[name], nodes) for name in ("train", "val", "test") if name in stored}
    return Dataset(graph, X, y if y.dtype.kind == "U" else y.astype(np.int64), names=stored.get("names"), **masks)


def _csr(prefix: str, stored: dict[str, Any], shape: tuple[int, int], data: Any) -> Any:
    """Sparse matrix of stored arrays, which may be anything: checked before SciPy trusts them."""
    indptr, indices = (stored[prefix + name].astype(np.int64, casting="safe") for name in ("indptr", "indices"))
    data = np.ones(indices.size) if data is None else np.asarray(data, float)
    steps = np.diff(indptr)
    whole_rows = (
        indptr.shape == (shape[0] + 1,) and indptr[0] == 0 and indptr[-1] == indices.size and np.all(steps >= 0)
    )
    if not whole_rows or data.shape != indices.shape or indices.ndim != 1:
        raise ParameterError(f"{prefix}indptr and {prefix}indices do not fit together as the rows of a sparse matrix")
    if indices.size and not (indices.min() >= 0 and indices.max() < shape[1]):
        raise ParameterError(f"{prefix}indices name a column outside of 0 ... {shape[1] - 1}")
    return sparse.csr_array((data, indices, indptr), shape=shape)


def _masks(name: str, packed: Any, nodes: int) -> Masks:
    if packed.ndim != 2 or packed.dtype != np.uint8 or packed.shape[1] != (nodes + 7) // 8:
        raise ParameterError(
            f"{name} has shape {packed.shape}; it must be numpy.packbits of a row of {nodes} booleans per split"
        )
    return np.unpackbits(packed, axis=1)[:, :nodes].astype(bool)
