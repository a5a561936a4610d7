"""Theory at every point of a grid: one that fails leaves the others intact."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from gcnlimit._runtime.progress import progress_bar
from gcnlimit.cli.app import spoken
from gcnlimit.cli.options import Grid
from gcnlimit.errors import GCNLimitError
from gcnlimit.sweeps.compute import STATUS_NAMES, compute, joined
from gcnlimit.sweeps.grid import Block
from gcnlimit.sweeps.producers import as_producer

_EXPLICIT, _SOLVED = 4096, 64  # points computed together, by explicit formulas and by fixed points
_SHOWN = 3


class Answer:
    """Fields at every point, beside the status of each and the reasons of those that failed."""

    def __init__(self, fields: dict[str, Any], errors: dict[int, str], grid: Grid) -> None:
        self._errors, self._grid = errors, grid
        self.status = np.array([STATUS_NAMES[int(code)] for code in fields["status"]])
        self.fields = {name: values for name, values in fields.items() if name != "status"}
        if len(errors) == grid.size and np.all(np.isnan(self.fields.get("test_accuracy", np.nan))):
            raise GCNLimitError(f"{errors[0]}{f' (all {grid.size} points failed)' if grid.size > 1 else ''}")

    def ending(self, form: str) -> dict[str, Any]:
        """Columns that say how each point ended: always for machines, in a table where a point failed."""
        if form == "table":
            return {"status": self.status} if self._errors else {}
        return {"status": self.status, "error": [self._errors.get(k) for k in range(self._grid.size)]}

    def report(self) -> None:
        """Say on standard error which points failed, and why."""
        if not self._errors:
            return
        click.echo(f"{len(self._errors)} of {self._grid.size} points failed or did not converge:", err=True)
        for place, reason in list(self._errors.items())[:_SHOWN]:
            click.echo(f"  {self._grid.place(place)}: {spoken(reason)}", err=True)
        if len(self._errors) > _SHOWN:
            click.echo(f"  and {len(self._errors) - _SHOWN} others; --output json has the reason of each", err=True)


def at_points(what: str, grid: Grid, **settings: Any) -> Answer:
    """Answers of `predict` or `bayes_optimal` at every point of the grid."""
    producer = as_producer(what)
    common = {name: value for name, value in grid.inputs.items() if name in (producer.allowed or ())} | settings
    columns = grid.columns()
    solved = producer.network and not np.all(np.isinf(columns.get("reg", common.get("reg", np.inf))))
    step = _SOLVED if solved else _EXPLICIT
    parts = []
    with progress_bar(what, grid.size, None if solved else False) as bar:
        for start in range(0, grid.size, step):
            size = min(step, grid.size - start)
            arrays = {name: values[start : start + size] for name, values in columns.items()}
            parts.append(compute(producer, Block(0, start, size, common, arrays)))
            bar.advance(size)
    found = joined(parts)
    return Answer(found.fields, found.errors, grid)
