"""``gcnlimit predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gcnlimit.cli import options
from gcnlimit.cli.output import check_plot, draw_beside, output_options, show_grid
from gcnlimit.results.calibration import CALIBRATED

_CALIBRATION = "Also calibration: slope of the logits, calibration error, log loss, Brier score."
_DEGREE = "Mean degree of your graphs: warns where it is too small for the normalization."


@click.command("predict", no_args_is_help=True)
@options.data_options
@options.network_options
@options.option("--degree", _DEGREE, type=float)
@options.other_graph_options
@options.option("--calibration", _CALIBRATION, is_flag=True)
@options.plot_option
@output_options
def command(
    *, form: str, plot: Path | None, degree: float | None, calibration: bool, **arguments: Any
) -> None:
    """Exact performance of a network in the large-size limit, and the Bayes-optimal ceiling.

    Any number may be a list a,b,c, a range first:last:count or a logarithmic range
    first:last:count:log; every combination is computed. If a point fails, the others are still
    computed: the reason is written to standard error, and the exit status is 2 only if every point failed.

    With --time, or --steps and --rate, the training stops there; otherwise it runs to its end.

    With --to-lam, --to-mu or --to-alpha the trained network is used on an independent graph without labels.

    \b
    Examples:
      gcnlimit predict --alpha 4 --lam 1 --mu 2 --rho 0.1 --t 1.488 --symmetrize
      gcnlimit predict --alpha 4 --lam 0.5:2:7 --mu 2 --rho 0.1 --c 1 --depth 3 --output csv
      gcnlimit predict --alpha 4 --lam 1 --mu 2 --rho 0.1 --t 1.5 --reg 1e-2:1e4:20:log --plot reg.png
      gcnlimit predict --alpha 4 --lam 1 --mu 2 --rho 0.1 --t 1 --steps 1,2,5,20,100 --rate 0.1 --calibration
      gcnlimit predict --alpha 4 --lam 1 --mu 2 --rho 0.1 --theta 0.4 --to-lam -1:1:5 --test-theta -0.4,0.4
    """
    grid = options.Grid(arguments)
    elsewhere = ", on another graph" if grid.other() else ""
    check_plot(plot, grid.axes)
    answer = grid.exact(degree)
    ceiling = grid.ceiling()
    columns = answer.distinct() | {"bayes_optimal": ceiling}
    if calibration:
        sure = answer.calibration
        columns |= {f.name: getattr(sure, f.name) for f in CALIBRATED if f.name != "accuracy"}
    show_grid(grid, columns, form, f"Exact performance in the large-size limit{elsewhere}", answer)
    draw_beside(plot, answer, ceiling)
