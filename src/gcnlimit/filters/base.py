"""Filters, and the chain of layers that every filter can be written as."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._threads import over_blocks
from gcnlimit._validation import real
from gcnlimit._values import Array, Value
from gcnlimit.errors import ParameterError
from gcnlimit.filters.action import Block, chebyshev_series, chebyshev_sum, column_blocks
from gcnlimit.filters.search_scale import Scale

__all__ = ["Chain", "Filter", "to_unit"]


class Chain(NamedTuple):
    r"""Layers :math:`h_k = (b_k a + c_k) h_{k-1}`, :math:`k = 1 \dots K`, read out as :math:`\sum_{k=0}^K g_k h_k` (Eq. 2.2).

    The last axis of `b` and `c` has length :math:`K`, that of `g` length :math:`K + 1`.
    """

    b: Array
    c: Array
    g: Array

    @property
    def depth(self) -> int:
        """Number of layers :math:`K`."""
        return int(self.b.shape[-1])

    def __call__(self, x: npt.ArrayLike) -> Array:
        """Value of the chain on a scalar in place of the operator; shape of the parameters, then of `x`."""
        x = np.asarray(x, float)
        axes = tuple(range(-x.ndim, 0))
        b, c, g = (np.expand_dims(np.moveaxis(p, -1, 0), axes) for p in self)
        state = np.ones_like(x)
        total = g[0] * state
        for k in range(self.depth):
            state = (b[k] * x + c[k]) * state
            total = total + g[k + 1] * state
        return np.asarray(total)


class Filter(Value, ABC):
    """A scalar function of the graph operator (Eq. 2.1); its one parameter may be an array.

    A new filter is a frozen dataclass with one field that says what is abstract here: `scaled` (its function), `chain` and
    `layers` (the network that computes it), `series` (its action) and `nodes` (how fine a quadrature it needs).

    Examples
    --------
    >>> import gcnlimit as gl
    >>> g = gl.Diffusion(t=[1.0, 2.0])
    >>> g.parameter, g.shape, g([0.0, 1.0]).round(4).tolist()
    ('t', (2,), [[1.0, 2.7183], [1.0, 7.3891]])
    """

    parameter: ClassVar[str]
    """Name of the parameter."""

    deep: ClassVar[bool] = False
    """Whether the last axis of the parameter runs over the layers."""

    scale: ClassVar[Scale] = Scale()
    """How `tune` searches the parameter."""

    shared: ClassVar[bool] = True
    """Whether `tune` searches one value shared by all layers, or one for each layer."""

    def __post_init__(self) -> None:
        """Check the parameter of a filter that leaves its constructor to `dataclass`."""
        self._store(getattr(self, self.parameter))

    def _store(self, values: npt.ArrayLike, *, empty_last: bool = False) -> None:
        """Check and keep the parameter: any real numbers."""
        checked = real(self.parameter, values, minimum_axes=int(self.deep), empty_last=empty_last)
        object.__setattr__(self, self.parameter, checked)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameter (the depth is not an axis of it)."""
        shape: tuple[int, ...] = np.shape(getattr(self, self.parameter))
        return shape[:-1] if self.deep else shape

    def ravel(self, shape: tuple[int, ...]) -> Self:
        """Filter whose parameter is broadcast to `shape` and flattened to one axis (and the depth)."""
        values = np.asarray(getattr(self, self.parameter))
        depth = values.shape[-1:] if self.deep else ()
        return self._with(np.broadcast_to(values, shape + depth).reshape(math.prod(shape), *depth))

    def __getitem__(self, index: Any) -> Self:
        """Filters at that index of the parameter's axes, the depth left whole."""
        return self._with(np.asarray(getattr(self, self.parameter))[index])

    def _with(self, values: Array) -> Self:
        """Same filter with other values of the parameter, known to be valid."""
        other = object.__new__(type(self))
        object.__setattr__(other, self.parameter, values)
        return other

    @abstractmethod
    def nodes(self) -> npt.NDArray[np.int64]:
        r"""Number of quadrature nodes on :math:`[-2, 2]` that average :math:`g^4` to rounding; shape of the parameter."""

    @abstractmethod
    def layers(self, *, accuracy: float = 1e-12, radius: npt.ArrayLike = 2.0) -> npt.NDArray[np.int64]:
        """Number of layers that `chain` needs, for each parameter and `radius`."""

    @abstractmethod
    def scaled(self, x: Array) -> tuple[Array, Array]:
        r"""Values :math:`g(x)` over the largest magnitude along the last axis of `x`, and the logarithm of that magnitude.

        `x` broadcasts against the parameters with one axis added at their end. Nothing overflows.
        """

    @abstractmethod
    def chain(self, *, accuracy: float = 1e-12, radius: npt.ArrayLike = 2.0, center: npt.ArrayLike = 0.0) -> Chain:
        r"""Chain that computes the filter, for operators of spectral radius `radius`.

        A polynomial filter is a chain exactly. The others are series about `center`, cut where the rest is below
        `accuracy` relative to :math:`\sup |g|`.
        """

    def apply(
        self, operator: Any, block: Block, *, radius: float | None = None, accuracy: float | None = None
    ) -> Block:
        r"""Action :math:`g(a) B` on a vector or a block of columns; `operator` is anything with ``@``.

        All parameters share the products with the operator; the answer has their shape, followed by that of `block`.
        `radius` bounds the spectrum of a symmetric operator: then the filter is a Chebyshev series, else its own series.
        `accuracy` is relative to :math:`\sup |g|` in the first case and to the norm of the result in the second; by
        default what the precision of `block` allows. Many columns are shared out among threads (``GCNLIMIT_THREADS``,
        by default one for each core and at most 4); the result does not depend on their number.
        """
        flat, count = self.ravel(self.shape), math.prod(self.shape)
        columns = block[:, None] if block.ndim == 1 else block
        out = np.empty((count, *columns.shape), block.dtype)

        def one(part: slice) -> None:
            piece = np.ascontiguousarray(columns[:, part])
            out[..., part] = flat._sum(operator, piece, radius, accuracy, (count, 1, 1))

        over_blocks(one, column_blocks(columns.shape[1]), columns.size)
        return out.reshape(*self.shape, *block.shape)

    def apply_each(
        self, operator: Any, block: Block, *, radius: float | None = None, accuracy: float | None = None
    ) -> Block:
        """Action of each parameter on its own column of `block`; otherwise as `apply`."""
        if self.shape != block.shape[1:]:
            raise ParameterError(f"apply_each needs a column for each parameter, got {block.shape} for {self.shape}")
        out = np.empty(block.shape, block.dtype)

        def one(part: slice) -> None:
            piece = np.ascontiguousarray(block[:, part])
            out[:, part] = self[part]._sum(operator, piece, radius, accuracy, piece.shape[1:])

        over_blocks(one, column_blocks(block.shape[1]), block.size)
        return out

    def _sum(
        self, operator: Any, block: Block, radius: float | None, accuracy: float | None, shape: tuple[int, ...]
    ) -> Block:
        """Action on one block; `shape` is that of the weights (see `gcnlimit.filters.action`)."""
        accuracy = accuracy or (1e-6 if block.dtype == np.float32 else 1e-12)
        if radius is None:
            return self.series(operator, block, accuracy, shape)
        self.check_radius(radius)
        weights = chebyshev_series(self, radius, accuracy).astype(block.dtype)
        return chebyshev_sum(weights.reshape(-1, *shape), operator, block, radius, accuracy)

    @abstractmethod
    def series(self, operator: Any, block: Block, accuracy: float, shape: tuple[int, ...]) -> Block:
        """Action on one block of columns by the filter's own series, for any operator; `apply` calls it.

        The parameter has one axis. If `shape` is ``(n, 1, 1)``, each of the ``n`` filters acts on the whole block and the
        answer has a leading axis; if it is ``(n,)``, each acts on its own column. `gcnlimit.filters.action` has the sums.
        """

    def __call__(self, x: npt.ArrayLike) -> Array:
        """Value :math:`g(x)`; the result has the shape of the parameters followed by that of `x`."""
        x = np.asarray(x, float)
        sign, size = self.scaled(x.reshape(-1, *(1 for _ in self.shape), 1))  # each value over its own magnitude
        return np.moveaxis(sign[..., 0] * np.exp(size), 0, -1).reshape(self.shape + x.shape)

    def check_radius(self, radius: npt.ArrayLike) -> None:
        """Raise `ParameterError` if the filter is not defined on a spectrum of that radius."""


def to_unit(g: Array) -> tuple[Array, Array]:
    """Values over the largest magnitude along the last axis, and its logarithm (0 where all vanish)."""
    largest = np.max(np.abs(g), axis=-1, keepdims=True)
    largest = np.where(largest > 0, largest, 1.0)
    return np.asarray(g / largest), np.log(largest[..., 0])
