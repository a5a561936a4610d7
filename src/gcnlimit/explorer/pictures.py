"""What each picture shows, computed from the state of the page alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.choose.best_filter import filter_ceiling
from gcnlimit.choose.compare import compare, gap_map
from gcnlimit.choose.tune import tune
from gcnlimit.errors import GCNLimitError
from gcnlimit.explorer.code import data_line, network_line, predict_command, script
from gcnlimit.explorer.picture import CEILING, Curve, Map, Picture, Table
from gcnlimit.explorer.state import FAMILIES, LIMITS, State
from gcnlimit.filters import Diffusion
from gcnlimit.network import GCN
from gcnlimit.parameters import long_name
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.depth.order_functions import order_functions
from gcnlimit.theory.predict import predict

__all__ = ["PICTURES", "SHOWN", "SLOW", "STRENGTHS", "axis_values", "best", "strength_values"]

SHOWN = {"c": (-5.0, 5.0), "t": (-4.0, 4.0), "theta": (-0.75, 0.75)}
"""Strengths that are drawn."""
STRENGTHS = tuple(family for family in FAMILIES if family != "polynomial")
FREE: dict[str, tuple[float, float]] = {"c": (-math.inf, math.inf), "t": (-math.inf, math.inf), "theta": (-1.0, 1.0)}
_EXPLICIT, _SOLVED = 161, 25  # points of a curve with explicit answers, and with equations to be solved


def strength_values(state: State, parameter: str) -> Array:
    """Strengths along the curve of a family."""
    return np.linspace(*SHOWN[parameter], _EXPLICIT if math.isinf(state.reg) else _SOLVED)


def axis_values(axis: str) -> Array:
    """Values along the axis of the second picture."""
    if axis == "classes":
        return np.arange(2.0, 13.0)
    limit = LIMITS[axis]
    space = np.geomspace if limit.log else np.linspace
    return np.asarray(space(limit.low, limit.high, 49))


def strengths(family: str) -> Callable[[State], Picture]:
    """Picture of the accuracy of a family against its strength."""

    def picture(state: State) -> Picture:
        name = FAMILIES[family]
        x = strength_values(state, name)
        y = _accuracy(state, family, x)
        ceiling = float(bayes_optimal(state.data).test_accuracy)
        top, height = _peak(lambda v: _accuracy(state, family, v), x, y)
        curves = [
            Curve(family, x, y),
            Curve(CEILING, np.array(SHOWN[name]), np.full(2, ceiling), "dash"),
            Curve("best", np.array([top]), np.array([height]), "dots"),
        ]
        if family == state.family:
            here = np.array([state.strength])
            curves.append(Curve("here", here, _accuracy(state, family, here), "dots"))
        depth = {"depth": state.depth} if family == "residual" else {}
        spaced = f"{SHOWN[name][0]}:{SHOWN[name][1]}:{x.size}"
        return Picture(
            long_name(name),
            "test accuracy",
            f"Best {long_name(name)} in the picture: {top:.3g}, accuracy {height:.4f}; the ceiling is {ceiling:.4f}.",
            script(
                data_line(state),
                f"{name} = np.linspace({SHOWN[name][0]}, {SHOWN[name][1]}, {x.size})",
                network_line(state, family, name),
                "print(gl.predict(data, gcn, throw=False).test_accuracy)",
            ),
            predict_command(state, network={name: spaced} | depth),
            tuple(curves),
        )

    return picture


def along_axis(state: State) -> Picture:
    """Accuracy of the network, of the best of its family, and the ceiling, against a parameter of the data."""
    axis = state.axis
    x = axis_values(axis)
    here, ceiling = (
        _along(state, x, lambda data: predict(data, state.gcn, throw=False)),
        _along(state, x, bayes_optimal),
    )
    curves = [Curve("this network", x, here), Curve(CEILING, x, ceiling, "dash")]
    sentence = f"Here the network reaches {_at_point(state):.4f} of {_ceiling(state):.4f}."
    if state.family in STRENGTHS and math.isinf(state.reg):
        free = {state.parameter: FREE[state.parameter]}
        tuned = _along(state, x, lambda data: tune(data, state.gcn, free).prediction)
        curves.insert(1, Curve(f"best {state.family}", x, tuned))
    values = "np.arange(2, 13)" if axis == "classes" else f"np.{_space(axis)}({x[0]:g}, {x[-1]:g}, {x.size})"
    changed = {axis: "int(value)" if axis == "classes" else "value"}
    return Picture(
        "number of classes" if axis == "classes" else long_name(axis),
        "test accuracy",
        sentence,
        script(
            f"for value in {values}:",
            f"    {data_line(state, **changed)}",
            f"    {network_line(state, state.family, _strength(state))}",
            "    print(value, gl.predict(data, gcn, throw=False).test_accuracy, gl.bayes_optimal(data).test_accuracy)",
        ),
        "" if axis == "classes" else predict_command(state, network=_options(state), **{axis: _range(axis, x)}),
        tuple(curves),
        log=axis != "classes" and LIMITS[axis].log,
    )


def gap(state: State) -> Picture:
    """Bayes-optimal minus best accuracy of the family at infinite regularization, over both signals."""
    lam, mu = np.linspace(*LIMITS["lam"][:2], 31), np.linspace(*LIMITS["mu"][:2], 21)
    family = state.family if state.family in STRENGTHS else "diffusion"
    name = FAMILIES[family]
    gcn = state.gcn_of(state.filter_of(family, 0.1), loss="square", reg=math.inf)
    found = gap_map(state.data_at(lam=lam, mu=mu[:, None]), gcn, {name: FREE[name]})
    z = np.asarray(found.gap)
    row, column = np.unravel_index(np.nanargmax(z), z.shape)
    return Picture(
        long_name("lam"),
        long_name("mu"),
        f"Bayes-optimal accuracy minus that of the best {family}, at infinite regularization: at most {np.nanmax(z):.3f} in this "
        f"picture, at lam = {lam[column]:.2g}, mu = {mu[row]:.2g}. Click to go to a point.",
        script(
            f"lam, mu = np.linspace({lam[0]}, {lam[-1]}, {lam.size}), np.linspace({mu[0]}, {mu[-1]}, {mu.size})",
            data_line(state, lam="lam", mu="mu[:, None]"),
            network_line(state, family, "0.1", loss='"square"', reg="math.inf"),
            f"print(gl.gap_map(data, gcn, {{{name!r}: ({', '.join(_number(v) for v in FREE[name])})}}).gap)",
        ),
        map=Map(lam, mu, z, (state.lam, state.mu)),
    )


def spectrum(state: State) -> Picture:
    """The filter on the spectrum of the operator, beside the best filter over all regularizations."""
    symmetric = state.symmetrize or not state.directed
    signal = float(state.data.effective_signal(state.symmetrize))
    spike = signal + 1.0 / signal if symmetric and abs(signal) > 1.0 else signal
    edge = 2.0 if symmetric else 1.0
    x = np.linspace(min(-edge, spike), max(edge, spike), 201)
    g = _filter_values(state, x)
    scale = np.nanmax(np.abs(g)) or 1.0
    curves = [Curve("this filter", x, g / scale)]
    if symmetric:
        curves.append(Curve("density of the bulk", x, np.sqrt(np.maximum(1.0 - (x / 2.0) ** 2, 0.0)), "area"))
    if abs(signal) > 1.0:
        curves.append(Curve("spike", np.array([spike]), _filter_values(state, np.array([spike])) / scale, "dots"))
    kind = "symmetric operator" if symmetric else "real axis of the directed operator, whose bulk is a disc of radius 1"
    sentence = (
        f"{kind.capitalize()}; the spike is at {spike:.3g}." if abs(signal) > 1.0 else f"{kind.capitalize()}; no spike."
    )
    try:
        found = filter_ceiling(state.data, state.symmetrize)
        order = np.argsort(found.x)
        sign = np.sign(np.nansum(found.g)) or 1.0
        curves.insert(1, Curve("best filter, any regularization", found.x[order], sign * found.g[order], "dash"))
        sentence += (
            f" The best of all linear filters reaches {float(found.test_accuracy):.4f} of {_ceiling(state):.4f}."
        )
    except GCNLimitError as error:
        sentence += f" {error}."
    return Picture(
        "eigenvalue",
        "filter, largest value 1",
        sentence,
        script(
            data_line(state),
            f"best = gl.best_filter(data, symmetrize={state.symmetrize})",
            "print(best.ceiling.x, best.ceiling.g, best.ceiling.test_accuracy)",
        ),
        "",
        tuple(curves),
    )


def depth(state: State) -> Picture:
    """What travels along the depth: signal and power of the hidden states."""
    if state.family == "pagerank":
        sentence, curves = "PageRank is one filter without layers; choose a residual network or a diffusion.", ()
        return Picture("depth", "order functions", sentence, script(data_line(state)), "", curves)
    continuous = isinstance(state.gcn.filter, Diffusion)
    x = np.linspace(0.0, 1.0, 41)
    gcn = state.gcn if math.isfinite(state.reg) else state.gcn.replaced(loss="square")
    f = order_functions(state.data, gcn, x) if continuous else order_functions(state.data, gcn)
    power = np.diagonal(f.Q, axis1=-2, axis2=-1)
    x = x if continuous else np.arange(power.size, dtype=float)
    drawn = (Curve("overlap with the labels m", x, np.asarray(f.m)), Curve("power Q", x, power))
    at = ", np.linspace(0, 1, 41)" if continuous else ""
    return Picture(
        "depth x" if continuous else "layer k",
        "order functions",
        f"At the end of the network, m = {f.m[-1]:.3g} and Q = {power[-1]:.3g}: m^2/Q = {f.m[-1] ** 2 / power[-1]:.3f}.",
        script(
            data_line(state),
            network_line(state, state.family, _strength(state)),
            f"f = gl.depth.order_functions(data, gcn{at})",
            "print(f.m, np.diagonal(f.Q))",
        ),
        "",
        drawn,
    )


def table(state: State) -> Picture:
    """Every family at its best, beside the ceilings."""
    found = compare(state.data, depth=state.depth, symmetrize=state.symmetrize)
    ceiling = float(found.entries[-1].test_accuracy)
    rows = tuple(
        (e.method, f"{float(e.test_accuracy):.5f}", f"{ceiling - float(e.test_accuracy):.5f}", e.chosen[0])
        for e in found.entries
    )
    return Picture(
        "",
        "",
        f"Filter and regularization tuned, square loss; residual networks of depth {state.depth}.",
        script(data_line(state), f"print(gl.compare(data, depth={state.depth}, symmetrize={state.symmetrize}))"),
        predict_command(state, "compare", depth=str(state.depth)),
        table=Table(("method", "accuracy", "to gain", "chosen"), rows),
    )


def best(state: State) -> State:
    """The state with the strength of its family, and a finite regularization with it, at their best within the controls."""
    if state.family not in STRENGTHS:
        raise GCNLimitError("a polynomial has many coefficients; see the best filter in the picture of the spectrum")
    name = state.parameter
    free: dict[str, Any] = {name: LIMITS[name][:2]}
    if math.isfinite(state.reg):
        free["reg"] = LIMITS["reg"][:2]
    found = tune(state.data, state.gcn, free).parameters
    values = {key: float(np.clip(np.ravel(value)[0], *LIMITS[key][:2])) for key, value in found.items()}
    return state.replaced(**values)


PICTURES: dict[str, Callable[[State], Picture]] = {
    **{f"strength-{family}": strengths(family) for family in STRENGTHS},
    "axis": along_axis,
    "gap": gap,
    "spectrum": spectrum,
    "depth": depth,
    "table": table,
}
"""Every picture of the page, by its name."""

SLOW = ("gap", "spectrum", "table")
"""Pictures that take longer than a movement of a slider may: computed in another process when the controls rest."""


def _accuracy(state: State, family: str, x: Array) -> Array:
    gcn = state.gcn_of(state.filter_of(family, x))
    return np.asarray(predict(state.data, gcn, throw=False).test_accuracy)


def _peak(accuracy: Callable[[Array], Array], x: Array, y: Array) -> tuple[float, float]:
    """Place and height of the maximum of a curve, on finer grids between the neighbours of its highest point."""
    fine = x.size == _EXPLICIT
    for _ in range(1 + fine):
        if np.all(np.isnan(y)):
            return math.nan, math.nan
        top = int(np.nanargmax(y))
        x = np.linspace(x[max(top - 1, 0)], x[min(top + 1, x.size - 1)], 17 if fine else 9)
        y = accuracy(x)
    top = int(np.nanargmax(y))
    return float(x[top]), float(y[top])


def _along(state: State, x: Array, answer: Callable[[Any], Any]) -> Array:
    if state.axis == "classes":
        return np.array([float(answer(state.data_at(classes=int(n))).test_accuracy) for n in x])
    return np.asarray(answer(state.data_at(**{state.axis: x})).test_accuracy)


def _at_point(state: State) -> float:
    return float(predict(state.data, state.gcn, throw=False).test_accuracy)


def _ceiling(state: State) -> float:
    return float(bayes_optimal(state.data).test_accuracy)


def _filter_values(state: State, x: Array) -> Array:
    """Values of the filter at points of the real axis."""
    gcn: GCN = state.gcn
    return np.asarray(gcn.filter(x), float).reshape(-1)


def _strength(state: State) -> str:
    """Strength as an expression."""
    return repr(state.strength)


def _options(state: State) -> dict[str, str]:
    if state.family == "polynomial":
        return {"coefficients": ",".join(map(str, state.strength))}
    return {state.parameter: str(state.strength)} | ({"depth": str(state.depth)} if state.family == "residual" else {})


def _space(axis: str) -> str:
    return "geomspace" if LIMITS[axis].log else "linspace"


def _range(axis: str, x: Array) -> str:
    return f"{x[0]:g}:{x[-1]:g}:{x.size}{':log' if LIMITS[axis].log else ''}"


def _number(value: float) -> str:
    return f"{'-' * (value < 0)}math.inf" if math.isinf(value) else repr(value)
