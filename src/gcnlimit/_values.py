"""Values: arrays, parameters, and the base of the frozen records that describe data and networks."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "Numbers", "Parameter", "Value"]

Array = npt.NDArray[np.float64]
Parameter = float | Array
"""A model parameter as stored: a Python float, or a read-only array of floats."""


Numbers = float | Array
"""An answer: a Python float for a single point, else an array of the shape of the points."""


class Value:
    """Base of the frozen dataclasses: equality and hash by content, arrays included."""

    def _content(self) -> tuple[Any, ...]:
        return tuple(_hashable(getattr(self, f.name)) for f in fields(self) if f.compare)  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash((type(self).__qualname__, self._content()))


def _hashable(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    return value
