"""A graph that is given by files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from gcnlimit.errors import ParameterError

F = TypeVar("F", bound=Callable[..., Any])


def table_options(command: F) -> F:
    """Options that say how tables of edges and nodes are read, for `load_labelled`."""
    path = click.Path(exists=True, dir_okay=False)
    for option in (
        click.option("--undirected", is_flag=True, help="Ignore the direction of the edges."),
        click.option("--drop", multiple=True, metavar="COLUMN", help="Leave out a column; may be repeated."),
        click.option("--id", metavar="COLUMN", help="Column that names the nodes [default: the first]."),
        click.option("--label", metavar="COLUMN", help="Column of the classes [default: label, class or y]."),
        click.option("--nodes", type=path, help="Table of nodes, if FILE lists edges."),
    ):
        command = option(command)
    return command


def load_labelled(file: str, nodes: str | None = None, **tables: Any) -> Any:
    """Data set of a file, and of a table of nodes if it lists edges; some nodes must have labels.

    What was done to the tables is printed to standard error.
    """
    from gcnlimit import real

    data = real.read(file, nodes, **tables)
    for note in data.notes:
        click.echo(note, err=True)
    if all(c in (-1, "") for c in data.y.tolist()):
        if nodes is None:
            raise ParameterError(f"{file!r} has no labels; give a table of nodes by --nodes")
        raise ParameterError(f"{nodes!r} has no labelled node; name the column of the classes by --label")
    return data
