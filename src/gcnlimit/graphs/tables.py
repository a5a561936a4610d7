"""Graphs in tables: a list of edges, and a table of nodes; files, or data frames of pandas."""

from __future__ import annotations

import csv
import gzip
import os
import re
import zlib
from collections import Counter
from itertools import dropwhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._runtime.memory import require
from gcnlimit._validation import as_real, plain_array, whole
from gcnlimit.errors import ParameterError, writing
from gcnlimit.graphs.check import as_adjacency, counted, dense, is_symmetric
from gcnlimit.graphs.columns import classes_of, features_of, is_number, option, text
from gcnlimit.graphs.dataset import Dataset, Location

LABEL = ("label", "class", "y")
ENDS = ("source", "src", "from", "node1", "u")
NAMES = ("id", "node", "node_id", "name")
Columns = dict[str, list[Any]]
_DECIMAL_COMMA = re.compile(r"^([+-]?\d+),(\d+(?:[eE][+-]?\d+)?)$")


def from_edges(
    edges: npt.ArrayLike, nodes: int | None = None, weights: npt.ArrayLike | None = None
) -> Any:
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
        given = f"shape {array.shape} and dtype {array.dtype}"
        raise ParameterError(f"edges have {given}; they must be pairs of whole numbers")
    count = int(array.max()) + 1 if nodes is None else whole("nodes", nodes, low=1)
    if array.min() < 0 or array.max() >= count:
        named = array.min() if array.min() < 0 else array.max()
        raise ParameterError(f"edges name the node {named}; nodes are numbered 0 to {count - 1}")
    require(f"a graph of {count:.3g} nodes", 8.0 * count, "number the nodes from 0 without gaps")
    data = None if weights is None else np.asarray(as_real("weights", weights))
    if data is not None and data.shape != (len(array),):
        needed = f"there must be one for each of the {len(array)} edges"
        raise ParameterError(f"weights have shape {data.shape}; {needed}")
    return as_adjacency(_matrix(array, count, data))


def _matrix(pairs: npt.NDArray[Any], nodes: int, weights: Any) -> Any:
    """Weights of an edge listed twice are added; without weights it is one edge."""
    data = np.ones(len(pairs)) if weights is None else weights
    matrix = sparse.coo_array((data, (pairs[:, 0], pairs[:, 1])), shape=(nodes, nodes)).tocsr()
    if weights is None:
        matrix.data[:] = 1.0
    return matrix


class Table(NamedTuple):
    """Columns of a table by name, and what sentences call it."""

    columns: Columns
    shown: str


def read_tables(
    edges: Any, nodes: Any, *, label: str | None, key: str | None, drop: set[str], undirected: bool
) -> Dataset:
    """Data set of a list of edges and a table of nodes; see `gcnlimit.real.read`."""
    table = None if nodes is None else _table(nodes, "nodes")
    if table is None and (label is not None or key is not None):
        raise ParameterError("label and id name columns of the table of nodes; give nodes=... too")
    known, classes, features = _nodes(table, label, key, drop) if table else ([], [], {})
    listed = _table(edges, "edges", known)
    present = [*(table.columns if table else ()), *listed.columns]
    if absent := drop.difference(present):
        columns = ", ".join(present)
        raise ParameterError(f"drop = {absent.pop()!r} is not a column; there are {columns}")
    source, target, weights = _edges(listed, drop)

    # nodes of the table first, in its order, then those that only edges name
    ends = {*source, *target}
    if table and not ends & {*known}:
        such = f"its nodes are such as {known[0]!r}, theirs such as {source[0]!r}"
        remedy = "write both alike, or name another column by id"
        raise ParameterError(f"{table.shown} names no node of the edges: {such}; {remedy}")
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
        notes.append(f"No column holds the classes: {table.shown} has {', '.join(table.columns)}.")
    X, encoded = features_of({name: [*cells, *rest] for name, cells in features.items()})
    notes += [*unlabelled, *encoded]
    return Dataset(graph, X, np.array(y, object), names=np.array(names), notes=tuple(notes))


