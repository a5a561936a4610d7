"""``gcnlimit predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from gcnlimit.cli.options import Grid, data_options, network_options
from gcnlimit.cli.output import output_options, show
from gcnlimit.cli.plot import check_plot, curves, draw, plot_option


@click.command("predict", no_args_is_help=True)
@data_options
@network_options
@click.option("--tol", type=float, default=1e-10, show_default=True, help="Residual at which a point has converged.")
@click.option(
    "--max-iterations", type=click.IntRange(1), default=5000, show_default=True, help="Iterations of a point at most."
)
@plot_option
@output_options
def command(*, form: str, tol: float, max_iterations: int, plot: Path | None, **given: Any) -> None:
    """Exact performance of a network in the large-size limit, beside the Bayes-optimal ceiling.

    Any number may be a list a,b,c, a range first:last:count or a logarithmic range first:last:count:log; every
    combination is computed. A point that fails leaves the others intact: its reason is written to standard error, and
    the exit status is 2 only if every point failed.

    \b
    Examples:
      gcnlimit predict --alpha 4 --lam 1 --mu 2 --rho 0.1 --t 1.488 --symmetrize
      gcnlimit predict --alpha 4 --lam 0.5:2:7 --mu 2 --rho 0.1 --c 1 --depth 3 --output csv
      gcnlimit predict --alpha 4 --lam 1 --mu 2 --rho 0.1 --t 1.5 --reg 1e-2:1e4:20:log --plot reg.png
    """
    from gcnlimit._validation import LOOSEST, tolerance
    from gcnlimit.cli.points import at_points

    grid = Grid(given)
    tolerance("tol", tol, high=LOOSEST)
    grid.problem()
    check_plot(plot, grid.axes)
    answer = at_points("predict", grid, tol=tol, max_iterations=max_iterations)
    ceiling = ceiling_column(grid)
    fields = answer.fields | ceiling
    if plot is not None:
        shown = {name: np.reshape(fields[name], grid.shape) for name in ("test_accuracy", *ceiling)}
        draw(plot, curves(grid.axes, shown, "test accuracy"))
    columns = grid.columns() | fields | answer.ending(form)
    title = "Exact performance in the large-size limit"
    show(columns, grid.size, title=title, form=form, inputs=grid.inputs, keys=len(grid.axes))
    answer.report()


def ceiling_column(grid: Grid) -> dict[str, Any]:
    """Bayes-optimal accuracy at every point, computed once for each point of the data."""
    from gcnlimit.theory.bayes import bayes_optimal

    return {"bayes_optimal": np.broadcast_to(bayes_optimal(grid.data()).test_accuracy, grid.shape).ravel()}
