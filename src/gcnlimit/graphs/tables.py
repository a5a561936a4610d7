"""Graphs in tables: a list of edges, and a table of nodes; files, or data frames of pandas."""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import re
import zipfile
import zlib
from collections import Counter
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._runtime.memory import available, require
from gcnlimit._validation import as_real, plain_array, whole
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError, writing
from gcnlimit.graphs.check import as_adjacency, counted, dense, is_symmetric
from gcnlimit.graphs.columns import (
    classes_of,
    features_of,
    is_number,
    listed,
    numbers_of,
    option,
    text,
)
from gcnlimit.graphs.dataset import Dataset, Location, unpacked_size

LABEL = ("label", "class", "y")
ENDS = ("source", "src", "from", "node1", "u")
Columns = dict[str, list[Any]]
SPREADSHEETS = (".xlsx",)
_MEMORY = 40.0  # bytes for each byte of a table that is read
_ROWS = 4096  # of a text that are split into cells at once
_COMMENT = re.compile(r"[#%]|\s*$|sep=.\s*$", re.IGNORECASE)


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
    count = int(array.max()) + 1 if nodes is None else whole("nodes", nodes, low=1, high=10**15)
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
    """Columns of a table by name, what sentences call it, and whether a comma is its decimal point."""

    columns: Columns
    shown: str = ""
    comma: bool = False

    def words(self, name: str) -> list[str]:
        """Cells of a column as text."""
        return [text(cell) for cell in self.columns[name]]

    def counts_rows(self, name: str) -> bool:
        """Whether a column has no name and counts the rows, as pandas writes them, from 0, and R, from 1."""
        if name != "Unnamed: 0":
            return False
        cells = self.words(name)
        first = int(cells[0] == "1")
        return cells == [str(k) for k in range(first, first + len(cells))]

    def names(self, column: str) -> list[str]:
        """Names of nodes in a column, none of them empty."""
        names = self.words(column)
        if "" in names:
            row = f"row {names.index('') + 1} of its column {column!r}"
            raise ParameterError(f"{self.shown} names no node in {row}; fill it in or leave it out")
        return names


class How(NamedTuple):
    """How tables are read; see `gcnlimit.real.read`."""

    label: str | None = None
    id: str | None = None
    drop: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    undirected: bool = False
    encoding: str | None = None


def read_tables(edges: Any, nodes: Any, how: How) -> Dataset:
    """Data set of a list of edges and a table of nodes; see `gcnlimit.real.read`."""
    notes: list[str] = []
    if nodes is None and (how.label is not None or how.id is not None):
        both = f"{option('label', 'COLUMN')} and {option('id', 'COLUMN')} name columns"
        raise ParameterError(f"{both} of a table of nodes; give {option('nodes', 'FILE')}")
    table = Table({}) if nodes is None else _table(nodes, "nodes", how, notes)
    keys = [] if nodes is None else _keys(table, how)
    naming = {name for key in keys for name in table.words(key)}
    links = _table(edges, "edges", how, notes, naming)
    present = [*table.columns, *links.columns]
    for parameter, named in (("drop", how.drop), ("words", how.words)):
        if absent := named.difference(present):
            there = f"there are {listed(present)}"
            raise ParameterError(f"{option(parameter, min(absent))} names no column; {there}")
    source, target, weights = _edges(links, how.drop, notes)
    ends = {*source, *target}
    known, label, columns = _nodes(table, keys, ends, how, notes) if keys else ([], [], {})

    # nodes of the table first, in its order, then those that only edges name
    strange = ends.difference(known)
    if known and 2 * len(strange) > len(ends):
        few = f"{len(ends) - len(strange)} of the {len(ends)} nodes of the edges"
        such = f"its nodes are such as {known[0]!r}, theirs such as {min(strange)!r}"
        shared = {key: len(ends.intersection(table.words(key))) for key in table.columns}
        best = max(shared, key=lambda key: shared[key])
        column = f"name another column by {option('id', best if shared[best] else 'COLUMN')}"
        remedy = f"write both alike, {column}, or add rows for the others"
        raise ParameterError(f"{table.shown} names {few}: {such}; {remedy}")
    # whole numbers in their order, before other names
    digits = {name: len(name) if name.isdecimal() else math.inf for name in strange}
    names = [*known, *sorted(strange, key=lambda name: (digits[name], name))]
    place = {name: k for k, name in enumerate(names)}
    pairs = np.array([[place[name] for name in each] for each in (source, target)]).T
    graph = _graph(pairs, len(names), weights, how.undirected, notes)
    rest: list[Any] = [None] * len(strange)
    if known and rest:
        lacking = f"The table of nodes lacks {counted(len(rest), 'node')} of the edges"
        notes.append(f"{lacking}; their labels and features are missing.")
    if known and not label:
        notes.append(f"No column holds the classes: {table.shown} has {listed(table.columns)}.")
    y: list[Any] = [None] * len(names)
    for name in label:
        y = classes_of([*table.columns[name], *rest], notes, name in how.words)
    complete = {name: [*table.columns[name], *rest] for name in columns}
    X = features_of(complete, notes, how.words, table.comma)
    return Dataset(graph, X, np.array(y, object), names=np.array(names), notes=tuple(notes))


