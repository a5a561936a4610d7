"""Plotly figures of the pictures, as plain dictionaries."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.explorer.picture import CEILING, Curve, Picture

# Okabe and Ito's colours, told apart by most colour-blind readers; lighter on a dark ground
_COLOURS = {
    "light": ("#0072b2", "#d55e00", "#009e73", "#cc79a7"),
    "dark": ("#56b4e9", "#f0a35e", "#4fd1a5", "#e6a5c9"),
}
_INK = {"light": "#1c2126", "dark": "#e6e9ec"}
_GRID = {"light": "#dfe3e6", "dark": "#3a4148"}


def figure(picture: Picture, theme: str = "light") -> dict[str, Any]:
    """Figure of a picture in a light or dark theme."""
    data = _map(picture, theme) if picture.map is not None else _curves(picture, theme)
    return {"data": data, "layout": _layout(picture, theme)}


def snapped(values: Sequence[Array]) -> list[float] | None:
    """Ends of an axis that hold all values, on round numbers: while these stay, only curves move and the axis is not redrawn.

    >>> snapped([np.array([0.61, 0.883]), np.array([0.91])])
    [0.55, 0.95]
    """
    finite = np.concatenate([v[np.isfinite(v)] for v in values]) if values else np.array([])
    if finite.size == 0:
        return None
    low, high = float(finite.min()), float(finite.max())
    span = max(high - low, 1e-3 * max(abs(low), abs(high)), 1e-12)
    unit = 10.0 ** math.floor(math.log10(span))
    step = unit / 2 if span / unit > 2 else unit / 10
    margin = 0.04 * span
    return [round(math.floor((low - margin) / step) * step, 12), round(math.ceil((high + margin) / step) * step, 12)]


def _curves(picture: Picture, theme: str) -> list[dict[str, Any]]:
    """Curves in colours of their own; the ceiling in that of the text, the same in every picture."""
    named = {curve.name: _INK[theme] for curve in picture.curves if curve.name == CEILING}
    others = [curve.name for curve in picture.curves if curve.name != CEILING]
    colours = named | dict(zip(others, itertools.cycle(_COLOURS[theme]), strict=False))
    return [_trace(curve, colours[curve.name], theme) for curve in picture.curves]


def _trace(curve: Curve, colour: str, theme: str) -> dict[str, Any]:
    x, y = (_numbers(v) or [None] for v in (curve.x, curve.y))  # no points: one gap, for the legend
    trace: dict[str, Any] = {"type": "scatter", "name": curve.name, "x": x, "y": y}
    if curve.style == "dots":
        marker = {"size": 9, "color": colour, "line": {"width": 1, "color": _INK[theme]}}
        trace |= {"mode": "markers", "marker": marker, "cliponaxis": False}
    elif curve.style == "area":
        trace |= {"mode": "lines", "line": {"width": 0}, "fill": "tozeroy", "fillcolor": "rgba(128,128,128,0.25)"}
    else:
        trace |= {
            "mode": "lines",
            "line": {"color": colour, "width": 2, "dash": {"dash": "dash", "dot": "dot"}.get(curve.style, "solid")},
        }
    if curve.error is not None:
        trace["error_y"] = {"type": "data", "array": _numbers(curve.error), "color": colour}
    return trace


def _map(picture: Picture, theme: str) -> list[dict[str, Any]]:
    assert picture.map is not None
    grid, ink = picture.map, _INK[theme]
    heat = {
        "type": "heatmap",
        "x": _numbers(grid.x),
        "y": _numbers(grid.y),
        "z": [_numbers(row) for row in grid.z],
        "colorscale": "Cividis",
        "colorbar": {"title": {"text": "gap"}, "thickness": 12, "tickfont": {"color": ink}},
        "hovertemplate": "lam %{x:.2f}, mu %{y:.2f}: gap %{z:.4f}<extra></extra>",
    }
    here = {
        "type": "scatter",
        "mode": "markers",
        "name": "here",
        "x": [grid.point[0]],
        "y": [grid.point[1]],
        "marker": {"size": 13, "symbol": "cross", "color": "#ffffff", "line": {"width": 2, "color": "#000000"}},
        "showlegend": False,
        "hoverinfo": "skip",
    }
    return [heat, here]


def _layout(picture: Picture, theme: str) -> dict[str, Any]:
    ink, grid = _INK[theme], _GRID[theme]
    axis = {"gridcolor": grid, "zerolinecolor": grid, "linecolor": ink}
    x, y = _ranges(picture)
    return {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": ink, "size": 13},
        "margin": {"l": 58, "r": 12, "t": 72, "b": 48, "autoexpand": picture.map is not None},
        "xaxis": axis | {"title": {"text": picture.x}, "type": "log" if picture.log else "linear"} | x,
        "yaxis": axis | {"title": {"text": picture.y}} | y,
        "legend": {"orientation": "h", "y": 1.02, "x": 0, "yanchor": "bottom", "font": {"size": 12}},
        "hovermode": "closest" if picture.map is not None else "x unified",
        "hoverlabel": {"bgcolor": "#ffffff" if theme == "light" else "#22272c", "font": {"color": ink}},
        "uirevision": "kept",
    }


def _ranges(picture: Picture) -> tuple[dict[str, Any], dict[str, Any]]:
    """Range of each axis of curves, if it has one."""
    x = np.concatenate([curve.x for curve in picture.curves]) if picture.curves else np.array([])
    x = x[np.isfinite(x)]
    across = [float(v) for v in (np.log10 if picture.log else np.asarray)([x.min(), x.max()])] if x.size else None
    up = snapped([np.asarray(curve.y) for curve in picture.curves])
    return ({"range": across} if across else {}), ({"range": up} if up else {})


def _numbers(values: Any) -> list[float | None]:
    """Numbers as JSON knows them: what is not finite is a gap."""
    flat = np.ravel(np.asarray(values, float))
    return [v if math.isfinite(v) else None for v in flat.tolist()]
