"""Every computation of the page, with the controls on which it depends, so that it is computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from gcnlimit.csbm import SIGNALS
from gcnlimit.explorer import curves
from gcnlimit.explorer.curves import STRENGTHS, Cost
from gcnlimit.explorer.state import LEARNING, LIMITS, PARAMETER_OF, State
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.linear import best_linear
from gcnlimit.theory.predict import predict

Results = Mapping[str, Any]
"""Results of computations by name."""

_DATA = (*SIGNALS, "classes", "directed", "degrees_variance")


@dataclass(frozen=True)
class Computation:
    """Function of a state, the controls on which it depends, and whether a moving slider may wait for it."""

    compute: Callable[[State], Any]
    depends: Callable[[State], Iterable[str]]
    prompt: bool = True

    def key(self, state: State) -> State:
        """The state with every other control at its default.

        >>> key = COMPUTATIONS["ceiling"].key
        >>> key(State(lam=0.5, t=3.0)) == key(State(lam=0.5))
        True
        """
        return State(**{name: getattr(state, name) for name in self.depends(state)})


def _here(state: State) -> float:
    return float(predict(state.data, state.gcn, throw=False).test_accuracy)


def _ceiling(state: State, degree: float | None = None) -> float:
    return float(bayes_optimal(state.data, degree=degree).test_accuracy)


def _depth(family: str) -> tuple[str, ...]:
    return ("depth",) if family == "residual" else ()


def _network(state: State) -> tuple[str, ...]:
    return ("family", state.parameter, *_depth(state.family), *LEARNING)


def _explicit(state: State) -> tuple[str, ...]:
    """Controls on which the best of the family at infinite regularization depends, beside the data."""
    return ("family", *_depth(state.family), "symmetrize", "normalization")


def _signals(state: State, *drawn: str) -> tuple[str, ...]:
    """Parameters of the data, without those on the axes of the picture unless they are beyond their slider."""
    return tuple(name for name in _DATA if name not in drawn) + _beyond(state, *drawn)


def _beyond(state: State, *names: str) -> tuple[str, ...]:
    numbers = [name for name in names if name in LIMITS]
    return tuple(name for name in numbers if state.span(name) != LIMITS[name].slider)


def _scanned(family: str) -> Computation:
    names = (*_DATA, *LEARNING, *_depth(family))
    return Computation(
        partial(curves.scan, family), lambda s: (*names, *_beyond(s, PARAMETER_OF[family]))
    )


_slow = partial(Computation, prompt=False)
COMPUTATIONS: dict[str, Computation] = {
    "ceiling": Computation(_ceiling, lambda s: _DATA),
    "linear": Computation(lambda s: float(best_linear(s.data).test_accuracy), lambda s: _DATA),
    "here": Computation(_here, lambda s: _DATA + _network(s)),
    **{family: _scanned(family) for family in STRENGTHS},
    "along": Computation(curves.along, lambda s: (*_signals(s, s.axis), *_network(s), "axis")),
    "depth": Computation(curves.along_depth, lambda s: _DATA + _network(s)),
    "training": Computation(curves.training, lambda s: _DATA + _network(s)),
    "layers": _slow(curves.layers, lambda s: (*_DATA, *LEARNING, "c")),
    "elsewhere": Computation(curves.elsewhere, lambda s: (*_DATA, *_network(s), "to_lam", "to_mu")),
    "best along": _slow(curves.best_along, lambda s: (*_signals(s, s.axis), *_explicit(s), "axis")),
    "gap": _slow(curves.gap, lambda s: _signals(s, "lam", "mu") + _explicit(s)),
    "filter": _slow(curves.best_filter, lambda s: (*_DATA, "symmetrize")),
    "table": _slow(curves.comparison, lambda s: (*_DATA, "depth", "symmetrize")),
    "sparse ceiling": _slow(lambda s: _ceiling(s, s.degree), lambda s: (*_DATA, "degree")),
}
"""Every computation by its name."""


def is_quick(name: str, state: State) -> bool:
    """Whether a moving slider need not wait long for a computation; a point is quick where its curve may not be."""
    cost = Cost.of(state)
    point = name in {"ceiling", "linear", "here"}
    return COMPUTATIONS[name].prompt and not cost.ceiling and (point or not cost.curve)
