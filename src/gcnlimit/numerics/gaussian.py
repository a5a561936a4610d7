r"""Averages over one Gaussian variable, and its quantiles.

The trapezoid rule on :math:`\pm 8.5\sigma` converges exponentially for smooth functions. A function with kinks is integrated
piece by piece with the Gauss-Legendre rule.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtr

from gcnlimit._values import Array

REACH = 8.5
"""Standard deviations within which a function that does not grow as fast as an exponential is averaged."""

_LEGENDRE = np.polynomial.legendre.leggauss(64)


def gaussian_grid(
    mean: Array, deviation: Array, breakpoints: Array | None = None, reach: float = REACH
) -> tuple[Array, Array]:
    r"""Nodes and weights, one row per variable, for averages over :math:`\mathcal N(mean, deviation^2)`.

    `breakpoints`, where the function has kinks, are of shape (kinks, variables); a function without any is assumed to vary on a
    scale of 1, however large the deviation. Nodes are within `reach` deviations.

    >>> x, w = gaussian_grid(np.array([1.0]), np.array([2.0]))
    >>> bool(abs(np.sum(w * np.cos(x)) - np.cos(1.0) * np.exp(-2.0)) < 1e-15)
    True
    """
    mean, deviation = mean[:, None], deviation[:, None]
    if breakpoints is None:
        largest = float(np.max(deviation, initial=0.0))
        unit, weight = _trapezoid(max(15, math.ceil(15.0 * largest * reach / REACH)), reach)
        return mean + deviation * unit, np.broadcast_to(weight, (mean.size, weight.size))
    # ends of the pieces in units of the deviation, one row per variable
    inner = np.sort(np.clip((breakpoints.T - mean) / deviation, -reach, reach), axis=1)
    edges = np.pad(inner, ((0, 0), (1, 1)), constant_values=(-reach, reach))
    unit, length = legendre_grid(edges)
    return mean + deviation * unit, length * np.exp(-0.5 * unit**2) / math.sqrt(2.0 * math.pi)


def legendre_grid(edges: Array) -> tuple[Array, Array]:
    """Nodes and weights, one row for each row of rising edges, of the Gauss-Legendre rule between them."""
    node, weight = _LEGENDRE
    low, high = edges[:, :-1], edges[:, 1:]
    some = np.any(low < high, axis=0)  # of the pieces are within reach
    half, middle = (0.5 * part[:, some, None] for part in (high - low, high + low))
    x, length = middle + half * node, half * weight
    return x.reshape(len(edges), -1), length.reshape(len(edges), -1)


@lru_cache(maxsize=64)
def _trapezoid(half: int, reach: float) -> tuple[Array, Array]:
    unit = np.linspace(-reach, reach, 2 * half + 1)
    weight = np.exp(-0.5 * unit**2)
    return unit, weight / weight.sum()


def normal_deviate(quotient: Array, freedom: Array | float) -> Array:
    """Normal deviate of the same probability as a quotient by Student's law; infinite freedom leaves it as it is.

    >>> normal_deviate(np.array([-12.706, 1.96]), np.array([1.0, np.inf])).round(2)
    array([-1.96,  1.96])
    """
    deviate = -np.sign(quotient) * ndtri(stdtr(freedom, -np.abs(quotient)))
    return np.where(np.isinf(freedom), quotient, deviate)


def roc_area(scores: Array, kinds: npt.NDArray[np.integer]) -> float:
    """Area under the ROC curve: how likely a score of group 0 exceeds one of group 1, a tie counted half; NaN without either."""
    first = np.sort(scores[kinds == 0])  # sorted numbers are found faster
    second = np.sort(scores[kinds == 1])
    if not (first.size and second.size):
        return float("nan")
    below = np.searchsorted(second, first, "left") + np.searchsorted(second, first, "right")
    return float(np.mean(below) / (2.0 * second.size))
