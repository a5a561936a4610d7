r"""Contours around an interval of the real axis on which integrals of analytic functions converge geometrically.

A contour is its upper half, nodes :math:`z_j` and weights :math:`dz_j/2\pi i` in the counterclockwise direction; the lower half
is the complex conjugate. For a function that is real on the real axis
:math:`\oint \frac{dz}{2\pi i} f(z) = 2\,\mathrm{Re}\sum_j w_j f(z_j)`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ellipk, ellipkm1, elliprf

from gcnlimit._values import Array

_TERMS = 60  # of a sum over the images of an ellipse that is nearly a circle
_ROUNDING = 34.0  # minus the logarithm of the error of a rule: below 1e-14


class Contour(NamedTuple):
    """Nodes and weights of the upper half of a contour, for each point a row."""

    z: npt.NDArray[Any]
    weight: npt.NDArray[Any]


def slit_nodes(low: Array, high: Array) -> Array:
    """Number of nodes that `slit_contour` needs."""
    square = _ratio(low, high) ** 2
    return np.asarray(np.ceil(_ROUNDING / np.pi * ellipkm1(square) / ellipk(square)))


def slit_contour(low: Array, high: Array, nodes: int) -> Contour:
    r"""Contour around ``[low, high]``, ``low > 0``, for functions that are analytic and bounded where :math:`\Re z > 0`.

    The half-plane without the interval is a ring, the contour its middle (13.13), :math:`z = M\,\mathrm{dn}(x - \tfrac i2 K')`
    with :math:`k' = m/M` at midpoints :math:`x` of :math:`(0, K)` (Hale, Higham and Trefethen 2008). By the sum
    :math:`\mathrm{dn}(u) = \frac\pi{2K'}\sum_j \mathrm{sech}\frac{\pi(u - 2jK)}{2K'}` its nodes keep their digits.

    >>> loop = slit_contour(np.array([0.1]), np.array([7.0]), 40)
    >>> np.allclose(2.0 * np.sum(loop.weight / (loop.z - [[0.2]]), axis=1).real, 1.0)  # Cauchy's formula
    True
    """
    square = _ratio(low, high)[:, None] ** 2
    size = 0.5 * np.pi / ellipk(square)
    period = 2.0 * ellipkm1(square) * size
    w = period * (0.5 * np.arange(nodes) + 0.25) / nodes - 0.25j * np.pi
    dn, slope = secants(w, period)
    scale = high[:, None] * size
    return Contour(scale * dn, scale * slope * period / (4j * np.pi * nodes))


def _ratio(low: Array, high: Array) -> Array:
    """Ratio of the ends; an interval has some length."""
    return np.minimum(low / high, 0.5)


def secants(w: npt.NDArray[Any], period: Array, terms: int = 10) -> tuple[Array, Array]:
    r"""Sum over :math:`|j| \leq n` of :math:`\mathrm{sech}(w - jp)`, and its derivative."""
    apart = w[..., None] - period[..., None] * np.arange(-terms, terms + 1)
    side = np.where(apart.real < 0.0, -1.0, 1.0)
    small = np.exp(-side * apart)  # underflows far away, where a hyperbolic cosine overflows
    above = 1.0 + small**2
    secant = 2.0 * small / above
    return np.sum(secant, axis=-1), np.sum(side * secant * (1.0 - 2.0 / above), axis=-1)


class EllipseMap(NamedTuple):
    r"""Map of the ellipses :math:`-\cos\varphi`, :math:`|\Im\varphi| < a`, onto the half-plane :math:`\Re v > 0`.

    It is :math:`v = 1/\mathrm{dn}(K\varphi/\pi)` with :math:`K'/K = a/\pi`, which is even about both ends of :math:`(0, \pi)`.
    """

    a: Array

    def __call__(self, cosine: Array) -> Array:
        """Numbers v at real cosines."""
        return np.asarray((self._sum(np.arccos(cosine + 0j)) / self._sum(0.0 * self.a)).real)

    def _sum(self, angle: Array) -> Array:
        unit = 0.5 * np.pi / self.a
        return secants(unit * (angle - np.pi), 2.0 * np.pi * unit, _TERMS)[0]

    def inverse(self, v: npt.NDArray[Any]) -> tuple[Array, Array]:
        r"""Numbers :math:`\varphi` at v in the first quadrant, and their derivatives."""
        whole = self._sum(np.full_like(self.a, np.pi))
        least = (self._sum(0.0 * self.a) / whole)[:, None] ** 2
        scale = (2.0 * self.a / (np.pi * whole))[:, None]
        square = v**-2.0
        sine, cosine = 1.0 - square, square - least
        u = np.sqrt(sine / (1.0 - least)) * elliprf(cosine / (1.0 - least), square, 1.0)
        return scale * u, scale * square / (np.sqrt(sine) * np.sqrt(cosine))
