"""``gcnlimit recommend``."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import click

from gcnlimit.cli import options
from gcnlimit.cli.output import check_plot, draw, output_options, show

_WIDTH = 100


@click.command("recommend", no_args_is_help=True)
@options.file_argument
@options.table_options
@options.split_option
@options.scale_option
@options.plot_option
@output_options
def command(
    *, file: str, split: int, scale: str, plot: Path | None, form: str, **tables: Any
) -> None:
    """Recommend a network for the graph in FILE: what accuracy to expect, and what the graph adds. Then use gcnlimit classify.

    FILE is an .npz file (of gcnlimit sample or gcnlimit.real.write), or a list of edges as .csv with --nodes.

    \b
    Examples:
      gcnlimit recommend examples/data/texas.npz
      gcnlimit recommend edges.csv --nodes nodes.csv --plot members.png
    """
    check_plot(plot, (), fewest=0)
    data = options.load_labelled(file, split=split, **tables)
    from gcnlimit import recommend
    from gcnlimit.real.recommend import facts

    advice = recommend(data.X, data.training(split), data.graph, scale=scale)
    draw(plot, advice.model.plot)
    if form == "table":
        for line in str(advice).splitlines():
            click.echo(textwrap.fill(line, _WIDTH, subsequent_indent="  "))
        click.echo("To classify the nodes: gcnlimit classify, with the same options.")
        return
    columns = facts(advice.model) | {"half_accuracy": advice.half_accuracy, "reason": advice.reason}
    show(columns, form, file=file, split=split)
