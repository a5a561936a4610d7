"""What can be swept: each producer of answers as a function from named parameters to named numbers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.performance import Performance
from gcnlimit.sweeps.keys import describe
from gcnlimit.sweeps.parameters import DATA, NETWORK, SIMULATION, build_data, build_network

__all__ = ["Producer", "as_producer"]

Answer = Mapping[str, Any]


@dataclass(frozen=True)
class Producer:
    """A function from parameters to numbers, and what the sweep must know of it.

    Parameters
    ----------
    name
        Name shown to the user.
    evaluate
        From a dictionary of parameters to named numbers (arrays, if some parameters are arrays).
    allowed
        Names of the parameters; ``None`` for any.
    needed
        Those that have no default.
    vectorised
        Names of the parameters that may be arrays of one axis, to be computed together.
    block
        How many points at most are computed, and kept, together.
    seeded
        Whether a point without a seed is given one, made from its inputs.
    identity
        What tells this producer from another in the store.
    """

    name: str
    evaluate: Callable[[dict[str, Any]], Answer]
    allowed: tuple[str, ...] | None
    needed: tuple[str, ...] = ()
    vectorised: tuple[str, ...] = ()
    block: int = 1
    seeded: bool = False
    identity: str = ""


def as_producer(what: Callable[..., Any] | str) -> Producer:
    """Producer of that name, of that function of the library, or made of your own function.

    >>> as_producer("bayes_optimal").allowed
    ('alpha', 'lam', 'mu', 'rho', 'directed')
    """
    name = what if isinstance(what, str) else getattr(what, "__name__", "")
    ours = isinstance(what, str) or str(getattr(what, "__module__", "")).startswith("gcnlimit.")
    if ours and name in _PRODUCERS:
        return _PRODUCERS[name]
    if isinstance(what, str) or not callable(what):
        raise ParameterError(f"cannot sweep {what!r}; choose one of {', '.join(_PRODUCERS)}, or pass a function")
    return _own(what)


def _own(function: Callable[..., Any]) -> Producer:
    """Producer made of any function from keyword arguments to a dictionary of numbers."""
    parameters = inspect.signature(function).parameters.values()
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters)
    named = {p.name: p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return Producer(
        name=getattr(function, "__name__", type(function).__name__),
        evaluate=functools.partial(_call, function),
        allowed=None if open_ended else tuple(named),
        needed=tuple(name for name, p in named.items() if p.default is p.empty and name != "seed"),
        seeded="seed" in named,
        identity=describe(function),
    )


def _call(function: Callable[..., Any], parameters: dict[str, Any]) -> Answer:
    answer = function(**parameters)
    if not isinstance(answer, Mapping):
        raise TypeError(f"the function returned {type(answer).__name__}, not a dictionary of numbers")
    for name, value in answer.items():
        if np.ndim(value):
            raise TypeError(f"the function returned an array as {name!r}; give each of its numbers a name")
    return answer


def _predict(parameters: dict[str, Any]) -> Answer:
    from gcnlimit.theory.predict import predict

    options = {name: parameters[name] for name in ("tol", "max_iterations") if name in parameters}
    prediction = predict(build_data(parameters), build_network(parameters), **options, throw=False)
    return prediction.as_dict() | {"status": prediction.status}


def _bayes_optimal(parameters: dict[str, Any]) -> Answer:
    from gcnlimit.theory.bayes import bayes_optimal

    prediction = bayes_optimal(build_data(parameters))
    return prediction.as_dict() | {"status": prediction.status}


def _simulate(parameters: dict[str, Any]) -> Answer:
    from gcnlimit.simulation.simulate import simulate

    names = (*SIMULATION, "streamed", "dtype")
    settings = {"trials": 10} | {name: parameters[name] for name in names if name in parameters}
    measured = simulate(build_data(parameters), build_network(parameters), workers=1, progress=False, **settings)
    if measured.trials < settings["trials"]:  # interrupted, it answers with fewer; a sweep keeps whole points only
        raise KeyboardInterrupt
    return _fields(measured) | {f"{name}_standard_error": e for name, e in _fields(measured.standard_error).items()}


def _tune(parameters: dict[str, Any]) -> Answer:
    from gcnlimit.choose.tune import tune

    tuned = tune(build_data(parameters), build_network(parameters), free=parameters["free"])
    answer = _fields(tuned.prediction) | {"status": tuned.prediction.status, "optimum": tuned.status}
    for name, values in tuned.parameters.items():
        answer |= _best(name, np.asarray(values, float), np.ndim(tuned.prediction.test_accuracy))
    return answer


def _best(name: str, values: Array, axes: int) -> dict[str, Any]:
    """Tuned values; one column for each layer where they differ by layer."""
    if values.ndim == axes:
        return {f"best_{name}": values}
    return {f"best_{name}_{k}": values[..., k] for k in range(values.shape[-1])}


def _fields(performance: Performance) -> dict[str, Any]:
    return performance.as_dict()


_SIGNALS = ("alpha", "lam", "mu", "rho")
_REAL = (*_SIGNALS, "t", "theta", "c", "reg")
_PRODUCERS = {
    p.name: p
    for p in (
        Producer("predict", _predict, (*DATA, *NETWORK, "tol", "max_iterations"), _SIGNALS, _REAL, block=4096),
        Producer("bayes_optimal", _bayes_optimal, DATA, _SIGNALS, _SIGNALS, block=4096),
        Producer(  # one decomposition of each graph serves every regularization
            "simulate",
            _simulate,
            (*DATA, *NETWORK, *SIMULATION, "streamed", "dtype"),
            _SIGNALS,
            vectorised=("reg",),
            block=4096,
            seeded=True,
        ),
        Producer("tune", _tune, (*DATA, *NETWORK, "free"), (*_SIGNALS, "free"), _SIGNALS, block=256),
    )
}
