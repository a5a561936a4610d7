"""Compute the numbers of figures: theory here, dots in parallel processes, with one progress bar."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gcnlimit._threads import cores
from gcnlimit.errors import ParameterError
from gcnlimit.figures.base import PaperFigure
from gcnlimit.figures.dots import Simulation
from gcnlimit.sweeps.execute import process_pool

if TYPE_CHECKING:
    import xarray

__all__ = ["produce"]


def produce(
    figures: Sequence[PaperFigure], folder: Path, simulation: Simulation | None, *, progress: bool | None = None
) -> Iterator[tuple[PaperFigure, xarray.Dataset]]:
    """Each figure with its numbers; finished dots are kept in the folder, from which an interrupted run resumes."""
    with (
        _progress(figures, simulation is not None, progress) as (bar, advance),
        _simulation(folder, simulation) as ready,
    ):
        for figure in figures:
            bar(figure.name)
            dots = replace(ready, advance=advance) if ready and figure.simulated else None
            dataset = figure.data(dots)
            if not figure.simulated or dots is None:
                advance()
            yield figure, dataset


@contextlib.contextmanager
def _simulation(folder: Path, simulation: Simulation | None) -> Iterator[Simulation | None]:
    """The simulation with its store in the folder, and one pool of processes for all figures."""
    if simulation is None:
        yield None
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ParameterError(f"{folder} cannot be made ({problem}); choose another folder") from None
    with process_pool(cores()) as pool:
        yield replace(simulation, store=folder / "dots.sqlite", executor=pool)


@contextlib.contextmanager
def _progress(
    figures: Sequence[PaperFigure], dots: bool, show: bool | None
) -> Iterator[tuple[Callable[[str], None], Callable[[], None]]]:
    """Functions to call with the name of the figure in hand, and after each of its curves."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    shown = sys.stderr.isatty() if show is None else show
    columns = (TextColumn("{task.description:22}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    total = sum(figure.curves if dots and figure.simulated else 1 for figure in figures)
    with Progress(*columns, console=Console(stderr=True), disable=not shown) as bar:
        task = bar.add_task("figures", total=total)
        yield (lambda name: bar.update(task, description=name)), (lambda: bar.advance(task))
