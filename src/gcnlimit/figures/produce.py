"""Compute the numbers of figures: theory here, dots in parallel processes, with one progress bar."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gcnlimit.errors import ParameterError
from gcnlimit.figures.base import PaperFigure
from gcnlimit.figures.dots import Simulation

if TYPE_CHECKING:
    import xarray

__all__ = ["produce"]


def produce(
    figures: Sequence[PaperFigure], folder: Path, simulation: Simulation | None, *, progress: bool | None = None
) -> dict[str, xarray.Dataset]:
    """Numbers of the figures by name; finished dots are kept in the folder, from which an interrupted run resumes."""
    with _progress(len(figures), progress) as note:
        datasets = {}
        for figure in figures:
            note(figure.name, 0.0)
            datasets[figure.name] = figure.data(_prepared(figure, folder, simulation))
            note(figure.name, 1.0)
    return datasets


def _prepared(figure: PaperFigure, folder: Path, simulation: Simulation | None) -> Simulation | None:
    """The simulation with its store in the folder, if the figure has dots."""
    if simulation is None or not figure.simulated:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ParameterError(f"{folder} cannot be made ({problem}); choose another folder") from None
    return dataclasses.replace(simulation, store=folder / "dots.sqlite")


@contextlib.contextmanager
def _progress(total: int, show: bool | None) -> Iterator[Callable[[str, float], None]]:
    """Function to call with the name of the figure in hand and the fraction of it just done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    shown = sys.stderr.isatty() if show is None else show
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not shown) as bar:
        task = bar.add_task("figures", total=total)
        yield lambda name, done: bar.update(task, description=name, advance=done)
