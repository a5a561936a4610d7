"""Pictures of what a verb printed; a file that could not be written is refused before anything is computed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from gcnlimit._runtime.extras import need
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError, writing
from gcnlimit.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

plot_option = click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also draw the answer to this file (.png, .pdf, .svg).",
)


def check_file(name: str, path: Path) -> None:
    """Refuse a file that cannot be written."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise ParameterError(f"{name} {path} cannot be written: the folder {folder} does not exist")
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise ParameterError(f"{name} {path} cannot be written; choose another file")


def check_plot(path: Path | None, axes: Mapping[str, Any], *, fewest: int = 1, most: int = 2) -> None:
    """Refuse a picture that cannot be drawn: no Matplotlib, another kind of file, too few or too many axes."""
    if path is None:
        return
    need("--plot", "figures", "matplotlib")
    from matplotlib.backend_bases import FigureCanvasBase

    kinds = sorted(FigureCanvasBase.get_supported_filetypes())
    if path.suffix.removeprefix(".").lower() not in kinds:
        endings = ", ".join(f".{kind}" for kind in kinds)
        raise ParameterError(f"--plot {path} cannot be written: its name must end in one of {endings}")
    check_file("--plot", path)
    if not fewest <= len(axes) <= most:
        wanted = f"{fewest} to {most}" if fewest < most else f"{most}"
        given = f" ({', '.join(axes)})" if axes else "; give one as a range first:last:count"
        raise ParameterError(f"--plot draws over {wanted} options with several values, got {len(axes)}{given}")


def draw(path: Path, paint: Callable[[Axes], object]) -> None:
    """Draw to a file, without a screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    paint(figure.add_subplot())
    with writing(path):
        figure.savefig(path, dpi=200)


def beside_ceiling(found: Result, ceiling: Array) -> Callable[[Axes], object]:
    """Painter of the test accuracy; over one axis, with the Bayes-optimal one as a dashed curve."""

    def paint(panel: Axes) -> None:
        found.plot(axes=panel)
        if np.ndim(ceiling) == 1:
            (curve,) = panel.lines
            curve.set_label("this network")
            panel.plot(curve.get_xdata(), ceiling, "--", color="black", label="Bayes-optimal")
            panel.legend(frameon=False)

    return paint
