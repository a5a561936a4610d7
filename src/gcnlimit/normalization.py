r"""Normalization of the adjacency: powers of the degrees by which its rows and columns are divided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gcnlimit._validation import number
from gcnlimit._values import Array, Value, brief, shown
from gcnlimit.degrees import DegreeLaw
from gcnlimit.errors import ParameterError

_ENOUGH = 5.0  # edges of a node at which its degree is close enough to its mean
_NAMED = {"symmetric": (0.5, 0.5), "none": (0.0, 0.0), "random-walk": (1.0, 0.0)}


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Normalization(Value):
    r"""Operator :math:`(D + \tau d)^{-p}\, A\, (D + \tau d)^{-q}`, times a constant.

    On nodes of propensity :math:`\theta` it is :math:`\mathrm{diag}(l)\, a_0\, \mathrm{diag}(r)` with
    :math:`l = \sqrt\theta\,[(\theta + \tau)/(1 + \tau)]^{-p}`, likewise :math:`r` with :math:`q`, and the homogeneous
    :math:`a_0`; its spectrum depends on :math:`\phi = lr`. Where all degrees are alike, :math:`\theta = 1`, all agree.

    Parameters
    ----------
    left, right
        Exponents :math:`p` and :math:`q`.
    tau
        Degree added to each node, in units of the mean degree; None for :math:`1/\lambda^2`, the best.

    >>> as_normalization("random-walk") == as_normalization((1, 0))
    True
    >>> as_normalization("symmetric"), as_normalization((0.25, 0.25)), Regularized()
    ('symmetric', (0.25, 0.25), Regularized())
    """

    left: float
    right: float
    tau: float | None

    def __init__(self, left: float, right: float, tau: float | None = 0.0) -> None:
        object.__setattr__(self, "left", number("left", left, low=-10, high=10))
        object.__setattr__(self, "right", number("right", right, low=-10, high=10))
        object.__setattr__(self, "tau", tau if tau is None else number("tau", tau, low=0))

    def __repr__(self) -> str:
        exponents = (self.left, self.right)
        if self.tau == 0.0:
            names = {pair: name for name, pair in _NAMED.items()}
            return repr(names.get(exponents, exponents))
        if exponents == (0.5, 0.5):
            return "Regularized()" if self.tau is None else f"Regularized(tau={self.tau})"
        return f"Normalization({self.left}, {self.right}, tau={self.tau})"

    @property
    def plain(self) -> bool:
        """Whether it is the symmetric one, for which the operator is :math:`a_0` itself."""
        return (self.left, self.right, self.tau) == (0.5, 0.5, 0.0)

    def factors(self, theta: Array, signal: Array) -> tuple[Array, Array]:
        r"""Factors :math:`l` and :math:`r`, points along the first axis and `theta` along the second."""
        if self.tau == 0.0:  # no scale but the degrees: also where they are 0
            shape = (signal.size, theta.size)
            left, right = theta ** (0.5 - self.left), theta ** (0.5 - self.right)
            return np.broadcast_to(left, shape), np.broadcast_to(right, shape)
        left, right = self.scales(theta, signal)
        return np.sqrt(theta) * left, np.sqrt(theta) * right

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
        np.power(mixed, -self.left, where=mixed > 0.0, out=left)
        np.power(mixed, -self.right, where=mixed > 0.0, out=right)
        return left, right

    def check(self, law: DegreeLaw) -> None:
        r"""Raise `ParameterError` if the theory has no answer for that law of the degrees.

        The factor :math:`\phi` must be bounded, for the spectrum to have an edge, and :math:`\mathbb E l^2`,
        :math:`\mathbb E r^4` finite, for outputs and weights to have a variance.
        """
        smallest, largest = law.bounds
        power = 1.0 - self.left - self.right
        edge = f"has no spectral edge under {brief(law)}"
        remedy = "take normalization='symmetric' or Regularized()"
        problem = None
        if power > 0.0 and math.isinf(largest):
            problem = f"{edge}, whose hubs are unbounded"
            remedy += ", or Degrees(sequence) of the graph"
        elif self.tau == 0.0 and power < 0.0 and smallest == 0.0:
            problem = f"{edge}, whose leaves have propensities down to 0"
        elif self.tau == 0.0:
            powers = (1.0 - 2.0 * self.left, 2.0 - 4.0 * self.right)
            infinite = [f"theta**{p:g}" for p in powers if math.isinf(law.moment(p))]
            if infinite:
                problem = (
                    f"needs the average of {infinite[0]}, which is infinite under {brief(law)}"
                )
        if problem:
            raise ParameterError(f"normalization = {self!r} {problem}; {remedy}")

    def leaves(self, law: DegreeLaw, degree: float) -> str | None:
        """Sentence of warning where nodes of few edges make eigenvalues of their own, outside the spectrum; else None."""
        order = np.argsort(law.theta)
        rank = np.searchsorted(np.cumsum(law.weight[order]), 0.01)
        fewest = degree * float(law.theta[order][rank])
        if self.tau != 0.0 or self.left + self.right < 1.0 or fewest >= _ENOUGH:
            return None
        rare = f"one node in a hundred has about {fewest:.2g} edges or less"
        problem = f"normalization = {self!r} is not reliable at degree {degree:g}: {rare}"
        return f"{problem}; take Regularized() or a larger degree"


class Regularized(Normalization):
    r"""Regularized normalization :math:`(D + \tau d)^{-1/2} A\, (D + \tau d)^{-1/2}`.

    With :math:`\tau = 1/\lambda^2`, the default, it is that of the algorithm that reaches the ceiling: neither hubs nor leaves
    break it, and its spectral transition is the optimal one, :math:`\lambda^2\,\mathbb E\theta^2 = 1`.

    >>> Regularized(tau=2.0)  # in units of the mean degree
    Regularized(tau=2.0)
    """

    __repr__ = Normalization.__repr__

    def __init__(self, tau: float | None = None) -> None:
        super().__init__(0.5, 0.5, tau)


def as_normalization(value: object) -> Normalization:
    """Return the normalization of a name, a pair of exponents, or itself."""
    if isinstance(value, Normalization):
        return value
    if isinstance(value, str) and value == "regularized":
        return Regularized()
    if isinstance(value, str) and value in _NAMED:
        return Normalization(*_NAMED[value])
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2:
        return Normalization(*value)
    known = "'symmetric', 'none', 'random-walk', 'regularized' or a pair of exponents (p, q)"
    raise ParameterError(f"normalization = {shown(value)} is not known; write {known}")
