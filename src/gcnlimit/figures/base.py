"""A figure: numbers, simulated dots, a drawing of them, and the statements that they should support."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import GCNLimitError, ParameterError
from gcnlimit.network import GCN
from gcnlimit.parameters import build_data, build_network
from gcnlimit.sweeps.plan import flatten
from gcnlimit.sweeps.run import sweep
from gcnlimit.theory.scatter import expected_error


@dataclass(frozen=True)
class Simulation:
    """Size of the simulations behind the dots of a figure: `trials` graphs of `nodes` nodes and mean `degree` for each dot.

    Finished points are kept in the file `store`, from which an interrupted run resumes. The `executor` computes them, by
    default one process for each core, and `advance` is called after each curve of dots.
    """

    nodes: int = 3000
    degree: float = 30.0
    trials: int = 5
    device: str = "cpu"
    store: Path | None = None
    executor: Executor | None = None
    advance: Callable[[], None] = lambda: None

    def sized(self, nodes: int | None, trials: int | None) -> Simulation | None:
        """The simulation at another size; without trials there is nothing to simulate.

        >>> Simulation().sized(500, 3).nodes, Simulation().sized(None, 0)
        (500, None)
        """
        if trials == 0:
            return None
        if trials == 1:
            raise ParameterError("trials = 1 has no error bar; give 0 (theory alone) or at least 2")
        return replace(self, nodes=nodes or self.nodes, trials=trials or self.trials)

    def measure(self, data: CSBM, gcn: GCN, axes: Mapping[str, Any], *names: str) -> xarray.Dataset:
        """Simulated values of the named fields at every combination of the axes, with their errors and the theory there.

        Each curve and each value of its first axis has graphs of its own, so that dots scatter independently; those that
        differ in the other axes alone are measured on the same graphs, and share the propagation through them.
        """
        # dots along the first axis are compared with a curve, and must not err together
        (first, values), *others = axes.items()
        # the seeds follow from the curve, so that the dots are the same in every run
        seed = zlib.crc32(repr((data, gcn)).encode()) * 1000
        each = []
        for k, value in enumerate(values):
            at_value = {first: [value], **dict(others)}
            each.append(self._trials(data, gcn, at_value, seed + k * self.trials)[list(names)])
        trials = xarray.concat(each, first)
        self.advance()
        theory = sweep("predict", data=data, gcn=gcn, axes=axes, store=self.store, progress=False)
        named = {
            "simulated": trials.mean("seed"),
            "standard_error": trials.std("seed", ddof=1) / np.sqrt(self.trials),
            "predicted": theory[list(names)].where(theory.error == ""),
        }
        parts = [part.rename({n: f"{n}_{ending}" for n in names}) for ending, part in named.items()]
        dots: xarray.Dataset = xarray.merge(parts)
        if "test_accuracy" in names:
            expected = self._expected_errors(data, gcn, axes)
            dots["test_accuracy_expected_error"] = list(axes), expected
        return dots.assign_attrs(nodes=self.nodes, degree=self.degree, trials=self.trials)

    def _trials(self, data: CSBM, gcn: GCN, axes: Mapping[str, Any], seed: int) -> xarray.Dataset:
        """Simulated values of each trial, on graphs of consecutive seeds."""
        seeds = {"seed": range(seed, seed + self.trials)}
        fixed: dict[str, Any] = {"nodes": self.nodes, "degree": self.degree, "trials": 1}
        if self.device != "cpu":
            # double precision on a card, too: single does not settle at small regularization
            fixed |= {"device": self.device, "dtype": "float64"}
        how: Any = {"store": self.store, "executor": self.executor, "progress": False}
        answer = sweep("simulate", data=data, gcn=gcn, axes={**seeds, **axes}, fixed=fixed, **how)
        reasons = [str(reason) for reason in answer.error.values.flat if reason]
        if reasons:
            raise GCNLimitError(f"{len(reasons)} simulated points failed; the first: {reasons[0]}")
        return answer.assign_coords(seed=np.arange(self.trials))

    def _expected_errors(self, data: CSBM, gcn: GCN, axes: Mapping[str, Any]) -> Array:
        """Standard error of the test accuracy by theory at every combination of the axes; NaN where it has none."""
        common = flatten(data, gcn, {}, axes, network=True)
        error = []
        for values in itertools.product(*axes.values()):
            at = common | dict(zip(axes, values, strict=True))
            error.append(expected_error(build_data(at), build_network(at), self.nodes, self.trials))
        return np.reshape(error, [len(values) for values in axes.values()])


QUICK = Simulation()
FULL = Simulation(nodes=10_000, trials=10)


def dot_error(dataset: xarray.Dataset, name: str) -> tuple[xarray.DataArray, xarray.DataArray]:
    """Errors of the dots of a quantity, and their degrees of freedom.

    They are what theory expects, and exact; where it has none, they come from the trials, one less than there are.
    """
    measured = dataset[f"{name}_standard_error"]
    expected = dataset.get(f"{name}_expected_error", xarray.full_like(measured, np.nan))
    exact = xarray.full_like(expected, np.inf)
    return expected.fillna(measured), exact.where(expected.notnull(), dataset.attrs["trials"] - 1.0)


Settings = Mapping[str, Sequence[float]]
"""Parameters with their values in each panel, or on each curve, of a figure."""


def columns(settings: Settings, axes: int = 1) -> dict[str, Any]:
    """Values of the settings as columns, for data that broadcast with that many axes after them.

    >>> columns({"rho": (0.1, 0.3)})["rho"].shape
    (2, 1)
    """
    return {name: np.reshape(values, (-1, *axes * (1,))) for name, values in settings.items()}


def coordinates(settings: Settings, along: str = "setting") -> dict[str, Any]:
    """Values of the settings as coordinates of the numbers."""
    return {name: (along, list(values)) for name, values in settings.items()}


LITTLE, FEW_PERCENT = 0.02, 0.05
"""Accuracies that stand for the words "little" or "close to the limit", and "a few percent", of the paper.

