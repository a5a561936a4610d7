"""How results are shown: a table for people, JSON or CSV for machines, a picture; and which points have no answer."""

from __future__ import annotations

import csv
import functools
import io
import json
import math
import shutil
import sys
import unicodedata
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from gcnlimit._runtime.extras import need
from gcnlimit._runtime.progress import is_terminal
from gcnlimit._values import Array
from gcnlimit.cli.options import Grid, Verb, option
from gcnlimit.errors import GCNLimitError, ParameterError, check_writable
from gcnlimit.graphs.columns import is_number
from gcnlimit.results.performance import LOST, Measurement, Prediction, Status
from gcnlimit.results.pictures import write_picture
from gcnlimit.results.result import Result, status_names
from gcnlimit.results.text import table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Columns = dict[str, Any]
Points = Prediction | Measurement
"""Results that say how each point ended."""

_FORMS = click.Choice(["table", "csv", "json"])
_SHOWN = 3  # failures that are listed
_SIGNS = ("=", "+", "-", "@")  # begin a formula


def output_options(function: Verb) -> Verb:
    """Add ``--output`` and ``--json``; the verb is given `form`, one of table, csv, json."""

    @option("--output", "Format of the output.", type=_FORMS, default="table")
    @option("--json", "The same as --output json.", "as_json", is_flag=True)
    @functools.wraps(function)
    def verb(*, output: str, as_json: bool, **arguments: Any) -> Any:
        return function(form="json" if as_json else output, **arguments)

    return verb


def show(columns: Columns, form: str, title: str = "", keys: int = 0, **inputs: Any) -> None:
    """Print named columns; a column is one value for all rows, or has one for each.

    JSON (a list of rows) and CSV begin each row with the `inputs` and have every digit; a table has six, and repeats
    the first `keys` columns where it must be broken.
    """
    flat = {name: np.ravel(values) for name, values in columns.items()}
    size = max((values.size for values in flat.values()), default=0)
    full = {name: np.broadcast_to(values, size).tolist() for name, values in flat.items()}
    if form == "table":
        cells = {name.replace("_", " "): list(map(_cell, values)) for name, values in full.items()}
        width = shutil.get_terminal_size().columns if is_terminal(sys.stdout) else None
        click.echo(f"{title}\n\n{table(cells, width=width, keys=keys)}")
        return
    full = {name: [value] * size for name, value in inputs.items()} | full
    rows = zip(*(map(_plain, values) for values in full.values()), strict=True)
    if form == "csv":
        click.echo(_csv(list(full), rows), nl=False)
        return
    lines = [json.dumps(dict(zip(full, row, strict=True)), allow_nan=False) for row in rows]
    click.echo("[\n " + ",\n ".join(lines) + "\n]" if lines else "[]")


def show_grid(
    grid: Grid, columns: Columns, form: str, title: str, answer: Points | None = None, **beside: Any
) -> None:
    """Print columns over a grid, beside its axes and inputs, and `beside`, inputs of the verb alone.

    With the `answer` it says how each point ended: always for machines, in a table where a point failed.
    """
    reasons = {} if answer is None else failures(grid, answer)
    if answer is not None and (reasons or form != "table"):
        columns["status"] = np.char.lower(status_names(Status, answer.status))
        if form != "table":
            columns["error"] = [reasons.get(place) for place in range(grid.size)]
    inputs = grid.inputs | beside
    show(grid.columns() | columns, form, title, len(grid.axes), **inputs)
    report(grid, reasons)


def _csv(names: list[str], rows: Any) -> str:
    text = io.StringIO()
    cells = ([json.dumps(v) if isinstance(v, list) else as_text(v) for v in r] for r in rows)
    csv.writer(text, lineterminator="\n").writerows([map(as_text, names), *cells])
    return text.getvalue()


