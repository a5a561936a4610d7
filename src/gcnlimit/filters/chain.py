"""The chain of layers that computes a filter: its values, its Taylor coefficients and its action."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.filters.action import Block, like

Layer = Callable[[int, Any], Any]  # product of layer k + 1 with what the layers before it made


class Chain(NamedTuple):
    r"""Layers :math:`h_k = (b_k a + c_k) h_{k-1}`, :math:`k = 1 \dots K`, read out as :math:`\sum_{k=0}^K g_k h_k` (Eq. 2.2).

    The last axis of `b` and `c` has length :math:`K`, that of `g` length :math:`K + 1`; the others are those of the parameters.
    With the product of the first :math:`k` layers :math:`P_k` and the map :math:`R_k` from layer :math:`k` to the output,

    .. math::
        P_0 = 1, \quad P_k = (b_k a + c_k) P_{k-1}, \qquad R_K = g_K, \quad R_{k-1} = g_{k-1} + (b_k a + c_k) R_k,

    the function is :math:`\sum_k g_k P_k = R_0`, whatever stands for :math:`a`: numbers, an operator, or the shift of the Taylor
    coefficients of a polynomial.

    >>> chain = Chain(b=np.array([1.0, 1.0]), c=np.array([1.0, 2.0]), g=np.array([0.0, 0.0, 1.0]))  # (x + 1)(x + 2)
    >>> chain(3.0).item(), chain.coefficients()[1][0].tolist()
    (20.0, [2.0, 3.0, 1.0])
    """

    b: Array
    c: Array
    g: Array

    @classmethod
    def polynomial(cls, coefficients: npt.ArrayLike) -> Self:
        r"""Powers of the operator, read out with the `coefficients` :math:`g_0 \dots g_K` along the last axis."""
        g = np.asarray(coefficients, float)
        b = np.ones((*g.shape[:-1], g.shape[-1] - 1))
        return cls(b, np.zeros_like(b), g)

    @property
    def depth(self) -> int:
        """Number of layers :math:`K`."""
        return int(self.b.shape[-1])

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """Chains at those rows of the parameters."""
        return type(self)(*(part[rows] for part in self))

    def broadcast(self, shape: tuple[int, ...]) -> Self:
        """The chain for parameters of that shape."""
        return type(self)(*(np.broadcast_to(part, (*shape, part.shape[-1])) for part in self))

    def __call__(self, x: npt.ArrayLike) -> Array:
        """Value of the chain on numbers in place of the operator; shape of the parameters, then of `x`."""
        x = np.asarray(x, float)
        return self.values(x.reshape(-1)).reshape(self.g.shape[:-1] + x.shape)

    def values(self, x: Array) -> Array:
        """Value of the chain at `x`, which broadcasts against the parameters with one axis added at their end."""
        *_, value = self._readouts(self._at(x), np.ones(x.shape))
        return np.asarray(value)

    def partial_values(self, x: Array) -> tuple[Array, Array]:
        r"""Values of :math:`P_k` and :math:`R_k`, :math:`k = 0 \dots K` along the last axis but one, at `x` as in `values`."""
        shape = np.broadcast_shapes((*self.g.shape[:-1], 1), x.shape)
        return self._both(self._at(x), np.ones(shape))

    def products(self, x: Array | None = None) -> Iterator[Array]:
        r""":math:`P_0, P_1, \dots, P_K`: their values at `x` as in `values`, or else their Taylor coefficients."""
        if x is None:
            return _products(self.depth, self._shift, np.eye(1, self.depth + 1)[0])
        return _products(self.depth, self._at(x), np.ones(x.shape))

    def coefficients(self) -> tuple[Array, Array]:
        r"""Taylor coefficients of :math:`P_k` and :math:`R_k`, powers along the last axis, :math:`k` along the one before."""
        return self._both(self._shift, np.broadcast_to(np.eye(1, self.depth + 1)[0], self.g.shape))

    def taylor(self, signal: Array) -> tuple[Array, Array]:
        r"""Taylor coefficients :math:`g_i` and their tails :math:`G_i = \sum_k g_{i+k} \lambda^k`, powers first.

        Both are given up to a common scale, one for each `signal` :math:`\lambda`. The layer :math:`bx + c` maps
        :math:`g_i \to b g_{i-1} + c g_i` and :math:`G_i \to b G_{i-1} + c G_i`, except :math:`G_0 \to (b\lambda + c) G_0`.
        Powers are counted in units of `unit` :math:`= \max(1, |\lambda|)` and each layer is divided by :math:`|b|` `unit`
        :math:`+ |c|`, so that nothing overflows.
        """
        b, c, g = (np.moveaxis(part, -1, 0) for part in self.broadcast(signal.shape))
        # Each layer b x + c as what it adds to the next power, and what it leaves.
        unit = np.maximum(1.0, np.abs(signal))
        size = np.abs(b) * unit + np.abs(c)
        size[size == 0.0] = 1.0
        up = b * unit / size
        stay = c / size
        first = np.stack([c, b * signal + c], axis=1) / size[:, None]

        # A state holds the coefficients and the tails, powers 0 to k along its second axis.
        def layer(k: int, state: Array) -> Array:
            product = np.empty((2, k + 2, *signal.shape))
            np.multiply(first[k], state[:, 0], out=product[:, 0])
            np.multiply(up[k], state, out=product[:, 1:])
            if np.any(stay[k]):
                product[:, 1:-1] += stay[k] * state[:, 1:]
            return product

        # The readout takes the sizes back, the largest scaled to 1.
        with np.errstate(divide="ignore"):
            # in logarithms, since products of hundreds of sizes overflow
            height = np.log(np.abs(g))
        height[1:] += np.cumsum(np.log(size), axis=0)
        readouts = np.sign(g) * np.exp(height - np.max(height, axis=0))
        products = _products(self.depth, layer, np.ones((2, 1, *signal.shape)))
        total = np.zeros((2, self.depth + 1, *signal.shape))
        for k, (readout, product) in enumerate(zip(readouts, products, strict=True)):
            if np.any(readout):
                total[:, : k + 1] += readout * product
        total *= unit ** -np.arange(self.depth + 1.0)[:, None]
        total /= np.max(np.abs(total), axis=(0, 1))  # its fourth power must not vanish
        return total[0], total[1]

    def apply(self, operator: Any, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Action on columns, one for each chain of a single axis of parameters; `operator` is anything with ``@``."""
        b, c, g = (like(block, np.moveaxis(part, -1, 0)) for part in self)

        def layer(k: int, state: Block) -> Block:
            return b[k] * (operator @ state) + c[k] * state

        total = 0.0 * block
        for readout, state in zip(g, _products(self.depth, layer, block), strict=True):
            if (readout != 0.0).any():
                total += readout * state
        return total

    def _at(self, x: Array) -> Layer:
        return lambda k, state: (self.b[..., k, None] * x + self.c[..., k, None]) * state

    def _shift(self, k: int, state: Array) -> Array:
        product = np.asarray(self.c[..., k, None] * state)
        product[..., 1:] += self.b[..., k, None] * state[..., :-1]
        return product

    def _readouts(self, layer: Layer, identity: Array) -> Iterator[Array]:
        r""":math:`R_K, \dots, R_0`."""
        state = self.g[..., -1, None] * identity
        yield state
        # from the output back, like Horner's rule
        for k in range(self.depth - 1, -1, -1):
            state = self.g[..., k, None] * identity + layer(k, state)
            yield state

    def _both(self, layer: Layer, identity: Array) -> tuple[Array, Array]:
        products = list(_products(self.depth, layer, identity))
        readouts = list(self._readouts(layer, identity))
        return np.stack(products, axis=-2), np.stack(readouts[::-1], axis=-2)


def _products(depth: int, layer: Layer, first: Any) -> Iterator[Any]:
    r""":math:`P_0, \dots, P_K`, from the `layer` that multiplies and the `one` to start with."""
    return accumulate(range(depth), lambda state, k: layer(k, state), initial=first)
