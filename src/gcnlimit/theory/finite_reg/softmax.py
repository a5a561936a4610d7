r"""Averages of the cross-entropy over a Gaussian output, for three classes or more (Eqs. 8.6 and 8.7).

A part common to all outputs changes nothing, so that the outputs of a node may be taken independent, :math:`\omega_1 = \sqrt C
\bar\omega + \sigma g_1` for its own class and :math:`\omega_j = \sigma g_j`. At the proximal point
:math:`v\pi_j + \log\pi_j = \omega_j + v\delta_{j1} - L`, and :math:`L` makes the sum of the probabilities :math:`\pi_j` one.

*Narrow outputs*: the Gauss-Hermite rule in the :math:`C - 1` differences of outputs. The other classes are exchangeable, so
that only the number of them at each node counts: a few thousand terms for any :math:`C`.

*Wide outputs*: at given :math:`L` the :math:`\pi_j` are independent, and with :math:`q = \pi/(1 + v\pi)`

.. math:: \mathbb E\, G = \int dL\; \mathbb E\Big[ G\, \delta\Big( \sum_j \pi_j - 1 \Big) \sum_j q_j \Big]

is a sum of convolutions of densities on [0, 1], taken by fast Fourier transforms: a one-dimensional integral for every
:math:`C`. Probabilities below any that matters, of outputs far apart, are a mass at 0. Relative errors are about 1e-8; that of
:math:`\mathbb E\,1` is divided out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.polynomial import hermite_e
from scipy.fft import irfft, rfft
from scipy.special import expit, gammaln, ndtr, ndtri, wrightomega

from gcnlimit._values import Array
from gcnlimit.losses import Loss

# deviations of the output below which a Gauss-Hermite rule of so many nodes serves
_NARROW = {4: 0.1, 6: 0.35, 16: 0.5}
_TERMS = 4000  # of that rule, at most, if it then has four nodes or more
_DAMPING = 11.0  # of sums of probabilities above 1, which the transform of period 2 folds back
_SMALL, _RATIO = 16, 4.0  # cells near 0, and the factor over which they give way to the others
_FINE = 0.5  # step there: of the logarithm of a probability within one cell, and in cells above
_LEAST = -36.0  # logarithm of the part of a cell below which a probability counts as 0
_REACH = 7.5  # deviations of a Gaussian that matter
_NARROW_SPAN = 0.75  # of [0, 1] below which a grid covers no more
_SHARED = 8.0  # deviations within which means share a grid
_WIDEST = 1e20  # deviation of an output up to which averages are taken
_ROOT = np.sqrt(2.0 * np.pi)


class _ClassAverages(NamedTuple):
    """Averages of :math:`1 - \\pi_1`, its square, :math:`\\pi_2^2`, the trace in Eq. 8.7, and :math:`-\\log\\pi_1`."""

    missed: Array
    square: Array
    other: Array
    trace: Array
    loss: Array


@dataclass(frozen=True, eq=False)
class SoftmaxOf(Loss):
    """The cross-entropy of `classes` equal classes, at least three, through its averages."""

    classes: int

    smallest_response = 1e-12

    def value(self, z: npt.ArrayLike) -> Array:
        r"""Loss of an output along the code of the true class, :math:`\log(1 + (C - 1) e^{-\sqrt C z})`."""
        others = np.log(self.classes - 1.0) - np.sqrt(self.classes) * np.asarray(z, float)
        return np.asarray(np.logaddexp(0.0, others))

    def gaussian_pull(self, mean: Array, variance: Array, v: Array) -> tuple[Array, Array, Array]:
        """Averages of Eq. 8.6."""
        C = self.classes
        missed, square, other, trace, _ = self._each(mean, variance, v)
        return np.sqrt(C) / (C - 1) * missed, square / (C - 1) + other, trace / (C - 1)

    def gaussian_losses(self, mean: Array, variance: Array, v: Array) -> tuple[Array, Array]:
        """Averages of the cross-entropy at the output and at its proximal point."""
        tiny = np.full_like(v, self.smallest_response)
        return self._each(mean, variance, tiny).loss, self._each(mean, variance, v).loss

    def _each(self, mean: Array, variance: Array, v: Array) -> _ClassAverages:
        """Averages at each point; NaN where it is not the output of a network, and the search steps back."""
        deviation = np.sqrt(variance)
        averages = np.full((mean.size, 5), np.nan)
        narrow = max(most for nodes, most in _NARROW.items() if nodes <= _nodes(self.classes))
        unit = np.maximum(deviation, 1.0)
        allowed = (np.abs(mean) < 1e3 * unit) & (unit < _WIDEST) & (v > 0.0) & (v < 1e7 * unit)
        # means of one deviation and one v, if they are not far apart, share the other classes
        near = np.floor(mean / np.maximum(_SHARED * deviation, 1.0))
        laws = np.stack([deviation, v, near], axis=1)
        for law in np.unique(laws[allowed], axis=0):
            rows = np.flatnonzero(allowed & (laws == law).all(axis=1))
            method = _by_counts if law[0] < narrow else _by_convolution
            averages[rows] = method(self.classes, mean[rows], *law[:2])
        return _ClassAverages(*averages.T)


def _by_counts(C: int, means: Array, deviation: float, v: float) -> list[list[float]]:
    """Gauss-Hermite rule in the differences of the outputs, over the numbers of classes at each node."""
    place, count, weight = _counts(C, _nodes(C))
    averages = []
    for mean in means:
        _, first, rest = _proximal(deviation * place - np.sqrt(C) * mean, count, v)
        terms = (*_terms(C, count, first, rest, v), -np.log(first))
        averages.append([float(weight @ term) for term in terms])
    return averages


def _proximal(omega: Array, count: Array, v: float) -> tuple[Array, Array, Array]:
    """The number L at which the probabilities sum to one, that of the own class and those of the others; a case in each row.

    `omega` are the outputs of the others less the own, `count` how many classes have each.
    """
    top = np.maximum(0.0, np.max(omega, axis=1))
    own, omega = -top, omega - top[:, None]  # L less the highest output keeps its digits
    L = np.log(np.exp(own) + np.sum(count * np.exp(omega), axis=1))
    for _ in range(100):  # Newton's method for a decreasing convex function
        first = _probability(v + own - L, v)
        rest = _probability(omega - L[:, None], v)
        slope = first / (1.0 + v * first) + np.sum(count * (rest / (1.0 + v * rest)), axis=1)
        step = (first + np.sum(count * rest, axis=1) - 1.0) / slope
        L = L + step
        if np.max(np.abs(step)) < 1e-13 * (1.0 + np.max(np.abs(L))):
            break
    return top + L, first, rest


def _terms(C: int, count: Array, first: Array, rest: Array, v: float) -> tuple[Array, ...]:
    """First four of `_ClassAverages` at the nodes of the rule, from the probabilities there."""
    each = np.ones(count.shape[1])
    q_first, q_rest = first / (1.0 + v * first), rest / (1.0 + v * rest)
    total = q_first + (count * q_rest) @ each
    squares = q_first * q_first + (count * (q_rest * q_rest)) @ each
    missed = 1.0 - first
    others = (count * (rest * rest)) @ each / (C - 1.0)
    return missed, missed * missed, others, total - squares / total


def _probability(x: Array, v: float) -> Array:
    r"""Root :math:`\pi` of :math:`v\pi + \log\pi = x`."""
    return np.asarray(wrightomega(np.log(v) + x).real / v)


def _nodes(C: int) -> int:
    """Nodes of the rule for narrow outputs."""
    return max([4, *(n for n in range(5, 25) if comb(n + C - 2, C - 1) <= _TERMS)])


@lru_cache(maxsize=16)
def _counts(C: int, nodes: int) -> tuple[Array, Array, Array]:
    """Where the other classes are in each term of the rule, how many there, and the weight of the term.

    They are at most at as many nodes as there are classes: the others are left out.
    """
    node, weight = hermite_e.hermegauss(nodes)
    count = np.zeros((1, 0))
    for _ in range(nodes - 1):
        left = (C - 1 - np.sum(count, axis=1)).astype(int)
        first = np.concatenate([np.arange(k + 1.0) for k in left])
        count = np.column_stack([np.repeat(count, left + 1, axis=0), first])
    count = np.column_stack([count, C - 1 - np.sum(count, axis=1)])
    ways = gammaln(C) - np.sum(gammaln(count + 1.0), axis=1)  # logarithm of the multinomial
    log_weight = ways + count @ np.log(weight / np.sum(weight))
    centre = (np.sqrt(C) - 1.0) / (C - 1.0) * (count @ node)[:, None]
    met = np.argsort(count == 0, axis=1, kind="stable")[:, : min(C - 1, nodes)]
    return node[met] + centre, np.take_along_axis(count, met, axis=1), np.exp(log_weight)


def _by_convolution(C: int, means: Array, deviation: float, v: float) -> list[list[float]]:
    """Convolutions of the densities of the probabilities at each :math:`L`."""
    true_class = np.sqrt(C) * means
    reach = _REACH * deviation
    others = np.array([[C - 1.0]])

    # The other classes share what the own one misses. That is most where its output is lowest and
    # one of theirs highest; far below 1 where v is large: the grid then covers no more of [0, 1].
    most = np.array([[np.sqrt(2.0) * reach - np.min(true_class)]])
    missed = (C - 1.0) * max(float(_proximal(most, others, v)[2][0, 0]), 1e-100)
    span = missed if missed < _NARROW_SPAN else 1.0
    least = 9 if span == 1.0 and means.size == 1 else 10  # rare outputs need finer steps
    cells = _cells(1 << max(least, int(np.ceil(np.log2(6.0 * (C + v) * span / deviation)))))

    # Values of L outside these ends have a negligible density: L rises with each output, and is
    # highest where all are. At given probabilities it is Gaussian, of deviation `deviation` over
    # sqrt(C), which a trapezoidal rule of slightly smaller steps integrates up to rounding.
    low = np.maximum(true_class - reach, deviation * float(ndtri(10.0 ** (-13.0 / (C - 1)))) - v)
    high = true_class + reach + _proximal(-true_class[:, None], others, v)[0]
    L = np.arange(np.min(low), np.max(high), 0.9 * C**-0.5 * deviation)
    all_sums = _other_sums(C, cells, span, L[:, None], (deviation, v))

    def with_own(at: Array, sums: _Sums) -> list[float]:
        # The own class has the rest of the probability, and an output v more from its target.
        # Near 0 its density varies with the logarithm, as theirs does.
        if span == 1.0:
            x, mass, *at_zero = cells.masses(at, deviation, v)
            rest, minus_log = 1.0 - x, -np.log(x)
        else:
            rest = span * np.arange(cells.size + 1.0) / cells.size
            x, minus_log = 1.0 - rest, -np.log1p(-rest)
            mass = _density(x, at, deviation, v)
        weights = (np.ones_like(x), rest, rest**2, minus_log)

        def masses(factor: Array | float) -> list[Array]:
            each = [mass * (w * factor) for w in weights]
            return [cells.grid(m)[:, ::-1] for m in each] if span == 1.0 else each

        plain, with_q = masses(1.0), masses(x / (1.0 + v * x))
        if span == 1.0:
            zero, logarithm = at_zero
            for each, end in zip(plain, (zero, zero, zero, logarithm), strict=True):
                each[:, -1:] += end

        # E[G delta(sum - 1) sum_j q_j]: q belongs to the own class, or to one of the C - 1 others.
        # The sums over L and over the probability need no step: it cancels against the norm.
        pairs = zip(plain, with_q, strict=True)
        parts = (np.vdot(b, sums.alone) + (C - 1) * np.vdot(a, sums.q) for a, b in pairs)
        norm, first, second, loss = parts
        other = np.vdot(with_q[0], sums.square) + np.vdot(plain[0], sums.square_q)
        # Sum over ordered pairs of q_i q_j: with the own class, in two orders, or without it.
        trace = (C - 1) * (2.0 * np.vdot(with_q[0], sums.q) + (C - 2) * np.vdot(plain[0], sums.qq))
        return [float(part / norm) for part in (first, second, other, trace, loss)]

    ends = zip(true_class, np.searchsorted(L, low), np.searchsorted(L, high), strict=True)
    return [
        with_own(L[i:j, None] - truth - v, _Sums(*(part[i:j] for part in all_sums)))
        for truth, i, j in ends
    ]


class _Sums(NamedTuple):
    r"""Densities of the sum of the other probabilities, one row for each L: `alone`, and times weights of one or two of them.

    These are :math:`q_2`, :math:`\pi_2^2`, the latter times :math:`\sum_{j>1} q_j`, and :math:`q_2 q_3`.
    """

    alone: Array
    q: Array
    square: Array
    square_q: Array
    qq: Array


def _other_sums(C: int, cells: _Cells, span: float, L: Array, law: tuple[float, float]) -> _Sums:
    """Densities at each L, for outputs of that deviation and v; probabilities up to the span."""
    deviation, v = law
    x, mass, zero, _ = cells.masses(L, deviation, v, span)

    # Transforms of the weighted density of one probability; of all others but two, and but one.
    q = x / (1.0 + v * x)
    above, B_q, B_2, B_2q = (cells.transform(mass * w) for w in (1.0, q, x**2, x**2 * q))
    B = above + zero
    # (B^(C-1) - zero^(C-1)) / above: beside all at zero, rounding would leave nothing of the rest
    less_2 = rest = np.ones_like(B)
    power = np.ones_like(zero)
    for _ in range(C - 2):
        less_3, less_2, power = less_2, less_2 * B, power * zero
        rest = rest * B + power

    # Beside a square, q belongs to the same class or to one of the C - 2 that are left.
    square_q = less_2 * B_2q + (C - 2) * less_3 * B_2 * B_q
    products = (rest * above, less_2 * B_q, less_2 * B_2, square_q, less_3 * B_q**2)
    sums = _Sums(*(cells.inverse(product) for product in products))
    sums.alone[:, :1] += zero ** (C - 1)
    return sums


def _density(x: Array, L: Array, deviation: float, v: float) -> Array:
    """Density of a probability, one row for each L: that of the output v x + log x + L, times its derivative in x."""
    z = (v * x + np.log(x) + L) / deviation
    return np.asarray(np.exp(-0.5 * z**2) / (_ROOT * deviation) * (v + 1.0 / x))


class _Cells(NamedTuple):
    r"""Grid for measures of a probability in [0, 1], or of its multiple.

    Above some cells it is a grid of `size` equal steps; below, where densities vary with the logarithm of the probability, one
    in that logarithm, whose masses go to the nearest four points of the first by cubic interpolation; a smooth partition joins
    the two.
    `probability` holds the points of the second, then of the first, `share` their weights.
    """

    size: int
    probability: Array
    share: Array
    spread: Array

    @property
    def damping(self) -> Array:
        """Factor exp(-d x) of the densities; a transform of period 2 adds what lies at x + 2k, of which it leaves exp(-2 k d)."""
        return np.exp(-_DAMPING * np.arange(self.size + 1.0) / self.size)

    def masses(self, L: Array, deviation: float, v: float, span: float = 1.0) -> tuple[Array, ...]:
        """Points times the span, the masses there, that below the first, and the integral of -log x there."""
        x = span * self.probability
        first = np.log(x[0])
        z = (first + L) / deviation
        density = np.exp(-0.5 * z**2) / (_ROOT * deviation)
        # the end of Euler and Maclaurin's formula for the steps from the first point
        zero = ndtr(z) - _FINE**2 / 12.0 * density * z / deviation
        end = _FINE**2 / 12.0 * density * (first * z / deviation - 1.0)
        mass = _density(x, L, deviation, v) * (span * self.share)
        return x, mass, zero, L * ndtr(z) + deviation**2 * density + end

    def grid(self, mass: Array) -> Array:
        """Masses at equal steps from 0 to 1, from those at the points."""
        grid = np.zeros((len(mass), self.size + 1))
        grid[:, 1:] = mass[:, -self.size :]
        grid[:, : self.spread.shape[1]] += mass[:, : -self.size] @ self.spread
        return grid

    def transform(self, mass: Array) -> npt.NDArray[np.complex128]:
        """Fourier transform of damped masses, one measure in each row."""
        return np.asarray(rfft(self.grid(mass) * self.damping, 2 * self.size, axis=1))

    def inverse(self, transform: npt.NDArray[np.complex128]) -> Array:
        """Masses at equal steps, without the damping."""
        damped = irfft(transform, 2 * self.size, axis=1)[:, : self.size + 1]
        return np.asarray(damped / self.damping)


@lru_cache(maxsize=4)
def _cells(size: int) -> _Cells:
    # Equal steps, and steps that are equal in the logarithm below one cell, in the probability
    # above it, and overlap the others by a factor.
    x = np.arange(1.0, size + 1.0) / size
    width = int(_SMALL * _RATIO) + 4
    u = np.arange(_LEAST, _SMALL * _RATIO + _FINE, _FINE)
    place = np.logaddexp(0.0, u)  # in cells

    # A mass between equal steps goes to the four around it with the weights of Lagrange's
    # interpolation, which keep its first four moments, and so its transform at low frequencies.
    corner = np.clip(np.floor(place).astype(int) - 1, 0, width - 4)
    spread = np.zeros((u.size, width))
    for j in range(4):
        factors = [(place - corner - k) / (j - k) for k in range(4) if k != j]
        spread[np.arange(u.size), corner + j] = factors[0] * factors[1] * factors[2]

    # Shares of the two grids where they overlap add up to 1; of the steps, half of the first.
    near, far = (_smooth_step(np.log(p / _SMALL) / np.log(_RATIO)) for p in (place, size * x))
    step = _FINE * expit(u)
    step[0] *= 0.5
    share = np.concatenate([(1.0 - near) * step, far]) / size
    return _Cells(size, np.concatenate([place / size, x]), share, spread)


def _smooth_step(t: Array) -> Array:
    """Infinitely smooth step from 0 at 0 to 1 at 1."""
    t = np.clip(t, 1e-9, 1.0 - 1e-9)
    return np.asarray(expit(1.0 / (1.0 - t) - 1.0 / t))
