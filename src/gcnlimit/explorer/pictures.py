"""What each picture shows, drawn from its computations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.explorer import sentences
from gcnlimit.explorer.computations import Results
from gcnlimit.explorer.curves import LAYERS, SPARSE, STRENGTHS, TIMES, bounds, map_family
from gcnlimit.explorer.picture import Curve, Map, Picture, command, data_line, network_line, script
from gcnlimit.explorer.sentences import capital, short
from gcnlimit.explorer.state import LIMITS, PARAMETER_OF, State, family_name
from gcnlimit.parameters import long_name

_CEILING = "Bayes-optimal"  # name of the curve that no algorithm exceeds; the scripts know it too
_LINEAR = "all linear networks"
_PREDICTED = "gl.predict(data, gcn, throw=False).test_accuracy"


class Recipe(NamedTuple):
    """Title of a picture, how it is drawn, from which computations, and those that are added once they are known."""

    title: str
    draw: Callable[[State, Results], Picture]
    needs: tuple[str, ...]
    later: tuple[str, ...] = ()


def needs(name: str, state: State) -> tuple[str, ...]:
    """Computations of a picture of a state, those that are added last.

    >>> needs("strength-diffusion", State(family="residual"))
    ('ceiling', 'linear', 'diffusion')
    """
    if name == "elsewhere" and not state.elsewhere:
        return ()
    recipe = PICTURES[name]
    if name == f"strength-{state.family}":
        return (*recipe.needs, "here")
    dense = state.degree >= SPARSE
    left_out = {"best along": state.family not in STRENGTHS, "sparse ceiling": dense}
    return (*recipe.needs, *(need for need in recipe.later if not left_out.get(need)))


def strength(family: str, state: State, results: Results) -> Picture:
    """Accuracy of a family against its strength."""
    scan = results[family]
    name = PARAMETER_OF[family]
    first, last = scan.x[[0, -1]]
    curves = [
        Curve("accuracy", scan.x, scan.y),
        _level(_CEILING, scan.x, results["ceiling"], "dash"),
        _level(_LINEAR, scan.x, results["linear"], "dash"),
        _dot("best", scan.top, scan.height),
    ]
    if family == state.family:
        curves.append(_dot("here", state.strength, results["here"]))
    return Picture(
        sentences.strength_sentence(family, state, scan),
        script(
            data_line(state),
            f"{name} = np.linspace({first}, {last}, {scan.x.size})",
            network_line(state, family, name),
            f"print({_PREDICTED})",
        ),
        command(state, "predict", family, f"{first}:{last}:{scan.x.size}"),
        axis_name(name),
        curves=tuple(curves),
    )


def _dot(name: str, x: float, y: float) -> Curve:
    return Curve(name, np.array([x]), np.array([y]), "dots")


def _level(name: str, x: Array, y: float, style: str) -> Curve:
    return Curve(name, x[[0, -1]], np.full(2, y), style)


def along_axis(state: State, results: Results) -> Picture:
    """Accuracy of the network, of the best of its family, and the ceilings, against a parameter of the data."""
    x, network, linear, ceiling, _ = results["along"]
    curves = [Curve("this network", x, network), Curve(_CEILING, x, ceiling, "dash")]
    curves.append(Curve(_LINEAR, x, linear, "dash"))
    if state.family in STRENGTHS:
        # a curve without points keeps its place in the legend, and the others their colours
        at, top = results.get("best along", (x[:0], x[:0]))
        curves.append(Curve(f"best {family_name(state.family)}", at, top))
    if state.place is not None:
        curves.append(_dot("here", state.place, results["here"]))
    python, line = _axis_code(state, x)
    log = state.axis != "classes" and LIMITS[state.axis].log
    words = sentences.axis_sentence(state, results)
    return Picture(words, python, line, axis_name(state.axis), curves=tuple(curves), log=log)


def _axis_code(state: State, x: Array) -> tuple[str, str]:
    """Python and command that print the curves along an axis; the command has no axis of classes."""
    axis = state.axis
    values = "range(2, 13)"
    line = ""
    if axis != "classes":
        log = LIMITS[axis].log
        values = f"np.{'geom' if log else 'lin'}space({x[0]:g}, {x[-1]:g}, {x.size})"
        option = {axis: f"{x[0]:g}:{x[-1]:g}:{x.size}{':log' * log}"}
        strength = str(getattr(state, state.parameter))
        line = command(state, "predict", state.family, strength, **option)
    python = script(
        f"for value in {values}:",
        f"    {data_line(state, **{axis: 'value'})}",
        f"    {network_line(state, state.family, repr(state.strength))}",
        f"    print(value, {_PREDICTED})",
        "    print(gl.best_linear(data).test_accuracy, gl.bayes_optimal(data).test_accuracy)",
    )
    return python, line


def axis_name(axis: str) -> str:
    """Parameter in words and by its symbol."""
    return "number of classes" if axis == "classes" else f"{long_name(axis)} {axis}"


def layers(state: State, results: Results) -> Picture:
    """Accuracy of residual networks against their number of layers, up to infinitely many: a diffusion."""
    depths = results["layers"]
    curves = (
        Curve("best c", LAYERS, depths.best, "marked"),
        Curve(f"c = {short(state.c)}", LAYERS, depths.kept, "marked"),
        _level("best diffusion", LAYERS, depths.diffusion, "dot"),
        _level(_CEILING, LAYERS, results["ceiling"], "dash"),
        _level(_LINEAR, LAYERS, results["linear"], "dash"),
    )
    words = capital(sentences.layers_sentence(state, depths))
    return Picture(words, _layers_code(state), x="number of layers K", curves=curves)


def _layers_code(state: State) -> str:
    """Lines that print both curves; a regularization that is tuned is relative to the gain of the filter."""
    changes = {"reg": "1.0", "normalize": "True"} if state.finite else {}
    free = "'c': (-math.inf, math.inf)"
    kept = "gl.predict(data, gcn)"
    if state.finite:
        free += ", 'reg': (0.01, 1000.0)"
        kept = "gl.tune(data, gcn, {'reg': (0.01, 1000.0)}).prediction"
    return script(
        data_line(state),
        f"for depth in range(1, {LAYERS.size + 1}):",
        f"    {network_line(state, 'residual', repr(state.c), depth='depth', **changes)}",
        f"    best = gl.tune(data, gcn, {{{free}}}).prediction",
        f"    print(depth, best.test_accuracy, {kept}.test_accuracy)",
    )


def gap(state: State, results: Results) -> Picture:
    """Bayes-optimal minus accuracy of the best of the family over both signals."""
    lam, mu, z = results["gap"]
    family = map_family(state)
    best = f"the best {family_name(family)} at infinite regularization"
    words = f"Bayes-optimal accuracy minus that of {best}"
    if not np.isnan(z).all():
        row, column = np.unravel_index(np.nanargmax(z), z.shape)
        where = f"lam = {short(lam[column])}, mu = {short(mu[row])}"
        words += f": at most {z[row, column]:.3f} in this picture, at {where}"
    free = str(bounds(family)).replace("inf", "math.inf")
    python = script(
        f"lam = np.linspace({lam[0]}, {lam[-1]}, {lam.size})",
        f"mu = np.linspace({mu[0]}, {mu[-1]}, {mu.size})",
        data_line(state, lam="lam", mu="mu[:, None]"),
        network_line(state, family, "0.1", loss='"square"', reg="math.inf"),
        f"print(gl.gap_map(data, gcn, {free}).gap)",
    )
    drawn = Map(lam, mu, z, (state.lam, state.mu))
    words += ". Click to go to a point."
    return Picture(words, python, x=axis_name("lam"), y=axis_name("mu"), map=drawn)


def spectrum(state: State, results: Results) -> Picture:
    """The filter on the spectrum of the operator, beside the best filter over all regularizations."""
    # a strong signal detaches one eigenvalue from the bulk: an interval to 2, or the unit circle
    operator = state.data.operator(state.symmetrize)
    edge, spike = operator.edge, float(operator.spike)
    detached = spike != 0.0
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
    if not state.hubs:
        at, values, _ = results.get("filter", (x[:0], x[:0], None))
        curves.append(Curve("best filter", at, values, "dash"))
    words = sentences.spectrum_sentence(state, spike if detached else None, results)
    python = script(
        data_line(state),
        f"best = gl.best_filter(data, symmetrize={state.symmetrize})",
        "print(best.ceiling.x, best.ceiling.g, best.ceiling.test_accuracy)",
    )
    return Picture(words, python, x="eigenvalue", y="filter, largest value 1", curves=tuple(curves))


def training(state: State, results: Results) -> Picture:
    """Accuracy against the training time, beside ridge regression at one over it."""
    curve = results["training"]
    curves = (
        Curve("stopped at t", TIMES, curve.stopped),
        Curve("ridge, reg = 1/t", TIMES, curve.ridge, "dot"),
        _level(_CEILING, TIMES, results["ceiling"], "dash"),
    )
    first, last = TIMES[[0, -1]]
    changes = {"loss": '"square"', "reg": "1 / t", "normalize": "True"}
    python = script(
        data_line(state),
        f"t = np.geomspace({first:g}, {last:g}, {TIMES.size})",
        network_line(state, state.family, repr(state.strength), **changes),
        "flow = gcn.replaced(reg=0.0, training=gl.GradientFlow(t))",
        "for network in (flow, gcn):",
        "    print(gl.predict(data, network).test_accuracy)",
    )
    words = sentences.training_sentence(state, curve)
    return Picture(words, python, x="training time t", curves=curves, log=True)


def depth(state: State, results: Results) -> Picture:
    """What travels along the depth: overlap of the hidden states with the labels, and their size."""
    continuous = state.family == "diffusion"
    name, style = ("depth x", "line") if continuous else ("layer k", "marked")
    at = ", np.linspace(0, 1, 21)" if continuous else ""
    x, m, size = results["depth"]
    ratio = f"m²/Q = {m[-1] ** 2 / size[-1] ** 2:.3f}"
    words = f"At the end of the network, m = {m[-1]:.3g} and √Q = {size[-1]:.3g}: {ratio}."
    curves = (Curve("overlap m", x, m, style), Curve("size √Q", x, size, style))
    python = script(
        data_line(state),
        network_line(state, state.family, repr(state.strength)),
        f"f = gl.depth.order_functions(data, gcn{at})",
        "print(f.m, np.sqrt(np.diagonal(f.Q)))",
    )
    return Picture(words, python, x=name, y="hidden states", curves=curves)


def elsewhere(state: State, results: Results) -> Picture:
    """Accuracy of the trained network on graphs of other signals, read through three filters, and the ceilings."""
    if not state.elsewhere:
        return Picture("")
    there = results["elsewhere"]
    x, _, same, none, best, frozen, linear, ceiling = (values[:-1] for values in there)
    curves = (
        Curve("same filter", x, same),
        Curve("no graph", x, none),
        Curve("best filter", x, best),
        Curve("same weights", x, frozen, "dot"),
        Curve(_CEILING, x, ceiling, "dash"),
        Curve(_LINEAR, x, linear, "dash"),
        _dot("here", state.to_lam, there.same[-1]),
    )
    python = script(
        data_line(state),
        network_line(state, state.family, repr(state.strength)),
        f"to = data.replaced(lam={state.to_lam}, mu={state.to_mu}, rho=0.0)",
        "best = gcn.replaced(test_filter=gl.theory.best_test_filter(data, gcn, to))",
        "ceiling = gl.bayes_optimal(data, to=to, gcn=gcn)",
        "for network in (gcn, best):",
        "    print(gl.transfer(data, network, to).test_accuracy)",
        "print(ceiling.frozen.test_accuracy, ceiling.test_accuracy)",
        "print(gl.best_linear(data, to=to).test_accuracy)",
    )
    words = sentences.elsewhere_answer(state, results)
    return Picture(words, python, x="signal of the other graph lam'", curves=curves)


def table(state: State, results: Results) -> Picture:
    """Every family at its best, beside the ceilings."""
    tuned = "tuned at infinite regularization" if state.hubs else "and regularization tuned"
    words = f"Filter {tuned}, square loss; residual networks of depth {state.depth}."
    python = script(
        data_line(state),
        f"print(gl.compare(data, depth={state.depth}, symmetrize={state.symmetrize}))",
    )
    line = command(state, "compare", depth=str(state.depth))
    return Picture(words, python, line, table=tuple(results["table"].rows(4)))


_TITLES = {family: capital(family_name(family)) for family in STRENGTHS}
_AXIS = (("ceiling", "linear", "here", "along"), ("best along", "sparse ceiling"))

PICTURES: dict[str, Recipe] = {
    **{
        f"strength-{name}": Recipe(title, partial(strength, name), ("ceiling", "linear", name))
        for name, title in _TITLES.items()
    },
    "axis": Recipe("Accuracy along one parameter of the data", along_axis, *_AXIS),
    "layers": Recipe("Where depth stops helping", layers, ("ceiling", "linear", "layers")),
    "spectrum": Recipe("The filter on the spectrum", spectrum, ("ceiling",), ("filter",)),
    "training": Recipe("How long to train", training, ("ceiling", "training")),
    "depth": Recipe("Along the depth", depth, ("depth",)),
    "gap": Recipe("What is left to gain", gap, ("gap",)),
    "elsewhere": Recipe("Tested on another graph", elsewhere, ("elsewhere",)),
    "table": Recipe("Every family at its best", table, ("table",)),
}
"""Every picture of the page, by its name, in the order in which they are completed."""
