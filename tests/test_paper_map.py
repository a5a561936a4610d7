"""The map from the paper to the library: complete, and every name on it exists."""

import re
from pathlib import Path

import pytest
from test_notation import resolve

from gcnlimit.figures.registry import PAPER

PAGE = (Path(__file__).parent.parent / "docs" / "paper-map.md").read_text()
ROWS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if line.startswith("| ")]


def span(cell):
    """Prefix, first and last number of a range of equations."""
    first, *last = re.findall(r"([A-C]?)(\d+)", cell)
    return first[0], int(first[1]), int((last or [first])[-1][1])


def test_every_equation_and_figure_has_one_row():
    last = {"": 0, "A": 0, "B": 0, "C": 0}
    for prefix, first, end in (span(row[0]) for row in ROWS if re.match(r"[A-C]?\d", row[0]) and len(row) == 4):
        assert first == last[prefix] + 1
        last[prefix] = end
    assert last == {"": 124, "A": 63, "B": 125, "C": 5}
    assert [row[0] for row in ROWS if len(row) == 5 and row[0].isdigit()] == [str(k + 1) for k in range(15)]


@pytest.mark.parametrize(
    "name", sorted({n for row in ROWS if len(row) == 4 for n in re.findall(r"`([\w.]+)`", row[2])})
)
def test_every_name_exists(name):
    assert resolve(f"gcnlimit.{name}") is not None


def test_every_figure_of_the_map_is_drawn():
    named = {row[2].strip("`") for row in ROWS if len(row) == 5 and row[0].isdigit()}
    assert named == set(PAPER)
    assert all(resolve(f"gcnlimit.{row[3].strip('`')}") for row in ROWS if len(row) == 5 and row[0].isdigit())
