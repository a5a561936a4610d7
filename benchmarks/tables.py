"""The measurements as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

RATIOS = ("what", "ours", "peer", "peer's", "ratio", "before", "MiB", "note")
POWERS = ("what", "against", "measured", "cost", "fitted", "exponent", "before")


def page(areas: dict[str, Any], order: Sequence[str]) -> str:
    """All tables, under a line that says where they were measured."""
    head = f"# Benchmarks\n\n`make benchmark` on {areas['machine']}; seconds of one core.\n\n"
    return head + "\n".join(table(area, areas[area], []) for area in order if area in areas)


def table(area: str, rows: list[dict[str, Any]], old: list[dict[str, Any]]) -> str:
    """One area; `old` are its rows in the committed run."""
    known = {_key(row): row for row in old}
    cost = all("exponent" in row for row in rows)
    cells = ((_cost if cost else _ratio)(row, known.get(_key(row), {})) for row in rows)
    return f"## {area}\n\n" + _markdown(POWERS if cost else RATIOS, cells)


def _key(row: dict[str, Any]) -> tuple[str, Any]:
    return row["what"], row.get("peer")


def _ratio(row: dict[str, Any], old: dict[str, Any]) -> tuple[str, ...]:
    ours, peer, ratio = _time(row["ours_s"]), _time(row["peer_s"]), _number(row["ratio"])
    return (
        row["what"],
        ours,
        row["peer"],
        peer,
        ratio,
        _number(old.get("ratio")),
        _number(row.get("peak_mib")),
        row.get("note") or "",
    )


def _cost(row: dict[str, Any], old: dict[str, Any]) -> tuple[str, ...]:
    show = _time if row["unit"] == "s" else lambda value: f"{value:.3g} {row['unit']}".rstrip()
    return (
        row["what"],
        row["against"],
        f"{row['x'][0]:g} to {row['x'][-1]:g}",
        f"{show(row['y'][0])} to {show(row['y'][-1])}",
        f"{row['first']:g} to {row['x'][-1]:g}",
        f"{row['exponent']:.2f} ± {row['exponent_error']:.2f}",
        f"{old['exponent']:.2f}" if old else "",
    )


def _markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Table of the columns that say anything."""
    full = [column for column in zip(columns, *rows, strict=True) if any(column[1:])]
    columns, *rows = zip(*full, strict=True)
    lines = ["| " + " | ".join(columns) + " |", "| --- " * len(columns) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(cells) + " |" for cells in rows)]) + "\n"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def _number(value: float | None) -> str:
    """Three digits, thousands apart."""
    if value is None:
        return ""
    return f"{float(f'{value:.3g}'):,.0f}".replace(",", " ") if value >= 1000 else f"{value:.3g}"
