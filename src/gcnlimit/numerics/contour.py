r"""Integrals over contours around an interval of the real axis, of functions that are analytic in a ring about it.

The ellipse :math:`z = c + h\cosh(\gamma + i\vartheta)` has its foci at the ends :math:`c \pm h` of the interval (Eq. 13.13); a
drop lies in a half plane or a disc (Eq. 13.14). Nodes are those of the upper half, at midpoints :math:`\vartheta` of
:math:`(0, \pi)`; functions are real on the real axis, so that the lower half is the complex conjugate. A rule of :math:`n` nodes
has the error :math:`e^{-2n\gamma}` of functions that are singular on the interval.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.fft import dct, dst
from scipy.special import ellipj, ellipkm1

from gcnlimit._values import Array


class Series(NamedTuple):
    r"""A function :math:`f_+ + f_-` on the ring, with :math:`w = e^{\gamma + i\vartheta}`.

    `inside`: coefficients of :math:`f_+ = F_0 + \sum_k F_k(w^k + w^{-k})`, analytic within; `outside`: those of
    :math:`f_- = \sum_{k>0} D_kw^{-k}`, analytic without.
    """

    inside: Array
    outside: Array


class Ellipse(NamedTuple):
    r"""Centre, half length of the interval, and width :math:`\gamma`, each with a row for each point; nodes of the upper half."""

    centre: Array
    half: Array
    width: Array
    nodes: int

    def take(self, rows: npt.NDArray[Any] | slice) -> Self:
        """Ellipses at some points."""
        return type(self)(self.centre[rows], self.half[rows], self.width[rows], self.nodes)

    @property
    def w(self) -> Array:
        r"""Logarithms :math:`\gamma + i\vartheta` of the nodes."""
        return np.asarray(self.width + 1j * np.pi * (np.arange(self.nodes) + 0.5) / self.nodes)

    @property
    def z(self) -> Array:
        """Nodes."""
        return np.asarray(self.centre + self.half * np.cosh(self.w))

    @property
    def weight(self) -> Array:
        r"""Weights, with which :math:`\oint\frac{dz}{2\pi i}f(z)` is the real part of a sum."""
        return np.asarray(self.half * np.sinh(self.w) / self.nodes)

    def series(self, values: Array) -> Series:
        """Coefficients of functions with these values at the nodes."""
        even, odd = dct(values.real, axis=1), np.zeros(values.shape)
        odd[:, 1:] = dst(values.imag, axis=1)[:, :-1]
        scale = np.exp(-self.width * np.arange(self.nodes)) / (2 * self.nodes)
        inside = scale * (even + odd)
        return Series(inside, (even - odd) / (scale * (2 * self.nodes) ** 2) - inside)

    def pierced(self, values: Array) -> Array:
        """Size of what functions with these values have within, but a constant: 0 if all their singularities are there."""
        inside, outside = self.series(values)
        return np.asarray(np.max(np.abs(inside[:, 1:]), axis=1) / (1.0 + np.abs(outside[:, 1])))

    def crossed(self, f: Array, g: Array) -> tuple[Array, Array]:
        r"""Integrals :math:`\oint g`, :math:`\oint\oint \frac{f(z_1)g(z_2) - f(z_2)g(z_1)}{z_1 - z_2}`, with :math:`dz/2\pi i`.

        On an outer contour :math:`\oint f(z_1)/(z_1 - z_2) = f_+(z_2)`, which leaves :math:`\oint (f_+g_- - f_-g_+)`.

        >>> column = np.full((1, 1), 0.5)
        >>> loop = Ellipse(column, column, column, 80)
        >>> once, twice = loop.crossed(loop.z**3, 1.0 / (loop.z - 0.2))
        >>> np.allclose([once, twice], [[1.0], [0.2**3]])  # Cauchy's formula
        True
        """
        F, G = self.series(f), self.series(g)
        rises = [(x.inside[:, :-2] - x.inside[:, 2:], x.outside[:, 1:-1]) for x in (F, G)]
        twice = np.vecdot(rises[0][0], rises[1][1]) - np.vecdot(rises[1][0], rises[0][1])
        half = 0.5 * self.half[:, 0]
        return half * G.outside[:, 1], half * twice


class Drop(NamedTuple):
    r"""Contour around the interval from `low` to `high` in a half plane that begins at 0, or in a disc of diameter :math:`1/b`.

    It is in the middle of the ring between the two (Eq. 13.14). Nodes are dense where the half plane, or the disc, is near:
    their number grows with the logarithm of the ratio of the ends only. All is moved by `shift` to the left.
    """

    low: Array
    high: Array
    shift: Array
    bend: Array
    nodes: int

    def take(self, rows: npt.NDArray[Any] | slice) -> Self:
        """Drops at some points."""
        return type(self)(
            self.low[rows], self.high[rows], self.shift[rows], self.bend[rows], self.nodes
        )

    @property
    def z(self) -> Array:
        """Nodes."""
        return self._nodes()[0]

    @property
    def weight(self) -> Array:
        """Weights, as of an ellipse."""
        return self._nodes()[1]

    def _nodes(self) -> tuple[Array, Array]:
        low, high = (end / (1.0 - self.bend * end) for end in (self.low, self.high))
        k = (high - low) / (high + low)
        quarter = ellipkm1(1.0 - k**2)
        s, c, d, _ = ellipj(quarter * ((2 * np.arange(self.nodes) + 1) / self.nodes - 1.0), k**2)
        # k sn(x + iK'/2) and its derivative in x
        below = (1.0 + k * s**2) / np.sqrt(k)
        y = ((1.0 + k) * s + 1j * c * d) / below
        slope = ((1.0 + k) * c * d - 1j * s * (d**2 + (k * c) ** 2)) / below
        slope -= 2.0 * np.sqrt(k) * s * c * d * y / below
        x = np.sqrt(low * high * (1.0 + y) / (1.0 - y))
        slope *= x / (1.0 - y**2)
        bent = 1.0 + self.bend * x
        return x / bent - self.shift, 2j * quarter / (np.pi * self.nodes) * slope / bent**2

    def pierced(self, values: Array) -> Array:
        r"""As of an ellipse, of functions that are 1 at infinity: where :math:`\oint\frac{f(z)}{z - x}` differs from that."""
        x = np.concatenate([self.low, np.sqrt(self.low * self.high), self.high], 1) - self.shift
        far = np.sum((self.weight * values)[:, None] / (self.z[:, None] - x[..., None]), axis=2)
        return np.asarray(np.max(np.abs(far.real - 1.0), axis=1))

    def crossed(self, f: Array, g: Array) -> tuple[Array, Array]:
        r"""As of an ellipse, of one drop; :math:`z_1` at every other node and the conjugates of the rest, :math:`z_2` elsewhere.

        >>> column = np.ones((1, 1))
        >>> drop = Drop(column, 2.0 * column, 0.1 * column, 0.2 * column, 80)
        >>> once, twice = drop.crossed(drop.z**3, 1.0 / (drop.z - 1.2))
        >>> np.allclose([once, twice], [[1.0], [1.2**3]])
        True
        """
        odd = np.arange(self.nodes) % 2 == 1
        z, weight = self._nodes()
        z, f, g = (np.where(odd, x.conj(), x) for x in (z, f * weight, g * weight))
        apart = 1.0 / np.subtract.outer(z[0].conj(), z[0])
        return np.sum(g, axis=1).real, -2.0 * np.sum(f * (g.conj() @ apart), axis=1).real
