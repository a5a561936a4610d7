"""``gcnlimit describe``."""

from __future__ import annotations

from typing import Any

import click

from gcnlimit.cli.options import json_option
from gcnlimit.cli.output import show

__all__ = ["command"]


@click.command("describe", no_args_is_help=True)
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--nodes", type=click.Path(exists=True, dir_okay=False), help="Table of nodes, if FILE lists edges.")
@click.option("--split", type=click.IntRange(0), help="Use the training labels of this split [default: all labels].")
@click.option("--plot", type=click.Path(dir_okay=False, writable=True), help="Draw the spectrum to this file.")
@json_option
def command(*, file: str, nodes: str | None, split: int | None, plot: str | None, as_json: bool) -> None:
    """Describe the graph in FILE: degrees, homophily, spectrum, signals with errors, and whether the model holds.

    FILE is an .npz file (of gcnlimit sample or gcnlimit.real.write), or a list of edges as .csv or .parquet with --nodes.

    \b
    Examples:
      gcnlimit describe examples/data/texas.npz
      gcnlimit describe edges.csv --nodes nodes.csv --plot spectrum.png
    """
    from gcnlimit import real
    from gcnlimit.real.describe import describe

    data = real.read(file, nodes)
    known = real.Dataset(data.graph, data.X, data.y).training() if split is None else data.training(split)
    found = describe(data.X, known, data.graph)
    if plot is not None:
        _draw(found, plot)
    if as_json:
        show(found.as_dict() | {"holds": found.holds, "doubts": " ".join(found.doubts)}, 1, title="", as_json=True)
    else:
        click.echo(str(found))


def _draw(found: Any, path: str) -> None:
    """Draw to a file, without a screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    found.plot(figure.add_subplot())
    try:
        figure.savefig(path, dpi=200)
    except (OSError, ValueError) as problem:  # no such folder, or a format that Matplotlib does not write
        raise click.BadParameter(f"{path} cannot be written: {problem}", param_hint="--plot") from None
