"""``gcnlimit simulate``."""

from __future__ import annotations

import math
from typing import Any

import click
import numpy as np

from gcnlimit._values import Array
from gcnlimit.cli import options
from gcnlimit.cli.options import Grid, option
from gcnlimit.cli.output import failures, output_options, report, show, show_grid
from gcnlimit.numerics.gaussian import normal_deviate
from gcnlimit.results.performance import Measurement, Performance

_FEW = 3  # trials whose own scatter says little
_ROUNDING = 1e-12  # of a mean: a smaller scatter of the trials is rounding
_STREAMED = "Store no features: draw them again when needed (always so on a GPU)."


@click.command("simulate", no_args_is_help=True)
@options.data_options
@options.network_options
@options.other_graph_options
@options.graph_options
@option("--trials", "Number of graphs.", type=int, default=10)
@option("--workers", "Number of processes [default: one per core].", type=int)
@options.device_option
@option("--streamed", _STREAMED, is_flag=True)
@output_options
def command(
    *, nodes: int, degree: float, seed: int, trials: int, form: str, **arguments: Any
) -> None:
    """Train a network on sampled graphs, and compare it with the exact prediction for infinite graphs.

    It prints mean and standard error over the trials, and z, the distance to the prediction in standard errors, corrected
    for the small number of trials by Student's law. With 1 to 3 trials the standard errors of the test accuracy and of
    its logarithm are the predicted ones, where the theory has them. Small and sparse graphs deviate more: the prediction
    is for infinite graphs of large degree. Ctrl-C prints the trials done so far, and exits with status 130.

    Any number of data and network may be a list a,b,c or a range first:last:count; every combination is measured. If a
    point fails, the others are still measured: the reason is written to standard error, and the exit status is 2 only if
    every point failed.

    \b
    Examples:
      gcnlimit simulate --alpha 4 --lam 1 --mu 2 --rho 0.1 --t 1.488 --symmetrize
      gcnlimit simulate --alpha 4 --lam 1 --mu 2 --rho 0.1 --classes 0.2,0.8 --t 1 --degree 60 --loss logistic --reg 1
      gcnlimit simulate --alpha 4 --lam 1 --mu 2 --rho 0.1 --c 1,1 --loss logistic --reg 0.1,1,10 --nodes 3000 --json
      gcnlimit simulate --alpha 4 --lam 1 --mu 2 --rho 0.1 --t 1.488 --nodes 1000000 --trials 1 --device cuda
    """
    from gcnlimit.simulation.simulate import simulate

    grid = Grid(arguments)
    exact = grid.exact()
    how: dict[str, Any] = {name: arguments[name] for name in ("workers", "device")}
    how |= {"to": grid.other(), "throw": grid.size == 1, "streamed": arguments["streamed"] or None}
    measured = simulate(*grid.problem(), nodes, degree, trials, seed, **how)
    reasons = failures(grid, measured, exact)
    predicted = _expected_errors(grid, nodes, measured.trials) if measured.trials <= _FEW else None
    fields = _beside(measured, exact, grid.size, predicted)
    if form == "table":
        graphs = f"{measured.trials} graph{'s' * (measured.trials > 1)}"
        title = f"Measured on {graphs} of {nodes} nodes, degree {degree:g}"
        title += ", and exact for infinite graphs"
        if predicted is not None and np.isfinite(predicted).any():
            title += "; error of the test accuracy: predicted"
        show(_long(grid, fields), form, title, keys=len(grid.axes) + 1)
        report(grid, reasons)
    else:
        wide = {name + end: fields[name][end] for name in fields for end in fields[name]}
        beside = {"nodes": nodes, "degree": degree, "trials": measured.trials, "seed": seed}
        show_grid(grid, wide, form, "", measured, **beside)
    if measured.trials < trials:
        done = f"{measured.trials} of {trials} trials were done"
        click.echo(f"interrupted: {done}, and are shown", err=True)
        raise SystemExit(130)


def _expected_errors(grid: Grid, nodes: int, trials: int) -> Array:
    """Standard error of the test accuracy by theory at each combination; NaN where the theory has none."""
    from gcnlimit.theory.scatter import expected_error

    each = map(grid.at, range(grid.size))
    return np.array([expected_error(*p.problem(), nodes, trials, to=p.other()) for p in each])


def _beside(
    measured: Measurement, exact: Performance, size: int, predicted: Array | None = None
) -> dict[str, dict[str, Any]]:
    """Mean of each field, its standard error, the prediction, and the deviation from it.

    Accuracies at other thresholds follow where they differ from that of the network. `predicted` is the standard error of
    the test accuracy by theory, NaN where there is none.
    """
    fields = {}
    for name in exact.distinct():
        sources = measured, measured.standard_error, exact
        value, error, wanted = (np.broadcast_to(np.ravel(getattr(x, name)), size) for x in sources)
        by_theory = np.full(size, np.nan)
        if predicted is not None and name in {"test_accuracy", "log_test_error"}:
            by_theory = predicted / np.exp(wanted) if name == "log_test_error" else predicted
        error = np.where(np.isnan(by_theory), error, by_theory)
        # a scatter within rounding, as of a quantity that is always 0, has no meaning
        rounding = _ROUNDING * np.maximum(1.0, np.abs(value))
        meaningful = (error > rounding) & np.isfinite(error) & np.isfinite(wanted)
        quotient = np.divide(value - wanted, error, out=np.full(size, np.nan), where=meaningful)
        z = normal_deviate(quotient, np.where(np.isnan(by_theory), measured.trials - 1, np.inf))
        fields[name] = {"": value, "_error": error, "_exact": wanted, "_z": z}
    return fields


def _long(grid: Grid, fields: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """One line for each combination and field."""
    axes = grid.columns()
    columns: dict[str, Any] = {name: np.repeat(axes[name], len(fields)) for name in axes}
    columns["what"] = np.tile([name.replace("_", " ") for name in fields], grid.size)
    styles = {"mean": ".5g", "error": ".1g", "exact": ".5g", "z": "+.1f"}
    for title, style in styles.items():
        end = "" if title == "mean" else f"_{title}"
        values = np.stack([field[end] for field in fields.values()], axis=1).ravel().tolist()
        texts = (format(v, style) if math.isfinite(v) else "?-"[math.isnan(v)] for v in values)
        columns[title] = list(texts)
    return columns
