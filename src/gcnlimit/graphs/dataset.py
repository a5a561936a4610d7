"""A graph with features and labels, in memory and in one ``.npz`` file, read without executing anything."""

from __future__ import annotations

import contextlib
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._runtime.memory import require
from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import check_types, plain_array, whole
from gcnlimit._values import Mask, shown
from gcnlimit.errors import ParameterError, writing
from gcnlimit.graphs.check import as_adjacency, as_features, counted, is_sparse
from gcnlimit.graphs.labels import classes_of_nodes

Location = str | os.PathLike[str]
Stored = dict[str, npt.NDArray[Any]]
SPLITS = ("train", "val", "test")
_LISTED = 2**21  # bytes of the list of the entries of a zip file


@dataclass(frozen=True, eq=False)
class Dataset:
    """A graph, the features of its nodes, their classes, and splits into training and other nodes.

    Parameters
    ----------
    graph
        Adjacency matrix, kept in CSR form without self-loops.
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
    Dataset(2 nodes, 2 entries of the adjacency matrix, no features, 1 labelled (1 class), 0 splits)
    """

    graph: Any
    X: Any
    y: npt.NDArray[Any]
    train: Mask | None = None
    val: Mask | None = None
    test: Mask | None = None
    names: npt.NDArray[Any] | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_types("Dataset", notes=(self.notes, (tuple, list)))
        notes = list(self.notes)
        graph = as_adjacency(self.graph, notes=notes)
        nodes = graph.shape[0]
        checked = {
            "graph": graph,
            "X": None if self.X is None else as_features(self.X, nodes).copy(),
            "y": classes_of_nodes(self.y, nodes),
            "names": None if self.names is None else _names(self.names, nodes),
            "notes": tuple(notes),
        }
        masks = {name: _masks(name, getattr(self, name), nodes) for name in SPLITS}
        if len({len(rows) for rows in masks.values() if rows is not None}) > 1:
            differ = "train, val and test have different numbers of rows"
            raise ParameterError(f"{differ}; each must have one for each split")
        self.__dict__.update(checked | masks)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return int(self.graph.shape[0])

    @property
    def splits(self) -> int:
        """Number of splits."""
        return 0 if self.train is None else len(self.train)

    def __repr__(self) -> str:
        features = "no features" if self.X is None else counted(self.X.shape[1], "feature")
        classes = self.y[self.y != ("" if self.y.dtype.kind == "U" else -1)]
        labels = f"{classes.size} labelled ({counted(np.unique(classes).size, 'class')})"
        graph = f"{self.nodes} nodes, {self.graph.nnz} entries of the adjacency matrix"
        return f"Dataset({graph}, {features}, {labels}, {counted(self.splits, 'split')})"

    def training(self, split: int = 0) -> npt.NDArray[Any]:
        """Classes of the training nodes of a split, all known classes if there is no split.

        The others are -1, or None where classes are strings.
        """
        everywhere = np.ones(self.nodes, bool)
        return self._marked(everywhere if self.train is None else self.train[self._row(split)])

    def testing(self, split: int = 0) -> npt.NDArray[Any]:
        """Classes of the test nodes of a split, by default all but the training nodes; marked as in `training`."""
        if self.train is None:
            return self._marked(np.zeros(self.nodes, bool))
        row = self._row(split)
        return self._marked(~self.train[row] if self.test is None else self.test[row])

    def _row(self, split: int) -> int:
        return whole("split", split, low=0, high=self.splits - 1)

    def _marked(self, seen: Mask) -> npt.NDArray[Any]:
        if self.y.dtype.kind == "U":
            marked = self.y.astype(object)
            marked[~seen | (self.y == "")] = None
            return marked
        return np.where(seen, self.y, -1)


def from_stored(stored: Stored) -> Dataset:
    """Data set of the arrays that `save` wrote."""
    check_work(stored)
    nodes = stored["indptr"].size - 1
    graph = stored_csr(stored, "weights", (nodes, nodes))
    X = stored.get("x_dense")
    if "x_indptr" in stored:
        rows, columns = (whole("x_shape", n, 1) for n in field(stored, "x_shape", 2).tolist())
        X = stored_csr(stored, "x_data", (rows, columns), "x_")
    y = stored.get("labels", np.full(nodes, -1))
    train, val, test = (_unpacked(stored.get(name), nodes) for name in SPLITS)
    return Dataset(graph, X, y, train, val, test, stored.get("names"))


def save(data: Dataset, path: Location) -> None:
    """Write a data set to one ``.npz`` file."""
    fields = graph_fields(data.graph) | {"labels": data.y}
    if is_sparse(data.X):
        fields |= {"x_indptr": data.X.indptr, "x_indices": data.X.indices, "x_data": data.X.data}
        fields["x_shape"] = np.array(data.X.shape)
    elif data.X is not None:
        fields["x_dense"] = data.X
    for name in SPLITS:
        if (masks := getattr(data, name)) is not None:
            fields[name] = np.packbits(masks, axis=1)
    if data.names is not None:
        fields["names"] = data.names
    write_arrays(path, fields, compress=True)


