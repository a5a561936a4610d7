"""Tables of text that keep every number, however narrow the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

Cells = Mapping[str, Sequence[str]]


def render(columns: Cells, title: str, *, width: int | None = None, keys: int = 0) -> str:
    r"""Table of right-aligned columns; if it is wider than `width`, headings are broken, then columns moved below.

    The first `keys` columns, which name the rows, are repeated in each part.

    >>> print(render({"t": ["0.5", "1"], "test accuracy": ["0.8", "0.87"]}, "Two networks"))
    Two networks
    <BLANKLINE>
        t   test accuracy
     ─────────────────────
      0.5             0.8
        1            0.87
    <BLANKLINE>
    >>> print(render({"t": ["1"], "test accuracy": ["0.87"], "test loss": ["0.5"]}, "One", width=20, keys=1))
    One
    <BLANKLINE>
            test
      t   accuracy
     ──────────────
      1       0.87
    <BLANKLINE>
          test
      t   loss
     ──────────
      1    0.5
    <BLANKLINE>
    """
    heads = {name: [name] for name in columns}
    if width is not None and _width(columns, heads, list(columns)) > width:
        heads = {name: name.split() for name in columns}
    parts = _parts(columns, heads, width, keys)
    widest = max(_width(columns, heads, names) for names in parts)
    lines = textwrap.wrap(title, max(width or widest, 20)) if title else []
    return "\n".join([*lines, "", *(line for names in parts for line in _lines(columns, heads, names))])


def _size(columns: Cells, heads: Mapping[str, list[str]], name: str) -> int:
    return max(map(len, [*heads[name], *columns[name]]))


def _width(columns: Cells, heads: Mapping[str, list[str]], names: Sequence[str]) -> int:
    return sum(_size(columns, heads, name) + 3 for name in names)


def _parts(columns: Cells, heads: Mapping[str, list[str]], width: int | None, keys: int) -> list[list[str]]:
    """Names of the columns that stand side by side."""
    names = list(columns)
    if width is None or _width(columns, heads, names) <= width:
        return [names]
    parts = [names[:keys]]
    for name in names[keys:]:
        if len(parts[-1]) > keys and _width(columns, heads, [*parts[-1], name]) > width:
            parts.append(names[:keys])
        parts[-1] = [*parts[-1], name]
    return parts


def _lines(columns: Cells, heads: Mapping[str, list[str]], names: Sequence[str]) -> list[str]:
    sizes = [_size(columns, heads, name) for name in names]
    height = max(len(heads[name]) for name in names)
    words = [[""] * (height - len(heads[name])) + heads[name] for name in names]
    rule = " " + "─" * (sum(sizes) + 3 * len(sizes) - 1)
    rows = zip(*(columns[name] for name in names), strict=True)
    return [*(_line(row, sizes) for row in zip(*words, strict=True)), rule, *(_line(row, sizes) for row in rows), ""]


def _line(cells: Sequence[str], sizes: Sequence[int]) -> str:
    return "  " + "   ".join(cell.rjust(size) for cell, size in zip(cells, sizes, strict=True))
