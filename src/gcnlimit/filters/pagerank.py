"""Personalised PageRank."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array, Parameter
from gcnlimit.filters.action import Block, series_sum
from gcnlimit.filters.base import Averages, Filter, SearchScale, to_unit
from gcnlimit.filters.chain import Chain


@dataclass(frozen=True, eq=False, init=False)
class PageRank(Filter):
    r"""Personalised PageRank (APPNP): :math:`g(x) = 1/(1 - \theta x)`.

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
    scale = SearchScale(to=np.arctanh, back=np.tanh, largest=math.tanh(5.0), per_radius=True, strict=True)
    theta: Parameter

    def __init__(self, theta: npt.ArrayLike) -> None:
        self._store(theta)
        self.check_radius(1.0)

    def quadrature_nodes(self) -> npt.NDArray[np.int64]:
        r"""Length of the Chebyshev series of :math:`(1-\theta x)^{-4}`, from the distance of its pole to the spectrum."""
        theta = np.minimum(np.abs(self.theta), 0.5 - 1e-9)
        rate = np.arccosh(0.5 / np.maximum(theta, 1e-8))
        return np.asarray(np.ceil(45.0 / rate + 24.0), np.int64)

    def layers(self, *, accuracy: float = 1e-12, radius: npt.ArrayLike = 2.0) -> npt.NDArray[np.int64]:
        """Length of the geometric series."""
        return _geometric_length(np.abs(self.theta) * np.asarray(radius, float), accuracy)

    def defined(self, radius: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        r"""Where :math:`|\theta| R < 1`."""
        return np.asarray(~(np.abs(self.theta) * np.asarray(radius, float) >= 1.0))

    def why_undefined(self, value: float, radius: float) -> str:
        """Sentence that names the largest strength."""
        return (
            f"theta = {value:g} is not allowed: the PageRank series diverges on a spectrum of radius {radius:.6g}; "
            f"|theta| must be below {1 / radius:.6g}"
        )

    def normalized(self, x: Array) -> tuple[Array, Array]:
        """Values over the largest magnitude."""
        return to_unit(1.0 / (1.0 - np.asarray(self.theta)[..., None] * x))

    def log_gain(self, symmetric: bool) -> Array:
        r"""Closed on a directed graph: :math:`\tau(gg^T) = 1/(1 - \theta^2)`."""
        return super().log_gain(symmetric) if symmetric else np.asarray(-0.5 * np.log1p(-(self.values**2)))

    def chain(self, *, accuracy: float = 1e-12, radius: npt.ArrayLike = 2.0) -> Chain:
        r"""Geometric series: :math:`b_k = \theta`, read out with ones."""
        self.check_radius(radius)
        theta, radius = np.broadcast_arrays(np.asarray(self.theta), np.asarray(radius, float))
        depth = int(np.max(_geometric_length(np.abs(theta) * radius, accuracy)))
        b = np.broadcast_to(theta[..., None], (*theta.shape, depth))
        return Chain(b, np.zeros_like(b), np.ones((*theta.shape, depth + 1)))

    def series(self, operator: Any, block: Block, accuracy: float, shape: tuple[int, ...]) -> Block:
        """Geometric series, summed to convergence."""
        theta = np.asarray(self.theta).reshape(shape)
        return series_sum(theta, lambda k: 1.0, operator, block, accuracy, "theta")

    def directed_averages(self, signal: Array, mu: Array) -> Averages:
        r"""Geometric sums: the coefficients are :math:`g_i = \theta^i`, their tails :math:`\theta^i/(1 - \theta\lambda)`."""
        theta = np.asarray(self.theta)
        q = theta**2
        x, y = 1.0 - q, 1.0 - theta * signal
        tail = mu / y**2 + 1.0 / (x * y**2)
        return Averages(
            tau_g2=1.0 / x,
            e_g2=1.0 / (x * y**2),
            excess=theta * signal * (1.0 + y) / (x * y**2),
            e_g=1.0 / y,
            coherent=tail**2 * q / x + q / (x**4 * y**2),
            scattered=q * (2.0 - q) / x**4,
        )


def _geometric_length(ratio: Array, accuracy: float) -> npt.NDArray[np.int64]:
    r"""Number of terms after which the rest of :math:`\sum q^k` is below `accuracy` times the sum."""
    return np.asarray(np.ceil(math.log(accuracy) / np.log(np.clip(ratio, 1e-300, 1.0 - 1e-12))), np.int64)
