r"""Integrals over ellipses around an interval of the real axis, of functions that are analytic in a ring about it.

The ellipse :math:`z = c + h\cosh(\gamma + i\vartheta)` has its foci at the ends :math:`c \pm h` of the interval (Eq. 13.13). Its
nodes are those of the upper half, at midpoints :math:`\vartheta` of :math:`(0, \pi)`; functions are real on the real axis, so
that the lower half is the complex conjugate. A rule of :math:`n` nodes has the error :math:`e^{-2n\gamma}` of functions that are
singular on the interval.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.fft import dct, dst

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
