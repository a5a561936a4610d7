"""All figures by name; compute their numbers, dots in parallel processes, and write them as NetCDF and pictures."""

from __future__ import annotations

import contextlib
import runpy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import xarray

from gcnlimit._runtime.processes import process_pool
from gcnlimit._runtime.progress import progress_bar
from gcnlimit._runtime.threads import cores
from gcnlimit._version import __version__
from gcnlimit.errors import ParameterError, writing
from gcnlimit.figures.base import PaperFigure, Simulation
from gcnlimit.figures.own import classes, degrees, hard_phase, imbalance_colour
from gcnlimit.figures.paper import (
    depth,
    diffusion,
    diffusion_depth,
    gap,
    introduction,
    learning_rates,
    optimal_time,
    residual_strength,
    symmetry,
    train_error,
)
from gcnlimit.figures.style import picture, save
from gcnlimit.simulation.backend import backend_of

PAPER = {
    figure.name: figure
    for figure in (
        introduction.FIGURE,
        residual_strength.FIGURE,
        learning_rates.FIGURE,
        depth.FIGURE,
        diffusion.DIRECTED,
        diffusion.SYMMETRIZED,
        diffusion_depth.FIGURE,
        optimal_time.FIGURE,
        gap.FIGURE,
        symmetry.FIGURE,
        train_error.FIGURE,
    )
}
"""The figures of the paper."""
OWN = (classes.FIGURE, degrees.FIGURE, hard_phase.FIGURE, imbalance_colour.FIGURE)
FIGURES = PAPER | {figure.name: figure for figure in OWN}
"""And those of the project."""


def find(name: str) -> PaperFigure:
    """Figure of that name, or of a file of your own, ``NAME.py``.

    >>> find("introduction").panels
    (1, 1)
    """
    if name.endswith(".py"):
        return load(name)
    if name not in FIGURES:
        raise ParameterError(
            f"there is no figure {name!r}; choose one of {', '.join(FIGURES)}, or give a file NAME.py of your own"
        )
    return FIGURES[name]


def load(path: str | Path) -> PaperFigure:
    """Figure of a file outside the package: run it, and return its ``FIGURE``."""
    if not Path(path).is_file():
        raise ParameterError(f"there is no file {path}; give a Python file that defines FIGURE")
    figure = runpy.run_path(str(path)).get("FIGURE")
    if not isinstance(figure, PaperFigure):
        raise ParameterError(f"{path} defines no FIGURE of type PaperFigure; see the page on adding a figure")
    return figure


_KEY = "figure"


def write(figure: PaperFigure, dataset: xarray.Dataset, folder: Path, form: str = "png") -> tuple[Path, Path]:
    """Write numbers and picture side by side, ``NAME.nc`` and ``NAME.png``, and return their paths."""
    dataset = dataset.assign_attrs({_KEY: figure.name, "title": figure.title, "gcnlimit_version": __version__})
    numbers, drawing = folder / f"{figure.name}.nc", folder / f"{figure.name}.{form}"
    with writing(numbers):
        folder.mkdir(parents=True, exist_ok=True)
        dataset.to_netcdf(numbers, engine="h5netcdf")
    return numbers, save(picture(figure, dataset), drawing)


def read(figure: PaperFigure, path: Path) -> xarray.Dataset:
    """Numbers of a figure, from the file that `write` made."""
    if not path.exists():
        raise ParameterError(f"there is no file {path}; give a file {figure.name}.nc made here")
    try:
        dataset = xarray.load_dataset(path, engine="h5netcdf")
    except (OSError, ValueError) as problem:
        raise ParameterError(f"{path} cannot be read as NetCDF ({problem}); give a file NAME.nc made here") from None
    found = dataset.attrs.get(_KEY)
    if found != figure.name:
        raise ParameterError(f"{path} holds the figure {found}, not {figure.name}; give the file {figure.name}.nc")
    return dataset


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
