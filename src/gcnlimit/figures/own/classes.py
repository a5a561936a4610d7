r"""Accuracy of several equal classes: against the signal of the graph, and against the number of classes.

A diffusion at infinite regularization, at its best time on the symmetrized graph, under the Bayes-optimal ceiling. The margin
does not depend on the number of classes, and neither does the best time; codes of more classes are further apart, while there are
more to choose from. Dots are on graphs of average degree 200: at a small one the edges within a class exceed the others by much,
and near :math:`\lambda_e = 1` the limit of large size is approached slowly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit.choose.tune import tune
from gcnlimit.csbm import CSBM
from gcnlimit.figures.base import PaperFigure, Simulation, Statement, renamed
from gcnlimit.figures.style import BLACK, COLOURS, TEST_ACCURACY, draw_dots, label_panels, legend_below, shades
from gcnlimit.filters import Diffusion
from gcnlimit.network import GCN
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.predict import predict

ALPHA, MU, RHO = 4.0, 2.0, 0.1
SHOWN = (2, 3, 5, 10)
SIGNALS = (0.25, 0.5)
DOTS, DEGREE = (2, 3, 4, 6), 200.0


def data() -> xarray.Dataset:
    """Accuracies of the network and of the ceiling, along the signal and along the number of classes."""
    lam, classes = np.linspace(0.0, 1.5, 61), np.arange(2, 13)
    along = {C: CSBM(ALPHA, lam, MU, RHO, classes=C) for C in SHOWN}
    across = {int(C): CSBM(ALPHA, SIGNALS, MU, RHO, classes=int(C)) for C in classes}
    best = tune(along[2], GCN(Diffusion(1.0)), {"t": (0, 20)}).gcn
    few = tune(across[2], GCN(Diffusion(1.0)), {"t": (0, 20)}).gcn
    return xarray.Dataset(
        {
            "test_accuracy": (("C", "lam"), np.array([predict(d, best).test_accuracy for d in along.values()])),
            "bayes_optimal": (("C", "lam"), np.array([bayes_optimal(d).test_accuracy for d in along.values()])),
            "best_t": ("signal", np.asarray(few.filter.values)),
            "accuracy": (("classes", "signal"), np.array([predict(d, few).test_accuracy for d in across.values()])),
            "ceiling": (("classes", "signal"), np.array([bayes_optimal(d).test_accuracy for d in across.values()])),
        },
        {"C": list(SHOWN), "lam": lam, "classes": classes, "signal": list(SIGNALS)},
        {"alpha": ALPHA, "mu": MU, "rho": RHO, "reg": "inf"},
    )


def dots(dataset: xarray.Dataset, simulation: Simulation) -> xarray.Dataset:
    """Simulated accuracies at some numbers of classes."""
    dense = replace(simulation, degree=min(DEGREE, simulation.nodes / 4))
    networks = [GCN(Diffusion(float(dataset.best_t.sel(signal=lam)))) for lam in SIGNALS]
    measured = [
        dense.measure(CSBM(ALPHA, lam, MU, RHO), network, {"classes": DOTS}, "test_accuracy")
        for lam, network in zip(SIGNALS, networks, strict=True)
    ]
    found = xarray.concat(measured, "signal").assign_coords(signal=list(SIGNALS)).rename(classes="dot")
    return renamed(found, "accuracy")


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """Curves against the signal on the left, against the number of classes on the right."""
    for C, colour in zip(dataset.C.values, shades(dataset.C.size), strict=True):
        here = dataset.sel(C=C)
        axes[0].plot(here.lam, here.test_accuracy, color=colour, label=f"$C={C}$")
        axes[0].plot(here.lam, here.bayes_optimal, "--", color=colour)
    for signal, colour in zip(dataset.signal.values, COLOURS, strict=False):
        here = dataset.sel(signal=signal)
        axes[1].plot(here.classes, here.accuracy, color=colour, label=rf"$\lambda={signal:g}$")
        axes[1].plot(here.classes, here.ceiling, "--", color=colour)
        draw_dots(axes[1], here, "accuracy", color=colour, marker="o")
    axes[1].plot(dataset.classes, 1.0 / dataset.classes, ":", color=BLACK, label="chance")
    axes[0].plot([], [], color="grey", label="diffusion at its best time")
    axes[0].plot([], [], "--", color="grey", label="Bayes-optimal")
    axes[0].set(xlabel=r"$\lambda$", xlim=(0, 1.5), ylim=(0, 1), ylabel=TEST_ACCURACY)
    axes[1].set(xlabel="number of classes $C$", xlim=(2, 12), ylim=(0, 1))
    label_panels(axes, [r"$\alpha=4,\ \mu=2,\ \rho=0.1$"] * 2)
    legend_below(axes, columns=5)


def statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """The network never exceeds the ceiling, for any number of classes."""
    least = float((dataset.bayes_optimal - dataset.test_accuracy).min())
    yield Statement("no number of classes lifts a network above its ceiling", least >= 0.0, f"least gap {least:.1e}")


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
