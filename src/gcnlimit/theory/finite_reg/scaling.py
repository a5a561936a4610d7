"""Bringing a chain to a scale on which its layers and its filter have gain 1."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.filters import Chain
from gcnlimit.numerics.spectral import SpikedSemicircle

__all__ = ["ScaledChain", "in_units"]


def in_units(reg: Array, gain: Array) -> Array:
    r"""Regularization over the squared gain of the filter (Eq. 6.4), at most :math:`10^{60}`: squares underflow beyond."""
    return np.minimum(reg / gain / gain, 1e60)


class ScaledChain(NamedTuple):
    r"""A chain whose layers and filter have gain 1 on the bulk of the spectrum, and the gains that were divided out.

    `layers[k]` is the gain :math:`s_k` of layer :math:`k`, `gain` that of the whole, :math:`\Gamma = \sqrt{\tau(gg^T)}`, and
    `spike` the mean squared gain :math:`e(g^2)/\tau(g^2)` along the labels.
    """

    chain: Chain
    layers: Array
    gain: Array
    spike: Array

    @classmethod
    def of(cls, chain: Chain, signal: Array, symmetric: bool) -> Self:
        """Scale a chain, for each signal."""
        chain = Chain(*(np.broadcast_to(p, (len(signal), p.shape[-1])) for p in chain))
        layers, gain, spike = (_symmetric_gain if symmetric else _directed_gain)(chain, signal)
        step = layers[:, 1:] / layers[:, :-1]
        return cls(Chain(chain.b / step, chain.c / step, chain.g * layers / gain[:, None]), layers, gain, spike)

    @property
    def nodes(self) -> Array:
        r"""Quadrature nodes that average :math:`g^4` exactly, for each point."""
        return np.full(len(self.gain), 4 * self.chain.depth + 1)

    def __call__(self, x: Array) -> Array:
        """Values of the filter, of gain 1, at points of their own for each chain."""
        b, c, g = self.chain
        value = np.broadcast_to(g[:, -1:], x.shape)
        for k in range(self.chain.depth, 0, -1):
            value = g[:, k - 1, None] + (b[:, k - 1, None] * x + c[:, k - 1, None]) * value
        return value

    def take(self, rows: npt.NDArray[np.intp]) -> Self:
        """Chains of some of the points."""
        chain = Chain(*(p[rows] for p in self.chain))
        return type(self)(chain, self.layers[rows], self.gain[rows], self.spike[rows])


def _symmetric_gain(chain: Chain, signal: Array) -> tuple[Array, Array, Array]:
    """Root mean square of each layer and of the filter over the semicircle, and the gain along the labels."""
    measure = SpikedSemicircle.of(signal, 2 * chain.depth + 2)
    layer = np.ones(measure.x.shape)
    total = chain.g[:, :1] * layer
    gains = [np.ones(len(signal))]
    for k in range(chain.depth):
        layer = (chain.b[:, k, None] * measure.x + chain.c[:, k, None]) * layer
        gains.append(_nonzero(np.sqrt(layer**2 @ measure.tau)))
        total = total + chain.g[:, k + 1, None] * layer
    square = total**2
    mean = square @ measure.tau
    return np.stack(gains, axis=1), np.sqrt(mean), np.einsum("bn,bn->b", measure.e, square) / mean


def _directed_gain(chain: Chain, signal: Array) -> tuple[Array, Array, Array]:
    """Root sum of squares of the Taylor coefficients of each layer and of the filter, and the gain along the labels."""
    layer = np.zeros((len(signal), chain.depth + 1))
    layer[:, 0] = 1.0
    total = chain.g[:, :1] * layer
    gains = [np.ones(len(signal))]
    for k in range(chain.depth):
        up = chain.b[:, k, None] * layer[:, :-1]
        layer = chain.c[:, k, None] * layer
        layer[:, 1:] += up
        gains.append(_nonzero(np.sqrt(np.sum(layer**2, axis=1))))
        total = total + chain.g[:, k + 1, None] * layer
    mean, tail, spike = np.sum(total**2, axis=1), np.zeros(len(signal)), np.zeros(len(signal))
    for k in range(chain.depth, -1, -1):
        tail = total[:, k] + signal * tail
        spike += tail**2
    return np.stack(gains, axis=1), np.sqrt(mean), spike / mean


def _nonzero(gain: Array) -> Array:
    return np.where(gain > 0.0, gain, 1.0)
