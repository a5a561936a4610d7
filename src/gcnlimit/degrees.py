r"""Heterogeneous degrees: the law of the propensities of the nodes.

A pair of nodes is joined with a probability proportional to :math:`\theta_i\theta_j`, so that the mean degree of a node is
:math:`d\,\theta_i` with :math:`\mathbb E\theta = 1`. Averages over the law are sums over the nodes of a quadrature.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy

from gcnlimit._runtime.memory import require
from gcnlimit._validation import as_real, average, broadcast, check_types, number, whole
from gcnlimit._values import Array, Value, brief, shown
from gcnlimit.errors import ParameterError
from gcnlimit.numerics.lanczos import quadrature

# step of the trapezoid rule in log theta: integrands are analytic in a strip of half-width pi/2
_STEP = 0.22
_FINE = 0.55  # the same in deviations of log theta, for a narrow law
_REACH = 38.0  # fall of the logarithm of a density at which it ends
_ALIKE = 1e-15  # variance below which degrees are all alike: rounding moves an accuracy as much
_NONE = 1e-300  # stands for a propensity of 0
_LEAST = -64.0  # log theta below which nothing depends on theta any more


class DegreeLaw(Value):
    """Law of the propensities; `_nodes` gives a quadrature, up to the rounding of its moments."""

    @cached_property
    def theta(self) -> Array:
        """Propensities at which averages are taken, of mean 1."""
        return self._quadrature[0]

    @cached_property
    def weight(self) -> Array:
        """Weights of these propensities, which sum to 1."""
        return self._quadrature[1]

    @cached_property
    def _quadrature(self) -> tuple[Array, Array]:
        if self.bounds == (1.0, 1.0):  # degrees that are alike
            return _frozen(np.ones(1), np.ones(1))
        return _frozen(*self._nodes())

    def _nodes(self) -> tuple[Array, Array]:
        return self.theta, self.weight  # of a law that is given by them

    @property
    @abstractmethod
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest propensity, 0 and infinity included."""

    @abstractmethod
    def moment(self, power: float) -> float:
        r"""Moment :math:`\mathbb E\theta^p`, infinite if it does not exist."""

    def draw(self, rng: np.random.Generator, n: int) -> Array:
        """Propensities of `n` nodes, independent."""
        check_types("draw", rng=(rng, np.random.Generator), n=(n, (int, np.integer)))
        n = whole("n", n, low=0)
        require(f"a draw of {n:.3g} propensities", 8.0 * n, "draw fewer")
        return self._draw(rng, n)

    @abstractmethod
    def _draw(self, rng: np.random.Generator, n: int) -> Array:
        """Propensities of a number of nodes."""

    @cached_property
    def mean_root(self) -> float:
        r"""Number :math:`b = \mathbb E\sqrt\theta \le 1`, through which the law enters the averages over a graph."""
        return self.average(np.sqrt(self.theta))

    def average(self, values: npt.ArrayLike) -> float:
        """Average of one value for each of `theta`."""
        return average(values, self.weight)

    def few(self, count: int) -> DegreeLaw:
        """Law of at most so many propensities that is near this one: the Gauss rule in their logarithms."""
        if self.theta.size <= count:
            return self
        x = np.log(np.maximum(self.theta, _NONE))
        x, weight = quadrature(np.diag(x), np.sqrt(self.weight), count)
        theta = np.exp(x)
        return Degrees(np.where(theta > 2.0 * _NONE, theta, 0.0), weight)

    def asked(self, theta: npt.ArrayLike) -> DegreeLaw:
        """Return the same law with more nodes, of weight 0: what is found at all nodes is then found there as well."""
        more = np.ravel(as_real("theta", theta, low=0))
        theta = np.append(self.theta, more)
        weight = np.append(self.weight, np.zeros(more.size))
        return self.having(theta=theta, weight=weight, mean_root=self.mean_root)


def as_degrees(value: object) -> DegreeLaw | None:
    """Return the law of the degrees, None if they are all alike."""
    if value is None:
        return None
    if isinstance(value, DegreeLaw):
        return None if value.bounds == (1.0, 1.0) else value
    laws = "None, Gamma(variance), LogNormal(variance), Pareto(exponent, cut) or Degrees(sequence)"
    raise ParameterError(f"degrees = {shown(value)} is not a law of degrees; write {laws}")


