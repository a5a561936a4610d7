"""A loss as users give it: by name, as a function of the margin, or as a `Loss`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array, Value, brief
from gcnlimit.errors import ParameterError
from gcnlimit.losses.base import Loss
from gcnlimit.losses.hinge import Hinge
from gcnlimit.losses.logistic import Logistic
from gcnlimit.losses.sanity import check_own
from gcnlimit.losses.softmax import Softmax
from gcnlimit.losses.square import Square

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


def as_loss(loss: Any) -> Loss:
    """Return the loss of that name, of that function of the margin, or the object itself if it is a loss.

    >>> as_loss("hinge")
    Hinge()
    """
    if isinstance(loss, str) and loss in _BY_NAME:
        return _BY_NAME[loss]()
    if callable(loss) and not isinstance(loss, type | Loss):
        loss = FromValue(loss)
    if not isinstance(loss, Loss):
        problem = "unknown" if isinstance(loss, str) else "not a loss"
        raise ParameterError(
            f"loss = {brief(loss)} is {problem}; choose one of {', '.join(_BY_NAME)}, or pass a function of the margin or a "
            "gcnlimit.Loss"
        )
    if type(loss) not in _BY_NAME.values():
        check_own("loss", loss)
    return loss