def _keys(table: Table, how: How) -> list[str]:
    """Columns that may name the nodes: the one that is given, or the first; where that counts the rows, the next one too."""
    columns = table.columns
    for parameter, column in (("id", how.id), ("label", how.label)):
        if column is not None and column not in columns:
            having = f"{table.shown}, which has {listed(columns)}"
            raise ParameterError(f"{option(parameter, column)} names no column of {having}")
    if how.id is not None:
        return [how.id]
    usable = [k for k in columns if k not in {how.label, *how.drop}] or [*columns]
    two = table.counts_rows(usable[0]) and len(usable) > 1
    two = two and len({*table.words(usable[1])}) == len(columns[usable[0]])
    return usable[: 2 if two else 1]


def _nodes(
    table: Table, keys: list[str], ends: set[str], how: How, notes: list[str]
) -> tuple[list[str], list[str], list[str]]:
    """Names of the nodes, the column of their classes, if there is one, and those of features."""
    key = max(keys, key=lambda key: len(ends.intersection(table.words(key))))
    names = table.names(key)
    if key in ends.difference(names):
        begins = f"{table.shown} begins with the node {key!r}"
        raise ParameterError(f"{begins}; add a first row that names the columns")
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        twice = f"{table.shown} names the node {name!r} {times} times"
        raise ParameterError(f"{twice}; give each one row")
    rest = _without_counter(table, how.drop | {key, how.label}, notes)
    label = [k for k in rest if k.lower() in LABEL] if how.label is None else [how.label]
    if len(label) > 1:
        both = " and ".join(map(repr, label))
        choose = f"choose one by {option('label', label[0])}"
        leave = f"leave out others that are not features by {option('drop', label[1])}"
        raise ParameterError(f"{table.shown} has the columns {both}; {choose} and {leave}")
    return names, label, [k for k in rest if k not in label]


def _without_counter(table: Table, drop: frozenset[str | None], notes: list[str]) -> list[str]:
    """Columns but those to drop, and but a first one that counts the rows."""
    first, *others = table.columns
    kept = [name for name in others if name not in drop]
    if first in drop:
        return kept
    if not table.counts_rows(first):
        return [first, *kept]
    told = f"Left out the numbers of the rows in the first column of {table.shown}"
    notes.append(f"{told}, which has no name.")
    return kept


def _edges(
    table: Table, drop: frozenset[str], notes: list[str]
) -> tuple[list[str], list[str], Array | None]:
    """Names of both ends of each edge, and weights if there are."""
    columns = _without_counter(table, drop, notes)
    if len(columns) not in (2, 3):
        has = f"{table.shown} has {counted(len(columns), 'column')}, {listed(columns)}"
        keep = "keep two (source, target) or three (plus a weight), and leave others out"
        raise ParameterError(f"{has}; {keep} by {option('drop', columns[-1])}")
    source, target = map(table.names, columns[:2])
    if len(columns) == 2:
        return source, target, None
    cells = table.words(columns[2])
    value, _ = numbers_of({*cells}, table.comma)
    leave = f"leave the column out by {option('drop', columns[2])}"
    if value is None:
        alone = (cell for cell in cells if numbers_of({cell}, table.comma)[0] is None)
        given = f"column {columns[2]!r} of {table.shown} contains {next(alone, cells[0])!r}"
        needed = "the third column is the weight, a number: correct it"
        raise ParameterError(f"{given}; {needed}, or {leave}")
    weights = np.array([value[cell] for cell in cells])
    if np.ptp(weights):
        reach = f"{weights.min():.10g} to {weights.max():.10g}"
        told = f"Column {columns[2]!r} holds the weights of the edges, {reach}"
        notes.append(f"{told}; if it does not, {leave}.")
    return source, target, weights


