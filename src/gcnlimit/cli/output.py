"""How results are shown: a table for people, JSON or CSV for machines, a picture; and which points have no answer."""

from __future__ import annotations

import csv
import functools
import io
import json
import math
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from gcnlimit._runtime.extras import need
from gcnlimit._runtime.progress import Bar, progress_bar
from gcnlimit._values import Array
from gcnlimit.cli.options import Grid
from gcnlimit.errors import GCNLimitError, ParameterError, check_writable, writing
from gcnlimit.results.performance import LOST, Measurement, Prediction, Status
from gcnlimit.results.result import Result
from gcnlimit.results.show import table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FORMS = click.Choice(["table", "csv", "json"])
_FEW = 64  # points that the library solves in one batch
_SHOWN = 3  # failures that are listed

FILE = click.Path(dir_okay=False, path_type=Path)
plot_option = click.option("--plot", type=FILE, help="Also save a plot to this file (.png, .pdf, .svg).")


def output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--output`` and ``--json``; the verb is given `form`, one of table, csv, json."""

    @click.option("--output", type=_FORMS, default="table", show_default=True, help="Format of the output.")
    @click.option("--json", "as_json", is_flag=True, help="The same as --output json.")
    @functools.wraps(function)
    def verb(*, output: str, as_json: bool, **given: Any) -> Any:
        return function(form="json" if as_json else output, **given)

    return verb


def waiting(title: str, points: int = 1) -> AbstractContextManager[Bar]:
    """Moving bar on a terminal, for what may take seconds; the library itself counts the batches of many points."""
    return progress_bar(title, None, None if points < _FEW else False)


def show(
    columns: Mapping[str, Any], size: int, *, title: str, form: str, inputs: dict[str, Any] | None = None, keys: int = 0
) -> None:
    """Print named columns; a column is one value for all rows, or an array of `size` of them.

    JSON (a list of rows) and CSV begin each row with the `inputs` and have every digit; a table has six, and repeats
    the first `keys` columns where it must be broken.
    """
    flat = {name: np.asarray(values).reshape(-1) for name, values in columns.items()}
    full = {name: np.broadcast_to(values, size).tolist() for name, values in flat.items()}
    if form == "table":
        cells = {name.replace("_", " "): list(map(_cell, values)) for name, values in full.items()}
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        click.echo(f"{title}\n\n{table(cells, width=width, keys=keys)}")
        return
    full = {name: [value] * size for name, value in (inputs or {}).items()} | full
    rows = zip(*([_plain(value) for value in values] for values in full.values()), strict=True)
    click.echo((_csv if form == "csv" else _json)(list(full), rows), nl=False)


def show_grid(grid: Grid, columns: dict[str, Any], *, title: str, form: str, **beside: Any) -> None:
    """Print columns over a grid, beside its axes and inputs, and `beside`, inputs of the verb alone."""
    inputs = grid.inputs | beside
    show(grid.columns() | columns, grid.size, title=title, form=form, inputs=inputs, keys=len(grid.axes))


def _json(names: list[str], rows: Any) -> str:
    lines = [json.dumps(dict(zip(names, row, strict=True)), allow_nan=False) for row in rows]
    return "[\n " + ",\n ".join(lines) + "\n]\n" if lines else "[]\n"


def _csv(names: list[str], rows: Any) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([json.dumps(value) if isinstance(value, list) else value for value in row])
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{value:.6g}" if abs(value) >= 1e-4 or value == 0 else f"{value:.3e}"


def _plain(value: Any) -> Any:
    """A value that JSON has: infinity is the string "inf", what is missing is null."""
    if isinstance(value, np.ndarray | tuple):
        return [_plain(item) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if value is None or isinstance(value, str | int | float | bool | list) else str(value)


class Failures:
    """Status of every point of a grid, and the reasons of those that failed; raises if all of them did."""

    def __init__(self, grid: Grid, found: Prediction | Measurement) -> None:
        self._grid = grid
        self._status = [Status(code) for code in np.broadcast_to(found.status, grid.shape).ravel().tolist()]
        lost = np.isnan(np.broadcast_to(found.test_accuracy, grid.shape)).ravel()
        failed = [k for k, status in enumerate(self._status) if status > Status.CONVERGED or lost[k]]
        self._reasons = {place: self._reason(place) for place in failed}
        if lost.all():
            all_of_them = f" (all {grid.size} points failed)" if grid.size > 1 else ""
            raise GCNLimitError(f"{self._reasons[0]}{all_of_them}")

    def _reason(self, place: int) -> str:
        """Sentence of the status; where a point is refused, the one that names the parameter at fault."""
        status = self._status[place]
        if status is Status.REFUSED:
            return self._grid.refusal(place) or status.message
        return status.message if status > Status.CONVERGED else LOST

    def columns(self, form: str) -> dict[str, Any]:
        """How each point ended: always for machines, in a table where a point failed."""
        if form == "table" and not self._reasons:
            return {}
        status = {"status": [status.name.lower() for status in self._status]}
        errors = [self._reasons.get(place) for place in range(self._grid.size)]
        return status if form == "table" else status | {"error": errors}

    def report(self) -> None:
        """Say on standard error which points failed, and why."""
        count = len(self._reasons)
        if count:
            click.echo(f"{count} of {self._grid.size} points failed or did not converge:", err=True)
        for place, reason in list(self._reasons.items())[:_SHOWN]:
            where = self._grid.place(place)
            click.echo(f"  {where}: {reason}" if where else f"  {reason}", err=True)
        if count > _SHOWN:
            click.echo(f"  and {count - _SHOWN} more; --output json has the reason of each", err=True)


def check_plot(path: Path | None, axes: Mapping[str, Any], *, fewest: int = 1, most: int = 2) -> None:
    """Refuse a picture that cannot be drawn: no Matplotlib, another kind of file, too few or too many axes."""
    if path is None:
        return
    need("--plot", "figures", "matplotlib")
    from matplotlib.backend_bases import FigureCanvasBase

    check_writable(path, [f".{kind}" for kind in sorted(FigureCanvasBase.get_supported_filetypes())])
    if not fewest <= len(axes) <= most:
        wanted = f"{fewest} to {most}" if fewest < most else f"{most}"
        given = f" ({', '.join(axes)})" if axes else "; give one as a range first:last:count"
        raise ParameterError(f"--plot draws over {wanted} options with several values, got {len(axes)}{given}")


def draw(path: Path, paint: Callable[[Axes], object]) -> None:
    """Draw to a file, without a screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    paint(figure.add_subplot())
    with writing(path):
        figure.savefig(path, dpi=200)


def draw_beside(path: Path | None, found: Result, ceiling: Array) -> None:
    """Draw the test accuracy, if that is asked for; over one axis, with the Bayes-optimal one as a dashed curve."""

    def paint(panel: Axes) -> None:
        found.plot(axes=panel)
        if np.ndim(ceiling) == 1:
            (curve,) = panel.lines
            curve.set_label("this network")
            panel.plot(curve.get_xdata(), ceiling, "--", color="black", label="Bayes-optimal")
            panel.legend(frameon=False)

    if path is not None:
        draw(path, paint)
