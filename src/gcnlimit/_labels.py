"""Data and network as parameters by name, for the results that were computed from them."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from gcnlimit._display import Labels, Shown
from gcnlimit.csbm import CSBM, SIGNALS
from gcnlimit.filters import Filter
from gcnlimit.network import GCN

__all__ = ["each_layer", "labelled"]

Result = TypeVar("Result", bound=Shown)


def labelled(result: Result, data: CSBM | None, gcn: GCN | None = None) -> Result:
    """Attach to a result the parameters that it was computed for, and return it.

    >>> import gcnlimit as gl
    >>> network = gl.GCN(gl.Residual([[1.0, 2.0], [3.0, 4.0]]))
    >>> gl.predict(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), network).to_xarray().c_2.values.tolist()
    [2.0, 4.0]
    """
    parameters: dict[str, Any] = {}
    if data is not None:
        parameters |= {name: getattr(data, name) for name in (*SIGNALS, "directed")}
        if data.classes != 2:
            parameters["classes"] = data.classes if isinstance(data.classes, int) else str(list(data.classes))
    if gcn is not None:
        parameters |= _of_filter(gcn.filter)
        parameters |= {"loss": type(gcn.loss).__name__, "reg": gcn.reg, "symmetrize": gcn.symmetrize}
    object.__setattr__(result, "_labels", Labels(parameters))
    return result


def each_layer(name: str, values: Any, first: int = 1) -> dict[str, Any]:
    """The layers of a parameter, its last axis, by name.

    >>> each_layer("c", np.array([[1.0, 2.0], [3.0, 4.0]]))
    {'c_1': array([1., 3.]), 'c_2': array([2., 4.])}
    """
    return {f"{name}_{k}": layer for k, layer in enumerate(np.moveaxis(np.asarray(values), -1, 0), first)}


def _of_filter(filter: Filter) -> dict[str, Any]:
    """The parameter of a filter; one strength and the depth where all layers are equal, else one column for each layer."""
    values = np.asarray(filter.values)
    if not filter.deep:
        return {filter.parameter: values}
    if filter.shared and values.shape[-1] and np.all(values == values[..., :1]):
        return {filter.parameter: values[..., 0], "depth": values.shape[-1]}
    return each_layer(filter.parameter, values, first=1 if filter.shared else 0)
