"""``gcnlimit sweep``: a sweep read from a TOML file, its answer written as NetCDF, CSV or Parquet."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gcnlimit._runtime.extras import need
from gcnlimit.cli.options import FILE, POSITIVE, file_argument, option, plot_option
from gcnlimit.cli.output import as_text, check_plot, draw, say_first
from gcnlimit.errors import GCNLimitError, ParameterError, check_writable, writing
from gcnlimit.parameters import build_filter, check_names, filter_choices, filter_names, spaced

if TYPE_CHECKING:
    import xarray

_TABLES = ("data", "network", "simulation", "tune", "solver", "axes")
_RANGE = ("start", "stop", "num", "scale")
_FORMATS = {".nc": "h5netcdf", ".csv": "pandas", ".parquet": "pyarrow"}
"""Endings, and the package that writes each."""
_STORE = "File that keeps finished points.  [default: FILE with the ending .sqlite]"


@click.command("sweep", no_args_is_help=True)
@file_argument
@option("--resume", "Continue with the points that the store already has.", is_flag=True)
@option("--workers", "Number of processes.", type=POSITIVE)
@option("--out", "Write the answer to a .nc, .csv or .parquet file.", type=FILE)
@plot_option
@option("--store", _STORE, type=FILE)
def command(
    *, file: str, resume: bool, out: Path | None, plot: Path | None, store: Path | None, **who: Any
) -> None:
    """Compute every combination of the axes written in a TOML FILE; an interrupted run can be resumed.

    If a point fails, the others are still computed; the exit status is 2 only if every point failed.

    \b
    Example of a file:
      what = "predict"
      [data]
      alpha = 4
      mu = 2.0
      rho = 0.1
      [network]
      symmetrize = true
      [axes]
      lam = {start = 0, stop = 2, num = 21}
      t = [0.5, 1.0, 1.5]

    \b
    Examples:
      gcnlimit sweep accuracy.toml --out accuracy.nc
      gcnlimit sweep accuracy.toml --resume --workers 8 --out accuracy.csv
    """
    from gcnlimit.sweeps.run import sweep

    asked = read_file(Path(file))
    store = store or Path(file).with_suffix(".sqlite")
    if out is not None:
        check_writable(out, _FORMATS)
        package = _FORMATS[out.suffix.lower()]
        if package == "pyarrow" and importlib.util.find_spec(package) is None:
            raise GCNLimitError("a Parquet file needs pyarrow; install it with pip install pyarrow")
        need("--out", "sweep", package)
    check_plot(plot, asked["axes"])
    if store.exists() and store.stat().st_size and not resume:
        raise ParameterError(f"the store {store} exists; add --resume, or name another by --store")
    try:
        answer = sweep(**asked, store=store, **who)
    except KeyboardInterrupt as stop:
        stop.add_note("give the same command with --resume")
        raise
    if out is not None:
        _export(answer, out)
    # the longest axis runs along the curves, the other has colours
    x, hue, *_ = (*sorted(answer.sizes, key=lambda name: -answer.sizes[name]), None)
    draw(plot, lambda panel: answer.test_accuracy.plot.line(x=x, hue=hue, ax=panel))
    _report(answer, f"kept in {store}" + (f", written to {out}" if out else ""))


def read_file(path: Path) -> dict[str, Any]:
    """Arguments of `sweep` that a file asks for; what it computes is named as the verb or as the function."""
    try:
        content = tomllib.loads(path.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"cannot read {path}: {error}") from None
    except ValueError as error:
        raise ParameterError(f"{path} is not valid TOML: {error}") from None
    check_names(content, ("what", *_TABLES), f"a key of {path.name}")
    tables = {table: content.get(table, {}) for table in _TABLES}
    for table, values in tables.items():
        if not isinstance(values, dict):
            raise ParameterError(f"{table} in {path.name} must be a table: begin it by [{table}]")
    axes = {name: _axis(name, value) for name, value in tables.pop("axes").items()}
    fixed: dict[str, Any] = {}
    for values in tables.values():
        fixed |= {name: value for name, value in values.items() if name not in axes}
    if "filter" in fixed:
        fixed["filter"] = _filter(fixed["filter"])
    what = content.get("what", "")
    what = "bayes_optimal" if what == "bayes" else what
    return {"what": what, "fixed": fixed, "axes": axes}


def _axis(name: str, value: Any) -> Any:
    """Values of an axis: a list, a range ``{start, stop, num}``, or for filters a list of tables."""
    if name == "filter":
        return _filters(value)
    if not isinstance(value, dict):
        return value
    check_names(value, _RANGE, f"a key of the range of {name}")
    for key in _RANGE[:3]:
        if key not in value:
            example = "{start = 0, stop = 2, num = 21}"
            raise ParameterError(f"the range of {name} lacks {key}; write {example}")
    return spaced(name, *(value[key] for key in _RANGE if key in value))


def _filters(value: Any) -> dict[str, Any]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ParameterError("the axis filter must be a list of tables such as {c = [1.0, 1.0]}")
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
        raise ParameterError(f"filter = {table!r} must be a table such as {{t = 1.0}}")
    check_names(table, ("name", *filter_names()[1:]), "a key of a filter")
    parameters = {name: value for name, value in table.items() if name != "name"}
    if len(parameters) - ("depth" in parameters) != 1:
        raise ParameterError(f"a filter has one parameter among {filter_choices()}, got {table!r}")
    return build_filter(parameters)


def _export(dataset: xarray.Dataset, path: Path) -> None:
    """Write the dataset whole (NetCDF), or as a table of one row for each point (CSV, Parquet)."""
    from gcnlimit.sweeps.run import as_netcdf

    ending = path.suffix.lower()
    with writing(path) as new:
        if ending == ".nc":
            new.write_bytes(as_netcdf(dataset))
        else:
            table = dataset.to_dataframe().reset_index()
            words = table.select_dtypes(exclude="number") if ending == ".csv" else ()
            table = table.assign(**{name: words[name].map(as_text) for name in words})
            (table.to_csv if ending == ".csv" else table.to_parquet)(new, index=False)


def _report(answer: xarray.Dataset, where: str) -> None:
    """Say what became of the points, and why some failed."""
    reasons = [str(reason) for reason in answer.error.values.flat if reason]
    click.echo(f"{answer.error.size} points, {len(reasons)} failed; {where}")
    lines = [f"  {reason}" for reason in sorted(set(reasons))]
    say_first(lines, "other reasons, in the variable error of the answer")
    if len(reasons) == answer.error.size:
        raise SystemExit(2)
