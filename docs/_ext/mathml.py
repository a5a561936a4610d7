"""Formulas as MathML, made at build time: browsers draw them themselves, without scripts and without a network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def mathml(latex: str, display: str) -> str:
    """Convert a formula; several lines, or lines with alignment marks, become an aligned block."""
    if "\\begin{" not in latex and ("\\\\" in latex or "&" in latex):
        latex = rf"\begin{{align*}}{latex}\end{{align*}}"
    return convert(latex, display=display)


def visit_math(self: Any, node: nodes.math) -> None:
    """Write a formula in the line."""
    _write(self, node, "inline")
    raise nodes.SkipNode


def visit_displaymath(self: Any, node: nodes.math_block) -> None:
    """Write a formula of its own line."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    _write(self, node, "block")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def _write(writer: Any, node: nodes.Element, display: str) -> None:
    latex = node.astext().strip()
    try:
        writer.body.append(mathml(latex, display))
    except Exception as error:
        logger.warning("this formula cannot be converted (%r): %s", error, latex, location=node)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
