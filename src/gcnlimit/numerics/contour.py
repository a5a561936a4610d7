r"""Integrals over contours around an interval of the real axis, of functions that are analytic outside of it.

Nodes are those of the upper half; functions are real on the real axis, so that the lower half is the complex conjugate.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ellipj, ellipkm1

from gcnlimit._values import Array


class Contour(NamedTuple):
    r"""Nodes, and weights with which :math:`\oint\frac{dz}{2\pi i}f(z)` is the real part of a sum; a row for each point.

    With points of the interval, and the radius of circles of :math:`p`, NaN of others.
    """

    z: Array
    weight: Array
    within: Array
    radius: Array

    def pierced(self, values: Array) -> Array:
        r"""How far :math:`\oint\frac{f(z)}{z - x}` is from 1: not at all if functions, 1 at infinity, are analytic without."""
        away = self.z[:, None] - self.within[..., None]
        far = np.sum((self.weight * values)[:, None] / away, axis=2)
        return np.asarray(np.max(np.abs(far.real - 1.0), axis=1))


class NodeSums(NamedTuple):
    r"""Integrals with functions :math:`\varphi`, a row of values each, on one contour.

    >>> one = np.ones((1, 1))
    >>> for loop in (ellipse(1.5 * one, 0.5 * one, 0.3 * one, 0.4 * one, 80), drop(one, 2 * one, 0.1 * one, 0.2 * one, 80)):
    ...     here, pole = NodeSums(loop, np.ones_like(loop.z)), 1.0 / (loop.z - 1.2)
    ...     np.allclose([here.once(pole), here.crossed(loop.z**3, pole)[None]], [[[1.0]], [[1.2**3]]])  # Cauchy's formula
    True
    True
    """

    contour: Contour
    phi: Array

    def once(self, rows: Array) -> Array:
        r"""Integrals :math:`\oint \varphi f` of some functions: one row each."""
        return np.asarray((self.phi @ (rows * self.contour.weight).T).real.T)

    def twice(self, rows: Array) -> Array:
        r"""Integrals :math:`\oint \varphi^2 f`."""
        return np.asarray((self.phi**2 @ (rows * self.contour.weight).T).real.T)

    def crossed(self, f: Array, g: Array) -> Array:
        r"""Integrals :math:`\oint\oint \varphi_1\varphi_2\frac{f_1g_2 - f_2g_1}{z_1 - z_2}`.

        One variable is at every other node and at the conjugates of the rest, the other at the conjugates of these.
        """
        z, weight, _, _ = self.contour
        odd = np.arange(z.shape[1]) % 2 == 1
        parts = (z, f * self.phi * weight, g * self.phi * weight)
        z, f, g = (np.where(odd, x.conj(), x) for x in parts)
        apart = 1.0 / np.subtract.outer(z[0], z[0].conj())
        return np.asarray(2.0 * np.sum(f * (g.conj() @ apart.T), axis=1).real)


class Powers(NamedTuple):
    r"""The same of :math:`\varphi = (1 - P_n)/z`, :math:`P_n` of a momentum, from series in :math:`1/p` (Eq. 13.14).

    >>> loop = circle(*np.array([[[1.5]], [[0.5]], [[0.4]], [[0.5]], [[1.1]]]), 120)
    >>> fast = Powers(1.1, 0.4, 0.5, np.array([3]))
    >>> x, pole = 1.5 - 0.4 * loop.z, 1.0 / (loop.z - 1.2)
    >>> slow = NodeSums(loop, (1.0 - x * (x * (x - 0.5) - 0.5) + 0.5 * (x - 0.5)) / loop.z)
    >>> np.allclose(fast.once(pole), slow.once(pole)), np.allclose(fast.twice(pole), slow.twice(pole))
    (True, True)
    >>> np.allclose(fast.crossed(loop.z * pole, pole), slow.crossed(loop.z * pole, pole))
    True
    """

    radius: float
    rate: float
    momentum: float
    steps: npt.NDArray[np.intp]

    def once(self, rows: Array) -> Array:
        """Integrals as those of `NodeSums`."""
        total = np.cumsum(self._series(rows), axis=1)
        return np.asarray(total[:, [1]] - total[:, self.steps + 1])

    def twice(self, rows: Array) -> Array:
        """Integrals as those of `NodeSums`."""
        _, _, quotient = self._divided(self._series(rows))
        return self._square(quotient)

    def crossed(self, f: Array, g: Array) -> Array:
        """Integrals as those of `NodeSums`: of parts that are analytic within the circle, and without."""
        value, below, quotient = self._divided(self._series(np.concatenate([f, g])))
        tail = _over(below, self.momentum, 2)
        power = self.momentum ** np.arange(1.0, np.max(self.steps) + 1.0)
        answer = np.empty(self.steps.size)
        for k, n in enumerate(self.steps):
            inner = -below[:, n::-1]
            inner[:, 0] += quotient[:, 0]
            outer = quotient[:, 1 : n + 2] - tail[:, n + 1 : 2 * n + 2]
            outer[:, :n] += power[:n] * tail[:, n - 1 :: -1]
            answer[k] = inner[1] @ outer[0] - inner[0] @ outer[1]
        rest = value[1] * quotient[0] - value[0] * quotient[1]
        return np.asarray(answer / self.rate - self._square(rest[None])[0])

    def _series(self, rows: Array) -> Array:
        """Coefficients of functions over p in powers of 1/p."""
        nodes = rows.shape[1]
        turn, power = _turn(nodes), np.arange(2 * nodes)
        half = rows / (self.radius * turn[1::2])
        whole = np.fft.fft(np.concatenate([half, half[:, ::-1].conj()], axis=1), axis=1)
        turned = (whole * turn).real
        length = 2 * int(np.max(self.steps)) + 4
        # on a circle beyond 1 the last ones have no digits; else they tell the value at p = 1
        keep = length if self.radius > 1.0 else 2 * nodes
        series = (turned * self.radius**power / (2 * nodes))[:, :keep]
        return np.pad(series, ((0, 0), (0, max(0, length - series.shape[1]))))

    def _divided(self, series: Array) -> tuple[Array, Array, Array]:
        r"""Value :math:`f_0` at 0; :math:`(1 - \beta/p)(f - f_0)/z`, and :math:`(f - f_0)/z`."""
        rest = np.cumsum(series[:, ::-1], axis=1)[:, ::-1]
        none = np.zeros((len(series), 1))
        below = self.rate * np.concatenate([-series[:, :1], rest[:, 2:], none], axis=1)
        return rest[:, 0], below, _over(below, self.momentum)

    def _square(self, rows: Array) -> Array:
        r"""Integrals of :math:`(1 - P_n)^2 f/z`."""
        n, b = self.steps, self.momentum
        _, below, quotient = self._divided(np.pad(rows, ((0, 0), (1, 0)))[:, :-1])
        tail = _over(below, b, 2)
        last = tail[:, 2 * n + 1] - b * tail[:, 2 * n] + 2.0 * b ** (n + 1.0) * below[:, :1]
        return np.asarray((2.0 * below[:, n + 1] - quotient[:, 1:2] - last) / self.rate)


@lru_cache(maxsize=4)
def _turn(nodes: int) -> Array:
    """Numbers of size 1 down to a half turn; those at odd places are the nodes."""
    return np.asarray(np.exp(-0.5j * np.pi / nodes * np.arange(2 * nodes)))


def _over(series: Array, ratio: float, step: int = 1) -> Array:
    """Series in x divided by 1 - ratio x^step."""
    answer = series.copy()
    while ratio > 1e-18 and step < answer.shape[1]:
        answer[:, step:] += ratio * answer[:, :-step]
        ratio, step = ratio**2, 2 * step
    return answer


def circle(  # noqa: PLR0917
    centre: Array, half: Array, rate: Array, momentum: Array, radius: Array, nodes: int
) -> Contour:
    r"""Contours on which :math:`p` of :math:`\eta z = (1 - p)(1 - \beta/p)` has one size."""
    p = radius * _turn(nodes)[1::2]
    q = momentum / p
    within = centre + half * np.array([-0.9, 0.0, 0.9])
    return Contour((1.0 - p) * (1.0 - q) / rate, (q - p) / (rate * nodes), within, radius)


def ellipse(centre: Array, half: Array, width: Array, lean: Array, nodes: int) -> Contour:
    r"""Contours :math:`z = c + \frac h2(w + 1/w)` around :math:`c \pm h`, denser at the lower end the more they lean to it.

    On them :math:`w = (v + a)/(1 + av)` with :math:`|v| = e^\gamma` and :math:`a = (l - 1)/(l + 1)`; with :math:`l = 1` they are
    ellipses. A rule of :math:`n` nodes has the error :math:`e^{-2n\gamma}` of functions that are singular on the interval.
    """
    v, a = (
        np.exp(width + 1j * np.pi * (np.arange(nodes) + 0.5) / nodes),
        (lean - 1.0) / (lean + 1.0),
    )
    w = (v + a) / (1.0 + a * v)
    slope = 0.5 * half * (1.0 - w**-2.0) * (1.0 - a**2) / (1.0 + a * v) ** 2
    within = centre + half * np.array([-0.9, 0.0, 0.9])
    return Contour(
        centre + 0.5 * half * (w + 1.0 / w), slope * v / nodes, within, np.full_like(width, np.nan)
    )


def drop(low: Array, high: Array, shift: Array, bend: Array, nodes: int) -> Contour:
    r"""Contours around `low` to `high` in a half plane that begins at 0, or in a disc of diameter :math:`1/b`, moved by -`shift`.

    They are in the middle of the ring between the two (Eq. 13.13); nodes are dense where the half plane, or disc, is near. The
    error of :math:`n` nodes falls as :math:`e^{-\pi K'n/2K}`: the logarithm of the ratio of the ends counts.
    """
    within = low * (high / low) ** np.array([0.05, 0.5, 0.95]) - shift
    low, high = (end / (1.0 - bend * end) for end in (low, high))
    k = (high - low) / (high + low)
    quarter = ellipkm1(1.0 - k**2)
    s, c, d, _ = ellipj(quarter * ((2 * np.arange(nodes) + 1) / nodes - 1.0), k**2)
    # k sn(xi + iK'/2) and its derivative
    below = (1.0 + k * s**2) / np.sqrt(k)
    y = ((1.0 + k) * s + 1j * c * d) / below
    slope = ((1.0 + k) * c * d - 1j * s * (d**2 + (k * c) ** 2)) / below
    slope -= 2.0 * np.sqrt(k) * s * c * d * y / below
    x = np.sqrt(low * high * (1.0 + y) / (1.0 - y))
    bent = 1.0 + bend * x
    weight = 2j * quarter / (np.pi * nodes) * slope * x / (1.0 - y**2) / bent**2
    return Contour(x / bent - shift, weight, within, np.full_like(shift, np.nan))
