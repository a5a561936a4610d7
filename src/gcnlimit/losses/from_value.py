r"""Derivatives and proximal operator of a loss that is known by its value alone.

The loss is interpolated on Chebyshev nodes of a window of width 1 around each point, on one side of a kink: a function that is
smooth on a scale of 1 then has its first derivative to about 13 digits, its second to about 12.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array

_WINDOW = 0.5  # half the width
_NODES = np.cos(np.pi * (np.arange(13) + 0.5) / 13)
_SERIES = np.linalg.inv(np.polynomial.chebyshev.chebvander(_NODES, 12))  # from values to Chebyshev coefficients


def derivatives(
    value: Callable[[Array], Array], kinks: tuple[float, ...], z: Array, piece: npt.NDArray[np.intp]
) -> tuple[Array, Array]:
    r"""First two derivatives of `value` at `z`, which lies on the given `piece` of the line cut at the `kinks`.

    >>> slope, curvature = derivatives(np.exp, (), np.array([0.0, 2.0]), np.array([0, 0]))
    >>> bool(np.allclose(slope, np.exp([0.0, 2.0]), rtol=1e-12)), bool(np.allclose(curvature, slope, rtol=1e-11))
    (True, True)
    """
    edges = np.concatenate([[-np.inf], kinks, [np.inf]])
    low, high = edges[piece], edges[piece + 1]
    width = np.minimum(_WINDOW, 0.5 * (high - low))
    centre = np.clip(z, low + width, high - width)
    sampled = value(centre[..., None] + width[..., None] * _NODES)
    first = np.polynomial.chebyshev.chebder(_SERIES @ np.moveaxis(sampled, -1, 0).reshape(13, -1))
    second = np.polynomial.chebyshev.chebder(first)
    place = ((z - centre) / width).reshape(-1)
    slope, curvature = (
        np.polynomial.chebyshev.chebval(place, c, tensor=False).reshape(z.shape) for c in (first, second)
    )
    return slope / width, curvature / width**2


def prox(
    slopes: Callable[[Array, Any], tuple[Array, Array]], kinks: tuple[float, ...], omega: Array, v: Array
) -> Array:
    r"""Root :math:`x` of :math:`F(x) = x - \omega + v\ell'(x)`, by Newton's method between bounds.

    `slopes` gives the derivatives of the loss at a point of a piece between kinks. Where :math:`F` jumps through 0 at a kink,
    the kink is the answer. Elsewhere the root lies between any point :math:`x_0` of its piece and
    :math:`\omega - v\ell'(x_0)`, since :math:`\ell'` increases; steps that leave these bounds, or do not shrink, halve them.
    """
    omega, v = np.broadcast_arrays(omega, v)
    piece, corner = np.zeros(omega.shape, np.intp), np.full(omega.shape, np.nan)
    for k, z in enumerate(kinks):
        before, after = (z - omega + v * slopes(np.asarray(z), k + side)[0] for side in (0, 1))
        piece += after < 0.0
        corner = np.where((before <= 0.0) & (after >= 0.0), z, corner)
    edges = np.concatenate([[-np.inf], kinks, [np.inf]])
    low, high = edges[piece], edges[piece + 1]
    x = np.clip(omega, low, high)
    end = omega - v * slopes(x, piece)[0]
    low, high = np.maximum(low, np.minimum(x, end)), np.minimum(high, np.maximum(x, end))
    done, last, before_last = ~np.isnan(corner), high - low, high - low
    for _ in range(200):
        slope, curvature = slopes(x, piece)
        F = x - omega + v * slope
        low, high = np.where(F < 0.0, x, low), np.where(F < 0.0, high, x)
        step = F / (1.0 + v * np.maximum(curvature, 0.0))
        small = np.abs(step) <= 1e-8 * (1.0 + np.abs(x))  # the next error is rounding
        inside = (x - step >= low) & (x - step <= high) & (np.abs(step) <= 0.5 * before_last)
        after = np.where(small | inside, x - step, 0.5 * (low + high))
        before_last, last = last, np.abs(after - x)
        x, done = np.where(done, x, after), done | small
        if done.all():
            break
    return np.where(np.isnan(corner), x, corner)
