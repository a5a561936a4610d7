"""Graphs in tables: a list of edges, and a table of nodes."""

from __future__ import annotations

import csv
import math
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._runtime.memory import require
from gcnlimit._validation import as_real, plain_array, whole
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError, writing
from gcnlimit.graphs.check import as_adjacency, counted, dense, is_symmetric
from gcnlimit.graphs.columns import classes_of, features_of, is_number, listed, numbers_of, option
from gcnlimit.graphs.dataset import Dataset, Location
from gcnlimit.graphs.labels import check_words
from gcnlimit.graphs.table_files import ENDS, WEIGHT, How, Table, read_table, short

LABEL = ("label", "class", "y")
NAMES = ("id", "node", "node_id")
EDGES = ("id", "edge_id", "edgeid", "eid")  # which name the edges
NUMBERS = (*EDGES, "no", "no.", "nr", "nr.")  # which do so in the first column


def from_edges(
    edges: npt.ArrayLike, nodes: int | None = None, weights: npt.ArrayLike | None = None
) -> Any:
    """Adjacency matrix of a list of edges between nodes 0, 1, ..., one row (or column) for each.

    By default there are as many `nodes` as the edges name, and all `weights` are 1; a plain edge given twice counts once.

    >>> from_edges([[0, 1], [1, 2], [2, 0]]).toarray()
    array([[0., 1., 0.],
           [0., 0., 1.],
           [1., 0., 0.]])
    """
    array = given = plain_array("edges", edges)
    if array.ndim == 2 and array.shape[0] == 2 != array.shape[1]:
        array = array.T
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu" or not array.size:
        told = f"shape {given.shape} and dtype {array.dtype}"
        use = "give weights as weights=, and nodes with names to gcnlimit.real.read"
        raise ParameterError(f"edges have {told}; they must be pairs of whole numbers ({use})")
    count = int(array.max()) + 1 if nodes is None else whole("nodes", nodes, low=1, high=10**15)
    if array.min() < 0 or array.max() >= count:
        named = array.min() if array.min() < 0 else array.max()
        raise ParameterError(f"edges name the node {named}; nodes are numbered 0 to {count - 1}")
    require(f"a graph of {count:.3g} nodes", 8.0 * count, "number the nodes from 0 without gaps")
    data = None if weights is None else np.asarray(as_real("weights", weights))
    if data is not None and data.shape != (len(array),):
        raise ParameterError(f"weights have shape {data.shape}; they must be {len(array)} numbers")
    return as_adjacency(_matrix(array, count, data))


def _matrix(pairs: npt.NDArray[Any], nodes: int, weights: Any) -> Any:
    """Weights of an edge listed twice are added; without weights it is one edge."""
    data = np.ones(len(pairs)) if weights is None else weights
    matrix = sparse.coo_array((data, (pairs[:, 0], pairs[:, 1])), shape=(nodes, nodes)).tocsr()
    if weights is None:
        matrix.data[:] = 1.0
    return matrix


def read_tables(edges: Any, nodes: Any, how: How) -> Dataset:
    """Data set of a list of edges and a table of nodes; see `gcnlimit.real.read`."""
    notes: list[str] = []
    if nodes is None and (how.label is not None or how.id is not None):
        both = f"{option('label', 'COLUMN')} and {option('id', 'COLUMN')} name columns"
        raise ParameterError(f"{both} of a table of nodes; give {option('nodes', 'FILE')}")
    table = Table({}) if nodes is None else read_table(nodes, "nodes", how, notes)
    keys = [] if nodes is None else _keys(table, how, notes)
    naming = {name for key in keys for name in table.words(key)}
    links = read_table(edges, "edges", how, notes, naming)
    heads = [{name.lower() for name in each.columns} for each in (table, links)]
    if all(heads[0].intersection(usual) for usual in ENDS) and heads[1].intersection(LABEL):
        both = f"{links.shown} has a column of classes, and {table.shown} those of edges"
        raise ParameterError(f"{both}; swap the two files")
    present = dict.fromkeys([*table.columns, *links.columns])
    for parameter, named in (("drop", how.drop), ("words", how.words)):
        if absent := named.difference(present):
            there = f"there are {listed(present)}"
            raise ParameterError(f"{option(parameter, min(absent))} names no column; {there}")
    source, target, weights = _edges(links, how.drop, naming, notes)
    ends = {*source, *target}
    in_table, label, columns = _nodes(table, keys, ends, how, notes) if keys else ([], [], {})

    # nodes of the table first, in its order, then those that only edges name
    strange = ends.difference(in_table)
    # whole numbers in their order, before other names
    order = sorted(strange, key=lambda name: (len(name) if name.isdecimal() else math.inf, name))
    names = [*in_table, *order]
    check_words("names", names, len(names))
    place = {name: k for k, name in enumerate(names)}
    pairs = np.array([[*map(place.__getitem__, each)] for each in (source, target)]).T
    graph = _graph(pairs, len(names), weights, how.undirected, notes)
    rest: list[Any] = [None] * len(strange)
    if in_table and rest:
        lacking = f"lacks {counted(len(rest), 'node')} of the edges, such as {min(strange)!r}"
        notes.append(f"The table of nodes {lacking}; labels and features are missing there.")
        lower = {name.lower(): name for name in in_table}
        if alike := sorted(name for name in strange if name.lower() in lower):
            pair = f"{alike[0]!r} and {lower[alike[0].lower()]!r}"
            notes.append(f"Names that differ only in capital letters are different nodes: {pair}.")
    if alone := sorted({*in_table} - ends):
        without = f"{counted(len(alone), 'node')} of the table, such as {alone[0]!r}"
        notes.append(f"{without}, {'has' if len(alone) == 1 else 'have'} no edge.")
    if in_table and not label:
        notes.append(f"No column holds the classes: {table.shown} has {listed(table.columns)}.")
    y: list[Any] = [None] * len(names)
    for name in label:
        y = classes_of([*table.columns[name], *rest], notes, name in how.words)
    complete = {name: [*table.columns[name], *rest] for name in columns}
    X = features_of(complete, notes, how.words, table.comma)
    return Dataset(graph, X, np.array(y, object), names=np.array(names), notes=tuple(notes))


