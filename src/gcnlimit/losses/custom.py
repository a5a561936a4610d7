"""A loss as users give it: by name, as a function of the margin, or as a `Loss`.

What users define is checked for what would make every answer wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array, Value, shown
from gcnlimit.errors import GCNLimitError, ParameterError
from gcnlimit.losses.base import Convex, Loss
from gcnlimit.losses.standard import Hinge, Logistic, Softmax, Square

_BY_NAME = {loss.__name__.lower(): loss for loss in (Square, Logistic, Hinge, Softmax)}
_OMEGA = np.array([-2.317, -0.413, 0.371, 1.129, 2.903])[:, None]
_V = np.array([0.713, 3.31])
_STEP = 1e-5
_Z = np.linspace(-6.0, 6.0, 1201)
_FAR, _HUGE = np.linspace(-100.0, 100.0, 201), 1e200  # a loss may overflow there, from huge values
_MANY = 8  # jumps of a derivative that are listed; with more it is not smooth anywhere


def first(problems: Iterator[str]) -> str | None:
    """Return the first problem; what would be asked after it relies on it not being there."""
    with np.errstate(all="ignore"):
        return next(problems, None)


def problems(
    function: Convex, omega: Array, v: Array, tolerance: float, *, least_at_0: bool = False
) -> Iterator[str]:
    """Mistakes in a loss or a penalty: in its values, its proximal operator, or the derivative of that."""
    yield from _value_problems(function, least_at_0)
    yield from _prox_problems(function, omega, v)
    yield from _derivative_problems(function, omega, v, tolerance)


def _value_problems(loss: Convex, least_at_0: bool) -> Iterator[str]:
    r"""Mistakes in the values of a loss.

    They must be real numbers, one for each margin, convex, and decrease from 0 on, or be least there (a penalty): a loss that is
    least at 0 trains no weights. A function whose derivatives come from its values must declare its kinks: a hinge without its
    corner would have another solution.
    """
    value, again, far = (np.asarray(loss.value(z[None].copy())) for z in (_Z, _Z, _FAR))
    if value.shape != (1, _Z.size):
        yield f"value gives shape {value.shape} instead of (1, {_Z.size}); compute it elementwise"
    if value.dtype.kind not in "biuf" or value.dtype in (np.float16, np.float32):
        yield f"value has dtype {value.dtype}; compute it as real numbers in double precision"
    if not np.array_equal(value, again, equal_nan=True):
        yield "value changes from call to call; take a function of its argument alone"
    value, far = value[0], far[0]
    if (bad := ~np.isfinite(value)).any():
        yield f"value is {value[bad][0]} at z = {_Z[bad][0]:g}; it must be finite"
    finite = np.isfinite(far)
    end = finite[1:-1] & ~(finite[:-2] & finite[2:]) & (np.abs(far[1:-1]) < _HUGE)
    if end.any():
        yield f"value ends near z = {_FAR[1:-1][end][0]:g}; it must be finite at all margins"
    size = np.mean(np.abs(np.gradient(1.0 * value, _Z)))
    if size > 0.0 and not 1.0 / _HUGE < size**2 < _HUGE:
        yield f"value has slopes of about {size:.1g}; scale it, and reg with it"
    for z, values in ((_Z, value), (_FAR, far)):
        middle = values[1:-1]
        concave = values[2:] + values[:-2] - 2.0 * middle < -1e-12 * (size + np.abs(middle))
        if concave.any():
            yield f"value is not convex near z = {z[1:-1][concave][0]:g}; take a convex function"
    if least_at_0 and np.argmin(value) != _Z.size // 2:
        yield "value is not smallest at 0; take a penalty that is"
    if not least_at_0 and value[601] >= value[600]:  # around 0, the middle of the margins
        yield "value does not decrease at z = 0; take a loss that does"
    yield from _kink_problems(loss, size)


def _kink_problems(loss: Convex, size: Any) -> Iterator[str]:
    """Mistakes in the kinks of a loss of mean slope `size`: they increase, as `prox` relies on, and none is left out."""
    declared = np.asarray(loss.kinks)
    real = declared.ndim == 1 and declared.dtype.kind in "iuf" and np.all(np.isfinite(declared))
    if not real or np.any(np.diff(declared) <= 0):
        yield f"kinks = {loss.kinks!r} are not allowed; list the margins in increasing order"
    if type(loss).prox is not Convex.prox or type(loss).derivatives is not Convex.derivatives:
        return

    def slope(z: Array) -> Array:
        return np.asarray((loss.value(z + 1e-7) - loss.value(z - 1e-7)) / (2e-7 * size))

    def curvature(z: Array) -> Array:
        around = loss.value(z + 1e-4) + loss.value(z - 1e-4)
        return np.asarray((around - 2.0 * loss.value(z)) / (1e-8 * size))

    jumps = jump(slope, declared, 5, reach=5.0)
    jumps += jump(curvature, np.append(declared, jumps), 3)
    if len(jumps) > _MANY:
        many = f"derivatives of value jump at {len(jumps)} places, from z = {min(jumps):g} on"
        yield f"{many}; take a function that varies on a scale of 1, and is not rounded"
    if jumps:
        places = ", ".join(f"{kink:g}" for kink in sorted(jumps))
        remedy = f"declare it, as in kinks = {tuple(sorted([*declared.tolist(), *jumps]))}"
        yield f"a derivative of value jumps at z = {places}; {remedy} of losses.FromValue"


def jump(
    function: Callable[[Array], Array], declared: Array, digits: int, reach: float = 1.0
) -> list[float]:
    """Points of [-6, 6] times `reach`, not those declared, where the function jumps, by bisection to that many decimals."""
    width = 10.0**-digits

    def jumps(low: Array, high: Array) -> Array:
        ends = function(low), function(high)
        return np.asarray(np.abs(ends[1] - ends[0]) / (1.0 + np.minimum(*np.abs(ends))))

    low = reach * _Z + 1e-3 * np.sqrt(2)  # no round numbers, where kinks are likely
    step = 0.01 * reach
    low = low[jumps(low, low + step) > 0.02]
    while low.size and step > width:  # into the half with the larger jump
        step *= 0.5
        middle = low + step
        low = np.where(jumps(low, middle) >= jumps(middle, middle + step), low, middle)
    low = low[np.all(np.abs(low[:, None] - declared) > 4.0 * width, axis=1)]
    low = low[jumps(low, low + step) > 0.02]
    return sorted({round(float(point), digits) + 0.0 for point in low + 0.5 * step})


def check_own(name: str, function: Convex, *, least_at_0: bool = False) -> None:
    """Refuse a loss or a penalty of a user that cannot be right; each is looked at once, the library's own never."""
    find = _problem if isinstance(function, Hashable) else _problem.__wrapped__  # a plain dataclass
    raise_found(name, function, lambda: find(function, least_at_0))


