"""Graphs in tables: a list of edges, and a table of nodes; files, or data frames of pandas."""

from __future__ import annotations

import csv
import gzip
import importlib
import os
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._runtime.memory import require
from gcnlimit._validation import plain_array, real, whole
from gcnlimit.errors import GCNLimitError, ParameterError, writing
from gcnlimit.graphs.check import as_adjacency, counted, dense, is_symmetric
from gcnlimit.graphs.columns import classes_of, features_of, is_number, text
from gcnlimit.graphs.dataset import Dataset
from gcnlimit.graphs.npz import Location

LABEL = ("label", "class", "y")
ENDS = ("source", "src", "from", "node1", "u")
Columns = dict[str, list[Any]]
Indices = npt.NDArray[np.int64]


def from_edges(edges: npt.ArrayLike, nodes: int | None = None, weights: npt.ArrayLike | None = None) -> Any:
    """Adjacency matrix of a list of edges between nodes 0, 1, ..., one row (or column) for each.

    >>> from_edges([[0, 1], [1, 2], [2, 0]]).toarray()
    array([[0., 1., 0.],
           [0., 0., 1.],
           [1., 0., 0.]])
    """
    array = plain_array("edges", edges)
    if array.ndim == 2 and array.shape[0] == 2 != array.shape[1]:
        array = array.T
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu" or not array.size:
        raise ParameterError(
            f"edges have shape {array.shape} and dtype {array.dtype}; they must be pairs of whole numbers"
        )
    count = int(array.max()) + 1 if nodes is None else whole("nodes", nodes, low=1)
    if array.min() < 0 or array.max() >= count:
        named = array.min() if array.min() < 0 else array.max()
        raise ParameterError(f"edges name the node {named}; nodes are numbered from 0 to {count - 1}")
    require(f"a graph of {count:.3g} nodes", 8.0 * count, "number the nodes from 0 without gaps")
    data = None if weights is None else np.asarray(real("weights", weights))
    if data is not None and data.shape != (len(array),):
        raise ParameterError(f"weights have shape {data.shape}; there must be one for each of the {len(array)} edges")
    return as_adjacency(_matrix(array, count, data))


def _matrix(pairs: Indices, nodes: int, weights: Any) -> Any:
    """Weights of an edge listed twice are added; without weights it is one edge."""
    data = np.ones(len(pairs)) if weights is None else weights
    matrix = sparse.coo_array((data, (pairs[:, 0], pairs[:, 1])), shape=(nodes, nodes)).tocsr()
    if weights is None:
        matrix.data[:] = 1.0
    return matrix


def read_tables(
    edges: Any,
    nodes: Any = None,
    *,
    label: str | None = None,
    id: str | None = None,  # noqa: A002
    drop: str | Sequence[str] = (),
    undirected: bool = False,
) -> Dataset:
    """Data set of a list of edges and a table of nodes; see `gcnlimit.real.read`."""
    left_out = (drop,) if isinstance(drop, str) else tuple(drop)
    table = {} if nodes is None else _table(nodes, "nodes", lambda rows: True)
    known = _NodeTable.of(table, _shown(nodes, "nodes"), label, id, left_out)
    given = _table(edges, "edges", lambda rows: _headed(rows, known.names))
    if absent := [name for name in left_out if name not in table and name not in given]:
        raise ParameterError(f"drop = {absent[0]!r} is not a column; there are {', '.join([*table, *given])}")
    source, target, weights = _edges(given, _shown(edges, "edges"), left_out)
    names, pairs = _placed(known.names, source, target)
    graph, notes = _graph(pairs, len(names), weights, undirected)
    if others := len(names) - len(known.names) if table else 0:
        lacking = f"The table of nodes lacks {counted(others, 'node')} of the edges"
        notes.append(f"{lacking}; label and features are missing.")
    rest = [None] * others
    y, unlabelled = classes_of([*known.label, *rest]) if known.label else ([None] * len(names), [])
    X, encoded = features_of({name: [*cells, *rest] for name, cells in known.features.items()})
    return Dataset(graph, X, np.array(y, object), names=names, notes=(*notes, *unlabelled, *encoded))


