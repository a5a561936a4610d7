"""``gcnlimit bayes``."""

from __future__ import annotations

from typing import Any

import click

from gcnlimit.cli.options import Grid, data_options
from gcnlimit.cli.output import output_options, show


@click.command("bayes", no_args_is_help=True)
@data_options
@click.option("--degree", type=float, help="Mean degree of the graph, if it is not large: then with standard errors.")
@output_options
def command(*, form: str, degree: float | None, **given: Any) -> None:
    """Bayes-optimal performance: what the best of all algorithms reaches, knowing the model.

    \b
    Examples:
      gcnlimit bayes --alpha 4 --lam 1 --mu 2 --rho 0.1
      gcnlimit bayes --alpha 4 --lam 0:2:9 --mu 1,2 --rho 0.1 --json
      gcnlimit bayes --alpha 4 --lam 1 --mu 2 --rho 0.1 --degree 5
    """
    from gcnlimit.cli.points import at_points

    grid = Grid(given)
    grid.data()
    sparse = {} if degree is None else {"degree": degree}
    answer = at_points("bayes_optimal", grid, **sparse)
    columns = grid.columns() | answer.fields | answer.ending(form)
    title = "Bayes-optimal performance" + ("" if degree is None else f" at mean degree {degree:g}")
    show(columns, grid.size, title=title, form=form, inputs=grid.inputs | sparse, keys=len(grid.axes))
    answer.report()
