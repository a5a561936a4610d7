"""The parameters by name: data, network and simulation as one flat dictionary, and back.

The names are made from the fields of `CSBM` and `GCN` and from the table of filters, so that a new filter in it can be swept,
written in a file and given on the command line without further code.
"""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar, cast

import numpy as np

from gcnlimit._validation import as_real, whole
from gcnlimit._values import Array, shown
from gcnlimit.csbm import CSBM, SIGNALS
from gcnlimit.degrees import Gamma, LogNormal
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Diffusion, Filter, PageRank, Polynomial, Residual
from gcnlimit.filters.polynomial import check_depth
from gcnlimit.network import GCN
from gcnlimit.normalization import NUMBERS, Regularized, as_normalization
from gcnlimit.results.result import Coordinates, Result
from gcnlimit.training import GradientDescent, GradientFlow, Training

AnyResult = TypeVar("AnyResult", bound=Result)
LAWS = {"gamma": Gamma, "lognormal": LogNormal}  # laws of degrees that their variance describes
DATA = (*(f.name for f in fields(CSBM)), "degrees_variance", "degrees_law")
TIMES = ("time", "steps", "rate", "momentum")  # of a training that stops
_PLAIN = (f.name for f in fields(GCN) if f.name not in ("filter", "test_filter"))
LEARNING = (*_PLAIN, "tau", *TIMES)
"""Parameters of the network beside its filters."""
SIMULATION = ("nodes", "degree", "trials", "seed")
WHOLE = ("depth", "steps", "nodes", "trials", "seed")
SETTINGS = ("tol", "max_iterations", "free", "streamed", "dtype", "device")
"""Parameters of the computation, not of the problem: never an axis."""

_LONG_NAMES = {
    "alpha": "nodes per feature",
    "lam": "signal of the graph",
    "mu": "signal of the features",
    "rho": "fraction of labelled nodes",
    "directed": "directed graph",
    "classes": "number of equal classes, or their fractions",
    "features": "law of the features",
    "degrees": "law of the degrees",
    "noise": "probability that a revealed label is wrong",
    "degrees_variance": "variance of the relative degrees (degree / mean degree)",
    "degrees_law": "law of degrees of that variance, gamma or lognormal",
    "t": "diffusion time",
    "theta": "PageRank parameter",
    "c": "residual strength",
    "depth": "number of layers",
    "coefficients": "polynomial coefficients",
    "reg": "regularization",
    "symmetrize": "symmetrized graph",
    "normalize": "regularization relative to the gain of the filter",
    "penalty": "penalty of the weights",
    "normalization": "symmetric, none, random-walk or regularized",
    "training": "gradient flow or descent that stops",
    "time": "time of gradient flow",
    "steps": "steps of gradient descent",
    "rate": "step size of gradient descent",
    "momentum": "momentum of gradient descent",
    "tau": "degree added by the regularized normalization, in units of the mean degree",
    "nodes": "number of nodes",
    "degree": "mean degree",
    "trials": "number of trials",
    "seed": "seed of the simulation",
}

FAMILIES = {f.parameter: f for f in (Diffusion, PageRank, Polynomial, Residual)}
"""Filters that one value describes, by the name of their parameter; add one of your own to sweep it by name."""


def layered(family: type[Filter]) -> bool:
    """Whether one number and `depth` describe a filter with the same value in each layer."""
    return family.deep and family.shared


def filter_names() -> tuple[str, ...]:
    """Names that describe a filter."""
    return ("filter", *FAMILIES, "depth")


def names_at_test() -> tuple[str, ...]:
    """Names that describe another filter at test: as such, or by the number of a filter that has no layers."""
    numbers = [f"test_{name}" for name, family in FAMILIES.items() if not family.deep]
    return ("test_filter", *numbers)


def real_names() -> tuple[str, ...]:
    """Names of the parameters that are one real number, along which theory is vectorized."""
    numbers = [name for name, family in FAMILIES.items() if not family.deep or layered(family)]
    return (*SIGNALS, *numbers, *names_at_test()[1:], "reg", *TIMES)


def long_name(name: str) -> str:
    """The quantity in words."""
    if name in names_at_test():
        return f"{long_name(name.removeprefix('test_'))} at test"
    return _LONG_NAMES.get(name) or name.replace("_", " ")


def defaults(function: Any, names: Collection[str]) -> dict[str, Any]:
    """Default values of the named arguments of a function."""
    arguments = inspect.signature(function).parameters
    values = {name: arguments[name].default for name in names if name in arguments}
    return {name: value for name, value in values.items() if value is not inspect.Parameter.empty}


