r"""Accuracy on an asymmetric graph and on a symmetric graph of the same signal.

The network does not exploit the asymmetry: at equal :math:`\lambda` the accuracies are close. (Symmetrizing instead of
tying the two directions raises the signal by :math:`\sqrt 2`, and the accuracy with it.)

Chosen here, where the paper leaves it open: quadratic loss, :math:`r` = 1 and infinity, depths 1, 2, 3, over the residual
strength :math:`c`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit.csbm import CSBM
from gcnlimit.figures.base import LITTLE, PaperFigure, Simulation, Statement
from gcnlimit.figures.paper.networks import strength_dots
from gcnlimit.figures.style import COLOURS, TEST_ACCURACY, draw_dots, label_panels, legend_below, name_reg
from gcnlimit.filters import Residual
from gcnlimit.network import GCN
from gcnlimit.theory.predict import predict

GRAPHS = {"asymmetric": CSBM(4.0, 1.5, 3.0, 0.1), "symmetric": CSBM(4.0, 1.5, 3.0, 0.1, directed=False)}
DEPTHS, REG = (1, 2, 3), (1.0, np.inf)
STRENGTHS, DOTS = np.linspace(0.0, 4.0, 65), (0.0, 1.0, 2.0, 3.0)


def data() -> xarray.Dataset:
    """Accuracies over the strength on both graphs, for each depth and regularization."""
    networks = [GCN(Residual.constant(STRENGTHS, K), reg=np.array(REG)[:, None], symmetrize=False) for K in DEPTHS]
    found = [[predict(csbm, network).test_accuracy for network in networks] for csbm in GRAPHS.values()]
    return xarray.Dataset(
        {"test_accuracy": (("graph", "K", "reg", "c"), np.array(found))},
        {"graph": list(GRAPHS), "K": list(DEPTHS), "reg": list(REG), "c": STRENGTHS},
        {"alpha": 4.0, "lam": 1.5, "mu": 3.0, "rho": 0.1, "loss": "square"},
    )


def dots(dataset: xarray.Dataset, simulation: Simulation) -> xarray.Dataset:
    """Simulated accuracies, and the theory at the same strengths."""
    axes = {"c": DOTS, "reg": REG}
    measured = [strength_dots(simulation, csbm, "square", DEPTHS, axes, "test_accuracy") for csbm in GRAPHS.values()]
    found = xarray.concat(measured, "graph")
    return found.assign(test_accuracy_predicted=dataset.test_accuracy.sel(c=list(DOTS))).rename(c="dot")


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """A panel for each depth; colour shows the graph, line style the regularization."""
    for panel, K in zip(axes, dataset.K.values, strict=True):
        for graph, colour, marker in zip(dataset.graph.values, COLOURS, ("o", "s"), strict=False):
            for reg, style, face in ((np.inf, "-", colour), (1.0, "--", "white")):
                here = dataset.sel(K=K, graph=graph, reg=reg)
                panel.plot(here.c, here.test_accuracy, style, color=colour)
                label = f"{graph}, {name_reg(reg)}"
                panel.plot([], [], style, color=colour, marker=marker, markerfacecolor=face, label=label)
                draw_dots(panel, here, "test_accuracy", color=colour, marker=marker, markerfacecolor=face)
        panel.set(xlabel="$c$")
    axes[0].set_ylabel(TEST_ACCURACY)
    label_panels(axes, [rf"$K={K},\ \alpha=4,\ \lambda=1.5,\ \mu=3,\ \rho=0.1$" for K in dataset.K.values])
    legend_below(axes, columns=4)


def symmetry_matters_little(dataset: xarray.Dataset) -> Statement:
    """Both graphs at the best strength of each."""
    best = dataset.test_accuracy.max("c")
    distance = float(abs(best.sel(graph="symmetric") - best.sel(graph="asymmetric")).max())
    text = "at equal lam the accuracy depends little on the symmetry of the graph"
    return Statement(text, distance < LITTLE, f"largest difference at the best c {distance:.4f}")


FIGURE = PaperFigure(
    "symmetry",
    "Accuracy on an asymmetric graph and on a symmetric one of the same signal",
    data,
    draw,
    panels=(1, 3),
    size=(9.6, 3.4),
    dots=dots,
    curves=6,
    statements=(symmetry_matters_little,),
)
