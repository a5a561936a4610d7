"""A network on an instance, read along its depth: states from the features on, and signals that come back from the loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import real
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Chain, Diffusion
from gcnlimit.network import GCN
from gcnlimit.simulation.operator import Operator

__all__ = ["AlongDepth", "along_depth"]


def along_depth(operator: Operator, gcn: GCN, depths: npt.ArrayLike | None) -> AlongDepth:
    """Return the network as it is read along its depth: at `depths` if it is continuous, else at each layer."""
    if isinstance(gcn.filter, Diffusion):
        if depths is None:
            raise ParameterError("a diffusion needs depths, numbers between 0 and 1")
        x = np.atleast_1d(real("depths", depths, low=0, high=1))
        if x.ndim != 1:
            raise ParameterError(f"depths must be a one-dimensional array, got shape {x.shape}")
        return _Continuous(operator, x, float(gcn.filter.t))
    name = type(gcn.filter).__name__
    if not gcn.filter.deep:
        raise ParameterError(f"{name} has no depth; take Diffusion, Residual or Polynomial")
    if depths is not None:
        raise ParameterError(f"{name} has its own layers; leave depths out")
    chain = gcn.filter.chain()
    return _Layers(operator, np.arange(chain.depth) / max(chain.depth, 1), chain)


@dataclass(frozen=True)
class AlongDepth(ABC):
    """A network that is read at depths `x`."""

    operator: Operator
    x: Array

    @property
    @abstractmethod
    def strength(self) -> Array:
        """What multiplies the operator at each depth."""

    @abstractmethod
    def forward(self, start: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """States that begin with `start`."""

    @abstractmethod
    def backward(self, end: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Signals that come back from `end` at the output: at the features, then at each depth."""

    @abstractmethod
    def response(self, signs: npt.NDArray[Any]) -> Array:
        """Traces of the propagation from a depth (rows) to a larger one (columns) with fixed weights; 0 elsewhere."""


@dataclass(frozen=True)
class _Continuous(AlongDepth):
    """The continuous network."""

    t: float

    @property
    def strength(self) -> Array:
        """The diffusion time."""
        return np.full(self.x.size, self.t)

    def _run(self, operator: Operator, times: Array, start: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(Diffusion(self.t * times).apply(operator, start, radius=operator.radius))

    def forward(self, start: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """States that begin at depth 0 with `start`."""
        return self._run(self.operator, self.x, start)

    def backward(self, end: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Signals that come back from `end` at depth 1: at depth 0, then at `x`."""
        return self._run(self.operator.T, 1.0 - np.concatenate([[0.0], self.x]), end)

    def response(self, signs: npt.NDArray[Any]) -> Array:
        """Traces of the propagation from `x` to a larger depth `z`."""
        ahead = self.x[None, :] - self.x[:, None]
        steps, which = np.unique(np.maximum(ahead, 0.0), return_inverse=True)
        traces = np.einsum("np,snp->s", signs, self._run(self.operator, steps, signs))
        return np.where(ahead > 0.0, traces[which.reshape(ahead.shape)], 0.0)


@dataclass(frozen=True)
class _Layers(AlongDepth):
    r"""Layers :math:`h_0 \dots h_{K-1}` of a chain, and the signals :math:`q_1 \dots q_K` that come back to the next ones."""

    chain: Chain

    @property
    def strength(self) -> Array:
        """Factors :math:`b_k`."""
        return self.chain.b

    def forward(self, start: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """States that begin with `start`."""
        b, c, _ = self.chain
        states = [start]
        for k in range(self.chain.depth - 1):
            states.append(b[k] * (self.operator @ states[-1]) + c[k] * states[-1])
        return np.stack(states)

    def backward(self, end: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Signals that come back from `end` at the output."""
        b, c, g = self.chain
        signals = [g[-1] * end]
        for k in range(self.chain.depth - 1, -1, -1):
            signals.append(g[k] * end + b[k] * (self.operator.T @ signals[-1]) + c[k] * signals[-1])
        return np.stack(signals[::-1])

    def response(self, signs: npt.NDArray[Any]) -> Array:
        """Traces of the layers after :math:`k` and up to :math:`l`."""
        b, c, _ = self.chain
        traces = np.zeros((self.chain.depth,) * 2)
        for k in range(1, self.chain.depth):
            state = signs
            for i in range(k, self.chain.depth):
                traces[k - 1, i] = np.vdot(signs, state)
                state = b[i] * (self.operator @ state) + c[i] * state
        return traces
