"""Filters that are infinite series: the continuous network and personalized PageRank."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from gcnlimit._validation import reals, tolerance
from gcnlimit._values import Array, Parameter
from gcnlimit.filters.action import Block, Shape, Whole, series_sum
from gcnlimit.filters.base import Averages, Filter, SearchScale, to_unit
from gcnlimit.filters.chain import Chain

_LONGEST = 1e5  # of |t| times the spectral radius, about the number of terms


@dataclass(frozen=True, eq=False, init=False)
class Diffusion(Filter):
    r"""Continuous network, diffusion on the graph for a time :math:`t`: :math:`g(x) = e^{tx}`.

    It is the limit of infinitely many layers with :math:`c_k = K/t`. Negative times suit heterophilic graphs.

    Parameters
    ----------
    t
        The diffusion time.

    Examples
    --------
    >>> float(Diffusion(t=2.0)(0.5)) == math.e
    True
    """

    parameter = "t"
    scale = SearchScale(largest=200.0, per_radius=True)
    t: Parameter

    def __init__(self, t: npt.ArrayLike) -> None:
        self._store(t)

    def quadrature_nodes(self) -> Whole:
        r"""Length of the Chebyshev series of :math:`e^{4tx}`."""
        z = 8.0 * np.abs(self.t)
        return np.asarray(np.ceil(np.minimum(np.sqrt(90.0 * z), z) + 0.15 * z + 28.0), np.int64)

    def layers(self, *, accuracy: float = 1e-12, radius: npt.ArrayLike = 2.0) -> Whole:
        return _exponential_length(np.abs(self.t) * reals("radius", radius), accuracy)

    def defined(self, radius: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        r"""Where :math:`|t| R` does not need too long a series."""
        return np.asarray(~(np.abs(self.t) * reals("radius", radius) > _LONGEST))

    def why_undefined(self, value: float, radius: float) -> str:
        refused = super().why_undefined(value, radius)
        most = f"|t| must be at most {_LONGEST / radius:.6g}"
        limits = "gcnlimit.limits has the limit of long times"
        return f"{refused}: its series has too many terms; {most} ({limits})"

    def normalized(self, x: Array) -> tuple[Array, Array]:
        """Exponential of the exponent minus its largest value."""
        exponent = np.asarray(self.t)[..., None] * x
        largest = np.max(exponent, axis=-1)
        return np.exp(exponent - largest[..., None]), largest

    def chain(
        self, *, accuracy: float = 1e-12, radius: npt.ArrayLike = 2.0, center: npt.ArrayLike = 0.0
    ) -> Chain:
        r"""Taylor series :math:`e^{t x_0} \sum_k t^k (x - x_0)^k / k!` about `center` :math:`x_0`."""
        t, center, radius = np.broadcast_arrays(self.t, center, reals("radius", radius))
        depth = int(np.max(_exponential_length(np.abs(t) * (radius + np.abs(center)), accuracy)))
        b = t[..., None] / np.arange(1, depth + 1)
        c = -b * center[..., None]
        size = np.exp(np.maximum(t * center, -700.0))
        return Chain(b, c, np.broadcast_to(size[..., None], (*t.shape, depth + 1)))

    def center(self, signal: Array) -> Array:
        r"""Signal :math:`\lambda` where :math:`\lambda t < 0`: every term is then positive, and nothing cancels."""
        return np.where(signal * self.t < 0.0, signal, 0.0)

    def directed_chain(self, signal: Array, *, accuracy: float = 1e-18) -> Chain:
        radius, center = np.maximum(1.0, np.abs(signal)), self.center(signal)
        return self.chain(accuracy=accuracy, radius=radius, center=center)

    def series(self, operator: Any, block: Block, accuracy: float, shape: Shape) -> Block:
        t = np.asarray(self.t).reshape(shape)
        return series_sum(t, lambda k: 1.0 / k, operator, block, accuracy, "t")


def _exponential_length(radius: npt.ArrayLike, accuracy: float) -> Whole:
    r"""Number of terms after which the rest of :math:`\sum R^k/k!` is below `accuracy` times :math:`e^R`.

    It is where the Chernoff bound of the Poisson tail, :math:`K \log(K/R) - K + R`, reaches `-log(accuracy)`;
    Newton's method comes down to it from Bernstein's bound.
    """
    R = np.maximum(reals("radius", radius), 1e-300)
    wanted = -math.log(tolerance("accuracy", accuracy))
    length = R + np.sqrt(2 * R * wanted) + 2 * wanted / 3
    for _ in range(6):
        slope = np.log(length / R)
        length = length - (length * slope - length + R - wanted) / slope
    length = np.ceil(length)
    # The bound is safe by a few terms; the tail itself is an incomplete gamma function.
    for _ in range(8):
        shorter = (scipy.special.gammainc(length, R) <= accuracy) & (length > 1.0)
        if not shorter.any():
            break
        length = length - shorter
    return np.asarray(length, np.int64)


@dataclass(frozen=True, eq=False, init=False)
class PageRank(Filter):
    r"""Personalized PageRank (APPNP): :math:`g(x) = 1/(1 - \theta x)`.

    Its series :math:`\sum_k \theta^k x^k` converges if :math:`|\theta|` times the spectral radius of the operator, spike
    included, is below 1; since that radius is at least 1, so must be :math:`|\theta|`.

    Parameters
    ----------
    theta
        The weight :math:`\theta` of a step.

    Examples
    --------
    >>> float(PageRank(theta=0.25)(2.0))
    2.0
    """

    parameter = "theta"
    scale = SearchScale(np.arctanh, np.tanh, math.tanh(5.0), per_radius=True, strict=True)
    theta: Parameter

    def __init__(self, theta: npt.ArrayLike) -> None:
        self._store(theta)
        self.check_radius(1.0)

    def quadrature_nodes(self) -> Whole:
        r"""Length of the Chebyshev series of :math:`(1-\theta x)^{-4}`, from the distance of its pole to the spectrum."""
        theta = np.minimum(np.abs(self.theta), 0.5 - 1e-9)
        rate = np.arccosh(0.5 / np.maximum(theta, 1e-8))
        return np.asarray(np.ceil(45.0 / rate + 24.0), np.int64)

    def layers(self, *, accuracy: float = 1e-12, radius: npt.ArrayLike = 2.0) -> Whole:
        return _geometric_length(np.abs(self.theta) * reals("radius", radius), accuracy)

    def defined(self, radius: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        r"""Where :math:`|\theta| R < 1`."""
        return np.asarray(~(np.abs(self.theta) * reals("radius", radius) >= 1.0))

    def why_undefined(self, value: float, radius: float) -> str:
        wide = f"a spectrum of radius {radius:.6g}; |theta| must be below {1 / radius:.6g}"
        return f"theta = {value:g} is not allowed: the PageRank series diverges on {wide}"

    def normalized(self, x: Array) -> tuple[Array, Array]:
        return to_unit(1.0 / (1.0 - np.asarray(self.theta)[..., None] * x))

    def log_gain(self, symmetric: bool) -> Array:
        r"""Closed on a directed graph: :math:`\tau(gg^T) = 1/(1 - \theta^2)`."""
        if symmetric:
            return super().log_gain(symmetric)
        return np.asarray(-0.5 * np.log1p(-(self.values**2)))

    def chain(self, *, accuracy: float = 1e-12, radius: npt.ArrayLike = 2.0) -> Chain:
        r"""Geometric series: :math:`b_k = \theta`, read out with ones."""
        self.check_radius(radius)
        theta, radius = np.broadcast_arrays(self.theta, reals("radius", radius))
        depth = int(np.max(_geometric_length(np.abs(theta) * radius, accuracy)))
        b = np.broadcast_to(theta[..., None], (*theta.shape, depth))
        return Chain(b, np.zeros_like(b), np.ones((*theta.shape, depth + 1)))

    def series(self, operator: Any, block: Block, accuracy: float, shape: Shape) -> Block:
        theta = np.asarray(self.theta).reshape(shape)
        return series_sum(theta, lambda k: 1.0, operator, block, accuracy, "theta")

    def directed_averages(self, signal: Array, mu: Array) -> Averages:
        r"""Geometric sums: the coefficients are :math:`g_i = \theta^i`, their tails :math:`\theta^i/(1 - \theta\lambda)`."""
        theta = np.asarray(self.theta)
        q = theta**2
        x = 1.0 - q
        y = 1.0 - theta * signal
        tail = mu / y**2 + 1.0 / (x * y**2)
        return Averages(
            tau_g2=1.0 / x,
            e_g2=1.0 / (x * y**2),
            excess=theta * signal * (1.0 + y) / (x * y**2),
            e_g=1.0 / y,
            coherent=tail**2 * q / x + q / (x**4 * y**2),
            scattered=q * (2.0 - q) / x**4,
        )


def _geometric_length(ratio: Array, accuracy: float) -> Whole:
    r"""Number of terms after which the rest of :math:`\sum q^k` is below `accuracy` times the sum."""
    rate = np.log(np.clip(ratio, 1e-300, 1.0 - 1e-12))
    return np.asarray(np.ceil(math.log(tolerance("accuracy", accuracy)) / rate), np.int64)
