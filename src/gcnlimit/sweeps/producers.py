"""What can be swept: each producer as a function from named parameters to named numbers, and one block of it computed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit.csbm import CSBM, SIGNALS
from gcnlimit.errors import GCNLimitError, ParameterError
from gcnlimit.parameters import DATA, SIMULATION, build_data, build_network, defaults, network_names, real_names
from gcnlimit.results.performance import LOST, THRESHOLDS, Performance, Status
from gcnlimit.sweeps.grid import Block, Columns
from gcnlimit.sweeps.store import describe

Answer = Mapping[str, Any]

PRODUCERS = ("predict", "bayes_optimal", "simulate", "tune")
"""The producers of the library."""

FAILED, DONE = -1, 100
"""Status of a point without an answer, its reason kept beside it, and of a point of a producer that reports no status."""

STATUS_NAMES = {FAILED: "failed", DONE: "done"} | {int(s): s.name.lower() for s in Status}

_SOLVER = ("tol", "max_iterations")
_SIMULATED = (*SIMULATION, "streamed", "dtype", "device")


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
        return _ours(name)
    if isinstance(what, str) or not callable(what):
        raise ParameterError(f"cannot sweep {what!r}; choose one of {', '.join(PRODUCERS)}, or pass a function")
    return _own(what)


def _ours(name: str) -> Producer:
    """Producer of the library; made when asked for, so that a filter added meanwhile is among the names."""
    if name == "bayes_optimal":
        return Producer(name, _bayes_optimal, (*DATA, "degree"), SIGNALS, SIGNALS, block=4096)
    problem = (*DATA, *network_names())
    if name == "tune":
        names = (*problem, "free")
        return Producer(name, _tune, names, (*SIGNALS, "free"), SIGNALS, block=256, network=True)
    if name == "predict":
        from gcnlimit.theory.predict import predict

        usual = defaults(predict, _SOLVER)
        names = (*problem, *_SOLVER)
        return Producer(name, _predict, names, SIGNALS, real_names(), 4096, network=True, defaults=usual)
    from gcnlimit.simulation.simulate import simulate

    usual = {key: v for key, v in defaults(simulate, _SIMULATED).items() if key != "seed" and v is not None}
    names = (*problem, *_SIMULATED)
    along = ("reg",)  # one decomposition of each graph serves every regularization
    return Producer(name, _simulate, names, SIGNALS, along, 4096, seeded=True, network=True, defaults=usual)


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
            raise TypeError(f"the function returned a number named {name!r}, which has another meaning; rename it")
    if "status" in answer and answer["status"] not in list(Status):
        raise TypeError(f"the function returned status = {answer['status']!r}, which is no gcnlimit.Status")
    return answer


def _predict(parameters: dict[str, Any]) -> Answer:
    from gcnlimit.theory.predict import predict

    data, gcn = build_data(parameters), build_network(parameters)
    found = predict(data, gcn, **_given(_SOLVER, parameters), throw="throw" in parameters)
    return _numbers(data, found) | {"status": found.status}


def _bayes_optimal(parameters: dict[str, Any]) -> Answer:
    from gcnlimit.theory.bayes import bayes_optimal

    data = build_data(parameters)
    degree = parameters.get("degree")
    found = bayes_optimal(data, degree=degree)
    random = ("test_accuracy", "test_loss", "log_test_error") if degree is not None else ()
    errors = {f"{name}_standard_error": getattr(found.standard_error, name) for name in random}
    return _numbers(data, found) | errors | {"status": found.status}


def _simulate(parameters: dict[str, Any]) -> Answer:
    from gcnlimit.simulation.simulate import simulate

    data, gcn = build_data(parameters), build_network(parameters)
    settings = defaults(simulate, ("trials",)) | _given(_SIMULATED, parameters) | {"workers": 1, "progress": False}
    found = simulate(data, gcn, **settings, throw="throw" in parameters)
    if found.trials < settings["trials"]:  # interrupted, it answers with fewer; a sweep keeps whole points only
        raise KeyboardInterrupt
    status = np.where(np.asarray(found.status) > Status.CONVERGED, found.status, DONE)
    errors = {f"{name}_standard_error": error for name, error in _numbers(data, found.standard_error).items()}
    return _numbers(data, found) | errors | {"status": status}


def _tune(parameters: dict[str, Any]) -> Answer:
    from gcnlimit.choose.tune import tune

    data, gcn = build_data(parameters), build_network(parameters)
    tuned = tune(data, gcn, parameters["free"], throw="throw" in parameters, progress=False)
    best = {f"best_{name}": values for name, values in tuned.by_layer(tuned.parameters).items()}
    return _numbers(data, tuned.prediction) | {"status": tuned.prediction.status, "optimum": tuned.status} | best


def _given(names: tuple[str, ...], parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: parameters[name] for name in names if name in parameters}


def _numbers(data: CSBM, performance: Performance) -> dict[str, Any]:
    """The fields by name; those of other thresholds on unequal classes only, where they are other numbers."""
    numbers = {"roc_auc": np.nan} | performance.as_dict()
    return {name: value for name, value in numbers.items() if name not in THRESHOLDS or not data.classes.equal}


def compute(producer: Producer, block: Block) -> Columns:
    """Answers of a block. A producer says by `status` which points failed; if it raises, all of them did."""
    try:
        fields = _fields(producer.evaluate(block.common | block.arrays), block)
    except Exception as error:
        return failed(reason(error), block.size, final=isinstance(error, GCNLimitError))
    status = fields["status"]
    unsolved = (status > Status.CONVERGED) & (status < DONE)
    errors = {place: Status(int(status[place])).message for place in _where(unsolved)}
    if producer.identity:
        return Columns(fields, errors)
    # The library's own answers are numbers or failures, and its sentence names the parameter at fault.
    refused = _where(status == Status.REFUSED)
    errors |= {place: _refusal(producer, block, place) for place in refused}
    lost = _where(np.isnan(fields["test_accuracy"]) & ~unsolved)
    status[refused + lost] = FAILED
    return Columns(fields, errors | dict.fromkeys(lost, LOST))


def _fields(answer: Any, block: Block) -> dict[str, npt.NDArray[Any]]:
    """Each number of the answer at each point, and the status; the seed beside them, if there is one."""
    numbers = {name: np.asarray(values, float) for name, values in answer.items() if name != "status"}
    fields = {name: np.array(np.broadcast_to(values, block.size)) for name, values in numbers.items()}
    fields["status"] = np.array(np.broadcast_to(answer.get("status", DONE), block.size), np.int8)
    if "seed" in block.common:
        fields["seed"] = np.full(block.size, block.common["seed"], np.int64)
    return fields


def _where(points: npt.NDArray[np.bool_]) -> list[int]:
    return [int(place) for place in np.flatnonzero(points)]


def _refusal(producer: Producer, block: Block, place: int) -> str:
    """Sentence by which the producer refuses a point."""
    point = {name: float(values[place]) for name, values in block.arrays.items()}
    try:
        producer.evaluate(block.common | point | {"throw": True})
    except GCNLimitError as error:
        return str(error)
    return Status.REFUSED.message


def failed(reason: str, size: int = 1, *, final: bool = False) -> Columns:
    """Columns of points that failed for the same reason."""
    status = np.full(size, FAILED, np.int8)
    return Columns({"status": status}, dict.fromkeys(range(size), reason), final)


def reason(error: BaseException) -> str:
    """Why a point failed, in one line.

    >>> reason(ValueError("no digits\\nin it"))
    'ValueError: no digits in it'
    """
    if isinstance(error, GCNLimitError):
        return str(error)
    return " ".join(f"{type(error).__name__}: {error}".split())
