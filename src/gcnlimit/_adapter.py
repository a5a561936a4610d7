"""Losses and penalties of users: objects that have their methods without being one, and a first look at their derivative."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array, Value
from gcnlimit.errors import ParameterError

__all__ = ["Adapter", "check_derivative"]

_OMEGA, _V, _STEP = np.array([-2.317, -0.413, 0.371, 1.129, 2.903])[:, None], np.array([0.713, 3.31]), 1e-5


@dataclass(frozen=True, eq=False, repr=False)
class Adapter(Value):
    """A convex function known by its value and its proximal operator: the methods of the object `own`."""

    own: Any

    @staticmethod
    def fits(given: object) -> bool:
        """Whether an object has these methods; a class, or a name, does not."""
        methods = ("value", "prox", "prox_derivative")
        return not isinstance(given, str | type) and all(hasattr(given, method) for method in methods)

    def __repr__(self) -> str:
        return repr(self.own)

    def value(self, x: npt.ArrayLike) -> Array:
        """Value at `x`."""
        return np.asarray(self.own.value(x))

    def prox(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """Proximal operator of `v` times the function, at `omega`."""
        return np.asarray(self.own.prox(omega, v))

    def prox_derivative(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """Derivative of the proximal operator in `omega`."""
        return np.asarray(self.own.prox_derivative(omega, v))

    def breakpoints(self, v: npt.ArrayLike) -> Array | None:
        """Points `omega` where the proximal operator is not smooth, if the object names them."""
        kinks = self.own.breakpoints(v) if hasattr(self.own, "breakpoints") else None
        return None if kinks is None else np.asarray(kinks, float)


def check_derivative(name: str, given: Any) -> None:
    """Refuse a loss or penalty of a user whose `prox_derivative` is not that of its `prox`, by differences at ten places.

    The library's own are not looked at.

    >>> from gcnlimit import Square
    >>> check_derivative("loss", Square())
    """
    own = getattr(given, "own", given)
    if type(own).__module__.startswith("gcnlimit."):
        return
    with np.errstate(all="ignore"):
        low, here, high = (np.asarray(given.prox(_OMEGA + step, _V)) for step in (-_STEP, 0.0, _STEP))
        slope, kink = (high - low) / (2.0 * _STEP), np.abs(high + low - 2.0 * here) > 1e-3 * _STEP
        found = np.broadcast_to(given.prox_derivative(_OMEGA, _V), slope.shape)
        wrong = np.argwhere(~kink & (np.abs(found - slope) > 1e-3 * (1.0 + np.abs(slope))))
    if len(wrong):
        i, j = wrong[0]
        raise ParameterError(
            f"{name} = {own!r}: prox_derivative is {found[i, j]:g} at omega = {_OMEGA[i, 0]:g}, v = {_V[j]:g}, where prox "
            f"changes by {slope[i, j]:g} per unit of omega; correct one of them"
        )
