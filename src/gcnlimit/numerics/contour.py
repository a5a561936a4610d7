r"""Contours around an interval of the real axis on which integrals of analytic functions converge geometrically.

A contour is its upper half, nodes :math:`z_j` and weights :math:`dz_j/2\pi i` in the counterclockwise direction; the lower half
is the complex conjugate. For a function that is real on the real axis
:math:`\oint \frac{dz}{2\pi i} f(z) = 2\,\mathrm{Re}\sum_j w_j f(z_j)`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ellipj, ellipk, ellipkm1

from gcnlimit._values import Array

_ROUNDING = 34.0  # minus the logarithm of the error of a rule: below 1e-14


class Contour(NamedTuple):
    """Nodes and weights of the upper half of a contour, for each point a row."""

    z: npt.NDArray[Any]
    weight: npt.NDArray[Any]

    def shifted(self, distance: Array) -> Contour:
        """Move the contour to the right."""
        return self._replace(z=self.z + distance[:, None])


def slit_nodes(low: Array, high: Array) -> Array:
    """Number of nodes that `slit_contour` needs."""
    ratio, elliptic = _modulus(low, high)
    rate = 0.5 * np.pi * ellipk(elliptic) / ellipkm1(elliptic)
    return np.asarray(np.ceil(_ROUNDING / rate) + 4.0 * (ratio > 0.0))


def slit_contour(low: Array, high: Array, nodes: int) -> Contour:
    r"""Contour around ``[low, high]``, ``low > 0``, for functions that are analytic and bounded where :math:`\Re z > 0`.

    The half-plane is mapped to the plane without its negative axis by the square; there the contour is the middle of the annulus
    between the two cuts, :math:`z^2 = \sqrt{mM}\,\frac{1/k + y}{1/k - y}`, :math:`y = \mathrm{sn}(x + \tfrac i2 K')` at midpoints
    :math:`x` of :math:`(-K, K)` (Hale, Higham and Trefethen 2008).

    >>> loop = slit_contour(np.array([0.1]), np.array([7.0]), 40)
    >>> np.allclose(2.0 * np.sum(loop.weight / (loop.z - [[0.2]]), axis=1).real, 1.0)  # Cauchy's formula
    True
    """
    ratio, elliptic = _modulus(low, high)
    m1 = elliptic[:, None]
    quarter = ellipkm1(m1)
    x = quarter * ((2.0 * np.arange(nodes) + 1.0) / nodes - 1.0)
    sn, cn, dn = _jacobi(x, 0.5 * ellipk(m1), m1)
    inverse = ((ratio + 1.0) / (ratio - 1.0))[:, None]
    middle = (low * high)[:, None]
    z = np.sqrt(middle * (inverse + sn) / (inverse - sn))
    slope = middle * inverse * cn * dn / ((inverse - sn) ** 2 * z)
    # x runs clockwise
    return Contour(z, -slope * (2.0 * quarter / nodes) / (2j * np.pi))


def _modulus(low: Array, high: Array) -> tuple[Array, Array]:
    r"""Ratio :math:`q` of the ends, and :math:`1 - k^2` for :math:`k = (q-1)/(q+1)`; an interval has some length."""
    ratio = np.maximum(high / low, 1.0 + 1e-6)
    return ratio, 4.0 * ratio / (ratio + 1.0) ** 2


def _jacobi(x: Array, y: Array, m1: Array) -> tuple[Array, Array, Array]:
    r"""Elliptic functions sn, cn, dn at :math:`x + iy`, of the parameter :math:`1 - m_1`."""
    s, c, d, _ = ellipj(x, 1.0 - m1)
    s1, c1, d1, _ = ellipj(y, m1)
    below = c1**2 + (1.0 - m1) * (s * s1) ** 2
    sn = (s * d1 + 1j * c * d * s1 * c1) / below
    cn = (c * c1 - 1j * s * d * s1 * d1) / below
    return sn, cn, (d * c1 * d1 - 1j * (1.0 - m1) * s * c * s1) / below


def annulus(left: Array, right: Array) -> tuple[Array, Array]:
    r"""Shift :math:`a` and radius of the circle into which :math:`(x - a)/(1 - ax)` takes that of diameter ``[-left, right]``.

    The map keeps the unit circle, so that the two circles have a common centre afterwards.

    >>> a, radius = annulus(np.array([0.2]), np.array([0.9]))
    >>> np.allclose((0.9 - a) / (1 - 0.9 * a), radius), np.allclose((0.2 + a) / (1 + 0.2 * a), radius)
    (True, True)
    """
    apart = right - left
    near = 1.0 - left * right
    shift = apart / (near + np.sqrt((near - apart) * (near + apart)))
    return shift, (right - shift) / (1.0 - shift * right)


def annulus_nodes(radius: Array) -> Array:
    """Number of nodes on the upper half of a circle between that radius and 1."""
    return np.asarray(np.ceil(-_ROUNDING / np.log(radius)))


def circle(shift: Array, radius: Array, nodes: int) -> tuple[Array, Array]:
    """Upper half of the contour between the circles of `annulus`, and the step from a node to the next."""
    angle = (np.arange(nodes) + 0.5) * (np.pi / nodes)
    w = np.sqrt(radius)[:, None] * np.exp(1j * angle)
    a = shift[:, None]
    step = (1.0 - a**2) / (1.0 + a * w) ** 2 * 1j * w * (np.pi / nodes)
    return (w + a) / (1.0 + a * w), step
