"""How results are shown: a readable table for people, JSON or CSV for machines."""

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
from typing import Any

import click
import numpy as np

from gcnlimit._runtime.progress import Bar, progress_bar
from gcnlimit.results.performance import Performance
from gcnlimit.results.text import table

_THRESHOLDS = ("best_accuracy", "balanced_accuracy", "roc_auc")
_FEW = 64  # points that the library solves in one batch


def output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--output`` and ``--json``; the verb is given `form`, one of table, csv, json."""

    @click.option(
        "--output",
        type=click.Choice(["table", "csv", "json"]),
        default="table",
        show_default=True,
        help="Form of the answer.",
    )
    @click.option("--json", "as_json", is_flag=True, help="The same as --output json.")
    @functools.wraps(function)
    def verb(*, output: str, as_json: bool, **given: Any) -> Any:
        return function(form="json" if as_json else output, **given)

    return verb


def waiting(title: str, points: int = 1) -> AbstractContextManager[Bar]:
    """Moving bar on a terminal, for what may take seconds; the library itself counts the batches of many points."""
    return progress_bar(title, None, None if points < _FEW else False)


def fields_of(found: Performance) -> dict[str, Any]:
    """Fields by name; those of other thresholds only where they change the accuracy, as on unequal classes."""
    fields = found.as_dict()
    if np.array_equal(found.best_accuracy, found.test_accuracy, equal_nan=True):
        return {name: values for name, values in fields.items() if name not in _THRESHOLDS}
    return fields


def show(
    columns: Mapping[str, Any],
    size: int,
    *,
    title: str,
    form: str,
    inputs: Mapping[str, Any] | None = None,
    keys: int = 0,
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
