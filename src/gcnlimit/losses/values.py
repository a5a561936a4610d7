"""A first look at the values of a loss: what would make every answer with it wrong, in one sentence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gcnlimit._values import Array
from gcnlimit.losses.base import Loss

__all__ = ["jump", "value_problem"]

_Z = np.linspace(-6.0, 6.0, 1201)


def value_problem(loss: Loss, *, least_at_0: bool = False) -> str | None:
    r"""What is wrong with the values of a loss at margins from -6 to 6, if something is.

    They must be real numbers, one for each margin, convex, and decrease at 0, or be least there (a penalty). A function whose
    derivatives come from its values must declare its kinks: a hinge without its corner would have another solution.

    >>> from gcnlimit.losses import FromValue
    >>> value_problem(FromValue(lambda z: np.logaddexp(0.0, -z)))
    >>> value_problem(FromValue(lambda z: np.maximum(0.0, 1.0 - z)))
    'a derivative of value jumps at z = 1; declare it, as in kinks = (1,) of losses.FromValue'
    """
    with np.errstate(all="ignore"):
        value = np.asarray(loss.value(_Z.copy()))
        return _form(value) or _shape(value, least_at_0) or _order(loss) or _kink(loss)


def _form(value: Array) -> str | None:
    if value.shape != _Z.shape:
        return f"value gives shape {value.shape} for margins of shape {_Z.shape}; compute it elementwise"
    if value.dtype.kind not in "biuf" or value.dtype in (np.float16, np.float32):
        return f"value has dtype {value.dtype}; compute it as real numbers in double precision"
    bad = ~np.isfinite(value)
    return f"value is {value[bad][0]} at z = {_Z[bad][0]:g}; it must be finite" if bad.any() else None


def _shape(value: Array, least_at_0: bool) -> str | None:
    concave = value[2:] + value[:-2] - 2.0 * value[1:-1] < -1e-12 * (1.0 + np.abs(value[1:-1]))
    if concave.any():
        return f"value is not convex near z = {_Z[1:-1][concave][0]:g}; take a convex function"
    if least_at_0:
        return None if np.argmin(value) == _Z.size // 2 else "value is not least at 0; take a penalty that is"
    if not value[601] < value[599]:
        return "value does not decrease at z = 0, so that outputs are not pushed towards their labels"
    return None


def _order(loss: Loss) -> str | None:
    """Kinks are places in increasing order, which the search for the proximal point relies on."""
    kinks = np.asarray(loss.kinks)
    whole = kinks.ndim == 1 and (kinks.dtype.kind in "iuf" or not kinks.size)
    if not whole or not np.all(np.isfinite(kinks)) or np.any(np.diff(kinks) <= 0):
        return f"kinks = {loss.kinks!r} are not allowed; list the margins in increasing order"
    return None


def _kink(loss: Loss) -> str | None:
    if type(loss).prox is not Loss.prox or type(loss).derivatives is not Loss.derivatives:
        return None

    def slope(z: Array) -> Array:
        return np.asarray((loss.value(z + 1e-7) - loss.value(z - 1e-7)) / 2e-7)

    def curvature(z: Array) -> Array:
        return np.asarray((loss.value(z + 1e-4) + loss.value(z - 1e-4) - 2.0 * loss.value(z)) / 1e-8)

    for derivative, width in ((slope, 1e-5), (curvature, 1e-3)):
        found = jump(derivative, np.asarray(loss.kinks), width)
        if found is not None:
            return f"a derivative of value jumps at z = {found:.3g}; declare it, as in kinks = ({found:.3g},) of losses.FromValue"
    return None


def jump(function: Callable[[Array], Array], known: Array, width: float) -> float | None:
    """First point of [-6, 6] away from the `known` ones where the function jumps within `width`, by bisection."""

    def jumps(low: Array, high: Array) -> Array:
        ends = function(low), function(high)
        return np.asarray(np.abs(ends[1] - ends[0]) / (1.0 + np.minimum(*np.abs(ends))))

    low = _Z + 1e-3 * np.sqrt(2)  # no round numbers, where kinks are likely
    low = low[jumps(low, low + 0.01) > 0.02]
    step = 0.01
    while low.size and step > width:
        step *= 0.5
        low = np.where(jumps(low, low + step) >= jumps(low + step, low + 2.0 * step), low, low + step)
    low = low[np.all(np.abs(low[:, None] - known) > 4.0 * width, axis=1)]
    low = low[jumps(low, low + step) > 0.02]
    return float(low[0] + 0.5 * step) if low.size else None
