"""``gcnlimit simulate``."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from gcnlimit.cli.options import Grid, data_options, graph_options, json_option, network_options
from gcnlimit.cli.output import show

__all__ = ["command"]


@click.command("simulate", no_args_is_help=True)
@data_options
@network_options
@graph_options
@click.option("--trials", type=int, default=10, show_default=True, help="Number of graphs.")
@click.option("--workers", type=int, help="Number of processes [default: one for each processor].")
@json_option
def command(  # noqa: PLR0917
    nodes: int, degree: float, seed: int, trials: int, workers: int | None, as_json: bool, **given: Any
) -> None:
    """Train a network on sampled graphs and measure it: means, and standard errors over the trials.

    Any number of data and network may be a list a,b,c or a range first:last:count; every combination is measured.

    \b
    Examples:
      gcnlimit simulate --alpha 4 --lam 1 --mu 2 --rho 0.1 --t 1.488 --symmetrize
      gcnlimit simulate --alpha 4 --lam 1 --mu 2 --rho 0.1 --c 1,1 --loss logistic --reg 0.1,1,10 --nodes 3000 --json
    """
    from gcnlimit.simulation.simulate import simulate

    grid = Grid(given)
    data, gcn = grid.problem()
    measured = simulate(data, gcn, nodes, degree, trials, seed, workers=workers)
    columns, errors = grid.columns(), measured.standard_error.as_dict()
    for name, value in measured.as_dict().items():
        columns |= {name: value, f"{name}_error": errors[name]} if as_json else {name: _beside(value, errors[name])}
    title = f"Measured on {measured.trials} graphs of {nodes} nodes, degree {degree:g} (means and standard errors)"
    show(columns, grid.size, title=title, as_json=as_json)


def _beside(value: Any, error: Any) -> Any:
    """Means and their standard errors as texts."""
    pairs = zip(np.ravel(value).tolist(), np.ravel(error).tolist(), strict=True)
    return np.array([f"{v:.5g} ± {e:.1g}" for v, e in pairs])