def _keys(table: Table, how: How, notes: list[str]) -> list[str]:
    """Columns that may name the nodes: the one that is given, or the first, those called id, and those that count the rows."""
    columns = table.columns
    for parameter, column in (("id", how.id), ("label", how.label)):
        if column is not None and column not in columns:
            read = [note.removesuffix(".") for note in notes]
            having = "; ".join([f"{table.shown}, which has {listed(columns)}", *read])
            raise ParameterError(f"{option(parameter, column)} names no column of {having}")
    if how.id is not None:
        return [how.id]
    usable = [k for k in columns if k not in {how.label, *how.drop}] or [*columns]
    numbers = [k for k in table.counters() if k in usable]
    called = [k for k in usable if k.lower() in NAMES]
    return [*dict.fromkeys([*usable[len(numbers) :][:1], *called, *reversed(numbers)])]


def _nodes(
    table: Table, keys: list[str], ends: set[str], how: How, notes: list[str]
) -> tuple[list[str], list[str], list[str]]:
    """Names of the nodes, the column of their classes, if there is one, and those of features."""
    cells = {key: {*table.words(key)} for key in keys}
    key = max(keys, key=lambda key: (len(ends & cells[key]), len(cells[key])))
    names = table.names(key)
    different = cells[key]
    strange = ends - different
    if key in strange:
        begins = f"{table.shown} begins with the node {key!r}"
        raise ParameterError(f"{begins}; add a first row that names the columns")
    if len(different) < len(names) or 2 * len(strange) > len(ends):
        # the column that knows most of the nodes, if this one is not meant
        shared = {k: len(ends.intersection(table.words(k))) for k in table.columns if k != key}
        best = max(shared, key=lambda k: shared[k], default=key)
        suits = 2 * shared.get(best, 0) >= len(ends)
        column = f"name another column by {option('id', best if suits else 'COLUMN')}"
        name, times = Counter(names).most_common(1)[0]
        if times > 1:
            twice = f"{table.shown} names the node {name!r} {times} times"
            raise ParameterError(f"{twice}; give each one row, or {column}")
        few = f"{len(ends) - len(strange)} of the {len(ends)} nodes of the edges"
        such = f"its nodes look like {names[0]!r}, theirs like {min(strange)!r}"
        remedy = f"write both alike, {column}, or add rows for the others"
        raise ParameterError(f"{table.shown} names {few}: {such}; {remedy}")
    rest = _without_counter(table, how.drop | {key, how.label}, notes)
    label = [how.label] if how.label else [k for u in LABEL for k in rest if k.lower() == u]
    if len(label) > 1:
        both = " and ".join(map(repr, label))
        choose = f"choose one by {option('label', label[0])}"
        leave = f"leave out others that are not features by {option('drop', label[1])}"
        raise ParameterError(f"{table.shown} has the columns {both}; {choose} and {leave}")
    return names, label, [k for k in rest if k not in label]


