"""Graphs in tables: a list of edges, and a table of nodes; files, or data frames of pandas."""

from __future__ import annotations

import csv
import gzip
import os
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._runtime.memory import require
from gcnlimit._validation import plain_array, real, whole
from gcnlimit.errors import ParameterError, writing
from gcnlimit.graphs.check import as_adjacency, counted, dense, is_symmetric
from gcnlimit.graphs.columns import classes_of, features_of, is_number, option, text
from gcnlimit.graphs.dataset import Dataset, Location

LABEL = ("label", "class", "y")
ENDS = ("source", "src", "from", "node1", "u")
NAMES = ("id", "node", "node_id", "name")
Columns = dict[str, list[Any]]


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


def _matrix(pairs: npt.NDArray[Any], nodes: int, weights: Any) -> Any:
    """Weights of an edge listed twice are added; without weights it is one edge."""
    data = np.ones(len(pairs)) if weights is None else weights
    matrix = sparse.coo_array((data, (pairs[:, 0], pairs[:, 1])), shape=(nodes, nodes)).tocsr()
    if weights is None:
        matrix.data[:] = 1.0
    return matrix


def read_tables(
    edges: Any, nodes: Any, *, label: str | None, key: str | None, drop: str | Sequence[str], undirected: bool
) -> Dataset:
    """Data set of a list of edges and a table of nodes; see `gcnlimit.real.read`."""
    left_out = {drop} if isinstance(drop, str) else {*drop}
    table = {} if nodes is None else _table(nodes, "nodes", lambda rows: True)
    if not table and (label is not None or key is not None):
        raise ParameterError("label and id name columns of the table of nodes; give that table as nodes")
    known, classes, features = _nodes(table, _shown(nodes, "nodes"), label, key, left_out) if table else ([], [], {})
    given = _table(edges, "edges", lambda rows: _headed(rows, known))
    if absent := left_out - {*table, *given}:
        raise ParameterError(f"drop = {absent.pop()!r} is not a column; there are {', '.join([*table, *given])}")
    columns = {name: cells for name, cells in given.items() if name not in left_out}
    source, target, weights = _edges(columns, _shown(edges, "edges"))
    ends = {*source, *target}
    if table and not ends & {*known}:
        raise ParameterError(
            f"{_shown(nodes, 'nodes')} names no node of the edges: its nodes are such as {known[0]!r}, theirs such as "
            f"{source[0]!r}; write both alike, or name another column by id"
        )
    names = [*known, *sorted(ends - {*known}, key=_natural)]
    place = {name: k for k, name in enumerate(names)}
    pairs = np.array([[place[a], place[b]] for a, b in zip(source, target, strict=True)])
    graph, notes = _graph(pairs, len(names), weights, undirected)
    rest: list[Any] = [None] * (len(names) - len(known) if table else 0)
    if rest:
        lacking = f"The table of nodes lacks {counted(len(rest), 'node')} of the edges"
        notes.append(f"{lacking}; their labels and features are missing.")
    y, unlabelled = classes_of([*classes, *rest]) if classes else ([None] * len(names), [])
    if table and not classes:
        notes.append(f"No column holds the classes: {_shown(nodes, 'nodes')} has {', '.join(table)}.")
    X, encoded = features_of({name: [*cells, *rest] for name, cells in features.items()})
    return Dataset(graph, X, np.array(y, object), names=np.array(names), notes=(*notes, *unlabelled, *encoded))


def _nodes(
    table: Columns, shown: str, label: str | None, key: str | None, drop: set[str]
) -> tuple[list[str], list[Any], Columns]:
    """Names of the nodes, cells of the column of their classes, empty if there is none, and other columns by name."""
    for parameter, column in (("id", key), ("label", label)):
        if column is not None and column not in table:
            raise ParameterError(f"{parameter} = {column!r} is not a column of {shown}, which has {', '.join(table)}")
    key = next(iter(table)) if key is None else key
    names = [text(cell) for cell in table[key]]
    _check_named(names, shown, key)
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise ParameterError(f"{shown} names the node {name!r} {times} times; each must have one row")
    found = [name for name in table if name.lower() in LABEL and name not in {key, *drop}] if label is None else [label]
    if len(found) > 1:
        raise ParameterError(
            f"{shown} has the columns {' and '.join(map(repr, found))}; choose one by {option('label', found[0])}, "
            f"and drop the other by {option('drop', found[1])} unless it is a feature"
        )
    features = {name: cells for name, cells in table.items() if name not in {key, *found, *drop}}
    return names, table[found[0]] if found else [], features


