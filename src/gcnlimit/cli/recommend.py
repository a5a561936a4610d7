"""``gcnlimit recommend``."""

from __future__ import annotations

import textwrap

import click

from gcnlimit.cli.options import load_labelled
from gcnlimit.cli.output import output_options, show

_WIDTH = 100


@click.command("recommend", no_args_is_help=True)
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--nodes", type=click.Path(exists=True, dir_okay=False), help="Table of nodes, if FILE lists edges.")
@click.option("--split", type=click.IntRange(0), default=0, show_default=True, help="Which split of FILE to train on.")
@output_options
def command(*, file: str, nodes: str | None, split: int, form: str) -> None:
    """Recommend a network for the graph in FILE: what the graph adds, how deep, what is left to gain, with errors.

    FILE is an .npz file (of gcnlimit sample or gcnlimit.real.write), or a list of edges as .csv or .parquet with --nodes.

    \b
    Examples:
      gcnlimit recommend examples/data/texas.npz
      gcnlimit recommend edges.csv --nodes nodes.csv
    """
    from gcnlimit import recommend

    data = load_labelled(file, nodes)
    advice = recommend(data.X, data.training(split), data.graph)
    if form == "table":
        for line in str(advice).splitlines():
            click.echo(textwrap.fill(line, _WIDTH, subsequent_indent="  ") if len(line) > _WIDTH else line)
        return
    columns = {name: value for name, value in advice.chosen._asdict().items() if name != "options"}
    show(columns | {"reason": advice.reason}, 1, title="", form=form, inputs={"file": file, "split": split})
