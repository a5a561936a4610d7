"""Bringing a chain to a scale on which its layers and its filter have gain 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.filters import Chain
from gcnlimit.numerics.spectral import SpikedSemicircle


def in_units(reg: Array, gain: Array) -> Array:
    r"""Regularization over the squared gain of the filter (Eq. 6.4), at most :math:`10^{60}`: squares underflow beyond."""
    return np.minimum(reg / gain / gain, 1e60)


class ScaledChain(NamedTuple):
    r"""A chain whose layers and filter have gain 1 on the bulk of the spectrum, and the gains that were divided out.

    `layers[k]` is the gain :math:`s_k` of layer :math:`k`, `gain` that of the whole, :math:`|g| = \sqrt{\tau(gg^T)}`, and
    `spike` the mean squared gain :math:`e(g^2)/\tau(g^2)` along the labels.
    """

    chain: Chain
    layers: Array
    gain: Array
    spike: Array

    @classmethod
    def of(cls, chain: Chain, signal: Array, symmetric: bool) -> Self:
        """Scale a chain, for each signal."""
        chain = chain.broadcast(signal.shape)
        layers, gain, spike = (_symmetric_gain if symmetric else _directed_gain)(chain, signal)
        step = layers[:, 1:] / layers[:, :-1]
        return cls(Chain(chain.b / step, chain.c / step, chain.g * layers / gain[:, None]), layers, gain, spike)

    @property
    def nodes(self) -> Array:
        r"""Quadrature nodes that average :math:`g^4` exactly, for each point."""
        return np.full(len(self.gain), 4 * self.chain.depth + 1)

    def take(self, rows: npt.NDArray[np.intp]) -> Self:
        """Chains of some of the points."""
        return type(self)(self.chain.take(rows), self.layers[rows], self.gain[rows], self.spike[rows])


def _symmetric_gain(chain: Chain, signal: Array) -> tuple[Array, Array, Array]:
    """Root mean square of each layer and of the filter over the semicircle, and the gain along the labels."""
    measure = SpikedSemicircle.of(signal, 2 * chain.depth + 2)
    layers, total = _gains(chain, measure.x, lambda layer: layer**2 @ measure.tau)
    square = total**2
    mean = square @ measure.tau
    return layers, np.sqrt(mean), np.einsum("bn,bn->b", measure.e, square) / mean


def _directed_gain(chain: Chain, signal: Array) -> tuple[Array, Array, Array]:
    """Root sum of squares of the Taylor coefficients of each layer and of the filter, and the gain along the labels."""
    layers, total = _gains(chain, None, lambda layer: np.sum(layer**2, axis=-1))
    mean, tail, spike = np.sum(total**2, axis=1), np.zeros(len(signal)), np.zeros(len(signal))
    for k in range(chain.depth, -1, -1):
        tail = total[:, k] + signal * tail
        spike += tail**2
    return layers, np.sqrt(mean), spike / mean


def _gains(chain: Chain, x: Array | None, square: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Root mean square of each layer, 1 where it vanishes, and the filter: at points `x` or as Taylor coefficients."""
    products = chain.products(x)
    total = chain.g[:, :1] * next(products)
    gains = np.ones(chain.g.shape)
    for k, layer in enumerate(products, start=1):
        gains[:, k] = np.sqrt(square(layer))
        total = total + chain.g[:, k, None] * layer
    return np.where(gains > 0.0, gains, 1.0), total
