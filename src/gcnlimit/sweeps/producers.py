"""What can be swept: each producer of answers as a function from named parameters to named numbers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.csbm import CSBM, SIGNALS
from gcnlimit.errors import ParameterError
from gcnlimit.parameters import (
    DATA,
    SIMULATION,
    build_data,
    build_network,
    defaults,
    network_names,
    real_names,
)
from gcnlimit.results.performance import THRESHOLDS, Performance, Status
from gcnlimit.sweeps.store import describe

Answer = Mapping[str, Any]

DONE = 100
"""Status of a point of a producer that reports none."""


@dataclass(frozen=True)
class Producer:
    """A function from parameters to numbers, and how it is swept."""

    name: str
    evaluate: Callable[[dict[str, Any]], Answer]  # arrays, if some are; raises at a refused point with "throw"
    allowed: tuple[str, ...] | None  # names of the parameters; None for any
    needed: tuple[str, ...] = ()  # those without a default
    vectorised: tuple[str, ...] = ()  # those that may be arrays of one axis, computed together
    block: int = 1  # most points that are computed, and kept, together
    seeded: bool = False  # whether a point without a seed is given one, made from its inputs
    network: bool = False  # whether it takes a network
    defaults: dict[str, Any] = field(default_factory=dict)  # part of the key of a point, but not of its seed
    identity: str = ""  # what distinguishes a function of the user from another in the store


def as_producer(what: Callable[..., Any] | str) -> Producer:
    """Producer of that name, of that function of the library, or made of your own function.

    >>> as_producer("bayes_optimal").allowed
    ('alpha', 'lam', 'mu', 'rho', 'directed', 'classes', 'features', 'degrees', 'degrees_variance', 'degrees_law',
    'degree')
    """
    name = what if isinstance(what, str) else getattr(what, "__name__", "")
    ours = isinstance(what, str) or str(getattr(what, "__module__", "")).startswith("gcnlimit.")
    if ours and name in PRODUCERS:
        return PRODUCERS[name]()
    if isinstance(what, str) or not callable(what):
        raise ParameterError(f"cannot sweep {what!r}; choose one of {', '.join(PRODUCERS)}, or pass a function")
    return _own(what)


def _own(function: Callable[..., Any]) -> Producer:
    """Producer made of any function from keyword arguments to a dictionary of numbers."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise ParameterError(f"cannot sweep {function!r}: it has no named parameters; wrap it in a function") from None
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
        if not isinstance(name, str) or name in (*parameters, "error"):
            raise TypeError(
                f"the function returned a number named {name!r}, which has another meaning; name it otherwise"
            )
    if "status" in answer and answer["status"] not in list(Status):
        raise TypeError(f"the function returned status = {answer['status']!r}, which is no gcnlimit.Status")
    return answer


_COMPUTING = ("streamed", "dtype", "device")
"""How a simulation is computed."""


def _predict(parameters: dict[str, Any]) -> Answer:
    from gcnlimit.theory.predict import predict

    options = {name: parameters[name] for name in ("tol", "max_iterations") if name in parameters}
    data = build_data(parameters)
    prediction = predict(data, build_network(parameters), **options, throw="throw" in parameters)
    return _numbers(data, prediction) | {"status": prediction.status}


def _numbers(data: CSBM, performance: Performance) -> dict[str, Any]:
    """The fields by name; those of other thresholds on unequal classes only, where they are other numbers."""
    numbers = {"roc_auc": np.nan} | performance.as_dict()
    return {name: value for name, value in numbers.items() if name not in THRESHOLDS or not data.classes.equal}


def _bayes_optimal(parameters: dict[str, Any]) -> Answer:
    from gcnlimit.theory.bayes import bayes_optimal

    degree = parameters.get("degree")
    data = build_data(parameters)
    prediction = bayes_optimal(data, degree=degree)
    random = ("test_accuracy", "test_loss", "log_test_error") if degree is not None else ()
    errors = {f"{name}_standard_error": getattr(prediction.standard_error, name) for name in random}
    return _numbers(data, prediction) | errors | {"status": prediction.status}


def _simulate(parameters: dict[str, Any]) -> Answer:
    from gcnlimit.simulation.simulate import simulate

    given = {name: parameters[name] for name in (*SIMULATION, *_COMPUTING) if name in parameters}
    settings = _simulating().defaults | given | {"workers": 1, "progress": False}
    throw = "throw" in parameters
    data = build_data(parameters)
    measured = simulate(data, build_network(parameters), **settings, throw=throw)
    if measured.trials < settings["trials"]:  # interrupted, it answers with fewer; a sweep keeps whole points only
        raise KeyboardInterrupt
    status = np.where(np.asarray(measured.status) > Status.CONVERGED, measured.status, DONE)
    errors = _numbers(data, measured.standard_error)
    named = {f"{name}_standard_error": error for name, error in errors.items()}
    return _numbers(data, measured) | named | {"status": status}


def _tune(parameters: dict[str, Any]) -> Answer:
    from gcnlimit.choose.tune import tune

    throw = "throw" in parameters
    data = build_data(parameters)
    tuned = tune(data, build_network(parameters), parameters["free"], throw=throw, progress=False)
    found = tuned.prediction
    answer = _numbers(data, found) | {"status": found.status, "optimum": tuned.status}
    for name, values in tuned.parameters.items():
        answer |= _best(name, np.asarray(values, float), np.ndim(found.test_accuracy))
    return answer


def _best(name: str, values: Array, axes: int) -> dict[str, Any]:
    """Tuned values; one column for each layer where they differ by layer."""
    if values.ndim == axes:
        return {f"best_{name}": values}
    return {f"best_{name}_{k}": values[..., k] for k in range(values.shape[-1])}


def _predicting() -> Producer:
    from gcnlimit.theory.predict import predict

    settings = ("tol", "max_iterations")
    return Producer(
        "predict",
        _predict,
        (*DATA, *network_names(), *settings),
        SIGNALS,
        vectorised=real_names(),
        block=4096,
        network=True,
        defaults=defaults(predict, settings),
    )


def _bounding() -> Producer:
    return Producer("bayes_optimal", _bayes_optimal, (*DATA, "degree"), SIGNALS, SIGNALS, block=4096)


def _simulating() -> Producer:
    from gcnlimit.simulation.simulate import simulate

    settings = (*SIMULATION, *_COMPUTING)
    usual = {k: v for k, v in defaults(simulate, settings).items() if k != "seed" and v is not None}
    return Producer(
        "simulate",
        _simulate,
        (*DATA, *network_names(), *settings),
        SIGNALS,
        vectorised=("reg",),  # one decomposition of each graph serves every regularization
        block=4096,
        seeded=True,
        network=True,
        defaults=usual,
    )


def _tuning() -> Producer:
    names = (*DATA, *network_names(), "free")
    return Producer("tune", _tune, names, (*SIGNALS, "free"), SIGNALS, block=256, network=True)


PRODUCERS: dict[str, Callable[[], Producer]] = {
    "predict": _predicting,
    "bayes_optimal": _bounding,
    "simulate": _simulating,
    "tune": _tuning,
}
"""The producers of the library by name, made when asked for, so that a filter defined meanwhile is among the names."""
