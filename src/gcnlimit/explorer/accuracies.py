"""Pictures against the strength of a filter and the number of layers, and along a parameter of the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.explorer.code import data_line, network_line, predict_command, script
from gcnlimit.explorer.parts import LAYERS, STRENGTHS, Scan, axis_values, shown
from gcnlimit.explorer.picture import CEILING, WAIT, Curve, Picture
from gcnlimit.explorer.state import FAMILIES, LIMITS, State
from gcnlimit.parameters import long_name

Parts = Mapping[str, Any]
"""What has been computed, by the names of the parts."""

MEASURES = {"test_accuracy": "test accuracy", "train_loss": "training loss"}
"""What is drawn against the strength, in words."""


def strengths(family: str) -> Callable[[State, Parts], Picture]:
    """Picture of the accuracy of a family, or of its training loss, against its strength."""
    name = FAMILIES[family]

    def picture(state: State, parts: Parts) -> Picture:
        found: Scan | None = parts.get(family)
        points, (low, high) = 0 if found is None else found.x.size, shown(family, state)
        depth = {"depth": state.depth} if family == "residual" else {}
        return Picture(
            long_name(name),
            MEASURES[state.measure],
            WAIT if found is None else _strength_sentence(found, state, name, parts.get("ceiling")),
            script(
                data_line(state),
                f"{name} = np.linspace({low}, {high}, {points})",
                network_line(state, family, name),
                f"print(gl.predict(data, gcn, throw=False).{state.measure})",
            ),
            predict_command(state, network={name: f"{low}:{high}:{points}"} | depth),
            tuple(_strength_curves(family, state, parts)),
        )

    return picture


def _strength_curves(family: str, state: State, parts: Parts) -> list[Curve]:
    found, curves = parts.get(family), []
    if state.measure == "train_loss":
        return _loss_curves(family, found)
    if found is not None:
        curves += [Curve(family, found.x, found.test_accuracy)]
    if "ceiling" in parts:
        curves.append(Curve(CEILING, np.array(shown(family, state)), np.full(2, parts["ceiling"]), "dash"))
    if found is not None:
        curves.append(Curve("best", np.array([found.top]), np.array([found.height]), "dots"))
    if family == state.family and "here" in parts:
        curves.append(Curve("here", np.array([state.strength]), np.array([parts["here"]]), "dots"))
    return curves


def _loss_curves(family: str, found: Scan | None) -> list[Curve]:
    if found is None or np.isnan(found.train_loss).all():
        return []
    low = [np.nanargmin(found.train_loss)]
    return [Curve(family, found.x, found.train_loss), Curve("lowest", found.x[low], found.train_loss[low], "dots")]


def _strength_sentence(found: Scan, state: State, name: str, ceiling: float | None) -> str:
    if state.measure == "train_loss":
        return _lowest(found, state, name)
    top = f"Best {long_name(name)} in the picture: {found.top:.3g}, accuracy {found.height:.4f}"
    return f"{top}." if ceiling is None else f"{top}; the ceiling is {ceiling:.4f}."


def _lowest(found: Scan, state: State, name: str) -> str:
    if math.isinf(state.reg):
        return "At infinite regularization the outputs vanish, and the loss is that of the output 0 for each filter."
    if np.isnan(found.train_loss).all():
        return "No network of the picture can be computed."
    low, quantity = int(np.nanargmin(found.train_loss)), long_name(name)
    words = f"The training loss is lowest, {found.train_loss[low]:.3g}, at {quantity} {found.x[low]:.3g}"
    end = ", the end of the picture" if low in {0, found.x.size - 1} else ""
    return f"{words}{end}; the accuracy is highest at {found.top:.3g}."


def along_axis(state: State, parts: Parts) -> Picture:
    """Accuracy of the network, of the best of its family, and the ceiling, against a parameter of the data."""
    axis, x = state.axis, axis_values(state)
    curves = []
    if "along" in parts:
        curves = [Curve("this network", x, parts["along"].network), Curve(CEILING, x, parts["along"].ceiling, "dash")]
    if state.family in STRENGTHS:  # a curve without points keeps its place in the legend, and the others their colours
        top = parts.get("best along", x[:0])
        curves.append(Curve(f"best {state.family}", x[: top.size], top))
    if "here" in parts and state.place is not None:
        curves.append(Curve("here", np.array([state.place]), np.array([parts["here"]]), "dots"))
    values = "np.arange(2, 13)" if axis == "classes" else f"np.{_space(axis)}({x[0]:g}, {x[-1]:g}, {x.size})"
    changed = {axis: "int(value)" if axis == "classes" else "value"}
    return Picture(
        "number of classes" if axis == "classes" else long_name(axis),
        "test accuracy",
        _along_sentence(state, parts),
        script(
            f"for value in {values}:",
            f"    {data_line(state, **changed)}",
            f"    {network_line(state, state.family, repr(state.strength))}",
            "    print(value, gl.predict(data, gcn, throw=False).test_accuracy, gl.bayes_optimal(data).test_accuracy)",
        ),
        "" if axis == "classes" else predict_command(state, network=_options(state), **{axis: _range(axis, x)}),
        tuple(curves),
        log=axis != "classes" and LIMITS[axis].log,
    )


def _along_sentence(state: State, parts: Parts) -> str:
    if "here" not in parts or "ceiling" not in parts:
        return WAIT
    here = f"Here the network reaches {parts['here']:.4f} of {parts['ceiling']:.4f}."
    if "best along" not in parts:
        return here
    return f"{here} The best {state.family} is tuned at each point, at {reg_words(state)}."


def reg_words(state: State) -> str:
    """The regularization of the page in words."""
    return "infinite regularization" if math.isinf(state.reg) else f"reg = {state.reg:g}"


def layers(state: State, parts: Parts) -> Picture:
    """Accuracy of residual networks against their number of layers, up to infinitely many: a diffusion."""
    found, deep, curves = parts.get("layers"), parts.get("diffusion"), []
    ends = LAYERS[[0, -1]]
    if found is not None:
        curves += [
            Curve("best c", LAYERS, found.best),
            Curve(f"c = {state.c:g}", LAYERS, found.kept),
        ]
    if deep is not None:
        curves.append(Curve("best diffusion", ends, np.full(2, deep.height), "dot"))
    if "ceiling" in parts:
        curves.append(Curve(CEILING, ends, np.full(2, parts["ceiling"]), "dash"))
    return Picture(
        "number of layers K",
        "test accuracy",
        WAIT if found is None else f"{layers_sentence(state, parts)} At {reg_words(state)}.",
        script(
            data_line(state),
            f"for depth in range(1, {LAYERS.size + 1}):",
            f"    {network_line(state, 'residual', repr(state.c), depth='depth')}",
            "    best = gl.tune(data, gcn, {'c': (-math.inf, math.inf)})",
            "    print(depth, best.prediction.test_accuracy, gl.predict(data, gcn).test_accuracy)",
        ),
        "",
        tuple(curves),
    )


def layers_sentence(state: State, parts: Parts, enough: float = 0.001) -> str:
    """Layers beyond which depth helps no more, in words."""
    best, kept = parts["layers"]
    if np.isnan(best).all():
        return "Residual networks cannot be computed here."
    gained = np.nanmax(best) - best
    least = int(LAYERS[np.flatnonzero(gained <= enough)[0]])
    top = int(LAYERS[np.nanargmax(kept)]) if not np.isnan(kept).all() else 0
    words = f"At the best strength, layers beyond {least} add at most {100 * gained[least - 1]:.2f} points of accuracy"
    if least == LAYERS.size:
        words = f"At the best strength, every layer up to {least} still adds to the accuracy"
    if top in {0, LAYERS.size}:
        return f"{words}."
    return f"{words}; with c = {state.c:g} kept, accuracy falls beyond {_count(top)} (oversmoothing)."


def _count(layers: int) -> str:
    return f"{layers} layer{'s' * (layers > 1)}"


def _options(state: State) -> dict[str, str]:
    if state.family == "polynomial":
        return {"coefficients": ",".join(map(str, state.strength))}
    return {state.parameter: str(state.strength)} | ({"depth": str(state.depth)} if state.family == "residual" else {})


def _space(axis: str) -> str:
    return "geomspace" if LIMITS[axis].log else "linspace"


def _range(axis: str, x: Array) -> str:
    return f"{x[0]:g}:{x[-1]:g}:{x.size}{':log' if LIMITS[axis].log else ''}"
