"""Validation at the door: what a parameter may be, said once, in one clear sentence."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isinf
from numbers import Real
from operator import index
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gcnlimit._values import Array, Mask, Parameter, Value, shown
from gcnlimit.errors import ParameterError

LOOSEST = 1e-3
"""Tolerance of self-consistent equations up to which their solution can be distinguished from another."""


def as_real(
    name: str,
    value: ArrayLike,
    *,
    low: float = -inf,
    high: float = inf,
    open_low: bool = False,
    infinite: bool = False,
    minimum_axes: int = 0,
    empty_last: bool = False,
) -> Parameter:
    """Return `value` as a float or a read-only float array, or raise `ParameterError`.

    The interval is closed unless `open_low`; `infinite` allows plus infinity. The array must have at least `minimum_axes` (1
    where the last axis is the depth), of which the last may be empty if `empty_last` (a network without layers).
    """
    single: Any = value
    plain = type(single) in (float, np.float64) and not minimum_axes
    if plain and (low < single < high or (infinite and single == inf)):
        return float(single)  # the usual case, at once
    array = reals(name, value).copy()
    if array.ndim < minimum_axes:
        text = shown(value)
        raise ParameterError(f"{name} = {text} has no axis of layers; write {name}=[{text}]")
    if array.size == 0 and not (empty_last and 0 not in array.shape[:-1]):
        raise ParameterError(f"{name} is empty (shape {array.shape}); give at least one value")
    if np.isnan(array).any():
        raise ParameterError(f"{name} contains NaN; every value must be a number")
    bad = (array <= low) if open_low else (array < low)
    bad |= array > high
    if not infinite:
        bad |= np.isinf(array)
    if bad.any():
        wanted = _interval(low, high, open_low, infinite)
        raise ParameterError(f"{name} = {_first(array, bad)} is not allowed; it must be {wanted}")
    if array.ndim == 0:
        return float(array)
    array.flags.writeable = False
    return array


def reals(name: str, value: ArrayLike) -> Array:
    """Return `value` as an array of floats, NaN and infinity included, or raise `ParameterError`."""
    if type(value) is np.ndarray and value.dtype == np.float64 and value.ndim < 8:
        return value  # the usual case, at once
    raw = plain_array(name, value)
    numbers = (isinstance(x, Real) and not isinstance(x, np.timedelta64) for x in raw.flat)
    if raw.dtype == object and all(numbers):  # such as 10**20
        sizes = [inf if x > 1e308 else -inf if x < -1e308 else float(x) for x in raw.flat]
        raw = np.reshape(sizes, raw.shape)
    if raw.dtype.kind not in "iufb" and raw.size:
        raise ParameterError(f"{name} must be real numbers, got {shown(value)}")
    with np.errstate(over="ignore"):  # a longer float beyond the range of float64 is infinite
        return np.asarray(raw, dtype=np.float64)


def average(values: ArrayLike, weight: Array) -> float:
    """Average of one value for each weight."""
    array = reals("values", values)
    if array.shape != weight.shape:
        got = f"values has shape {array.shape}"
        raise ParameterError(f"{got}; give one value for each of the {weight.size} weights")
    return float(array @ weight)


def number(
    name: str, value: ArrayLike, *, low: float = -inf, high: float = inf, open_low: bool = False
) -> float:
    """Return one finite number as `float`, or raise `ParameterError`; the interval is that of `as_real`."""
    checked = as_real(name, value, low=low, high=high, open_low=open_low)
    if isinstance(checked, np.ndarray):
        raise ParameterError(f"{name} = {shown(value)} is not allowed; it must be a single number")
    return checked


def tolerance(name: str, value: ArrayLike, *, high: float = 0.1) -> float:
    """Return a tolerance, in (0, `high`], or raise `ParameterError`: a looser one would accept wrong answers."""
    return number(name, value, low=0, high=high, open_low=True)


def plain_array(name: str, value: object) -> NDArray[Any]:
    """Return `value` as an array, or raise `ParameterError` if its rows have unequal lengths or an entry is masked.

    NumPy itself drops the mask, and what was hidden behind it would count.
    """
    try:
        masked = _masked(value)
        array = np.zeros(0) if masked else np.asarray(value)
    except ValueError:
        problem = f"{name} must be a rectangular array; its rows differ in length"
        raise ParameterError(problem) from None
    except Exception as error:  # of another library, such as a tensor that tracks its gradient
        raise ParameterError(f"{name} cannot be read as an array of numbers: {error}") from None
    if masked or array.ndim > 32:  # axes that NumPy broadcasts
        spare = "masked entries; leave them out, or fill them in"
        raise ParameterError(f"{name} has {spare if masked else 'more than 32 axes; join some'}")
    return array


def holds(question: Callable[..., bool], *about: object) -> bool:
    """Answer to `isinstance` or `hasattr`; no for an object that fails when it is asked, such as a reference to what is gone."""
    try:
        return question(*about)
    except Exception:  # of a class of somebody else's
        return False


def same_rows(X: Any, y: Any) -> None:
    """Refuse tables of pandas whose rows have the same names in another order: they would be taken by their place."""
    both = holds(hasattr, X, "iloc") and holds(hasattr, y, "iloc")
    if both and [*X.index] != [*y.index] and {*X.index} == {*y.index}:
        raise ParameterError("y has the rows of X in another order; write y=y.loc[X.index]")


def flag(name: str, value: object) -> bool:
    """Return a yes-or-no parameter as `bool`, or raise `ParameterError`."""
    if not holds(isinstance, value, (bool, np.bool_)):
        raise ParameterError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def whole(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return a whole number between `low` and `high`, both allowed, or raise `ParameterError`."""
    top = 1e300 if high is None else high  # beyond it there is no float
    if holds(isinstance, value, (int, np.integer)) and not isinstance(value, bool | np.timedelta64):
        plain = index(value)
        if low <= plain <= top:
            return plain
    some = f"a whole number >= {low}" if high is None else f"a whole number from {low} to {high}"
    raise ParameterError(f"{name} = {shown(value)} is not allowed; it must be {some}")


