"""Pictures of what a verb printed; a file that could not be written is refused before anything is computed."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from gcnlimit._runtime.extras import need
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError, writing
from gcnlimit.parameters import long_name

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
        raise ParameterError(f"{name} {path} cannot be written: it is a folder, or not permitted; choose another file")


def check_plot(path: Path | None, axes: Mapping[str, Any], *, fewest: int = 1, most: int = 2) -> None:
    """Refuse a picture that cannot be drawn: no Matplotlib, another kind of file, too few or too many axes."""
    if path is None:
        return
    need("--plot", "figures", "matplotlib")
    from matplotlib.backend_bases import FigureCanvasBase

    kinds = FigureCanvasBase.get_supported_filetypes()
    if path.suffix.removeprefix(".").lower() not in kinds:
        raise ParameterError(
            f"--plot {path} cannot be written: its name must end in one of .{', .'.join(sorted(kinds))}"
        )
    check_file("--plot", path)
    if not fewest <= len(axes) <= most:
        wanted = f"{fewest} to {most}" if fewest < most else f"{most}"
        raise ParameterError(
            f"--plot draws over {wanted} options with several values, got {len(axes)}"
            + (f" ({', '.join(axes)})" if axes else "; give one as a range first:last:count")
        )


def draw(path: Path, paint: Callable[[Axes], object]) -> None:
    """Draw to a file, without a screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    paint(figure.add_subplot())
    with writing(path):
        figure.savefig(path, dpi=200)


def curves(axes: Mapping[str, Array], fields: Mapping[str, Array], label: str) -> Callable[[Axes], object]:
    """Painter of fields, each of the shape of the axes: over the longest axis, a curve for each value of the other."""
    names = sorted(axes, key=lambda name: -len(axes[name]))
    x = np.asarray(axes[names[0]], float)
    moved = {name: np.moveaxis(values, list(axes).index(names[0]), -1) for name, values in fields.items()}

    def paint(panel: Axes) -> None:
        for style, (field, values) in zip(("-", "--", ":"), moved.items(), strict=False):
            for number, row in enumerate(values.reshape(-1, x.size)):
                tail = f", {names[1]} = {axes[names[1]][number]:g}" if len(names) > 1 else ""
                panel.plot(x, row, style, color=f"C{number}", label=field.replace("_", " ") + tail)
        if x.min() > 0 and x.max() / x.min() > 100 and math.isfinite(x.max()):
            panel.set_xscale("log")
        panel.set_xlabel(f"{names[0]}, {long_name(names[0])}")
        panel.set_ylabel(label)
        panel.legend(fontsize="small", frameon=False)

    return paint
