"""What can be swept: each producer as a function from named parameters to named numbers, and one block of it computed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit import parameters
from gcnlimit._runtime.progress import progress_bar
from gcnlimit._values import printable, shown
from gcnlimit.csbm import CSBM, SIGNALS
from gcnlimit.errors import GCNLimitError, ParameterError
from gcnlimit.parameters import DATA, SIMULATION, build_data, build_network, defaults
from gcnlimit.results.performance import LOST, THRESHOLDS, Performance, Status
from gcnlimit.sweeps.grid import Block, Columns
from gcnlimit.sweeps.store import describe

Point = dict[str, Any]  # parameters by name
Answer = Mapping[str, Any]

PRODUCERS = ("predict", "bayes_optimal", "best_linear", "simulate", "tune")
"""The producers of the library."""

FAILED, DONE = -1, 100
"""Status of a point without an answer, its reason kept beside it, and of a point of a producer that reports no status."""

STATUS_NAMES = {FAILED: "failed", DONE: "done"} | {int(s): s.name.lower() for s in Status}

_CEILINGS = ("bayes_optimal", "best_linear")
_SOLVER = ("tol", "max_iterations")
_SIMULATED = (*SIMULATION, "streamed", "dtype", "device")


@dataclass(frozen=True)
class Producer:
    """A function from parameters to numbers, and how it is swept."""

    name: str
    evaluate: Callable[[Point], Answer]  # with "throw" it raises at a refused point
    allowed: tuple[str, ...] | None  # names of the parameters; None for any
    needed: tuple[str, ...] = ()  # those without a default
    vectorized: tuple[str, ...] = ()  # those that may be arrays of one axis, computed together
    block: int = 1  # most points that are computed, and kept, together
    seeded: bool = False  # whether a point without a seed is given one, made from its inputs
    network: bool = False  # whether it takes a network
    defaults: Point = field(default_factory=dict)  # part of the key, but not of the seed
    identity: str = ""  # what distinguishes a function of the user from another in the store


def as_producer(what: Callable[..., Any] | str) -> Producer:
    """Producer of that name, of that function of the library, or made of your own function.

    >>> as_producer("bayes_optimal").allowed
    ('alpha', 'lam', 'mu', 'rho', 'directed', 'classes', 'features', 'degrees', 'noise', 'degrees_variance', 'degrees_law',
    'degree')
    """
    name = what if isinstance(what, str) else getattr(what, "__name__", "")
    ours = isinstance(what, str) or str(getattr(what, "__module__", "")).startswith("gcnlimit.")
    if ours and name in PRODUCERS:
        return _ours(name)
    if ours or not callable(what):
        own = "lambda lam: gl.transfer(gl.CSBM(4, lam, 2, 0.1), gcn, to)"
        choices = f"choose one of {', '.join(PRODUCERS)}, or pass a function such as {own}"
        raise ParameterError(f"cannot sweep {name or shown(what)}; {choices}")
    return _own(what)


def _ours(name: str) -> Producer:
    """Producer of the library; made when asked for, so that a filter added meanwhile is among the names."""
    if name in _CEILINGS:
        ceiling = functools.partial(_ceiling, name)
        return Producer(name, ceiling, (*DATA, "degree"), SIGNALS, SIGNALS, block=4096)
    filters = (*parameters.filter_names(), *parameters.names_at_test())
    problem = (*DATA, *filters, *parameters.LEARNING)
    if name == "tune":
        names = (*problem, "free")
        return Producer(name, _tune, names, (*SIGNALS, "free"), SIGNALS, block=256, network=True)
    if name == "predict":
        from gcnlimit.theory.predict import predict

        usual = defaults(predict, _SOLVER)
        names = (*problem, *_SOLVER)
        along = parameters.real_names()
        return Producer(name, _predict, names, SIGNALS, along, 4096, network=True, defaults=usual)
    from gcnlimit.simulation.simulate import simulate

    usual = defaults(simulate, _SIMULATED)
    usual = {key: value for key, value in usual.items() if key != "seed" and value is not None}
    names = (*problem, *_SIMULATED)
    along = ("reg",)  # one decomposition of each graph serves every regularization
    swept = names, SIGNALS, along, 4096
    return Producer(name, _simulate, *swept, seeded=True, network=True, defaults=usual)


def _own(function: Callable[..., Any]) -> Producer:
    """Producer made of any function from keyword arguments to numbers."""
    try:
        arguments = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise ParameterError(
            f"cannot sweep {shown(function)}: its parameters have no names; wrap it in a function"
        ) from None
    open_ended = any(p.kind is p.VAR_KEYWORD for p in arguments)
    named = {p.name: p for p in arguments if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return Producer(
        name=getattr(function, "__name__", type(function).__name__),
        evaluate=functools.partial(_call, function),
        allowed=None if open_ended else tuple(named),
        needed=tuple(name for name, p in named.items() if p.default is p.empty and name != "seed"),
        seeded="seed" in named,
        identity=describe(function),
    )


def _call(function: Callable[..., Any], point: Point) -> Answer:
    answer = function(**point)
    said = "the function returned"
    answer = getattr(answer, "prediction", answer)  # of tune and best_filter
    if isinstance(answer, Performance):
        answer = answer.as_dict() | {"status": getattr(answer, "status", DONE)}
    elif isinstance(answer, int | float | np.number):
        answer = {"value": answer}
    if not isinstance(answer, Mapping):
        use = "return a dictionary of numbers, a number, or what predict returns"
        raise TypeError(f"{said} {type(answer).__name__}; {use}")
    for name, value in answer.items():
        if np.ndim(value):
            raise TypeError(f"{said} an array as {name!r}; give each of its numbers a name")
        if not isinstance(name, str) or name in (*point, "error"):
            raise TypeError(f"{said} a number named {name!r}, which is taken; rename it")
    if "status" in answer and answer["status"] not in {DONE, *Status}:
        raise TypeError(f"{said} status = {answer['status']!r}, which is not a gcnlimit.Status")
    return answer


def _predict(point: Point) -> Answer:
    from gcnlimit.theory.predict import predict

    data = build_data(point)
    solver = {name: point[name] for name in _SOLVER if name in point}
    prediction = predict(data, build_network(point), **solver, throw="throw" in point)
    return _numbers(data, prediction) | {"status": prediction.status}


def _ceiling(name: str, point: Point) -> Answer:
    from gcnlimit.theory.bayes import bayes_optimal
    from gcnlimit.theory.linear import best_linear

    data = build_data(point)
    degree = point.get("degree")
    ceiling = (best_linear if name == "best_linear" else bayes_optimal)(data, degree=degree)
    random = ("test_accuracy", "test_loss", "log_test_error") if degree is not None else ()
    errors = {f"{name}_standard_error": getattr(ceiling.standard_error, name) for name in random}
    return _numbers(data, ceiling) | errors | {"status": ceiling.status}


def _simulate(point: Point) -> Answer:
    from gcnlimit.simulation.simulate import simulate

    data = build_data(point)
    how = defaults(simulate, ("trials",)) | {"workers": 1}
    how |= {name: point[name] for name in _SIMULATED if name in point}
    measured = simulate(data, build_network(point), **how, throw="throw" in point)
    # interrupted, it answers with fewer trials; a sweep keeps whole points only
    if measured.trials < how["trials"]:
        raise KeyboardInterrupt
    status = np.where(np.asarray(measured.status) > Status.CONVERGED, measured.status, DONE)
    errors = _numbers(data, measured.standard_error)
    named = {f"{name}_standard_error": error for name, error in errors.items()}
    return _numbers(data, measured) | named | {"status": status}


def _tune(point: Point) -> Answer:
    from gcnlimit.choose.tune import tune

    data = build_data(point)
    tuned = tune(data, build_network(point), point["free"], throw="throw" in point)
    ended = {"status": tuned.prediction.status, "optimum": tuned.status}
    best = {f"best_{name}": values for name, values in tuned.by_layer(tuned.parameters).items()}
    return _numbers(data, tuned.prediction) | ended | best


def _numbers(data: CSBM, performance: Performance) -> dict[str, Any]:
    """The fields by name; those of other thresholds on unequal classes only, where they are other numbers."""
    numbers = {"roc_auc": np.nan} | performance.as_dict()
    # of equal classes the best threshold is 0, and the numbers would be the same again
    same = THRESHOLDS if data.classes.equal else ()
    return {name: value for name, value in numbers.items() if name not in same}


@progress_bar("block", show=False)  # that of the sweep tells
def compute(producer: Producer, block: Block) -> Columns:
    """Answers of a block. A producer says by `status` which points failed; if it raises, all of them did."""
    try:
        fields = _fields(producer.evaluate(block.common | block.arrays), block)
    except Exception as error:
        return failed(reason(error), block.size, final=isinstance(error, GCNLimitError))
    status = fields["status"]
    unsolved = (status > Status.CONVERGED) & (status < DONE)
    places = np.flatnonzero(unsolved).tolist()
    errors = {place: Status(int(status[place])).message for place in places}
    if producer.identity:
        return Columns(fields, errors)
    # the library's own answers are numbers or failures, whose sentence names the parameter at fault
    refused = np.flatnonzero(status == Status.REFUSED).tolist()
    errors |= {place: _refusal(producer, block, place) for place in refused}
    lost = np.flatnonzero(np.isnan(fields["test_accuracy"]) & ~unsolved).tolist()
    status[refused + lost] = FAILED
    return Columns(fields, errors | dict.fromkeys(lost, LOST))


def _fields(answer: Any, block: Block) -> dict[str, npt.NDArray[Any]]:
    """Each number of the answer at each point, and the status; the seed beside them, if there is one."""
    numbers = {n: np.asarray(v, float) for n, v in answer.items() if n != "status"}
    fields = {n: np.array(np.broadcast_to(v, block.size)) for n, v in numbers.items()}
    fields["status"] = np.full(block.size, answer.get("status", DONE), np.int8)
    if "seed" in block.common:
        fields["seed"] = np.full(block.size, block.common["seed"], np.int64)
    return fields


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
    try:
        said = printable(f"{error}").split()
    except Exception:  # an exception of a user may be broken too
        said = ["an error that cannot be shown"]
    if not (said and isinstance(error, GCNLimitError)):
        said = [*printable(f"{type(error).__name__}:").split(), *said]
    return " ".join(said)
