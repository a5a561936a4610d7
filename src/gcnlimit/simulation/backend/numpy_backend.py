"""The processor: NumPy, SciPy and a few threads."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._runtime import memory, threads

A = TypeVar("A")
B = TypeVar("B")
Array = npt.NDArray[Any]


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

    def place(self, array: Array) -> Array:
        """Return the array itself."""
        return array

    def host(self, array: Array) -> Array:
        """Return the array itself."""
        return array

    def join(self, arrays: list[Array], axis: int = 0) -> Array:
        """Concatenate."""
        return np.concatenate(arrays, axis)

    def cast(self, array: Array, dtype: np.dtype[Any]) -> Array:
        """Array in another precision, or itself."""
        return array.astype(dtype, copy=False)

    def normals(self, key: int, counter: int, shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
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

    def csr(self, row: Array, column: Array, nodes: int) -> sparse.csr_array[np.float64]:
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

    def in_order(self, function: Callable[[A], B], items: Iterable[A], size: int) -> Iterator[B]:
        """Answers in the order of the items, one item for each thread at a time."""
        return threads.in_order(function, items, size)

    def guard(self, nodes: int) -> contextlib.AbstractContextManager[None]:
        """Nothing to guard: memory is asked for beforehand."""
        return contextlib.nullcontext()

    def free(self) -> float:
        """Bytes that the machine has left."""
        return memory.available()


def _narrow(matrix: Any) -> Any:
    """The same CSR matrix with indices of 32 bits if they suffice, which are read faster."""
    index = sparse.get_index_dtype(maxval=max(matrix.nnz, *matrix.shape))
    parts = (matrix.data, matrix.indices.astype(index), matrix.indptr.astype(index))
    return sparse.csr_array(parts, shape=matrix.shape)
