"""``gcnlimit sweep``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gcnlimit.cli.output import FILE, check_plot, draw, plot_option
from gcnlimit.errors import ParameterError

if TYPE_CHECKING:
    import xarray

_SHOWN = 3


@click.command("sweep", no_args_is_help=True)
@click.argument("file", type=FILE)
@click.option("--resume", is_flag=True, help="Continue with the points that the store already has.")
@click.option("--workers", type=click.IntRange(min=1), help="Number of processes.")
@click.option("--scheduler", metavar="ADDRESS", help="Compute on the Dask cluster of that scheduler.")
@click.option("--out", type=FILE, help="Write the answer to a .nc, .csv or .parquet file.")
@plot_option
@click.option("--store", type=FILE, help="File that keeps finished points.  [default: FILE with the ending .sqlite]")
def command(*, file: Path, resume: bool, out: Path | None, plot: Path | None, store: Path | None, **who: Any) -> None:
    """Compute every combination of the axes written in a TOML FILE; interrupted, it resumes.

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
    from gcnlimit.sweeps import sweep
    from gcnlimit.sweeps.file import check_format, export, read_file

    asked = read_file(file)
    out = out or asked.out
    store = store or asked.store
    if out is not None:
        check_format(out)
    check_plot(plot, asked.axes)
    if store.exists() and not resume:
        raise ParameterError(f"the store {store} exists; add --resume to continue it, or name another with --store")
    try:
        answer = sweep(asked.what, axes=asked.axes, fixed=asked.fixed, store=store, **who)
    except KeyboardInterrupt as stop:
        stop.add_note("give the same command with --resume")
        raise
    if out is not None:
        export(answer, out)
    if plot is not None:
        x, hue, *_ = (*sorted(answer.sizes, key=lambda name: -answer.sizes[name]), None)
        draw(plot, lambda panel: answer.test_accuracy.plot.line(x=x, hue=hue, ax=panel))
    _report(answer, f"kept in {store}" + (f", written to {out}" if out else ""))


def _report(answer: xarray.Dataset, where: str) -> None:
    """Say what became of the points, and why some failed."""
    reasons = [str(reason) for reason in answer.error.values.flat if reason]
    click.echo(f"{answer.error.size} points, {len(reasons)} failed; {where}")
    different = sorted(set(reasons))
    for reason in different[:_SHOWN]:
        click.echo(f"  {reason}", err=True)
    if len(different) > _SHOWN:
        others = len(different) - _SHOWN
        click.echo(f"  and {others} other reasons, in the variable error of the answer", err=True)
    if len(reasons) == answer.error.size:
        raise SystemExit(2)
