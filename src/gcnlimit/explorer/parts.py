"""What the pictures are made of: numbers that depend on some of the controls alone, so that each is computed once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.choose.best_filter import filter_ceiling
from gcnlimit.choose.compare import Comparison, compare
from gcnlimit.choose.gap_map import gap_map
from gcnlimit.choose.tune import tune
from gcnlimit.errors import GCNLimitError
from gcnlimit.explorer.state import FAMILIES, LIMITS, State
from gcnlimit.filters import Diffusion
from gcnlimit.results.performance import Prediction
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.depth.order_functions import order_functions
from gcnlimit.theory.predict import predict

_SHOWN = {"residual": (-5.0, 5.0), "diffusion": (-4.0, 4.0), "pagerank": (-0.75, 0.75)}
STRENGTHS = tuple(family for family in FAMILIES if family != "polynomial")
FREE: dict[str, tuple[float, float]] = {"c": (-math.inf, math.inf), "t": (-math.inf, math.inf), "theta": (-1.0, 1.0)}
LAYERS = np.arange(1.0, LIMITS["depth"].high + 1.0)
"""Numbers of layers of the picture of the depth."""
_EXPLICIT, _SOLVED, _AVERAGED = (
    81,
    25,
    13,
)  # points of a curve: explicit, with equations to be solved, with long averages too

_NOT_DRAWN = (
    "at finite regularization the best of the family is not drawn for directed graphs or the softmax loss of several classes; "
    "see gl.tune"
)
_NO_LAYERS = "at finite regularization layers are not tuned for the softmax loss of several classes; see gl.tune"

_DATA = ("alpha", "lam", "mu", "rho", "classes", "directed")
_LEARNING = ("loss", "reg", "symmetrize")


@dataclass(frozen=True)
class Part:
    """Something to compute from a state.

    Parameters
    ----------
    compute
        The computation.
    depends
        Names of the controls on which it depends, for a state.
    prompt
        Whether it belongs to the answer to a movement, if it is quick enough; others wait until the controls rest.
    """

    compute: Callable[[State], Any]
    depends: Callable[[State], Iterable[str]]
    prompt: bool = True

    def key(self, state: State) -> State:
        """The state with every other control at its default.

        >>> PARTS["ceiling"].key(State(lam=0.5, t=3.0)) == PARTS["ceiling"].key(State(lam=0.5))
        True
        """
        return State(**{name: getattr(state, name) for name in self.depends(state)})


class Scan(NamedTuple):
    """Accuracies and training losses of strengths `x`, and the highest accuracy with its strength."""

    x: Array
    test_accuracy: Array
    train_loss: Array
    top: float
    height: float


class Along(NamedTuple):
    """Accuracy of the network and the ceiling along an axis."""

    network: Array
    ceiling: Array


class Layers(NamedTuple):
    """Accuracy of residual networks of `LAYERS` layers at their best strength, and at the strength of the page."""

    best: Array
    kept: Array


def shown(family: str, state: State) -> tuple[float, float]:
    """Strengths that are drawn: wider for many layers, whose best residual strength grows as their number."""
    low, high = _SHOWN[family]
    return (2 * low, 2 * high) if family == "residual" and state.depth > 6 else (low, high)


def scan(family: str, state: State) -> Scan:
    """Accuracy and training loss of a family against its strength."""
    x = np.linspace(*shown(family, state), _EXPLICIT if math.isinf(state.reg) else _solved(state))
    found = _predicted(state, family, x)
    accuracy, loss = np.asarray(found.test_accuracy), np.asarray(found.train_loss)
    top = _peak(lambda strength: _accuracy(state, family, strength), x, accuracy, fine=math.isinf(state.reg))
    return Scan(x, accuracy, loss, *map(float, top))


def axis_values(state: State) -> Array:
    """Values along the axis that is chosen."""
    if state.axis == "classes":
        return np.arange(2.0, 13.0)
    limit = LIMITS[state.axis]
    space = np.geomspace if limit.log else np.linspace
    return np.asarray(space(limit.low, limit.high, 49 if math.isinf(state.reg) else _solved(state)))


def along(state: State) -> Along:
    """Accuracy of the network and the ceiling along the axis."""
    return Along(_along(state, lambda data: predict(data, state.gcn, throw=False)), _along(state, bayes_optimal))


def best_along(state: State) -> Array:
    """Accuracy of the best of the family along the axis, at the regularization of the page."""
    family, name = state.family, state.parameter
    if math.isinf(state.reg):
        return _along(state, lambda data: tune(data, state.gcn, {name: FREE[name]}).prediction)
    if _solved(state) == _AVERAGED or not _symmetric(state):
        raise GCNLimitError(_NOT_DRAWN)
    values = (
        [{"classes": int(n)} for n in axis_values(state)]
        if state.axis == "classes"
        else [{state.axis: axis_values(state)}]
    )
    x = np.linspace(*LIMITS[name][:2], 33)[:, None]
    return np.ravel([_highest(state, family, x, **changes) for changes in values])


def gap(state: State) -> Array:
    """Bayes-optimal minus accuracy over both signals: of the network as it is, or of the best of its family at reg = inf."""
    lam, mu = map_axes()
    data = state.data_at(lam=lam, mu=mu[:, None])
    if state.gap == "network":
        return np.asarray(bayes_optimal(data).test_accuracy - predict(data, state.gcn, throw=False).test_accuracy)
    family = map_family(state)
    gcn = state.gcn_of(state.filter_of(family, 0.1), loss="square", reg=math.inf)
    return np.asarray(gap_map(data, gcn, {FAMILIES[family]: FREE[FAMILIES[family]]}).gap)


def map_axes() -> tuple[Array, Array]:
    """Signals of the graph and of the features on the map."""
    return np.linspace(*LIMITS["lam"][:2], 31), np.linspace(*LIMITS["mu"][:2], 21)


def map_family(state: State) -> str:
    """Family whose best networks the map shows: a polynomial of free order has none."""
    return state.family if state.family in STRENGTHS else "diffusion"


def layers(state: State) -> Layers:
    """Accuracy of residual networks against their number of layers."""
    if math.isfinite(state.reg) and _solved(state) == _AVERAGED:
        raise GCNLimitError(_NO_LAYERS)
    networks = [state.replaced(family="residual", depth=int(k)) for k in LAYERS]
    return Layers(np.array([_best_residual(n) for n in networks]), np.array([_here(n) for n in networks]))


def _best_residual(state: State) -> float:
    if math.isinf(state.reg):
        return float(tune(state.data, state.gcn, {"c": FREE["c"]}).prediction.test_accuracy)
    x = np.sinh(
        np.linspace(-1.0, 1.0, 33) * np.arcsinh(3.0 * state.depth)
    )  # dense at 0, and the best grows as the depth
    return float(_highest(state, "residual", x))


def best_filter(state: State) -> tuple[Array, Array, float]:
    """Eigenvalues, values there of the best filter over all regularizations, and its accuracy."""
    found = filter_ceiling(state.data, state.symmetrize)
    order = np.argsort(found.x)
    sign = np.sign(np.nansum(found.g)) or 1.0
    return found.x[order], sign * found.g[order], float(found.test_accuracy)


def along_depth(state: State) -> tuple[Array, Array, Array]:
    """Depth, overlap with the labels and power of the hidden states."""
    gcn = state.gcn if math.isfinite(state.reg) else state.gcn.replaced(loss="square")
    continuous = isinstance(gcn.filter, Diffusion)
    x = np.linspace(0.0, 1.0, 21)
    f = order_functions(state.data, gcn, x) if continuous else order_functions(state.data, gcn)
    power = np.diagonal(f.Q, axis1=-2, axis2=-1)
    return (x if continuous else np.arange(power.size, dtype=float)), np.asarray(f.m), power


def comparison(state: State) -> Comparison:
    """Every family at its best, and the ceilings."""
    return compare(state.data, depth=state.depth, symmetrize=state.symmetrize)


def _here(state: State) -> float:
    return float(predict(state.data, state.gcn, throw=False).test_accuracy)


def _ceiling(state: State) -> float:
    return float(bayes_optimal(state.data).test_accuracy)


def _network(state: State) -> tuple[str, ...]:
    return ("family", state.parameter, *(("depth",) if state.family == "residual" else ()), *_LEARNING)


def _family(state: State) -> tuple[str, ...]:
    return tuple(name for name in _network(state) if name != state.parameter)


def _others(*names: str) -> tuple[str, ...]:
    return tuple(name for name in _DATA if name not in names)


PARTS: dict[str, Part] = {
    "ceiling": Part(_ceiling, lambda state: _DATA),
    "here": Part(_here, lambda state: _DATA + _network(state)),
    "residual": Part(partial(scan, "residual"), lambda state: (*_DATA, *_LEARNING, "depth")),
    "diffusion": Part(partial(scan, "diffusion"), lambda state: _DATA + _LEARNING),
    "pagerank": Part(partial(scan, "pagerank"), lambda state: _DATA + _LEARNING),
    "along": Part(along, lambda state: (*_others(state.axis), *_network(state), "axis")),
    "depth": Part(along_depth, lambda state: _DATA + _network(state)),
    "layers": Part(layers, lambda state: (*_DATA, *_LEARNING, "c"), prompt=False),
    "best along": Part(best_along, lambda state: (*_others(state.axis), *_family(state), "axis"), prompt=False),
    "gap": Part(
        gap,
        lambda state: (
            *_others("lam", "mu"),
            "gap",
            *(_network(state) if state.gap == "network" else ("family", "depth", "symmetrize")),
        ),
        prompt=False,
    ),
    "filter": Part(best_filter, lambda state: (*_DATA, "symmetrize"), prompt=False),
    "table": Part(comparison, lambda state: (*_DATA, "depth", "symmetrize"), prompt=False),
}
"""Every part by its name."""


def _solved(state: State) -> int:
    """Points of a curve at finite regularization."""
    return _AVERAGED if state.loss == "softmax" and state.classes.strip() != "2" else _SOLVED


def _symmetric(state: State) -> bool:
    return state.symmetrize or not state.directed


def _predicted(state: State, family: str, strength: Array, **changes: Any) -> Prediction:
    return predict(state.data_at(**changes), state.gcn_of(state.filter_of(family, strength)), throw=False)


def _accuracy(state: State, family: str, strength: Array, **changes: Any) -> Array:
    return np.asarray(_predicted(state, family, strength, **changes).test_accuracy)


def _highest(state: State, family: str, x: Array, **changes: Any) -> Array:
    """Highest accuracy between the strengths `x`, along its first axis, at each of the data."""

    def accuracy(strength: Array) -> Array:
        return _accuracy(state, family, strength, **changes)

    return _peak(accuracy, x, accuracy(x), fine=False)[1]


def _peak(accuracy: Callable[[Array], Array], x: Array, y: Array, *, fine: bool) -> tuple[Array, Array]:
    """Place and height of the maximum along the first axis, on finer grids between the neighbours of the highest point."""
    for _ in range(1 + fine):
        x, top = np.broadcast_to(x, y.shape), _highest_index(y)
        low, high = (np.take_along_axis(x, np.clip(top + step, 0, len(y) - 1), 0)[0] for step in (-1, 1))
        x = np.linspace(low, high, 17 if fine else 9)
        y = accuracy(x)
    top = _highest_index(y)
    height = np.take_along_axis(y, top, 0)[0]
    return np.where(np.isnan(height), np.nan, np.take_along_axis(x, top, 0)[0]), height


def _highest_index(y: Array) -> Any:
    return np.expand_dims(np.argmax(np.where(np.isnan(y), -np.inf, y), axis=0), 0)


def _along(state: State, answer: Callable[[Any], Any]) -> Array:
    x = axis_values(state)
    if state.axis == "classes":
        return np.array([float(answer(state.data_at(classes=int(n))).test_accuracy) for n in x])
    return np.asarray(answer(state.data_at(**{state.axis: x})).test_accuracy)
