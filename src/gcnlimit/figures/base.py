"""A figure of the paper: numbers, a drawing of them, and the statements that they should support."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

    from gcnlimit.figures.dots import Simulation

__all__ = ["FEW_PERCENT", "LITTLE", "PaperFigure", "Statement"]

LITTLE, FEW_PERCENT = 0.02, 0.05
"""Accuracies that stand for the words "little" or "close to the limit", and "a few percent", of the paper.

The paper gives no numbers for them; these were chosen with the first results in view, so that a verdict near them is a
matter of taste.
"""


@dataclass(frozen=True)
class Statement:
    """A sentence of the paper held against the numbers of a figure.

    Parameters
    ----------
    text
        The sentence.
    holds
        Whether the numbers agree.
    number
        The number that decides it, in words.
    """

    text: str
    holds: bool
    number: str


@dataclass(frozen=True)
class PaperFigure:
    """A figure: `data` computes its numbers, `draw` draws them and nothing else.

    Parameters
    ----------
    name, title
        How the user asks for it, and what it shows.
    data
        From the simulation to run (``None``: theory alone) to the numbers.
    draw
        From the numbers and one axes for each panel to the picture.
    panels
        Rows and columns of panels.
    size
        Width and height in inches.
    curves
        Number of simulated curves of dots; 0 for a figure of theory alone.
    statements
        The sentences of the paper that the numbers should support.
    """

    name: str
    title: str
    data: Callable[[Simulation | None], xarray.Dataset]
    draw: Callable[[xarray.Dataset, Sequence[Axes]], None]
    panels: tuple[int, int] = (1, 1)
    size: tuple[float, float] = (5.0, 3.6)
    curves: int = 0
    statements: tuple[Callable[[xarray.Dataset], Statement], ...] = ()

    @property
    def simulated(self) -> bool:
        """Whether the figure has simulated dots."""
        return self.curves > 0
