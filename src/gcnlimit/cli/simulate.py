"""``gcnlimit simulate``."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from gcnlimit.cli.options import Grid, data_options, graph_options, json_option, network_options
from gcnlimit.cli.output import show

__all__ = ["command"]

Columns = dict[str, Any]


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
    """Train a network on sampled graphs and measure it, beside the exact prediction for infinite graphs.

    Means and standard errors over the trials, and z, the difference from the prediction in standard errors (none
    where the trials do not differ). Smaller graphs deviate more: the prediction holds for large nodes and degree.

    Any number of data and network may be a list a,b,c or a range first:last:count; every combination is measured.

    \b
    Examples:
      gcnlimit simulate --alpha 4 --lam 1 --mu 2 --rho 0.1 --t 1.488 --symmetrize
      gcnlimit simulate --alpha 4 --lam 1 --mu 2 --rho 0.1 --c 1,1 --loss logistic --reg 0.1,1,10 --nodes 3000 --json
    """
    from gcnlimit.simulation.simulate import simulate
    from gcnlimit.theory.predict import predict

    grid = Grid(given)
    data, gcn = grid.problem()
    exact = predict(data, gcn, throw=False).as_dict()
    measured = simulate(data, gcn, nodes, degree, trials, seed, workers=workers)
    fields = _beside(measured.as_dict(), measured.standard_error.as_dict(), exact, grid.size)
    if as_json:
        wide = {name + end: column for name, columns in fields.items() for end, column in columns.items()}
        show(grid.columns() | wide, grid.size, title="", as_json=True)
        return
    title = f"Measured on {measured.trials} graphs of {nodes} nodes, degree {degree:g}, and exact for infinite graphs"
    show(_long(grid, fields), grid.size * len(fields), title=title, as_json=False)


def _beside(measured: Columns, errors: Columns, exact: Columns, size: int) -> dict[str, dict[str, Any]]:
    """Of each field: the mean, its standard error, the prediction, and the difference in standard errors."""
    fields = {}
    for name, mean in measured.items():
        value, error, wanted = (np.broadcast_to(np.ravel(x), size) for x in (mean, errors[name], exact[name]))
        known = (error > 0) & np.isfinite(error) & np.isfinite(wanted)
        z = np.divide(value - wanted, error, out=np.zeros(size), where=known)
        none = np.full(size, None)
        sure = np.where(np.isnan(wanted), none, wanted)
        fields[name] = {"": value, "_error": error, "_exact": sure, "_z": np.where(known, z, none)}
    return fields


def _long(grid: Grid, fields: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """One line for each combination and field."""
    columns: dict[str, Any] = {name: np.repeat(values, len(fields)) for name, values in grid.columns().items()}
    columns["what"] = np.tile([name.replace("_", " ") for name in fields], grid.size)
    for title, end, style in (
        ("mean", "", ".5g"),
        ("error", "_error", ".1g"),
        ("exact", "_exact", ".5g"),
        ("z", "_z", "+.1f"),
    ):
        table = np.stack([field[end] for field in fields.values()], axis=1).ravel().tolist()
        columns[title] = np.array(["-" if value is None else format(value, style) for value in table])
    return columns