def _without_counter(table: Table, drop: frozenset[str | None], notes: list[str]) -> list[str]:
    """Columns without those to drop, and without a first one that counts the rows."""
    counters = table.counters()
    if {*counters} - drop:
        notes.append(f"Left out the numbers of the rows in the first column of {table.shown}.")
    return [name for name in table.columns if name not in {*drop, *counters}]


def _edges(
    table: Table, drop: frozenset[str], naming: set[str], notes: list[str]
) -> tuple[list[str], list[str], Array | None]:
    """Names of both ends of each edge, and its weight, or None for plain edges."""
    columns = _without_counter(table, drop, notes)
    columns = [name for k, name in enumerate(columns) if k < 2 or any(table.words(name))]
    called = {how(name): name for how in (short, str.lower) for name in reversed(columns)}
    ends = [called[usual] for each in ENDS for usual in each if usual in called]
    weight = [called[usual] for usual in WEIGHT if usual in called][:1]
    named = {k: np.mean([cell in naming for cell in table.words(k)[:4096]]) for k in columns}
    others = [name for name in columns if name not in weight]
    numbers = [k for k in others if k.lower() in (NUMBERS if k == others[0] else EDGES)]
    plain = [k for k in others if not others[2:] or k not in numbers]
    nodes = [k for k in plain if named[k] > 0.5 or (weight and len(plain) == 2)]
    strange = all(named[k] for k in nodes) and not all(named[k] for k in ends)
    if len(ends) != 2 or (len(nodes) == 2 and strange):
        ends = nodes  # wherever they are
    if len(ends) == 2:
        columns = [*ends, *weight, *(k for k in others if k not in ends)]
        more = [k for k in columns[2:] if k in numbers or k.lower().endswith("_id")]
        if extra := columns[3:] if weight else more:
            left = f"{counted(len(extra), 'column')} of {table.shown}: {listed(extra)}"
            notes.append(f"Left out {left} (an edge has two ends and a weight).")
            columns = [k for k in columns if k not in extra]
    odd = min(reversed(columns), key=lambda k: named[k], default="")
    if len(columns) not in (2, 3):
        has = f"{table.shown} has {counted(len(columns), 'column')}, {listed(columns)}"
        keep = "keep two (source, target) or three (plus a weight), and leave others out"
        keep = f"{keep} by {option('drop', odd)}" if columns[1:] else "separate two by commas"
        square = len(columns) > 3 and abs(len(columns) - len(table.words(columns[0]))) <= 1
        if square and all(is_number(cell) for k in columns[1:] for cell in table.words(k)):
            keep = "as many as rows, like an adjacency matrix: write one edge in each row"
        raise ParameterError(f"{has}; {keep}")
    source, target = map(table.names, columns[:2])
    if len(columns) == 2:
        return source, target, None
    cells = table.words(columns[2])
    value, how = numbers_of({*cells}, table.comma)
    if value is None or how == "lists":
        alone = (cell for cell in cells if numbers_of({cell}, table.comma)[0] is None)
        told = f"column {columns[2]!r} of {table.shown} contains {next(alone, cells[0])!r}"
        needed = "the third column must hold weights, which are numbers: correct it, or leave out"
        raise ParameterError(f"{told}; {needed} the extra column by {option('drop', odd)}")
    weights = np.array([value[cell] for cell in cells])
    if np.ptp(weights):
        reach = f"{weights.min():.10g} to {weights.max():.10g}"
        told = f"Column {columns[2]!r} holds the weights of the edges, {reach}; if it does not"
        notes.append(f"{told}, leave the column out by {option('drop', columns[2])}.")
    return source, target, weights


def _graph(pairs: Any, nodes: int, weights: Any, undirected: bool, notes: list[str]) -> Any:
    """Adjacency matrix without self-loops; what was joined or dropped is noted."""
    kept = pairs[:, 0] != pairs[:, 1]
    once = _matrix(pairs[kept], nodes, None if weights is None else weights[kept])
    matrix = once.maximum(once.T).tocsr() if undirected else once
    both = once.astype(bool).multiply(once.T.astype(bool)).nnz // 2
    if duplicates := int(kept.sum()) - once.nnz + both * (undirected and weights is None):
        repeated = counted(duplicates, "duplicate edge")
        notes.append(f"{'Ignored' if weights is None else 'Added the weights of'} {repeated}.")
    if undirected and weights is not None and both and not is_symmetric(once):
        notes.append(f"Took the larger weight of {counted(both, 'pair')} in both directions.")
    matrix.eliminate_zeros()
    if weights is not None and (none := int(np.sum(weights[kept] == 0.0))):
        notes.append(f"Dropped {counted(none, 'edge')} of weight 0.")
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
