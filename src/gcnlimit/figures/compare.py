"""Figure of a comparison: every method at its best, and the ceilings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gcnlimit._validation import Array
from gcnlimit.errors import ParameterError
from gcnlimit.theory.compare import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw"]

_COLOURS = ("#4477aa", "#66ccee", "#228833", "#aa3377", "#ee6677", "#bb5566", "#bbbbbb", "#000000")


def draw(comparison: Comparison, axes: Axes, *, over: tuple[str, Array] | None = None) -> Axes:
    """Draw a comparison: bars for a single point of the data, curves where one parameter varies.

    Parameters
    ----------
    comparison
        What `compare` returned.
    axes
        The Matplotlib axes to draw on.
    over
        Name and values of the parameter that varies.
    """
    accuracy = comparison.test_accuracy
    if accuracy.ndim > 2:
        raise ParameterError("a comparison over two parameters cannot be drawn; vary one of them")
    if accuracy.ndim == 1:
        _bars(comparison, axes)
    else:
        name, values = over or ("point", np.arange(accuracy.shape[1]))
        for method, line, colour in zip(comparison.methods, accuracy, _COLOURS, strict=True):
            axes.plot(values, line, label=method, color=colour, **_line(method))
        axes.set_xlabel(name)
        axes.set_ylabel("test accuracy")
        axes.legend(fontsize="small", frameon=False)
    return axes


def _line(method: str) -> dict[str, Any]:
    """Ceilings are dashed."""
    ceiling = method in ("Bayes-optimal", "all linear filters")
    return {"linestyle": "--" if ceiling else "-", "linewidth": 1.5}


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
