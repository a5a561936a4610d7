"""``gcnlimit bayes``."""

from __future__ import annotations

from typing import Any

import click

from gcnlimit.cli.options import Grid, data_options
from gcnlimit.cli.output import output_options, show

__all__ = ["command"]


@click.command("bayes", no_args_is_help=True)
@data_options
@output_options
def command(*, form: str, **given: Any) -> None:
    """Bayes-optimal performance: what the best of all algorithms reaches, knowing the model.

    \b
    Examples:
      gcnlimit bayes --alpha 4 --lam 1 --mu 2 --rho 0.1
      gcnlimit bayes --alpha 4 --lam 0:2:9 --mu 1,2 --rho 0.1 --json
    """
    from gcnlimit.cli.points import at_points

    grid = Grid(given)
    grid.data()
    answer = at_points("bayes_optimal", grid)
    columns = grid.columns() | answer.fields | answer.ending(form)
    title = "Bayes-optimal performance"
    show(columns, grid.size, title=title, form=form, inputs=grid.inputs, keys=len(grid.axes))
    answer.report()
