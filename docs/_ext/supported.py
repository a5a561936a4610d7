"""What is supported with what, as tables printed from the library's own (`gcnlimit.scope`)."""

from __future__ import annotations

from collections.abc import Iterable

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from gcnlimit import scope

YES, NO = "yes", "no"


def answers(when: scope.When) -> str:
    """Answers of a row in words."""
    return ", ".join(f"{name} {' or '.join(values)}" for name, values in when.items()) or "all"


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
            *([answers(row.when), ", ".join(row.functions), row.remedy] for row in scope.REFUSALS),
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
    yield ["function", *(f"{name} {value}" for name, value in columns), "estimate"]
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
        yield [function, *cells, "with errors" if function in scope.CARRY else "as its model"]


class Supported(SphinxDirective):
    """One of the tables: ``questions``, ``functions``, ``refusals`` or ``equations``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table, by way of Markdown."""
        head, *body = rows_of(self.arguments[0])
        lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *body)]
        container = nodes.container()
        self.state.nested_parse(StringList(lines), self.content_offset, container)
        return container.children


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive ``supported``."""
    app.add_directive("supported", Supported)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
