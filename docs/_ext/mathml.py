"""Formulas as MathML, made at build time: browsers draw them themselves, without scripts and without a network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

_LATEX = (
    (r"\\(mathbb|mathcal)\s*([A-Za-z])", r"\\\1{\2}"),  # the converter wants braces
    (r"\\_", "_"),
    (r"\\texttt\{", r"\\text{"),
    (r"\\mathrm\{([A-Za-z]+)\}", r"\\text{\1}"),  # a word is one word, not a product of letters
    (r"\\arg\b", r"\\text{arg}\\,"),
    (r"(\\mathbb\{E\}) *(?=\\[tls])", r"\1\\,"),
    (r"\\(cosh?|sinh?|tanh|log)(?![a-z])(?= ?\\?[a-zA-Z])", r"\\\1\\,"),
    (r"\\[bB]igg?(?=[()]|\\[lr]angle)", ""),  # fixed sizes are drawn off the axis
)
_BOLD = re.compile(r"\\mathbf\s*\{?([A-Z])\}?")
_MARKUP = (
    (
        r"<mo( stretchy=\"false\")?>(&#x0007C;|&#x0002F;)</mo>",
        r'<mo\1 lspace="0" rspace="0">\2</mo>',
    ),  # bar and slash
    (r"<mi>(&#x027E[89];)</mi>", r'<mo stretchy="false">\1</mo>'),  # angle brackets
    (r"<mo>(&#x0221E;)</mo>", r"<mi>\1</mi>"),  # infinity is a number
    (
        r"<m[io]>(?:&#x0007E;|&#x0223C;|~)</m[io]>",
        "<mo>&#x0223C;</mo>",
    ),  # "distributed as", a relation
    (
        r"<msup>((?:(?!<msup>).)*?)<mi>(&#x02032;)</mi></msup>",
        r'\1<mo lspace="0" rspace="0">\2</mo>',
    ),  # a prime is raised by itself
    (
        r"<mi>(&#x003(?:9|A)[0-9A-F];)</mi>",
        r'<mi mathvariant="normal">\1</mi>',
    ),  # capital Greek is upright
    (
        r"((?:&#x00028;|&#x0005B;|&#x0002C;|\[|\()</mo>)<mo>&#x02212;</mo>",
        r'\1<mo form="prefix">&#x02212;</mo>',
    ),  # (-1)
)


def mathml(latex: str, display: str) -> str:
    """Convert a formula; several lines, or lines with alignment marks, become an aligned block."""
    if "\\begin{" not in latex and ("\\\\" in latex or "&" in latex):
        latex = rf"\begin{{align*}}{latex}\end{{align*}}"
    latex = _BOLD.sub(
        lambda found: chr(ord(found[1]) - ord("A") + 0x1D400), latex
    )  # browsers ignore the attribute
    for pattern, replacement in _LATEX:
        latex = re.sub(pattern, replacement, latex)
    markup = convert(latex, display=display)
    for pattern, replacement in _MARKUP:
        markup = re.sub(pattern, replacement, markup)
    if unknown := re.search(r"\\\w+", markup):
        raise ValueError(f"{unknown[0]} is not known")
    return markup


def visit_math(self: Any, node: nodes.math) -> None:
    """Write a formula in the line."""
    _write(self, node, "inline")
    raise nodes.SkipNode


def visit_displaymath(self: Any, node: nodes.math_block) -> None:
    """Write a formula of its own line; one with the label ``eq-3-7`` shows its number, (3.7), a link to itself."""
    labels = [label for label in node["ids"] if re.fullmatch(r"eq-\d+-\d+", label)]
    self.body.append(self.starttag(node, "div", CLASS="math numbered" if labels else "math"))
    self.body.append('<div class="formula">')
    _write(self, node, "block")
    self.body.append("</div>")
    for label in labels:
        number = ".".join(label.split("-")[1:])
        self.body.append(
            f'<a class="eqno" href="#{label}" title="Link to this equation">({number})</a>'
        )
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
