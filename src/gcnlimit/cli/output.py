"""How results are shown: a readable table for people, JSON for machines."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import click
import numpy as np
import numpy.typing as npt

__all__ = ["show"]


def show(columns: Mapping[str, Any], size: int, *, title: str, as_json: bool) -> None:
    """Print named columns; a column is one value for all rows, or an array of `size` of them."""
    full = {name: np.broadcast_to(np.asarray(values).reshape(-1), size) for name, values in columns.items()}
    if as_json:
        rows = [{name: _plain(values[i]) for name, values in full.items()} for i in range(size)]
        click.echo(json.dumps(rows if size != 1 else rows[0], indent=1, allow_nan=False))
    else:
        _table(full, title)


def _table(columns: dict[str, npt.NDArray[Any]], title: str) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for name in columns:
        table.add_column(name.replace("_", " "), justify="right")
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(_cell(value) for value in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 200
    console.print(table)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) >= 1e-4 or value == 0 else f"{value:.3e}"
    return str(value)


def _plain(value: Any) -> Any:
    """A value that JSON knows; infinity is the string "inf"."""
    value = value.item() if isinstance(value, np.generic) else value
    return str(value) if isinstance(value, float) and math.isinf(value) else value
