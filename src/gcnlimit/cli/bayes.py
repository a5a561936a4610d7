"""``gcnlimit bayes``."""

from __future__ import annotations

from typing import Any

import click

from gcnlimit.cli.options import Grid, data_options, option
from gcnlimit.cli.output import output_options, show_grid

_DEGREE = "Mean degree of a sparse graph; the answer then has standard errors."
_LINEAR = "The best of all linear networks instead of any algorithm."


@click.command("bayes", no_args_is_help=True)
@data_options
@option("--degree", _DEGREE, type=float)
@option("--linear", _LINEAR, is_flag=True)
@output_options
def command(*, form: str, degree: float | None, linear: bool, **arguments: Any) -> None:
    """Bayes-optimal performance: the best that any algorithm can reach, even one that knows the model.

    \b
    Examples:
      gcnlimit bayes --alpha 4 --lam 1 --mu 2 --rho 0.1
      gcnlimit bayes --alpha 4 --lam 0:2:9 --mu 1,2 --rho 0.1 --json
      gcnlimit bayes --alpha 4 --lam 1 --mu 2 --rho 0.1 --degree 5
      gcnlimit bayes --alpha 4 --lam 1 --mu 2 --rho 0.1 --linear
    """
    from gcnlimit.theory.bayes import bayes_optimal
    from gcnlimit.theory.linear import best_linear

    grid = Grid(arguments)
    answer = (best_linear if linear else bayes_optimal)(grid.data(), degree=degree)
    columns = answer.distinct()
    title = "Best linear network" if linear else "Bayes-optimal performance"
    if degree is not None:
        grid.inputs["degree"] = degree
        title += f" at mean degree {degree:g}"
        for name in ("test_accuracy", "test_loss", "log_test_error"):
            columns[f"{name}_standard_error"] = getattr(answer.standard_error, name)
    show_grid(grid, columns, form, title, answer)
