"""The help of every verb of the command line, as it is printed."""

from __future__ import annotations

import importlib
import importlib.util

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from gcnlimit.cli.app import VERBS, app


class Verbs(SphinxDirective):
    """One section for each verb."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        return [section(name) for name in VERBS if importlib.util.find_spec(f"gcnlimit.cli.{name}")]


def section(name: str) -> nodes.section:
    """Title and help of a verb."""
    command = importlib.import_module(f"gcnlimit.cli.{name}").command
    parent = click.Context(app, info_name="gcnlimit", max_content_width=90, terminal_width=90)
    text = command.get_help(click.Context(command, parent=parent, info_name=name))
    title = nodes.title("", "", nodes.literal("", f"gcnlimit {name}"))
    return nodes.section("", title, nodes.literal_block(text, text, language="text"), ids=[f"gcnlimit-{name}"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive ``verbs``."""
    app.add_directive("verbs", Verbs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
