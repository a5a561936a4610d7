r"""Normalization of the adjacency: powers of the degrees by which its rows and columns are divided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from gcnlimit._validation import Numbers, as_real
from gcnlimit._values import Array, Mask, Parameter, brief, shown
from gcnlimit.degrees import DegreeLaw
from gcnlimit.errors import ParameterError

_ENOUGH = 5.0  # edges of a node at which its degree is close enough to its mean
_MOST = 1e16  # average of a power of the propensities from which rounding decides
NUMBERS = ("left", "right", "tau")
_REMEDY = "normalization='regularized' (Regularized())"  # on the command line, and in Python
_NAMED = {"symmetric": (0.5, 0.5), "none": (0.0, 0.0), "random-walk": (1.0, 0.0)}


@dataclass(frozen=True, eq=False, init=False)
class Normalization(Numbers):
    r"""Operator :math:`(D + \tau d)^{-p}\, A\, (D + \tau d)^{-q}`, times a constant.

    On nodes of propensity :math:`\theta` it is :math:`\mathrm{diag}(l)\, a_0\, \mathrm{diag}(r)` with
    :math:`l = \sqrt\theta\,[(\theta + \tau)/(1 + \tau)]^{-p}`, likewise :math:`r` with :math:`q`, and the homogeneous
    :math:`a_0`; its spectrum depends on :math:`\phi = lr`. Where all degrees are alike, :math:`\theta = 1`, all agree.

    Parameters
    ----------
    left, right
        Exponents :math:`p` and :math:`q`.
    tau
        Degree added to each node, in units of the mean degree; None for :math:`1/\lambda^2`,
        best where labels and features carry little information. Arrays broadcast with the parameters of data and network.

    >>> as_normalization("random-walk") == as_normalization((1, 0))
    True
    >>> as_normalization("symmetric"), as_normalization((0.25, 0.25)), Regularized()
    ('symmetric', (0.25, 0.25), Regularized())
    """

    names = NUMBERS
    left: Parameter
    right: Parameter
    tau: Parameter | None

    def __init__(self, left: ArrayLike, right: ArrayLike, tau: ArrayLike | None = 0.0) -> None:
        object.__setattr__(self, "left", as_real("left", left, low=-10, high=10))
        object.__setattr__(self, "right", as_real("right", right, low=-10, high=10))
        object.__setattr__(self, "tau", tau if tau is None else as_real("tau", tau, low=0))
        self.shape  # noqa: B018 - refuses shapes that do not broadcast

    def __repr__(self) -> str:
        exponents = (self.left, self.right)
        if not self.shape:
            names: dict[Any, str] = {pair: name for name, pair in _NAMED.items()}
            if self.tau == 0.0:
                return repr(names.get(exponents, exponents))
            if exponents == (0.5, 0.5) and self.tau is None:
                return "Regularized()"
        left, right, tau = map(brief, (*exponents, self.tau))
        if np.all(np.equal(self.left, 0.5) & np.equal(self.right, 0.5)):
            return f"Regularized(tau={tau})"
        return f"Normalization({left}, {right}, tau={tau})"

    def replaced(self, **numbers: Any) -> Self:
        """Same normalization with some of its numbers changed."""
        checked = Normalization(**{name: getattr(self, name) for name in NUMBERS} | numbers)
        return self.having(**{name: getattr(checked, name) for name in NUMBERS})

    def single(self) -> Self:
        """Same normalization if all its points agree, or a `ParameterError`: one graph has one operator."""

        def only(numbers: Array) -> Any:
            if np.ptp(numbers) > 0.0:
                got = f"normalization = {self!r} has several values for one graph"
                raise ParameterError(f"{got}; give one at a time")
            return numbers.flat[0]

        return self._mapped(only)

    @property
    def _bare(self) -> Mask:
        """Where no degree is added."""
        return np.asarray(self.tau is not None and np.equal(self.tau, 0.0))

    @property
    def plain(self) -> bool:
        """Whether it is the symmetric one, for which the operator is :math:`a_0` itself."""
        if not self.shape:  # the usual case, at once
            return (self.left, self.right, self.tau) == (0.5, 0.5, 0.0)
        return bool(np.all(np.equal(self.left, 0.5) & np.equal(self.right, 0.5) & self._bare))

    def factors(self, theta: Array, signal: Array) -> tuple[Array, Array]:
        r"""Factors :math:`l` and :math:`r`, points along the first axis and `theta` along the second."""
        bare = _column(self._bare)  # no scale but the degrees: also where they are 0
        shape = (signal.size, theta.size)
        if np.all(bare):
            powers = (theta ** (0.5 - _column(p)) for p in (self.left, self.right))
            left, right = (np.broadcast_to(power, shape) for power in powers)
            return left, right
        left, right = (np.sqrt(theta) * scale for scale in self.scales(theta, signal))
        if np.any(bare):
            rows = np.flatnonzero(np.broadcast_to(bare[:, 0], signal.size))
            left[rows], right[rows] = self[rows].factors(theta, signal[rows])
        return left, right

    def added(self, signal: Array) -> Array:
        r"""Degree :math:`\tau` added to each node, at each signal."""
        with np.errstate(divide="ignore"):
            return 1.0 / np.square(signal) if self.tau is None else np.full(signal.size, self.tau)

    def scales(self, theta: Array, signal: Array) -> tuple[Array, Array]:
        r"""Powers :math:`[(\theta + \tau)/(1 + \tau)]^{-p}` and with :math:`q`, likewise; 0 for nodes without an edge."""
        # finite also for tau = inf, where the degrees do not matter
        share = 1.0 / (1.0 + self.added(signal)[:, None])
        mixed = 1.0 + share * (theta - 1.0)
        left, right = np.zeros_like(mixed), np.zeros_like(mixed)
        np.power(mixed, -_column(self.left), where=mixed > 0.0, out=left)
        np.power(mixed, -_column(self.right), where=mixed > 0.0, out=right)
        return left, right

    def refusal(self, law: DegreeLaw) -> str | None:
        r"""Sentence that says why the theory has no answer for that law of the degrees; None if it has one.

        The factor :math:`\phi` must be bounded, for the spectrum to have an edge, and :math:`\mathbb E l^2`,
        :math:`\mathbb E r^4` finite, for outputs and weights to have a variance.
        """
        smallest, largest = law.bounds
        power = 1.0 - np.add(self.left, self.right)
        bare = np.broadcast_to(self._bare, self.shape)
        edge = f"has no spectral edge under {brief(law)}"
        remedy = f"take normalization='symmetric' or {_REMEDY}"
        problem = None
        if np.any(power > 0.0) and math.isinf(largest):
            problem = f"{edge}, whose hubs are unbounded"
            remedy += ", or Degrees(sequence) of the graph"
        elif np.any(bare & (power < 0.0)) and smallest == 0.0:
            problem = f"{edge}, whose leaves have propensities down to 0"
        elif np.any(bare):
            needed = (1.0 - 2.0 * np.asarray(self.left), 2.0 - 4.0 * np.asarray(self.right))
            # moments that are finite at both ends of a range of powers are finite within it
            powers = [np.broadcast_to(p, self.shape)[bare] for p in needed]
            ends = np.concatenate([[p.min(), p.max()] for p in powers])
            moments = {f"theta**{p:g}": law.moment(float(p)) for p in ends}
            name, most = max(moments.items(), key=lambda moment: moment[1])
            if not most < _MOST:
                size = "infinite" if math.isinf(most) else f"{most:.3g}"
                problem = f"needs the average of {name}, which is {size} under {brief(law)}"
        return f"normalization = {self!r} {problem}; {remedy}" if problem else None

    def check(self, law: DegreeLaw) -> None:
        """Raise `ParameterError` if the theory has no answer for that law of the degrees."""
        refused = self.refusal(law)
        if refused:
            raise ParameterError(refused)

    def leaves(self, law: DegreeLaw | None, degree: float) -> str | None:
        """Sentence of warning where nodes of few edges make eigenvalues of their own, outside the spectrum; else None."""
        if law is None:
            return None
        order = np.argsort(law.theta)
        rank = np.searchsorted(np.cumsum(law.weight[order]), 0.01)
        fewest = degree * float(law.theta[order][rank])
        if not np.any(self._bare & (np.add(self.left, self.right) >= 1.0)) or fewest >= _ENOUGH:
            return None
        rare = f"one node in a hundred has about {fewest:.2g} edges or less"
        problem = f"normalization = {self!r} is not reliable at degree {degree:g}: {rare}"
        return f"{problem}; take {_REMEDY} or a larger degree"


class Regularized(Normalization):
    r"""Regularized normalization :math:`(D + \tau d)^{-1/2} A\, (D + \tau d)^{-1/2}`.

    The default :math:`\tau = 1/\lambda^2` comes from the linearized algorithm of the ceiling: neither hubs nor leaves spoil it,
    and its spectral transition is the optimal one, :math:`\lambda^2\,\mathbb E\theta^2 = 1`.

    >>> Regularized(tau=2.0)  # in units of the mean degree
    Regularized(tau=2.0)
    """

    __repr__ = Normalization.__repr__

    def __init__(self, tau: ArrayLike | None = None) -> None:
        super().__init__(0.5, 0.5, tau)


_BY_NAME = {name: Normalization(*p) for name, p in _NAMED.items()} | {"regularized": Regularized()}


def _column(number: Any) -> Array:
    """One number, or one for each point, beside an axis of propensities."""
    return np.atleast_1d(number)[:, None]


def as_normalization(value: object) -> Normalization:
    """Return the normalization of a name, a pair of exponents, or itself."""
    if isinstance(value, Normalization):
        return value
    if isinstance(value, str) and value in _BY_NAME:
        return _BY_NAME[value]
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2:
        return Normalization(*value)
    names = "'symmetric', 'none', 'random-walk', 'regularized' or a pair of exponents (p, q)"
    raise ParameterError(f"normalization = {shown(value)} is not known; write {names}")
