"""A sweep as files: read from TOML and turned into the arguments of `sweep`; its answer written as NetCDF, CSV or Parquet."""

from __future__ import annotations

import importlib.util
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gcnlimit._runtime.extras import need
from gcnlimit.errors import GCNLimitError, ParameterError, writing
from gcnlimit.parameters import build_filter, check_names, filter_choices, filter_names, spaced, suggestion
from gcnlimit.sweeps.producers import PRODUCERS

if TYPE_CHECKING:
    import xarray

_TABLES = ("data", "network", "simulation", "tune", "solver", "axes")  # their names are those of `sweep`
_RANGE = ("start", "stop", "num", "scale")
_FORMATS = {".nc": "h5netcdf", ".csv": "pandas", ".parquet": "pyarrow"}
"""Endings, and the package that writes each."""


@dataclass(frozen=True)
class SweepFile:
    """What a file asks for; `fixed` and `axes` are those of `sweep`."""

    what: str
    fixed: dict[str, Any]
    axes: dict[str, Any]
    store: Path
    out: Path | None


def read_file(path: str | os.PathLike[str]) -> SweepFile:
    """Read a sweep file; paths in it are relative to its folder, and the store defaults to ``FILE.sqlite``."""
    path = Path(path)
    content = _load(path)
    check_names(content, ("what", "store", "out", *_TABLES), f"a key of {path.name}")
    tables = {table: content.get(table, {}) for table in _TABLES}
    for table, values in tables.items():
        if not isinstance(values, dict):
            raise ParameterError(f"{table} in {path.name} must be a table: write [{table}] on a line of its own")
    axes = {name: _axis(name, value) for name, value in tables.pop("axes").items()}
    fixed = {name: value for table in tables.values() for name, value in table.items() if name not in axes}
    if "filter" in fixed:
        fixed["filter"] = _filter(fixed["filter"])
    store = path.parent / _text(content, "store", f"{path.stem}.sqlite")
    out = path.parent / _text(content, "out", "") if "out" in content else None
    return SweepFile(_what(content, path.name), fixed, axes, store, out)


def _what(content: Mapping[str, Any], file: str) -> str:
    """What to compute, by the name of the function or of the verb."""
    what = content.get("what", "")
    what = "bayes_optimal" if what == "bayes" else what
    if what not in PRODUCERS:
        near = suggestion(what, PRODUCERS)
        raise ParameterError(f"what = {what!r} in {file} must be one of {', '.join(PRODUCERS)}; {near}".rstrip("; "))
    return str(what)


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError:
        raise ParameterError(f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"cannot read {path}: {error}") from None
    except ValueError as error:
        raise ParameterError(f"{path} is not valid TOML: {error}") from None


def _text(content: Mapping[str, Any], name: str, default: str) -> str:
    value = content.get(name, default)
    if not isinstance(value, str):
        raise ParameterError(f"{name} must be the name of a file, got {value!r}")
    return value


def _axis(name: str, value: Any) -> Any:
    """Values of an axis: a list, a range ``{start, stop, num}``, or for filters a list of tables."""
    if name == "filter":
        return _filters(value)
    if not isinstance(value, dict):
        return value
    check_names(value, _RANGE, f"a key of the range of {name}")
    missing = [key for key in _RANGE[:3] if key not in value]
    if missing:
        raise ParameterError(f"the range of {name} lacks {missing[0]}; write {{start = 0, stop = 2, num = 21}}")
    return spaced(name, value["start"], value["stop"], value["num"], value.get("scale", "linear"))


def _filters(value: Any) -> dict[str, Any]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ParameterError("the axis filter must be a list of tables such as {name = 'two layers', c = [1.0, 1.0]}")
    filters: dict[str, Any] = {}
    for item in value:
        filter = _filter(item)
        name = str(item.get("name", filter))
        if name in filters:
            raise ParameterError(f"two filters are named {name!r}; give each its own name")
        filters[name] = filter
    return filters


def _filter(table: Any) -> Any:
    """Filter of a table of one parameter (or c and depth)."""
    if not isinstance(table, dict):
        raise ParameterError(f"filter = {table!r} must be a table such as {{t = 1.0}} or {{c = [1.0, 1.0]}}")
    check_names(table, ("name", *filter_names()[1:]), "a key of a filter")
    parameters = {name: value for name, value in table.items() if name != "name"}
    if len(parameters) - ("depth" in parameters) != 1:
        raise ParameterError(f"a filter has one parameter among {filter_choices()}, got {table!r}")
    return build_filter(parameters)


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
    if path.is_dir() or not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise ParameterError(f"cannot export to {path}; choose a file in a folder that exists and can be written")
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
            if path.suffix == ".nc":
                dataset.to_netcdf(partial, engine="h5netcdf")
            elif path.suffix == ".csv":
                dataset.to_dataframe().reset_index().to_csv(partial, index=False)
            else:
                dataset.to_dataframe().reset_index().to_parquet(partial, engine="pyarrow", index=False)
            partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
