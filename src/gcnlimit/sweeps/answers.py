"""The labelled answer: columns of the blocks gathered into an xarray dataset."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy

from gcnlimit._version import NUMERICAL_VERSION, __version__
from gcnlimit.parameters import long_name
from gcnlimit.sweeps.compute import STATUS_NAMES
from gcnlimit.sweeps.grid import Axis, Block, Columns, Grid
from gcnlimit.sweeps.store import plain

if TYPE_CHECKING:
    import xarray

_FIELD_NAMES = {
    "test_accuracy": "fraction of unlabelled nodes classified correctly",
    "train_accuracy": "fraction of labelled nodes classified correctly",
    "test_loss": "average loss on unlabelled nodes",
    "train_loss": "average loss on labelled nodes",
    "log_test_error": "logarithm of the test error",
    "best_accuracy": "test accuracy at the best threshold",
    "status": "how the computation of the point ended",
    "error": "why the point failed",
    "optimum": "where the optimum lies, a TuneStatus",
}


class Answers:
    """Columns of the whole grid, filled block by block; `advance` is called with the number of points filled."""

    def __init__(self, grid: Grid, advance: Callable[[int], None]) -> None:
        self._grid = grid
        self._advance = advance
        self._fields: dict[str, npt.NDArray[Any]] = {}
        self._errors = np.full((grid.rows, grid.columns), "", object)
        self.done = 0

    def put(self, block: Block, columns: Columns) -> None:
        """Write a block at its place."""
        place = (block.row, slice(block.start, block.start + block.size))
        for name, values in columns.fields.items():
            self._field(name, values.dtype)[place] = values
        for at, reason in columns.errors.items():
            self._errors[block.row, block.start + at] = reason
        self.done += block.size
        self._advance(block.size)

    def _field(self, name: str, kind: np.dtype[Any]) -> npt.NDArray[Any]:
        if name not in self._fields:
            missing = math.nan if kind.kind == "f" else -1
            shape = (self._grid.rows, self._grid.columns)
            self._fields[name] = np.full(shape, missing, kind.newbyteorder("="))
        return self._fields[name]

    def dataset(self, what: str) -> xarray.Dataset:
        """The labelled dataset: one dimension for each axis, one variable for each field."""
        import xarray

        names = [axis.name for axis in self._grid.axes]
        fields = {name: values for name, values in self._fields.items() if name not in names}
        variables = {
            name: (names, self._grid.shaped(values), _attributes(name))
            for name, values in (fields | {"error": self._errors}).items()
        }
        axes = self._grid.axes
        coordinates = {axis.name: (axis.name, axis.labels, _axis_attributes(axis)) for axis in axes}
        return xarray.Dataset(variables, coordinates, _provenance(what, self._grid.common))


def _attributes(name: str) -> dict[str, Any]:
    """What a variable is, in words; every number of the model is a pure one."""
    base = name.removesuffix("_standard_error")
    words = _FIELD_NAMES.get(base) or long_name(base)
    if name == "status":
        flags = np.array(list(STATUS_NAMES), np.int8)
        meanings = " ".join(STATUS_NAMES.values())
        return {"long_name": words, "flag_values": flags, "flag_meanings": meanings}
    named = {"long_name": words if base == name else f"standard error of the {words}"}
    return named if name == "error" else named | {"units": "1"}


def _axis_attributes(axis: Axis) -> dict[str, Any]:
    units = {"units": "1"} if axis.labels.dtype.kind in "if" else {}
    return {"long_name": long_name(axis.name)} | units


def _provenance(what: str, common: Mapping[str, Any]) -> dict[str, Any]:
    """What is needed to compute the same again."""
    return {
        "producer": what,
        "parameters": json.dumps(plain(common)),
        "gcnlimit_version": __version__,
        "numerical_version": NUMERICAL_VERSION,
        "numpy_version": np.__version__,
        "scipy_version": scipy.__version__,
        "python_version": platform.python_version(),
    }
