"""Validation at the door: what a parameter may be, said once, in one clear sentence."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array, Parameter
from gcnlimit.errors import ParameterError

__all__ = ["broadcast", "flag", "real", "whole"]


def real(
    name: str,
    value: npt.ArrayLike,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    infinite: bool = False,
    minimum_axes: int = 0,
    empty_last: bool = False,
) -> Parameter:
    """Return `value` as a float or a read-only float array, or raise `ParameterError`.

    Parameters
    ----------
    name
        The name shown in the message.
    low, high
        The allowed interval, closed unless `open_low`.
    infinite
        Whether plus infinity is a value like any other.
    minimum_axes
        Number of axes that the array must have at least (1 where the last axis is the depth).
    empty_last
        Whether the last axis may be empty (a network without layers).
    """
    try:
        raw = np.asarray(value)
    except ValueError:
        raise ParameterError(f"{name} must be a rectangular array of numbers, got rows of unequal length") from None
    if raw.dtype.kind not in "iufb" and raw.size:
        raise ParameterError(f"{name} must be real numbers, got {_show(value)}")
    array = np.array(raw, dtype=np.float64)
    if array.ndim < minimum_axes:
        raise ParameterError(
            f"{name} must be a sequence whose last axis runs over the layers, got {_show(value)}; "
            f"write {name}=[{_show(value)}] for one entry"
        )
    if array.size == 0 and not (empty_last and 0 not in array.shape[:-1]):
        raise ParameterError(f"{name} is empty (shape {array.shape}); give at least one value")
    if np.isnan(array).any():
        raise ParameterError(f"{name} contains NaN; every value must be a number")
    bad = (array <= low) if open_low else (array < low)
    bad |= array > high
    if not infinite:
        bad |= np.isinf(array)
    elif math.isinf(high):
        bad |= array == -math.inf
    if bad.any():
        raise ParameterError(
            f"{name} = {_first(array, bad)} is not allowed; it must be {_interval(low, high, open_low, infinite)}"
        )
    if array.ndim == 0:
        return float(array)
    array.flags.writeable = False
    return array


def flag(name: str, value: object) -> bool:
    """Return a yes-or-no parameter as `bool`, or raise `ParameterError`."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name} must be True or False, got {_show(value)}")
    return bool(value)


def whole(name: str, value: object, low: int) -> int:
    """Return a whole number, or raise `ParameterError`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
        raise ParameterError(f"{name} = {_show(value)} is not allowed; it must be a whole number >= {low}")
    return int(value)


def broadcast(**shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Common shape of named parameters, or a `ParameterError` that lists them."""
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        listing = ", ".join(f"{name} {shape}" for name, shape in shapes.items() if shape)
        raise ParameterError(
            f"shapes do not broadcast together: {listing}; add axes of length 1 to combine them"
        ) from None


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _first(array: Array, bad: npt.NDArray[np.bool_]) -> str:
    index = tuple(int(i) for i in np.argwhere(bad)[0]) if array.ndim else ()
    where = f" (at index {', '.join(map(str, index))})" if index else ""
    return f"{array[index]:g}{where}"


def _interval(low: float, high: float, open_low: bool, infinite: bool) -> str:
    if math.isinf(low) and math.isinf(high):
        return "finite"
    if math.isinf(high):
        return f"{'>' if open_low else '>='} {low:g}{' (math.inf is allowed)' if infinite else ' and finite'}"
    return f"in {'(' if open_low else '['}{low:g}, {high:g}]"
