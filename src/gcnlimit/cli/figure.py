"""``gcnlimit figure``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from gcnlimit._runtime.extras import need
from gcnlimit.cli.options import FILE, FOLDER, option, together
from gcnlimit.errors import ParameterError, cannot_write

_FORMATS = click.Choice(["pdf", "png", "svg"])
_TRIALS = "Simulated graphs for each dot; 0 draws the theory alone."
form_option = option("--format", "Of the pictures.", "form", type=_FORMATS, default="png")
size_options = together(
    option("--nodes", "Nodes of the simulated graphs.", type=click.IntRange(10, 10**9)),
    option("--trials", _TRIALS, type=click.IntRange(0, 10**6)),
)


def check_figures(folder: Path | None) -> None:
    """Refuse, before their modules are imported, figures that could not be drawn, or not be written to the folder."""
    need("a figure", "figures", "matplotlib", "xarray", "h5netcdf")
    if folder is None:
        return
    place = folder.absolute()
    with cannot_write(folder):
        while not place.exists():
            place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise ParameterError(f"--out {folder} cannot be written; choose another folder")


@click.command("figure", no_args_is_help=True)
@click.argument("name", required=False)
@option("--list", "List the figures.", "listing", is_flag=True)
@size_options
@form_option
@option("--out", "Folder to write to.", type=FOLDER, default=Path(), show_default=False)
@option("--data", "Draw again from this file of numbers.", "source", type=FILE)
def command(
    *, name: str | None, listing: bool, form: str, out: Path, source: Path | None, **size: Any
) -> None:
    """Draw the figure NAME of the paper, or the figure in your own file NAME.py, and save its numbers next to it.

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
        width = max(map(len, FIGURES))
        for figure in FIGURES.values():
            click.echo(f"{figure.name:{width}}  {figure.title}")
        return
    figure = find(name)
    if source is not None:
        dataset = read(figure, source)
    else:
        ((_, dataset),) = produce([figure], out, QUICK.sized(**size))
    for path in write(figure, dataset, out, form):
        click.echo(path)
