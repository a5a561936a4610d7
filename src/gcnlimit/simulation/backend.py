"""What computes: NumPy and SciPy on the processor, or PyTorch on a GPU; the algorithms stand once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._runtime.extras import need
from gcnlimit._runtime.memory import available
from gcnlimit._runtime.threads import ordered_map
from gcnlimit._values import shown
from gcnlimit.errors import ParameterError

A = TypeVar("A")
B = TypeVar("B")
Device = str


class Backend:
    """Arrays of one device, here NumPy's; arithmetic, ``@``, ``.T`` and slices are those of the arrays themselves.

    >>> draw = Backend().normals
    >>> np.array_equal(draw(2**64 - 1, 0, (2, 3), np.dtype(float)), draw(2**64 - 1, 0, (5, 3), np.dtype(float))[:2])
    True
    """

    tile: int = 32
    """Features drawn from one key of the generator: part of the definition of a streamed matrix."""
    full: type[Exception] = MemoryError
    """What is raised when the memory is used up."""

    def blocks(self) -> tuple[int, ...]:
        """Features to hold at once, multiples of `tile`: the first to try, then those for less memory."""
        return (self.tile,)

    def place(self, array: npt.NDArray[Any]) -> Any:
        """Array on the device."""
        return array

    def host(self, array: Any) -> npt.NDArray[Any]:
        """NumPy array of what lies on the device."""
        return np.asarray(array)

    def join(self, arrays: list[Any], axis: int = 0) -> Any:
        """Arrays one after the other along an axis."""
        return np.concatenate(arrays, axis)

    def cast(self, array: Any, dtype: Any) -> Any:
        """Array in another precision, of NumPy or of the device, or itself."""
        return array.astype(dtype, copy=False)

    def normals(self, key: int, counter: int, shape: tuple[int, int], dtype: np.dtype[Any]) -> Any:
        """Standard Gaussian numbers, a function of `key` and the number `counter` of the first tile; a tile has `tile` rows."""
        noise = np.empty(shape, dtype)
        for k, start in enumerate(range(0, shape[0], self.tile)):
            seed = np.random.SeedSequence(key, spawn_key=(counter + k,))
            part = noise[start : start + self.tile]
            np.random.Generator(np.random.SFC64(seed)).standard_normal(dtype=dtype.type, out=part)
        return noise

    def rng(self, seed: np.random.SeedSequence) -> Any:
        """Generator with the methods ``random(size)`` and ``geometric(p, size)``."""
        return np.random.default_rng(seed)

    def csr(self, row: Any, column: Any, nodes: int) -> sparse.csr_array[np.float64]:
        """Square SciPy matrix of ones at the given places, its indices sorted."""
        matrix = sparse.coo_array((np.ones(row.size), (row, column)), shape=(nodes, nodes)).tocsr()
        matrix.sort_indices()
        return matrix

    def sparse(self, matrix: Any, scale: float, symmetrize: bool, dtype: np.dtype[Any]) -> Any:
        r"""Matrix :math:`S = sA` or :math:`s(A + A^T)`, to be multiplied by ``@`` and transposed by ``.T``."""
        if symmetrize:
            matrix = matrix + matrix.T
        if not isinstance(matrix, np.ndarray):
            # shorter indices make products a twentieth faster
            csr = matrix.tocsr()
            index = sparse.get_index_dtype(maxval=max(csr.nnz, csr.shape[0]))
            places = csr.indices.astype(index), csr.indptr.astype(index)
            matrix = sparse.csr_array((csr.data, *places), csr.shape)
        return (matrix * scale).astype(dtype)

    def ordered_map(self, function: Callable[[A], B], items: Iterable[A], size: int) -> Iterator[B]:
        """Answers of `function`, in the order of the items; several at a time if `size`, the numbers in all, are many."""
        return ordered_map(function, items, size)

    def guard(self, nodes: int) -> AbstractContextManager[None]:
        """Context in which running out of memory is a sentence; here memory is asked for beforehand."""
        return contextlib.nullcontext()

    def free(self) -> float:
        """Bytes of memory that are free."""
        return available()


def backend_of(device: Device) -> Backend:
    """Backend of a device: ``"cpu"`` (NumPy and SciPy), ``"cuda"`` or ``"cuda:1"`` (PyTorch), ``"torch:cpu"``.

    >>> backend_of("abacus")
    Traceback (most recent call last):
        ...
    gcnlimit.errors.ParameterError: device = 'abacus' is not allowed; it must be 'cpu', 'cuda', 'cuda:1' and so on, or 'torch:cpu'
    """
    word = device if isinstance(device, str) else ""
    if word == "cpu":
        return Backend()
    family, _, number = word.partition(":")
    if word != "torch:cpu" and not (family == "cuda" and (number or "0").isdecimal()):
        allowed = "'cpu', 'cuda', 'cuda:1' and so on, or 'torch:cpu'"
        raise ParameterError(f"device = {shown(device)} is not allowed; it must be {allowed}")
    need(f"device = {device!r}", "gpu", "torch")
    from gcnlimit.simulation.torch_backend import torch_backend

    return cast("Backend", torch_backend(device.removeprefix("torch:")))
