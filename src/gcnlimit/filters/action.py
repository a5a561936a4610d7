r"""How filters act on an operator :math:`a`: sums over a basis of its functions.

A sum :math:`\sum_k w_k p_k(a) B` takes one weight for each term and filter, and computes the basis :math:`p_k` once. The weights
of a term have shape ``(n, 1, 1)``, so that the answer has a leading axis of ``n`` filters, or ``(n,)``, so that each filter acts
on its own column. Blocks are NumPy arrays, or tensors of PyTorch on any device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import get_blas_funcs

from gcnlimit._runtime.threads import over_blocks
from gcnlimit._validation import reals
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.numerics.linear import norm

Block = Any  # an array of NumPy, or a tensor of PyTorch
Ratio = Callable[[int], float]
Shape = tuple[int, ...]
Whole = npt.NDArray[np.int64]

# Columns at once: three blocks of ten thousand rows stay in a cache (around which a multiple of 8
# would write).
WIDTH = 100


def as_block(operator: Any, block: Any) -> Block:
    """Columns on which an operator acts, as floats; `ParameterError` if they are not, or it is of another size."""
    if getattr(block, "dtype", None) != np.float32 and not hasattr(block, "new_tensor"):
        block = reals("block", block)
    shape = np.shape(operator if hasattr(operator, "shape") else reals("operator", operator))
    if block.ndim not in (1, 2) or shape != 2 * tuple(block.shape[:1]):
        shapes = f"operator and block have shapes {shape} and {tuple(block.shape)}"
        raise ParameterError(f"{shapes}; give a row and a column for each row of block")
    return block


def column_blocks(columns: int, width: int = WIDTH) -> Iterator[slice]:
    """Slices that cut the columns into blocks that a cache holds."""
    return (slice(start, min(start + width, columns)) for start in range(0, columns, width))


def by_columns(act: Callable[[slice, Block], Block], block: Block, lead: Shape) -> Block:
    """Action on all columns of a block, those of NumPy shared out among threads; the answer has the axes `lead` in front."""
    if not isinstance(block, np.ndarray):
        return act(slice(None), block)
    out = np.empty((*lead, *block.shape), block.dtype)

    def columns(part: slice) -> None:
        out[..., part] = act(part, np.ascontiguousarray(block[:, part]))

    over_blocks(columns, column_blocks(block.shape[1]), block.size)
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
    newest = operator @ block
    newest *= float(1.0 / radius)
    _add(total, weights[1], newest)
    rough = block.dtype == np.float64 and hasattr(operator, "single")
    double = max(2, _double_terms(weights, accuracy)) if rough else len(weights)
    pair = 1.0 * block, newest
    pair = _recursion(total, weights, operator, pair, radius, range(2, double))
    if double < len(weights):
        # columns of size 1 suit the range of single precision
        size = np.maximum(*(np.abs(term).max(axis=0) for term in pair))
        size[size == 0.0] = 1.0
        before, newest = ((term / size).astype(np.float32) for term in pair)
        rest = np.zeros_like(total, np.float32)
        terms = range(double, len(weights))
        _recursion(rest, like(rest, weights), operator.single, (before, newest), radius, terms)
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
    before, newest = pair
    for k in terms:
        factor = float(2.0 / radius if k % 2 else -2.0 / radius)
        if isinstance(newest, np.ndarray) and hasattr(operator, "add_product"):
            operator.add_product(newest, before, factor)
        else:
            before += factor * (operator @ newest)
        before, newest = newest, before
        _add(total, weights[k] if k % 4 < 2 else -weights[k], newest)
    return before, newest


def _add(total: Block, weight: Block, term: Block) -> None:
    """``total += weight * term`` in place; in one pass for each filter of an axis in front."""
    # a sum in another order than that of C would be a copy when it is flat
    if not isinstance(total, np.ndarray) or total.ndim == term.ndim or not total.flags.c_contiguous:
        total += weight * term
        return
    # without a temporary array of the size of the block
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
        _add(total, weight, block)
    return total


def series_sum(  # noqa: PLR0917
    parameters: Block, ratio: Ratio, operator: Any, block: Block, accuracy: float, name: str
) -> Block:
    r"""Sum :math:`\sum_k p^k r_1 \dots r_k\, a^k B` of an infinite series, for any operator and many `parameters` :math:`p`.

    The terms of the largest :math:`|p|` are computed, and the others are fractions of them. Stops when two terms in a row
    are below `accuracy` times the sum.
    """
    largest = float(np.max(np.abs(parameters)))
    weight = like(block, np.ones_like(parameters))
    total: Block = weight * block
    if largest == 0.0:
        return total
    fractions = like(block, parameters / largest)
    term = block
    small = 0
    for k in range(1, 100_000):
        with np.errstate(over="ignore", invalid="ignore"):
            term = operator @ term
            term *= float(largest * ratio(k))
            # smaller parameters follow from the largest by powers of their ratio
            weight = weight * fractions
            total += weight * term
            size, whole = norm(term), norm(total)
        if not math.isfinite(whole):
            break
        # one small term may be an accident, for instance of an odd function
        small = small + 1 if size <= accuracy * whole else 0
        if small == 2:
            return total
    too_large = f"{name} = {largest:g} is too large for this operator"
    raise ParameterError(f"{too_large}: the series of the filter diverges; take smaller values")


def geometric(operator: Any, block: Array, strengths: Sequence[float], most: int) -> Any:
    r"""Sums :math:`\sum_{k \le K} s^k S^k B` for several strengths, whose products with the operator are shared."""
    powers = np.power.outer(np.asarray(strengths), np.arange(most + 1)).T
    return power_sum(powers[..., None, None], operator.astype(block.dtype), block)