def raise_found(name: str, function: Any, find: Callable[[], str | None]) -> None:
    """Raise `ParameterError` with the problem that is found, or with the error of a function of a user."""
    try:
        problem = find()
    except GCNLimitError:
        raise
    except Exception as error:  # of a function of a user, whatever it is
        problem = f"{name} = {shown(function)} fails on an array ({type(error).__name__}: {error})"
        raise ParameterError(f"{problem}; write a function of one array, with NumPy") from error
    if problem:
        raise ParameterError(f"{name} = {shown(function)}: {problem}")


@lru_cache(maxsize=256)
def _problem(function: Convex, least_at_0: bool) -> str | None:
    return first(problems(function, _OMEGA, _V, 1e-3, least_at_0=least_at_0))


def _prox_problems(function: Convex, omega: Array, v: Array) -> Iterator[str]:
    r"""Where `prox` has another shape than its arguments, or is not the minimum of :math:`\ell(x) + (x-\omega)^2/2v`."""
    shape = np.broadcast_shapes(omega.shape, v.shape)
    x = np.asarray(function.prox(omega, v))
    if x.shape != shape:
        yield f"prox gives shape {x.shape} instead of {shape}; let omega and v broadcast"

    def objective(x: Array) -> Array:
        return np.asarray(function.value(x) + (x - omega) ** 2 / (2.0 * v))

    least = objective(x)
    for move in (1e-3, -1e-3):
        for i, j in np.argwhere(~(objective(x + move) >= least)):
            place = f"prox is {x[i, j]:g} at omega = {omega[i, 0]:.6g}, v = {v[j]:g}"
            yield f"{place}, but value(x) + (x - omega)^2/2v is lower at x = {x[i, j] + move:g}"


def _derivative_problems(
    function: Convex, omega: Array, v: Array, tolerance: float
) -> Iterator[str]:
    """Where `prox_derivative` differs from differences of `prox`, or these from those of a convex loss, away from kinks."""
    nearby = (function.prox(omega + step, v) for step in (-_STEP, 0.0, _STEP))
    low, middle, high = map(np.asarray, nearby)
    slope = (high - low) / (2.0 * _STEP)
    smooth = np.abs(high + low - 2.0 * middle) <= 1e-3 * _STEP
    stated = np.broadcast_to(function.prox_derivative(omega, v), slope.shape)
    wrong = smooth & ~(np.abs(stated - slope) <= tolerance)
    for i, j in np.argwhere(wrong | (smooth & (np.abs(slope - 0.5) > 0.501))):
        place = f"at omega = {omega[i, 0]:.6g}, v = {v[j]:g}"
        change = f"prox changes by {slope[i, j]:g} per unit of omega"
        if wrong[i, j]:
            yield f"prox_derivative is {stated[i, j]:g} {place}, where {change}; correct one"
        yield f"{change} {place}, and that of a convex function by 0 to 1; take a convex one"


@dataclass(frozen=True, eq=False)
class FromValue(Value, Loss):
    r"""Loss from its value alone: a convex function of the margin that decreases at 0 and varies on a scale of 1.

    Parameters
    ----------
    function
        The loss :math:`\ell(z)`, of NumPy arrays.
    kinks
        Margins where a derivative of the loss jumps.
    """

    function: Callable[[Array], npt.ArrayLike]
    kinks: tuple[float, ...] = ()  # type: ignore[misc]

    def __post_init__(self) -> None:
        kinks: object = self.kinks
        if isinstance(kinks, list | np.ndarray):
            object.__setattr__(self, "kinks", tuple(np.ravel(kinks).tolist()))

    def value(self, z: npt.ArrayLike) -> Array:
        z = np.array(z, float)  # a copy, since the function may work in place
        with np.errstate(all="ignore"):  # far from 0 it may overflow
            return np.asarray(self.function(z))


def as_loss(loss: Any) -> Loss:
    """Return the loss of that name, of that function of the margin, or the object itself if it is a loss."""
    if isinstance(loss, str) and loss in _BY_NAME:
        return _BY_NAME[loss]()
    if callable(loss) and not isinstance(loss, type | Loss):
        loss = FromValue(loss)
    if not isinstance(loss, Loss):
        problem = "unknown" if isinstance(loss, str) else "not a loss"
        names = f"{', '.join(_BY_NAME)}, a function of the margin or a gcnlimit.Loss"
        raise ParameterError(f"loss = {shown(loss)} is {problem}; choose one of {names}")
    if type(loss) not in _BY_NAME.values():
        check_own("loss", loss)
    return loss
