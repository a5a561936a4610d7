r"""Penalties on the weights, :math:`r \sum_\nu \gamma(w_\nu)`: strictly convex functions of one weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import number, reals
from gcnlimit._values import Array, Value, shown
from gcnlimit.errors import ParameterError
from gcnlimit.losses.base import Convex, both
from gcnlimit.losses.custom import FromValue, check_own


class Penalty(Convex):
    r"""A strictly convex function :math:`\gamma` of one weight, least at 0; arguments broadcast.

    A new penalty defines `value`; `kinks` and closed forms, such as the proximal operator
    :math:`\mathrm{prox}_{v\gamma}(\omega) = \arg\min_x \gamma(x) + (x-\omega)^2/2v`, are as in `Loss`.
    """


@dataclass(frozen=True, eq=False)
class L2(Value, Penalty):
    r"""Squared weights, :math:`\gamma(w) = w^2/2` (weight decay).

    >>> round(float(L2().prox(3.0, v=2.0)), 12)
    1.0
    """

    def value(self, w: npt.ArrayLike) -> Array:
        return np.asarray(0.5 * reals("w", w) ** 2)


@dataclass(frozen=True, eq=False, init=False)
class ElasticNet(Value, Penalty):
    r"""Elastic net, :math:`\gamma(w) = s\,|w| + (1 - s)\, w^2/2`, which sets small weights to 0.

    The share :math:`s`, `l1_ratio`, is at least 0 and below 1; at 1 the penalty would not be strictly convex.

    >>> ElasticNet(0.5).prox([-3.0, 0.4, 3.0], v=1.0).round(4)
    array([-1.6667,  0.    ,  1.6667])
    """

    l1_ratio: float

    def __init__(self, l1_ratio: float) -> None:
        ratio = number("l1_ratio", l1_ratio, low=0, high=1)
        if ratio == 1.0:
            raise ParameterError("l1_ratio = 1 is not allowed; it must be at least 0 and below 1")
        object.__setattr__(self, "l1_ratio", ratio)

    def value(self, w: npt.ArrayLike) -> Array:
        w = reals("w", w)
        return np.asarray(self.l1_ratio * np.abs(w) + 0.5 * (1.0 - self.l1_ratio) * w**2)

    def prox(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """Weight shrunk towards 0 by a constant, then by a factor."""
        omega, v = both(omega, v)
        left = np.maximum(np.abs(omega) - v * self.l1_ratio, 0.0)
        return np.asarray(np.sign(omega) * left / (1.0 + v * (1.0 - self.l1_ratio)))

    def prox_derivative(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """0 where the weight is set to 0."""
        omega, v = both(omega, v)
        slope = 1.0 / (1.0 + v * (1.0 - self.l1_ratio))
        return np.where(np.abs(omega) > v * self.l1_ratio, slope, 0.0)

    def breakpoints(self, v: npt.ArrayLike) -> Array | None:
        """Where weights become 0."""
        edge = reals("v", v) * self.l1_ratio
        return np.stack([-edge, edge])


@dataclass(frozen=True, eq=False)
class Mixed(Value, Penalty):
    r"""A share of a penalty, and of the squared weights for the rest.

    Its proximal operator is that of the penalty, at another point: :math:`\mathrm{prox}_{v'\gamma}(\omega/c)` with
    :math:`c = 1 + v(1 - s)` and :math:`v' = vs/c`.
    """

    penalty: Penalty
    share: float

    def value(self, w: npt.ArrayLike) -> Array:
        return self.share * self.penalty.value(w) + (1.0 - self.share) * L2().value(w)

    def prox(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        omega, v = both(omega, v)
        divisor, rest = self._part(v)
        return self.penalty.prox(omega / divisor, rest)

    def prox_derivative(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        omega, v = both(omega, v)
        divisor, rest = self._part(v)
        return self.penalty.prox_derivative(omega / divisor, rest) / divisor

    def breakpoints(self, v: npt.ArrayLike) -> Array | None:
        divisor, rest = self._part(v)
        kinks = self.penalty.breakpoints(rest)
        return None if kinks is None else kinks * divisor

    def _part(self, v: npt.ArrayLike) -> tuple[Array, Array]:
        v = reals("v", v)
        divisor = 1.0 + v * (1.0 - self.share)
        return divisor, v * self.share / divisor


Penalty.register(FromValue)  # a function of a weight has the same methods as one of the margin


def as_penalty(penalty: Any) -> Penalty:
    """Return the penalty of that name, of that function of a weight, or the object itself if it is a penalty.

    A function that is the squared weights is recognized, since some answers are known for these only.

    >>> as_penalty("l2"), as_penalty(lambda w: w**2 / 2)
    (L2(), L2())
    """
    if isinstance(penalty, str) and penalty == "l2":
        return L2()
    if callable(penalty) and not isinstance(penalty, type | Penalty):
        penalty = FromValue(penalty)
    if not isinstance(penalty, Penalty):
        remedy = 'take "l2", gcnlimit.ElasticNet, a function of a weight, or a gcnlimit.Penalty'
        raise ParameterError(f"penalty = {shown(penalty)} is not a penalty; {remedy}")
    if isinstance(penalty, L2 | ElasticNet):
        return penalty
    check_own("penalty", penalty, least_at_0=True)
    is_square = np.allclose(penalty.value(_W), L2().value(_W), rtol=1e-14, atol=0.0)
    return L2() if is_square and isinstance(penalty, FromValue) else penalty


_W = np.linspace(-7.3, 11.0, 8)
