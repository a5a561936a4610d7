"""``gcnlimit predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gcnlimit.cli.options import Grid, data_options, network_options, other_graph_options
from gcnlimit.cli.output import Failures, check_plot, draw_beside, output_options, plot_option, show_grid, waiting


@click.command("predict", no_args_is_help=True)
@data_options
@network_options
@other_graph_options
@click.option("--tol", type=float, default=1e-10, show_default=True, help="Residual below which a point has converged.")
@click.option(
    "--max-iterations", type=click.IntRange(1), default=5000, show_default=True, help="Most iterations per point."
)
@plot_option
@output_options
def command(*, form: str, tol: float, max_iterations: int, plot: Path | None, **given: Any) -> None:
    """Exact performance of a network in the large-size limit, beside the Bayes-optimal ceiling.

    Any number may be a list a,b,c, a range first:last:count or a logarithmic range
    first:last:count:log; every combination is computed. If a point fails, the others are still
    computed: the reason is written to standard error, and the exit status is 2 only if every point failed.

    With --to-lam, --to-mu or --to-alpha the trained network is used on an independent graph without labels.

    \b
    Examples:
      gcnlimit predict --alpha 4 --lam 1 --mu 2 --rho 0.1 --t 1.488 --symmetrize
      gcnlimit predict --alpha 4 --lam 0.5:2:7 --mu 2 --rho 0.1 --c 1 --depth 3 --output csv
      gcnlimit predict --alpha 4 --lam 1 --mu 2 --rho 0.1 --t 1.5 --reg 1e-2:1e4:20:log --plot reg.png
      gcnlimit predict --alpha 4 --lam 1 --mu 2 --rho 0.1 --theta 0.4 --to-lam -1:1:5 --test-theta -0.4,0.4
    """
    from gcnlimit.theory.predict import predict
    from gcnlimit.theory.transfer import transfer

    grid = Grid(given)
    (data, gcn), to = grid.problem(), grid.other()
    check_plot(plot, grid.axes)
    with waiting("predicting", grid.size):
        if to is None:
            found = predict(data, gcn, tol=tol, max_iterations=max_iterations, throw=False)
        else:
            found = transfer(data, gcn, to, tol=tol)
    failures = Failures(grid, found)
    ceiling = grid.ceiling()
    draw_beside(plot, found, ceiling)
    columns = found.distinct() | {"bayes_optimal": ceiling} | failures.columns(form)
    title = "Exact performance in the large-size limit" + (", on another graph" if to else "")
    show_grid(grid, columns, title=title, form=form)
    failures.report()
