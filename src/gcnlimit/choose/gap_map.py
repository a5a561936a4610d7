"""Maps of the gap between a family of networks, tuned at each point, and the ceiling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gcnlimit._values import Numbers
from gcnlimit.choose.free_numbers import Bounds
from gcnlimit.choose.tune import Tuned, tune
from gcnlimit.csbm import CSBM
from gcnlimit.network import GCN, check_problem
from gcnlimit.results.performance import Prediction
from gcnlimit.results.result import Coordinates, Result
from gcnlimit.theory.bayes import bayes_optimal


@dataclass(frozen=True, eq=False, repr=False)
class GapMap(Result):
    """Gap between a network, `tuned` at each point of `data`, and the Bayes-optimal `ceiling`."""

    data: CSBM
    tuned: Tuned
    ceiling: Prediction

    _plotted = "gap"

    def _points(self) -> Coordinates:
        return self.tuned._points()

    def _shown(self) -> dict[str, Any]:
        return self.tuned._shown() | {"bayes_optimal": self.ceiling.test_accuracy, "gap": self.gap}

    @property
    def gap(self) -> Numbers:
        """Bayes-optimal minus tuned test accuracy, on unequal classes at the best threshold."""
        reached = self.tuned.prediction
        accuracy = reached.test_accuracy if self.data.classes.equal else reached.best_accuracy
        return self.ceiling.test_accuracy - accuracy


def gap_map(
    data: CSBM, gcn: GCN, free: Mapping[str, Bounds], *, progress: bool | None = None
) -> GapMap:
    """Gap between a family of networks, tuned at each point of a map of data, and the ceiling.

    Parameters
    ----------
    data
        The data: two parameters as arrays that broadcast, such as ``lam=x[:, None], mu=y``, make a map.
    gcn, free, progress
        The family, what is free, and whether to show progress, as in `tune`; ``reg`` stays as it is in `gcn` unless it is free.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=[[0.5], [1.0]], mu=[1.0, 2.0, 3.0], rho=0.1)
    >>> gl.gap_map(data, gl.GCN(gl.Diffusion(t=1), symmetrize=True), {"t": (0, 10)}).gap.round(3)
    array([[0.017, 0.045, 0.063],
           [0.031, 0.032, 0.031]])
    """
    check_problem("gap_map", data, gcn)
    return GapMap(data, tune(data, gcn, free, progress=progress), bayes_optimal(data))
