"""The files of a figure: its numbers as NetCDF, and its picture drawn from them."""

from __future__ import annotations

from pathlib import Path

import xarray

from gcnlimit._version import __version__
from gcnlimit.errors import ParameterError, writing
from gcnlimit.figures.base import PaperFigure
from gcnlimit.figures.style import picture, save

__all__ = ["read", "write"]

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
