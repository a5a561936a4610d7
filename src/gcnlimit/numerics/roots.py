"""Roots of functions of one variable: many at once by Newton's method between bounds, or one of a costly function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

import numpy as np

from gcnlimit._values import Array

Function = Callable[[Array], tuple[Array, Array]]
_CLOSED = 4.5e-16  # distance of two bounds, over their size, between which there is hardly a number
_MOST_STEPS = 200  # of Newton's method at most; by halves alone, 60 reach the last digit


def bracketed_roots(
    function: Function, x: Array, low: Array, high: Array, tol: float = 1e-15
) -> Array:
    r"""Roots between `low` and `high` of functions that are negative below them and positive above, one for each entry.

    `function` returns values and slopes at :math:`x`, the first guess. Newton's method; a step that leaves the bounds, or is not
    at most half the one before the last, is replaced by half of their distance. It ends with a step below
    :math:`\mathrm{tol}\,(1 + |x|)`, which leaves the square of this, or where the bounds meet. A bound may be infinite: until one
    has been found, steps are at most 1, then 2, 4, ...

    >>> a = np.array([2.0, 9.0, 1e6])
    >>> bracketed_roots(lambda x: (x**2 - a, 2.0 * x), np.ones(3), np.zeros(3), np.full(3, np.inf)).round(9)
    array([   1.41421356,    3.        , 1000.        ])
    """
    last = before_last = high - low
    reach = 1.0
    done = np.zeros(np.shape(x), bool)
    open_ended = np.isinf(last).any()
    for _ in range(_MOST_STEPS):
        value, slope = function(x)
        # every value narrows the bounds, also that of a step that was too long
        low, high = np.where(value < 0.0, x, low), np.where(value < 0.0, high, x)
        size = np.abs(x)
        with np.errstate(over="ignore", invalid="ignore"):
            step = value / np.maximum(slope, 1e-300)
            middle = np.sinh(0.5 * (np.arcsinh(low) + np.arcsinh(high)))  # of decades, if far apart
        small = np.abs(step) <= tol * (1.0 + size)
        unbounded = open_ended and np.isinf(high - low)
        if open_ended:  # outwards in growing steps: Newton's may be huge where the function is flat
            step = np.where(unbounded, np.clip(step, -reach, reach), step)
            reach *= 2.0
        moved = x - step
        # the second condition: else it may creep, or jump to and fro between the bounds
        inside = (moved >= low) & (moved <= high) & (np.abs(step) <= 0.5 * before_last)
        moved = np.where(small | inside | unbounded, moved, middle)
        before_last, last = last, np.abs(moved - x)
        x = np.where(done, x, moved)
        done = done | small | (high - low <= _CLOSED * size)
        if done.all():
            break
    return x


def first_root(
    function: Callable[[float], float],
    intervals: Iterable[tuple[float, float]],
    xtol: float = 1e-15,
    rtol: float = 1e-15,
) -> float | None:
    """Root of a function in the first interval at whose ends its signs differ, by Brent's method; None if there is none.

    >>> first_root(lambda x: x**3 - 27.0, ((-reach, reach) for reach in (1.0, 2.0, 4.0)))
    3.0
    """
    from scipy.optimize import brentq  # slow to import, and rarely needed

    # a costly function: the end of one interval is that of the next
    value = functools.cache(function)
    for low, high in intervals:
        if value(low) * value(high) <= 0.0:
            return float(brentq(value, low, high, xtol=xtol, rtol=rtol))
    return None
