"""A picture: numbers, words, and the lines of code that give the same."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.csbm import SIGNALS
from gcnlimit.explorer.state import PARAMETER_OF, State
from gcnlimit.parameters import FAMILIES

WAIT = "computing ..."
"""Sentence of a picture of which nothing is known yet."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Values along an axis; `style` is line, dash, dot, marked, area or dots, and `error` a standard error."""

    name: str
    x: Array
    y: Array
    style: str = "line"
    error: Array | None = None


@dataclass(frozen=True, eq=False)
class Map:
    """Values `z` over a grid, of shape ``(y.size, x.size)``, and the point of the page."""

    x: Array
    y: Array
    z: Array
    point: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Picture:
    """What a picture says, the Python and the command that compute it, the labels of its axes, and what is drawn.

    A table has its header first; `log` is whether the horizontal axis is logarithmic, `complete` whether nothing is
    still to be computed.
    """

    sentence: str
    python: str = ""
    command: str = ""
    x: str = ""
    y: str = "test accuracy"
    curves: tuple[Curve, ...] = ()
    map: Map | None = None
    table: tuple[tuple[str, ...], ...] | None = None
    log: bool = False
    complete: bool = True

    def shown(self) -> dict[str, Any]:
        """What the page shows, as JSON; a picture that waits for its numbers stays as it was."""
        code = "\n\n".join(filter(None, (self.python, self.command)))
        words = {"sentence": self.sentence, "code": code, "complete": self.complete}
        if self.sentence == WAIT:
            return words
        if self.table is not None:
            return words | {"table": self.table}
        drawn = {"curves": [*map(_plain, self.curves)], "map": self.map and _plain(self.map)}
        return words | {"figure": {"x": self.x, "y": self.y, "log": self.log} | drawn}


def _plain(drawn: Curve | Map) -> dict[str, Any]:
    """Fields of a curve or a map, numbers that are not finite as gaps."""
    fields = dict(vars(drawn))
    for name, values in fields.items():
        if isinstance(values, np.ndarray):
            plain = values.astype(object)
            plain[~np.isfinite(values)] = None
            fields[name] = plain.tolist()
    return fields


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
    filter = f"{FAMILIES[PARAMETER_OF[family]].__name__}({strength})"
    if family == "residual":
        filter = f"Residual.constant({strength}, depth={depth or state.depth})"
    reg = "math.inf" if state.reg == math.inf else repr(state.reg)
    arguments = {"loss": f'"{state.loss}"', "reg": reg, "symmetrize": repr(state.symmetrize)}
    if state.hubs:
        arguments["normalization"] = f'"{state.normalization}"'
    return f"gcn = gl.GCN(gl.{filter}, {_arguments(arguments | changes)})"


def command(state: State, verb: str, family: str = "", strength: str = "", **changes: str) -> str:
    """Command of a verb on the data, and on the network of a family and its strength, if there is one.

    >>> command(State(), "predict", "diffusion", "0:2:5", lam="-1:1:3")
    'gcnlimit predict --alpha=4.0 --lam=-1:1:3 --mu=2.0 --rho=0.1 --t=0:2:5 --loss=square --reg=inf --symmetrize'
    """
    values = {name: str(getattr(state, name)) for name in SIGNALS} | changes
    if state.classes.strip() != "2":
        values.setdefault("classes", state.classes.replace(" ", ""))
    if family:
        values[PARAMETER_OF[family]] = strength.replace(" ", "")
        values |= {"depth": str(state.depth)} if family == "residual" else {}
        values |= {"loss": state.loss, "reg": str(state.reg)}
    if state.hubs:
        values["degrees-variance"] = str(state.degrees_variance)
        values |= {"normalization": state.normalization} if family else {}
    options = [f"--{name}={value}" for name, value in values.items()]
    options.append("--symmetrize" if state.symmetrize else "--no-symmetrize")
    if not state.directed:
        options.append("--undirected")
    return shlex.join(["gcnlimit", verb, *options])


def _arguments(values: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())