def spaced(name: str, first: float, last: float, count: int, scale: str = "linear") -> Array:
    """Evenly spaced values of the parameter `name`, ends included, on a linear or logarithmic scale."""
    if scale not in ("linear", "log"):
        raise ParameterError(
            f"scale = {shown(scale)} of the range of {name} must be 'linear' or 'log'"
        )
    log = scale == "log"
    count = whole(f"number of values of {name}", count, low=1, high=10**8)
    least = 0.0 if log else -math.inf
    low, high = np.asarray(as_real(f"range of {name}", [first, last], low=least, open_low=log))
    return np.asarray(np.geomspace(low, high, count) if log else np.linspace(low, high, count))


def suggestion(name: object, allowed: Collection[str]) -> str:
    """Question that names the nearest allowed name, or nothing."""
    close = difflib.get_close_matches(str(name), list(allowed), 1)
    return f"did you mean {close[0]!r}? " if close else ""


def check_names(names: Collection[str], allowed: Collection[str], where: str) -> None:
    """Refuse the first name that is not allowed, and say which ones are."""
    for name in names:
        if name not in allowed:
            choices = suggestion(name, allowed) + "allowed: " + (", ".join(allowed) or "none")
            raise ParameterError(f"{name!r} is not {where}; {choices}")


def build_data(parameters: Mapping[str, Any]) -> CSBM:
    """Data of the parameters; a law of degrees may be given by its variance.

    >>> build_data({"alpha": 4, "lam": 1, "mu": 2, "rho": 0.1, "degrees_variance": 0.5}).degrees
    Gamma(variance=0.5)
    """
    fields_given = {name: parameters[name] for name in DATA if parameters.get(name) is not None}
    variance = fields_given.pop("degrees_variance", None)
    law = fields_given.pop("degrees_law", "gamma")
    if law not in LAWS:
        raise ParameterError(f"degrees_law = {shown(law)} is not known; write {' or '.join(LAWS)}")
    if variance is not None:
        if "degrees" in fields_given:
            raise ParameterError("degrees_variance and degrees are both given; give only one")
        fields_given["degrees"] = LAWS[law](variance)
    return CSBM(**fields_given)


def build_network(parameters: Mapping[str, Any]) -> GCN:
    """Network of the parameters; `tau` belongs to the regularized normalization.

    >>> build_network({"t": 1.0, "normalization": "regularized", "tau": 2.0}).normalization
    Regularized(tau=2.0)
    """
    arguments = {name: parameters[name] for name in LEARNING if name in parameters}
    tau = arguments.pop("tau", None)
    if tau is not None:
        if not isinstance(as_normalization(arguments.get("normalization", "none")), Regularized):
            needed = "normalization = 'regularized'; add that, or leave tau out"
            raise ParameterError(f"tau = {tau!r} needs {needed}")
        arguments["normalization"] = Regularized(tau)
    times = {name: arguments.pop(name) for name in TIMES if name in arguments}
    if times:
        if "training" in arguments:
            raise ParameterError(f"training and {', '.join(times)} are both given; leave one out")
        arguments["training"] = build_training(times)
    at_test = [name for name in names_at_test() if name in parameters]
    test = {name.removeprefix("test_"): parameters[name] for name in at_test}
    test_filter = build_filter(test) if test else None
    return GCN(build_filter(parameters), **arguments, test_filter=test_filter)


def build_training(times: Mapping[str, Any]) -> Training:
    """Training that stops after a `time`, or after some `steps` of size `rate`.

    >>> build_training({"steps": 10, "rate": 0.5})
    GradientDescent(steps=10.0, rate=0.5, momentum=0.0)
    """
    if set(times) == {"time"}:
        return GradientFlow(times["time"])
    if "time" not in times and {"steps", "rate"} <= set(times):
        return GradientDescent(**times)
    needed = "a training that stops needs time, or steps and rate (and momentum)"
    raise ParameterError(f"{needed}, got {', '.join(times)}; give either")


def build_filter(parameters: Mapping[str, Any]) -> Filter:
    """Filter of the parameters: given as such, by its parameter, or by one number for all layers and their `depth`.

    >>> build_filter({"c": 0.5, "depth": 2})
    Residual(c=array([0.5, 0.5]))
    """
    if "filter" in parameters:
        return cast("Filter", parameters["filter"])
    name = next((name for name in FAMILIES if name in parameters), None)
    if name is None:
        raise ParameterError(f"the network has no filter; give gcn, filter, {filter_choices()}")
    family = FAMILIES[name]
    make = cast("Callable[[Any], Filter]", family)
    value = parameters[name]
    depth = parameters.get("depth")
    if not layered(family) or isinstance(value, tuple | list):
        if depth is not None:
            raise ParameterError(f"depth = {depth} is given with a list of {name}; leave one out")
        return make(value)
    if depth is None:
        raise ParameterError(f"{name}, one for all layers, needs depth; or give {name} as lists")
    shared = np.asarray(as_real(name, value))
    return make(np.repeat(shared[..., None], check_depth(depth), axis=-1))