def one_of(name: str, value: object, *allowed: object) -> None:
    """Raise `ParameterError` unless `value`, as a rule a word, is one of those allowed."""
    # of other types `in` may ask for the truth of an array, or compare entry by entry
    if not (value is None or holds(isinstance, value, (str, int, float))) or value not in allowed:
        *others, last = map(repr, allowed)
        use = f"{', '.join(others)} or {last}"
        raise ParameterError(f"{name} = {shown(value)} is not allowed; use {use}")


def check_types(function: str, **arguments: tuple[object, type | tuple[type, ...]]) -> None:
    """Raise `ParameterError` unless each argument of a function, given with the type or types wanted, is of that type."""
    if all(holds(isinstance, value, wanted) for value, wanted in arguments.values()):
        return
    kinds = [wanted if isinstance(wanted, tuple) else (wanted,) for _, wanted in arguments.values()]
    needs = " and ".join(" or ".join(map(_one, each)) for each in kinds)
    got = " and ".join(type(value).__name__ for value, _ in arguments.values())
    call = f"{function}({', '.join(arguments)})"
    raise ParameterError(f"{function} needs {needs}, got {got}; write {call}")


def broadcast(**shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Common shape of named parameters, or a `ParameterError` that lists them."""
    if not any(shapes.values()):  # single numbers
        return ()
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        listing = ", ".join(f"{name} {shape}" for name, shape in shapes.items() if shape)
        problem = f"shapes do not broadcast together: {listing}"
        raise ParameterError(f"{problem}; add axes of length 1 to combine them") from None


class Numbers(Value):
    """Value of a few numbers that may be arrays, which broadcast: one for each point of a calculation, or one for all."""

    names: ClassVar[tuple[str, ...]]
    """Names of the numbers."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Common shape of the numbers."""
        return broadcast(**{name: getattr(getattr(self, name), "shape", ()) for name in self.names})

    def ravel(self, shape: tuple[int, ...]) -> Self:
        """Same value whose arrays are broadcast to `shape` and flattened to one axis."""
        return self._mapped(lambda numbers: np.broadcast_to(numbers, shape).ravel())

    def reshape(self, shape: tuple[int, ...]) -> Self:
        """Same value whose arrays, along one axis, have another shape."""
        return self._mapped(lambda numbers: numbers.reshape(shape) if shape else numbers.item())

    def __getitem__(self, index: Any) -> Self:
        """Same value at that index of arrays that have one axis."""
        return self._mapped(lambda numbers: numbers[index])

    def _mapped(self, change: Callable[[Array], Any]) -> Self:
        """Same value with a change of those of its numbers that are arrays."""
        numbers = {name: getattr(self, name) for name in self.names}
        changed = {name: change(x) for name, x in numbers.items() if isinstance(x, np.ndarray)}
        return self.having(**changed) if changed else self


def _masked(value: object) -> bool:
    """Whether an entry is masked, of an array or of a list of arrays."""
    if isinstance(value, list | tuple):
        return any(map(_masked, value))
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def _one(kind: type) -> str:
    """Name of a type after its article."""
    return f"{'an' if kind.__name__[0].lower() in 'aeiou' else 'a'} {kind.__name__}"


def _first(array: Array, bad: Mask) -> str:
    """First value that is bad, and where it is."""
    index = tuple(int(i) for i in np.argwhere(bad)[0]) if array.ndim else ()
    where = f" (at index {', '.join(map(str, index))})" if index else ""
    value = float(array[index])
    text = f"{value:g}"
    return (text if float(text) == value else repr(value)) + where


def _interval(low: float, high: float, open_low: bool, infinite: bool) -> str:
    if isinf(low) and isinf(high):
        return "finite"
    if isinf(high):
        ending = "(math.inf is allowed)" if infinite else "and finite"
        return f"{'>' if open_low else '>='} {low:g} {ending}"
    return f"in {'(' if open_low else '['}{low:g}, {high:g}]"
