"""Tables of ratios, each measured side by side in one run: ``python -m benchmarks [AREA ...]``.

Writes ``benchmarks/latest.json`` and ``benchmarks/latest.md`` and prints, beside each ratio, the one of the committed run.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import platform
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
AREAS = ("theory", "tune", "simulation", "sweep")
COLUMNS = ("what", "ours", "peer", "peer's", "ratio", "before", "MiB", "note")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"some of {', '.join(AREAS)} (all by default)")
    wanted = parser.parse_args().areas or AREAS
    unknown = sorted(set(wanted) - set(AREAS))
    if unknown:
        parser.error(f"unknown area {', '.join(unknown)}; choose among {', '.join(AREAS)}")
    store = HERE / "latest.json"
    before = json.loads(store.read_text()) if store.exists() else {}
    after = dict(before)
    for area in wanted:
        rows = importlib.import_module(f"benchmarks.{area}").rows()
        old = {(r["what"], r["peer"]): r.get("ratio") for r in before.get(area, [])}
        after[area] = [{k: None if _missing(v) else v for k, v in row.items()} for row in rows]
        print(_table(area, after[area], old), flush=True)
    store.write_text(json.dumps(after, indent=1) + "\n")
    tables = "\n".join(_table(area, after[area], {}) for area in AREAS if area in after)
    machine = f"Python {platform.python_version()} on {platform.machine()}"
    header = f"# Benchmarks\n\n`make benchmark`, {machine}; seconds of one core.\n\n"
    (HERE / "latest.md").write_text(header + tables)


def _missing(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _table(area: str, rows: list[dict[str, Any]], old: dict[tuple[str, str], Any]) -> str:
    lines = [f"## {area}", "", "| " + " | ".join(COLUMNS) + " |", "| --- " * len(COLUMNS) + "|"]
    for row in rows:
        cells = (
            row["what"],
            _time(row["ours_s"]),
            row["peer"],
            _time(row["peer_s"]),
            _number(row["ratio"]),
            _number(old.get((row["what"], row["peer"]))),
            _number(row.get("peak_mib")),
            row.get("note") or "",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


if __name__ == "__main__":
    main()
