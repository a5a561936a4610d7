"""The lines of Python and the command that give the numbers of a picture."""

from __future__ import annotations

import math
import shlex
from typing import Any

from gcnlimit.explorer.state import State

_SIGNALS = ("alpha", "lam", "mu", "rho")
_CLASS = {"diffusion": "Diffusion", "pagerank": "PageRank", "polynomial": "Polynomial"}


def script(*lines: str) -> str:
    """Lines of Python after the imports."""
    imports = ("import math", "", "import numpy as np", "", "import gcnlimit as gl", "")
    return "\n".join((*imports, *lines))


def data_line(state: State, **changes: str) -> str:
    """Line that makes the data, some parameters given as expressions.

    >>> data_line(State(classes="0.2, 0.8"), lam="lam")
    'data = gl.CSBM(alpha=4.0, lam=lam, mu=2.0, rho=0.1, directed=True, classes=[0.2, 0.8])'
    """
    values = {name: repr(getattr(state, name)) for name in (*_SIGNALS, "directed")}
    if state.classes.strip() != "2":
        values["classes"] = f"[{state.classes}]" if state.unequal else state.classes
    return f"data = gl.CSBM({_arguments(values | changes)})"


def network_line(state: State, family: str, strength: str, depth: str = "", **changes: str) -> str:
    """Line that makes a network of a family, its strength, and perhaps its depth, given as an expression.

    >>> network_line(State(), "residual", "c")
    'gcn = gl.GCN(gl.Residual.constant(c, depth=2), loss="square", reg=math.inf, symmetrize=True)'
    """
    filter = f"Residual.constant({strength}, depth={depth or state.depth})"
    if family != "residual":
        filter = f"{_CLASS[family]}({strength})"
    reg = "math.inf" if state.reg == math.inf else repr(state.reg)
    given = {"loss": f'"{state.loss}"', "reg": reg, "symmetrize": repr(state.symmetrize)}
    return f"gcn = gl.GCN(gl.{filter}, {_arguments(given | changes)})"


def predict_command(state: State, verb: str = "predict", network: dict[str, Any] | None = None, **changes: str) -> str:
    """Command of a verb on the data, and on the network if one is given by its options.

    >>> predict_command(State(), network={"t": "0:2:5"}, lam="-1:1:3")
    'gcnlimit predict --alpha=4.0 --lam=-1:1:3 --mu=2.0 --rho=0.1 --t=0:2:5 --loss=square --reg=inf --symmetrize'
    """
    values = {name: str(getattr(state, name)) for name in _SIGNALS} | changes
    if state.classes.strip() != "2":
        values.setdefault("classes", state.classes.replace(" ", ""))
    if network is not None:
        values |= network | {"loss": state.loss, "reg": str(state.reg)}
    switches = ["--symmetrize" if state.symmetrize else "--no-symmetrize"]
    switches += [] if state.directed else ["--undirected"]
    return shlex.join(["gcnlimit", verb, *(f"--{name}={value}" for name, value in values.items()), *switches])


def _arguments(values: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())
