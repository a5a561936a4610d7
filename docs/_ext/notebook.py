"""Notebooks as pages: cells are executed when the site is built, without a kernel, and shown with what they print and draw."""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

mpl.use("agg")


class NotebookParser(MystParser):
    """Cells of a notebook, one after another in one namespace, as Markdown with their output."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Execute the cells and parse what results."""
        env = document.settings.env
        page, folder = Path(env.doc2path(env.docname)), Path(env.app.outdir) / "_images"
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.chdir(page.parent):
            parts = list(as_markdown(json.loads(inputstring)["cells"], folder, page.stem))
        parts.insert(
            1, f"{{download}}`Download this notebook <{page.name}>` and run it in the folder `docs` of a checkout."
        )
        super().parse("\n\n".join(parts), document)


def as_markdown(cells: list[dict[str, Any]], folder: Path, name: str) -> Any:
    """Markdown of each cell, executed if it is code; figures are written to the folder."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cells):
        source = "".join(cell["source"])
        if cell["cell_type"] != "code":
            yield source
            continue
        yield f"```python\n{source}\n```"
        try:
            printed, value = execute(source, scope)
        except Exception as error:
            raise ExtensionError(f"{name}: cell {number} fails with {error!r}:\n{source}") from error
        shown = [f"```text\n{printed.rstrip()}\n```"] if printed else []
        shown += [html(value)] if hasattr(value, "_repr_html_") else []
        shown += [raw(image) for image in figures(folder, f"{name}-{number}", cell["metadata"].get("alt", ""))]
        if shown:
            yield "\n\n".join([":::{container} cell-output", *shown, ":::"])


def execute(source: str, scope: dict[str, Any]) -> tuple[str, Any]:
    """What a cell prints, its last value included, and that value if it is shown in another form."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";") else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "cell", "exec"), scope)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), scope) if last else None
        if value is not None and not hasattr(value, "_repr_html_"):
            print(repr(value))
    return printed.getvalue(), value


def html(value: Any) -> str:
    """Table of a value, as a notebook shows it."""
    return raw(f'<div class="table-wrapper">{value._repr_html_()}</div>')


def raw(markup: str) -> str:
    """Markup inside of Markdown."""
    return f"```{{raw}} html\n{markup}\n```"


def figures(folder: Path, name: str, alt: str) -> list[str]:
    """Markup of the open figures of Matplotlib, which are written to the folder and closed."""
    import matplotlib.pyplot as plt

    images = []
    for number in plt.get_fignums():
        file = folder / f"{name}-{number}.png"
        plt.figure(number).savefig(file, dpi=130, bbox_inches="tight")
        images.append(f'<img src="_images/{file.name}" alt="{alt}" style="width: 34em">')
    plt.close("all")
    return images


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the suffix ``.ipynb`` and its parser."""
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
