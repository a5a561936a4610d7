"""The simulated dots of the figures: sizes, where finished points are kept, mean and standard error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gcnlimit.csbm import CSBM
from gcnlimit.network import GCN

if TYPE_CHECKING:
    import xarray

__all__ = ["FULL", "QUICK", "Simulation"]


@dataclass(frozen=True)
class Simulation:
    """How to simulate the dots of a figure.

    Parameters
    ----------
    nodes, degree, trials
        Size and average degree of the graphs, and how many are drawn for each dot.
    store
        File that keeps every finished point, from which an interrupted run resumes; ``None`` for none.
    executor
        Who computes; by default one process for each core.
    advance
        Called after each curve of dots.
    """

    nodes: int = 4000
    degree: float = 30.0
    trials: int = 6
    store: Path | None = None
    executor: Executor | None = None
    advance: Callable[[], None] = lambda: None

    def sized(self, nodes: int | None, trials: int | None) -> Simulation | None:
        """The same at another size; without trials there is nothing to simulate."""
        if trials == 0:
            return None
        return replace(self, nodes=nodes or self.nodes, trials=trials or self.trials)

    def measure(self, data: CSBM, gcn: GCN, axes: Mapping[str, Any]) -> xarray.Dataset:
        """Mean and standard error over the trials, at every combination of the axes.

        Trial number k uses the graph of seed k, so that all dots of a curve are measured on the same graphs.
        """
        from gcnlimit.sweep import sweep

        fixed = {"nodes": self.nodes, "degree": self.degree, "trials": 1}
        answer = sweep(
            "simulate",
            data=data,
            gcn=gcn,
            axes={"seed": range(self.trials), **axes},
            fixed=fixed,
            store=self.store,
            executor=self.executor,
            progress=False,
        )
        self.advance()
        trials = answer[["test_accuracy", "train_loss"]]
        error = trials.std("seed", ddof=1) / np.sqrt(self.trials)
        return trials.mean("seed").merge(error.rename({name: f"{name}_standard_error" for name in error}))


QUICK = Simulation()
FULL = Simulation(nodes=10_000, trials=10)