def _graph(pairs: Any, nodes: int, weights: Any, undirected: bool, notes: list[str]) -> Any:
    """Adjacency matrix without self-loops; what was joined or dropped is noted."""
    kept = pairs[:, 0] != pairs[:, 1]
    once = _matrix(pairs[kept], nodes, None if weights is None else weights[kept])
    matrix = once.maximum(once.T).tocsr() if undirected else once
    duplicates = int(kept.sum()) - once.nnz
    both = once.astype(bool).multiply(once.T.astype(bool)).nnz // 2
    if undirected and weights is None:
        duplicates += both
    if duplicates:
        repeated = counted(duplicates, "duplicate edge")
        notes.append(f"{'Ignored' if weights is None else 'Added the weights of'} {repeated}.")
    if not kept.all():
        notes.append(f"Dropped {counted(int(np.sum(~kept)), 'self-loop')}.")
    if not is_symmetric(matrix):
        mutual = f" ({counted(both, 'pair')} of nodes in both directions)" if both else ""
        how = f"to ignore the directions, use {option('undirected', True)}"
        notes.append(f"The graph is read as directed{mutual}; {how}.")
    return matrix


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


def _table(
    source: Any, kind: str, how: How, notes: list[str], naming: set[str] | None = None
) -> Table:
    """Table of a data frame or a file: one of nodes has a head, a list of edges may have, that is none of the nodes `naming`."""
    if hasattr(source, "columns"):
        frame = source.reset_index() if _index_counts(source, kind) else source
        columns = {str(name) or "Unnamed: 0": frame[name].tolist() for name in frame.columns}
        return Table(columns, f"the table of {kind}")
    shown = repr(os.fspath(source))
    mark = ""
    try:
        raw = _content(source, shown)
        if Path(source).suffix.lower() in SPREADSHEETS:
            cells = _spreadsheet(raw, shown, notes)
        else:
            cells, mark = _cells(_text(raw, shown, how.encoding, notes), shown)
    except (OSError, EOFError, zlib.error, csv.Error, zipfile.BadZipFile) as error:
        raise ParameterError(f"{shown} cannot be read as a table: {error}") from None
    return Table(_named(cells, shown, naming), shown, mark == ";")


def _content(path: Location, shown: str) -> bytes:
    """Bytes of a file, unpacked if it is compressed; no more is unpacked than a table may have."""
    most = available() / _MEMORY
    raw = bytearray()
    opened = gzip.open if Path(path).suffix.lower() == ".gz" else open
    with opened(path, "rb") as file:
        while part := file.read(1 << 20):
            raw += part
            if len(raw) > most:
                bound = f"more than {most / 1e6:.3g} MB, for which there is not enough memory"
                remedy = "take a smaller one, or set GCNLIMIT_MEMORY"
                raise ParameterError(f"{shown} holds {bound}; {remedy}")
    return bytes(raw)


def _text(raw: bytes, shown: str, given: str | None, notes: list[str]) -> str:
    """Text of a file in the encoding given, else in Unicode, else, as is noted, in that of Windows."""
    marked = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
    for code in [given] if given else ["utf-16" if marked else "utf-8-sig", "cp1252"]:
        try:
            written = raw.decode(code)
        except UnicodeError:
            continue
        except LookupError:
            known = "write it as Python does, such as utf-8, cp1252 or shift_jis"
            raise ParameterError(f"encoding = {given!r} is not known; {known}") from None
        if "\0" in written:  # another encoding, or no text at all
            continue
        if code == "cp1252" != given:
            told = f"{shown} is not UTF-8 and was read as cp1252, the encoding of Windows"
            notes.append(f"{told}; for another use {option('encoding', 'NAME')}.")
        return written
    tried = given or "UTF-8 or cp1252"
    raise ParameterError(f"{shown} is not text in {tried}; use {option('encoding', 'NAME')}")


