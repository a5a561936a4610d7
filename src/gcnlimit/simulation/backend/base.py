"""The primitives that a backend offers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._runtime.extras import need
from gcnlimit.errors import ParameterError

A = TypeVar("A")
B = TypeVar("B")
Device = str


class Backend(Protocol):
    """Arrays of one device; arithmetic, ``@``, ``.T`` and slices are those of the arrays themselves."""

    @property
    def tile(self) -> int:
        """Features drawn from one key of the generator: part of the definition of a streamed matrix."""

    @property
    def full(self) -> type[Exception]:
        """What is raised when the memory is used up."""

    def blocks(self) -> tuple[int, ...]:
        """Features to hold at once, multiples of `tile`: the first to try, then those for less memory."""

    def place(self, array: npt.NDArray[Any]) -> Any:
        """Array on the device."""

    def host(self, array: Any) -> npt.NDArray[Any]:
        """NumPy array of what lies on the device."""

    def join(self, arrays: list[Any], axis: int = 0) -> Any:
        """Arrays one after the other along an axis."""

    def cast(self, array: Any, dtype: np.dtype[Any]) -> Any:
        """Array in another precision, or itself."""

    def normals(self, key: int, counter: int, shape: tuple[int, int], dtype: np.dtype[Any]) -> Any:
        """Standard Gaussian numbers, a function of `key` and the number `counter` of the first tile; a tile has `tile` rows."""

    def rng(self, seed: np.random.SeedSequence) -> Any:
        """Generator with the methods ``random(size)`` and ``geometric(p, size)``."""

    def csr(self, row: Any, column: Any, nodes: int) -> sparse.csr_array[np.float64]:
        """Square SciPy matrix of ones at the given places, its indices sorted."""

    def sparse(
        self, matrix: Any, scale: float, symmetrize: bool, transpose: bool, dtype: np.dtype[Any]
    ) -> tuple[Any, Any]:
        r"""Matrix :math:`S = sA` or :math:`s(A + A^T)` on the device, to be multiplied by ``@``, and :math:`S^T` if wanted."""

    def in_order(self, function: Callable[[A], B], items: Iterable[A], size: int) -> Iterator[B]:
        """Answers of `function`, in the order of the items; several at a time if `size`, the numbers in all, are many."""

    def guard(self, nodes: int) -> AbstractContextManager[None]:
        """Context in which running out of memory is a sentence."""

    def free(self) -> float:
        """Bytes of memory that are free."""


def backend_of(device: Device) -> Backend:
    """Backend of a device: ``"cpu"`` (NumPy and SciPy), ``"cuda"`` or ``"cuda:1"`` (PyTorch), ``"torch:cpu"``.

    >>> backend_of("abacus")
    Traceback (most recent call last):
        ...
    gcnlimit.errors.ParameterError: device = 'abacus' is not allowed; it must be 'cpu', 'cuda', 'cuda:1' and so on, or 'torch:cpu'
    """
    if device == "cpu":
        from gcnlimit.simulation.backend.numpy_backend import NumpyBackend

        return NumpyBackend()
    kind, _, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if device != "torch:cpu" and not (kind == "cuda" and (number or "0").isdecimal()):
        raise ParameterError(
            f"device = {device!r} is not allowed; it must be 'cpu', 'cuda', 'cuda:1' and so on, or 'torch:cpu'"
        )
    need(f"device = {device!r}", "gpu", "torch")
    from gcnlimit.simulation.backend.torch_backend import TorchBackend

    return TorchBackend.of(device)
