"""All figures by name."""

from __future__ import annotations

from gcnlimit.errors import ParameterError
from gcnlimit.figures import depth, diffusion_depth, gap, introduction, learning_rates, optimal_time
from gcnlimit.figures.base import PaperFigure

__all__ = ["FIGURES", "find"]

FIGURES = {
    module.FIGURE.name: module.FIGURE
    for module in (introduction, learning_rates, depth, diffusion_depth, optimal_time, gap)
}


def find(name: str) -> PaperFigure:
    """Figure of that name.

    >>> find("introduction").panels
    (1, 1)
    """
    if name not in FIGURES:
        raise ParameterError(f"there is no figure {name!r}; choose one of {', '.join(FIGURES)}")
    return FIGURES[name]
