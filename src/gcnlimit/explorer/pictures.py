"""What each picture shows, drawn from its computations; those that are not done yet are left out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.explorer.computations import (
    LAYERS,
    SPARSE,
    STRENGTHS,
    Elsewhere,
    Results,
    Scan,
    axis_values,
    map_axes,
    map_family,
    strength_range,
)
from gcnlimit.explorer.picture import CEILING, Curve, Map, Picture, data_line, network_line, predict_command, script
from gcnlimit.explorer.sentences import (
    WAIT,
    axis_sentence,
    elsewhere_answer,
    layers_sentence,
    short,
    spectrum_sentence,
    strength_sentence,
)
from gcnlimit.explorer.state import FAMILIES, LIMITS, State, family_name
from gcnlimit.parameters import long_name


class Recipe(NamedTuple):
    """Title of a picture, how it is drawn, and from which computations."""

    title: str
    draw: Callable[[State, Results], Picture]
    needs: tuple[str, ...]


def needs(name: str, state: State) -> tuple[str, ...]:
    """Computations of a picture of a state.

    >>> needs("strength-diffusion", State(family="residual"))
    ('ceiling', 'diffusion')
    """
    found = PICTURES[name].needs
    if name == f"strength-{state.family}":
        return (*found, "here")
    if name == "axis":
        best = found if state.family in STRENGTHS else found[:-1]
        return (*best, "sparse ceiling") if state.degree < SPARSE else best
    left_out = {"depth": state.family == "pagerank", "elsewhere": not state.elsewhere}
    return () if left_out.get(name, False) else found


def strength(family: str, state: State, results: Results) -> Picture:
    """Accuracy of a family against its strength."""
    name = FAMILIES[family]
    found: Scan | None = results.get(family)
    points = 0 if found is None else found.x.size
    low, high = strength_range(family, state)
    curves = []
    if found is not None:
        curves.append(Curve(family_name(family), found.x, found.y))
    if "ceiling" in results:
        curves.append(_level(CEILING, np.array([low, high]), results["ceiling"], "dash"))
    if found is not None:
        curves.append(_dot("best", found.top, found.height))
    if family == state.family and "here" in results:
        curves.append(_dot("here", state.strength, results["here"]))
    python = script(
        data_line(state),
        f"{name} = np.linspace({low}, {high}, {points})",
        network_line(state, family, name),
        "print(gl.predict(data, gcn, throw=False).test_accuracy)",
    )
    words = WAIT if found is None else strength_sentence(family, state, found)
    command = predict_command(state, family, f"{low}:{high}:{points}")
    return Picture(long_name(name), "test accuracy", words, python, command, tuple(curves))


def _dot(name: str, x: float, y: float) -> Curve:
    return Curve(name, np.array([x]), np.array([y]), "dots")


def _level(name: str, ends: Array, y: float, style: str) -> Curve:
    return Curve(name, ends, np.full(2, y), style)


def along_axis(state: State, results: Results) -> Picture:
    """Accuracy of the network, of the best of its family, and the ceiling, against a parameter of the data."""
    axis = state.axis
    x = axis_values(state)
    curves = []
    if "along" in results:
        network, ceiling = results["along"]
        curves = [Curve("this network", x, network), Curve(CEILING, x, ceiling, "dash")]
    if state.family in STRENGTHS:  # a curve without points keeps its place in the legend, and the others their colours
        top = results.get("best along", x[:0])
        curves.append(Curve(f"best {family_name(state.family)}", x[: top.size], top))
    if "here" in results and state.place is not None:
        curves.append(_dot("here", state.place, results["here"]))
    log = axis != "classes" and LIMITS[axis].log
    values = (
        "np.arange(2, 13)"
        if axis == "classes"
        else f"np.{'geom' if log else 'lin'}space({x[0]:g}, {x[-1]:g}, {x.size})"
    )
    option = {axis: f"{x[0]:g}:{x[-1]:g}:{x.size}{':log' if log else ''}"}
    python = script(
        f"for value in {values}:",
        f"    {data_line(state, **{axis: 'int(value)' if axis == 'classes' else 'value'})}",
        f"    {network_line(state, state.family, repr(state.strength))}",
        "    print(value, gl.predict(data, gcn, throw=False).test_accuracy, gl.bayes_optimal(data).test_accuracy)",
    )
    command = predict_command(state, state.family, str(getattr(state, state.parameter)), **option)
    words = axis_sentence(state, results)
    command = "" if axis == "classes" else command
    return Picture(axis_name(axis), "test accuracy", words, python, command, tuple(curves), log=log)


def axis_name(axis: str) -> str:
    """Parameter of the data in words."""
    return "number of classes" if axis == "classes" else long_name(axis)


def layers(state: State, results: Results) -> Picture:
    """Accuracy of residual networks against their number of layers, up to infinitely many: a diffusion."""
    found = results.get("layers")
    ends = LAYERS[[0, -1]]
    curves = []
    sentence = WAIT
    if found is not None:
        curves = [
            Curve("best c", LAYERS, found.best, "marked"),
            Curve(f"c = {short(state.c)}", LAYERS, found.kept, "marked"),
            _level("best diffusion", ends, found.diffusion, "dot"),
        ]
        words = layers_sentence(state, found)
        at = "" if state.finite else " At infinite regularization."
        sentence = f"{words[:1].upper()}{words[1:]}{at}"
    if "ceiling" in results:
        curves.append(_level(CEILING, ends, results["ceiling"], "dash"))
    return Picture("number of layers K", "test accuracy", sentence, _layers_code(state), "", tuple(curves))


def _layers_code(state: State) -> str:
    """Lines that print both curves; a regularization that is tuned is relative to the gain of the filter."""
    tunes = state.finite
    changes = {"reg": "1.0", "normalize": "True"} if tunes else {}
    reg = "'reg': (0.01, 1000.0)" if tunes else ""
    kept = f"gl.tune(data, gcn, {{{reg}}}).prediction" if tunes else "gl.predict(data, gcn)"
    return script(
        data_line(state),
        f"for depth in range(1, {LAYERS.size + 1}):",
        f"    {network_line(state, 'residual', repr(state.c), depth='depth', **changes)}",
        f"    best = gl.tune(data, gcn, {{'c': (-math.inf, math.inf){', ' * tunes}{reg}}}).prediction",
        f"    print(depth, best.test_accuracy, {kept}.test_accuracy)",
    )


def gap(state: State, results: Results) -> Picture:
    """Bayes-optimal minus accuracy of the best of the family over both signals."""
    lam, mu = map_axes(state)
    z = results.get("gap")
    family = map_family(state)
    name = FAMILIES[family]
    sentence = WAIT
    if z is not None and not np.isnan(z).all():
        row, column = np.unravel_index(np.nanargmax(z), z.shape)
        sentence = (
            f"Bayes-optimal accuracy minus that of the best {family_name(family)} at infinite regularization: at most "
            f"{np.nanmax(z):.3f} in this picture, at lam = {short(lam[column])}, mu = {short(mu[row])}. "
            "Click to go to a point."
        )
    bounds = "(-1, 1)" if name == "theta" else "(-math.inf, math.inf)"
    python = script(
        *(f"{one} = np.linspace({x[0]}, {x[-1]}, {x.size})" for one, x in (("lam", lam), ("mu", mu))),
        data_line(state, lam="lam", mu="mu[:, None]"),
        network_line(state, family, "0.1", loss='"square"', reg="math.inf"),
        f"print(gl.gap_map(data, gcn, {{{name!r}: {bounds}}}).gap)",
    )
    drawn = None if z is None else Map(lam, mu, z, (state.lam, state.mu))
    return Picture(long_name("lam"), long_name("mu"), sentence, python, map=drawn)


def spectrum(state: State, results: Results) -> Picture:
    """The filter on the spectrum of the operator, beside the best filter over all regularizations."""
    signal = float(state.data.effective_signal(state.symmetrize))
    detached = abs(signal) > 1.0
    spike = signal + 1.0 / signal if state.symmetric and detached else signal
    edge = 2.0 if state.symmetric else 1.0
    x = np.linspace(min(-edge, spike), max(edge, spike), 101)
    filter = state.gcn.filter
    g = np.ravel(filter(x))
    scale = np.nanmax(np.abs(g)) or 1.0
    curves = [Curve("this filter", x, g / scale)]
    if state.hubs and state.normalization != "symmetric":
        detached = False
    elif state.symmetric:
        bulk = np.sqrt(np.maximum(1.0 - (x / 2.0) ** 2, 0.0))
        curves.append(Curve("bulk density", x, bulk, "area"))
    if detached:
        curves.append(_dot("spike", spike, float(np.ravel(filter(spike))[0]) / scale))
    at, values, _ = results.get("filter", (x[:0], x[:0], None))
    curves.append(Curve("best filter", at, values, "dash"))
    words = spectrum_sentence(state, spike if detached else None, results)
    python = script(
        data_line(state),
        f"best = gl.best_filter(data, symmetrize={state.symmetrize})",
        "print(best.ceiling.x, best.ceiling.g, best.ceiling.test_accuracy)",
    )
    return Picture("eigenvalue", "filter, largest value 1", words, python, "", tuple(curves))


def depth(state: State, results: Results) -> Picture:
    """What travels along the depth: signal and power of the hidden states."""
    if state.family == "pagerank":
        sentence = "PageRank is one filter without layers; choose a residual network or a diffusion."
        return Picture("depth", "order functions", sentence, script(data_line(state)))
    continuous = state.family == "diffusion"
    words = WAIT
    curves: tuple[Curve, ...] = ()
    if "depth" in results:
        x, m, power = results["depth"]
        ratio = m[-1] ** 2 / power[-1]
        words = f"At the end of the network, m = {m[-1]:.3g} and Q = {power[-1]:.3g}: m^2/Q = {ratio:.3f}."
        style = "line" if continuous else "marked"
        curves = Curve("overlap m", x, m, style), Curve("power Q", x, power, style)
    python = script(
        data_line(state),
        network_line(state, state.family, repr(state.strength)),
        f"f = gl.depth.order_functions(data, gcn{', np.linspace(0, 1, 21)' if continuous else ''})",
        "print(f.m, np.diagonal(f.Q))",
    )
    return Picture("depth x" if continuous else "layer k", "order functions", words, python, "", curves)


def elsewhere(state: State, results: Results) -> Picture:
    """Accuracy of the trained network on graphs of other signals, read through three filters, and the ceilings."""
    found: Elsewhere | None = results.get("elsewhere")
    curves: tuple[Curve, ...] = ()
    if found is not None:
        x, _, same, none, best, frozen, ceiling = (values[:-1] for values in found)
        curves = (
            Curve("same filter", x, same),
            Curve("no graph", x, none),
            Curve("best filter", x, best),
            Curve("same weights", x, frozen, "dot"),
            Curve(CEILING, x, ceiling, "dash"),
            _dot("here", state.to_lam, found.same[-1]),
        )
    python = script(
        data_line(state),
        network_line(state, state.family, repr(state.strength)),
        f"to = data.replaced(lam={state.to_lam}, mu={state.to_mu}, rho=0.0)",
        "best = gcn.replaced(test_filter=gl.theory.best_test_filter(data, gcn, to))",
        "ceiling = gl.bayes_optimal(data, to=to, gcn=gcn)",
        "print(gl.transfer(data, gcn, to).test_accuracy, gl.transfer(data, best, to).test_accuracy)",
        "print(ceiling.frozen.test_accuracy, ceiling.test_accuracy)",
    )
    words = elsewhere_answer(state, results) or WAIT
    return Picture("signal of the other graph", "test accuracy", words, python, curves=curves)


def table(state: State, results: Results) -> Picture:
    """Every family at its best, beside the ceilings."""
    rows = [("method", "accuracy", "gap", "chosen")]
    words = WAIT
    if "table" in results:
        tuned = "Filter tuned at infinite regularization" if state.hubs else "Filter and regularization tuned"
        words = f"{tuned}, square loss; residual networks of depth {state.depth}."
        for entry, gap in zip(results["table"].entries, results["table"].gap, strict=True):
            rows.append((entry.method, f"{entry.test_accuracy:.4f}", f"{gap:.4f}", entry.chosen[0]))
    python = script(data_line(state), f"print(gl.compare(data, depth={state.depth}, symmetrize={state.symmetrize}))")
    return Picture(
        "", "", words, python, predict_command(state, verb="compare", depth=str(state.depth)), table=tuple(rows)
    )


_FAMILY_TITLES = {"residual": "Residual network", "diffusion": "Diffusion", "pagerank": "PageRank"}

PICTURES: dict[str, Recipe] = {
    **{
        f"strength-{family}": Recipe(title, partial(strength, family), ("ceiling", family))
        for family, title in _FAMILY_TITLES.items()
    },
    "axis": Recipe("Accuracy along one parameter of the data", along_axis, ("ceiling", "here", "along", "best along")),
    "layers": Recipe("Where depth stops helping", layers, ("ceiling", "layers")),
    "spectrum": Recipe("The filter on the spectrum", spectrum, ("ceiling", "filter")),
    "depth": Recipe("Along the depth", depth, ("depth",)),
    "gap": Recipe("What is left to gain", gap, ("gap",)),
    "elsewhere": Recipe("Tested on another graph", elsewhere, ("elsewhere",)),
    "table": Recipe("Every family at its best", table, ("table",)),
}
"""Every picture of the page, by its name, in the order in which they are completed."""
