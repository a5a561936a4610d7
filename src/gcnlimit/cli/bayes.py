"""``gcnlimit bayes``."""

from __future__ import annotations

from typing import Any

import click

from gcnlimit.cli.options import Grid, data_options, json_option
from gcnlimit.cli.output import show

__all__ = ["command"]


@click.command("bayes", no_args_is_help=True)
@data_options
@json_option
def command(as_json: bool, **given: Any) -> None:
    """Bayes-optimal performance: what the best of all algorithms reaches, knowing the model.

    \b
    Examples:
      gcnlimit bayes --alpha 4 --lam 1 --mu 2 --rho 0.1
      gcnlimit bayes --alpha 4 --lam 0:2:9 --mu 1,2 --rho 0.1 --json
    """
    from gcnlimit.theory.bayes import bayes_optimal

    grid = Grid(given)
    ceiling = bayes_optimal(grid.data())
    show(grid.columns() | ceiling.as_dict(), grid.size, title="Bayes-optimal performance", as_json=as_json)
