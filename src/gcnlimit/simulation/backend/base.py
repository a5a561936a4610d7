"""The primitives that a backend offers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from gcnlimit.errors import ParameterError

__all__ = ["Backend", "backend_of"]

A = TypeVar("A")
B = TypeVar("B")


class Backend(Protocol):
    """Arrays of one device; ``@``, ``.T`` and slices are those of the arrays themselves."""

    tile: int
    """Features drawn from one key of the generator: part of the definition of a streamed matrix."""

    def place(self, array: npt.NDArray[Any]) -> Any:
        """Array on the device."""

    def host(self, array: Any) -> npt.NDArray[Any]:
        """NumPy array of what lies on the device."""

    def normals(self, key: int, counter: int, shape: tuple[int, int], dtype: np.dtype[Any]) -> Any:
        """Standard Gaussian numbers, a function of `key` and `counter`; the first rows do not depend on their number."""

    def double(self, array: Any) -> Any:
        """Copy in double precision."""

    def add(self, total: Any, term: Any) -> Any:
        """``total += term``."""

    def in_order(self, function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
        """Answers of `function`, in the order of the items; several at a time where that is faster."""


def backend_of(device: object) -> Backend:
    """Backend of a device.

    >>> backend_of("abacus")
    Traceback (most recent call last):
        ...
    gcnlimit.errors.ParameterError: device = 'abacus' is not allowed; it must be 'cpu'
    """
    if device == "cpu":
        from gcnlimit.simulation.backend.numpy_backend import NumpyBackend

        return NumpyBackend()
    raise ParameterError(f"device = {device!r} is not allowed; it must be 'cpu'")
