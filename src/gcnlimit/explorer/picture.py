"""A picture: numbers, words and lines of code, and how they become a Plotly figure or a table of numbers."""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.csbm import SIGNALS
from gcnlimit.explorer.sentences import WAIT
from gcnlimit.explorer.state import FAMILIES, State
from gcnlimit.parameters import FAMILIES as KINDS

CEILING = "Bayes-optimal"
"""Name of the curve that no algorithm exceeds."""

# Okabe and Ito's colours, told apart by most colour-blind readers; lighter on a dark ground
_COLOURS = {
    "light": ("#0072b2", "#d55e00", "#009e73", "#cc79a7"),
    "dark": ("#56b4e9", "#f0a35e", "#4fd1a5", "#e6a5c9"),
}
_INK = {"light": "#1c2126", "dark": "#e6e9ec"}
_GRID = {"light": "#dfe3e6", "dark": "#3a4148"}
_GROUND = {"light": "#ffffff", "dark": "#22272c"}
_CROSS = {"size": 13, "symbol": "cross", "color": "#ffffff", "line": {"width": 2, "color": "#000000"}}
_TWO_COLUMNS = {"entrywidth": 0.45, "entrywidthmode": "fraction"}
_LEGEND = {"orientation": "h", "x": -0.1, "y": 1.02, "yanchor": "bottom", "font": {"size": 12}} | _TWO_COLUMNS


@dataclass(frozen=True)
class Curve:
    """Values along an axis; `style` is line, dash, dot, marked, area or dots, and `error` a standard error."""

    name: str
    x: Array
    y: Array
    style: str = "line"
    error: Array | None = None


@dataclass(frozen=True)
class Map:
    """Values `z` over a grid, of shape ``(y.size, x.size)``, and the point of the page."""

    x: Array
    y: Array
    z: Array
    point: tuple[float, float]


@dataclass(frozen=True)
class Picture:
    """Labels of the axes, what the picture says, the Python and the command that compute it, and what is drawn.

    A table has its header first; `log` is whether the horizontal axis is logarithmic, `complete` whether nothing is still to
    be computed.
    """

    x: str
    y: str
    sentence: str
    python: str
    command: str = ""
    curves: tuple[Curve, ...] = ()
    map: Map | None = None
    table: tuple[tuple[str, ...], ...] | None = None
    log: bool = False
    complete: bool = True

    def with_state(self, *, complete: bool, sentences: tuple[str, ...]) -> Picture:
        """Same picture, complete or not, with more sentences; one that waits for what was refused says so instead."""
        own = () if complete and self.sentence == WAIT else (self.sentence,)
        return replace(self, complete=complete, sentence=" ".join((*own, *sentences)))

    def figure(self, theme: str = "light") -> dict[str, Any]:
        """Plotly figure in a light or dark theme, as a plain dictionary; the ceiling has the colour of the text."""
        others = [curve.name for curve in self.curves if curve.name != CEILING]
        colours = dict(zip(others, itertools.cycle(_COLOURS[theme]), strict=False))
        traces = [_trace(curve, colours.get(curve.name, _INK[theme]), theme) for curve in self.curves]
        return {"data": traces if self.map is None else _map(self.map, theme), "layout": _layout(self, theme)}


def snapped(values: Sequence[Array]) -> list[float] | None:
    """Ends of an axis that hold all values, on round numbers: while these stay, only curves move and the axis is not redrawn.

    >>> snapped([np.array([0.61, 0.883]), np.array([0.91])])
    [0.55, 0.95]
    """
    finite = np.concatenate([v[np.isfinite(v)] for v in values]) if values else np.array([])
    if finite.size == 0:
        return None
    low, high = float(finite.min()), float(finite.max())
    span = max(high - low, 0.02 * max(abs(low), abs(high)), 1e-12)
    low, high = min(low, high - span), max(high, low + span)
    unit = 10.0 ** math.floor(math.log10(span))
    step = unit / 2 if span / unit > 2 else unit / 10
    margin = 0.04 * span
    ends = math.floor((low - margin) / step), math.ceil((high + margin) / step)
    return [round(end * step, 12) for end in ends]


def _trace(curve: Curve, colour: str, theme: str) -> dict[str, Any]:
    x, y = (_numbers(v) or [None] for v in (curve.x, curve.y))  # no points: one gap, for the legend
    trace: dict[str, Any] = {"type": "scatter", "name": curve.name, "x": x, "y": y, "mode": "lines"}
    if curve.style == "dots":
        marker = {"size": 9, "color": colour, "line": {"width": 1, "color": _INK[theme]}}
        trace |= {"mode": "markers", "marker": marker, "cliponaxis": False}
    elif curve.style == "area":
        trace |= {"line": {"width": 0}, "fill": "tozeroy", "fillcolor": "rgba(128,128,128,0.25)"}
    else:
        dash = curve.style if curve.style in {"dash", "dot"} else "solid"
        trace["line"] = {"color": colour, "width": 2, "dash": dash}
    if curve.style == "marked":
        trace |= {"mode": "lines+markers", "marker": {"size": 6, "color": colour}, "cliponaxis": False}
    if curve.error is not None:
        trace["error_y"] = {"type": "data", "array": _numbers(curve.error), "color": colour}
    return trace


