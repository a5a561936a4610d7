"""Results in HTML, as a notebook shows them."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from gcnlimit.results.text import ERROR, Columns, cells, number

_LONGEST = 12  # rows of a table that is shown whole


class Printed:
    """Base of results that are a text: a console and a notebook show what `print` does."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def as_html(kind: str, fixed: Mapping[str, Any], columns: Columns) -> str:
    """Table of the columns, the middle of a long one left out, under a line that names what is fixed."""
    size = next(iter(columns.values())).size
    shown = [*range(size)]
    if size > _LONGEST:
        shown[_LONGEST // 2 : -_LONGEST // 2] = [-1]
    names = [name for name in columns if not name.endswith(ERROR)]
    columns_of_text = [cells(name, columns) for name in names]
    rows = [_row([column[i] if i >= 0 else "…" for column in columns_of_text], "td") for i in shown]
    points = f", {size} points" if size > 1 else ""
    at = "; ".join(f"{name} = {number(value)}" for name, value in fixed.items())
    caption = f"<p><b>{html.escape(kind)}</b>{points}{': ' if at else ''}{html.escape(at)}</p>"
    table = f"<table><thead>{_row(names, 'th')}</thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div style="overflow-x: auto">{caption}{table}</div>'


def _row(cells: list[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"
