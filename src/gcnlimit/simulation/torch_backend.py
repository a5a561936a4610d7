"""A GPU, or any device of PyTorch (extra ``gpu``)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from numpy.random import SeedSequence
from scipy import sparse

from gcnlimit._runtime.memory import available
from gcnlimit.errors import GCNLimitError, ParameterError

A = TypeVar("A")
B = TypeVar("B")
Shape = tuple[int, int]


@dataclass(frozen=True, eq=False)
class TorchBackend:
    """Primitives of PyTorch, with the methods of `Backend`. The noise of each device is its own."""

    device: torch.device
    tile: int = 64
    full: type[Exception] = torch.OutOfMemoryError

    def blocks(self) -> tuple[int, ...]:
        """512 features, then fewer; the matrix is the same for all."""
        return tuple(self.tile << k for k in (3, 2, 1, 0))

    def place(self, array: npt.NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def host(self, array: torch.Tensor) -> npt.NDArray[Any]:
        return np.asarray(array.cpu().numpy())

    def join(self, arrays: list[torch.Tensor], axis: int = 0) -> torch.Tensor:
        return torch.cat(arrays, axis)

    def cast(self, array: torch.Tensor, dtype: Any) -> torch.Tensor:
        return array.to(_TYPES.get(dtype, dtype))

    def normals(self, key: int, counter: int, shape: Shape, dtype: np.dtype[Any]) -> torch.Tensor:
        """Standard Gaussian numbers of a key, tile by tile; each is drawn whole, since the numbers depend on the size."""
        tiles = -(-shape[0] // self.tile)
        noise = torch.empty((tiles * self.tile, shape[1]), dtype=_TYPES[dtype], device=self.device)
        for k, part in enumerate(noise.split(self.tile)):
            seed = SeedSequence(key, spawn_key=(counter + k,))
            part.normal_(generator=self._generator(seed))
        return noise[: shape[0]]

    def rng(self, seed: SeedSequence) -> _Random:
        return _Random(self._generator(seed), self.device)

    def csr(self, row: Any, column: Any, nodes: int) -> sparse.csr_array[np.float64]:
        """Square matrix of ones: sorted on the device, held by SciPy."""
        starts, columns = _compressed(torch.sort(row * nodes + column).values, nodes)
        parts = (np.ones(len(columns)), self.host(columns), self.host(starts))
        return sparse.csr_array(parts, shape=(nodes, nodes))

    def sparse(self, matrix: Any, scale: float, symmetrize: bool, dtype: np.dtype[Any]) -> Any:
        """Sums over the neighbours; an edge in both directions is two entries in one place, which add up."""
        if isinstance(matrix, np.ndarray):
            dense = scale * self.place(matrix.astype(np.float64))
            return (dense + dense.T if symmetrize else dense).to(_TYPES[dtype])
        nodes = matrix.shape[0]
        columns = self.place(matrix.indices).to(torch.int64)
        counts = self.place(np.diff(matrix.indptr).astype(np.int64))
        row = torch.repeat_interleave(torch.arange(nodes, device=self.device), counts)
        values = (scale * self.place(matrix.data)).to(_TYPES[dtype])
        if (matrix.data == 1.0).all():
            values = values[:1]
        places = row * nodes + columns
        if symmetrize:
            places = torch.cat([places, columns * nodes + row])
            values = torch.cat([values, values]) if len(values) > 1 else values
        return _Sparse.of(places, values, nodes)

    def ordered_map(self, function: Callable[[A], B], items: Iterable[A], size: int) -> Iterator[B]:
        """Answers in the order of the items; the device itself works while the next ones are prepared."""
        before = torch.get_float32_matmul_precision()
        # products in single precision, not in TensorFloat-32
        torch.set_float32_matmul_precision("highest")
        try:
            yield from map(function, items)
        finally:
            torch.set_float32_matmul_precision(before)

    @contextlib.contextmanager
    def guard(self, nodes: int) -> Iterator[None]:
        try:
            yield
        except self.full:
            block = f"a block of {self.tile} features of {nodes} nodes"
            raise ParameterError(
                f"device = {str(self.device)!r} has too little memory, {self.free() / 1e9:.3g} GB "
                f"free, and {block} takes {4e-9 * self.tile * nodes:.3g} GB; take fewer nodes, "
                "networks at once or workers"
            ) from None

    def free(self) -> float:
        """Bytes that the device has left, what PyTorch keeps for later included."""
        if self.device.type != "cuda":
            return available()
        kept = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        return float(torch.cuda.mem_get_info(self.device)[0] + kept)

    def _generator(self, seed: SeedSequence) -> torch.Generator:
        return torch.Generator(self.device).manual_seed(int(seed.generate_state(1, np.uint64)[0]))


@dataclass(frozen=True, eq=False)
class _Random:
    """Random numbers on a device, with the methods of NumPy's generators."""

    generator: torch.Generator
    device: torch.device

    def random(self, size: int) -> torch.Tensor:
        """Uniform in [0, 1)."""
        return torch.rand(size, generator=self.generator, dtype=torch.float64, device=self.device)

    def geometric(self, p: float, size: int) -> torch.Tensor:
        r"""Number of trials up to the first success, by inversion: :math:`\lfloor \log(1 - x)/\log(1 - p) \rfloor + 1`."""
        if p >= 1.0:
            return torch.ones(size, dtype=torch.int64, device=self.device)
        gaps = torch.log1p(-self.random(size)) / float(np.log1p(-p))
        return gaps.to(torch.int64) + 1


