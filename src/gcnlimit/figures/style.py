"""One style for all figures: sizes for print, colours that the colour-blind can distinguish, symbols as in the paper."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import xarray
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from gcnlimit.figures.base import PaperFigure, Settings, dot_error
from gcnlimit.results.pictures import write_picture

BLACK = "#000000"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""The palette of Okabe and Ito, without its yellow, which is too light for lines."""
MARKERS = ("o", "s", "^", "D", "v")
Panels = Iterator[tuple[Axes, xarray.Dataset]]
TEST_ACCURACY = r"$\mathrm{Acc}_\mathrm{test}$"

_SYMBOLS = {"alpha": r"\alpha", "lam": r"\lambda", "mu": r"\mu", "rho": r"\rho"}
_RC: Any = {
    "font.size": 8,  # of ticks, legends and notes
    "axes.labelsize": 10,
    "axes.titlesize": 9,
    "legend.frameon": False,
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
    with rc_context(_RC):
        write_picture(canvas, path, dpi=160, metadata=undated)
    return path


def draw_dots(panel: Axes, dataset: xarray.Dataset, name: str, **style: Any) -> None:
    """Simulated dots with their errors, over their one coordinate, if the numbers have them."""
    if f"{name}_simulated" in dataset:
        simulated = dataset[f"{name}_simulated"]
        (place,) = simulated.dims
        error, _ = dot_error(dataset, name)
        style |= {"linestyle": "none", "capsize": 2, "elinewidth": 0.8, "zorder": 3}
        panel.errorbar(dataset[place], simulated, error, **style)


def draw_curve(
    panel: Axes, dataset: xarray.Dataset, name: str, label: str, *, line: str = "-", **style: Any
) -> None:
    """A quantity along its one coordinate, and its dots; with a marker, the legend shows that, too."""
    marker = style.pop("marker", "")
    curve = dataset[name]
    (place,) = curve.dims
    panel.plot(dataset[place], curve, line, color=style["color"], label="" if marker else label)
    if marker:
        panel.plot([], [], line, marker=marker, label=label, **style)
    draw_dots(panel, dataset, name, marker=marker or "o", **style)


def each_panel(axes: Sequence[Axes], dataset: xarray.Dataset, along: str) -> Panels:
    """A panel for each value of a dimension, with the numbers there."""
    return zip(axes, (dataset.isel({along: k}) for k in range(dataset.sizes[along])), strict=True)


def named(**values: float) -> str:
    r"""Values of parameters as titles and legends write them.

    >>> print(named(lam=1.5, r=math.inf))
    $\lambda=1.5,\ r=\infty$
    """
    pairs = []
    for name, value in values.items():
        number = r"\infty" if math.isinf(value) else f"{value:g}"
        pairs.append(f"{_SYMBOLS.get(name, name)}={number}")
    return "$" + r",\ ".join(pairs) + "$"


def titles(settings: Settings) -> list[str]:
    """Titles of the panels of which each has its own setting."""
    rows = zip(*settings.values(), strict=True)
    return [named(**dict(zip(settings, row, strict=True))) for row in rows]


def finish(
    axes: Sequence[Axes], titles: Sequence[str], *, columns: int, ylabel: str = TEST_ACCURACY
) -> None:
    """Write a title above each panel, the quantity beside each row, and one legend below all, where it covers nothing."""
    entries: dict[str, Any] = {}
    for panel, title in zip(axes, titles, strict=True):
        panel.set_title(title)
        if panel.get_subplotspec().is_first_col():  # type: ignore[union-attr]
            panel.set_ylabel(ylabel)
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure = axes[0].figure
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns)


def shades(count: int) -> list[Any]:
    """Colours of an ordered quantity, light to dark, without the palest of viridis."""
    return [colormaps["viridis"](0.88 * (1 - k / max(count - 1, 1))) for k in range(count)]
