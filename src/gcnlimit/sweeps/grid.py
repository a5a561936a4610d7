"""Parts of a sweep: labelled axes, blocks of points that are computed and stored together, and their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import as_real, whole
from gcnlimit._values import brief, shown
from gcnlimit.errors import ParameterError
from gcnlimit.filters import as_filter
from gcnlimit.parameters import FAMILIES, WHOLE, real_names


@dataclass(frozen=True, eq=False)
class Axis:
    """A swept parameter: its values as the producer takes them, and as they label the answer.

    >>> Axis.of("coefficients", [[1, 2], [1, 2, 3]]).labels
    array(['[1.0, 2.0]', '[1.0, 2.0, 3.0]'], dtype='<U15')
    """

    name: str
    values: tuple[Any, ...]
    labels: npt.NDArray[Any]

    @classmethod
    def of(cls, name: str, values: Any) -> Axis:
        """Read what the user gave: a sequence, an array, or for filters and losses also a mapping from names."""
        if isinstance(values, str) or not np.iterable(values):
            wrong = f"the axis {name} must be a list of values, got {shown(values)}"
            raise ParameterError(f"{wrong}; one value goes to fixed")
        named = dict(values) if isinstance(values, Mapping) else {}
        checked = read(name, list(named.values() if named else values))
        labels = [str(key) for key in named] if named else _labels(checked)
        if not checked:
            raise ParameterError(f"the axis {name} is empty; give at least one value")
        if len(set(labels)) < len(labels):
            twice = next(label for label in labels if labels.count(label) > 1)
            told = f"the axis {name} has the value {twice!r} twice; give it once"
            raise ParameterError(f"{told}, or name the values in a dictionary")
        return cls(name, tuple(checked), np.asarray(labels))

    @property
    def numeric(self) -> bool:
        """Whether the values are real numbers, along which a producer may be vectorized."""
        return self.labels.dtype.kind == "f"


@dataclass(frozen=True, eq=False)
class Block:
    """Points computed together: parameters common to all, arrays for the others, where they stand, and their key."""

    row: int
    start: int
    size: int
    common: dict[str, Any]
    arrays: dict[str, npt.NDArray[np.float64]]
    key: bytes = b""


class Columns(NamedTuple):
    """Numbers of the points of a block by name, and the reasons of failure by place.

    A block is `final` if computing it again can only give the same: it is then kept in the store. A point that failed
    for a reason other than its parameters (memory, a dead worker) is tried again by the next sweep.
    """

    fields: dict[str, npt.NDArray[Any]]
    errors: dict[int, str]
    final: bool = True


def read(name: str, values: Sequence[Any]) -> list[Any]:
    """Values of the parameter `name` as they are stored, checked where the name is known."""
    single = name in real_names()
    lists = any(isinstance(v, list | tuple) or getattr(v, "ndim", 0) for v in values)
    if name in FAMILIES and FAMILIES[name].deep and (lists or not single):
        layers = [np.atleast_1d(as_real(name, value, minimum_axes=1)) for value in values]
        return [tuple(layer.tolist()) for layer in layers]
    if single:
        endless = name in ("reg", "time")
        numbers = np.array(as_real(name, values, infinite=endless) if values else [])
        if numbers.ndim > 1:
            raise ParameterError(f"the axis {name} must list numbers, got shape {numbers.shape}")
        return [float(number) for number in numbers]
    if name in WHOLE:
        # files and arrays have whole numbers as 3.0
        plain = (int(v) if isinstance(v, float) and v.is_integer() else v for v in values)
        return [whole(name, value, low=0) for value in plain]
    if name in ("filter", "test_filter"):
        return [as_filter(value) for value in values]
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _labels(values: list[Any]) -> list[Any]:
    """The values themselves, if they are all of one plain kind, else as text."""
    kinds = {type(value) for value in values}
    if kinds <= {int, float} or kinds in ({bool}, {str}):
        return values
    return [str(list(v)) if isinstance(v, tuple) else brief(v) for v in values]
