"""The curves of ``benchmarks.cost`` as pictures: dots are measured, lines have the fitted exponents over the range fitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

PICTURES = {
    "cost": (
        ("prediction at finite reg", "depth $K$"),
        ("batch of three layers", "points solved together"),
    ),
    "simulation-scaling": (
        ("simulated graph, time", "nodes $N$"),
        ("simulated graph, memory", "nodes $N$"),
        ("scatter of the accuracy", "nodes $N$"),
    ),
}
LABELS = {
    "s": "seconds",
    "MiB": "MiB allocated at the peak",
    "": "standard deviation between graphs",
}
COLORS = ("#0072B2", "#D55E00")


def draw(curves: list[dict[str, Any]], folder: Path) -> list[Path]:
    """One file for each picture."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    paths = []
    for name, panels in PICTURES.items():
        figure = Figure(figsize=(3.7 * len(panels), 3.4), layout="constrained")
        FigureCanvasAgg(figure)
        for ax, (start, label) in zip(figure.subplots(1, len(panels)), panels, strict=True):
            _panel(ax, [curve for curve in curves if curve["what"].startswith(start)], start, label)
        paths.append(folder / f"{name}.png")
        figure.savefig(paths[-1], dpi=110)
    return paths


def _panel(ax: Any, curves: list[dict[str, Any]], title: str, label: str) -> None:
    for color, curve in zip(COLORS, curves, strict=False):
        x, y = np.array(curve["x"]), np.array(curve["y"])
        ax.errorbar(x, y, y * np.array(curve.get("relative", 0.0)), fmt="o", color=color, capsize=3)
        line = x[x >= curve["first"]]
        middle = np.exp(
            np.mean(np.log(y[x >= curve["first"]])) - curve["exponent"] * np.mean(np.log(line))
        )
        graph = curve["what"].removeprefix(title).removeprefix(", ").partition(",")[0]
        ax.plot(
            line,
            middle * line ** curve["exponent"],
            color=color,
            label=f"{graph} {curve['exponent']:.2f}".strip(),
        )
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set(xscale="log", yscale="log", xlabel=label, ylabel=LABELS[curves[0]["unit"]])
    ax.set_xticks(curves[0]["x"], [f"{value:g}" for value in curves[0]["x"]])
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set_title(title, fontsize=10)
    ax.legend(frameon=False, title="exponent", fontsize=9, title_fontsize=9)
