"""``gcnlimit compare``."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from gcnlimit.cli.options import Grid, data_options, json_option, symmetrize_option
from gcnlimit.cli.output import show

__all__ = ["command"]


@click.command("compare", no_args_is_help=True)
@data_options
@click.option("--depth", type=click.IntRange(1), default=4, show_default=True, help="Layers of the residual networks.")
@click.option("--order", type=int, default=12, show_default=True, help="Order of the best polynomial.")
@symmetrize_option
@click.option("--plot", type=click.Path(dir_okay=False, writable=True), help="Also draw the comparison to this file.")
@json_option
def command(depth: int, order: int, symmetrize: bool, plot: str | None, as_json: bool, **given: Any) -> None:
    """Every family of networks at its best, beside the ceilings: which to use, and what is left to gain.

    \b
    Examples:
      gcnlimit compare --alpha 4 --lam 1 --mu 2 --rho 0.1
      gcnlimit compare --alpha 4 --lam 0.2:2:19 --mu 2 --rho 0.1 --plot compare.png
    """
    from gcnlimit.choose.compare import compare

    grid = Grid(given)
    comparison = compare(grid.data(), depth=depth, order=order, symmetrize=symmetrize)
    methods, size = comparison.methods, max(grid.size, 1)
    columns: dict[str, Any] = {name: np.tile(values, len(methods)) for name, values in grid.columns().items()}
    columns["method"] = np.repeat(methods, size)
    columns["test_accuracy"] = comparison.test_accuracy.reshape(-1)
    columns["log_test_error"] = np.concatenate([np.ravel(entry.log_test_error) for entry in comparison.entries])
    columns["gap"] = comparison.gap.reshape(-1)
    columns["chosen"] = np.concatenate([entry.chosen for entry in comparison.entries])
    if plot is not None:
        _draw(comparison, plot)
    show(columns, len(methods) * size, title="Every family at its best", as_json=as_json)


def _draw(comparison: Any, path: str) -> None:
    """Draw to a file, without a screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    comparison.plot(axes=figure.add_subplot())
    try:
        figure.savefig(path, dpi=200)
    except (OSError, ValueError) as problem:  # no such folder, or a format that Matplotlib does not write
        raise click.BadParameter(f"{path} cannot be written: {problem}", param_hint="--plot") from None
