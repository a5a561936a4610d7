"""The parameters by name: data, network and simulation as one flat dictionary, and back."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Diffusion, Filter, PageRank, Polynomial, Residual
from gcnlimit.network import GCN

__all__ = [
    "DATA",
    "FILTER",
    "LONG_NAMES",
    "NETWORK",
    "SETTINGS",
    "SIMULATION",
    "build_data",
    "build_network",
    "check_names",
    "flatten",
]

DATA = ("alpha", "lam", "mu", "rho", "directed")
FILTER = ("filter", "t", "theta", "c", "depth", "coefficients")
NETWORK = (*FILTER, "loss", "reg", "symmetrize")
SIMULATION = ("nodes", "degree", "trials", "seed")
SETTINGS = ("tol", "max_iterations", "free", "streamed", "dtype")
"""How to compute rather than what: never an axis."""

LONG_NAMES = {
    "alpha": "nodes over features",
    "lam": "signal of the graph",
    "mu": "signal of the features",
    "rho": "fraction of labelled nodes",
    "directed": "directed graph",
    "filter": "filter",
    "t": "diffusion time",
    "theta": "PageRank parameter",
    "c": "residual strength",
    "depth": "number of layers",
    "coefficients": "polynomial coefficients",
    "loss": "loss",
    "reg": "regularization",
    "symmetrize": "symmetrized graph",
    "nodes": "number of nodes",
    "degree": "average degree",
    "trials": "number of trials",
    "seed": "seed of the simulation",
}

_FAMILY: dict[str, type[Filter]] = {
    "t": Diffusion,
    "theta": PageRank,
    "c": Residual,
    "depth": Residual,
    "coefficients": Polynomial,
}


def check_names(given: Collection[str], allowed: Collection[str], where: str) -> None:
    """Refuse the first name that is not allowed, and say which ones are.

    >>> check_names(["lamda"], ["alpha", "lam"], "an axis of predict")
    Traceback (most recent call last):
    gcnlimit.errors.ParameterError: 'lamda' is not an axis of predict; did you mean 'lam'? allowed: alpha, lam
    """
    for name in given:
        if name not in allowed:
            close = difflib.get_close_matches(str(name), list(allowed), 1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise ParameterError(f"{name!r} is not {where}; {hint}allowed: {', '.join(allowed) or 'none'}")


def flatten(
    data: CSBM | None, gcn: GCN | None, fixed: Mapping[str, Any], axes: Mapping[str, Sequence[Any]]
) -> dict[str, Any]:
    """Parameters of data and network by name, `fixed` added, without those that are swept.

    >>> flatten(CSBM(4, 1.0, 2.0, 0.1), None, {"t": 1.5}, {"lam": [0.5, 1.0]})
    {'alpha': 4.0, 'mu': 2.0, 'rho': 0.1, 'directed': True, 't': 1.5}
    """
    flat: dict[str, Any] = {}
    if data is not None:
        _check_type("data", data, CSBM)
        flat |= {name: _single(name, getattr(data, name)) for name in DATA if name not in axes}
    if gcn is not None:
        _check_type("gcn", gcn, GCN)
        flat |= {name: _single(name, getattr(gcn, name)) for name in ("loss", "reg", "symmetrize") if name not in axes}
    for name in fixed:
        if name in axes or name in flat or (gcn is not None and name in FILTER):
            raise ParameterError(f"{name} is given twice: in fixed, and in {'axes' if name in axes else 'data or gcn'}")
    return flat | dict(fixed) | _rest_of_filter(gcn, fixed, axes)


def _rest_of_filter(gcn: GCN | None, fixed: Mapping[str, Any], axes: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """What the network's filter keeps, once its swept parameters are set aside."""
    names = [name for name in FILTER if name in fixed or name in axes]
    families = {_FAMILY.get(name) for name in names}
    if len(families) > 1:
        raise ParameterError(
            f"{' and '.join(names)} belong to different filters; sweep one of t, theta, c with depth, coefficients, "
            "or use the axis filter to compare filters"
        )
    if gcn is None or names == ["filter"]:
        return {}
    filter = _single_filter(gcn.filter)
    if not names:
        return {"filter": filter}
    if type(filter) not in families:
        family = _FAMILY[names[0]].__name__
        raise ParameterError(f"{names[0]} is a parameter of {family}, but gcn has a {type(filter).__name__} filter")
    return _rest_of_residual(filter, axes) if isinstance(filter, Residual) else {}


def _rest_of_residual(filter: Residual, axes: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Depth or shared strength of the network, whichever is not swept."""
    if "c" in axes:
        return {} if "depth" in axes or isinstance(axes["c"][0], tuple) else {"depth": filter.depth}
    if np.unique(filter.c).size != 1:
        raise ParameterError(f"depth needs one strength c shared by all layers, but gcn has c = {filter.c.tolist()}")
    return {"c": float(filter.c[0])}


def build_data(parameters: Mapping[str, Any]) -> CSBM:
    """Data of the parameters."""
    return CSBM(**{name: parameters[name] for name in DATA if name in parameters})


def build_network(parameters: Mapping[str, Any]) -> GCN:
    """Network of the parameters."""
    rest = {name: parameters[name] for name in ("loss", "reg", "symmetrize") if name in parameters}
    return GCN(_build_filter(parameters), **rest)


def _build_filter(parameters: Mapping[str, Any]) -> Filter:
    if "filter" in parameters:
        filter: Filter = parameters["filter"]
        return filter
    if "t" in parameters:
        return Diffusion(parameters["t"])
    if "theta" in parameters:
        return PageRank(parameters["theta"])
    if "coefficients" in parameters:
        return Polynomial(parameters["coefficients"])
    if "c" not in parameters:
        raise ParameterError("the network has no filter; give gcn, or one of filter, t, theta, c, coefficients")
    if isinstance(parameters["c"], tuple | list):
        if "depth" in parameters:
            raise ParameterError("c as a list has its own depth; give either lists, or one strength c and depth")
        return Residual(np.asarray(parameters["c"], float))
    if "depth" not in parameters:
        raise ParameterError(
            "c is one strength shared by all layers, so depth is needed; or give c as lists of strengths"
        )
    return Residual.constant(parameters["c"], parameters["depth"])


def _check_type(name: str, value: object, wanted: type) -> None:
    if not isinstance(value, wanted):
        raise ParameterError(f"{name} must be a {wanted.__name__}, got {type(value).__name__}")


def _single(name: str, value: Any) -> Any:
    if np.ndim(value):
        raise ParameterError(
            f"{name} has {np.size(value)} values; a sweep takes them as an axis: axes={{{name!r}: ...}}"
        )
    return value


def _single_filter(filter: Filter) -> Filter:
    if filter.shape:
        _single(filter.parameter, np.empty(filter.shape))
    return filter
