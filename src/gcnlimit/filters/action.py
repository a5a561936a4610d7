r"""How filters act on an operator :math:`a`: sums over a basis, and the chain of layers that computes a filter.

A sum :math:`\sum_k w_k p_k(a) B` takes one weight for each term and filter, and computes the basis :math:`p_k` once. The weights
of a term have shape ``(n, 1, 1)``, so that the answer has a leading axis of ``n`` filters, or ``(n,)``, so that each filter acts
on its own column. Blocks are NumPy arrays, or tensors of PyTorch on any device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.linalg import get_blas_funcs

from gcnlimit._runtime.threads import over_blocks
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.numerics.linear import norm

Block = Any  # an array of NumPy, or a tensor of PyTorch
Layer = Callable[[int, Any], Any]  # product of layer k + 1 with what the layers before it made
Ratio = Callable[[int], float]
Shape = tuple[int, ...]
Whole = npt.NDArray[np.int64]

# Columns at once: three blocks of ten thousand rows stay in a cache (around which a multiple of 8
# would write).
WIDTH = 100


def column_blocks(columns: int, width: int = WIDTH) -> Iterator[slice]:
    """Slices that cut the columns into blocks that a cache holds."""
    return (slice(start, min(start + width, columns)) for start in range(0, columns, width))


def by_columns(act: Callable[[slice, Block], Block], block: Block, lead: Shape) -> Block:
    """Action on all columns of a block, those of NumPy shared out among threads; the answer has the axes `lead` in front."""
    if not isinstance(block, np.ndarray):
        return act(slice(None), block)
    out = np.empty((*lead, *block.shape), block.dtype)

    def one(part: slice) -> None:
        out[..., part] = act(part, np.ascontiguousarray(block[:, part]))

    over_blocks(one, column_blocks(block.shape[1]), block.size)
    return out


def chebyshev_series(function: Callable[[Array], Array], radius: float, accuracy: float) -> Array:
    r"""Coefficients of :math:`g(x) = \sum_k c_k T_k(x/R)` on :math:`[-R, R]`, terms first, to `accuracy` of :math:`\sup |g|`."""
    from scipy.fft import dct

    for n in (32 << k for k in range(10)):
        values = np.atleast_2d(function(radius * np.cos(np.pi * (np.arange(n) + 0.5) / n)))
        coefficients = dct(values, type=2, axis=-1) / n
        coefficients[:, 0] *= 0.5
        # The sum of the rest bounds the error.
        size = np.max(np.abs(values), axis=-1, keepdims=True)
        rest = np.cumsum(np.abs(coefficients[:, ::-1]), axis=-1)[:, ::-1] / size
        kept = int(np.count_nonzero(np.any(rest > max(accuracy, n * 1e-17), axis=0)))
        if kept < 3 * n // 4:
            return np.asarray(coefficients[:, :kept].T)
    steep = f"the filter is too steep or not smooth on [-{radius:g}, {radius:g}]"
    raise ParameterError(f"{steep}: its Chebyshev series does not converge; take a smoother one")


def chebyshev_sum(
    weights: Block, operator: Any, block: Block, radius: float, accuracy: float = 0.0
) -> Block:
    r"""Sum :math:`\sum_k w_k T_k(a/R) B` for a symmetric operator of spectrum in :math:`[-R, R]`.

    Terms that single precision gives to `accuracy` times :math:`\sup |g|` are computed in it, in half the time, if the
    operator has such a copy of itself, ``operator.single``.
    """
    weights = like(block, weights)
    total: Block = weights[0] * block
    if len(weights) == 1:
        return total
    here = operator @ block
    here *= float(1.0 / radius)
    _add(total, weights[1], here)
    rough = block.dtype == np.float64 and hasattr(operator, "single")
    double = max(2, _double_terms(weights, accuracy)) if rough else len(weights)
    pair = 1.0 * block, here
    pair = _recursion(total, weights, operator, pair, radius, range(2, double))
    if double < len(weights):
        # columns of size 1 suit the range of single precision
        size = np.maximum(*(np.abs(one).max(axis=0) for one in pair))
        size[size == 0.0] = 1.0
        before, here = ((one / size).astype(np.float32) for one in pair)
        rest = np.zeros_like(total, np.float32)
        terms = range(double, len(weights))
        _recursion(rest, like(rest, weights), operator.single, (before, here), radius, terms)
        total += rest * size
    return total


def _recursion(  # noqa: PLR0917
    total: Block,
    weights: Block,
    operator: Any,
    pair: tuple[Block, Block],
    radius: float,
    terms: range,
) -> tuple[Block, Block]:
    r"""Add `terms` to `total`, in place, and return the last two.

    The recursion :math:`T_{k+1} = \frac2R a T_k - T_{k-1}` runs on :math:`\pm T_k`, signs ``++--++--``, so that each term is
    added to the one before the last.
    """
    before, here = pair
    for k in terms:
        factor = float(2.0 / radius if k % 2 else -2.0 / radius)
        if hasattr(operator, "add_product"):
            operator.add_product(here, before, factor)
        else:
            before += factor * (operator @ here)
        before, here = here, before
        _add(total, weights[k] if k % 4 < 2 else -weights[k], here)
    return before, here


def _add(total: Block, weight: Block, term: Block) -> None:
    """``total += weight * term`` in place; in one pass for each filter of an axis in front."""
    if not isinstance(total, np.ndarray) or total.ndim == term.ndim:
        total += weight * term
        return
    axpy = get_blas_funcs("axpy", (total,))
    for part, factor in zip(total, weight, strict=True):
        axpy(term.reshape(-1), part.reshape(-1), a=factor.item())


def _double_terms(weights: Array, accuracy: float) -> int:
    r"""Number of the first terms that need double precision.

    An error in one term grows at most like the number of terms since then, as Chebyshev polynomials of the second kind do. So
    the rounding :math:`\epsilon` of single precision from term :math:`n` on costs
    :math:`\epsilon \sum_{k \ge n} (k - n + 1) |w_k|`, to be below `accuracy` times
    :math:`(\frac12 \sum_k w_k^2)^{1/2} \le \sup |g|`.
    """
    sizes = np.abs(weights.reshape(len(weights), -1))
    rest = np.cumsum(np.cumsum(sizes[::-1], axis=0), axis=0)[::-1]
    wanted = accuracy / np.finfo(np.float32).eps * np.sqrt(0.5) * np.linalg.norm(sizes, axis=0)
    return int(np.count_nonzero(np.any(rest > wanted, axis=1)))


def like(block: Block, numbers: Block) -> Block:
    """Numbers in the precision of a block, and on its device."""
    if isinstance(block, np.ndarray):
        return np.asarray(numbers, block.dtype)
    return block.new_tensor(np.array(numbers))


def power_sum(weights: Block, operator: Any, block: Block) -> Block:
    r"""Sum :math:`\sum_k w_k a^k B` for any operator."""
    weights = like(block, weights)
    total: Block = weights[0] * block
    for weight in weights[1:]:
        block = operator @ block
        total += weight * block
    return total


def series_sum(  # noqa: PLR0917
    parameters: Block, ratio: Ratio, operator: Any, block: Block, accuracy: float, name: str
) -> Block:
    r"""Sum :math:`\sum_k p^k r_1 \dots r_k\, a^k B` of an infinite series, for any operator and many `parameters` :math:`p`.

    The terms of the largest :math:`|p|` are computed, and the others are fractions of them. Stops when two terms in a row
    are below `accuracy` times the sum.
    """
    largest = float(np.max(np.abs(parameters)))
    fractions = like(block, parameters / (largest or 1.0))
    weight = like(block, np.ones_like(parameters))
    total: Block = weight * block
    if largest == 0.0:
        return total
    term = block
    small = 0
    for k in range(1, 100_000):
        with np.errstate(over="ignore", invalid="ignore"):
            term = operator @ term
            term *= float(largest * ratio(k))
            weight = weight * fractions
            total += weight * term
            size, whole = norm(term), norm(total)
        if not math.isfinite(whole):
            break
        small = small + 1 if size <= accuracy * whole else 0
        if small == 2:
            return total
    too_large = f"{name} = {largest:g} is too large for this operator"
    raise ParameterError(f"{too_large}: the series of the filter diverges; take smaller values")


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

    def _readouts(self, layer: Layer, one: Array) -> Iterator[Array]:
        r""":math:`R_K, \dots, R_0`."""
        state = self.g[..., -1, None] * one
        yield state
        for k in range(self.depth - 1, -1, -1):
            state = self.g[..., k, None] * one + layer(k, state)
            yield state

    def _both(self, layer: Layer, one: Array) -> tuple[Array, Array]:
        products = list(_products(self.depth, layer, one))
        readouts = list(self._readouts(layer, one))
        return np.stack(products, axis=-2), np.stack(readouts[::-1], axis=-2)


def _products(depth: int, layer: Layer, one: Any) -> Iterator[Any]:
    r""":math:`P_0, \dots, P_K`, from the `layer` that multiplies and the `one` to start with."""
    return accumulate(range(depth), lambda state, k: layer(k, state), initial=one)
