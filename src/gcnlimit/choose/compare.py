"""Which network to use, and how much is left to gain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_ndtr, ndtr

from gcnlimit._display import Labels, Shown, draw_methods
from gcnlimit._labels import labelled
from gcnlimit._validation import flag
from gcnlimit._values import Array
from gcnlimit.choose.best_filter import best_filter
from gcnlimit.choose.search import Bounds
from gcnlimit.choose.tune import Tuned, tune
from gcnlimit.csbm import CSBM
from gcnlimit.filters import Diffusion, PageRank, Residual
from gcnlimit.network import GCN
from gcnlimit.performance import Prediction, scalar_or_array
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.limits import pca_margin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Comparison", "Entry", "GapMap", "compare", "gap_map"]

_ANYWHERE = (-math.inf, math.inf)


@dataclass(frozen=True, repr=False)
class GapMap(Shown):
    """What a tuned network leaves to gain.

    Parameters
    ----------
    tuned
        The best network of the family at each point.
    ceiling
        The Bayes-optimal performance.
    """

    tuned: Tuned
    ceiling: Prediction

    _plotted = "gap"

    def _points(self) -> Labels:
        return self.tuned._points()

    def _shown(self) -> dict[str, Any]:
        gaps = {"bayes_optimal": self.ceiling.test_accuracy, "gap": self.gap, "log_ratio": self.log_ratio}
        return self.tuned._shown() | gaps

    @property
    def gap(self) -> Any:
        """Bayes-optimal minus tuned test accuracy."""
        return self.ceiling.test_accuracy - self.tuned.prediction.test_accuracy

    @property
    def log_ratio(self) -> Any:
        """Logarithm of the ratio of the test errors, tuned over Bayes-optimal: precise where both accuracies round to 1."""
        return self.tuned.prediction.log_test_error - self.ceiling.log_test_error


def gap_map(data: CSBM, gcn: GCN, free: Mapping[str, Bounds]) -> GapMap:
    """Tune a family of networks over a map of data and subtract it from the ceiling.

    Parameters
    ----------
    data
        The data: two parameters as arrays that broadcast, such as ``lam=x[:, None], mu=y``, make a map.
    gcn, free
        The family and what is free, as in `tune`.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=np.array([[0.5], [1.0]]), mu=[1.0, 2.0, 3.0], rho=0.1)
    >>> gap = gl.gap_map(data, gl.GCN(gl.Diffusion(t=1), symmetrize=True), {"t": (0, 10)}).gap
    >>> gap.shape, bool(np.all(gap > 0))
    ((2, 3), True)
    """
    return GapMap(tune(data, gcn, free), bayes_optimal(data))


@dataclass(frozen=True)
class Entry:
    """One line of a comparison: a method, what was chosen in it (layers in increasing order), and how accurate it is."""

    method: str
    parameters: dict[str, Any]
    test_accuracy: Any
    log_test_error: Any

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
    """Methods side by side on the same data, each at its best.

    Parameters
    ----------
    entries
        The methods, the Bayes-optimal ceiling last.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> comparison = gl.compare(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), depth=1)
    >>> comparison["diffusion"].chosen, round(comparison["diffusion"].test_accuracy, 5)
    (['t = 1.488'], 0.88095)
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
        """Draw the accuracy of each method for a single point, what each leaves to gain where one parameter varies."""
        return draw_methods(self._points(), self._columns()[1], name, axes)

    def __getitem__(self, method: str) -> Entry:
        """Entry of that name."""
        return next(entry for entry in self.entries if entry.method == method)

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
        """What each method leaves to gain: the Bayes-optimal accuracy minus its own."""
        return np.asarray(self.test_accuracy[-1] - self.test_accuracy)

    def __str__(self) -> str:
        """Table, for data of a single point; else one line for each method."""
        if self.gap.ndim > 1:
            return f"Comparison of {', '.join(self.methods)} on data of shape {self.gap.shape[1:]}"
        lines = [f"{'method':<34}{'accuracy':>10}{'to gain':>10}  chosen"]
        for entry, gap in zip(self.entries, self.gap, strict=True):
            lines.append(f"{entry.method:<34}{entry.test_accuracy:>10.5f}{gap:>10.5f}  {entry.chosen[0]}".rstrip())
        return "\n".join(lines)


def compare(data: CSBM, *, depth: int = 4, order: int = 12, symmetrize: bool = True) -> Comparison:
    r"""Compare the families of networks, each tuned at infinite regularization, with the ceilings.

    Residual networks with equal and with free strengths, the continuous network, PageRank, the best polynomial, the limit of
    all linear filters; principal component analysis of the graph alone; and the Bayes-optimal accuracy.

    Parameters
    ----------
    data
        The data; array parameters broadcast.
    depth
        Layers of the residual networks.
    order
        Order of the polynomial.
    symmetrize
        Whether the networks apply the symmetrized graph.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> print(gl.compare(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), depth=2))
    method                              accuracy   to gain  chosen
    residual, equal c, depth 2           0.86485   0.04788  c = 0.4389
    residual, free c, depth 2            0.86518   0.04755  c = [0.05147, 0.8178]
    diffusion                            0.88095   0.03178  t = 1.488
    PageRank                             0.88597   0.02676  theta = 0.411
    best polynomial, order 12           0.88609   0.02664
    all linear filters                   0.88609   0.02664
    PCA of the graph                     0.84134   0.07138
    Bayes-optimal                        0.91273   0.00000
    """
    flag("symmetrize", symmetrize)

    def tuned(method: str, filter: Any, free: Mapping[str, Bounds]) -> Entry:
        best = tune(data, GCN(filter, symmetrize=symmetrize), free)
        chosen = {name: np.sort(v) if np.ndim(v) > len(data.shape) else v for name, v in best.parameters.items()}
        return Entry(method, chosen, best.prediction.test_accuracy, best.prediction.log_test_error)

    residual = Residual.constant(1.0, depth)
    best, ceiling = best_filter(data, order, symmetrize), bayes_optimal(data)
    pca = np.broadcast_to(pca_margin(data.effective_signal(symmetrize)), data.shape)
    comparison = Comparison(
        (
            tuned(f"residual, equal c, depth {depth}", residual, {"c": _ANYWHERE}),
            tuned(f"residual, free c, depth {depth}", residual, {"c": [_ANYWHERE] * depth}),
            tuned("diffusion", Diffusion(1.0), {"t": _ANYWHERE}),
            tuned("PageRank", PageRank(0.0), {"theta": (-1.0, 1.0)}),
            Entry(f"best polynomial, order {order}", {}, best.prediction.test_accuracy, best.prediction.log_test_error),
            Entry("all linear filters", {}, best.ceiling.test_accuracy, best.ceiling.log_test_error),
            Entry("PCA of the graph", {}, scalar_or_array(ndtr(pca)), scalar_or_array(log_ndtr(-pca))),
            Entry("Bayes-optimal", {}, ceiling.test_accuracy, ceiling.log_test_error),
        )
    )
    return labelled(comparison, data)


def _text(values: Array) -> str:
    """One number, or several in brackets."""
    numbers = ", ".join(f"{value:.4g}" for value in values)
    return numbers if values.size == 1 else f"[{numbers}]"
