"""Filters of finite depth, the residual network and the polynomial, and a filter given as a plain function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import as_real, broadcast, plain_array, whole
from gcnlimit._values import Array, Parameter, shown
from gcnlimit.errors import ParameterError
from gcnlimit.filters.action import Block, Shape, Whole, power_sum
from gcnlimit.filters.base import Filter, SearchScale, to_unit
from gcnlimit.filters.chain import Chain

_DEEPEST = 10_000  # layers: seconds, and the time grows with their square
_MANY = 9  # points of the spectrum at which a filter may not vanish together


@dataclass(frozen=True, eq=False, init=False)
class Residual(Filter):
    r"""Residual network of depth :math:`K`: :math:`g(x) = \prod_{k=1}^K (x + c_k)`.

    Parameters
    ----------
    c
        Strengths of the residual connections; the last axis runs over the layers. An empty last axis is the network
        without layers, which ignores the graph. Shallower networks among deeper ones (`constant`) end with NaN: no layer.

    Examples
    --------
    >>> round(float(Residual(c=[1.0, 2.0])(3.0)), 12)
    20.0
    """

    parameter = "c"
    deep = True
    c: Array

    def __init__(self, c: npt.ArrayLike) -> None:
        self._store(c, empty_last=True)
        check_depth(self.depth)

    @classmethod
    def constant(cls, c: npt.ArrayLike, depth: int | npt.ArrayLike) -> Residual:
        """Network of `depth` layers that all have the same residual strength `c`; arrays broadcast.

        >>> Residual.constant(1.0, depth=[1, 2])(3.0).round(12).tolist()
        [4.0, 16.0]
        """
        c = np.asarray(as_real("c", c))
        if isinstance(depth, int):
            return cls(np.repeat(c[..., None], check_depth(depth), axis=-1))
        as_real("depth", depth)  # refuses lists of different lengths
        several = plain_array("depth", depth)
        checked = [check_depth(single) for single in several.ravel().tolist()]
        depths = np.reshape(checked, (*several.shape, 1))
        layers = np.arange(np.max(depths, initial=0))
        broadcast(c=c.shape, depth=several.shape)
        c, _ = np.broadcast_arrays(c[..., None], depths)
        return cls(np.empty(0))._with(np.where(layers < depths, c, np.nan))

    @property
    def depth(self) -> int:
        """Number of layers :math:`K`."""
        return int(self.c.shape[-1])

    def quadrature_nodes(self) -> Whole:
        return np.full(self.shape, 4 * self.depth + 1)

    def normalized(self, x: Array) -> tuple[Array, Array]:
        """Product of the layers, scaled to 1 after each."""
        g, size = to_unit(np.ones(np.broadcast_shapes(x.shape, (*self.shape, 1))))
        uneven = bool(np.isnan(self.c[..., -1:]).any())  # some networks have fewer layers
        for k in range(self.depth):
            layer = x + self.c[..., k, None]
            g, more = to_unit(g * (np.where(np.isnan(layer), 1.0, layer) if uneven else layer))
            size = size + more
        return g, size

    def chain(self, *, accuracy: float = 1e-12, radius: npt.ArrayLike = 2.0) -> Chain:
        """The network itself: :math:`b_k = 1`, read out at the end."""
        end = np.count_nonzero(~np.isnan(self.c), axis=-1)
        readout = np.asarray(np.arange(self.depth + 1) == end[..., None], float)
        return Chain(np.ones_like(self.c), np.nan_to_num(self.c), readout)


def check_depth(depth: object) -> int:
    """Number of layers; a number whose answer would take too long is refused."""
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

    def quadrature_nodes(self) -> Whole:
        return np.full(self.shape, 4 * self.order + 1)

    def normalized(self, x: Array) -> tuple[Array, Array]:
        """Horner's rule in :math:`x / max|x|`, on coefficients scaled to match."""
        x, _ = np.broadcast_arrays(x, np.zeros((*self.shape, 1)))
        unit, largest = to_unit(x)
        powers = np.arange(self.order + 1) * largest[..., None]
        with np.errstate(divide="ignore"):
            size = np.log(np.abs(self.coefficients)) + powers
        top = np.max(size, axis=-1)
        weights = np.exp(size - top[..., None]) * np.sign(self.coefficients)
        g = np.zeros(x.shape)
        for k in range(self.order, -1, -1):
            g = g * unit + weights[..., k, None]
        g, more = to_unit(g)
        return g, top + more

    def chain(self, *, accuracy: float = 1e-12, radius: npt.ArrayLike = 2.0) -> Chain:
        """Powers of the operator, read out with the coefficients."""
        return Chain.polynomial(self.coefficients)

    def series(self, operator: Any, block: Block, accuracy: float, shape: Shape) -> Block:
        return power_sum(self.coefficients.T.reshape(self.order + 1, *shape), operator, block)