def _edges(columns: Columns, shown: str) -> tuple[list[str], list[str], Any]:
    """Names of both ends of each edge, and weights if there are."""
    if len(columns) not in (2, 3):
        raise ParameterError(
            f"{shown} has {len(columns)} columns; keep two (source, target) or three (plus a numeric weight), "
            f"and drop the others, such as {option('drop', [*columns][-1])}: {', '.join(columns)}"
        )
    first, second, *third = columns
    source, target = ([text(cell) for cell in columns[name]] for name in (first, second))
    for name, ends in ((first, source), (second, target)):
        _check_named(ends, shown, name)
    if not third:
        return source, target, None
    if wrong := [cell for cell in columns[third[0]] if not is_number(cell)]:
        raise ParameterError(
            f"column {third[0]!r} of {shown} contains {text(wrong[0])!r}; the third column of a list of edges is their "
            f"weight, a number; leave the column out by {option('drop', third[0])}"
        )
    return source, target, np.array(columns[third[0]], float)


def _check_named(names: list[str], shown: str, column: str) -> None:
    if "" in names:
        raise ParameterError(f"{shown} names no node in row {names.index('') + 1} of its column {column!r}")


def _graph(pairs: npt.NDArray[Any], nodes: int, weights: Any, undirected: bool) -> tuple[Any, list[str]]:
    """Adjacency matrix without self-loops, and sentences on what was joined or dropped."""
    kept = pairs[:, 0] != pairs[:, 1]
    listed = _matrix(pairs[kept], nodes, None if weights is None else weights[kept])
    matrix = listed.maximum(listed.T).tocsr() if undirected else listed
    loops = int((~kept).sum())
    duplicates = int(kept.sum()) - listed.nnz
    both = listed.astype(bool).multiply(listed.T.astype(bool)).nnz // 2
    if undirected and weights is None:
        duplicates += both
    notes = []
    if duplicates:
        repeated = counted(duplicates, "duplicate edge")
        notes.append(f"Ignored {repeated}." if weights is None else f"Added the weights of {repeated}.")
    if loops:
        notes.append(f"Dropped {counted(loops, 'self-loop')}.")
    if not is_symmetric(matrix):
        mutual = f" ({counted(both, 'pair')} of nodes in both directions)" if both else ""
        notes.append(
            f"The graph is read as directed{mutual}; to ignore the directions, use {option('undirected', True)}."
        )
    return matrix, notes


