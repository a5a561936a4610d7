"""All figures by name."""

from __future__ import annotations

import runpy
from pathlib import Path

from gcnlimit.errors import ParameterError
from gcnlimit.figures.base import PaperFigure
from gcnlimit.figures.own import classes, hard_phase, imbalance_colour
from gcnlimit.figures.paper import (
    depth,
    diffusion,
    diffusion_depth,
    gap,
    introduction,
    learning_rates,
    optimal_time,
    residual_strength,
    symmetry,
    train_error,
)

PAPER = {
    figure.name: figure
    for figure in (
        introduction.FIGURE,
        residual_strength.FIGURE,
        learning_rates.FIGURE,
        depth.FIGURE,
        diffusion.DIRECTED,
        diffusion.SYMMETRIZED,
        diffusion_depth.FIGURE,
        optimal_time.FIGURE,
        gap.FIGURE,
        symmetry.FIGURE,
        train_error.FIGURE,
    )
}
"""The figures of the paper."""
FIGURES = PAPER | {figure.name: figure for figure in (classes.FIGURE, hard_phase.FIGURE, imbalance_colour.FIGURE)}
"""And those of the project."""


def find(name: str) -> PaperFigure:
    """Figure of that name, or of a file of your own, ``NAME.py``.

    >>> find("introduction").panels
    (1, 1)
    """
    if name.endswith(".py"):
        return load(name)
    if name not in FIGURES:
        raise ParameterError(
            f"there is no figure {name!r}; choose one of {', '.join(FIGURES)}, or give a file NAME.py of your own"
        )
    return FIGURES[name]


def load(path: str | Path) -> PaperFigure:
    """Figure of a file outside the package: run it, and return its ``FIGURE``."""
    if not Path(path).is_file():
        raise ParameterError(f"there is no file {path}; give a Python file that defines FIGURE")
    figure = runpy.run_path(str(path)).get("FIGURE")
    if not isinstance(figure, PaperFigure):
        raise ParameterError(f"{path} defines no FIGURE of type PaperFigure; see the page on adding a figure")
    return figure
