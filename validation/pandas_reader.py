"""What pandas makes of cells as people have them, beside what `gcnlimit.real.read` makes of them.

``python -m validation.pandas_reader`` prints the table of docs/how-to/real-graphs.md: why text is not read by pandas.
Both read the same file; pandas is asked for the separator (``sep=None``) and for dates (``parse_dates``) where a row has dates.

``python -m validation.pandas_reader --time`` prints processor seconds to split a million edges into cells, and to read them.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import gcnlimit as gl
from gcnlimit.graphs import table_files

DATES = re.compile(r"[0-9]+[/:][0-9/]+")
ROWS = (
    ("1,200", "7"),
    ("1.200,50", "7"),
    ("12%", "9%"),
    ("$12", "$9"),
    ("12 kg", "9 kg"),
    ("1", "-"),
    ("1/2/2023", "3/4/2023"),
    ("2/1/2024", "31/12/2023"),
    ("9:30", "10:15"),
    ("NA", "DE"),
    ("yes", "no"),
    ("0,5; 1.200", "1,5; 900"),
    ("é; 1", "a; 2"),
)
"""Cells of a column; two columns where semicolons separate them."""


def by_pandas(path: Path, dates: bool) -> str:
    """Cells as pandas reads them."""
    how: dict[str, Any] = {"sep": None, "engine": "python", "dtype": {"id": str}}
    try:
        frame = pd.read_csv(path, **how, parse_dates=["x"] if dates else False)
    except ValueError as error:
        return type(error).__name__
    return "; ".join(_listed(frame[name]) for name in frame if name != "id")


def _listed(column: Any) -> str:
    values = [str(value).removesuffix(" 00:00:00") for value in column]
    if column.dtype.kind == "M":
        return ", ".join(re.sub(f"^{pd.Timestamp.now():%Y-%m-%d}", "today", v) for v in values)
    words = column.dtype.kind not in "iufb"
    return ", ".join(repr(v) if words and v != "nan" else v for v in values)


def here(path: Path, edges: Path) -> str:
    """Numbers as `gcnlimit.real.read` has them, and what its notes say of them; or that it refuses them."""
    try:
        data = gl.real.read(edges, path)
    except gl.ParameterError as error:
        told = re.search(r"holds (dates or times)", str(error))
        return f"refused: {told[1]}" if told else str(error)
    assert data.X is not None
    numbers = "; ".join(", ".join(f"{x:g}" for x in column) for column in data.X.T)
    read = [re.search(r"^Read as numbers: . \((.*)\)\.$", note) for note in data.notes]
    ways = [match[1] for match in read if match]
    begun = {"Missing num": "missing: the mean, and marked", "Words": "words"}
    begun |= {"Missing words": "missing, and counted", repr(str(path)): "read as cp1252"}
    ways += [way for head, way in begun.items() if any(n.startswith(head) for n in data.notes)]
    return f"{numbers} ({', '.join(ways)})" if ways else numbers


def seconds(edges: int = 1_000_000) -> None:
    """Print the time of a list of edges with weights, the fastest of three: split into cells by both, and read as a graph."""
    ends = np.random.default_rng(0).integers(0, edges // 5, (edges, 2)).tolist()
    lines = (f"n{a},n{b},{(a + b) % 100 / 10}\n" for a, b in ends)
    written = "source,target,weight\n" + "".join(lines)
    how: dict[str, Any] = {"header": None, "dtype": str, "na_filter": False}

    def split_by_pandas() -> list[list[str]]:
        frame = pd.read_csv(io.StringIO(written), **how)
        return [frame[k].tolist() for k in frame]

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "edges.csv")
        path.write_text(written, encoding="utf-8")
        ways: dict[str, Callable[[], object]] = {
            "split by pandas": split_by_pandas,
            "split here": lambda: table_files._cells(written, "edges", "edges", []),
            "read here": lambda: gl.real.read(path),
        }
        for name, way in ways.items():
            taken = []
            for _ in range(3):
                begin = time.process_time()
                way()
                taken.append(time.process_time() - begin)
            print(f"{name}: {min(taken):.2f} s")


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")  # pandas, where it reads dates one by one
    print("| cells | `pandas.read_csv` | `gcnlimit.real.read` |\n| --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        edges, nodes = Path(folder, "edges.csv"), Path(folder, "nodes.csv")
        edges.write_text("source,target\na,b\n", encoding="utf-8")
        for cells in ROWS:
            several = "; " in cells[0]
            head, mark = ("id;x;z", ";") if several else ("id,x", ",")
            written = [cell.replace("; ", ";") if several else f'"{cell}"' for cell in cells]
            lines = [f"{name}{mark}{cell}" for name, cell in zip("ab", written, strict=True)]
            nodes.write_text("\n".join([head, *lines, ""]), encoding="cp1252")
            shown = " and ".join(f"`{cell}`" for cell in cells)
            dates = bool(DATES.fullmatch(cells[0]))
            print(f"| {shown} | {by_pandas(nodes, dates)} | {here(nodes, edges)} |")


if __name__ == "__main__":
    seconds() if "--time" in sys.argv[1:] else main()
