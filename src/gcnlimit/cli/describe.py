"""``gcnlimit describe``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gcnlimit.cli import options
from gcnlimit.cli.output import check_plot, draw, output_options, show

_SPLIT = "Use the training labels of this split [default: all labels]."


@click.command("describe", no_args_is_help=True)
@options.file_argument
@options.table_options
@options.option("--split", _SPLIT, type=options.NATURAL)
@options.plot_option
@output_options
def command(*, file: str, split: int | None, plot: Path | None, form: str, **tables: Any) -> None:
    """Describe the graph in FILE: degrees, homophily, spectrum, signals with errors, and whether the model holds.

    FILE is an .npz file (of gcnlimit sample or gcnlimit.real.write), or a list of edges as .csv with --nodes.

    \b
    Examples:
      gcnlimit describe examples/data/texas.npz
      gcnlimit describe edges.csv --nodes nodes.csv --plot spectrum.png
    """
    check_plot(plot, (), fewest=0)
    data = options.load_labelled(file, split=split, **tables)
    labels = data.y if split is None else data.training(split)
    from gcnlimit.real.describe import describe

    description = describe(data.X, labels, data.graph)
    draw(plot, description.plot)
    if form == "table":
        click.echo(str(description))
    else:
        columns = description.as_dict() | {"holds": description.holds}
        columns["doubts"] = " ".join(description.doubts)
        show(columns, form, file=file)