def _nodes(
    table: Table, label: str | None, key: str | None, drop: set[str]
) -> tuple[list[str], list[Any], Columns]:
    """Names of the nodes, cells of the column of their classes, empty if there is none, and other columns by name."""
    columns, shown = table
    for parameter, column in (("id", key), ("label", label)):
        if column is not None and column not in columns:
            having = f"{shown}, which has {', '.join(columns)}"
            raise ParameterError(f"{parameter} = {column!r} is not a column of {having}")
    key = next(iter(columns)) if key is None else key
    names = _names(table, key)
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise ParameterError(f"{shown} names the node {name!r} {times} times; give each one row")
    others = [name for name in columns if name not in {key, *drop}]
    found = [name for name in others if name.lower() in LABEL] if label is None else [label]
    if len(found) > 1:
        both = " and ".join(map(repr, found))
        how = f"choose one by {option('label', found[0])}"
        rest = "leave the others out by drop unless they are features"
        raise ParameterError(f"{shown} has the columns {both}; {how} and {rest}")
    features = {name: columns[name] for name in others if name not in found}
    return names, columns[found[0]] if found else [], features


def _edges(table: Table, drop: set[str]) -> tuple[list[str], list[str], Any]:
    """Names of both ends of each edge, and weights if there are."""
    columns = [name for name in table.columns if name not in drop]
    if len(columns) not in (2, 3):
        has = f"{table.shown} has {counted(len(columns), 'column')}"
        keep = "keep two (source, target) or three (plus a weight) and leave the others out by drop"
        raise ParameterError(f"{has}; {keep}: {', '.join(columns)}")
    source, target = (_names(table, name) for name in columns[:2])
    if len(columns) == 2:
        return source, target, None
    cells = table.columns[columns[2]]
    if wrong := [cell for cell in cells if not is_number(cell)]:
        given = f"column {columns[2]!r} of {table.shown} contains {text(wrong[0])!r}"
        leave = f"leave the column out by {option('drop', columns[2])}"
        raise ParameterError(f"{given}; the third column is the weight, a number: {leave}")
    return source, target, np.array(cells, float)


def _names(table: Table, column: str) -> list[str]:
    """Names of nodes in a column, none of them empty."""
    names = [text(cell) for cell in table.columns[column]]
    if "" in names:
        row = f"row {names.index('') + 1} of its column {column!r}"
        raise ParameterError(f"{table.shown} names no node in {row}; fill it in or leave it out")
    return names


def _graph(pairs: Any, nodes: int, weights: Any, undirected: bool) -> tuple[Any, list[str]]:
    """Adjacency matrix without self-loops, and sentences on what was joined or dropped."""
    kept = pairs[:, 0] != pairs[:, 1]
    listed = _matrix(pairs[kept], nodes, None if weights is None else weights[kept])
    matrix = listed.maximum(listed.T).tocsr() if undirected else listed
    duplicates = int(kept.sum()) - listed.nnz
    both = listed.astype(bool).multiply(listed.T.astype(bool)).nnz // 2
    if undirected and weights is None:
        duplicates += both
    notes = []
    if duplicates:
        repeated = counted(duplicates, "duplicate edge")
        notes.append(f"{'Ignored' if weights is None else 'Added the weights of'} {repeated}.")
    if not kept.all():
        notes.append(f"Dropped {counted(int(np.sum(~kept)), 'self-loop')}.")
    if not is_symmetric(matrix):
        mutual = f" ({counted(both, 'pair')} of nodes in both directions)" if both else ""
        how = f"to ignore the directions, use {option('undirected', True)}"
        notes.append(f"The graph is read as directed{mutual}; {how}.")
    return matrix, notes


