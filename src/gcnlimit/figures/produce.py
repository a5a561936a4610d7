"""Compute the numbers of figures: theory here, dots in parallel processes, with one progress bar."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import xarray

from gcnlimit._processes import process_pool
from gcnlimit._progress import progress_bar
from gcnlimit._threads import cores
from gcnlimit.errors import ParameterError
from gcnlimit.figures.base import PaperFigure
from gcnlimit.figures.dots import Simulation
from gcnlimit.simulation.backend import backend_of

__all__ = ["produce"]


def produce(
    figures: Sequence[PaperFigure], folder: Path, simulation: Simulation | None
) -> Iterator[tuple[PaperFigure, xarray.Dataset]]:
    """Each figure with its numbers; finished dots are kept in the folder, from which an interrupted run resumes."""
    total = sum(figure.curves if simulation and figure.dots else 1 for figure in figures)
    with progress_bar("figures", total, unit="curves") as bar, _simulation(folder, simulation) as ready:
        for figure in figures:
            bar.rename(f"{figure.name:22}")
            counted = replace(ready, advance=lambda: bar.advance(1)) if ready and figure.dots else None
            dataset = figure.numbers(counted)
            if counted is None:
                bar.advance(1)
            yield figure, dataset


@contextlib.contextmanager
def _simulation(folder: Path, simulation: Simulation | None) -> Iterator[Simulation | None]:
    """The simulation with its store in the folder, and one pool of processes for all figures."""
    if simulation is None:
        yield None
        return
    backend_of(simulation.device)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ParameterError(f"{folder} cannot be made ({problem}); choose another folder") from None
    with process_pool(cores()) as pool:
        yield replace(simulation, store=folder / "dots.sqlite", executor=pool)
