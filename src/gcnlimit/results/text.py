"""Results as text: one line, a table of text, or a table in HTML."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

_ERROR = "_standard_error"
_LAYERS = 6  # with a layer of this number there are too many for one line
_ROWS = 12  # of the longest table that is shown whole


def number(value: Any) -> str:
    """Six digits of a number; anything else as it prints.

    >>> number(0.123456789), number(np.float64(2.0)), number("CONVERGED"), number(np.True_)
    ('0.123457', '2', 'CONVERGED', 'True')
    """
    return f"{value:.6g}" if isinstance(value, int | float | np.number) and not isinstance(value, bool) else str(value)


def table(columns: Mapping[str, Sequence[str]], *, width: int | None = None, keys: int = 1) -> str:
    """Columns side by side, words to the left and numbers to the right.

    Columns that do not fit into `width` follow below, beside the first `keys` columns, which name the rows.

    >>> print(table({"method": ["PCA", "diffusion"], "accuracy": ["0.84", "0.882"], "gap": ["0.07", "-"]}))
    method      accuracy    gap
    ───────────────────────────
    PCA             0.84   0.07
    diffusion      0.882      -
    >>> print(table({"t": ["1"], "test accuracy": ["0.87"], "test loss": ["0.5"]}, width=18))
    t   test accuracy
    ─────────────────
    1            0.87
    <BLANKLINE>
    t   test loss
    ─────────────
    1         0.5
    """
    cells = {name: _aligned(name, rows) for name, rows in columns.items()}
    names = list(cells)
    parts = [names[:keys]]
    for name in names[keys:]:
        wide = sum(len(cells[one][0]) + 3 for one in (*parts[-1], name)) - 3
        if width is not None and wide > width and len(parts[-1]) > keys:
            parts.append(names[:keys])
        parts[-1] = [*parts[-1], name]
    return "\n\n".join(_lines([cells[name] for name in part]) for part in parts)


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
    head, *rows = ("   ".join(row).rstrip() for row in zip(*columns, strict=True))
    rule = "─" * (sum(len(column[0]) + 3 for column in columns) - 3)
    return "\n".join([head, rule, *rows])


def summary(kind: str, axes: Mapping[str, int], shown: Mapping[str, npt.NDArray[Any]]) -> str:
    """One line for a result.

    >>> summary("Answer", {}, {"m": np.array(0.25), "status": np.array("CONVERGED")})
    'Answer(m=0.25, status=CONVERGED)'
    >>> summary("Answer", {"lam": 3}, {"m": np.array([0.25, 0.75, 0.5]), "status": np.array(["GOOD", "BAD", "GOOD"])})
    '<Answer over lam (3): m 0.25 to 0.75, status BAD 1, GOOD 2>'
    >>> summary("Answer", {}, {"m": np.array(0.25), "m_standard_error": np.array(0.0123)})
    'Answer(m=0.25 ± 0.01)'
    """
    brief = [name for name in shown if not (name.endswith(_ERROR) or _numbered(name, shown))]
    if not axes:
        return f"{kind}({', '.join(f'{name}={_cells(name, shown)[0]}' for name in brief)})"
    points = " x ".join(f"{name} ({length})" for name, length in axes.items())
    ranges = [f"{name} {text}" for name in brief if (text := _range(shown[name]))]
    return f"<{kind} over {points}: {', '.join(ranges)}>"


def as_html(kind: str, fixed: Mapping[str, Any], columns: Mapping[str, npt.NDArray[Any]]) -> str:
    """Table of the columns, the middle of a long one left out, under a line that names what is fixed."""
    size = next(iter(columns.values())).size
    shown = range(size) if size <= _ROWS else [*range(_ROWS // 2), -1, *range(size - _ROWS // 2, size)]
    names = [name for name in columns if not name.endswith(_ERROR)]
    cells = [_cells(name, columns) for name in names]
    rows = [_row([column[i] if i >= 0 else "…" for column in cells], "td") for i in shown]
    points = f", {size} points" if size > 1 else ""
    at = "; ".join(f"{name} = {number(value)}" for name, value in fixed.items())
    caption = f"<p><b>{html.escape(kind)}</b>{points}{': ' if at else ''}{html.escape(at)}</p>"
    table = f"<table><thead>{_row(names, 'th')}</thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div style="overflow-x: auto">{caption}{table}</div>'


def _cells(name: str, columns: Mapping[str, npt.NDArray[Any]]) -> list[str]:
    """Values of a column, with their standard errors if there are any."""
    values = np.ravel(columns[name])
    if name + _ERROR not in columns:
        return [number(value) for value in values]
    return [f"{number(v)} ± {e:.1g}" for v, e in zip(values, np.ravel(columns[name + _ERROR]), strict=True)]


def _numbered(name: str, columns: Mapping[str, npt.NDArray[Any]]) -> bool:
    """Whether a column is one of many layers, ``c_1`` and so on."""
    family, _, index = name.rpartition("_")
    return index.isdigit() and f"{family}_{_LAYERS}" in columns


def _row(cells: list[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _range(values: npt.NDArray[Any]) -> str:
    """Smallest and largest number, or how often each word occurs (nothing for more than four words)."""
    if values.dtype.kind not in "iuf":
        words, counts = np.unique(values, return_counts=True)
        if words.size == 1:
            return str(words[0])
        return (
            ", ".join(f"{word} {count}" for word, count in zip(words, counts, strict=True)) if words.size <= 4 else ""
        )
    known = values[~np.isnan(values)]
    if not known.size:
        return "nan"
    low, high = number(known.min()), number(known.max())
    missing = values.size - known.size
    return (low if low == high else f"{low} to {high}") + (f" ({missing} nan)" if missing else "")
