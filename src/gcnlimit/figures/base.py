"""A figure of the paper: numbers, a drawing of them, and the statements that they should support."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import xarray
from matplotlib.axes import Axes

from gcnlimit.figures.dots import Simulation

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
        Theory: the numbers of the curves.
    draw
        From the numbers and one axes for each panel to the picture.
    panels
        Rows and columns of panels.
    size
        Width and height in inches.
    dots
        From these numbers and the simulation to run to the dots, with the theory at their places; ``None`` if there are none.
    curves
        Number of curves of dots, by which the progress is counted.
    statements
        The sentences of the paper that the numbers should support.
    """

    name: str
    title: str
    data: Callable[[], xarray.Dataset]
    draw: Callable[[xarray.Dataset, Sequence[Axes]], None]
    panels: tuple[int, int] = (1, 1)
    size: tuple[float, float] = (5.0, 3.6)
    dots: Callable[[xarray.Dataset, Simulation], xarray.Dataset] | None = None
    curves: int = 1
    statements: tuple[Callable[[xarray.Dataset], Statement], ...] = ()

    def numbers(self, simulation: Simulation | None = None) -> xarray.Dataset:
        """Return the numbers, with dots if the figure has them and a simulation is given."""
        theory = self.data()
        if simulation is None or self.dots is None:
            return theory
        dots = self.dots(theory, simulation)
        return theory.merge(dots, compat="no_conflicts", join="outer", combine_attrs="no_conflicts")
