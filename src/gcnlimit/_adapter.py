"""Objects of users that have the methods of a loss or of a penalty without being one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array, Value

__all__ = ["Adapter"]


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
