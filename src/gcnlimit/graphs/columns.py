"""Columns of a table of nodes: features as numbers, classes, and what stands for a missing value."""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.errors import ParameterError

Cells = Sequence[Any]
MISSING = {"", "-", "?", "na", "n/a", "n.a.", "#n/a", "<na>", "none", "null", "nan", "nat"}
UNKNOWN = MISSING | {"unknown", "-1"}
"""What marks an unlabelled node in a table; a missing feature is one of the others, or `unknown` among numbers."""
MOST_WORDS = 20
# 2020-1-31, 31/1/2020 or 31 January 2020, 31-Jan-20, 31.01.20, each with a time or not; or a time
_DAY = re.compile(
    r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/. ])(\d{1,2}|[A-Za-z]{3,9})\3\d{4}"
    r"|\d{1,2}([-/])(\d{1,2}|[A-Za-z]{3})\5\d{2}|\d{2}\.\d{2}\.\d{2})([ T].*)?"
    r"|\d{1,2}:\d{2}(:\d{2})?"
)


def text(cell: Any) -> str:
    """A cell as text, whole numbers without a fraction: pandas turns those of a column with missing values into 3.0.

    >>> text(" a "), text(3.0), text(None)
    ('a', '3', '')
    """
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))
    return "" if cell is None else str(cell).strip()


def option(name: str, value: Any) -> str:
    """How an option is written, on the command line and in Python.

    >>> option("drop", "joined"), option("undirected", True)
    ("--drop joined (drop='joined')", '--undirected (undirected=True)')
    """
    written = "" if value is True else f" {shlex.quote(value)}"
    return f"--{name}{written} ({name}={value!r})"


def is_number(cell: Any) -> bool:
    """Whether a cell is a finite number."""
    try:
        return math.isfinite(float(cell))
    except (TypeError, ValueError):
        return False


def classes_of(cells: Cells) -> tuple[list[Any], list[str]]:
    """Classes, whole numbers or strings, None where unknown; and sentences on what they are and what counted as unknown.

    >>> classes_of(["2", "NA", "1.0"])
    ([2, None, 1], ['Classes: 1 (1), 2 (1).', '1 of 3 nodes has no label (NA).'])
    """
    texts = [text(cell) for cell in cells]
    known = [value for value in texts if value.lower() not in UNKNOWN]
    whole = all(re.fullmatch(r"-?[0-9]{1,15}(\.0+)?", value) for value in known)
    read = (lambda value: int(float(value))) if whole else str
    classes = [None if value.lower() in UNKNOWN else read(value) for value in texts]
    counts = sorted(Counter(value for value in classes if value is not None).items())
    more = f" and {len(counts) - MOST_WORDS} more" if len(counts) > MOST_WORDS else ""
    shown = ", ".join(f"{c} ({n})" for c, n in counts[:MOST_WORDS])
    notes = [f"Classes: {shown}{more}."] if counts else []
    if rest := len(texts) - len(known):
        marks = ", ".join(sorted({value or "empty" for value in texts if value.lower() in UNKNOWN}))
        have = "has" if rest == 1 else "have"
        notes.append(f"{rest} of {len(texts)} nodes {have} no label ({marks}).")
    return classes, notes


def features_of(columns: Mapping[str, Cells]) -> tuple[Array | None, list[str]]:
    """Matrix of features, None without a column; and sentences on what was filled in or encoded.

    Words become a column of 0 and 1 for each, up to 20. A missing number becomes the mean of its column, and one more column
    of 0 and 1 marks where numbers are missing, shared by the columns in which the same ones are.

    >>> X, notes = features_of({"age": ["20", "", "30"], "town": ["x", "y", "x"]})
    >>> X
    array([[20.,  1.,  0.,  0.],
           [25.,  0.,  1.,  1.],
           [30.,  1.,  0.,  0.]])
    >>> notes
    ['Missing numbers became the mean of their column and are marked: age (1).', 'Words became columns of 0 and 1: town (2).']
    """
    parts = []
    marks = []
    filled = []
    encoded = []
    for name, cells in columns.items():
        if (plain := _numbers(cells)) is not None:
            parts.append(plain[:, None])
            continue
        texts = [text(cell).lower() for cell in cells]
        words = {value for value in texts if value not in MISSING and not is_number(value)}
        gaps = MISSING | {"unknown"} if words == {"unknown"} else MISSING
        missing = np.array([value in gaps for value in texts])
        if missing.all():
            filled.append(f"{name} (all, left out)")
        elif words - {"unknown"}:
            parts.append(_one_hot(name, np.array([text(cell) for cell in cells]), missing))
            encoded.append(f"{name} ({parts[-1].shape[1]})")
        else:
            values = np.array([0.0 if value in gaps else float(value) for value in texts])
            parts.append(np.where(missing, values[~missing].mean(), values)[:, None])
            if missing.any():
                marks.append(missing)
                filled.append(f"{name} ({missing.sum()})")
    if marks:
        parts.append(np.unique(np.array(marks, float), axis=0).T)
    notes = [f"Words became columns of 0 and 1: {', '.join(encoded)}."] if encoded else []
    if filled:
        became = "Missing numbers became the mean of their column and are marked"
        notes = [f"{became}: {', '.join(filled)}.", *notes]
    return (np.hstack(parts) if parts else None), notes


def _numbers(cells: Cells) -> Array | None:
    """A column that holds finite numbers only, as most do: one call instead of a look at each cell."""
    try:
        values = np.array(cells, float)
    except (TypeError, ValueError):
        return None
    return None if isinstance(cells[0], bool) or not np.isfinite(values).all() else values


def _one_hot(name: str, words: Any, missing: Any) -> Array:
    """A column for each word, 0 in all of them where it is missing."""
    values = sorted(set(words[~missing].tolist()))
    if days := [value for value in values if _DAY.fullmatch(value)]:
        told = f"dates or times, such as {days[0]!r}; write them as numbers"
    elif numbers := [value for value in values if is_number(value)]:
        word = next(value for value in values if not is_number(value))
        told = f"numbers, such as {numbers[0]}, and words, such as {word!r}; correct one of the two"
    elif len(values) > MOST_WORDS:
        other = f"use {option('label', name)} if these are the classes"
        many = f"{len(values)} different words, such as {values[0]!r}"
        told = f"{many}; group them into at most {MOST_WORDS}, {other}"
    else:
        return np.asarray((words[:, None] == np.array(values)) & ~missing[:, None], float)
    raise ParameterError(f"column {name!r} holds {told}, or leave it out by {option('drop', name)}")