def _placed(known: list[str], source: list[str], target: list[str]) -> tuple[npt.NDArray[Any], Indices]:
    """Names of all nodes, those of the table first, and the places of both ends of each edge among them."""
    listed = {*source, *target}
    names = [*known, *sorted(listed - {*known}, key=_natural)]
    place = {name: k for k, name in enumerate(names)}
    return np.array(names), np.array([[place[a], place[b]] for a, b in zip(source, target, strict=True)])


class _NodeTable(NamedTuple):
    """Names of the nodes, cells of the column of their classes, empty if there is none, and other columns by name."""

    names: list[str]
    label: list[Any]
    features: Columns

    @classmethod
    def of(cls, table: Columns, shown: str, label: str | None, key: str | None, drop: tuple[str, ...]) -> _NodeTable:
        """Parts of the columns of a table."""
        if not table:
            if label is not None or key is not None:
                raise ParameterError("label and id name columns of a table of nodes; give one by nodes")
            return cls([], [], {})
        key = next(iter(table)) if key is None else _column("id", key, table, shown)
        names = [text(cell) for cell in table[key]]
        name, times = Counter(names).most_common(1)[0]
        if times > 1:
            raise ParameterError(f"{shown} names the node {name!r} {times} times; each must have one row")
        chosen = _label_column(table, shown, label, {key, *drop})
        features = {name: cells for name, cells in table.items() if name not in {key, chosen, *drop}}
        return cls(names, table[chosen] if chosen is not None else [], features)


def _label_column(table: Columns, shown: str, label: str | None, others: set[str]) -> str | None:
    if label is not None:
        return _column("label", label, table, shown)
    found = [name for name in table if name.lower() in LABEL and name not in others]
    if len(found) > 1:
        raise ParameterError(
            f"{shown} has the columns {' and '.join(map(repr, found))}; say which holds the classes, such as label={found[0]!r}, "
            "and name the other in drop if it is no feature"
        )
    return found[0] if found else None


def _column(parameter: str, name: str, table: Columns, shown: str) -> str:
    if name not in table:
        raise ParameterError(f"{parameter} = {name!r} is not a column of {shown}, which has {', '.join(table)}")
    return name


def _edges(table: Columns, shown: str, drop: tuple[str, ...]) -> tuple[list[str], list[str], Any]:
    """Names of both ends of each edge, and weights if there are."""
    columns = {name: cells for name, cells in table.items() if name not in drop}
    if len(columns) not in (2, 3):
        raise ParameterError(
            f"{shown} has {len(columns)} columns; keep two (source, target) or three (plus a numeric weight), "
            f"and name the others in drop: {', '.join(columns)}"
        )
    (first, a), (second, b), *third = columns.items()
    source, target = ([text(cell) for cell in cells] for cells in (a, b))
    for name, ends in ((first, source), (second, target)):
        if "" in ends:
            raise ParameterError(f"{shown} names no node in row {ends.index('') + 1} of its column {name!r}")
    for name, cells in third:
        if wrong := [cell for cell in cells if not is_number(cell)]:
            raise ParameterError(
                f"column {name!r} of {shown} contains {text(wrong[0])!r}; the third column of a list of edges is their "
                "weight, a number: name the column in drop to leave it out"
            )
    return source, target, np.array([float(cell) for cell in third[0][1]]) if third else None


def _graph(pairs: Indices, nodes: int, weights: Any, undirected: bool) -> tuple[Any, list[str]]:
    """Adjacency matrix without self-loops, and sentences on what was joined or dropped."""
    kept = pairs[:, 0] != pairs[:, 1]
    matrix = listed = _matrix(pairs[kept], nodes, None if weights is None else weights[kept])
    if undirected:
        matrix = listed.maximum(listed.T).tocsr()
    loops, duplicates = int((~kept).sum()), int(kept.sum()) - listed.nnz
    both = listed.astype(bool).multiply(listed.T.astype(bool)).nnz // 2
    if undirected and weights is None:
        duplicates += both
    notes = []
    if duplicates:
        done = "Counted once" if weights is None else "Added the weights of"
        notes.append(f"{done} {counted(duplicates, 'duplicate edge')}.")
    if loops:
        notes.append(f"Dropped {counted(loops, 'self-loop')}.")
    if not is_symmetric(matrix):
        mutual = f", {counted(both, 'pair')} of nodes in both directions" if both else ""
        notes.append(f"Edges are read as directed{mutual}; the option undirected ignores their direction.")
    return matrix, notes


