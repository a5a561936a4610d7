"""``gcnlimit figure``."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import click

from gcnlimit._runtime.extras import need
from gcnlimit.cli.output import FILE
from gcnlimit.errors import ParameterError

form_option = click.option(
    "--format", "form", type=click.Choice(["pdf", "png", "svg"]), default="png", show_default=True
)
nodes_option = click.option("--nodes", type=click.IntRange(10, 10**9), help="Nodes of the simulated graphs.")
trials_option = click.option(
    "--trials", type=click.IntRange(0, 10**6), help="Simulated graphs for each dot; 0 draws the theory alone."
)


def check_figures(folder: Path | None) -> None:
    """Refuse, before their modules are imported, figures that could not be drawn, or not be written to the folder."""
    need("a figure", "figures", "matplotlib", "xarray", "h5netcdf")
    if folder is None:
        return
    existing = next(part for part in (folder.absolute(), *folder.absolute().parents) if part.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise ParameterError(f"--out {folder} cannot be written; choose another folder")


@contextlib.contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """Say, if interrupted from the keyboard, that nothing finished is lost."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"Interrupted; finished dots are kept in {folder}. Give the same command to resume.", err=True)
        raise SystemExit(130) from None


@click.command("figure", no_args_is_help=True)
@click.argument("name", required=False)
@click.option("--list", "listing", is_flag=True, help="List the figures.")
@nodes_option
@trials_option
@form_option
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path(), help="Folder to write to.")
@click.option("--data", "source", type=FILE, help="Draw again from this file of numbers.")
def command(
    *, name: str | None, listing: bool, nodes: int | None, trials: int | None, form: str, out: Path, source: Path | None
) -> None:
    """Draw the figure NAME of the paper, or that of a file NAME.py of yours, and save its numbers beside it.

    \b
    Examples:
      gcnlimit figure --list
      gcnlimit figure introduction --format pdf
      gcnlimit figure introduction --data introduction.nc --format svg
    """
    if name is None and not listing:
        raise click.UsageError("give the NAME of a figure; --list shows them.")
    check_figures(None if name is None else out)
    from gcnlimit.figures.base import QUICK
    from gcnlimit.figures.registry import FIGURES, find, produce, read, write

    if name is None:
        click.echo("\n".join(f"{figure.name:{max(map(len, FIGURES))}}  {figure.title}" for figure in FIGURES.values()))
        return
    figure = find(name)
    if source is not None:
        dataset = read(figure, source)
    else:
        with resumable(out):
            ((_, dataset),) = produce([figure], out, QUICK.sized(nodes, trials))
    for path in write(figure, dataset, out, form):
        click.echo(path)
