"""Maps of the gap between a tuned network and the ceiling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.choose.best_filter import FilterCeiling, filter_ceiling
from gcnlimit.choose.search import Bounds
from gcnlimit.choose.tune import Tuned, tune
from gcnlimit.csbm import CSBM
from gcnlimit.network import GCN, check_problem
from gcnlimit.results.performance import Prediction, scalar_or_array
from gcnlimit.results.result import Coordinates, Result
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.decision import best_log_error


@dataclass(frozen=True, repr=False)
class GapMap(Result):
    """Gap between a tuned network and the Bayes-optimal accuracy; unequal classes are decided at the best threshold.

    Parameters
    ----------
    data
        The data.
    tuned
        The best network of the family at each point.
    ceiling
        The Bayes-optimal performance.
    """

    data: CSBM
    tuned: Tuned
    ceiling: Prediction

    _plotted = "gap"

    def _points(self) -> Coordinates:
        return self.tuned._points()

    def _shown(self) -> dict[str, Any]:
        gaps = {"bayes_optimal": self.ceiling.test_accuracy, "gap": self.gap, "log_ratio": self.log_ratio}
        return self.tuned._shown() | gaps

    @property
    def gap(self) -> float | Array:
        """Bayes-optimal minus tuned test accuracy."""
        return _difference(self.ceiling.test_accuracy, scored(self.tuned.prediction, self.data)[0])

    @property
    def log_ratio(self) -> float | Array:
        """Logarithm of the ratio of the test errors, tuned over Bayes-optimal: precise where both accuracies round to 1."""
        return _difference(scored(self.tuned.prediction, self.data)[1], self.ceiling.log_test_error)

    @cached_property
    def linear(self) -> FilterCeiling:
        """The best linear network at each point, over all filters and regularizations."""
        return filter_ceiling(self.data, self.tuned.gcn.symmetrize)

    @property
    def linear_gap(self) -> float | Array:
        """Bayes-optimal accuracy minus that of the best linear network, over all filters and regularizations."""
        return _difference(self.ceiling.test_accuracy, self.linear.test_accuracy)


def gap_map(data: CSBM, gcn: GCN, free: Mapping[str, Bounds], *, progress: bool | None = None) -> GapMap:
    """Gap between a family of networks, tuned at each point of a map of data, and the ceiling.

    Parameters
    ----------
    data
        The data: two parameters as arrays that broadcast, such as ``lam=x[:, None], mu=y``, make a map.
    gcn, free, progress
        The family, what is free, and whether to draw a bar, as in `tune`; ``reg`` stays as it is in `gcn` unless it is free.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=np.array([[0.5], [1.0]]), mu=[1.0, 2.0, 3.0], rho=0.1)
    >>> map = gl.gap_map(data, gl.GCN(gl.Diffusion(t=1), symmetrize=True), {"t": (0, 10)})
    >>> map.gap.shape, bool(np.all(map.gap > map.linear_gap)), bool(np.all(map.linear_gap > 0))
    ((2, 3), True, True)
    """
    check_problem("gap_map", data, gcn)
    ceiling = bayes_optimal(data)
    return GapMap(data, tune(data, gcn, free, threshold="best", progress=progress), ceiling)


def scored(prediction: Prediction, data: CSBM) -> tuple[float | Array, float | Array]:
    """Accuracy and logarithm of the error, on unequal classes at the best threshold."""
    if data.classes.equal:
        return prediction.test_accuracy, prediction.log_test_error
    margin = np.asarray(prediction.order_parameters.test_margin)
    return prediction.best_accuracy, scalar_or_array(best_log_error(margin, data.classes))


def _difference(one: float | Array, other: float | Array) -> float | Array:
    difference: float | Array = scalar_or_array(np.asarray(one) - np.asarray(other))
    return difference
