"""What each picture shows, drawn from its parts; those that are not computed yet are left out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.choose.tune import tune
from gcnlimit.errors import GCNLimitError
from gcnlimit.explorer.accuracies import Parts, along_axis, layers, reg_words, strengths
from gcnlimit.explorer.code import data_line, network_line, predict_command, script
from gcnlimit.explorer.parts import FREE, PARTS, STRENGTHS, map_axes, map_family
from gcnlimit.explorer.picture import WAIT, Curve, Map, Picture, Table
from gcnlimit.explorer.state import FAMILIES, LIMITS, State
from gcnlimit.parameters import long_name


class Recipe(NamedTuple):
    """How a picture is drawn, and from which parts."""

    draw: Callable[[State, Parts], Picture]
    parts: tuple[str, ...]


def needs(name: str, state: State) -> tuple[str, ...]:
    """Parts of a picture of a state.

    >>> needs("strength-diffusion", State(family="residual"))
    ('ceiling', 'diffusion')
    """
    parts = PICTURES[name].parts
    if name == f"strength-{state.family}":
        return (*parts, "here")
    if name == "axis" and state.family not in STRENGTHS:
        return tuple(part for part in parts if part != "best along")
    return () if name == "depth" and state.family == "pagerank" else parts


def complete(name: str, state: State) -> Picture:
    """Picture with all of its parts, computed here."""
    return PICTURES[name].draw(state, {part: PARTS[part].compute(state) for part in needs(name, state)})


def gap(state: State, parts: Parts) -> Picture:
    """Bayes-optimal minus accuracy of the network, or of the best of its family, over both signals."""
    (lam, mu), z = map_axes(), parts.get("gap")
    who, code = _whose_gap(state)
    sentence = WAIT
    if z is not None and not np.isnan(z).all():
        row, column = np.unravel_index(np.nanargmax(z), z.shape)
        sentence = (
            f"Bayes-optimal accuracy minus that of {who}: at most {np.nanmax(z):.3f} in this picture, "
            f"at lam = {lam[column]:.2g}, mu = {mu[row]:.2g}. Click to go to a point."
        )
    lines = f"lam, mu = np.linspace({lam[0]}, {lam[-1]}, {lam.size}), np.linspace({mu[0]}, {mu[-1]}, {mu.size})"
    return Picture(
        long_name("lam"),
        long_name("mu"),
        sentence,
        script(lines, data_line(state, lam="lam", mu="mu[:, None]"), *code),
        map=None if z is None else Map(lam, mu, z, (state.lam, state.mu)),
    )


def _whose_gap(state: State) -> tuple[str, tuple[str, str]]:
    """Of which network the map is, in words, and the last lines of its code."""
    if state.gap == "network":
        line = "print(gl.bayes_optimal(data).test_accuracy - gl.predict(data, gcn, throw=False).test_accuracy)"
        return f"this network, at {reg_words(state)}", (network_line(state, state.family, repr(state.strength)), line)
    family = map_family(state)
    name = FAMILIES[family]
    bounds = ", ".join(_number(v) for v in FREE[name])
    gcn = network_line(state, family, "0.1", loss='"square"', reg="math.inf")
    line = f"print(gl.gap_map(data, gcn, {{{name!r}: ({bounds})}}).gap)"
    return f"the best {family} at infinite regularization", (gcn, line)


def spectrum(state: State, parts: Parts) -> Picture:
    """The filter on the spectrum of the operator, beside the best filter over all regularizations."""
    symmetric = state.symmetrize or not state.directed
    signal = float(state.data.effective_signal(state.symmetrize))
    spike = signal + 1.0 / signal if symmetric and abs(signal) > 1.0 else signal
    edge = 2.0 if symmetric else 1.0
    x = np.linspace(min(-edge, spike), max(edge, spike), 101)
    g = _filter_values(state, x)
    scale = np.nanmax(np.abs(g)) or 1.0
    curves = [Curve("this filter", x, g / scale)]
    if symmetric:
        curves.append(Curve("density of the bulk", x, np.sqrt(np.maximum(1.0 - (x / 2.0) ** 2, 0.0)), "area"))
    if abs(signal) > 1.0:
        curves.append(Curve("spike", np.array([spike]), _filter_values(state, np.array([spike])) / scale, "dots"))
    at, values, _ = parts.get("filter", (x[:0], x[:0], None))
    curves.append(Curve("best filter, any regularization", at, values, "dash"))
    return Picture(
        "eigenvalue",
        "filter, largest value 1",
        _spectrum_sentence(symmetric, spike if abs(signal) > 1.0 else None, parts),
        script(
            data_line(state),
            f"best = gl.best_filter(data, symmetrize={state.symmetrize})",
            "print(best.ceiling.x, best.ceiling.g, best.ceiling.test_accuracy)",
        ),
        "",
        tuple(curves),
    )


def _spectrum_sentence(symmetric: bool, spike: float | None, parts: Parts) -> str:
    kind = "Symmetric operator" if symmetric else "Real axis of the directed operator, whose bulk is a disc of radius 1"
    words = f"{kind}; no spike." if spike is None else f"{kind}; the spike is at {spike:.3g}."
    if "filter" in parts and "ceiling" in parts:
        words += f" The best of all linear filters reaches {parts['filter'][2]:.4f} of {parts['ceiling']:.4f}."
    return words


def depth(state: State, parts: Parts) -> Picture:
    """What travels along the depth: signal and power of the hidden states."""
    if state.family == "pagerank":
        sentence = "PageRank is one filter without layers; choose a residual network or a diffusion."
        return Picture("depth", "order functions", sentence, script(data_line(state)))
    continuous = state.family == "diffusion"
    at = ", np.linspace(0, 1, 21)" if continuous else ""
    picture = Picture(
        "depth x" if continuous else "layer k",
        "order functions",
        WAIT,
        script(
            data_line(state),
            network_line(state, state.family, repr(state.strength)),
            f"f = gl.depth.order_functions(data, gcn{at})",
            "print(f.m, np.diagonal(f.Q))",
        ),
    )
    if "depth" not in parts:
        return picture
    x, m, power = parts["depth"]
    words = f"At the end of the network, m = {m[-1]:.3g} and Q = {power[-1]:.3g}: m^2/Q = {m[-1] ** 2 / power[-1]:.3f}."
    return replace(
        picture, sentence=words, curves=(Curve("overlap with the labels m", x, m), Curve("power Q", x, power))
    )


def table(state: State, parts: Parts) -> Picture:
    """Every family at its best, beside the ceilings."""
    found = parts.get("table")
    rows: tuple[tuple[str, ...], ...] = ()
    if found is not None:
        ceiling = float(found.entries[-1].test_accuracy)
        rows = tuple(
            (e.method, f"{float(e.test_accuracy):.5f}", f"{ceiling - float(e.test_accuracy):.5f}", e.chosen[0])
            for e in found.entries
        )
    return Picture(
        "",
        "",
        f"Filter and regularization tuned, square loss; residual networks of depth {state.depth}." if rows else WAIT,
        script(data_line(state), f"print(gl.compare(data, depth={state.depth}, symmetrize={state.symmetrize}))"),
        predict_command(state, "compare", depth=str(state.depth)),
        table=Table(("method", "accuracy", "to gain", "chosen"), rows),
    )


PICTURES: dict[str, Recipe] = {
    **{f"strength-{family}": Recipe(strengths(family), ("ceiling", family)) for family in STRENGTHS},
    "axis": Recipe(along_axis, ("ceiling", "here", "along", "best along")),
    "layers": Recipe(layers, ("ceiling", "diffusion", "layers")),
    "spectrum": Recipe(spectrum, ("ceiling", "filter")),
    "depth": Recipe(depth, ("depth",)),
    "gap": Recipe(gap, ("gap",)),
    "table": Recipe(table, ("table",)),
}
"""Every picture of the page, by its name, in the order in which they are completed."""


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


def _filter_values(state: State, x: Array) -> Array:
    """Values of the filter at points of the real axis."""
    return np.asarray(state.gcn.filter(x), float).reshape(-1)


def _number(value: float) -> str:
    return f"{'-' * (value < 0)}math.inf" if math.isinf(value) else repr(value)
