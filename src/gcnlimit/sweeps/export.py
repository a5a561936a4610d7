"""Datasets as files: NetCDF, CSV or Parquet, by the ending of the name."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING

from gcnlimit._runtime.extras import need
from gcnlimit.errors import GCNLimitError, ParameterError, writing

if TYPE_CHECKING:
    import xarray

_FORMATS = {".nc": "h5netcdf", ".csv": "pandas", ".parquet": "pyarrow"}
"""Endings, and the package that writes each."""


def check_format(path: str | os.PathLike[str]) -> None:
    """Refuse, before anything is computed, a file that could not be written afterwards.

    >>> check_format("answer.xlsx")
    Traceback (most recent call last):
    gcnlimit.errors.ParameterError: cannot export to answer.xlsx; the name must end in .nc, .csv or .parquet
    """
    path = Path(path)
    package = _FORMATS.get(path.suffix)
    if package is None:
        raise ParameterError(f"cannot export to {path}; the name must end in .nc, .csv or .parquet")
    if not path.absolute().parent.is_dir():
        raise ParameterError(f"cannot export to {path}; the folder {path.parent} does not exist")
    if path.is_dir() or not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise ParameterError(f"cannot export to {path}; it is a folder or cannot be written")
    if package == "pyarrow" and importlib.util.find_spec(package) is None:
        raise GCNLimitError(f"a {path.suffix} file needs {package}; install it with: pip install {package}")
    need(f"a {path.suffix} file", "sweep", package)


def export(dataset: xarray.Dataset, path: str | os.PathLike[str]) -> None:
    """Write the dataset whole (NetCDF), or as a table of one row for each point (CSV, Parquet).

    The file appears under its name only when it is complete.
    """
    check_format(path)
    path = Path(path)
    partial = path.with_name(f".{path.name}.part")
    try:
        with writing(path):
            _write(dataset, partial, path.suffix)
            partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _write(dataset: xarray.Dataset, path: Path, ending: str) -> None:
    if ending == ".nc":
        dataset.to_netcdf(path, engine="h5netcdf")
        return
    table = dataset.to_dataframe().reset_index()
    if ending == ".csv":
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path, engine="pyarrow", index=False)