def write_tables(data: Dataset, edges: Location, nodes: Location) -> None:
    """Write a data set as a list of edges and a table of nodes, both CSV."""
    names = [str(k) for k in range(data.nodes)] if data.names is None else data.names.tolist()
    coo = data.graph.tocoo()
    rows = ([names[i], names[j], repr(float(w))] for i, j, w in zip(coo.row, coo.col, coo.data, strict=True))
    X = np.zeros((data.nodes, 0)) if data.X is None else dense(data.X)
    label = ["" if c in ("", -1) else str(c) for c in data.y.tolist()]
    body = ([name, c, *map(repr, row)] for name, c, row in zip(names, label, X.tolist(), strict=True))
    head = ["node", "label", *(f"x{k}" for k in range(X.shape[1]))]
    for path, table in ((edges, [["source", "target", "weight"], *rows]), (nodes, [head, *body])):
        with writing(path), open(path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(table)


def _shown(source: Any, kind: str) -> str:
    return repr(os.fspath(source)) if isinstance(source, str | os.PathLike) else f"the table of {kind}"


def _table(source: Any, kind: str, headed: Any) -> Columns:
    """Columns by name, of a data frame or a file; `headed` says whether rows begin with the names of the columns."""
    if hasattr(source, "columns"):
        frame = source.reset_index() if _index_counts(source, kind) else source
        return {str(name): frame[name].tolist() for name in frame.columns}
    shown = _shown(source, kind)
    try:
        with (gzip.open if Path(source).suffix.lower() == ".gz" else open)(source, "rt", encoding="utf-8-sig") as file:
            return _without_counter(_csv(file, shown, headed), kind)
    except UnicodeDecodeError:
        raise ParameterError(f"{shown} is not UTF-8 text; save it as CSV in UTF-8") from None
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        raise ParameterError(f"{shown} cannot be read as a table: {error}") from None


def _index_counts(frame: Any, kind: str) -> bool:
    """Whether the index of a data frame is a column, and not the whole numbers that filtering or sorting leave behind."""
    index = frame.index
    first = frame.iloc[:, 0]
    if any(name is not None for name in index.names) or index.dtype.kind not in "iu":
        return True
    names_rows = first.is_unique and first.dtype.kind != "f"
    return type(index).__name__ != "RangeIndex" and kind == "nodes" and not names_rows


def _without_counter(table: Columns, kind: str) -> Columns:
    """The table without the numbers of its rows, which pandas writes first, under no name, unless told otherwise."""
    (first, cells), *others = table.items()
    if first not in ("", "Unnamed: 0") or cells != [str(k) for k in range(len(cells))]:
        return table
    names_others = any(name.lower() in NAMES for name, _ in others)
    return dict(others) if (len(others) > 1 if kind == "edges" else names_others) else table


def _csv(file: Any, shown: str, headed: Any) -> Columns:
    lines = [line.rstrip("\n") for line in file if line.strip() and not line.startswith(("#", "%"))]
    if not lines:
        raise ParameterError(f"{shown} is empty; it must have a row for each edge or node")
    mark = max((",", "\t", ";", " "), key=lambda m: lines[0].count(m) if m != " " else 0.5)
    lines = [line.strip() for line in lines] if mark == " " else lines
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=mark, skipinitialspace=True)]
    if mark == ";":  # where a comma is the decimal point
        rows = [[re.sub(r"^([+-]?\d+),(\d+(?:[eE][+-]?\d+)?)$", r"\1.\2", cell) for cell in row] for row in rows]
    rows = [row for row in rows if any(row)]
    width = len(rows[0])
    if bad := next((k for k, row in enumerate(rows) if len(row) != width), None):
        raise ParameterError(f"{shown} has {len(rows[bad])} cells in row {bad + 1} and {width} in the first")
    head = rows.pop(0) if headed(rows) else [str(k + 1) for k in range(width)]
    if twice := [name for name, times in Counter(head).items() if times > 1]:
        raise ParameterError(f"{shown} has two columns called {twice[0]!r}; each column needs its own name")
    if not rows:
        raise ParameterError(
            f"{shown} has the names of its columns and no rows; it must have one for each edge or node"
        )
    return dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))


def _headed(rows: list[list[str]], names: list[str]) -> bool:
    """Whether a list of edges begins with the names of its columns: usual ones, or words where other rows are not such."""
    first = rows[0]
    ends = {cell for row in rows[1:] for cell in row[:2]}
    usual = not first[0] or any(cell.lower() in ENDS for cell in first[:2])
    if usual or len(first) < 2 or not ends:
        return usual
    if not any(map(is_number, first)) and (all(map(is_number, ends)) or (len(first) > 2 and is_number(rows[1][2]))):
        return True
    return bool(names) and not {*first[:2]} & ({*names} | ends)


def _natural(name: str) -> tuple[int, int, str]:
    """Whole numbers in their order, before other names."""
    return (0, int(name), "") if re.fullmatch("[0-9]{1,99}", name) else (1, 0, name)
