"""Print the tables of the page *What is supported with what* from the library's own table, `gcnlimit.scope`.

python docs/scripts/supported.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from gcnlimit import scope

PAGE = Path(__file__).parent.parent / "reference" / "supported.md"
YES, NO = "yes", "no"
PARTS = {
    "tune": "errors of the prediction",
    "best_filter": "errors of the prediction",
    "compare": "errors of each network",
}


def answers(when: scope.When) -> str:
    """Answers of a row in words."""
    return "; ".join(f"{name}: {' or '.join(values)}" for name, values in when.items()) or "any"


def rows_of(part: str) -> list[list[str]]:
    """Rows of one of the tables, the first of them its head."""
    if part == "questions":
        return [
            ["question", "answers"],
            *([name, "; ".join(values)] for name, values in scope.QUESTIONS.items()),
        ]
    if part == "equations":
        return [
            ["trained network", "answered by"],
            *([answers(when), route.value] for when, route in scope.ROUTES),
        ]
    if part == "refusals":
        head = ["together", "refused by", "remedy"]
        return [
            head,
            *([answers(row.when), "; ".join(row.functions), row.remedy] for row in scope.REFUSALS),
        ]
    return list(functions())


def functions() -> Iterable[list[str]]:
    """For each function what it answers of each answer alone, all others the simplest; and whether it carries errors on."""
    simplest = {name: first for name, (first, *_) in scope.QUESTIONS.items()}
    columns = [
        ("degrees", "varied"),
        ("classes", "more equal"),
        ("classes", "2 unequal"),
        ("classes", "more unequal"),
    ]
    columns += [
        ("features", "correlated"),
        ("operator", "directed"),
        ("reg", "finite"),
        ("loss", "margin"),
    ]
    columns += [
        ("penalty", "other"),
        ("test_filter", "other"),
        ("training", "stopped"),
        ("noise", "some"),
    ]
    yield ["function", *(f"{name}: {value}" for name, value in columns), "estimate"]
    for function in scope.FUNCTIONS:
        cells = []
        for name, value in columns:
            free = function in scope.DATA_ONLY and name not in (
                "degrees",
                "classes",
                "features",
                "noise",
            )
            refused = scope.refusal_of(function, simplest | {name: value})
            cells.append("" if free else YES if refused is None else NO)
        kept = "with errors" if function in scope.CARRY else "without errors"
        yield [function, *cells, PARTS.get(function, kept)]


def printed(page: str) -> str:
    """Text of a page with the table below each comment ``<!-- table: NAME -->`` printed again."""

    def table(found: re.Match[str]) -> str:
        head, *body = rows_of(found[1])
        lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *body)]
        return f"<!-- table: {found[1]} -->\n\n" + "\n".join(lines) + "\n"

    return re.sub(r"<!-- table: (\w+) -->\n\n(?:\|.*\n)*", table, page)


if __name__ == "__main__":
    PAGE.write_text(printed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
