"""What computes: NumPy and SciPy on the processor, or PyTorch on a graphics card; the algorithms stand once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._runtime.extras import need
from gcnlimit._runtime.memory import available
from gcnlimit._runtime.threads import ordered_map
from gcnlimit.errors import ParameterError

A = TypeVar("A")
B = TypeVar("B")
Block = npt.NDArray[Any]
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

    def ordered_map(self, function: Callable[[A], B], items: Iterable[A], size: int) -> Iterator[B]:
        """Answers of `function`, in the order of the items; several at a time if `size`, the numbers in all, are many."""

    def guard(self, nodes: int) -> AbstractContextManager[None]:
        """Context in which running out of memory is a sentence."""

    def free(self) -> float:
        """Bytes of memory that are free."""


class NumpyBackend:
    """Primitives of NumPy and SciPy; see `Backend`.

    >>> draw = NumpyBackend().normals
    >>> np.array_equal(draw(2**64 - 1, 0, (2, 3), np.dtype(float)), draw(2**64 - 1, 0, (5, 3), np.dtype(float))[:2])
    True
    """

    tile: int = 32
    full: type[Exception] = MemoryError

    def blocks(self) -> tuple[int, ...]:
        """One tile for each thread is enough."""
        return (self.tile,)

    def place(self, array: Block) -> Block:
        """Return the array itself."""
        return array

    def host(self, array: Block) -> Block:
        """Return the array itself."""
        return array

    def join(self, arrays: list[Block], axis: int = 0) -> Block:
        """Concatenate."""
        return np.concatenate(arrays, axis)

    def cast(self, array: Block, dtype: np.dtype[Any]) -> Block:
        """Array in another precision, or itself."""
        return array.astype(dtype, copy=False)

    def normals(self, key: int, counter: int, shape: tuple[int, int], dtype: np.dtype[Any]) -> Block:
        """Standard Gaussian numbers of a key, tile by tile."""
        noise = np.empty(shape, dtype)
        for k, start in enumerate(range(0, shape[0], self.tile)):
            seed = np.random.SeedSequence(key, spawn_key=(counter + k,))
            part = noise[start : start + self.tile]
            np.random.Generator(np.random.SFC64(seed)).standard_normal(dtype=dtype.type, out=part)
        return noise

    def rng(self, seed: np.random.SeedSequence) -> np.random.Generator:
        """NumPy's default generator."""
        return np.random.default_rng(seed)

    def csr(self, row: Block, column: Block, nodes: int) -> sparse.csr_array[np.float64]:
        """Square matrix of ones, through its coordinates."""
        matrix = sparse.coo_array((np.ones(row.size), (row, column)), shape=(nodes, nodes)).tocsr()
        matrix.sort_indices()
        return matrix

    def sparse(
        self, matrix: Any, scale: float, symmetrize: bool, transpose: bool, dtype: np.dtype[Any]
    ) -> tuple[Any, Any]:
        """SciPy matrix with indices of 32 bits if they suffice, or a dense one; the transpose is built when it is needed."""
        if symmetrize:
            matrix = matrix + matrix.T
        return ((matrix if isinstance(matrix, np.ndarray) else _narrow(matrix.tocsr())) * scale).astype(dtype), None

    def ordered_map(self, function: Callable[[A], B], items: Iterable[A], size: int) -> Iterator[B]:
        """Answers in the order of the items, one item for each thread at a time."""
        return ordered_map(function, items, size)

    def guard(self, nodes: int) -> AbstractContextManager[None]:
        """Nothing to guard: memory is asked for beforehand."""
        return contextlib.nullcontext()

    def free(self) -> float:
        """Bytes that the machine has left."""
        return available()


def _narrow(matrix: Any) -> Any:
    """The same CSR matrix with indices of 32 bits if they suffice, which are read faster."""
    index = sparse.get_index_dtype(maxval=max(matrix.nnz, *matrix.shape))
    parts = (matrix.data, matrix.indices.astype(index), matrix.indptr.astype(index))
    return sparse.csr_array(parts, shape=matrix.shape)


def backend_of(device: Device) -> Backend:
    """Backend of a device: ``"cpu"`` (NumPy and SciPy), ``"cuda"`` or ``"cuda:1"`` (PyTorch), ``"torch:cpu"``.

    >>> backend_of("abacus")
    Traceback (most recent call last):
        ...
    gcnlimit.errors.ParameterError: device = 'abacus' is not allowed; it must be 'cpu', 'cuda', 'cuda:1' and so on, or 'torch:cpu'
    """
    if device == "cpu":
        return NumpyBackend()
    kind, _, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if device != "torch:cpu" and not (kind == "cuda" and (number or "0").isdecimal()):
        raise ParameterError(
            f"device = {device!r} is not allowed; it must be 'cpu', 'cuda', 'cuda:1' and so on, or 'torch:cpu'"
        )
    need(f"device = {device!r}", "gpu", "torch")
    from gcnlimit.simulation.torch_backend import TorchBackend

    return TorchBackend.of(device)
