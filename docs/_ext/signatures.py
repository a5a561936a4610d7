"""What autodoc shows: signatures as written in the source, links to the theory page, no numbered fields of named tuples.

`autodoc_type_aliases` needs a list of all aliases, and leaves prefixes of modules in the signatures of dataclasses.
"""

from __future__ import annotations

import enum
import inspect
import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.inspect import stringify_signature


def as_written(
    app: Sphinx,
    what: str,
    name: str,
    item: Any,
    options: Any,
    signature: str | None,
    answer: str | None,
) -> tuple[str, str | None] | None:
    """Return the signature with its annotations unevaluated, so that an alias stays one word."""
    if signature is None:
        return None
    if inspect.isclass(item) and issubclass(item, enum.Enum):
        return "", None
    found = inspect.signature(item)
    kept = [p for p in found.parameters.values() if p.name not in {"self", "cls"}]
    text = (
        stringify_signature(found.replace(parameters=kept)).replace("npt.", "").replace("np.", "")
    )
    arguments, arrow, answer = text.rpartition(" -> ")
    return (arguments, None if what == "class" else answer) if arrow else (text, None)


def skip(app: Sphinx, what: str, name: str, item: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what says nothing."""
    return (
        True
        if (getattr(item, "__doc__", None) or "").startswith("Alias for field number")
        else None
    )


_EQUATIONS = re.compile(r"\bEqs?\.\s\d+\.\d+(?:(?:,|\sand|\sto)\s\d+\.\d+)*")


def link(app: Sphinx, what: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    """Turn "theory page, §3" into a link to that section, and "Eq. 3.7" or "Eqs. 3.7 to 3.9" into links to equations."""
    text = re.sub(r"theory page,\s§(\d+)", r":ref:`theory page, §\1 <s\1>`", "\n".join(lines))
    lines[:] = _EQUATIONS.sub(lambda found: _linked(found[0]), text).split("\n")


def _linked(citation: str) -> str:
    """Links from a citation to its equations, the first including the word "Eq.", whose full stop ends no sentence."""
    unbroken = re.sub(r"(?<=\.)\s", "\\\\\N{NO-BREAK SPACE}", citation)
    return re.sub(r"(?:Eqs?\.\\\s)?(\d+)\.(\d+)", r":ref:`\g<0> <eq-\1-\2>`", unbroken)


_BACK = re.compile(r'(<a class="viewcode-back" href="[^"#]*/reference/api/[^"#]*)#[^"]*')


def back(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Lead from a source to the page of its public name, which Sphinx seeks there under the name of its module."""
    if page.startswith("_modules/"):
        context["body"] = _BACK.sub(r"\1", context["body"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to autodoc."""
    app.connect("autodoc-process-signature", as_written)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", link)
    app.connect("html-page-context", back)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
