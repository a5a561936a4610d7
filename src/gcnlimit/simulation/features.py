"""The features of the nodes: a spiked Gaussian matrix, stored whole or regenerated block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["LARGEST_KEY", "TILE", "StreamedFeatures"]

LARGEST_KEY = 2**64 - 1025  # NumPy takes the keys of a generator above 2^63 as floats: the next would round to 2^64
TILE = 64  # rows drawn from one key of the generator: part of the definition of the matrix


@dataclass(frozen=True, eq=False)
class StreamedFeatures:
    r"""Features :math:`X = \sqrt{\mu/N}\, y u^T + W` (Eq. 1.2) that are never held whole.

    Rows come in tiles, and the Gaussian noise of a tile is drawn from a counter-based generator keyed by the seed and the
    number of the tile: the same seed gives the same matrix, in any order and any blocks.

    Parameters
    ----------
    key
        Seed of the noise, a 64-bit integer up to `LARGEST_KEY`.
    labels, spike
        :math:`y` and :math:`\sqrt{\mu/N}\, u`.

    Examples
    --------
    >>> X = StreamedFeatures(key=1, labels=np.ones(100), spike=np.zeros(3))
    >>> np.array_equal(X.rows(70, 80), np.asarray(X)[70:80])
    True
    >>> np.allclose(X.T @ (X @ np.eye(3)), np.asarray(X).T @ np.asarray(X))
    True
    """

    key: int
    labels: npt.NDArray[Any]
    spike: npt.NDArray[Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of nodes and of features."""
        return (self.labels.size, self.spike.size)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries."""
        return self.spike.dtype

    @property
    def T(self) -> _Transposed:
        """The transpose, to be multiplied with."""
        return _Transposed(self)

    def rows(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Rows from `start` to `stop`."""
        out = np.empty((stop - start, self.shape[1]), self.dtype)
        for tile in range(start // TILE, -(-stop // TILE)):
            begin, end = max(start, tile * TILE), min(stop, (tile + 1) * TILE)
            out[begin - start : end - start] = self._tile(tile)[begin - tile * TILE : end - tile * TILE]
        return out

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """The whole matrix."""
        return self.rows(0, self.shape[0]).astype(dtype or self.dtype, copy=False)

    def __matmul__(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Product :math:`X B`, tile by tile."""
        out = np.empty((self.shape[0], *block.shape[1:]), np.result_type(self.dtype, block.dtype))
        for rows, tile in self._tiles():
            np.matmul(tile, block, out=out[rows])
        return out

    def _tiles(self) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
        for tile in range(-(-self.shape[0] // TILE)):
            yield slice(tile * TILE, min((tile + 1) * TILE, self.shape[0])), self._tile(tile)

    def _tile(self, tile: int) -> npt.NDArray[Any]:
        rng = np.random.Generator(np.random.Philox(key=[self.key, tile]))
        labels = self.labels[tile * TILE : (tile + 1) * TILE].astype(self.dtype)
        noise = rng.standard_normal((labels.size, self.spike.size), dtype=self.dtype.type)
        noise += labels[:, None] * self.spike
        return noise


@dataclass(frozen=True, eq=False)
class _Transposed:
    features: StreamedFeatures

    def __matmul__(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Product :math:`X^T B`, tile by tile."""
        X = self.features
        out = np.zeros((X.shape[1], *block.shape[1:]), np.result_type(X.dtype, block.dtype))
        for rows, tile in X._tiles():
            out += tile.T @ block[rows]
        return out
