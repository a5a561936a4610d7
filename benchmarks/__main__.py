"""Ratios measured side by side in one run, and costs with fitted exponents: ``python -m benchmarks [AREA ...]``.

Writes ``benchmarks/latest.json`` and ``benchmarks/latest.md`` and prints, beside each number, the one of the committed run.
The area ``cost`` also draws its curves into ``docs/images``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import platform
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.tables import page, table

HERE = Path(__file__).parent
AREAS = ("theory", "tune", "simulation", "scale", "sweep", "cost")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "areas", nargs="*", metavar="AREA", help=f"some of {', '.join(AREAS)} (all by default)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="only try the area cost, in seconds; nothing is kept"
    )
    asked = parser.parse_args()
    wanted = asked.areas or (["cost"] if asked.quick else AREAS)
    unknown = sorted(set(wanted) - set(AREAS))
    if unknown:
        parser.error(f"unknown area {', '.join(unknown)}; choose among {', '.join(AREAS)}")
    if asked.quick and set(wanted) != {"cost"}:
        parser.error("--quick goes with the area cost alone")
    store = HERE / "latest.json"
    before = json.loads(store.read_text()) if store.exists() else {}
    if asked.quick:
        with tempfile.TemporaryDirectory() as folder:
            print(table("cost", cost(True, Path(folder)), before.get("cost", [])))
        return
    after = dict(before)
    for area in wanted:
        rows = cost(False, HERE.parent / "docs" / "images") if area == "cost" else _rows(area)
        after[area] = [{k: None if _missing(v) else v for k, v in row.items()} for row in rows]
        print(table(area, after[area], before.get(area, [])), flush=True)
    after["machine"] = (
        f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}"
    )
    store.write_text(json.dumps(after, indent=1) + "\n")
    (HERE / "latest.md").write_text(page(after, AREAS))


def _rows(area: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = importlib.import_module(f"benchmarks.{area}").rows()
    return rows


def cost(quick: bool, pictures: Path) -> list[dict[str, Any]]:
    """Measure the curves of the area cost and draw them."""
    from benchmarks.cost import QUICK, Sizes, curves
    from benchmarks.plots import draw

    measured = list(curves(QUICK if quick else Sizes()))
    draw(measured, pictures)
    return measured


def _missing(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


if __name__ == "__main__":
    main()
