"""``gcnlimit reproduce``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from gcnlimit.cli.figure import check_figures, form_option, size_options
from gcnlimit.cli.options import FOLDER, device_option, option
from gcnlimit.cli.output import show

_QUICK = "Dots at moderate size (minutes), or as in the paper (long, resumable)."


@click.command("reproduce")
@option("--quick/--full", _QUICK, default=True, show_default=False)
@size_options
@device_option
@form_option
@option("--out", "Folder to write to.", type=FOLDER, default=Path("figures"))
def command(*, quick: bool, device: str, form: str, out: Path, **size: int | None) -> None:
    """Regenerate every figure of the paper, and say how well theory and simulation agree.

    If it is interrupted, the same command resumes: finished dots are kept in the folder.

    \b
    Examples:
      gcnlimit reproduce --out figures
      gcnlimit reproduce --full --format pdf --out figures-full
      gcnlimit reproduce --full --device cuda --out figures-full
    """
    check_figures(out)
    from gcnlimit.figures import registry
    from gcnlimit.figures.base import FULL, QUICK

    simulation = replace(QUICK if quick else FULL, device=device).sized(**size)
    datasets = {}
    for figure, dataset in registry.produce(list(registry.FIGURES.values()), out, simulation):
        registry.write(figure, dataset, out, form)
        datasets[figure.name] = dataset
    tables = {
        "Simulation against theory, in standard errors": registry.agreement(datasets),
        "Statements of the paper": registry.statements(datasets),
    }
    for title, rows in tables.items():
        columns = {key: [row[key] for row in rows] for key in rows[0]}
        show(columns, "table", title, keys=1)
    table = registry.write_agreement(datasets, out)
    click.echo(f"{len(datasets)} figures and their numbers are in {out}, with {table.name}.")