def as_text(cell: Any) -> Any:
    """Cell that spreadsheets show and do not run: words that begin as a formula does have an apostrophe before them.

    >>> as_text("=1+1"), as_text("-1"), as_text(-1), as_text("a=b"), as_text(" =1")
    ("'=1+1", '-1', -1, 'a=b', "' =1")
    """
    if not isinstance(cell, str) or is_number(cell):
        return cell
    # signs of full width count, and spaces and what is not seen may stand before them
    seen = "".join(c for c in unicodedata.normalize("NFKC", cell) if c.isprintable()).lstrip()
    return f"'{cell}" if seen.startswith(_SIGNS) or not cell[:1].isprintable() else cell


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
    return value if isinstance(value, str | int | float | list | None) else str(value)


def failures(grid: Grid, answer: Points, exact: Points | None = None) -> dict[int, str]:
    """Why points of a grid failed or did not converge, by their place, or the `exact` ones; an error if all of them failed."""
    lost = np.isnan(np.broadcast_to(answer.test_accuracy, grid.shape)).ravel()
    worst = np.maximum(answer.status, (exact or answer).status)
    status = np.broadcast_to(worst, grid.shape).ravel()
    failed = np.flatnonzero(lost | (status > Status.CONVERGED)).tolist()
    reasons = {place: _reason(grid, place, Status(int(status[place]))) for place in failed}
    if lost.all():
        together = f" (all {grid.size} points failed)" if grid.size > 1 else ""
        raise GCNLimitError(reasons[0] + together)
    return reasons


def _reason(grid: Grid, place: int, status: Status) -> str:
    """Sentence of the status; where a point is refused or diverges, the one that names the parameter at fault."""
    from gcnlimit.theory.predict import ALONE, predict

    if status in (Status.REFUSED, Status.DIVERGED):
        try:
            predict(*grid.at(place).problem())
        except GCNLimitError as error:
            return str(error).removesuffix(f"; {ALONE}")
    return status.message if status > Status.CONVERGED else LOST


def report(grid: Grid, reasons: Mapping[int, str]) -> None:
    """Say on standard error which points failed, and why."""
    if reasons:
        click.echo(f"{len(reasons)} of {grid.size} points failed or did not converge:", err=True)
    axes = grid.columns().items()
    lines = []
    for place, reason in reasons.items():
        where = ", ".join(f"{name} = {values[place]:g}" for name, values in axes)
        lines.append(f"  {where}: {reason}" if where else f"  {reason}")
    say_first(lines, "more; --output json has the reason of each")


def say_first(lines: list[str], others: str) -> None:
    """Print the first lines on standard error, and how many there are beside them."""
    for line in lines[:_SHOWN]:
        click.echo(line, err=True)
    if len(lines) > _SHOWN:
        click.echo(f"  and {len(lines) - _SHOWN} {others}", err=True)


def check_plot(path: Path | None, axes: Collection[str], fewest: int = 1, most: int = 2) -> None:
    """Refuse a picture that cannot be drawn: no Matplotlib, another kind of file, too few or too many axes."""
    if path is None:
        return
    need("--plot", "figures", "matplotlib")
    from matplotlib.backend_bases import FigureCanvasBase

    kinds = sorted(FigureCanvasBase.get_supported_filetypes())
    check_writable(path, [f".{kind}" for kind in kinds])
    if not fewest <= len(axes) <= most:
        named = f" ({', '.join(axes)})" if axes else "; give one as a range first:last:count"
        told = f"--plot draws over {fewest} or {most} options with several values,"
        raise ParameterError(f"{told} got {len(axes)}{named}")


def draw(path: Path | None, paint: Callable[[Axes], object]) -> None:
    """Draw to a file, if one is given, without a screen."""
    if path is None:
        return
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.6), layout="constrained")
    paint(figure.add_subplot())
    write_picture(figure, path, dpi=200)


def draw_beside(path: Path | None, answer: Result, ceiling: Array) -> None:
    """Draw the test accuracy; over one axis, with the Bayes-optimal one as a dashed curve."""

    def paint(panel: Axes) -> None:
        answer.plot(axes=panel)
        if np.ndim(ceiling) == 1:
            (curve,) = panel.lines
            curve.set_label("this network")
            panel.plot(curve.get_xdata(), ceiling, "--", color="black", label="Bayes-optimal")
            panel.legend(frameon=False)

    draw(path, paint)
