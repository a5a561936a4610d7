"""The losses: convex functions of the margin z = y h, which enter the theory through their proximal operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from gcnlimit._values import Array, Value
from gcnlimit.errors import ParameterError

__all__ = ["Hinge", "Logistic", "Loss", "Square", "as_loss"]


@runtime_checkable
class Loss(Protocol):
    r"""Interface of a loss; write a class with these three methods to use your own.

    All arguments broadcast. The proximal operator (Eq. 3.6) is
    :math:`\mathrm{prox}_{v\ell}(\omega) = \arg\min_x \ell(x) + (x-\omega)^2 / 2v`. A loss with kinks also offers a
    fourth method, ``breakpoints(v)``: the points where its proximal operator is not smooth, stacked along the first axis
    (see `Hinge`); a loss without it is taken to be smooth, varying on a scale of 1. One more, ``pull(omega, v)``, may return
    :math:`f = (\mathrm{prox} - \omega)/v` and :math:`-f' = (1 - \mathrm{prox}')/v` where they are known without the
    division, which costs digits at small :math:`v`.

    >>> float(Square().value(3.0))
    2.0
    """

    def value(self, z: npt.ArrayLike) -> Array:
        """Loss at margin `z`."""
        ...

    def prox(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """Proximal operator of `v` times the loss, at `omega`."""
        ...

    def prox_derivative(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """Derivative of the proximal operator in `omega`."""
        ...


@dataclass(frozen=True, eq=False)
class Square(Value):
    r"""Square loss :math:`\ell(z) = (1-z)^2/2` (ridge regression).

    >>> float(Square().prox(0.0, v=1.0))
    0.5
    """

    def value(self, z: npt.ArrayLike) -> Array:
        """Loss at margin `z`."""
        return np.asarray(0.5 * (1.0 - np.asarray(z, float)) ** 2)

    def prox(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        r""":math:`(\omega + v)/(1 + v)`."""
        v = np.asarray(v, float)
        return np.asarray((np.asarray(omega, float) + v) / (1.0 + v))

    def prox_derivative(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        r""":math:`1/(1 + v)`."""
        omega, v = np.broadcast_arrays(np.asarray(omega, float), np.asarray(v, float))
        return np.asarray(1.0 / (1.0 + v))


@dataclass(frozen=True, eq=False)
class Logistic(Value):
    r"""Logistic loss :math:`\ell(z) = \log(1 + e^{-z})`.

    >>> loss = Logistic()
    >>> x = loss.prox(0.3, v=2.0)
    >>> bool(abs(x - 0.3 - 2.0 / (1 + np.exp(x))) < 1e-14)  # stationarity: x - omega + v l'(x) = 0
    True
    """

    def value(self, z: npt.ArrayLike) -> Array:
        """Loss at margin `z`."""
        return np.asarray(np.logaddexp(0.0, -np.asarray(z, float)))

    def prox(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        r"""Root of :math:`x = \omega + v\,\sigma(-x)`, by Newton's method.

        The equation is unchanged by :math:`(x, \omega) \to (-x, -\omega - v)`, so that the root may be taken positive. There the
        equation is concave, and Newton's method cannot cycle; it starts from :math:`\omega + W(\frac v2 e^{-\omega})`, a bound
        that holds since :math:`\sigma(-x) \ge e^{-x}/2`, with Lambert's :math:`W` to a percent.
        """
        omega, v = np.broadcast_arrays(np.asarray(omega, float), np.asarray(v, float))
        flip = omega < -0.5 * v
        start = np.where(flip, -omega - v, omega)
        size = np.logaddexp(0.0, np.log(0.5 * np.maximum(v, 1e-300)) - start)
        x = np.maximum(start + size * (1.0 - np.log1p(size) / (2.0 + size)), 0.0)
        for _ in range(100):
            s = expit(-x)
            step = (start + v * s - x) / (1.0 + v * s * (1.0 - s))
            x = np.maximum(x + step, 0.0)
            if not np.any(np.abs(step) > 1e-8 * (1.0 + x)):  # quadratic convergence: the next error is rounding
                break
        return np.asarray(np.where(flip, -x, x))

    def prox_derivative(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        r""":math:`1/(1 + v\,\ell''(x))` at the proximal point :math:`x`."""
        return np.asarray(1.0 - np.asarray(v, float) * self.pull(omega, v)[1])

    def pull(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Array, Array]:
        r"""Pull :math:`f = \sigma(-x)` at the proximal point :math:`x`, and :math:`-f'`; exact however small `v` is (Eq. 3.6)."""
        s = expit(-self.prox(omega, v))
        curvature = s * (1.0 - s)
        return s, np.asarray(curvature / (1.0 + np.asarray(v, float) * curvature))


@dataclass(frozen=True, eq=False)
class Hinge(Value):
    r"""Hinge loss :math:`\ell(z) = \max(0, 1-z)` (support vector machine).

    >>> Hinge().prox([-3.0, 0.5, 2.0], v=1.0)
    array([-2.,  1.,  2.])
    """

    def value(self, z: npt.ArrayLike) -> Array:
        """Loss at margin `z`."""
        return np.asarray(np.maximum(0.0, 1.0 - np.asarray(z, float)))

    def prox(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        r""":math:`\omega` clipped to 1 from below, moved by at most :math:`v`."""
        omega = np.asarray(omega, float)
        return np.asarray(np.maximum(omega, np.minimum(1.0, omega + np.asarray(v, float))))

    def prox_derivative(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """0 where the proximal point sits in the corner at 1, else 1."""
        omega = np.asarray(omega, float)
        return np.asarray(np.where((omega < 1.0) & (omega + np.asarray(v, float) > 1.0), 0.0, 1.0))

    def pull(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Array, Array]:
        r"""Pull :math:`f = (1 - \omega)/v`, clipped to [0, 1], and :math:`-f'` (Eq. 3.6)."""
        v = np.asarray(v, float)
        ratio = (1.0 - np.asarray(omega, float)) / v
        return np.clip(ratio, 0.0, 1.0), np.where((ratio > 0.0) & (ratio < 1.0), 1.0 / v, 0.0)

    def breakpoints(self, v: npt.ArrayLike) -> Array:
        r"""Where the proximal operator has kinks: :math:`1 - v` and 1."""
        v = np.asarray(v, float)
        return np.stack([1.0 - v, np.ones_like(v)])


_BY_NAME: dict[str, type[Square | Logistic | Hinge]] = {"square": Square, "logistic": Logistic, "hinge": Hinge}


def as_loss(loss: str | Loss) -> Loss:
    """Return the loss of that name, or the object itself if it is a loss.

    >>> as_loss("hinge")
    Hinge()
    """
    if isinstance(loss, str):
        if loss not in _BY_NAME:
            raise ParameterError(
                f"loss = {loss!r} is unknown; choose one of {', '.join(_BY_NAME)}, or pass a loss object"
            )
        return _BY_NAME[loss]()
    if isinstance(loss, type) or not isinstance(loss, Loss):
        raise ParameterError(
            f"loss = {loss!r} is not a loss; choose one of {', '.join(_BY_NAME)}, "
            "or pass an object with the methods value, prox and prox_derivative"
        )
    return loss
