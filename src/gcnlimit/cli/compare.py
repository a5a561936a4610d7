"""``gcnlimit compare``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from gcnlimit.cli.options import Grid, data_options, symmetrize_option
from gcnlimit.cli.output import output_options, show
from gcnlimit.cli.plot import check_plot, draw, plot_option

if TYPE_CHECKING:
    from gcnlimit.choose.compare import Entry


@click.command("compare", no_args_is_help=True)
@data_options
@click.option("--depth", type=click.IntRange(1), default=4, show_default=True, help="Layers of the residual networks.")
@click.option("--order", type=int, default=12, show_default=True, help="Order of the best polynomial.")
@symmetrize_option
@plot_option
@output_options
def command(*, depth: int, order: int, symmetrize: bool, plot: Path | None, form: str, **given: Any) -> None:
    """Families of networks, filter and regularization tuned (square loss), beside the ceilings.

    \b
    Examples:
      gcnlimit compare --alpha 4 --lam 1 --mu 2 --rho 0.1
      gcnlimit compare --alpha 4 --lam 0.2:2:19 --mu 2 --rho 0.1 --plot compare.png
    """
    from gcnlimit.choose.compare import compare

    grid = Grid(given)
    check_plot(plot, grid.axes, fewest=0, most=1)
    comparison = compare(grid.data(), depth=depth, order=order, symmetrize=symmetrize)
    methods = comparison.methods
    size = grid.size
    axes = grid.columns()
    columns: dict[str, Any] = {name: np.tile(axes[name], len(methods)) for name in axes}
    columns["method"] = np.repeat(methods, size)
    columns["test_accuracy"] = comparison.test_accuracy.reshape(-1)
    errors = [np.ravel(entry.log_test_error) for entry in comparison.entries]
    columns["log_test_error"] = np.concatenate(errors)
    columns["gap"] = comparison.gap.reshape(-1)
    if form == "table":
        columns["chosen"] = np.concatenate([entry.chosen for entry in comparison.entries])
    else:
        columns |= _parameters(comparison.entries, size)
    if plot is not None:
        draw(plot, lambda panel: comparison.plot(axes=panel))
    inputs = grid.inputs | {"depth": depth, "order": order, "symmetrize": symmetrize}
    title = "Filter and regularization at their best"
    rows = len(methods) * size
    show(columns, rows, title=title, form=form, inputs=inputs, keys=len(grid.axes) + 1)


def _parameters(entries: Sequence[Entry], size: int) -> dict[str, Any]:
    """What was chosen, one column for each parameter with every digit; None where a method does not have it."""
    names = dict.fromkeys(name for entry in entries for name in entry.parameters)

    def values(entry: Entry, name: str) -> list[Any]:
        if name not in entry.parameters:
            return [None] * size
        rows = np.reshape(entry.parameters[name], (size, -1)).tolist()
        return [row[0] if len(row) == 1 else row for row in rows]

    columns = {name: np.empty(size * len(entries), object) for name in names}
    for name, column in columns.items():
        for k, value in enumerate(value for entry in entries for value in values(entry, name)):
            column[k] = value
    return columns