def _frozen(theta: Array, weight: Array) -> tuple[Array, Array]:
    """Read-only nodes of mean 1 and weights of sum 1, from such up to rounding."""
    weight = weight / np.sum(weight)
    theta = theta / (theta @ weight)
    theta.flags.writeable = weight.flags.writeable = False
    return theta, weight


@dataclass(frozen=True, eq=False, init=False)
class _OfVariance(DegreeLaw):
    """A law of all positive propensities that is known by its variance."""

    variance: float

    def __init__(self, variance: float) -> None:
        checked = number("variance", variance, low=0, high=100)
        object.__setattr__(self, "variance", checked if checked > _ALIKE else 0.0)

    @property
    def bounds(self) -> tuple[float, float]:
        """All positive numbers, or 1 alone."""
        return (0.0, math.inf) if self.variance else (1.0, 1.0)


class Gamma(_OfVariance):
    r"""Gamma law of mean 1, :math:`p(\theta) \propto \theta^{k-1} e^{-k\theta}`, whose shape :math:`k` is one over the variance.

    >>> law = Gamma(variance=0.5)
    >>> round(law.average(law.theta**2), 12), law.moment(2.0).__round__(12)
    (1.5, 1.5)
    """

    def moment(self, power: float) -> float:
        r"""Return :math:`k^{-p}\,\Gamma(k+p)/\Gamma(k)`, infinite for :math:`p \le -k`."""
        power = number("power", power, low=-16, high=16)
        if not self.variance:
            return 1.0
        k = 1.0 / self.variance
        return float(scipy.special.poch(k, power) * k**-power) if k + power > 0.0 else math.inf

    def _draw(self, rng: np.random.Generator, n: int) -> Array:
        return rng.gamma(1.0 / self.variance, self.variance, n) if self.variance else np.ones(n)

    def _nodes(self) -> tuple[Array, Array]:
        k = 1.0 / self.variance
        # the density of log theta falls from its peak like exp(-k (e^x - x - 1)), where the bracket
        # is at least x^2/2 above 0 and x^2/(2 - x) below
        fall = _REACH * self.variance
        low = max(-0.5 * (fall + math.sqrt(fall * (fall + 8.0))), _LEAST)
        high = min(math.sqrt(2.0 * fall), 1.0 + math.log(1.0 + fall))
        step = min(_STEP, _FINE / math.sqrt(k))
        x = np.linspace(low, high, 2 + math.ceil((high - low) / step))
        weight = np.exp(k * (x - np.exp(x) + 1.0))
        weight[0] /= -math.expm1(-k * (x[1] - x[0]))  # the nodes further down, a geometric series
        return np.exp(x), weight


class LogNormal(_OfVariance):
    r"""Log-normal law of mean 1: :math:`\log\theta \sim \mathcal N(-s^2/2, s^2)` with :math:`s^2 = \log(1 + \text{variance})`.

    >>> law = LogNormal(variance=1.0)
    >>> round(law.mean_root, 12) == round(2.0**-0.125, 12)
    True
    """

    def moment(self, power: float) -> float:
        r"""Return :math:`e^{s^2 p(p-1)/2}`."""
        power = number("power", power, low=-16, high=16)
        return math.exp(0.5 * power * (power - 1.0) * math.log1p(self.variance))

    def _draw(self, rng: np.random.Generator, n: int) -> Array:
        s2 = math.log1p(self.variance)
        return np.exp(math.sqrt(s2) * rng.standard_normal(n) - 0.5 * s2)

    def _nodes(self) -> tuple[Array, Array]:
        s = math.sqrt(math.log1p(self.variance))
        # far enough for the moments from -2 to 4
        z = np.arange(-9.0 - 2.0 * s, 9.0 + 4.0 * s, min(_FINE, _STEP / s))
        return np.exp(s * z - 0.5 * s * s), np.exp(-0.5 * z * z)