def starts(free: Mapping[str, Any], chosen: Collection[str]) -> dict[str, Any]:
    """Values with which a search begins for free parameters that are not given: those nearest to 0 (of a time to 1), by layer.

    >>> starts({"t": (1, 10), "c": [(-9, 9), (-9, 9)], "reg": (0.1, 1)}, ())
    {'t': 1.0, 'c': (0.0, 0.0)}
    >>> starts({"depth": (1, 8)}, ("c",))
    {'depth': 1}
    >>> starts({"time": (0, 0.1)}, ()), starts({"time": (0, 9)}, ())
    ({'time': 0.1}, {'time': 1.0})
    """
    begun: dict[str, Any] = {"depth": 1} if "depth" in free and "depth" not in chosen else {}
    for name in (*TIMES, *FAMILIES, *names_at_test()[1:]):
        if name not in free or name in chosen:
            continue
        bounds = np.asarray(as_real(f"free[{name!r}]", free[name], infinite=True))
        if bounds.shape[-1:] == (2,):
            usual = 1.0 if name in TIMES else 0.0
            nearest = np.clip(usual, bounds[..., 0], bounds[..., 1]).tolist()
            begun[name] = nearest if bounds.ndim == 1 else tuple(nearest)
    return begun


def filter_choices() -> str:
    """The filters as they can be given: their parameters, with the depth where it belongs."""
    shared = [name for name in FAMILIES if layered(FAMILIES[name])]
    return ", ".join(f"{name} with depth" if name in shared else name for name in FAMILIES)


def with_coordinates(
    result: AnyResult, data: CSBM | None, gcn: GCN | None = None, to: CSBM | None = None
) -> AnyResult:
    """Same result with the parameters that it was computed for."""
    return replace(result, coordinates=coordinates_of(data, gcn, to))


def coordinates_of(
    data: CSBM | None, gcn: GCN | None = None, to: CSBM | None = None
) -> Coordinates:
    """Parameters that a result is computed for; those of another graph to test on begin with ``to_``.

    >>> import gcnlimit as gl
    >>> network = gl.GCN(gl.Residual([[1.0, 2.0], [3.0, 4.0]]))
    >>> gl.predict(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), network).to_xarray().c_2.values.tolist()
    [2.0, 4.0]
    """
    parameters: dict[str, Any] = {}
    if data is not None:
        parameters |= {name: getattr(data, name) for name in (*SIGNALS, "directed")}
        if not data.classes.two:
            fractions = str(data.classes.fractions.tolist())
            parameters["classes"] = data.classes.count if data.classes.equal else fractions
        if data.noise:
            parameters["noise"] = data.noise
        if data.degrees is not None:
            parameters["degrees"] = repr(data.degrees)
            if gcn is not None:
                parameters["normalization"] = repr(gcn.normalization)
                numbers = {name: getattr(gcn.normalization, name) for name in NUMBERS}
                parameters |= {name: value for name, value in numbers.items() if np.ndim(value)}
    if gcn is not None:
        parameters |= _of_filter(gcn.filter)
        if gcn.test_filter is not None:
            other = _of_filter(gcn.test_filter)
            parameters |= {f"test_{name}": values for name, values in other.items()}
        loss = type(gcn.loss).__name__
        parameters |= {"loss": loss, "reg": gcn.reg, "symmetrize": gcn.symmetrize}
        if gcn.training is not None:
            parameters |= {name: getattr(gcn.training, name) for name in gcn.training.names}
    if to is not None:
        parameters |= {f"to_{name}": getattr(to, name) for name in SIGNALS}
    return Coordinates(parameters)


def each_layer(name: str, values: Any, first: int = 1) -> dict[str, Any]:
    """The layers of a parameter, its last axis, by name.

    >>> each_layer("c", np.array([[1.0, 2.0], [3.0, 4.0]]))
    {'c_1': array([1., 3.]), 'c_2': array([2., 4.])}
    """
    layers = np.moveaxis(np.asarray(values), -1, 0)
    return {f"{name}_{k}": layer for k, layer in enumerate(layers, first)}


def _of_filter(filter: Filter) -> dict[str, Any]:
    """The parameter of a filter; one strength and the depth where all layers are equal, else one column for each layer."""
    values = np.asarray(filter.values)
    if not filter.deep:
        return {filter.parameter: values}
    missing = np.isnan(values)  # networks of different depths
    if filter.shared and values.shape[-1] and np.all((values == values[..., :1]) | missing):
        depth = np.count_nonzero(~missing, axis=-1) if missing.any() else values.shape[-1]
        return {filter.parameter: values[..., 0], "depth": depth}
    return each_layer(filter.parameter, values, first=1 if filter.shared else 0)
