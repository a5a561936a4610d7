"""The continuous network."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ive

from gcnlimit._validation import Array, Parameter, real
from gcnlimit.errors import ParameterError
from gcnlimit.filters.base import Chain, Filter

__all__ = ["Diffusion"]


@dataclass(frozen=True, eq=False)
class Diffusion(Filter):
    r"""Continuous network, diffusion on the graph during time :math:`t`: :math:`g(x) = e^{tx}`.

    It is the limit of infinitely many layers with :math:`c_k = K/t`. Negative times suit heterophilic graphs.

    Examples
    --------
    >>> float(Diffusion(t=2.0)(0.5)) == math.e
    True
    >>> Diffusion(t=2.0).chain(accuracy=1e-12, radius=2.0).depth
    27
    """

    parameter = "t"
    t: Parameter

    def __post_init__(self) -> None:
        object.__setattr__(self, "t", real("t", self.t))

    def nodes(self) -> npt.NDArray[np.int64]:
        r"""Length of the Chebyshev series of :math:`e^{4tx}`."""
        z = 8.0 * np.abs(self.t)
        return np.asarray(np.ceil(np.minimum(np.sqrt(90.0 * z), z) + 0.15 * z + 28.0), np.int64)

    def layers(self, *, accuracy: float = 1e-12, radius: npt.ArrayLike = 2.0) -> npt.NDArray[np.int64]:
        """Length of the exponential series."""
        return _exponential_length(np.abs(self.t) * np.asarray(radius, float), accuracy)

    def _value(self, x: Array) -> Array:
        return np.asarray(np.exp(np.multiply.outer(self.t, x)))

    def scaled(self, x: Array) -> Array:
        """Exponential of what is below the largest exponent."""
        exponent = np.asarray(self.t)[..., None] * x
        return np.asarray(np.exp(exponent - np.max(exponent, axis=-1, keepdims=True)))

    def chain(self, *, accuracy: float = 1e-12, radius: npt.ArrayLike = 2.0, center: npt.ArrayLike = 0.0) -> Chain:
        r"""Taylor series :math:`e^{t x_0} \sum_k t^k (x - x_0)^k / k!` about `center` :math:`x_0`."""
        t, center, radius = np.broadcast_arrays(
            np.asarray(self.t), np.asarray(center, float), np.asarray(radius, float)
        )
        depth = int(np.max(_exponential_length(np.abs(t) * (radius + np.abs(center)), accuracy)))
        b = t[..., None] / np.arange(1, depth + 1)
        c = -b * center[..., None]
        return Chain(b, c, np.broadcast_to(np.exp(np.maximum(t * center, -700.0))[..., None], (*t.shape, depth + 1)))

    def apply(
        self, operator: Any, block: npt.NDArray[Any], *, radius: float | None = None, accuracy: float = 1e-12
    ) -> npt.NDArray[Any]:
        r"""Chebyshev series on :math:`[-R, R]` if `radius` :math:`R` is known, else Taylor series to convergence."""
        self._single()
        t = float(self.t)
        if t == 0.0:
            return np.array(block)
        if radius is None:
            return _exponential_taylor(operator, block, t, accuracy)
        return _exponential_chebyshev(operator, block, t, radius, accuracy)


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
    return np.asarray(np.ceil(length), np.int64)


def _exponential_chebyshev(
    operator: Any, block: npt.NDArray[Any], t: float, radius: float, accuracy: float
) -> npt.NDArray[Any]:
    r""":math:`e^{ta} = I_0(tR) + 2 \sum_k I_k(tR)\, T_k(a/R)`, cut where the rest is below `accuracy` times :math:`e^{|t|R}`."""
    z = abs(t) * radius
    weights = ive(np.arange(int(_exponential_length(z, accuracy)) + 1), z)
    rest = 2 * np.cumsum(weights[::-1])[::-1]
    weights = weights[: max(2, int(np.searchsorted(-rest, -accuracy)) + 1)] * math.exp(z)
    scale = block.dtype.type(math.copysign(1.0, t) / radius)
    before, here = block, scale * (operator @ block)
    total = block.dtype.type(weights[0]) * before + block.dtype.type(2 * weights[1]) * here
    for weight in weights[2:]:
        before, here = here, 2 * scale * (operator @ here) - before
        total += block.dtype.type(2 * weight) * here
    return np.asarray(total)


def _exponential_taylor(operator: Any, block: npt.NDArray[Any], t: float, accuracy: float) -> npt.NDArray[Any]:
    """Taylor series, summed until two terms in a row are negligible."""
    term, total, small = block, block.copy(), 0
    for k in range(1, 10_000):
        term = block.dtype.type(t / k) * (operator @ term)
        total += term
        small = small + 1 if np.linalg.norm(term) <= accuracy * np.linalg.norm(total) else 0
        if small == 2:
            return total
    raise ParameterError(f"t = {t:g} is too large for this operator: the series of the exponential did not converge")
