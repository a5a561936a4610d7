"""The processor: NumPy, SciPy and a few threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from gcnlimit import _threads

__all__ = ["NumpyBackend"]

A = TypeVar("A")
B = TypeVar("B")
Array = npt.NDArray[Any]


class NumpyBackend:
    """Primitives of NumPy; see `Backend`.

    >>> draw = NumpyBackend().normals
    >>> np.array_equal(draw(2**64 - 1, 0, (2, 3), np.dtype(float)), draw(2**64 - 1, 0, (5, 3), np.dtype(float))[:2])
    True
    """

    tile: int = 32

    def place(self, array: Array) -> Array:
        """Return the array itself."""
        return array

    def host(self, array: Array) -> Array:
        """Return the array itself."""
        return array

    def normals(self, key: int, counter: int, shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
        """Standard Gaussian numbers of a key and a counter."""
        seed = np.random.SeedSequence(key, spawn_key=(counter,))
        return np.random.Generator(np.random.SFC64(seed)).standard_normal(shape, dtype=dtype.type)

    def double(self, array: Array) -> Array:
        """Copy in double precision."""
        return array.astype(np.float64)

    def add(self, total: Array, term: Array) -> Array:
        """Add in place."""
        total += term
        return total

    def in_order(self, function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
        """Answers in the order of the items, one item for each thread at a time."""
        return _threads.in_order(function, items)
