"""Figure of a comparison: every method at its best, and the ceilings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gcnlimit._values import Array
from gcnlimit.choose.compare import Comparison
from gcnlimit.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw"]

_COLOURS = ("#4477aa", "#66ccee", "#228833", "#aa3377", "#ee6677", "#bb5566", "#bbbbbb", "#000000")


def draw(comparison: Comparison, axes: Axes, *, over: tuple[str, Array] | None = None) -> Axes:
    """Draw a comparison: bars of the accuracy for a single point, curves of the gap to the ceiling where one parameter varies.

    Parameters
    ----------
    comparison
        What `compare` returned.
    axes
        The Matplotlib axes to draw on.
    over
        Name and values of the parameter that varies.
    """
    dimension = comparison.gap.ndim - 1
    if dimension > 1:
        raise ParameterError("a comparison over several parameters cannot be drawn; vary one of them")
    if dimension:
        _curves(comparison, axes, *(over or ("point", np.arange(comparison.gap.shape[1]))))
    else:
        _bars(comparison, axes)
    return axes


def _curves(comparison: Comparison, axes: Axes, name: str, values: Array) -> None:
    """Gap of each method to the ceiling; that of principal component analysis may leave the frame."""
    gaps = dict(zip(comparison.methods[:-1], comparison.gap[:-1], strict=True))
    for (method, gap), colour in zip(gaps.items(), _COLOURS, strict=False):
        axes.plot(values, gap, label=method, color=colour, linestyle="--" if method == "all linear filters" else "-")
    axes.set_ylim(0.0, 1.1 * max(float(np.max(gap)) for method, gap in gaps.items() if not method.startswith("PCA")))
    axes.set_xlabel(name)
    axes.set_ylabel("accuracy below the Bayes-optimal")
    axes.legend(fontsize="small", frameon=False)


def _bars(comparison: Comparison, axes: Axes) -> None:
    """One bar for each method, its accuracy written at the end."""
    accuracy = comparison.test_accuracy
    rows = np.arange(accuracy.size)[::-1]
    lowest = max(0.0, float(np.min(accuracy)) - 0.25 * (float(np.max(accuracy)) - float(np.min(accuracy))) - 0.005)
    bars = axes.barh(rows, accuracy - lowest, left=lowest, color=_COLOURS, height=0.65)
    axes.bar_label(bars, [f"{value:.4f}" for value in accuracy], padding=3, fontsize="small")
    axes.axvline(float(accuracy[-1]), color="black", linestyle=":", linewidth=1)
    axes.set_yticks(rows, comparison.methods)
    axes.set_xlim(lowest, float(accuracy[-1]) + 0.18 * (float(accuracy[-1]) - lowest))
    axes.set_xlabel("test accuracy")