@dataclass(frozen=True, eq=False, init=False)
class Pareto(DegreeLaw):
    r"""Power law :math:`p(\theta) \propto \theta^{-\text{exponent}}` between a smallest propensity and `cut` times it, of mean 1.

    >>> low, high = Pareto(exponent=2.5, cut=10).bounds
    >>> round(high / low, 12)
    10.0
    """

    exponent: float
    cut: float

    def __init__(self, exponent: float, cut: float) -> None:
        object.__setattr__(self, "exponent", number("exponent", exponent, low=-20, high=50))
        object.__setattr__(self, "cut", number("cut", cut, low=1, high=1e12, open_low=True))

    @property
    def bounds(self) -> tuple[float, float]:
        return self._smallest, self.cut * self._smallest

    @property
    def _smallest(self) -> float:
        return self._integral(1.0 - self.exponent) / self._integral(2.0 - self.exponent)

    def _integral(self, q: float) -> float:
        r"""Return :math:`\int_1^{cut} t^{q-1}\,dt`."""
        return float(scipy.special.boxcox(self.cut, q))

    def moment(self, power: float) -> float:
        """Average of a power of the propensities, a ratio of two integrals."""
        start, power = 1.0 - self.exponent, number("power", power, low=-16, high=16)
        return float(self._smallest**power * self._integral(start + power) / self._integral(start))

    def _draw(self, rng: np.random.Generator, n: int) -> Array:
        """Propensities of `n` nodes, by the inverse of the distribution function."""
        q = 1.0 - self.exponent
        part = self._integral(q) * rng.random(n)
        return np.asarray(self._smallest * scipy.special.inv_boxcox(part, q))

    def _nodes(self) -> tuple[Array, Array]:
        length = math.log(self.cut)
        x, weight = np.polynomial.legendre.leggauss(40 + math.ceil(6.0 * length))
        x = 0.5 * length * (1.0 + x)
        return self._smallest * np.exp(x), weight * np.exp((1.0 - self.exponent) * x)


@dataclass(frozen=True, eq=False, init=False)
class Degrees(DegreeLaw):
    r"""Law of given degrees, such as those of a real graph; only their ratios count.

    Parameters
    ----------
    sequence
        Degrees of the nodes, or values proportional to them, in any order.
    weight
        Fractions of the nodes, up to a common factor; equal by default.

    Examples
    --------
    >>> Degrees([1, 1, 1, 5])
    Degrees(array([0.5, 2.5]), weight=array([0.75, 0.25]))
    >>> Degrees([1, 1, 1, 5]) == Degrees([5.0, 1.0], weight=[0.25, 0.75])
    True
    """

    theta: Array
    weight: Array

    def __init__(self, sequence: npt.ArrayLike, weight: npt.ArrayLike = 1.0) -> None:
        degree = np.asarray(as_real("sequence", sequence, low=0))
        share = np.asarray(as_real("weight", weight, low=0, open_low=True))
        shape = broadcast(nodes=(1,), sequence=degree.shape, weight=share.shape)
        if len(shape) > 1:
            raise ParameterError(f"sequence and weight have shape {shape}; give one for each node")
        if not np.any(degree):
            raise ParameterError("sequence has no degree above 0; give those of a graph with edges")
        distinct, place = np.unique(np.broadcast_to(degree, shape), return_inverse=True)
        count = np.bincount(place, np.broadcast_to(share, shape)).astype(float)
        theta, fraction = _frozen(distinct, count)
        self.__dict__.update(theta=theta, weight=fraction)

    def __repr__(self) -> str:
        return f"Degrees({brief(self.theta)}, weight={brief(self.weight)})"

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest of the degrees, divided by their mean."""
        return float(self.theta[0]), float(self.theta[-1])

    def moment(self, power: float) -> float:
        """Average of a power, infinite for a negative one if a degree is 0."""
        power = number("power", power, low=-16, high=16)
        return math.inf if power < 0.0 and self.theta[0] == 0.0 else self.average(self.theta**power)

    def _draw(self, rng: np.random.Generator, n: int) -> Array:
        """Propensities of `n` nodes, drawn from the given degrees."""
        return np.asarray(rng.choice(self.theta, n, p=self.weight))
