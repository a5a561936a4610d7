"""``gcnlimit reproduce``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from gcnlimit.cli.figure import check_figures, form_option, nodes_option, resumable, trials_option
from gcnlimit.cli.options import device_option


@click.command("reproduce")
@click.option(
    "--quick/--full", default=True, help="Dots at moderate size (minutes), or as in the paper (long, resumable)."
)
@nodes_option
@trials_option
@device_option
@form_option
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("figures"),
    show_default=True,
    help="Folder to write to.",
)
def command(*, quick: bool, nodes: int | None, trials: int | None, device: str, form: str, out: Path) -> None:
    """Regenerate every figure of the paper, and say how well theory and simulation agree.

    If it is interrupted, the same command resumes: finished dots are kept in the folder.

    \b
    Examples:
      gcnlimit reproduce --out figures
      gcnlimit reproduce --full --format pdf --out figures-full
      gcnlimit reproduce --full --device cuda --out figures-full
    """
    from gcnlimit.cli.output import show

    check_figures(out)
    from gcnlimit.figures.base import FULL, QUICK
    from gcnlimit.figures.registry import FIGURES, agreement, produce, statements, write, write_agreement

    simulation = replace(QUICK if quick else FULL, device=device).sized(nodes, trials)
    datasets = {}
    with resumable(out):
        for figure, dataset in produce(list(FIGURES.values()), out, simulation):
            write(figure, dataset, out, form)
            datasets[figure.name] = dataset
    for title, rows in (
        ("Simulation against theory, in standard errors", agreement(datasets)),
        ("Statements of the paper", statements(datasets)),
    ):
        columns = {key: [row[key] for row in rows] for key in rows[0]}
        show(columns, len(rows), title=title, form="table", keys=1)
    table = write_agreement(datasets, out)
    click.echo(f"{len(datasets)} figures and their numbers are in {out}, with {table.name}.")
