r"""Training error against the residual strength, in the settings of the accuracy against it.

If :math:`c` were trained on :math:`E_{train}` it would diverge, and the graph would be discarded: it has to be chosen by the
accuracy. At infinite regularization the output vanishes and the error is :math:`\ell(0)`, which is not drawn.

The figure shows the same networks, and the same simulated graphs, as ``residual-strength``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit.figures.base import PaperFigure, Statement
from gcnlimit.figures.paper import residual_strength
from gcnlimit.figures.style import legend_below


def data() -> xarray.Dataset:
    """The training errors among the numbers of the accuracies, at finite regularization."""
    everything = residual_strength.strengths()
    return everything[["train_loss"]].sel(reg=np.isfinite(everything.reg))


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """Errors of a loss in each row, of a depth in each column."""
    residual_strength.draw_strengths(dataset, axes, "train_loss", r"$E_\mathrm{train}$")
    for panel in axes:
        panel.set_ylim(0, None)
    legend_below(axes, columns=3)


def strength_diverges(dataset: xarray.Dataset) -> Statement:
    """The training error is lowest at the largest strength."""
    at = dataset.c.values[dataset.train_loss.argmin("c")]
    text = "trained on E_train, the strength c would diverge"
    number = f"lowest at the largest c in {int((at == at.max()).sum())} of {at.size} curves"
    return Statement(text, bool((at == dataset.c.values[-1]).all()), number)


FIGURE = PaperFigure(
    "train-error",
    "Training error against the residual strength c for K = 1, 2, 3 at several r",
    data,
    draw,
    panels=(2, 3),
    size=(9.6, 5.6),
    dots=residual_strength.dots,
    curves=residual_strength.FIGURE.curves,
    statements=(strength_diverges,),
)
