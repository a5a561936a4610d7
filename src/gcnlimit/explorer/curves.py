"""The numbers behind the pictures: curves, tables and maps of a state of the page."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.choose.best_filter import filter_ceiling
from gcnlimit.choose.compare import Comparison, compare
from gcnlimit.choose.gap_map import gap_map
from gcnlimit.choose.tune import tune
from gcnlimit.errors import GCNLimitError
from gcnlimit.explorer.state import LIMITS, PARAMETER_OF, State, family_name
from gcnlimit.filters import Polynomial
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.depth.order_functions import order_functions
from gcnlimit.theory.linear import best_linear
from gcnlimit.theory.predict import predict
from gcnlimit.theory.transfer import best_test_filter, transfer
from gcnlimit.training import GradientFlow

STRENGTHS = tuple(family for family in PARAMETER_OF if family != "polynomial")
"""Families with one strength."""

LAYERS = np.arange(1.0, LIMITS["depth"].high + 1.0)
"""Numbers of layers of the picture of the depth."""

TIMES = np.geomspace(1e-3, 1e3, 61)
"""Times of the picture of the training."""

SPARSE = 10.0
"""Mean degree below which the ceiling of large degrees is not that of the graph."""


class Cost(NamedTuple):
    """Cost of the equations of a state: the points that a curve may have, and what takes long.

    A `curve` is longer than a moving slider may wait; a `ceiling` takes a second, as with three unequal classes; `layers`
    are solved one by one, as with hubs under any but the symmetric normalization; an `average` of softmax takes minutes to tune.
    """

    points: int
    curve: bool
    ceiling: bool
    layers: bool
    average: bool

    @classmethod
    def of(cls, state: State) -> Cost:
        """Cost of a state; explicit formulas, at infinite regularization, cost nothing."""
        classes = state.data.classes
        average = state.finite and state.loss == "softmax" and classes.count > 2
        unequal = state.unequal and state.loss != "square"
        curve = state.finite and (average or unequal or not state.symmetric)
        points = 13 if average else 25 if state.finite else 81
        layers = state.hubs and state.normalization != "symmetric"
        return cls(points, curve, state.unequal and classes.count > 2, layers, average)


class Scan(NamedTuple):
    """Accuracies `y` of strengths `x`, the highest accuracy with its strength, and why some are not known."""

    x: Array
    y: Array
    top: float
    height: float
    why: str = ""


class Elsewhere(NamedTuple):
    """Accuracies of the trained network on graphs of other signals `x`, the last of which is that of the page.

    Test nodes are read through the filter of the training, through none, or through the best PageRank, of strength
    `theta`; `frozen` is the ceiling with these weights, `linear` and `ceiling` those with both graphs at hand.
    """

    x: Array
    theta: Array
    same: Array
    none: Array
    best: Array
    frozen: Array
    linear: Array
    ceiling: Array


class TrainingCurves(NamedTuple):
    """Accuracy of the network stopped at `TIMES`, of ridge regressions at one over them, and at the end of the training.

    The end is NaN where eigenvalues reach down to 0, or nearly so.
    """

    stopped: Array
    ridge: Array
    end: float


class Layers(NamedTuple):
    """Accuracy of residual networks of `LAYERS` layers at their best strength and at that of the page; of diffusion."""

    best: Array
    kept: Array
    diffusion: float


def strength_range(family: str, state: State) -> tuple[float, float]:
    """Strengths that are drawn: those of the slider, and more for many layers, whose best strength grows with them."""
    low, high = state.span(PARAMETER_OF[family])
    if family == "residual" and state.depth > 6:
        return min(low, -10.0), max(high, 10.0)
    return low, high


def scan(family: str, state: State) -> Scan:
    """Accuracy of a family against its strength, and its maximum on finer grids about the highest point."""
    _check_layers(state, family == "diffusion")

    def accuracy(x: Array) -> Array:
        gcn = state.gcn_of(family, x)
        return np.asarray(predict(state.data, gcn, throw=False).test_accuracy)

    x = np.linspace(*strength_range(family, state), Cost.of(state).points)
    y = accuracy(x)
    fine, height = x, y
    for _ in range(2):
        fine = _between(fine, _highest(height), np.linspace, 9 if state.finite else 17)
        height = accuracy(fine)
    top = _highest(height)
    why = _why_lost(x, y, lambda value: (state.data, state.gcn_of(family, value)))
    return Scan(x, y, float(fine[top]), float(height[top]), why)


def _why_lost(x: Array, y: Array, problem: Callable[[float], tuple[Any, Any]]) -> str:
    """Why accuracies `y` at some values are not known, as the library says it of those nearest to the curve."""
    lost = np.isnan(y)
    for value in sorted(x[lost], key=lambda v: np.abs(x[~lost] - v).min(initial=math.inf)):
        try:
            predict(*problem(float(value)))
        except GCNLimitError as error:
            return str(error)
    return ""


def along(state: State) -> tuple[Array, Array, Array, Array, str]:
    """Values along the axis; accuracies there of this network, all linear ones and all algorithms; why some are not known."""
    _check_layers(state, state.family == "diffusion")
    x, network = _along(state, lambda data: predict(data, state.gcn, throw=False))
    whole = int if state.axis == "classes" else float
    why = _why_lost(x, network, lambda v: (state.data_at(**{state.axis: whole(v)}), state.gcn))
    linear, ceiling = (_along(state, best)[1] for best in (best_linear, bayes_optimal))
    return x, network, linear, ceiling, why


def best_along(state: State) -> tuple[Array, Array]:
    """Values along the axis, and there the accuracy of the best of the family at infinite regularization."""
    _check_layers(state, state.family != "pagerank", f"the best {family_name(state.family)}")
    gcn = state.explicit(state.family)
    return _along(state, lambda data: tune(data, gcn, bounds(state.family)).prediction)


def _along(state: State, answer: Callable[[Any], Any]) -> tuple[Array, Array]:
    """Values along the axis that is chosen, and accuracies there."""
    if state.axis == "classes":  # one by one, since numbers of classes do not broadcast
        x = np.arange(2.0, 13.0)
        return x, np.array([answer(state.data_at(classes=int(n))).test_accuracy for n in x])
    cost = Cost.of(state)
    space = np.geomspace if LIMITS[state.axis].log else np.linspace
    x = space(*state.span(state.axis), 9 if cost.ceiling else min(cost.points, 49))
    return x, np.ravel(answer(state.data_at(**{state.axis: x})).test_accuracy)


def gap(state: State) -> tuple[Array, Array, Array]:
    """Signals of graph and features, and the ceiling minus the best of the family at infinite regularization there."""
    if Cost.of(state).ceiling:
        raise GCNLimitError("A map of three or more unequal classes takes minutes; see gl.gap_map")
    family = map_family(state)
    _check_layers(state)
    lam = np.linspace(*state.span("lam"), 31)
    mu = np.linspace(*state.span("mu"), 21)
    # a signal of the other sign has the mirror image of the filter, and the same gap
    size, place = np.unique(np.abs(lam).round(12), return_inverse=True)
    data = state.data_at(lam=size, mu=mu[:, None])
    return lam, mu, np.asarray(gap_map(data, state.explicit(family), bounds(family)).gap)[:, place]


def bounds(family: str) -> dict[str, tuple[float, float]]:
    """Between which strengths the best of a family is searched, as `tune` takes them."""
    bound = {"pagerank": 1.0, "diffusion": LIMITS["t"].high}.get(family, math.inf)
    return {PARAMETER_OF[family]: (-bound, bound)}


def map_family(state: State) -> str:
    """Family whose best networks the map shows: a polynomial of free order has none."""
    return state.family if state.family in STRENGTHS else "diffusion"


def layers(state: State) -> Layers:
    """Accuracy of residual networks against their number of layers, up to infinitely many: a diffusion.

    Each depth has its own best regularization where that of the page is finite, else the gain of the filter would decide.
    """
    if Cost.of(state).average:
        raise GCNLimitError("With softmax of several classes this takes minutes; gl.tune has it")
    _check_layers(state)
    networks = [state.replaced(family="residual", depth=int(k)) for k in LAYERS]
    # dense at 0, and the best strength grows as the depth
    tried = [np.sinh(np.linspace(-1.0, 1.0, 17) * np.arcsinh(3.0 * depth)) for depth in LAYERS]
    best = [_best(network, x) for network, x in zip(networks, tried, strict=True)]
    kept = [_best(network, np.array([state.c])) for network in networks]
    deep = _best(state.replaced(family="diffusion"), np.linspace(*LIMITS["t"].slider, 17))
    return Layers(np.array(best), np.array(kept), deep)


def _best(state: State, x: Array) -> float:
    """Highest accuracy between the strengths `x`, and over the regularization relative to the gain of the filter."""
    explicit = state.explicit(state.family, float(x[0]))
    if x.size > 1:
        prediction = tune(state.data, explicit, bounds(state.family)).prediction
    else:
        prediction = predict(state.data, explicit, throw=False)
    best = prediction.test_accuracy
    # finer and finer grids about the highest point
    reg = np.geomspace(1e-2, 1e3, 9)
    for _ in range(3 if state.finite else 0):
        strengths = np.broadcast_to(x, (reg.size, x.size))
        gcn = state.gcn_of(state.family, strengths, reg=reg[:, None], normalize=True)
        y = np.asarray(predict(state.data, gcn, throw=False).test_accuracy)
        row, column = np.unravel_index(_highest(y), y.shape)
        best = np.fmax(best, y[row, column])
        x = _between(x, column, np.linspace, 7) if x.size > 1 else x
        reg = _between(reg, row, np.geomspace, 7)
    return float(best)


def _highest(y: Array) -> int:
    """Place of the highest number; the first if there is none."""
    return int(np.argmax(np.where(np.isnan(y), -math.inf, y)))


def _between(x: Array, k: Any, space: Callable[..., Array], points: int) -> Array:
    """Finer values between the neighbours of one."""
    return space(x[max(k - 1, 0)], x[min(k + 1, x.size - 1)], points)


def best_filter(state: State) -> tuple[Array, Array, float]:
    """Eigenvalues, values there of the best filter over all regularizations, and its accuracy."""
    _check_alike(state, "The best of all filters")
    ceiling = filter_ceiling(state.data, state.symmetrize)
    order = np.argsort(ceiling.x)
    sign = np.sign(np.nansum(ceiling.g)) or 1.0
    return ceiling.x[order], sign * ceiling.g[order], float(ceiling.test_accuracy)


def training(state: State) -> TrainingCurves:
    """Accuracy against the training time on the square loss, in units of the gain, and of ridge regressions beside it."""
    what = "The accuracy at each time of the training"
    _check_alike(state, what)
    if state.unequal:
        raise GCNLimitError(f"{what} is known for equal classes only; give their number")
    if not state.symmetric and state.family != "pagerank":
        raise GCNLimitError(f"{what} needs a symmetrized graph, or PageRank; symmetrize the graph")
    ridge = state.gcn.replaced(loss="square", normalize=True, reg=1.0 / TIMES)
    flow = ridge.replaced(reg=0.0, training=GradientFlow(np.append(TIMES, math.inf)))
    stopped = np.asarray(predict(state.data, flow, throw=False).test_accuracy)
    if np.isnan(stopped[:-1]).any():
        raise GCNLimitError(f"{what} is not resolved for so steep a filter; take a smaller one")
    regularized = np.asarray(predict(state.data, ridge, throw=False).test_accuracy)
    return TrainingCurves(stopped[:-1], regularized, float(stopped[-1]))


def along_depth(state: State) -> tuple[Array, Array, Array]:
    """Depth, overlap of the hidden states with the labels, and their size, the root of the mean square."""
    if state.family == "pagerank":
        raise GCNLimitError("PageRank has no layers; choose a residual network or a diffusion")
    _check_alike(state, "What the hidden states carry along the depth")
    gcn = state.gcn if state.finite else state.gcn.replaced(loss="square")
    x = np.linspace(0.0, 1.0, 21) if state.family == "diffusion" else None
    f = order_functions(state.data, gcn, x)
    size = np.sqrt(np.diagonal(f.Q, axis1=-2, axis2=-1))
    return np.arange(0.0, size.size) if x is None else x, np.asarray(f.m), size


def comparison(state: State) -> Comparison:
    """Every family at its best, and the ceilings; at infinite regularization alone where degrees vary."""
    reg = math.inf if state.hubs else None
    return compare(state.data, depth=state.depth, symmetrize=state.symmetrize, reg=reg)


def elsewhere(state: State) -> Elsewhere:
    """Accuracy of the trained network on graphs of other signals."""
    _check_alike(state, "The accuracy on another graph")
    x = np.append(np.linspace(*state.span("to_lam"), 61), state.to_lam)
    data, gcn = state.data, state.gcn
    there = data.replaced(lam=x, mu=state.to_mu, rho=0.0)
    best = best_test_filter(data, gcn, there)
    readers = (gcn.replaced(test_filter=read) for read in (Polynomial([1.0]), best))
    same = np.full(x.size, np.nan)
    defined = gcn.filter.defined(there.operator(gcn.symmetrize).radius)
    if defined.any():
        same[defined] = transfer(data, gcn, there.replaced(lam=x[defined])).test_accuracy
    ceiling = bayes_optimal(data, to=there, gcn=gcn)
    linear = best_linear(data, to=there)
    read_out = (transfer(data, network, there) for network in readers)
    answers = (*read_out, ceiling.frozen, linear, ceiling)
    accuracies = (np.asarray(answer.test_accuracy) for answer in answers)
    return Elsewhere(x, best.values, same, *accuracies)


def tuned(state: State) -> State:
    """The state with the strength of its family at its best, and a regularization that matters with it."""
    if state.family not in STRENGTHS:
        remedy = "see the best filter in the picture of the spectrum"
        raise GCNLimitError(f"A polynomial has no single strength to tune; {remedy}")
    _check_layers(state, state.family == "diffusion")
    names = [state.parameter, "reg"] if state.finite else [state.parameter]
    numbers = tune(state.data, state.gcn, {name: LIMITS[name].slider for name in names}).parameters
    best = {name: np.clip(np.ravel(numbers[name])[0], *LIMITS[name][:2]) for name in names}
    return state.replaced(**best).rounded()


def _check_alike(state: State, what: str) -> None:
    """Refuse what has no theory where degrees vary."""
    if state.hubs:
        raise GCNLimitError(f"{what} is known for equal degrees only; set their variance to 0")


def _check_layers(state: State, many: bool = True, what: str = "this") -> None:
    """Refuse what has many layers, where each is solved by itself."""
    if many and Cost.of(state).layers:
        raise GCNLimitError(f"With hubs {what} takes minutes unless the normalization is symmetric")
