"""What a loss is: a convex function of the margin, whose proximal operator enters the theory and the training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.losses import from_value

_LOST = 1e-12  # v over the size of an output below which its move by the proximal operator is lost in rounding


class Loss(ABC):
    r"""A convex function :math:`\ell` of the margin :math:`z = yh` that decreases at 0; all arguments broadcast.

    A new loss defines `value`, and `kinks` if a derivative of it jumps. Its proximal operator (Eq. 3.6)
    :math:`\mathrm{prox}_{v\ell}(\omega) = \arg\min_x \ell(x) + (x-\omega)^2 / 2v` is then found by Newton's method, for a loss
    that varies on a scale of 1. Closed forms are faster: `derivatives`, or `prox` and `prox_derivative` with `breakpoints`;
    `gcnlimit.check_loss` checks them. Each method is by default derived from those above it. So a subclass that redefines one
    takes the default of those below it, not what its parent had made of another loss.

    Examples
    --------
    >>> class Exponential(Loss):
    ...     def value(self, z):
    ...         return np.exp(-z)
    >>> x = Exponential().prox(0.5, v=2.0)
    >>> bool(abs(x - 0.5 - 2.0 * np.exp(-x)) < 1e-12)  # stationarity: x - omega + v l'(x) = 0
    True
    """

    @abstractmethod
    def value(self, z: npt.ArrayLike) -> Array:
        """Loss at margin `z`."""

    kinks: ClassVar[tuple[float, ...]] = ()
    """Margins where a derivative of the loss jumps."""

    def derivatives(self, z: npt.ArrayLike) -> tuple[Array, Array]:
        r"""First two derivatives :math:`\ell'`, :math:`\ell''` at margin `z`, from the right at a kink."""
        z = np.asarray(z, float)
        return from_value.derivatives(self.value, self.kinks, z, np.searchsorted(self.kinks, z, side="right"))

    def prox(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """Proximal operator of `v` times the loss, at `omega`."""
        return from_value.prox(self._slopes, self.kinks, np.asarray(omega, float), np.asarray(v, float))

    def prox_derivative(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        r"""Derivative of the proximal operator in `omega`: :math:`1/(1 + v\ell'')` there, 0 in a corner."""
        x = self.prox(omega, v)
        return np.where(np.isin(x, self.kinks), 0.0, 1.0 / (1.0 + np.asarray(v, float) * self.derivatives(x)[1]))

    def pull(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Array, Array]:
        r"""Pull :math:`f = (\mathrm{prox} - \omega)/v` of the loss on an output, and :math:`-f' = (1 - \mathrm{prox}')/v`.

        The first is :math:`-\ell'` at the proximal point; NaN where the division would lose it in rounding.
        """
        omega, v = np.asarray(omega, float), np.asarray(v, float)
        if type(self).prox is Loss.prox:
            x = self.prox(omega, v)
            corner, (slope, curvature) = np.isin(x, self.kinks), self.derivatives(x)
            return np.where(corner, (x - omega) / v, -slope), np.where(
                corner, 1.0 / v, curvature / (1.0 + v * curvature)
            )
        v = np.where(v > _LOST * np.abs(omega), v, np.nan)
        return (self.prox(omega, v) - omega) / v, (1.0 - self.prox_derivative(omega, v)) / v

    def breakpoints(self, v: npt.ArrayLike) -> Array | None:
        """Points `omega` where the proximal operator is not smooth, stacked along the first axis; None if there are none."""
        if not self.kinks:
            return None
        slopes = [
            (z, float(self._slopes(np.asarray(z), k + side)[0])) for k, z in enumerate(self.kinks) for side in (0, 1)
        ]
        return np.stack([z + np.asarray(v, float) * slope for z, slope in slopes])

    def gaussian_pull(self, mean: Array, variance: Array, v: Array) -> tuple[Array, Array, Array] | None:
        r"""Averages of :math:`f`, :math:`f^2` and :math:`-f'` over a Gaussian output; None if they are not closed."""
        return None

    def gaussian_losses(self, mean: Array, variance: Array, v: Array) -> tuple[Array, Array] | None:
        """Averages of the loss at a Gaussian output and at its proximal point; None if they are not closed."""
        return None

    slope_at_zero: ClassVar[float | None] = None
    """Derivative of the loss at margin 0; None if it is to be found numerically."""

    smallest_response: ClassVar[float] = 1e-9
    """Response `v` that stands for 0: the smallest at which the averages of `pull` keep their digits."""

    training: ClassVar[Literal["convex", "logistic", "ridge"]] = "convex"
    """Algorithm that trains a network with this loss: that of any convex loss, or one of its own."""

    def _slopes(self, z: Array, piece: Any) -> tuple[Array, Array]:
        """Derivatives at `z` on a given piece between kinks."""
        if type(self).derivatives is Loss.derivatives:
            return from_value.derivatives(self.value, self.kinks, z, np.asarray(piece))
        inside = np.concatenate([[-np.inf], self.kinks, [np.inf]])
        return self.derivatives(np.minimum(z, np.nextafter(inside[np.asarray(piece) + 1], -np.inf)))

    def __init_subclass__(cls, **options: Any) -> None:
        """Forget what a parent made of a method that `cls` redefines."""
        super().__init_subclass__(**options)
        parent = super(cls, cls)
        redefined = [
            k for k, name in enumerate(_ORDER) if name in vars(cls) and getattr(parent, name) is not getattr(Loss, name)
        ]
        for name in _ORDER[redefined[0] :] if redefined else ():
            if name not in vars(cls):
                setattr(cls, name, vars(Loss)[name])


_ORDER = (
    *("value", "kinks", "derivatives", "prox", "prox_derivative", "pull", "breakpoints"),
    *("gaussian_pull", "gaussian_losses", "slope_at_zero", "smallest_response", "training"),
)
