"""Graphs in tables: a list of edges, and a table of nodes."""

from __future__ import annotations

import csv
import importlib
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._runtime.memory import require
from gcnlimit._validation import plain_array, real, whole
from gcnlimit.errors import GCNLimitError, ParameterError, writing
from gcnlimit.graphs.check import as_adjacency, dense
from gcnlimit.graphs.dataset import Dataset

LABEL = ("label", "class", "y")
Columns = dict[str, list[Any]]
Location = str | os.PathLike[str]


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
    data = np.ones(len(array)) if weights is None else np.asarray(real("weights", weights))
    if data.shape != (len(array),):
        raise ParameterError(f"weights have shape {data.shape}; there must be one for each of the {len(array)} edges")
    matrix = sparse.coo_array((data, (array[:, 0], array[:, 1])), shape=(count, count)).tocsr()
    if weights is None:
        matrix.data[:] = 1.0  # an edge listed twice is one edge
    return as_adjacency(matrix)


def read_tables(edges: Location, nodes: Location | None = None) -> Dataset:
    """Data set of a list of edges and a table of nodes, each CSV (comma or tab) or Parquet.

    Edges: columns source and target, and a weight if there is a third, with or without names. Nodes: the first column
    names the node; one called label, class or y holds the class, empty where unknown; the others are features.
    """
    listed = list(_table(edges, header=False).values())
    if len(listed) not in (2, 3):
        raise ParameterError(
            f"edges = {os.fspath(edges)!r} has {len(listed)} columns; it must have a source and a target"
        )
    source, target = ([str(v) for v in column] for column in listed[:2])
    weights = np.array(_numbers("weight", listed[2])) if len(listed) == 3 else None
    table = None if nodes is None else _table(nodes, header=True)
    names = sorted({*source, *target}, key=_natural) if table is None else [str(v) for v in next(iter(table.values()))]
    place = {name: k for k, name in enumerate(names)}
    if len(place) != len(names):
        raise ParameterError(f"nodes = {os.fspath(nodes or '')!r} names a node twice; each must have one row")
    for name in (*source, *target):
        if name not in place:
            raise ParameterError(f"edges name the node {name!r}, which the table of nodes does not have")
    pairs = np.array([[place[a], place[b]] for a, b in zip(source, target, strict=True)])
    graph = from_edges(pairs, len(names), weights)
    y, X = ([None] * len(names), None) if table is None else _content(table)
    return Dataset(graph, X, np.array(y, object), names=np.array(names))


def write_tables(data: Dataset, edges: Location, nodes: Location) -> None:
    """Write a data set as a list of edges and a table of nodes, both CSV."""
    names = [str(k) for k in range(data.nodes)] if data.names is None else data.names.tolist()
    coo = data.graph.tocoo()
    with writing(edges), open(edges, "w", newline="", encoding="utf-8") as file:
        rows = ([names[i], names[j], repr(float(w))] for i, j, w in zip(coo.row, coo.col, coo.data, strict=True))
        csv.writer(file).writerows([["source", "target", "weight"], *rows])
    X = np.zeros((data.nodes, 0)) if data.X is None else dense(data.X)
    label = ["" if c in ("", -1) else str(c) for c in data.y.tolist()]
    with writing(nodes), open(nodes, "w", newline="", encoding="utf-8") as file:
        head = ["node", "label", *(f"x{k}" for k in range(X.shape[1]))]
        body = ([name, c, *map(repr, row)] for name, c, row in zip(names, label, X.tolist(), strict=True))
        csv.writer(file).writerows([head, *body])


def _table(path: Location, header: bool) -> Columns:
    """Columns by name; those of a list of edges need no names."""
    suffix = Path(path).suffix.lower()
    try:
        return _parquet(path) if suffix in (".parquet", ".pq") else _csv(path, header)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ParameterError(f"{os.fspath(path)!r} cannot be read as a table: {error}") from None


def _csv(path: Location, header: bool) -> Columns:
    with open(path, encoding="utf-8-sig") as file:
        lines = [line.rstrip("\n") for line in file if line.strip() and not line.startswith(("#", "%"))]
    if not lines:
        raise ParameterError(f"{os.fspath(path)!r} is empty; it must have a row for each edge or node")
    mark = next((m for m in (",", "\t", ";") if m in lines[0]), " ")
    lines = [line.strip() for line in lines] if mark == " " else lines
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=mark, skipinitialspace=True)]
    width = len(rows[0])
    if bad := next((k for k, row in enumerate(rows) if len(row) != width), None):
        raise ParameterError(
            f"{os.fspath(path)!r} has {len(rows[bad])} cells in row {bad + 1} and {width} in the first"
        )
    named = header or rows[0][0].lower() in ("source", "src", "from", "node1", "u")
    head = rows.pop(0) if named else [str(k) for k in range(width)]
    if len(set(head)) != width or not rows:
        raise ParameterError(f"{os.fspath(path)!r} has no rows, or two columns of one name; each column needs its own")
    return dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))


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


def _content(table: Columns) -> tuple[list[Any], Any]:
    """Classes and features of a table of nodes."""
    named = list(table)[1:]
    chosen = next((name for name in named if name.lower() in LABEL), None)
    y = [None] * len(table[next(iter(table))]) if chosen is None else _classes(table[chosen])
    features = [_numbers(name, table[name]) for name in named if name != chosen]
    return y, np.array(features, float).T if features else None


def _classes(column: list[Any]) -> list[Any]:
    """Whole numbers or strings; None where a cell is empty or nan."""
    texts = [None if value is None or str(value).lower() in ("", "nan") else str(value) for value in column]
    whole = all(text is None or re.fullmatch(r"-?[0-9]{1,15}", text) for text in texts)
    return [text if text is None or not whole else int(text) for text in texts]


def _numbers(name: str, column: list[Any]) -> list[float]:
    wrong = [value for value in column if not _is_number(value)]
    if not wrong:
        return [float(value) for value in column]
    words = [value for value in wrong if value not in (None, "")]
    if words:
        raise ParameterError(
            f"column {name!r} contains {words[0]!r}; features and weights must be numbers: call the column label if it holds "
            "the classes, write a category as a column of 0 and 1 for each value, fill in what is missing"
        )
    raise ParameterError(
        f"column {name!r} is empty in {len(wrong)} of {len(column)} rows, first in row {column.index(wrong[0]) + 1}; fill them "
        "in, for instance with the mean of the column, or leave the column out"
    )


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _natural(name: str) -> tuple[int, int, str]:
    """Whole numbers in their order, before other names."""
    return (0, int(name), "") if re.fullmatch("[0-9]{1,99}", name) else (1, 0, name)
