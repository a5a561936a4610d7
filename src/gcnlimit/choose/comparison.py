"""Methods side by side on the same data: what `compare` answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gcnlimit._display import Labels, Shown, draw_methods
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.network import GCN
from gcnlimit.performance import Status

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Comparison", "Entry"]


@dataclass(frozen=True)
class Entry:
    """One line of a comparison.

    Parameters
    ----------
    method
        Its name.
    parameters
        What was chosen, the regularization included (layers in increasing order); `reg` is in the units of the filter,
        which is of largest magnitude 1 on the spectrum for polynomials and for all linear filters.
    test_accuracy, log_test_error
        How accurate it is; on unequal classes at the best threshold.
    gcn
        The network, for `predict`, `fit` and `simulate`; None for what is not one.
    status
        How each was found; ``REFUSED``, with NaN as accuracy, where the data are out of range.
    """

    method: str
    parameters: dict[str, float | Array]
    test_accuracy: float | Array
    log_test_error: float | Array
    gcn: GCN | None = None
    status: Status | npt.NDArray[np.int_] = Status.EXPLICIT

    @property
    def chosen(self) -> list[str]:
        """What was chosen, in words, for each point of the data.

        >>> Entry("two layers", {"c": np.array([[0.5, 1.0], [2.0, 3.0]])}, np.ones(2), np.ones(2)).chosen
        ['c = [0.5, 1]', 'c = [2, 3]']
        """
        points = np.size(self.test_accuracy)
        columns = [
            [f"{name} = {_text(row)}" for row in np.reshape(values, (points, -1))]
            for name, values in self.parameters.items()
        ]
        return ["; ".join(row) for row in zip(*columns, strict=True)] if columns else [""] * points


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Methods side by side on the same data.

    Parameters
    ----------
    entries
        The methods, the Bayes-optimal ceiling last.

    Examples
    --------
    >>> import math
    >>> import gcnlimit as gl
    >>> comparison = gl.compare(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), depth=1, reg=math.inf)
    >>> comparison["diffusion"].chosen, round(comparison["diffusion"].test_accuracy, 5)
    (['t = 1.488; reg = inf'], 0.88095)
    >>> comparison.best.method
    'best polynomial, order 12'
    """

    entries: tuple[Entry, ...]

    def _points(self) -> Labels:
        methods = np.reshape(self.methods, (-1, *(1 for _ in self.gap.shape[1:])))
        return Labels({"method": methods} | dict(self._labels.parameters))

    def _shown(self) -> dict[str, Any]:
        return {
            "test_accuracy": self.test_accuracy,
            "log_test_error": np.stack([np.asarray(entry.log_test_error) for entry in self.entries]),
            "gap": self.gap,
            "chosen": np.reshape([entry.chosen for entry in self.entries], self.gap.shape),
        }

    def __repr__(self) -> str:
        """The table, or one line."""
        return str(self)

    def plot(self, name: str | None = None, *, axes: Axes | None = None) -> Axes:
        """Draw the accuracy of each method for a single point, or its gap to the ceiling where one parameter varies."""
        return draw_methods(self._points(), self._columns()[1], name, axes)

    def __getitem__(self, method: str) -> Entry:
        """Entry of that name."""
        for entry in self.entries:
            if entry.method == method:
                return entry
        raise ParameterError(f"method = {method!r} is unknown; choose among {', '.join(self.methods)}")

    @property
    def best(self) -> Entry:
        """The network of the lowest test error (of several points, of the lowest mean logarithm of it)."""
        return min((e for e in self.entries if e.gcn is not None), key=lambda e: float(np.nanmean(e.log_test_error)))

    @property
    def methods(self) -> list[str]:
        """Names of the methods."""
        return [entry.method for entry in self.entries]

    @property
    def test_accuracy(self) -> Array:
        """Test accuracies, methods along the first axis."""
        return np.stack([np.asarray(entry.test_accuracy) for entry in self.entries])

    @property
    def gap(self) -> Array:
        """Bayes-optimal accuracy minus that of each method."""
        return np.asarray(self.test_accuracy[-1] - self.test_accuracy)

    def __str__(self) -> str:
        """Table, for data of a single point; else one line for each method."""
        if self.gap.ndim > 1:
            return f"Comparison of {', '.join(self.methods)} on data of shape {self.gap.shape[1:]}"
        lines = [f"{'method':<34}{'accuracy':>10}{'to gain':>10}  chosen"]
        for entry, gap in zip(self.entries, self.gap, strict=True):
            lines.append(f"{entry.method:<34}{entry.test_accuracy:>10.5f}{gap:>10.5f}  {entry.chosen[0]}".rstrip())
        return "\n".join(lines)


def _text(values: Array) -> str:
    """One number, or several in brackets."""
    numbers = ", ".join(f"{value:.4g}" for value in values)
    return numbers if values.size == 1 else f"[{numbers}]"
