"""Losses and penalties of users: objects with their methods, and a first look at their proximal operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array, Value
from gcnlimit.errors import ParameterError

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


def check_prox(name: str, given: Any) -> None:
    """Refuse a loss or penalty of a user whose `prox` does not minimise, or whose `prox_derivative` is not that of its `prox`.

    Both are looked at in ten places; the library's own are not.

    >>> from gcnlimit import Square
    >>> check_prox("loss", Square())
    """
    own = getattr(given, "own", given)
    if type(own).__module__.startswith("gcnlimit."):
        return
    with np.errstate(all="ignore"):
        problem = prox_problem(given, _OMEGA, _V) or _derivative_problem(given)
    if problem:
        raise ParameterError(f"{name} = {own!r}: {problem}")


def prox_problem(given: Any, omega: Array, v: Array) -> str | None:
    r"""What is wrong with a proximal operator, if it has not the shape of its arguments or does not minimise.

    The objective :math:`\ell(x) + (x-\omega)^2/2v` is compared with that of points nearby and farther away.
    """
    shape = np.broadcast_shapes(omega.shape, v.shape)
    x = np.asarray(given.prox(omega, v))
    if x.shape != shape:
        return (
            f"prox gives shape {x.shape} for omega of shape {omega.shape} and v of shape {v.shape}; let them broadcast"
        )

    def objective(x: Array) -> Array:
        return np.asarray(given.value(x) + (x - omega) ** 2 / (2.0 * v))

    least = objective(x)
    for move in (step * sign for step in (1e-3, 1e-2, 0.1, 1.0, 10.0) for sign in (1, -1)):
        lower = ~(objective(x + move) >= least - 1e-11 * (1.0 + np.abs(least)))
        if lower.any():
            i, j = np.argwhere(lower)[0]
            place = f"prox is {x[i, j]:g} at omega = {omega[i, 0]:.6g}, v = {v[j]:g}"
            return f"{place}, but value(x) + (x - omega)^2/2v is lower at x = {x[i, j] + move:g}"
    return None


def _derivative_problem(given: Any) -> str | None:
    """Where `prox_derivative` differs from differences of `prox`, or these from what is convex, away from kinks."""
    low, here, high = (np.asarray(given.prox(_OMEGA + step, _V)) for step in (-_STEP, 0.0, _STEP))
    slope, kink = (high - low) / (2.0 * _STEP), np.abs(high + low - 2.0 * here) > 1e-3 * _STEP
    found = np.broadcast_to(given.prox_derivative(_OMEGA, _V), slope.shape)
    wrong = np.argwhere(~kink & ~(np.abs(found - slope) <= 1e-3 * (1.0 + np.abs(slope))))
    steep = np.argwhere(~kink & ((slope < -1e-3) | (slope > 1.0 + 1e-3)))
    if len(wrong):
        i, j = wrong[0]
        return (
            f"prox_derivative is {found[i, j]:g} at omega = {_OMEGA[i, 0]:g}, v = {_V[j]:g}, where prox changes by "
            f"{slope[i, j]:g} per unit of omega; correct one of them"
        )
    if len(steep):
        i, j = steep[0]
        change = f"prox changes by {slope[i, j]:g} per unit of omega at omega = {_OMEGA[i, 0]:g}, v = {_V[j]:g}"
        return f"{change}, and that of a convex function by 0 to 1; take a convex one"
    return None
