"""Filters of finite depth: the residual network and the polynomial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import real, whole
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.filters.action import Block, power_sum
from gcnlimit.filters.base import Filter, SearchScale, to_unit
from gcnlimit.filters.chain import Chain

_DEEPEST = 10_000  # layers: seconds, and the time grows with their square


@dataclass(frozen=True, eq=False, init=False)
class Residual(Filter):
    r"""Residual network of depth :math:`K`: :math:`g(x) = \prod_{k=1}^K (x + c_k)`.

    Parameters
    ----------
    c
        Strengths of the residual connections; the last axis runs over the layers. An empty last axis is the network
        without layers, which ignores the graph.

    Examples
    --------
    >>> round(float(Residual(c=[1.0, 2.0])(3.0)), 12)
    20.0
    >>> Residual.constant([0.5, 1.0], depth=3).c.shape
    (2, 3)
    """

    parameter = "c"
    deep = True
    c: Array

    def __init__(self, c: npt.ArrayLike) -> None:
        self._store(c, empty_last=True)
        check_depth(self.depth)

    @classmethod
    def constant(cls, c: npt.ArrayLike, depth: int) -> Residual:
        """Network of `depth` layers that all have the same residual strength `c` (one number, or an array of them)."""
        c = np.asarray(real("c", c))
        return cls(np.repeat(c[..., None], check_depth(depth), axis=-1))

    @property
    def depth(self) -> int:
        """Number of layers :math:`K`."""
        return int(self.c.shape[-1])

    def quadrature_nodes(self) -> npt.NDArray[np.int64]:
        return np.full(self.shape, 4 * self.depth + 1)

    def normalized(self, x: Array) -> tuple[Array, Array]:
        """Product of the layers, scaled to 1 after each."""
        g, size = to_unit(np.ones(np.broadcast_shapes(x.shape, (*self.shape, 1))))
        for k in range(self.depth):
            g, more = to_unit(g * (x + self.c[..., k, None]))
            size = size + more
        return g, size

    def chain(self, *, accuracy: float = 1e-12, radius: npt.ArrayLike = 2.0) -> Chain:
        """The network itself: :math:`b_k = 1`, read out at the end."""
        last = np.zeros(self.depth + 1)
        last[-1] = 1.0
        return Chain(np.ones_like(self.c), self.c, np.broadcast_to(last, (*self.shape, self.depth + 1)))


def check_depth(depth: object) -> int:
    """Number of layers; so many that the answer would not come are refused."""
    return whole("depth", depth, low=0, high=_DEEPEST)


@dataclass(frozen=True, eq=False, init=False)
class Polynomial(Filter):
    r"""Polynomial filter :math:`g(x) = \sum_{k=0}^K g_k x^k`.

    Parameters
    ----------
    coefficients
        :math:`g_0, \dots, g_K`; the last axis runs over the powers.

    Examples
    --------
    >>> round(float(Polynomial(coefficients=[1.0, 0.0, 2.0])(3.0)), 12)
    19.0
    """

    parameter = "coefficients"
    deep = True
    scale = SearchScale(to=np.positive, back=np.positive, largest=1e6)
    shared = False
    coefficients: Array

    def __init__(self, coefficients: npt.ArrayLike) -> None:
        self._store(coefficients)
        if not np.all(np.any(self.coefficients != 0, axis=-1)):
            raise ParameterError("coefficients are all zero; a filter must let something through")

    @property
    def order(self) -> int:
        """Highest power :math:`K`."""
        return int(self.coefficients.shape[-1]) - 1

    def quadrature_nodes(self) -> npt.NDArray[np.int64]:
        return np.full(self.shape, 4 * self.order + 1)

    def normalized(self, x: Array) -> tuple[Array, Array]:
        """Horner's rule in :math:`x / max|x|`, on coefficients scaled to match."""
        x, _ = np.broadcast_arrays(x, np.zeros((*self.shape, 1)))
        largest = np.max(np.abs(x), axis=-1, keepdims=True)
        largest = np.where(largest > 0, largest, 1.0)
        with np.errstate(divide="ignore"):
            size = np.log(np.abs(self.coefficients)) + np.arange(self.order + 1) * np.log(largest)
        top = np.max(size, axis=-1)
        weights = np.exp(size - top[..., None]) * np.sign(self.coefficients)
        g = np.zeros(x.shape)
        for k in range(self.order, -1, -1):
            g = g * (x / largest) + weights[..., k, None]
        g, more = to_unit(g)
        return g, top + more

    def chain(self, *, accuracy: float = 1e-12, radius: npt.ArrayLike = 2.0) -> Chain:
        """Powers of the operator, read out with the coefficients."""
        return Chain.polynomial(self.coefficients)

    def series(self, operator: Any, block: Block, accuracy: float, shape: tuple[int, ...]) -> Block:
        weights = self.coefficients.T.reshape(self.order + 1, *shape)
        return power_sum(weights, operator, block)
