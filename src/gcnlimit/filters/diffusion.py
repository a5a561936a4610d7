"""The continuous network."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammainc

from gcnlimit._values import Array, Parameter
from gcnlimit.filters.action import Block, series_sum
from gcnlimit.filters.base import Filter, SearchScale
from gcnlimit.filters.chain import Chain

_LONGEST = 1e5  # of |t| times the spectral radius, about the number of terms


@dataclass(frozen=True, eq=False, init=False)
class Diffusion(Filter):
    r"""Continuous network, diffusion on the graph during time :math:`t`: :math:`g(x) = e^{tx}`.

    It is the limit of infinitely many layers with :math:`c_k = K/t`. Negative times suit heterophilic graphs.

    Parameters
    ----------
    t
        The diffusion time.

    Examples
    --------
    >>> float(Diffusion(t=2.0)(0.5)) == math.e
    True
    >>> Diffusion(t=2.0).chain(accuracy=1e-12, radius=2.0).depth
    25
    """

    parameter = "t"
    scale = SearchScale(largest=200.0, per_radius=True)
    t: Parameter

    def __init__(self, t: npt.ArrayLike) -> None:
        self._store(t)

    def quadrature_nodes(self) -> npt.NDArray[np.int64]:
        r"""Length of the Chebyshev series of :math:`e^{4tx}`."""
        z = 8.0 * np.abs(self.t)
        return np.asarray(np.ceil(np.minimum(np.sqrt(90.0 * z), z) + 0.15 * z + 28.0), np.int64)

    def layers(self, *, accuracy: float = 1e-12, radius: npt.ArrayLike = 2.0) -> npt.NDArray[np.int64]:
        """Length of the exponential series."""
        return _exponential_length(np.abs(self.t) * np.asarray(radius, float), accuracy)

    def defined(self, radius: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        r"""Where :math:`|t| R` does not need too long a series."""
        return np.asarray(~(np.abs(self.t) * np.asarray(radius, float) > _LONGEST))

    def why_undefined(self, value: float, radius: float) -> str:
        """Sentence that names the longest time."""
        return (
            f"t = {value:g} is not allowed on a spectrum of radius {radius:.6g}: its series has too many terms; |t| must be "
            f"at most {_LONGEST / radius:.6g} (gcnlimit.limits has the limit of long times)"
        )

    def normalized(self, x: Array) -> tuple[Array, Array]:
        """Exponential of the exponent less its largest value."""
        exponent = np.asarray(self.t)[..., None] * x
        largest = np.max(exponent, axis=-1)
        return np.exp(exponent - largest[..., None]), largest

    def chain(self, *, accuracy: float = 1e-12, radius: npt.ArrayLike = 2.0, center: npt.ArrayLike = 0.0) -> Chain:
        r"""Taylor series :math:`e^{t x_0} \sum_k t^k (x - x_0)^k / k!` about `center` :math:`x_0`."""
        t, center, radius = np.broadcast_arrays(
            np.asarray(self.t), np.asarray(center, float), np.asarray(radius, float)
        )
        depth = int(np.max(_exponential_length(np.abs(t) * (radius + np.abs(center)), accuracy)))
        b = t[..., None] / np.arange(1, depth + 1)
        c = -b * center[..., None]
        return Chain(b, c, np.broadcast_to(np.exp(np.maximum(t * center, -700.0))[..., None], (*t.shape, depth + 1)))

    def directed_chain(self, signal: Array, *, accuracy: float = 1e-18) -> Chain:
        r"""Series about :math:`\lambda` where :math:`\lambda t < 0`: every term is then positive, and nothing cancels."""
        center = np.where(signal * self.t < 0.0, signal, 0.0)
        return self.chain(accuracy=accuracy, radius=np.maximum(1.0, np.abs(signal)), center=center)

    def series(self, operator: Any, block: Block, accuracy: float, shape: tuple[int, ...]) -> Block:
        """Taylor series, summed to convergence."""
        t = np.asarray(self.t).reshape(shape)
        return series_sum(t, lambda k: 1.0 / k, operator, block, accuracy, "t")


def _exponential_length(radius: npt.ArrayLike, accuracy: float) -> npt.NDArray[np.int64]:
    r"""Number of terms after which the rest of :math:`\sum R^k/k!` is below `accuracy` times :math:`e^R`.

    It is where the Chernoff bound of the Poisson tail, :math:`K \log(K/R) - K + R`, reaches `-log(accuracy)`;
    Newton's method comes down to it from Bernstein's bound.
    """
    R = np.maximum(np.asarray(radius, float), 1e-300)
    wanted = -math.log(accuracy)
    length = R + np.sqrt(2 * R * wanted) + 2 * wanted / 3
    for _ in range(6):
        slope = np.log(length / R)
        length = length - (length * slope - length + R - wanted) / slope
    length = np.ceil(length)
    for _ in range(8):  # the bound is safe by a few terms; the tail itself is an incomplete gamma function
        shorter = (gammainc(length, R) <= accuracy) & (length > 1.0)
        if not shorter.any():
            break
        length = length - shorter
    return np.asarray(length, np.int64)
