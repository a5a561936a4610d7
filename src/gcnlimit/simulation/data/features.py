"""The features of the nodes: a spiked Gaussian matrix, stored whole or regenerated tile by tile."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.progress import block_done
from gcnlimit._values import Array
from gcnlimit.filters.action import column_blocks
from gcnlimit.simulation.backend import Backend, Device, backend_of
from gcnlimit.spectrum import Spectrum

LARGEST_KEY = 2**64 - 1

Block = npt.NDArray[Any]
R = TypeVar("R")
Weigh = Callable[[slice, Any], Any]


def feature_count(nodes: int, alpha: float) -> int:
    r"""Number of features :math:`M = N/\alpha`, rounded."""
    return max(1, math.floor(nodes / alpha + 0.5))


def feature_levels(law: Spectrum, count: int) -> tuple[Array, Array]:
    r"""Variance :math:`\sigma_\nu^2` of the noise of each of `count` features, and its share :math:`\Gamma_\nu` of the signal.

    >>> from gcnlimit import Spectrum
    >>> feature_levels(Spectrum([0.5, 2.0], weight=[0.75, 0.25]), 4)[0]
    array([0.5, 0.5, 0.5, 2. ])
    """
    level = np.searchsorted(np.cumsum(law.weight), (np.arange(count) + 0.5) / count)
    level = np.minimum(level, law.weight.size - 1)
    return law.variance[level], law.signal[level]


@dataclass(frozen=True, eq=False)
class StreamedFeatures:
    r"""Features :math:`X = Y U^T + W \mathrm{diag}(s)` (Eq. 1.2) that are never held whole.

    Columns come in tiles, and the Gaussian noise :math:`W` of a tile is drawn from a generator keyed by `key`, a 64-bit integer,
    and the number of the tile: the same key gives the same matrix on one device, in any order, and the same products to the
    last bit for any number of threads. The `codes` are :math:`Y`, of shape ``(N, k)``, the `spike` is :math:`U`, of shape
    ``(M, k)``, and `scale` the standard deviation :math:`s` of the noise of each feature, 1 by default.

    >>> X = StreamedFeatures(key=1, codes=np.ones((100, 1)), spike=np.zeros((70, 1)))
    >>> np.allclose(X.T @ (X @ np.eye(70)), np.asarray(X).T @ np.asarray(X))
    True
    """

    key: int
    codes: Block
    spike: Block
    scale: Block | None = None
    device: Device = "cpu"

    @staticmethod
    def of(key: int, codes: Block, spike: Block, law: Spectrum, device: Device) -> StreamedFeatures:
        """Features with the noise of a spectrum."""
        variance, _ = feature_levels(law, len(spike))
        scale = None if np.all(variance == 1.0) else np.sqrt(variance).astype(spike.dtype)
        return StreamedFeatures(key, codes, spike, scale, device)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of nodes and of features."""
        return (len(self.codes), len(self.spike))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries."""
        return self.spike.dtype

    @property
    def T(self) -> _Transposed:
        """The transpose, to be multiplied with."""
        return _Transposed(self)

    @cached_property
    def backend(self) -> Backend:
        """What draws and multiplies."""
        return backend_of(self.device)

    @property
    def tiles(self) -> int:
        """Number of tiles."""
        return -(-self.shape[1] // self.backend.tile)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Block:
        """The whole matrix."""
        out = np.empty(self.shape, self.dtype)
        codes, spike, _ = self._placed

        def fill(part: slice, noise: Any) -> None:
            # entry by entry, since a product of matrices may round otherwise for other shapes
            signal = sum(spike[part, k : k + 1] * codes[:, k] for k in range(codes.shape[1]))
            out[:, part] = self.backend.host(self._scaled(part, noise) + signal).T

        self._by_blocks(lambda size: list(self._in_order(fill, size)))
        return out.astype(dtype or self.dtype, copy=False)

    def __matmul__(self, block: Block) -> Block:
        """Product :math:`X B`."""
        weights = self.backend.place(block.reshape(len(block), -1).astype(self.dtype))
        total = self.backend.host(self._pass(None, lambda part, _: weights[part])[1])
        return total.reshape(self.shape[0], *block.shape[1:])

    def _pass(self, block: Any, weigh: Weigh) -> tuple[Any, Any]:
        r"""Weights and their product with :math:`X`, noise and signal; no :math:`X^T B` if `block` is None."""
        against = None if block is None else self._against(block)
        codes, spike, _ = self._placed

        def weigh_tile(part: slice, noise: Any) -> tuple[slice, Any, Any]:
            weights = weigh(part, None if against is None else self._weights(part, noise, *against))
            return part, weights, self._scaled(part, weights).T @ noise

        def sums(size: int) -> tuple[Any, Any]:
            kept = []
            total: Any = 0.0
            along: Any = 0.0
            # in the order of the tiles and in double precision, whatever the number of threads
            for part, weights, product in self._in_order(weigh_tile, size):
                block_done(-(-(part.stop - part.start) // self.backend.tile))
                kept.append(weights)
                along = along + spike[part].T @ weights
                total += self.backend.cast(product, np.dtype(float))
            return self.backend.join(kept), self.backend.cast(total, self.dtype).T + codes @ along

        return self._by_blocks(sums)

    @cached_property
    def _placed(self) -> tuple[Any, Any, Any]:
        """Codes, signal and scales on the device."""
        place = self.backend.place
        scale = None if self.scale is None else place(self.scale[:, None].astype(self.dtype))
        return place(self.codes.astype(self.dtype)), place(self.spike), scale

    def _against(self, block: Any) -> tuple[Any, Any]:
        r"""Columns of the block, each contiguous, and :math:`Y^T B`, with which :math:`X^T B` is computed tile by tile."""
        block = self.backend.cast(block, self.dtype)
        columns = self.backend.join([block[:, k][None] for k in range(block.shape[1])])
        return columns, self._placed[0].T @ block

    def _weights(self, part: slice, noise: Any, columns: Any, signal: Any) -> Any:
        r"""Rows of :math:`X^T B` of some features."""
        return self._scaled(part, (columns @ noise.T).T) + self._placed[1][part] @ signal

    def _scaled(self, part: slice, rows: Any) -> Any:
        scale = self._placed[2]
        return rows if scale is None else rows * scale[part]

    def _by_blocks(self, attempt: Callable[[int], R]) -> R:
        """Answer of an attempt that holds a number of features at once, the largest for which the memory suffices."""
        *larger, least = self.backend.blocks()
        with self.backend.guard(self.shape[0]):
            for size in larger:
                with contextlib.suppress(self.backend.full):
                    return attempt(size)
            return attempt(least)

    def _in_order(self, function: Callable[[slice, Any], R], size: int) -> Iterator[R]:
        """Answers of a function of the place of `size` features and of their noise, block after block."""
        nodes, width = self.shape

        def with_noise(part: slice) -> R:
            # the noise depends on the number of the tile, not on how many are held at once
            tile = part.start // self.backend.tile
            shape = (part.stop - part.start, nodes)
            return function(part, self.backend.normals(self.key, tile, shape, self.dtype))

        return self.backend.ordered_map(with_noise, column_blocks(width, size), nodes * width)


@dataclass(frozen=True, eq=False)
class _Transposed:
    features: StreamedFeatures

    def __matmul__(self, block: Block) -> Block:
        """Product :math:`X^T B`."""
        X = self.features
        against = X._against(X.backend.place(block.reshape(len(block), -1)))

        def rows(part: slice, noise: Any) -> Any:
            return X._weights(part, noise, *against)

        product = X._by_blocks(lambda size: X.backend.join(list(X._in_order(rows, size))))
        return X.backend.host(product).reshape(X.shape[1], *block.shape[1:])


Features = Block | StreamedFeatures


def streamed(features: Features) -> TypeGuard[StreamedFeatures]:
    """Whether the features are regenerated instead of stored."""
    return isinstance(features, StreamedFeatures)


def one_pass(X: Any, block: Any, weigh: Weigh | None = None) -> tuple[Any, Any]:
    r"""Weights :math:`w = X^T B` and product :math:`Xw`; a tile of streamed features is drawn once. Arrays of the device.

    `weigh` may change the weights before they multiply; it is called with a slice of the features and their rows of
    :math:`X^T B`.

    >>> X, B = StreamedFeatures(1, np.ones((50, 1)), np.ones((70, 1))), np.ones((50, 2))
    >>> w, Xw = one_pass(X, B, lambda part, w: 2 * w)
    >>> np.allclose(w, 2 * (X.T @ B)), np.allclose(Xw, X @ w)
    (True, True)
    """
    weigh = weigh or (lambda part, weights: weights)
    if streamed(X):
        return X._pass(block, weigh)
    weights = weigh(slice(0, X.shape[1]), X.T @ block)
    return weights, X @ weights
