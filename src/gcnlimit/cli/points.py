"""Points without an answer: the reason of each, while the others are shown."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from gcnlimit.cli.options import Grid
from gcnlimit.errors import GCNLimitError
from gcnlimit.results.performance import Measurement, Prediction, Status
from gcnlimit.sweeps.compute import LOST

_SHOWN = 3


class Failures:
    """Status of every point of a grid, and the reasons of those that failed; raises if all of them did."""

    def __init__(self, grid: Grid, found: Prediction | Measurement) -> None:
        self._grid = grid
        self._codes = np.broadcast_to(found.status, grid.shape).ravel().tolist()
        lost = np.isnan(np.broadcast_to(found.test_accuracy, grid.shape)).ravel()
        self.reasons = {
            place: self._reason(place)
            for place, code in enumerate(self._codes)
            if code > Status.CONVERGED or lost[place]
        }
        if lost.all():
            all_of_them = f" (all {grid.size} points failed)" if grid.size > 1 else ""
            raise GCNLimitError(f"{self.reasons[0]}{all_of_them}")

    def _reason(self, place: int) -> str:
        """Sentence of the status; where a point is refused, the one that names the parameter at fault."""
        code = Status(self._codes[place])
        if code is Status.REFUSED:
            return self._grid.refusal(place) or code.message
        return code.message if code > Status.CONVERGED else LOST

    def columns(self, form: str) -> dict[str, Any]:
        """How each point ended: always for machines, in a table where a point failed."""
        if form == "table" and not self.reasons:
            return {}
        status = {"status": [Status(code).name.lower() for code in self._codes]}
        errors = [self.reasons.get(place) for place in range(self._grid.size)]
        return status if form == "table" else status | {"error": errors}

    def report(self) -> None:
        """Say on standard error which points failed, and why."""
        if not self.reasons:
            return
        count = len(self.reasons)
        click.echo(f"{count} of {self._grid.size} points failed or did not converge:", err=True)
        for place, reason in list(self.reasons.items())[:_SHOWN]:
            where = self._grid.place(place)
            click.echo(f"  {where}: {reason}" if where else f"  {reason}", err=True)
        if count > _SHOWN:
            click.echo(f"  and {count - _SHOWN} more; --output json has the reason of each", err=True)
