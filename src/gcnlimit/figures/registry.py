"""All figures by name: compute and write them, and say how theory and simulation agree and which statements hold."""

from __future__ import annotations

import contextlib
import hashlib
import runpy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from gcnlimit._runtime.processes import process_pool
from gcnlimit._runtime.progress import progress_bar
from gcnlimit._runtime.threads import cores
from gcnlimit._values import Array
from gcnlimit._version import __version__
from gcnlimit.errors import ParameterError, cannot_write, writing
from gcnlimit.figures import best, depth, diffusion, strength
from gcnlimit.figures.base import PaperFigure, Simulation, dot_error
from gcnlimit.figures.style import picture, save
from gcnlimit.numerics.gaussian import normal_deviate
from gcnlimit.simulation.backend import backend_of
from gcnlimit.sweeps.run import as_netcdf

_DIGEST = 16  # bytes of a checksum
FIGURES = {
    figure.name: figure
    for figure in (
        best.ACCURACY,
        strength.ACCURACY,
        best.RATES,
        depth.AGAINST_DEPTH,
        diffusion.DIRECTED,
        diffusion.SYMMETRIZED,
        depth.AGAINST_TIME,
        best.TIME,
        best.GAP,
        strength.SYMMETRY,
        strength.TRAIN_ERROR,
    )
}
"""The figures of the paper."""


def find(name: str) -> PaperFigure:
    """Figure of that name, or the ``FIGURE`` of a file of your own, ``NAME.py``, which is run.

    >>> find("introduction").panels
    (1, 1)
    """
    if name in FIGURES:
        return FIGURES[name]
    if not name.endswith(".py"):
        choices = f"choose one of {', '.join(FIGURES)}, or give a file NAME.py of your own"
        raise ParameterError(f"there is no figure {name!r}; {choices}")
    if not Path(name).is_file():
        raise ParameterError(f"there is no file {name}; give a Python file that defines FIGURE")
    figure = runpy.run_path(name).get("FIGURE")
    if not isinstance(figure, PaperFigure):
        raise ParameterError(f"{name} defines no FIGURE; see the page on adding a figure")
    return figure


def write(
    figure: PaperFigure, dataset: xarray.Dataset, folder: Path, form: str = "png"
) -> tuple[Path, Path]:
    """Write numbers and picture side by side, ``NAME.nc`` and ``NAME.png``, and return their paths."""
    names = {"figure": figure.name, "title": figure.title, "gcnlimit_version": __version__}
    dataset = dataset.assign_attrs(names)
    numbers = folder / f"{figure.name}.nc"
    _make(folder)
    content = as_netcdf(dataset)
    with writing(numbers) as new:
        new.write_bytes(content + _checksum(content))  # HDF5 does not mind what follows its end
    return numbers, save(picture(figure, dataset), numbers.with_suffix(f".{form}"))


def _make(folder: Path) -> None:
    with cannot_write(folder):
        folder.mkdir(parents=True, exist_ok=True)


def read(figure: PaperFigure, path: Path) -> xarray.Dataset:
    """Numbers of a figure, from the file that `write` made."""
    name = figure.name
    wanted = f"give the file {name}.nc that gcnlimit figure {name} wrote"
    if not path.is_file():
        raise ParameterError(f"there is no file {path}; {wanted}")
    try:
        # HDF5 may read a damaged file as other numbers, or for ever
        content = path.read_bytes()
        if content[-_DIGEST:] != _checksum(content[:-_DIGEST]):
            raise OSError("it is damaged, or of another program")
        dataset = xarray.load_dataset(path, engine="h5netcdf")
    except OSError as problem:
        raise ParameterError(f"{path} cannot be read as NetCDF ({problem}); {wanted}") from None
    stored = dataset.attrs.get("figure")
    if stored != name:
        raise ParameterError(f"{path} holds the figure {stored}, not {name}; {wanted}")
    return dataset


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()


def produce(
    figures: Sequence[PaperFigure], folder: Path, simulation: Simulation | None
) -> Iterator[tuple[PaperFigure, xarray.Dataset]]:
    """Each figure with its numbers; finished dots are kept in the folder, from which an interrupted run resumes."""
    total = sum(figure.curves if simulation and figure.dots else 1 for figure in figures)
    with contextlib.ExitStack() as running:
        bar = running.enter_context(progress_bar("figures", total, unit="curves"))
        if simulation is not None:
            backend_of(simulation.device)
            _make(folder)
            # one pool: processes take seconds to start, and figures are many
            pool = running.enter_context(process_pool(cores()))
            how: Any = {"executor": pool, "advance": lambda: bar.advance(1)}
            simulation = replace(simulation, store=folder / "dots.sqlite", **how)
        for figure in figures:
            bar.title = figure.name
            dataset = figure.numbers(simulation)
            if simulation is None or figure.dots is None:
                bar.advance(1)
            yield figure, dataset


def z_scores(dataset: xarray.Dataset) -> Array:
    """Distances of simulated dots to the prediction, in standard errors, for all dots of a figure that have one.

    The dots of a quantity ``x`` are ``x_simulated``; ``x_predicted`` is the theory there. Their error is the one that theory
    expects, ``x_expected_error``. Where it has none, it is that of the trials, ``x_standard_error``: of few trials it is itself
    uncertain, the quotient follows Student's law, and is returned as the normal deviate of the same probability.
    """
    scores = [np.empty(0)]
    for name in (str(name) for name in dataset if str(name).endswith("_simulated")):
        base = name.removesuffix("_simulated")
        error, freedom = dot_error(dataset, base)
        quotient = (dataset[name] - dataset[f"{base}_predicted"]) / error
        z = normal_deviate(*(part.values for part in xarray.broadcast(quotient, freedom)))
        scores.append(z[np.isfinite(z)])
    return np.concatenate(scores)


def agreement(datasets: Mapping[str, xarray.Dataset]) -> list[dict[str, Any]]:
    """One row for each figure: number of dots, worst and mean distance to the theory in standard errors."""
    rows = []
    for name, dataset in datasets.items():
        z = np.abs(z_scores(dataset))
        worst, mean = (f"{z.max():.2f}", f"{z.mean():.2f}") if z.size else ("", "")
        rows.append({"figure": name, "dots": z.size, "worst |z|": worst, "mean |z|": mean})
    return rows


def statements(datasets: Mapping[str, xarray.Dataset]) -> list[dict[str, Any]]:
    """One row for each statement of the paper that a figure shows."""
    rows = []
    for name, dataset in datasets.items():
        for claim in find(name).statements(dataset):
            verdict = {"verdict": "holds" if claim.holds else "fails", "number": claim.number}
            rows.append({"figure": name, "statement": claim.text} | verdict)
    return rows


def write_agreement(datasets: Mapping[str, xarray.Dataset], folder: Path) -> Path:
    """Write both tables as ``agreement.md``."""
    page = folder / "agreement.md"
    tables = [_markdown(rows) for rows in (agreement(datasets), statements(datasets))]
    with writing(page) as new:
        new.write_text("\n\n".join(tables) + "\n", encoding="utf-8")
    return page


def _markdown(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return ""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    cells = [[str(cell).replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)
