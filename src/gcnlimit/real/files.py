"""Read and write a graph, by the name of its file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import check_types, flag, holds
from gcnlimit._values import shown
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.columns import option
from gcnlimit.graphs.dataset import Dataset, Location, check_path, from_stored, reading, save
from gcnlimit.graphs.labels import labelled_nodes
from gcnlimit.graphs.table_files import SPREADSHEETS, How
from gcnlimit.graphs.tables import read_tables, write_tables
from gcnlimit.simulation.data.instance import Instance

TABLES = (".csv", ".tsv", ".txt")


@progress_bar("reading")
def read(
    path: Any,
    nodes: Any = None,
    *,
    label: str | None = None,
    id: str | None = None,  # noqa: A002
    drop: str | Sequence[str] = (),
    words: str | Sequence[str] = (),
    undirected: bool = False,
    encoding: str | None = None,
) -> Dataset:
    """Data set from a file or from tables; its `notes` say what was dropped, joined or filled in.

    Parameters
    ----------
    path
        ``.npz`` file, written by `write` or `Instance.save`; or a list of edges: a file (``.csv``, ``.tsv``, ``.txt``,
        ``.csv.gz``, ``.csv.zip``; ``.xlsx`` by openpyxl) or a data frame. Its columns are source, target, and perhaps a weight.
    nodes
        Table of nodes, a file or a data frame: numbers and words are features, missing ones filled in, nodes of edges added.
    label, id
        Columns of the classes and of the names of the nodes; by default the one called label, class or y, and the first or one
        called id. A class that is empty, -, ?, NA, N/A, #N/A, None, null, nan, unknown or -1 is unknown.
    drop
        Columns of either table to leave out.
    words
        Columns whose cells are words even if they look like numbers, dates or marks of a missing value: NA is a country there.
    undirected
        Whether an edge counts in both directions, however it is listed.
    encoding
        Encoding of the files, by default UTF-8, or that of Windows (cp1252) where they are not UTF-8.
    """
    for name, value in (("path", path), ("nodes", nodes)):
        if not (holds(hasattr, value, "columns") or (name == "nodes" and value is None)):
            check_path(value, name, " or be a data frame (gcnlimit.real.from_... take others)")
    for name, value in (("label", label), ("id", id), ("encoding", encoding)):
        if not (value is None or isinstance(value, str)):
            raise ParameterError(f"{name} = {shown(value)} is not allowed; it must be a word")
    how = How(label, id, _named(drop), _named(words), flag("undirected", undirected), encoding)
    if holds(hasattr, path, "columns") or _suffix(path) in TABLES + SPREADSHEETS:
        return read_tables(path, nodes, how)
    if _suffix(path) != ".npz":
        use = "use .npz, .csv, .tsv, .txt or .xlsx; or give what pandas or NetworkX read from it"
        raise ParameterError(f"path = {os.fspath(path)!r} is not a known kind of file; {use}")
    options = {**how._asdict(), "nodes": nodes is not None and "FILE", "encoding": None}
    for name, value in ((name, value) for name, value in options.items() if value):
        used = option(name, value if isinstance(value, str | bool) else min(value))
        raise ParameterError(f"{used} is for a list of edges; an .npz file has its own")
    with reading(path, "a graph") as stored:
        if "model" not in stored:
            return from_stored(stored)
    return Instance.load(path).to_dataset()


def _named(columns: str | Sequence[str]) -> frozenset[str]:
    """Names of columns; one without a name is called as pandas does."""
    names = [columns] if isinstance(columns, str) else columns
    if not isinstance(names, list | tuple | set | frozenset):
        told = "drop and words must be the name of a column, or a list of names"
        raise ParameterError(f"{told}, got {shown(columns)}")
    return frozenset(str(name) or "Unnamed: 0" for name in names)


def _suffix(path: Location) -> str:
    """Last suffix of a file, without that of its compression."""
    return Path(Path(path).name.lower().removesuffix(".gz").removesuffix(".zip")).suffix


def read_labelled(file: str, nodes: str | None = None, **how: Any) -> Dataset:
    """Data set that `read` returns; refused if no node has a label, with a sentence on where to give labels."""
    data = read(file, nodes, **how)
    if labelled_nodes(data.y).any():
        return data
    if nodes is None:
        by = option("nodes", "FILE")
        raise ParameterError(f"{file!r} has no labels; give them in a table of nodes, by {by}")
    # which columns there are is in a note
    listed = " ".join(note for note in data.notes if note.startswith("No column")).rstrip(".")
    column = f"name the column of the classes by {option('label', 'COLUMN')}"
    raise ParameterError(f"{listed or f'{nodes!r} labels no node'}; {column}")


def write(data: Dataset, path: Location, nodes: Location | None = None) -> None:
    """Write a data set: one ``.npz`` file, or a list of edges and a table of `nodes`, both ``.csv``."""
    check_types("write", data=(data, Dataset))
    check_path(path)
    if Path(path).suffix.lower() == ".npz":
        save(data, path)
    elif Path(path).suffix.lower() == ".csv" and nodes is not None:
        check_path(nodes, "nodes")
        write_tables(data, path, nodes)
    else:
        wanted = "must end in .npz, or in .csv with a second file for the nodes"
        raise ParameterError(f"path = {os.fspath(path)!r} {wanted}")
