"""All figures by name."""

from __future__ import annotations

from gcnlimit.errors import ParameterError
from gcnlimit.figures.base import PaperFigure
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

__all__ = ["FIGURES", "find"]

FIGURES = {
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


def find(name: str) -> PaperFigure:
    """Figure of that name.

    >>> find("introduction").panels
    (1, 1)
    """
    if name not in FIGURES:
        raise ParameterError(f"there is no figure {name!r}; choose one of {', '.join(FIGURES)}")
    return FIGURES[name]