def write_tables(data: Dataset, edges: Location, nodes: Location) -> None:
    """Write a data set as a list of edges and a table of nodes, both CSV."""
    names = [str(k) for k in range(data.nodes)] if data.names is None else data.names.tolist()
    coo = data.graph.tocoo()
    entries = zip(coo.row, coo.col, coo.data.tolist(), strict=True)
    weighted = [[names[i], names[j], weight] for i, j, weight in entries]
    X = np.zeros((data.nodes, 0)) if data.X is None else dense(data.X)
    label = ["" if c == -1 else c for c in data.y.tolist()]
    body = [[name, c, *x] for name, c, x in zip(names, label, X.tolist(), strict=True)]
    head = ["node", "label", *(f"x{k}" for k in range(X.shape[1]))]
    tables = ((edges, [["source", "target", "weight"], *weighted]), (nodes, [head, *body]))
    for path, rows in tables:
        with writing(path) as new, open(new, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)


def _table(source: Any, kind: str, known: list[str] | None = None) -> Table:
    """Table of a data frame or a file: one of nodes has a head, a list of edges may have, that is none of the nodes `known`."""
    if hasattr(source, "columns"):
        frame = source.reset_index() if _index_counts(source, kind) else source
        columns = {str(name): frame[name].tolist() for name in frame.columns}
        return Table(columns, f"the table of {kind}")
    shown = repr(os.fspath(source))
    opened = gzip.open if Path(source).suffix.lower() == ".gz" else open
    try:
        with opened(source, "rt", encoding="utf-8-sig") as file:
            return Table(_without_counter(_csv(file, shown, known), kind), shown)
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


def _csv(file: Any, shown: str, known: list[str] | None) -> Columns:
    # comments stand at the head: below it, # may begin the name of a node
    below = dropwhile(lambda line: line.startswith(("#", "%")) or not line.strip(), file)
    lines = [line.rstrip("\n") for line in below if line.strip()]
    first = lines[0] if lines else ""
    mark = max((",", "\t", ";", " "), key=lambda m: first.count(m) if m != " " else 0.5)
    lines = [line.strip() for line in lines] if mark == " " else lines
    read = csv.reader(lines, delimiter=mark, skipinitialspace=True)
    rows = [[cell.strip() for cell in row] for row in read]
    if mark == ";":  # a comma may be the decimal point
        rows = [[_DECIMAL_COMMA.sub(r"\1.\2", cell) for cell in row] for row in rows]
    rows = [row for row in rows if any(row)]
    if not rows:
        raise ParameterError(f"{shown} is empty; it must have a row for each edge or node")
    width = len(rows[0])
    if bad := next((k for k, row in enumerate(rows) if len(row) != width), None):
        cells = f"{len(rows[bad])} cells in row {bad + 1} and {width} in the first"
        raise ParameterError(f"{shown} has {cells}; quote a cell that holds {mark!r}")
    headed = known is None or _headed(rows, known)
    head = rows.pop(0) if headed else [str(k + 1) for k in range(width)]
    if twice := [name for name, times in Counter(head).items() if times > 1]:
        raise ParameterError(f"{shown} has two columns called {twice[0]!r}; rename one of them")
    if not rows:
        raise ParameterError(f"{shown} has no rows below the names; give one for each edge or node")
    return dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))


def _headed(rows: list[list[str]], names: list[str]) -> bool:
    """Whether a list of edges begins with the names of its columns: usual ones, or words where other rows are not such."""
    first = rows[0]
    ends = {cell for row in rows[1:] for cell in row[:2]}
    usual = not first[0] or any(cell.lower() in ENDS for cell in first[:2])
    if usual or len(first) < 2 or not ends:
        return usual
    numbers_below = all(map(is_number, ends)) or (len(first) > 2 and is_number(rows[1][2]))
    if numbers_below and not any(map(is_number, first)):
        return True
    return bool(names) and not {*first[:2]} & ({*names} | ends)


def _natural(name: str) -> tuple[int, int, str]:
    """Whole numbers in their order, before other names."""
    return (0, int(name), "") if re.fullmatch("[0-9]{1,99}", name) else (1, 0, name)
