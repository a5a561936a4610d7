"""Results as text: one line, or a table in HTML."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["as_html", "number", "summary"]

_ROWS = 12  # of the longest table that is shown whole


def number(value: Any) -> str:
    """Six digits of a number; anything else as it prints.

    >>> number(0.123456789), number(np.float64(2.0)), number("CONVERGED"), number(np.True_)
    ('0.123457', '2', 'CONVERGED', 'True')
    """
    return f"{value:.6g}" if isinstance(value, int | float | np.number) and not isinstance(value, bool) else str(value)


def summary(kind: str, axes: Mapping[str, int], shown: Mapping[str, npt.NDArray[Any]]) -> str:
    """One line for a result.

    >>> summary("Answer", {}, {"m": np.array(0.25), "status": np.array("CONVERGED")})
    'Answer(m=0.25, status=CONVERGED)'
    >>> summary("Answer", {"lam": 3}, {"m": np.array([0.25, 0.75, 0.5]), "status": np.array(["GOOD", "BAD", "GOOD"])})
    '<Answer over lam (3): m 0.25 to 0.75, status BAD 1, GOOD 2>'
    """
    if not axes:
        return f"{kind}({', '.join(f'{name}={number(value.item())}' for name, value in shown.items())})"
    points = " x ".join(f"{name} ({length})" for name, length in axes.items())
    ranges = [f"{name} {text}" for name, values in shown.items() if (text := _range(values))]
    return f"<{kind} over {points}: {', '.join(ranges)}>"


def as_html(kind: str, fixed: Mapping[str, Any], columns: Mapping[str, npt.NDArray[Any]]) -> str:
    """Table of the columns, the middle of a long one left out, under a line that names what is fixed."""
    size = next(iter(columns.values())).size
    shown = range(size) if size <= _ROWS else [*range(_ROWS // 2), -1, *range(size - _ROWS // 2, size)]
    rows = [_row([number(values[i]) if i >= 0 else "…" for values in columns.values()], "td") for i in shown]
    points = f", {size} points" if size > 1 else ""
    at = "; ".join(f"{name} = {number(value)}" for name, value in fixed.items())
    caption = f"<p><b>{html.escape(kind)}</b>{points}{': ' if at else ''}{html.escape(at)}</p>"
    table = f"<table><thead>{_row(list(columns), 'th')}</thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div style="overflow-x: auto">{caption}{table}</div>'


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