def _unpacked(packed: npt.NDArray[Any] | None, nodes: int) -> Mask | None:
    if packed is None:
        return None
    if packed.dtype != np.uint8 or packed.shape[1:] != ((nodes + 7) // 8,):
        stored = f"the splits have dtype {packed.dtype} and shape {packed.shape}"
        raise ParameterError(f"{stored}; they must be numpy.packbits of rows of {nodes} booleans")
    return np.unpackbits(packed, axis=1)[:, :nodes].astype(bool)


def _masks(name: str, value: Any, nodes: int) -> Mask | None:
    if value is None:
        return None
    masks = plain_array(name, value)
    if masks.dtype != np.bool_ or masks.shape[1:] != (nodes,) or not len(masks):
        got = f"{name} has dtype {masks.dtype} and shape {masks.shape}"
        needed = f"a row of {nodes} booleans for each split: write {name}=mask[None] for one"
        raise ParameterError(f"{got}; it must have {needed}")
    return masks.copy()


def _names(value: Any, nodes: int) -> npt.NDArray[Any]:
    names = plain_array("names", value)
    with contextlib.suppress(TypeError, ValueError):
        names = names.astype(str) if names.shape == (nodes,) else names
    if names.dtype.kind != "U" or names.shape != (nodes,) or len({*names.tolist()}) != nodes:
        raise ParameterError(f"names = {shown(value)} are not {nodes} different words, one a node")
    return names


@contextlib.contextmanager
def reading(path: Location, kind: str) -> Iterator[Stored]:
    """Arrays of an untrusted ``.npz`` file by name; an error in one of them is raised with the name of the file."""
    check_path(path)
    try:
        with open(path, "rb") as opened:
            if opened.read(6) == np.lib.format.MAGIC_PREFIX:
                raise ValueError(f"it holds one array instead of the fields of {kind}")
            require("it", unpacked_size(opened), "write a smaller one")
            opened.seek(0)
            file = np.load(opened, allow_pickle=False)
            stored = {name: file[name] for name in dict.fromkeys(file.files)}
            if others := [name for name in stored if not isinstance(stored[name], np.ndarray)]:
                raise ValueError(f"its entry {others[0]!r} is not an array")
    except Exception as error:  # of fifteen types, where NumPy or zipfile meets a damaged file
        raise _unreadable(path, kind, error) from None
    try:
        yield stored
    except KeyError as missing:
        lacks = f"it lacks the field {missing}, which files that gcnlimit has written have"
        raise _unreadable(path, kind, lacks) from None
    except ParameterError as error:
        raise _unreadable(path, kind, error) from None


@progress_bar("writing")
def write_arrays(path: Location, fields: Mapping[str, Any], compress: bool) -> None:
    """Write arrays by name to one ``.npz`` file."""
    check_path(path)
    with writing(path) as new, open(new, "wb") as file:
        (np.savez_compressed if compress else np.savez)(file, **fields)


def unzipped(file: Any) -> zipfile.ZipFile:
    """A zip file, unless the list of its entries is long: each is an object before anything can be asked of them."""
    end = zipfile._EndRecData(file)  # type: ignore[attr-defined]
    if end and end[5] > _LISTED:
        listed = f"the list of its entries takes {end[5] / 1e6:.3g} MB"
        raise zipfile.BadZipFile(f"{listed}, more than {_LISTED / 1e6:.2g}; write fewer entries")
    return zipfile.ZipFile(file)


def unpacked_size(file: Any) -> int:
    """Bytes of what a zip file declares to hold; of a larger entry no more is ever read."""
    return sum(part.file_size for part in unzipped(file).infolist())


def check_work(stored: Stored, kept: str = "") -> None:
    """Refuse arrays whose checked copies, in double precision or as text, need more memory than there is.

    The field that is `kept` is not copied if it holds such numbers.
    """
    needed = 0.0
    for name, array in stored.items():
        if array.dtype.kind in "SU":
            needed += 10.0 * array.nbytes + 150.0 * array.size
        elif name != kept or array.dtype not in (np.float32, np.float64):
            needed += 16.0 * array.size
    require("reading it", needed, "write a smaller one")


def field(stored: Stored, name: str, *shape: int | None) -> npt.NDArray[Any]:
    """Field of a given shape, in which None stands for any length."""
    actual = stored[name].shape
    same = (want in (None, n) for want, n in zip(shape, actual, strict=False))
    if len(actual) != len(shape) or not all(same):
        wanted = ", ".join("any" if want is None else str(want) for want in shape)
        raise ParameterError(f"{name} has shape {actual}; it must have shape ({wanted})")
    return stored[name]


def graph_fields(adjacency: Any) -> Stored:
    """Fields of an adjacency matrix; weights where they are not all 1."""
    fields = {"indptr": adjacency.indptr, "indices": adjacency.indices}
    return fields if np.all(adjacency.data == 1.0) else fields | {"weights": adjacency.data}


def stored_csr(stored: Stored, data: str, shape: tuple[int, int], prefix: str = "") -> Any:
    """CSR matrix of stored arrays, which may be anything; its indices are yet to be checked."""
    names = (f"{prefix}indices", f"{prefix}indptr")
    try:
        indices, indptr = (stored[name].astype(np.int64, casting="same_kind") for name in names)
        entries = stored.get(data, np.ones(indices.shape)).astype(np.float64, casting="same_kind")
        return sparse.csr_array((entries, indices, indptr), shape=shape)
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(f"{' and '.join(names)} are not a sparse matrix: {error}") from None


def _unreadable(path: Location, kind: str, reason: object) -> ParameterError:
    """Error for a file that is not what it should be; what NumPy says of executing what it holds is not passed on."""
    plain = str(reason) and not re.search("pickle|malformed node|not a zip", str(reason))
    why = reason if plain else "it is not an .npz file of plain arrays"
    return ParameterError(f"path = {os.fspath(path)!r} cannot be read as {kind}: {why}")


def check_path(path: Any, name: str = "path", other: str = "") -> None:
    """Raise `ParameterError` unless `path` may name a file; what else it might be is said."""
    named = False
    with contextlib.suppress(Exception):  # of a path of the user's own
        named = isinstance(os.fspath(path), str) and b"\0" not in os.fsencode(path)
    if not named:
        raise ParameterError(f"{name} = {shown(path)} is not allowed; it must name a file{other}")
