"""``gcnlimit compare``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from gcnlimit.cli import options
from gcnlimit.cli.options import Grid, option
from gcnlimit.cli.output import check_plot, draw, output_options, show

if TYPE_CHECKING:
    from gcnlimit.choose.compare import Entry


@click.command("compare", no_args_is_help=True)
@options.data_options
@option("--depth", "Layers of the residual networks.", type=options.POSITIVE, default=4)
@option("--order", "Order of the best polynomial.", type=int, default=12)
@options.symmetrize_option
@options.plot_option
@output_options
def command(
    *, depth: int, order: int, symmetrize: bool, plot: Path | None, form: str, **arguments: Any
) -> None:
    """Families of networks, filter and regularization tuned (square loss), compared with the ceilings.

    \b
    Examples:
      gcnlimit compare --alpha 4 --lam 1 --mu 2 --rho 0.1
      gcnlimit compare --alpha 4 --lam 0.2:2:19 --mu 2 --rho 0.1 --plot compare.png
    """
    from gcnlimit.choose.compare import compare

    grid = Grid(arguments)
    check_plot(plot, grid.axes, fewest=0, most=1)
    comparison = compare(grid.data(), depth=depth, order=order, symmetrize=symmetrize)
    methods, entries = comparison.methods, comparison.entries
    columns: dict[str, Any] = {n: np.tile(v, len(methods)) for n, v in grid.columns().items()}
    columns["method"] = np.repeat(methods, grid.size)
    columns["test_accuracy"] = comparison.test_accuracy
    columns["log_test_error"] = np.ravel([entry.log_test_error for entry in entries])
    columns["gap"] = comparison.gap
    if form == "table":
        columns["chosen"] = np.concatenate([entry.chosen for entry in entries])
    else:
        columns |= _parameters(entries, grid.size)
    draw(plot, lambda panel: comparison.plot(axes=panel))
    inputs = grid.inputs | {"depth": depth, "order": order, "symmetrize": symmetrize}
    title = "Filter and regularization at their best"
    show(columns, form, title, len(grid.axes) + 1, **inputs)


def _parameters(entries: Sequence[Entry], size: int) -> dict[str, Any]:
    """Chosen parameters, one column each, with every digit; None where a method does not have it."""
    names = dict.fromkeys(name for entry in entries for name in entry.parameters)
    columns = {name: np.full((len(entries), size), None) for name in names}
    for k, entry in enumerate(entries):
        for name, values in entry.parameters.items():
            for i, row in enumerate(np.reshape(values, (size, -1)).tolist()):
                columns[name][k, i] = row[0] if len(row) == 1 else row
    return columns
