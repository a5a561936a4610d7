"""Read and write a graph, by the name of its file."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from gcnlimit._validation import check_types
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.dataset import Dataset, load, save
from gcnlimit.graphs.npz import check_path, read_arrays
from gcnlimit.graphs.tables import read_tables, write_tables
from gcnlimit.simulation.data.instance import Instance

Location = str | os.PathLike[str]
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".pq")


def read(path: Location, nodes: Location | None = None) -> Dataset:
    """Data set of a file: ``.npz`` (written by `write` or `Instance.save`), or a list of edges with a table of `nodes`.

    >>> read("g.doc")
    Traceback (most recent call last):
        ...
    gcnlimit.errors.ParameterError: path = 'g.doc' is not a known kind of file; use .npz, or a list of edges as .csv or .parquet
    """
    _check_paths(path, nodes)
    suffix = Path(path).suffix.lower()
    if suffix == ".npz":
        if nodes is not None:
            raise ParameterError(
                f"nodes = {os.fspath(nodes)!r} goes with a list of edges; an .npz file holds its nodes"
            )
        return of_instance(Instance.load(path)) if "model" in read_arrays(path, "a graph") else load(path)
    if suffix in TABLES:
        return read_tables(path, nodes)
    raise ParameterError(
        f"path = {os.fspath(path)!r} is not a known kind of file; use .npz, or a list of edges as .csv or .parquet"
    )


def write(data: Dataset, path: Location, nodes: Location | None = None) -> None:
    """Write a data set: one ``.npz`` file, or a list of edges and a table of `nodes`, both ``.csv``."""
    check_types("write", data=(data, Dataset))
    _check_paths(path, nodes)
    if Path(path).suffix.lower() == ".npz":
        save(data, path)
    elif Path(path).suffix.lower() == ".csv" and nodes is not None:
        write_tables(data, path, nodes)
    else:
        raise ParameterError(
            f"path = {os.fspath(path)!r} must end in .npz, or in .csv with a second file for the nodes"
        )


def _check_paths(path: object, nodes: object) -> None:
    check_path(path)
    if nodes is not None:
        check_path(nodes, "nodes")


def of_instance(instance: Instance) -> Dataset:
    """Data set of an instance, its classes 0, 1, ..., its training nodes the one split.

    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1, classes=3), nodes=200, degree=20, seed=0)
    >>> data = of_instance(i)
    >>> data.nodes, int((data.training() >= 0).sum()), np.unique(data.y).tolist()
    (200, 20, [0, 1, 2])
    """
    mask, classes = instance.train_mask[None], instance.data.classes.index_of(instance.labels)
    return Dataset(instance.adjacency, np.asarray(instance.features), classes, mask, None, ~mask)
