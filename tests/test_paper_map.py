"""The map from the paper to the library: complete, and every name on it exists."""

import re
from pathlib import Path

from test_notation import resolve

from gcnlimit.figures import registry

PAGE = (Path(__file__).parent.parent / "docs" / "reference" / "paper-map.md").read_text()
FIGURES, EQUATIONS = PAGE.split("## Equations of the main text")


def rows(text):
    return [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in text.splitlines()
        if re.match(r"\| [A-C]?\d", line)
    ]


def span(cell):
    """Prefix, first and last number of a range of equations."""
    first, *last = re.findall(r"([A-C]?)(\d+)", cell)
    return first[0], int(first[1]), int((last or [first])[-1][1])


def test_every_equation_has_one_row():
    last = {"": 0, "A": 0, "B": 0, "C": 0}
    for prefix, first, end in (span(row[0]) for row in rows(EQUATIONS)):
        assert first == last[prefix] + 1
        last[prefix] = end
    assert last == {"": 124, "A": 63, "B": 125, "C": 5}


def test_every_name_exists():
    for name in {name for row in rows(EQUATIONS) for name in re.findall(r"`([\w.]+)`", row[2])}:
        assert resolve(f"gcnlimit.{name}") is not None, name


def test_every_figure_has_one_row_and_is_drawn():
    assert [row[0] for row in rows(FIGURES)] == [str(k + 1) for k in range(15)]
    assert {row[2].strip("`") for row in rows(FIGURES)} == set(registry.FIGURES)