@dataclass(frozen=True, eq=False)
class OfChain(Filter):
    """Filter known by its layers; the parameter lists the numbers `b`, `c` and `g` of their chain."""

    parameter = "numbers"
    deep = True
    numbers: Array

    def quadrature_nodes(self) -> Whole:
        return np.full(self.shape, 4 * self.chain().depth + 1)

    def normalized(self, x: Array) -> tuple[Array, Array]:
        return to_unit(self.chain().values(x))

    def chain(self, *, accuracy: float = 1e-12, radius: npt.ArrayLike = 2.0) -> Chain:
        depth = self.values.shape[-1] // 3
        return Chain(*np.split(self.values, [depth, 2 * depth], axis=-1))


@dataclass(frozen=True, eq=False)
class Function(Filter):
    r"""Filter :math:`g(x) = s f(x)` from a function :math:`f` of NumPy arrays, for symmetric graphs; ``GCN(f)`` for short.

    The function is to be smooth on the spectrum of the graph: the bulk :math:`[-2, 2]` and the spike outside it.

    Parameters
    ----------
    function
        The function :math:`f`.
    factor
        The factor :math:`s` in front of it. It changes what a finite regularization does, and nothing at infinity.

    Examples
    --------
    >>> float(Function(lambda x: 1 / (1 - 0.3 * x))(2.0))
    2.5
    """

    parameter = "factor"
    function: Callable[[Array], npt.ArrayLike]
    factor: Parameter = 1.0

    def normalized(self, x: Array) -> tuple[Array, Array]:
        return to_unit(np.asarray(self.factor)[..., None] * self._checked(x))

    def _checked(self, x: Array) -> Array:
        try:
            with np.errstate(all="ignore"):
                g = np.asarray(self.function(np.array(x)))  # the function may work in place
        except Exception as error:  # of a function of a user, whatever it is
            fails = f"the filter g(x) fails on an array ({type(error).__name__}: {error})"
            raise ParameterError(f"{fails}; write it with NumPy") from error
        if g.dtype.kind not in "biuf" or g.shape not in ((), np.shape(x)):
            told = f"the filter g(x) has dtype {g.dtype} and shape {g.shape} for x of shape"
            raise ParameterError(f"{told} {np.shape(x)}; it must be a real number for each x")
        g = np.broadcast_to(g.astype(float), np.shape(x))
        bad = ~np.isfinite(g)
        if bad.any():
            fault = f"the filter g(x) is {g[bad][0]} at x = {x[bad][0]:g}"
            raise ParameterError(f"{fault}; it must be finite on the spectrum of the graph")
        if g.size >= _MANY and not g.any():
            raise ParameterError("the filter g(x) is 0 on the whole spectrum; take one that is not")
        return g


def as_filter(filter: Any) -> Filter:
    """Return the filter itself, or the filter of a plain function."""
    if isinstance(filter, Filter):
        return filter
    if callable(filter) and not isinstance(filter, type):
        return Function(filter)
    kinds = "Residual, Diffusion, PageRank or Polynomial, or a function g(x)"
    raise ParameterError(f"filter = {shown(filter)} is not a filter; use {kinds}")
