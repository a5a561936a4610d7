"""Values: arrays, parameters, and the base of the frozen records that describe data and networks."""

from __future__ import annotations

import re
import reprlib
from dataclasses import fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

_SHORT = 10  # numbers of an array that is written out

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Parameter = float | Array
"""A model parameter as stored: a Python float, or a read-only array of floats."""

Numbers = float | Array
"""An answer: a Python float for a single point, else an array of the shape of the points."""


class Brief:
    """Base of the dataclasses that hold arrays: long arrays are summarized in their `repr`.

    >>> import gcnlimit as gl
    >>> gl.CSBM(alpha=4, lam=np.linspace(0, 2, 1000), mu=2.0, rho=0.1)
    CSBM(alpha=4.0, lam=<1000 numbers from 0 to 2>, mu=2.0, rho=0.1, directed=True)
    """

    def __init_subclass__(cls) -> None:
        """Give each class the short `repr`, which `dataclass` then leaves alone."""
        super().__init_subclass__()
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Brief.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        names = [f.name for f in fields(self) if f.repr]  # type: ignore[arg-type]
        shown = ", ".join(f"{name}={brief(getattr(self, name))}" for name in names)
        return f"{type(self).__name__}({shown})"


def brief(value: object) -> str:
    """Text of a value, a long array summarized, a function by its name.

    >>> brief(np.arange(11)), brief(np.array(["a"] * 11)), brief(brief)
    ('<11 numbers from 0 to 10>', '<11 values of type <U1>', 'brief')
    """
    if not isinstance(value, np.ndarray) or value.size <= _SHORT:
        return _one_line(repr(value))
    size = " x ".join(map(str, value.shape))
    if value.dtype.kind not in "biuf":
        return f"<{size} values of type {value.dtype}>"
    low, high = float(np.nanmin(value)), float(np.nanmax(value))
    return f"<{size} numbers from {low:.6g} to {high:.6g}>"


def measured(value: float, error: float, digits: str = ".3g", of_error: str = ".2g") -> str:
    """Text of a number and its error, which may be unknown.

    >>> measured(1.234, 0.051), measured(1.234, np.inf)
    ('1.23 +- 0.051', '1.23 (error unknown)')
    """
    told = f"+- {error:{of_error}}" if error < np.inf else "(error unknown)"
    return f"{value:{digits}} {told}"


def shown(value: object) -> str:
    """Text of a value in a sentence, whatever it is: one line, cut if it is long."""
    try:
        text = brief(value) if isinstance(value, np.ndarray) else _one_line(_cut.repr(value))
    except Exception:  # a repr of somebody else's, or a number of too many digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 60 else text[:57] + "..."


_cut = reprlib.Repr()
_cut.maxlist = _cut.maxtuple = _cut.maxset = _cut.maxdict = _cut.maxstring = _cut.maxother = 100
"""Writes the beginning of long lists, whose whole text would take a while."""


def printable(text: str) -> str:
    """Text with a space for each character that is none, such as one that moves the cursor of a terminal.

    >>> printable("one\\x1b[2J\\ntwo")
    'one [2J two'
    """
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _one_line(text: str) -> str:
    """Text in one line, functions by their name, and without addresses in the memory."""
    return re.sub(r"<function (\S+) at 0x\w+>| at 0x\w+", r"\1", " ".join(text.split()))


class Value(Brief):
    """Base of the frozen dataclasses: equality and hash by content, arrays included."""

    def having(self, **changes: Any) -> Self:
        """Return the same value with other fields, which have been checked: for use within the library."""
        other = object.__new__(type(self))
        kept = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        other.__dict__.update(kept | changes)
        return other

    def _content(self) -> tuple[Any, ...]:
        compared = [f.name for f in fields(self) if f.compare]  # type: ignore[arg-type]
        values = (getattr(self, name) for name in compared)
        return tuple((v.shape, v.tobytes()) if isinstance(v, np.ndarray) else v for v in values)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._content() == other._content()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Keep the arrays of a copy read-only, which neither `pickle` nor `deepcopy` does."""
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        self.__dict__.update(state)

    def __hash__(self) -> int:
        return hash((type(self).__qualname__, self._content()))
