r"""Averages over the posterior of a class, given Gaussian evidence: functions of one number, tabulated.

Evidence on a node of class :math:`k` is :math:`b = m\,y_k + \sqrt m\,z` with the code :math:`y_k` of the class and
:math:`z \sim \mathcal N(0, 1)` in each of :math:`d = C - 1` directions. The overlap of the posterior mean with the code is
:math:`T(m)` in each direction, and its complement :math:`U = 1 - T` a one-dimensional integral of positive terms for any number
of equal classes (Eqs. 8.9 and 8.10), and for two of any sizes,

.. math:: U = \frac\Delta2\, e^{-m\Delta^2/8}\; \mathbb E\,\mathrm{sech}\,\tfrac12(L_0 + \Delta\sqrt m\, z), \qquad
          \Delta^2 = \frac1{p(1-p)}, \quad L_0 = \log\frac p{1-p} .

Two tables hold it to 1e-14: at small :math:`m` that of :math:`(m - T)/m^2`, which keeps the digits of the deficit at a
transition, else that of :math:`\log U` less :math:`-\gamma m - \frac12\log(1 + \gamma m)`, with :math:`8\gamma` the least squared
distance of two codes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple, Self

import numpy as np
from numpy.polynomial import chebyshev, hermite_e, legendre
from scipy.optimize import minimize_scalar

from gcnlimit._values import Array
from gcnlimit.classes import Classes
from gcnlimit.errors import ParameterError
from gcnlimit.numerics.chebyshev import Panels, chebyshev_nodes, powers

_FROM = 0.09  # gamma m from which log U is tabulated, up to gamma m = 40, where U is about 1e-18
_WIDTH, _PANELS, _DEGREE = 0.47, 13, 14
_SERIES = 14  # degree of the polynomial below
_REACH = 9.0  # deviations of a Gaussian that carry all but 1e-18 of it
_SMOOTH = 0.6  # deviation of a Gaussian below which the Gauss-Hermite rule resolves the sum

_NODE, _WEIGHT = 0.5 * np.array(legendre.leggauss(24))
_NODE += 0.5
_HERMITE, _MASS = hermite_e.hermegauss(48)

_NORMAL = np.linspace(-10.0, 10.0, 401)

STEP = 0.15
"""Of the trapezoid rule for a Gaussian plus a Gumbel variable, analytic in a strip of half-width pi/2."""

Function = Callable[[Array], Array]


class Overlap(NamedTuple):
    """Overlap :math:`T`, deficit :math:`m - T` without cancellation, and slope :math:`T'`."""

    overlap: Array
    deficit: Array
    slope: Array


@lru_cache(maxsize=64)
def posterior(classes: Classes, noise: float = 0.0) -> Posterior:
    """Averages over the posterior of that number of equal classes, or of two classes of these fractions.

    Labels are wrong with probability `noise`.

    >>> m = np.array([0.5, 2.0])
    >>> posterior(Classes.of(10)).at(m).overlap.round(8)
    array([0.60021335, 0.98979504])
    """
    if noise:
        return replace(posterior(classes), noise=noise)
    p = classes.fractions
    entropy = float(-p @ np.log(p))
    if classes.count == 2:
        spread = 1.0 / float(np.prod(p))
        curvature = 1.0 - 0.5 * float(p[1] - p[0]) ** 2 * spread
        return Posterior.of(_two_classes(float(p[0])), 1, curvature, entropy, rate=0.125 * spread)
    if not classes.equal:
        told = f"classes = {classes} are more than two of unequal sizes, whose overlap is a matrix"
        raise ParameterError(f"{told}; take two, equal ones, or bayes_optimal")
    C = classes.count
    return Posterior.of(_equal_classes(C), C - 1, 2.0 - 0.5 * C, entropy, rate=0.25 * C)


@dataclass(frozen=True, eq=False)
class Posterior:
    r"""Tables of :math:`T(m)` and of its integral, in `directions` :math:`d`.

    `curvature` is the limit of :math:`(m - T)/m^2` at 0, `entropy` that of the classes, `rate` :math:`\gamma`.
    """

    directions: int
    curvature: float
    entropy: float
    rate: float
    near: Panels
    far: Panels
    near_integral: Panels
    far_integral: Panels
    noise: float = 0.0  # probability that a label is wrong

    @classmethod
    def of(
        cls, missing: Function, directions: int, curvature: float, entropy: float, rate: float
    ) -> Self:
        r"""Build the tables from the function `missing`, which is :math:`U` at :math:`s = \gamma m`."""

        def height(x: Array) -> Array:
            return _height(missing(np.exp(x)), np.exp(x))

        near = Panels(0.0, _FROM, _series(missing, curvature, rate))
        far = Panels.fit(height, np.log(_FROM), _WIDTH, _PANELS, _DEGREE)
        s = 0.5 * _FROM * (1.0 + chebyshev_nodes(_SERIES)[:, None])
        # of u^3 P(us) over u from 0 to 1, near being P(s)
        below = Panels(0.0, _FROM, powers((near.value(s * _NODE) @ (_WEIGHT * _NODE**3))[:, None]))
        beyond = _to_infinity(far, 0.5 * directions / rate)
        return cls(directions, curvature, entropy, rate, near, far, below, beyond)

    def at(self, m: Array) -> Overlap:
        """Overlap, deficit and slope at each :math:`m >= 0`."""
        s = self.rate * m
        is_near = s < _FROM
        if np.all(is_near):
            return self._near(m, s)
        if not np.any(is_near):
            return self._far(m, s)
        near = self._near(m, s)
        far = self._far(m, np.maximum(s, _FROM))
        return Overlap(*(np.where(is_near, a, b) for a, b in zip(near, far, strict=True)))

    def labelled(self, m: Array) -> tuple[Array | float, Array | float]:
        """Overlap on labelled nodes at evidence `m` of the others, 1 where labels are right, and its slope."""
        if not self.noise:
            return 1.0, 0.0
        tanh, weight = np.tanh(self._fields(m)), self._field_weight
        # by Stein's lemma the slope of E t is that of E[t' + t''/2], t' = 1 - t^2
        return tanh @ weight, ((1.0 - tanh**2) * (1.0 - tanh)) @ weight

    def labelled_information(self, m: Array) -> Array:
        """Free entropy of labelled nodes; its derivative is half the overlap."""
        if not self.noise:
            return 0.5 * self.directions * m
        field = np.abs(self._fields(m))
        log_cosh = (field + np.log1p(np.exp(-2.0 * field))) @ self._field_weight
        return np.asarray(log_cosh + 0.5 * np.log(self.noise * (1.0 - self.noise)) - 0.5 * m)

    @cached_property
    def _field_weight(self) -> Array:
        """Weights of `_fields`: right labels, then wrong ones."""
        normal = np.exp(-0.5 * _NORMAL**2)
        normal /= np.sum(normal)
        return np.concatenate([(1.0 - self.noise) * normal, self.noise * normal])

    def _fields(self, m: Array) -> Array:
        r"""Fields :math:`m + \sqrt m\,z \pm \frac12\log\frac{1-\varepsilon}\varepsilon` along the class (Eq. 5.5)."""
        odds = 0.5 * np.log((1.0 - self.noise) / self.noise)
        evidence = m[..., None] + np.sqrt(m)[..., None] * _NORMAL
        return np.concatenate([evidence + odds, evidence - odds], axis=-1)

    def _near(self, m: Array, s: Array) -> Overlap:
        # T = m - m^2 bend: the deficit is tabulated, and not got by subtraction
        rest, change = self.near(s)
        bend = self.curvature + m * rest
        deficit = m**2 * bend
        return Overlap(m - deficit, deficit, 1.0 - 2.0 * m * bend - m**2 * (rest + s * change))

    def _far(self, m: Array, s: Array) -> Overlap:
        height, change = self.far(np.log(s))
        missing = np.exp(height - s) / np.sqrt(1.0 + s)
        slope = missing * self.rate * (1.0 + 0.5 / (1.0 + s) - change / s)
        return Overlap(1.0 - missing, m - 1.0 + missing, slope)

    @cached_property
    def convexity(self) -> float:
        r"""Largest :math:`m\,T' - T`, 0 if :math:`T` is concave.

        With :math:`\rho/(1-\rho)` above it the state evolution has one fixed point, on every graph and with all features: the
        overlap over :math:`m` then falls, and so does the evidence over the overlap.
        """
        if self.curvature >= 0.0:
            return 0.0
        return self._largest(lambda m: m * self.at(m).slope - self.at(m).overlap)[1]

    @cached_property
    def steepness(self) -> tuple[float, float]:
        """Evidence at which :math:`T/m` is largest, and that value; 0 and 1 if :math:`T` is concave."""
        if self.curvature >= 0.0:
            return 0.0, 1.0
        return self._largest(lambda m: self.at(m).overlap / m)

    def _largest(self, function: Function) -> tuple[float, float]:
        """Return where a function of the evidence that has one maximum is largest, and its value there."""

        def below(x: float) -> float:
            return -float(function(np.exp(x)))

        # in the logarithm: the maximum lies anywhere between no evidence and certainty
        ends = (np.log(1e-4 / self.rate), np.log(30.0 / self.rate))
        best = minimize_scalar(below, bounds=ends, method="bounded", options={"xatol": 1e-9})
        return float(np.exp(best.x)), -float(best.fun)

    def information(self, m: Array) -> tuple[Array, Array]:
        r"""Free entropy :math:`\psi = \frac d2\int_0^m T` of the evidence, and cross-entropy of the posterior.

        The latter is the entropy of the classes less :math:`\frac d2\int_0^m U`, which is :math:`\frac d2\int_m^\infty U`.
        """
        half = 0.5 * self.directions
        s = self.rate * m
        is_near = s < _FROM
        inner = np.where(is_near, m, 0.0)
        outer = np.where(is_near, _FROM, s)
        rest = self.near_integral.value(self.rate * inner)
        psi = half * inner**2 * (0.5 - inner * (self.curvature / 3.0 + inner * rest))
        left = np.exp(self.far_integral.value(np.log(outer)) - outer) / np.sqrt(1.0 + outer)
        free = np.where(is_near, psi, left - self.entropy + half * m)
        return free, np.where(is_near, self.entropy + psi - half * m, left)


def _height(values: Array, s: Array) -> Array:
    r"""Logarithm of values that fall like :math:`e^{-s}/\sqrt s`, without that."""
    return np.asarray(np.log(values) + s + 0.5 * np.log1p(s))


def _series(missing: Function, curvature: float, rate: float) -> Array:
    r"""Coefficients of the polynomial :math:`[(m - T)/m^2 - \text{curvature}]/m` in :math:`s`, by least squares.

    The deficit itself is fitted, so that the rounding of :math:`U` is not divided by powers of :math:`m`.
    """
    t = chebyshev_nodes(4 * _SERIES)
    u = 0.5 * (1.0 + t)
    end = _FROM / rate
    m = end * u
    # weighted as the deficit, whose first terms are taken out: they would cancel
    basis = chebyshev.chebvander(t, _SERIES) * u[:, None] ** 3
    deficit = (m - 1.0 + missing(_FROM * u) - curvature * m**2) / end**3
    series = np.linalg.lstsq(basis, deficit, rcond=None)[0]
    return powers(np.asarray(chebyshev.chebval(chebyshev_nodes(_SERIES), series)[:, None], float))


def _to_infinity(far: Panels, half: float) -> Panels:
    r"""Table of the logarithm of :math:`\frac d{2\gamma}\int_s^\infty U`, like that of :math:`\log U`."""

    def between(low: Array, high: Array) -> Array:
        x = low[..., None] + (high - low)[..., None] * _NODE
        s = np.exp(x)
        density = np.exp(far.value(x) - s + x) / np.sqrt(1.0 + s)
        return np.asarray(density @ _WEIGHT * (high - low) * half)

    edge = far.start + _WIDTH * np.arange(_PANELS + 4.0)
    panel = between(edge[:-1], edge[1:])  # three more of them, in which the integral ends
    after = np.cumsum(panel[::-1])[::-1][1 : _PANELS + 1]
    x = edge[:_PANELS] + 0.5 * _WIDTH * (1.0 + chebyshev_nodes(_DEGREE)[:, None])
    stop = np.broadcast_to(edge[1 : _PANELS + 1], x.shape)
    return Panels(far.start, _WIDTH, powers(_height(between(x, stop) + after, np.exp(x))))


def _two_classes(p: float) -> Function:
    """Return the function :math:`U` for two classes, the first with the fraction `p`."""
    distance = 1.0 / np.sqrt(p * (1.0 - p))
    odds = np.log(p / (1.0 - p))

    def missing(s: Array) -> Array:
        deviation = np.sqrt(2.0 * s)[..., None]
        # the poles of sech lie at a distance of one over the deviation: so fine a step
        step = np.minimum(0.4, 0.2 / deviation)
        z = np.arange(-420.0, 421.0) * step
        sech = 1.0 / np.cosh(0.5 * odds + deviation * z)
        average = np.sum(np.exp(-0.5 * z**2) * step * sech, axis=-1) / np.sqrt(2.0 * np.pi)
        return np.asarray(0.5 * distance * np.exp(-s) * average)

    return missing


def _equal_classes(C: int) -> Function:
    r"""Return the function :math:`U` for `C` equal classes.

    It is :math:`\frac C{C-1}\int f(y)\,[1 - F(a^2 + y)^{C-1}]\,dy` with :math:`a^2 = mC = 4s` (Eq. 8.9).
    """

    def integral(s: float) -> float:
        density, log_F = _scores(4.0 * s)
        return float(C / (C - 1.0) * STEP * np.sum(density * -np.expm1((C - 1.0) * log_F)))

    return lambda s: np.array([integral(float(x)) for x in np.ravel(s)]).reshape(np.shape(s))


@lru_cache(maxsize=1024)
def _scores(a2: float) -> tuple[Array, Array]:
    r"""Density :math:`f(y)` of a Gaussian of variance :math:`a^2` plus a Gumbel variable, and :math:`\log F(a^2 + y)`."""
    a = float(np.sqrt(a2))
    low, high = (np.ceil((_REACH * a + more) / STEP) for more in (4.0, 42.0))
    y = np.arange(-low, high + 1.0) * STEP
    tail = np.minimum(smeared(gumbel_tail, y + a2, a), 1.0)
    with np.errstate(divide="ignore"):
        return smeared(gumbel_density, y, a), np.log1p(-tail)


def gumbel_density(y: Array, power: int = 1) -> Array:
    """Density of a Gumbel variable, :math:`e^{-y} \\exp(-e^{-y})`, or its product with another power of :math:`e^{-y}`."""
    weight = np.exp(-np.maximum(y, -6.5))
    return np.asarray(weight**power * np.exp(-weight))


def gumbel_tail(y: Array) -> Array:
    """Probability that a Gumbel variable exceeds `y`."""
    return np.asarray(-np.expm1(-np.exp(-np.maximum(y, -6.5))))


def smeared(function: Function, y: Array, deviation: float) -> Array:
    """Average of a function over a Gaussian shift, at points a step apart: by a convolution if the Gaussian is wide."""
    if deviation < _SMOOTH:
        return np.asarray(function(y[:, None] - deviation * _HERMITE) @ (_MASS / np.sum(_MASS)))
    # the tail of a wide Gaussian meets functions that grow as fast as exponentials
    reach = int(np.ceil((_REACH + 0.5 * deviation) * deviation / STEP))
    shift = np.arange(-reach, reach + 1.0) * STEP
    weight = np.exp(-0.5 * (shift / deviation) ** 2)
    wide = y[0] + np.arange(-reach, y.size + reach) * STEP
    return np.convolve(function(wide), weight / np.sum(weight), "valid")
