"""``gcnlimit tune``."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from gcnlimit.cli.options import Grid, data_options, json_option, network_options
from gcnlimit.cli.output import show

__all__ = ["command"]

_START = {"t": 1.0, "theta": 0.0, "c": 1.0, "reg": np.inf}


class Interval(click.ParamType[tuple[str, tuple[float, float]]]):
    """``NAME=LOW:HIGH``; bounds may be ``inf``."""

    name = "name=low:high"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, tuple[float, float]]:
        """Parse the text."""
        if isinstance(value, tuple):
            return value
        try:
            name, bounds = value.split("=")
            low, high = (float(bound) for bound in bounds.split(":"))
        except ValueError:
            self.fail(f"{value!r} is not of the form NAME=LOW:HIGH, for example t=0:10", param, ctx)
        return name.strip(), (low, high)


@click.command("tune", no_args_is_help=True)
@data_options
@network_options
@click.option("--free", type=Interval(), multiple=True, required=True, help="What to tune and where; may be repeated.")
@click.option("--per-layer", is_flag=True, help="Free the strength c of each layer by itself.")
@json_option
def command(free: tuple[Any, ...], per_layer: bool, as_json: bool, **given: Any) -> None:
    """The best network of a family: its diffusion time, residual strengths, PageRank parameter or regularization.

    \b
    Examples:
      gcnlimit tune --alpha 4 --lam 1 --mu 2 --rho 0.1 --symmetrize --free t=0:10
      gcnlimit tune --alpha 4 --lam 0.5:2:7 --mu 2 --rho 0.1 --free c=-inf:inf --depth 3
    """
    from gcnlimit.choose.tune import TuneStatus, tune
    from gcnlimit.theory.bayes import bayes_optimal

    intervals: dict[str, Any] = dict(free)
    for name in intervals:
        if name in _START and (given[name] is None or name == "reg"):
            given[name] = np.array([_START[name]])
    grid = Grid(given)
    data, gcn = grid.problem()
    if per_layer:
        if "c" not in intervals:
            raise click.UsageError("--per-layer goes with --free c=LOW:HIGH.")
        intervals["c"] = [intervals["c"]] * gcn.filter.c.shape[-1]  # type: ignore[attr-defined]
    best = tune(data, gcn, intervals)
    columns: dict[str, Any] = dict(grid.columns())
    for name, values in best.parameters.items():
        columns |= _spell(name, np.reshape(values, (grid.size, -1)))
        columns |= _spell(f"curvature_{name}", np.reshape(best.curvature[name], (grid.size, -1)))
    columns["test_accuracy"] = best.prediction.test_accuracy
    columns["bayes_optimal"] = np.broadcast_to(bayes_optimal(data).test_accuracy, np.shape(best.status))
    columns["status"] = np.array([TuneStatus(int(s)).name.lower() for s in np.ravel(best.status)])
    show(columns, grid.size, title="The best network of the family", as_json=as_json)


def _spell(name: str, values: Any) -> dict[str, Any]:
    """One column, or one for each layer."""
    if values.shape[1] == 1:
        return {name: values[:, 0]}
    return {f"{name}{k}": column for k, column in enumerate(values.T, start=0 if "coef" in name else 1)}
