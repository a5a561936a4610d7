"""One style for all figures: sizes for print, colours that the colour-blind can distinguish, symbols as in the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from scipy.interpolate import CubicSpline

from gcnlimit.errors import writing
from gcnlimit.figures.base import PaperFigure, dot_error

BLACK = "#000000"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""The palette of Okabe and Ito, without its yellow, which is too light for lines."""
MARKERS = ("o", "s", "^", "D", "v")
TEST_ACCURACY = r"$\mathrm{Acc}_\mathrm{test}$"

_RC: Any = {
    "font.size": 9,
    "axes.labelsize": 10,
    "axes.titlesize": 9,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "mathtext.fontset": "cm",
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "pdf.fonttype": 42,
    "svg.hashsalt": "gcnlimit",
}


def picture(figure: PaperFigure, dataset: xarray.Dataset) -> Figure:
    """Draw a figure from its numbers; no screen is needed."""
    with rc_context(_RC):
        canvas = Figure(figsize=figure.size, layout="constrained")
        FigureCanvasAgg(canvas)
        axes = canvas.subplots(*figure.panels, squeeze=False).ravel().tolist()
        figure.draw(dataset, axes)
    return canvas


def save(canvas: Figure, path: Path) -> Path:
    """Write the picture; the same numbers give the same file."""
    undated = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(path.suffix, {})
    with writing(path), rc_context(_RC):
        canvas.savefig(path, dpi=160, metadata=undated)
    return path


def draw_dots(panel: Axes, dataset: xarray.Dataset, name: str, **style: Any) -> None:
    """Simulated dots with their errors, over their one coordinate, if the numbers have them."""
    if f"{name}_simulated" in dataset:
        simulated = dataset[f"{name}_simulated"]
        (place,) = simulated.dims
        error, _ = dot_error(dataset, name)
        panel.errorbar(dataset[place], simulated, error, linestyle="none", capsize=2, elinewidth=0.8, zorder=3, **style)


def draw_smooth(panel: Axes, x: xarray.DataArray, y: xarray.DataArray, **style: Any) -> None:
    """A cubic curve through few, precise points."""
    known = np.isfinite(y.values)
    if known.sum() > 3:
        fine = np.linspace(x.values[known][0], x.values[known][-1], 100)
        panel.plot(fine, CubicSpline(x.values[known], y.values[known])(fine), **style)


def name_value(symbol: str, value: float) -> str:
    """A regularization or a depth as the legends write it."""
    return rf"${symbol}=\infty$" if math.isinf(value) else f"${symbol}={value:g}$"


def legend_below(axes: Sequence[Axes], *, columns: int) -> None:
    """One legend for all panels, under them, where it covers nothing."""
    entries: dict[str, Any] = {}
    for panel in axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    axes[0].figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns)


def shades(count: int) -> list[Any]:
    """Colours of an ordered quantity, light to dark, without the palest of viridis."""
    return [colormaps["viridis"](0.88 * (1 - k / max(count - 1, 1))) for k in range(count)]


def label_panels(axes: Sequence[Axes], titles: Sequence[str]) -> None:
    """Write the fixed parameters above each panel."""
    for panel, title in zip(axes, titles, strict=True):
        panel.set_title(title)
