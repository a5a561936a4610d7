"""``gcnlimit tune``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from gcnlimit.cli import options
from gcnlimit.cli.options import option
from gcnlimit.cli.output import check_plot, draw_beside, output_options, show_grid
from gcnlimit.normalization import NUMBERS
from gcnlimit.parameters import FAMILIES, TIMES, check_names, layered, names_at_test, starts

_FREE: dict[str, Any] = {"metavar": "NAME=LOW:HIGH", "multiple": True, "required": True}


def _interval(text: str) -> tuple[str, tuple[float, float]]:
    """Parse ``NAME=LOW:HIGH``; bounds may be ``inf``."""
    try:
        name, bounds = text.split("=")
        low, high = (float(bound) for bound in bounds.split(":"))
    except ValueError:
        raise click.BadParameter(f"{text!r} is not NAME=LOW:HIGH, such as t=0:10") from None
    return name.strip(), (low, high)


@click.command("tune", no_args_is_help=True)
@options.data_options
@options.network_options
@option("--free", "What to tune and where; may be repeated.", **_FREE)
@option("--per-layer", "Tune the value of each layer separately.", is_flag=True)
@options.plot_option
@output_options
def command(
    *, form: str, free: tuple[str, ...], per_layer: bool, plot: Path | None, **arguments: Any
) -> None:
    """The best network of a family: diffusion time, strengths, depth, PageRank parameter, regularization, tau, training time.

    \b
    Examples:
      gcnlimit tune --alpha 4 --lam 1 --mu 2 --rho 0.1 --symmetrize --free t=0:10
      gcnlimit tune --alpha 1 --lam 1 --mu 2 --rho 0.1 --free theta=-1:1 --free test_theta=-1:1
      gcnlimit tune --alpha 4 --lam 0.5:2:7 --mu 2 --rho 0.1 --free c=-inf:inf --depth 3 --plot best.png
      gcnlimit tune --alpha 4 --lam 1 --mu 2 --rho 0.1 --free depth=1:8 --c 1
      gcnlimit tune --alpha 4 --lam 1 --mu 2 --rho 0.1 --theta 0.4 --free time=0.01:100
    """
    from gcnlimit.choose.search import TuneStatus
    from gcnlimit.choose.tune import tune
    from gcnlimit.results.result import status_names

    intervals: dict[str, Any] = dict(map(_interval, free))
    names = (*FAMILIES, *names_at_test()[1:], "reg", "depth", *TIMES[:-1], *NUMBERS)
    check_names(intervals, names, "a parameter to tune")
    grid = options.Grid(arguments | _begin(intervals, arguments))
    data, gcn = grid.problem()
    name = gcn.filter.parameter
    if per_layer:
        if name not in intervals or not layered(type(gcn.filter)):
            raise click.UsageError("--per-layer needs --free c=LOW:HIGH, the only one with layers.")
        intervals[name] = [intervals[name]] * gcn.filter.values.shape[-1]
    check_plot(plot, grid.axes)
    best = tune(data, gcn, intervals)
    ceiling = grid.ceiling()
    draw_beside(plot, best.prediction, ceiling)
    columns = best.by_layer(best.parameters)
    columns |= {f"curvature_{n}": values for n, values in best.by_layer(best.curvature).items()}
    reached = best.prediction.distinct()
    columns |= {n: reached[n] for n in ("test_accuracy", "best_accuracy") if n in reached}
    columns["bayes_optimal"] = ceiling
    columns["status"] = np.char.lower(status_names(TuneStatus, best.status))
    for name in intervals:
        grid.inputs.pop(name, None)
    searched = {f"free_{name}": value for name, value in intervals.items()}
    show_grid(grid, columns, form, "The best network of the family", **searched)


def _begin(intervals: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Values with which the search begins, where they are not given; a list cannot be both free and an axis."""
    searched = (*FAMILIES, *names_at_test(), "depth", *TIMES)
    named = {name for name in searched if arguments.get(name) is not None}
    for name in intervals:
        several = arguments.get(name) is not None and np.size(arguments[name]) > 1
        layers = name in FAMILIES and FAMILIES[name].deep and arguments["depth"] is None
        if several and not layers:
            told = f"--{name} is free and has several values"
            raise click.UsageError(f"{told}; give one, from which the search starts.")
    begun = [FAMILIES[name] for name in intervals if name in FAMILIES and name not in named]
    if any(family.deep and not layered(family) for family in begun):
        start = "from which the search starts: their number is the order plus one"
        raise click.UsageError(f"--free coefficients needs --coefficients, {start}.")
    begun_at = starts(intervals, named)
    return {n: v if n == "depth" else np.atleast_1d(v) for n, v in begun_at.items()}
