r"""Integrals over contours around an interval of the real axis, of functions that are analytic in a ring about it.

Nodes are those of the upper half; functions are real on the real axis, so that the lower half is the complex conjugate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.fft import dct, dst
from scipy.special import ellipj, ellipkm1

from gcnlimit._values import Array


class Contour(NamedTuple):
    r"""Nodes, and weights with which :math:`\oint\frac{dz}{2\pi i}f(z)` is the real part of a sum; a row for each point.

    With points of the interval, and half length and width of ellipses, NaN of drops.
    """

    z: Array
    weight: Array
    within: Array
    half: Array
    width: Array

    def pierced(self, values: Array) -> Array:
        r"""How far :math:`\oint\frac{f(z)}{z - x}` is from 1: not at all if functions, 1 at infinity, are analytic without."""
        away = self.z[:, None] - self.within[..., None]
        far = np.sum((self.weight * values)[:, None] / away, axis=2)
        return np.asarray(np.max(np.abs(far.real - 1.0), axis=1))

    def crossed(self, f: Array, g: Array) -> tuple[Array, Array]:
        r"""Integrals :math:`\oint g`, :math:`\oint\oint \frac{f(z_1)g(z_2) - f(z_2)g(z_1)}{z_1 - z_2}`, with :math:`dz/2\pi i`.

        For each row of values, on one contour. On an outer one :math:`\oint f(z_1)/(z_1 - z_2) = f_+(z_2)`, which leaves
        :math:`\oint (f_+g_- - f_-g_+)`, on ellipses sums of coefficients. Else :math:`z_1` is at every other node and at the
        conjugates of the rest, and :math:`z_2` at the conjugates of these.

        >>> one = np.ones((1, 1))
        >>> for loop in (ellipse(1.5 * one, 0.5 * one, 0.5 * one, 80), drop(one, 2 * one, 0.1 * one, 0.2 * one, 80)):
        ...     once, twice = loop.crossed(loop.z**3, 1.0 / (loop.z - 1.2))
        ...     np.allclose([once, twice], [[1.0], [1.2**3]])  # Cauchy's formula
        True
        True
        """
        if np.isnan(self.half[0, 0]):
            odd = np.arange(self.z.shape[1]) % 2 == 1
            parts = (self.z, f * self.weight, g * self.weight)
            z, f, g = (np.where(odd, x.conj(), x) for x in parts)
            apart = 1.0 / np.subtract.outer(z[0], z[0].conj())
            return np.sum(g, axis=1).real, 2.0 * np.sum(f * (g.conj() @ apart.T), axis=1).real
        (F, below), (G, outside) = self._series(f), self._series(g)
        twice = np.vecdot(F[:, :-2] - F[:, 2:], outside[:, 1:-1])
        twice -= np.vecdot(G[:, :-2] - G[:, 2:], below[:, 1:-1])
        half = 0.5 * self.half[:, 0]
        return half * outside[:, 1], half * twice

    def _series(self, values: Array) -> tuple[Array, Array]:
        r"""Coefficients of functions :math:`f_+ + f_-` on an ellipse, with :math:`w = e^{\gamma + i\vartheta}`.

        Those of :math:`f_+ = F_0 + \sum_k F_k(w^k + w^{-k})`, analytic within, and of :math:`f_- = \sum_{k>0} D_kw^{-k}`.
        """
        nodes = values.shape[1]
        even, odd = dct(values.real, axis=1), np.zeros(values.shape)
        odd[:, 1:] = dst(values.imag, axis=1)[:, :-1]
        scale = np.exp(-self.width * np.arange(nodes)) / (2 * nodes)
        inside = scale * (even + odd)
        return inside, (even - odd) / (scale * (2 * nodes) ** 2) - inside


def ellipse(centre: Array, half: Array, width: Array, nodes: int) -> Contour:
    r"""Ellipses :math:`z = c + h\cosh(\gamma + i\vartheta)`, whose foci are the ends :math:`c \pm h` of the interval (Eq. 13.13).

    A rule of :math:`n` nodes has the error :math:`e^{-2n\gamma}` of functions that are singular on the interval.
    """
    w = width + 1j * np.pi * (np.arange(nodes) + 0.5) / nodes
    within = centre + half * np.array([-0.9, 0.0, 0.9])
    return Contour(centre + half * np.cosh(w), half * np.sinh(w) / nodes, within, half, width)


def drop(low: Array, high: Array, shift: Array, bend: Array, nodes: int) -> Contour:
    r"""Contours around `low` to `high` in a half plane that begins at 0, or in a disc of diameter :math:`1/b`, moved by -`shift`.

    They are in the middle of the ring between the two (Eq. 13.14); nodes are dense where the half plane, or disc, is near. The
    error of :math:`n` nodes falls as :math:`e^{-\pi K'n/2K}`: the logarithm of the ratio of the ends counts.
    """
    within = low * (high / low) ** np.array([0.05, 0.5, 0.95]) - shift
    low, high = (end / (1.0 - bend * end) for end in (low, high))
    k, left = (high - low) / (high + low), 2.0 * low / (high + low)  # which is 1 - k
    quarter = ellipkm1(left * (1.0 + k))
    s, c, d, _ = ellipj(quarter * ((2 * np.arange(nodes) + 1) / nodes - 1.0), k**2)
    # k sn(xi + iK'/2), on a circle, and its derivative, divided by -i
    y = np.sqrt(k) * ((1.0 + k) * s + 1j * c * d) / (1.0 + k * s**2)
    slope = (1.0 + k) * (left + k * c**2) / (1.0 + k * s**2) * y
    x = np.sqrt(low * high * (1.0 + y) / (1.0 - y))
    bent = 1.0 + bend * x
    weight = 2.0 * quarter / (np.pi * nodes) * slope * x / (1.0 - y**2) / bent**2
    return Contour(x / bent - shift, weight, within, np.nan * shift, np.nan * shift)
