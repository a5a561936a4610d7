r"""How filters act on an operator: products with a block of columns, shared by all the parameters of a filter.

Each function takes one weight for each term and filter and sums :math:`\sum_k w_k p_k(a) B` over a basis :math:`p_k`
that it computes once. The weights of a term have shape ``(n, 1, 1)``, so that the answer has a leading axis of ``n``
filters, or ``(n,)``, so that each filter acts on its own column. Blocks are NumPy arrays, or tensors of PyTorch on any device
(their weights are then a NumPy array still).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.errors import ParameterError

Block = Any  # an array of NumPy, or a tensor of PyTorch

WIDTH = 100  # columns at once: three blocks of ten thousand rows stay in a cache; a multiple of 8 aligns every row with
# the lines of a cache, and some processors then write around it


def column_blocks(columns: int, width: int = WIDTH) -> Iterator[slice]:
    """Slices that cut the columns into blocks that a cache holds.

    >>> list(column_blocks(5, width=3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    return (slice(start, min(start + width, columns)) for start in range(0, columns, width))


def chebyshev_series(function: Callable[[Array], Array], radius: float, accuracy: float) -> Array:
    r"""Coefficients of :math:`g(x) = \sum_k c_k T_k(x/R)` on :math:`[-R, R]`, terms first.

    Cut where the sum of the rest, which bounds the error, is below `accuracy` times :math:`\sup |g|`.

    >>> chebyshev_series(lambda x: 2 * x[None] ** 2, radius=1.0, accuracy=1e-12)[:, 0].round(12) + 0.0
    array([1., 0., 1.])
    """
    from scipy.fft import dct

    for n in (32 << k for k in range(10)):
        values = np.atleast_2d(function(radius * np.cos(np.pi * (np.arange(n) + 0.5) / n)))
        coefficients = dct(values, type=2, axis=-1) / n
        coefficients[:, 0] *= 0.5
        size = np.max(np.abs(values), axis=-1, keepdims=True)
        rest = np.cumsum(np.abs(coefficients[:, ::-1]), axis=-1)[:, ::-1] / size
        kept = int(np.count_nonzero(np.any(rest > max(accuracy, n * 1e-17), axis=0)))
        if kept < 3 * n // 4:
            return np.asarray(coefficients[:, :kept].T)
    raise ParameterError(
        f"the filter is too steep or not smooth on [-{radius:g}, {radius:g}]: its Chebyshev series does not converge"
    )


def chebyshev_sum(weights: Block, operator: Any, block: Block, radius: float) -> Block:
    r"""Sum :math:`\sum_k w_k T_k(a/R) B` for a symmetric operator of spectrum in :math:`[-R, R]`.

    The recursion :math:`T_{k+1} = \frac2R a T_k - T_{k-1}` runs on :math:`\pm T_k`, signs ``++--++--``, so that each term is
    added to the one before the last.
    """
    weights = like(block, weights)
    total: Block = weights[0] * block
    if len(weights) == 1:
        return total
    before, here = 1.0 * block, operator @ block
    here *= float(1.0 / radius)
    total += weights[1] * here
    for k in range(2, len(weights)):
        _add_product(operator, here, before, 2.0 / radius if k % 2 else -2.0 / radius)
        before, here = here, before
        total += (weights[k] if k % 4 < 2 else -weights[k]) * here
    return total


def _add_product(operator: Any, block: Block, out: Block, factor: float) -> None:
    """``out += factor * (operator @ block)``, in place if the operator can."""
    if hasattr(operator, "add_product"):
        operator.add_product(block, out, factor)
    else:
        out += float(factor) * (operator @ block)


def like(block: Block, numbers: Block) -> Block:
    """Numbers in the precision of a block, and on its device."""
    return np.asarray(numbers, block.dtype) if isinstance(block, np.ndarray) else block.new_tensor(np.array(numbers))


def norm(block: Block) -> float:
    """Euclidean norm of all entries."""
    return float(np.linalg.norm(block) if isinstance(block, np.ndarray) else block.norm())


def stacked(blocks: list[Block]) -> Block:
    """Blocks along a new first axis."""
    if isinstance(blocks[0], np.ndarray):
        return np.stack(blocks)
    total: Block = blocks[0].new_empty((len(blocks), *blocks[0].shape))
    for part, block in zip(total, blocks, strict=True):
        part[...] = block
    return total


def power_sum(weights: Block, operator: Any, block: Block) -> Block:
    r"""Sum :math:`\sum_k w_k a^k B` for any operator."""
    weights = like(block, weights)
    total: Block = weights[0] * block
    for weight in weights[1:]:
        block = operator @ block
        total += weight * block
    return total


def series_sum(  # noqa: PLR0917
    parameters: Block, ratio: Callable[[int], float], operator: Any, block: Block, accuracy: float, name: str
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
    term, small = block, 0
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
    raise ParameterError(
        f"{name} = {largest:g} is too large for this operator: the series of the filter diverges on it"
    )