def write_tables(data: Dataset, edges: Location, nodes: Location) -> None:
    """Write a data set as a list of edges and a table of nodes, both CSV."""
    names = [str(k) for k in range(data.nodes)] if data.names is None else data.names.tolist()
    coo = data.graph.tocoo()
    rows = ([names[i], names[j], repr(float(w))] for i, j, w in zip(coo.row, coo.col, coo.data, strict=True))
    _write(edges, ["source", "target", "weight"], rows)
    X = np.zeros((data.nodes, 0)) if data.X is None else dense(data.X)
    label = ["" if c in ("", -1) else str(c) for c in data.y.tolist()]
    body = ([name, c, *map(repr, row)] for name, c, row in zip(names, label, X.tolist(), strict=True))
    _write(nodes, ["node", "label", *(f"x{k}" for k in range(X.shape[1]))], body)


def _write(path: Location, head: list[str], rows: Any) -> None:
    with writing(path), open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])


def _shown(source: Any, kind: str) -> str:
    return repr(os.fspath(source)) if isinstance(source, str | os.PathLike) else f"the table of {kind}"


def _table(source: Any, kind: str, headed: Any) -> Columns:
    """Columns by name, of a data frame or a file; `headed` says whether rows begin with the names of the columns."""
    if hasattr(source, "columns"):
        frame = source if type(source.index).__name__ == "RangeIndex" else source.reset_index()
        return {str(name): frame[name].tolist() for name in frame.columns}
    try:
        if Path(source).suffix.lower() in (".parquet", ".pq"):
            return _parquet(source)
        opener = gzip.open if Path(source).suffix.lower() == ".gz" else open
        with opener(source, "rt", encoding="utf-8-sig") as file:
            return _csv(file, _shown(source, kind), headed)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise ParameterError(f"{_shown(source, kind)} cannot be read as a table: {error}") from None


def _csv(file: Any, shown: str, headed: Any) -> Columns:
    lines = [line.rstrip("\n") for line in file if line.strip() and not line.startswith(("#", "%"))]
    if not lines:
        raise ParameterError(f"{shown} is empty; it must have a row for each edge or node")
    mark = next((m for m in (",", "\t", ";") if m in lines[0]), " ")
    lines = [line.strip() for line in lines] if mark == " " else lines
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=mark, skipinitialspace=True)]
    width = len(rows[0])
    if bad := next((k for k, row in enumerate(rows) if len(row) != width), None):
        raise ParameterError(f"{shown} has {len(rows[bad])} cells in row {bad + 1} and {width} in the first")
    head = rows.pop(0) if headed(rows) else [str(k + 1) for k in range(width)]
    if len(set(head)) != width or not rows:
        raise ParameterError(f"{shown} has no rows, or two columns of one name; each column needs its own")
    return dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))


def _headed(rows: list[list[str]], names: list[str]) -> bool:
    """Whether a list of edges begins with the names of its columns: usual ones, or words where other rows are not such."""
    first, ends = rows[0], {cell for row in rows[1:] for cell in row[:2]}
    if first[0].lower() in ENDS or len(first) < 2 or not ends:
        return first[0].lower() in ENDS
    if not any(map(is_number, first)) and (all(map(is_number, ends)) or (len(first) > 2 and is_number(rows[1][2]))):
        return True
    return bool(names) and not {*first[:2]} & ({*names} | ends)


def _parquet(path: Location) -> Columns:
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ModuleNotFoundError:
        raise GCNLimitError("a Parquet file needs pyarrow; install it with: pip install pyarrow") from None
    try:
        columns: Columns = parquet.read_table(path).to_pydict()
    except Exception as error:  # pyarrow has its own
        raise ParameterError(f"{os.fspath(path)!r} cannot be read as Parquet: {error}") from None
    return columns


def _natural(name: str) -> tuple[int, int, str]:
    """Whole numbers in their order, before other names."""
    return (0, int(name), "") if re.fullmatch("[0-9]{1,99}", name) else (1, 0, name)