def _map(grid: Map, theme: str) -> list[dict[str, Any]]:
    heat = {
        "type": "heatmap",
        "x": _numbers(grid.x),
        "y": _numbers(grid.y),
        "z": [_numbers(row) for row in grid.z],
        "colorscale": "Cividis",
        "colorbar": {"title": {"text": "gap"}, "thickness": 12, "tickfont": {"color": _INK[theme]}},
        "hovertemplate": "lam %{x:.2f}, mu %{y:.2f}: gap %{z:.4f}<extra></extra>",
    }
    place = {"x": [grid.point[0]], "y": [grid.point[1]], "marker": _CROSS, "showlegend": False, "hoverinfo": "skip"}
    return [heat, {"type": "scatter", "mode": "markers", "name": "here"} | place]


def _layout(picture: Picture, theme: str) -> dict[str, Any]:
    ink = _INK[theme]
    axis = {"gridcolor": _GRID[theme], "zerolinecolor": _GRID[theme], "linecolor": ink}
    x, y = _ranges(picture)
    rows = (len(picture.curves) + 1) // 2  # of the legend
    top = 20 if picture.map is not None else 14 + 20 * rows
    return {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": ink, "size": 13},
        "margin": {"l": 58, "r": 12, "t": top, "b": 48, "autoexpand": picture.map is not None},
        "xaxis": axis | {"title": {"text": picture.x}, "type": "log" if picture.log else "linear"} | x,
        "yaxis": axis | {"title": {"text": picture.y}} | y,
        "legend": _LEGEND,
        "hovermode": "closest" if picture.map is not None else "x unified",
        "hoverlabel": {"bgcolor": _GROUND[theme], "font": {"color": ink}},
        "uirevision": "kept",
    }


def _ranges(picture: Picture) -> tuple[dict[str, Any], dict[str, Any]]:
    """Range of each axis of curves, if it has one."""
    x = np.concatenate([np.ravel(curve.x) for curve in picture.curves] or [np.array([])])
    x = x[np.isfinite(x)]
    x = np.log10(x) if picture.log else x
    ends = [float(x.min()), float(x.max())] if x.size else []
    if ends and ends[0] == ends[1]:
        ends = [ends[0] - 0.5, ends[1] + 0.5]
    up = snapped([np.asarray(curve.y) for curve in picture.curves])
    return ({"range": ends} if ends else {}), ({"range": up} if up else {})


def _numbers(values: Any) -> list[float | None]:
    """Numbers as JSON knows them: what is not finite is a gap."""
    return [v if math.isfinite(v) else None for v in np.ravel(np.asarray(values, float)).tolist()]


def script(*lines: str) -> str:
    """Lines of Python after the imports."""
    imports = ("import math", "", "import numpy as np", "", "import gcnlimit as gl", "")
    return "\n".join((*imports, *lines))


def data_line(state: State, **changes: str) -> str:
    """Line that makes the data, some parameters given as expressions.

    >>> data_line(State(classes="0.2, 0.8"), lam="lam")
    'data = gl.CSBM(alpha=4.0, lam=lam, mu=2.0, rho=0.1, directed=True, classes=[0.2, 0.8])'
    """
    values = {name: repr(getattr(state, name)) for name in (*SIGNALS, "directed")}
    if state.classes.strip() != "2":
        values["classes"] = f"[{state.classes}]" if state.unequal else state.classes
    if state.hubs:
        values["degrees"] = f"gl.Gamma({state.degrees_variance})"
    return f"data = gl.CSBM({_arguments(values | changes)})"


def network_line(state: State, family: str, strength: str, depth: str = "", **changes: str) -> str:
    """Line that makes a network of a family, its strength, and perhaps its depth, given as an expression.

    >>> network_line(State(), "residual", "c")
    'gcn = gl.GCN(gl.Residual.constant(c, depth=2), loss="square", reg=math.inf, symmetrize=True)'
    """
    filter = f"{KINDS[FAMILIES[family]].__name__}({strength})"
    if family == "residual":
        filter = f"Residual.constant({strength}, depth={depth or state.depth})"
    reg = "math.inf" if state.reg == math.inf else repr(state.reg)
    given = {"loss": f'"{state.loss}"', "reg": reg, "symmetrize": repr(state.symmetrize)}
    if state.hubs:
        given["normalization"] = f'"{state.normalization}"'
    return f"gcn = gl.GCN(gl.{filter}, {_arguments(given | changes)})"


def predict_command(state: State, family: str = "", strength: str = "", verb: str = "predict", **changes: str) -> str:
    """Command of a verb on the data, and on the network of a family and its strength, if there is one.

    >>> predict_command(State(), "diffusion", "0:2:5", lam="-1:1:3")
    'gcnlimit predict --alpha=4.0 --lam=-1:1:3 --mu=2.0 --rho=0.1 --t=0:2:5 --loss=square --reg=inf --symmetrize'
    """
    values = {name: str(getattr(state, name)) for name in SIGNALS} | changes
    if state.classes.strip() != "2":
        values.setdefault("classes", state.classes.replace(" ", ""))
    if family:
        values |= {FAMILIES[family]: strength.replace(" ", "")}
        values |= {"depth": str(state.depth)} if family == "residual" else {}
        values |= {"loss": state.loss, "reg": str(state.reg)}
    if state.hubs:
        values["degrees-variance"] = str(state.degrees_variance)
        values |= {"normalization": state.normalization} if family else {}
    switches = ["--symmetrize" if state.symmetrize else "--no-symmetrize"]
    switches += [] if state.directed else ["--undirected"]
    return shlex.join(["gcnlimit", verb, *(f"--{name}={value}" for name, value in values.items()), *switches])


def _arguments(values: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())