The paper gives no numbers for them; these were chosen with the first results in view, so that a verdict near them is a
matter of taste.
"""


@dataclass(frozen=True)
class Statement:
    """A sentence of the paper, whether the numbers of a figure agree, and in words the number that decides it."""

    text: str
    holds: bool
    number: str


def infinity_is_nearly_best(finite: xarray.DataArray, infinite: xarray.DataArray) -> Statement:
    """No finite regularization gains much over the infinite one; both are accuracies of the best network of each."""
    gain = float((finite - infinite).max())
    number = f"largest gain of a finite r {gain:+.1e}"
    return Statement("r = inf is nearly optimal", gain < 2e-3, number)


def growth_with_depth(accuracy: xarray.DataArray, sentence: str, least: float = 0.0) -> Statement:
    """Accuracy grows from each depth to the next, by more than `least`."""
    step = float(accuracy.diff("K").min())
    return Statement(sentence, step > least, f"smallest step {step:+.1e}")


@dataclass(frozen=True)
class PaperFigure:
    """A figure: `data` computes its numbers, `draw` draws them and nothing else.

    `dots` simulates, given these numbers and how to simulate, and `statements` are the sentences that the numbers should
    support.
    """

    name: str  # how the user asks for it
    title: str
    data: Callable[[], xarray.Dataset]
    draw: Callable[[xarray.Dataset, Sequence[Axes]], None]  # on one axes for each panel
    statements: Callable[[xarray.Dataset], Iterable[Statement]] = lambda numbers: ()
    panels: tuple[int, int] = (1, 1)  # rows and columns
    size: tuple[float, float] = (5.0, 3.6)  # width and height in inches
    dots: Callable[[xarray.Dataset, Simulation], xarray.Dataset] | None = None
    curves: int = 1  # of dots, by which the progress is counted

    def numbers(self, simulation: Simulation | None = None) -> xarray.Dataset:
        """Return the numbers, with dots if the figure has them and a simulation is given."""
        theory = self.data()
        if simulation is None or self.dots is None:
            return theory
        dots = self.dots(theory, simulation)
        return theory.merge(dots, compat="no_conflicts", join="outer", combine_attrs="no_conflicts")
