"""A loss as it may be given: by name, as a function of the margin, or as an object with the methods of a loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._adapter import Adapter
from gcnlimit._values import Array, Value, brief
from gcnlimit.errors import ParameterError
from gcnlimit.losses.base import Loss
from gcnlimit.losses.hinge import Hinge
from gcnlimit.losses.logistic import Logistic
from gcnlimit.losses.softmax import Softmax
from gcnlimit.losses.square import Square
from gcnlimit.losses.values import value_problem

__all__ = ["Adapted", "FromValue", "as_loss", "check_values"]

_BY_NAME: dict[str, type[Loss]] = {"square": Square, "logistic": Logistic, "hinge": Hinge, "softmax": Softmax}


@dataclass(frozen=True, eq=False)
class FromValue(Value, Loss):
    r"""Loss from its value alone: a convex function of the margin that decreases at 0 and varies on a scale of 1.

    Parameters
    ----------
    function
        The loss :math:`\ell(z)`, of NumPy arrays.
    kinks
        Margins where a derivative of the loss jumps.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> mine = FromValue(lambda z: np.logaddexp(0.0, -z))
    >>> bool(abs(mine.prox(0.3, v=2.0) - gl.Logistic().prox(0.3, v=2.0)) < 1e-13)
    True
    """

    function: Callable[[Array], npt.ArrayLike]
    kinks: tuple[float, ...] = ()  # type: ignore[misc]

    def __post_init__(self) -> None:
        given: object = self.kinks
        if isinstance(given, list | np.ndarray):
            object.__setattr__(self, "kinks", tuple(np.ravel(given).tolist()))

    def value(self, z: npt.ArrayLike) -> Array:
        """Loss at margin `z`."""
        return np.asarray(self.function(np.array(z, float)))  # a copy, since the function may work in place


class Adapted(Adapter, Loss):
    """An object that has the methods of a loss without being one."""

    __repr__ = Adapter.__repr__

    def pull(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Array, Array]:
        """Pull of the object, if it has one."""
        if not hasattr(self.own, "pull"):
            return super().pull(omega, v)
        pull, slope = self.own.pull(omega, v)
        return np.asarray(pull), np.asarray(slope)


def check_values(loss: Loss) -> None:
    """Refuse a loss of a user whose values cannot be right; the library's own are not looked at.

    >>> check_values(as_loss(lambda z: 1.0 / (1.0 + np.exp(z))))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    gcnlimit.errors.ParameterError: loss = ...: value is not convex near z = -5.99; take a convex function
    """
    given = isinstance(loss, FromValue | Adapted) or not type(loss).__module__.startswith("gcnlimit.")
    if given and (problem := value_problem(loss)):
        raise ParameterError(f"loss = {loss!r}: {problem}")


def as_loss(loss: Any) -> Loss:
    """Return the loss of that name, of that function of the margin, or the object itself if it is a loss.

    >>> as_loss("hinge")
    Hinge()
    """
    if isinstance(loss, str) and loss in _BY_NAME:
        return _BY_NAME[loss]()
    if isinstance(loss, Loss):
        return loss
    if Adapter.fits(loss):
        return Adapted(loss)
    if callable(loss) and not isinstance(loss, type):
        return FromValue(loss)
    problem = "unknown" if isinstance(loss, str) else "not a loss"
    raise ParameterError(
        f"loss = {brief(loss)} is {problem}; choose one of {', '.join(_BY_NAME)}, or pass a function of the margin, "
        "a gcnlimit.Loss, or an object with the methods value, prox and prox_derivative"
    )