def _spreadsheet(raw: bytes, shown: str, notes: list[str]) -> list[list[str]]:
    """Columns of the first sheet as text, as pandas reads it."""
    require(shown, _MEMORY * unpacked_size(io.BytesIO(raw)), "save it as CSV")
    try:
        import pandas

        how = {"header": None, "dtype": str, "keep_default_na": False}
        sheets = pandas.read_excel(io.BytesIO(raw), sheet_name=None, **how)
    except ImportError:
        both = "needs pandas and openpyxl: pip install pandas openpyxl"
        raise ParameterError(f"{shown} {both}; or save it as CSV") from None
    except Exception as error:  # of any type, where the reader meets a damaged file
        raise ParameterError(f"{shown} cannot be read as a spreadsheet: {error}") from None
    (name, sheet), *others = sheets.items()
    if others:
        notes.append(f"Read the sheet {name!r} of {shown}, not {listed(map(repr, dict(others)))}.")
    filled = sheet[(sheet != "").any(axis=1)]
    return [filled[k].tolist() for k in filled]


def _index_counts(frame: Any, kind: str) -> bool:
    """Whether the index of a data frame is a column, and not the whole numbers that filtering or sorting leave behind."""
    index = frame.index
    first = frame.iloc[:, 0]
    if any(name is not None for name in index.names) or index.dtype.kind not in "iu":
        return True
    names_rows = first.is_unique and first.dtype.kind != "f"
    return type(index).__name__ != "RangeIndex" and kind == "nodes" and not names_rows


def _cells(written: str, shown: str) -> tuple[list[list[str]], str]:
    """Columns of a text, and the mark between its cells."""
    # comments stand at the head: below it, # may begin the name of a node
    below = dropwhile(_COMMENT.match, io.StringIO(written, newline=None))
    top = next(below, "")
    bare = re.sub('"[^"]*"', "", top)
    mark = max(",\t;| ", key=lambda mark: bare.count(mark) if mark != " " else 0.5)
    lines = chain([top], below)
    spaced = (line.strip() for line in lines) if mark == " " else lines
    reader = csv.reader(spaced, delimiter=mark, skipinitialspace=True)
    columns: list[list[str]] = []
    while some := list(islice(reader, _ROWS)):
        rows = [row for row in some if any(map(str.strip, row))]
        columns = columns or [[] for row in rows[:1] for _ in row]
        for row in rows:
            if len(row) != len(columns):
                begins = f"{shown}: its row that begins with {row[0][:40]!r}"
                both = f"has {counted(len(row), 'cell')} where the first has {len(columns)}"
                quote = f"complete it, or quote a cell that holds {mark!r}"
                raise ParameterError(f"{begins} {both}; {quote}")
        for column, cells in zip(columns, zip(*rows, strict=True), strict=False):
            column.extend(map(str.strip, cells))
    return columns, mark


def _named(columns: list[list[str]], shown: str, naming: set[str] | None) -> Columns:
    """Columns by the names at their head, by 1, 2, ... without one; empty ones are left out."""
    columns = [column for k, column in enumerate(columns) if k < 2 or any(column)]
    if not columns:
        raise ParameterError(f"{shown} is empty; it must have a row for each edge or node")
    head = [str(k + 1) for k in range(len(columns))]
    if naming is None or _headed(columns, naming):
        head = [column.pop(0).strip() or f"Unnamed: {k}" for k, column in enumerate(columns)]
    if twice := [name for name, times in Counter(head).items() if times > 1]:
        raise ParameterError(f"{shown} has two columns called {twice[0]!r}; rename one of them")
    if not columns[0]:
        raise ParameterError(f"{shown} has no rows below the names; give one for each edge or node")
    return dict(zip(head, columns, strict=True))


def _headed(columns: list[list[str]], names: set[str]) -> bool:
    """Whether a list of edges begins with the names of its columns: usual ones, or words where other rows are not such."""
    first = [column[0] for column in columns]
    ends = {cell for column in columns[:2] for cell in column[1:]}
    usual = not first[0] or any(cell.lower() in ENDS for cell in first[:2])
    if usual or len(first) < 2 or not ends:
        return usual
    numbers_below = all(map(is_number, ends)) or (len(first) > 2 and is_number(columns[2][1]))
    if numbers_below and not any(map(is_number, first)):
        return True
    return bool(names) and not {*first[:2]} & (names | ends)
