"""Results in words: one line, or a table of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._values import printable

Values = npt.NDArray[Any]
Columns = Mapping[str, Values]

ERROR = "_standard_error"
_LAYERS = 6  # with a layer of this number there are too many for one line


def number(value: Any) -> str:
    """Six digits of a number; anything else as it prints."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return f"{value:.6g}"
    return str(value)


def rounded(kind: Any) -> Any:
    """Decorator of named tuples that print six digits of each number."""
    form = ", ".join(f"{name}={{}}" for name in kind._fields)
    kind.__repr__ = lambda row: f"{kind.__name__}({form.format(*map(number, row))})"
    return kind


def table(columns: Mapping[str, Sequence[str]], *, width: int | None = None, keys: int = 1) -> str:
    """Columns side by side, words to the left and numbers to the right.

    Columns that do not fit into `width` follow below, beside the first `keys` columns, which name the rows.

    >>> print(table({"method": ["PCA", "diffusion"], "accuracy": ["0.84", "0.882"], "gap": ["0.07", "-"]}))
    method      accuracy    gap
    ───────────────────────────
    PCA             0.84   0.07
    diffusion      0.882      -
    """
    cells = [_aligned(printable(n), [*map(printable, rows)]) for n, rows in columns.items()]
    parts = [cells[:keys]]
    for column in cells[keys:]:
        wide = len("   ".join(cell[0] for cell in (*parts[-1], column)))
        # at least one column beside the keys, however narrow the terminal
        if width is not None and wide > width and len(parts[-1]) > keys:
            parts.append(cells[:keys])
        parts[-1] = [*parts[-1], column]
    return "\n\n".join(map(_lines, parts))


def _aligned(name: str, rows: Sequence[str]) -> list[str]:
    """Heading and cells of one width, numbers to the right."""
    size = max(map(len, [name, *rows]))
    right = all(_is_number(cell) for cell in rows)
    return [cell.rjust(size) if right else cell.ljust(size) for cell in (name, *rows)]


def _is_number(cell: str) -> bool:
    """Whether a cell begins with a number, or says by a dash that there is none."""
    try:
        float(cell.split(maxsplit=1)[0])
    except (IndexError, ValueError):
        return cell in ("", "-")
    return True


def _lines(columns: list[list[str]]) -> str:
    head, *rows = ("   ".join(row) for row in zip(*columns, strict=True))
    lines = [head, "─" * len(head), *rows]
    return "\n".join(line.rstrip() for line in lines)


def summary(kind: str, axes: Mapping[str, int], shown: Columns) -> str:
    """One line for a result.

    >>> summary("Answer", {"lam": 3}, {"m": np.array([0.25, 0.75, 0.5]), "status": np.array(["GOOD", "BAD", "GOOD"])})
    '<Answer over lam (3): m 0.25 to 0.75, status BAD 1, GOOD 2>'
    >>> summary("Answer", {}, {"m": np.array(0.25), "m_standard_error": np.array(0.0123)})
    'Answer(m=0.25 ± 0.01)'
    """
    brief = [name for name in shown if not (name.endswith(ERROR) or _numbered(name, shown))]
    if not axes:
        return f"{kind}({', '.join(f'{name}={cells(name, shown)[0]}' for name in brief)})"
    points = " x ".join(f"{name} ({length})" for name, length in axes.items())
    ranges = [f"{name} {text}" for name in brief if (text := _range(shown[name]))]
    return f"<{kind} over {points}: {', '.join(ranges)}>"


def cells(name: str, columns: Columns) -> list[str]:
    """Values of a column, with their standard errors if there are any, a question mark for one that is not known."""
    values = np.ravel(columns[name])
    if name + ERROR not in columns:
        return [number(value) for value in values]
    errors = np.ravel(columns[name + ERROR])
    written = [f"{error:.1g}" if np.isfinite(error) else "?" for error in errors]
    return [f"{number(v)} ± {error}" for v, error in zip(values, written, strict=True)]


def _numbered(name: str, columns: Columns) -> bool:
    """Whether a column is one of many layers, ``c_1`` and so on."""
    family, _, index = name.rpartition("_")
    return index.isdigit() and f"{family}_{_LAYERS}" in columns


def _range(values: Values) -> str:
    """Smallest and largest number, or how often each word occurs (nothing for more than four words)."""
    if values.dtype.kind not in "iuf":
        words, counts = np.unique(values, return_counts=True)
        if words.size == 1:
            return str(words[0])
        numbered = [f"{word} {count}" for word, count in zip(words, counts, strict=True)]
        return ", ".join(numbered) if words.size <= 4 else ""
    numbers = values[~np.isnan(values)]
    if not numbers.size:
        return "nan"
    low, high = number(numbers.min()), number(numbers.max())
    missing = values.size - numbers.size
    return (low if low == high else f"{low} to {high}") + (f" ({missing} nan)" if missing else "")
