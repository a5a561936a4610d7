"""Data and network as a flat dictionary of what is not swept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gcnlimit.classes import Classes
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter
from gcnlimit.losses import as_loss
from gcnlimit.network import GCN
from gcnlimit.parameters import DATA, LEARNING, defaults, families, filter_choices, filter_names, layered
from gcnlimit.penalties import as_penalty
from gcnlimit.spectrum import as_spectrum


def flatten(
    data: CSBM | None, gcn: GCN | None, fixed: Mapping[str, Any], axes: Mapping[str, Sequence[Any]], *, network: bool
) -> dict[str, Any]:
    """Parameters of data and, if there is one, of the network by name, without those that are swept.

    Defaults are filled in, so that what identifies a point does not depend on them.

    >>> list(flatten(CSBM(4, 1.0, 2.0, 0.1), None, {"t": 1.5}, {"lam": [0.5, 1.0]}, network=False))
    ['alpha', 'mu', 'rho', 'directed', 'classes', 'features', 't']
    """
    flat: dict[str, Any] = {}
    if data is not None:
        _check_type("data", data, CSBM)
        flat |= {name: _single(name, getattr(data, name)) for name in DATA if name not in axes}
    if gcn is not None:
        _check_type("gcn", gcn, GCN)
        flat |= {name: _single(name, getattr(gcn, name)) for name in LEARNING if name not in axes}
    for name in fixed:
        if name in axes or name in flat or (gcn is not None and name in filter_names()):
            raise ParameterError(f"{name} is given twice: in fixed, and in {'axes' if name in axes else 'data or gcn'}")
    flat |= dict(fixed) | _rest_of_filter(gcn, fixed, axes)
    usual = defaults(CSBM, DATA) | (defaults(GCN, LEARNING) if network else {})
    flat |= {name: value for name, value in usual.items() if name not in flat and name not in axes}
    named = {"features": as_spectrum, "classes": Classes.of} | (
        {"loss": as_loss, "penalty": as_penalty} if network else {}
    )
    return flat | {name: value_of(flat[name]) for name, value_of in named.items() if name in flat}


def _rest_of_filter(gcn: GCN | None, fixed: Mapping[str, Any], axes: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """What the network's filter keeps, once its swept parameters are set aside."""
    names = [name for name in filter_names() if name in fixed or name in axes]
    lone = [name for name in names if name != "depth"]
    deep = [name for name, family in families().items() if layered(family)]
    if len(lone) > 1 or ("depth" in names and any(name not in deep for name in lone)):
        raise ParameterError(
            f"{' and '.join(names)} belong to different filters; sweep one of {filter_choices()}, "
            "or use the axis filter to compare filters"
        )
    if gcn is None or names == ["filter"]:
        return {}
    filter = gcn.filter
    if filter.shape:
        _single(filter.parameter, np.empty(filter.shape))
    if not names:
        return {"filter": filter}
    if not (filter.parameter in lone or (not lone and layered(type(filter)))):
        owners = [
            family.__name__ for name, family in families().items() if name in lone or (not lone and layered(family))
        ]
        raise ParameterError(
            f"{names[0]} is a parameter of {' or '.join(owners)}, but gcn has a {type(filter).__name__} filter"
        )
    return _rest_of_layers(filter, axes) if layered(type(filter)) else {}


def _rest_of_layers(filter: Filter, axes: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Depth or shared value of the layers, whichever is not swept."""
    name, values = filter.parameter, np.asarray(getattr(filter, filter.parameter))
    if name in axes:
        return {} if "depth" in axes or isinstance(axes[name][0], tuple) else {"depth": values.shape[-1]}
    if np.unique(values).size != 1:
        raise ParameterError(
            f"depth needs one value of {name} shared by all layers, but gcn has {name} = {values.tolist()}"
        )
    return {name: float(values[0])}


def _check_type(name: str, value: object, wanted: type) -> None:
    if not isinstance(value, wanted):
        raise ParameterError(f"{name} must be a {wanted.__name__}, got {type(value).__name__}")


def _single(name: str, value: Any) -> Any:
    if np.ndim(value):
        raise ParameterError(
            f"{name} has {np.size(value)} values; a sweep takes them as an axis: axes={{{name!r}: ...}}"
        )
    return value