@dataclass(frozen=True, eq=False)
class _Sparse:
    """Square sparse matrix: `starts` of the rows, `columns` and `values` of the entries, one value if all are equal.

    Entries are gathered and summed row by row, in their order: the products of CUDA's own library differ from run to run in the
    last bit.
    """

    starts: torch.Tensor
    columns: torch.Tensor
    values: torch.Tensor

    @staticmethod
    def of(places: torch.Tensor, values: torch.Tensor, nodes: int) -> _Sparse:
        """Matrix of the values at `places`, each row times `nodes` plus column."""
        places, order = torch.sort(places)
        return _Sparse(*_compressed(places, nodes), values[order] if len(values) > 1 else values)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.starts) - 1, len(self.starts) - 1

    @property
    def T(self) -> _Sparse:
        """The transpose."""
        nodes = len(self.starts) - 1
        counts = torch.diff(self.starts)
        row = torch.repeat_interleave(torch.arange(nodes, device=counts.device), counts)
        return _Sparse.of(self.columns.to(torch.int64) * nodes + row, self.values, nodes)

    @property
    def dtype(self) -> torch.dtype:
        """Type of the values."""
        return self.values.dtype

    def __matmul__(self, block: torch.Tensor) -> torch.Tensor:
        """Product with a vector or a block, a few columns at a time."""
        columns = block.reshape(len(block), -1).split(_TOGETHER, 1)
        return torch.cat([self._product(part) for part in columns], 1).reshape(block.shape)

    def _product(self, block: torch.Tensor) -> torch.Tensor:
        gathered = block.index_select(0, self.columns)
        if len(self.values) > 1:
            gathered *= self.values[:, None]
        rows = {"offsets": self.starts, "axis": 0, "unsafe": True, "initial": 0.0}
        total = torch.segment_reduce(gathered, "sum", **rows)
        return total if len(self.values) > 1 else total * self.values


_TOGETHER = 4  # columns of a product whose gathered entries are held at once
_TYPES = {np.dtype(np.float32): torch.float32, np.dtype(np.float64): torch.float64}


@cache
def torch_backend(device: str) -> TorchBackend:
    """Backend of a device that exists."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise GCNLimitError(f"device = {device!r} cannot be used by PyTorch: {reason}") from None
    return TorchBackend(torch.device(device))


def _compressed(places: torch.Tensor, nodes: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Start of each row and columns of the entries at sorted `places`, each row times `nodes` plus column."""
    index_type = torch.int32 if len(places) < 2**31 else torch.int64
    rows = torch.arange(nodes + 1, device=places.device) * nodes
    return torch.searchsorted(places, rows).to(index_type), (places % nodes).to(index_type)
