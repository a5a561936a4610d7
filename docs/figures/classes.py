r"""Accuracy of several equal classes: against the signal of the graph, and against the number of classes.

A diffusion at infinite regularization, at its best time on the symmetrized graph, under the Bayes-optimal ceiling. The margin
does not depend on the number of classes, and neither does the best time; codes of more classes are further apart, while there are
more to choose from. Dots are on graphs of mean degree 200: at a small one the edges within a class exceed the others by much,
and near :math:`\lambda_e = 1` the limit of large size is approached slowly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit._values import Array
from gcnlimit.choose.tune import tune
from gcnlimit.csbm import CSBM
from gcnlimit.figures.base import PaperFigure, Simulation, Statement
from gcnlimit.figures.style import BLACK, COLOURS, draw_curve, finish, named, shades
from gcnlimit.filters import Diffusion
from gcnlimit.network import GCN
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.predict import predict

FIXED = {"alpha": 4.0, "mu": 2.0, "rho": 0.1}
SHOWN = (2, 3, 5, 10)
SIGNALS = (0.25, 0.5)
DOTS = (2, 3, 4, 6)
DEGREE = 200.0


def data() -> xarray.Dataset:
    """Accuracies of the network and of the ceiling, along the signal and along the number of classes."""
    lam = np.linspace(0.0, 1.5, 61)
    classes = np.arange(2, 13)
    _, network, ceiling = _at_best_time(lam, SHOWN)
    best_t, few, few_ceiling = _at_best_time(SIGNALS, classes)
    return xarray.Dataset(
        {
            "along": (("C", "lam"), network),
            "along_ceiling": (("C", "lam"), ceiling),
            "best_t": ("signal", best_t),
            "test_accuracy": (("classes", "signal"), few),
            "bayes_optimal": (("classes", "signal"), few_ceiling),
        },
        {"C": list(SHOWN), "lam": lam, "classes": classes, "signal": list(SIGNALS)},
        FIXED | {"reg": "inf"},
    )


def _at_best_time(
    lam: Array | Sequence[float], classes: Array | Sequence[int]
) -> tuple[Array, Array, Array]:
    """Best times, which all numbers of classes share, and accuracies of the network and of the ceiling for each number."""
    best = tune(CSBM(lam=lam, **FIXED), GCN(Diffusion(1.0)), {"t": (0, 20)}).gcn
    models = [CSBM(lam=lam, **FIXED, classes=int(C)) for C in classes]
    network = [predict(data, best).test_accuracy for data in models]
    ceiling = [bayes_optimal(data).test_accuracy for data in models]
    return np.asarray(best.filter.values), np.array(network), np.array(ceiling)


def dots(dataset: xarray.Dataset, simulation: Simulation) -> xarray.Dataset:
    """Simulated accuracies at some numbers of classes."""
    dense = replace(simulation, degree=min(DEGREE, simulation.nodes / 4))
    times = dataset.best_t.values.tolist()
    measured = [
        dense.measure(CSBM(lam=lam, **FIXED), GCN(Diffusion(t)), {"classes": DOTS}, "test_accuracy")
        for lam, t in zip(SIGNALS, times, strict=True)
    ]
    return (
        xarray.concat(measured, "signal").assign_coords(signal=list(SIGNALS)).rename(classes="dot")
    )


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """Curves against the signal on the left, against the number of classes on the right."""
    left, right = axes
    for C, colour in zip(SHOWN, shades(len(SHOWN)), strict=True):
        draw_curve(left, dataset.sel(C=C), "along", named(C=C), color=colour)
        draw_curve(left, dataset.sel(C=C), "along_ceiling", "", line="--", color=colour)
    for lam, colour in zip(SIGNALS, COLOURS, strict=False):
        draw_curve(right, dataset.sel(signal=lam), "test_accuracy", named(lam=lam), color=colour)
        draw_curve(right, dataset.sel(signal=lam), "bayes_optimal", "", line="--", color=colour)
    right.plot(dataset.classes, 1.0 / dataset.classes, ":", color=BLACK, label="chance")
    left.plot([], [], color="grey", label="diffusion at its best time")
    left.plot([], [], "--", color="grey", label="Bayes-optimal")
    left.set(xlabel=r"$\lambda$", xlim=(0, 1.5), ylim=(0, 1))
    right.set(xlabel="number of classes $C$", xlim=(2, 12), ylim=(0, 1))
    finish(axes, [named(**FIXED)] * 2, columns=5)


def statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """The network never exceeds the ceiling, for any number of classes."""
    least = float((dataset.along_ceiling - dataset.along).min())
    yield Statement(
        "no number of classes lifts a network above its ceiling",
        least >= 0.0,
        f"least gap {least:.1e}",
    )


FIGURE = PaperFigure(
    "classes",
    "Accuracy of C equal classes against the signal of the graph and against C, under the Bayes-optimal ceiling",
    data,
    draw,
    panels=(1, 2),
    size=(8.0, 3.9),
    dots=dots,
    curves=len(SIGNALS),
    statements=statements,
)
