r"""Which normalization: accuracy against the variance of the degrees, at a fixed mean degree.

A fifth of the nodes are hubs, :math:`\theta = 1 + 2\sqrt v`, the others have :math:`\theta = 1 - \sqrt v/2`. PageRank at infinite
regularization and its best strength, with each normalization of the adjacency, under the Bayes-optimal ceiling (Eq. 11.13).
Dots are on graphs of mean degree 60, centred and divided by their measured degrees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit.choose.tune import tune
from gcnlimit.csbm import CSBM
from gcnlimit.degrees import Degrees
from gcnlimit.figures.base import PaperFigure, Simulation, Statement
from gcnlimit.figures.style import BLACK, COLOURS, draw_curve, each_panel, finish, titles
from gcnlimit.filters import PageRank
from gcnlimit.network import GCN
from gcnlimit.theory.bayes import bayes_optimal

NORMALIZATIONS = ("none", "symmetric", "random-walk", "regularized")
POINTS = {"alpha": (4.0, 10.0), "lam": (1.2, 1.0), "mu": (2.0, 1.0), "rho": (0.1, 0.05)}
VARIANCES = np.linspace(0.0, 2.0, 17)
DOTS = (0.5, 1.5)
DEGREE = 60.0


def data() -> xarray.Dataset:
    """Accuracies and best strengths of PageRank with each normalization, and the ceiling."""
    networks = [GCN(PageRank(0.1), normalization=name) for name in NORMALIZATIONS]
    best = [
        [tune(_model(v), network, {"theta": (-1.0, 1.0)}) for v in VARIANCES]
        for network in networks
    ]
    accuracy = [[found.prediction.test_accuracy for found in row] for row in best]
    dims = ("normalization", "variance", "point")
    return xarray.Dataset(
        {
            "test_accuracy": (dims, np.array(accuracy)),
            "theta": (
                dims,
                np.array([[found.parameters["theta"] for found in row] for row in best]),
            ),
            "bayes_optimal": (
                dims[1:],
                np.array([bayes_optimal(_model(v)).test_accuracy for v in VARIANCES]),
            ),
        },
        {"normalization": list(NORMALIZATIONS), "variance": VARIANCES, "point": [0, 1]},
        {"reg": "inf"},
    )


def _model(variance: float, point: int | slice = slice(None)) -> CSBM:
    """Symmetric graph with a fifth of hubs."""
    spread = np.sqrt(variance)
    law = Degrees([1.0 - 0.5 * spread, 1.0 + 2.0 * spread], weight=[0.8, 0.2])
    alpha, lam, mu, rho = (values[point] for values in POINTS.values())
    return CSBM(alpha, lam, mu, rho, directed=False, degrees=law)


def dots(dataset: xarray.Dataset, simulation: Simulation) -> xarray.Dataset:
    """Simulated accuracies at the best strengths."""
    dense = replace(simulation, degree=min(DEGREE, simulation.nodes / 8))

    def measured(name: str, variance: float, point: int) -> xarray.Dataset:
        theta = float(dataset.theta.sel(normalization=name, variance=variance, point=point))
        network = GCN(PageRank(0.1), normalization=name)
        found = dense.measure(_model(variance, point), network, {"theta": [theta]}, "test_accuracy")
        return found.squeeze("theta", drop=True)

    found = [
        [[measured(name, v, point) for point in (0, 1)] for v in DOTS] for name in NORMALIZATIONS
    ]
    joined = xarray.combine_nested(
        found, ["normalization", "dot", "point"], combine_attrs="override"
    )
    return joined.assign_coords(normalization=list(NORMALIZATIONS), dot=list(DOTS), point=[0, 1])


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """One panel for each point."""
    for panel, here in each_panel(axes, dataset, "point"):
        for name, colour in zip(NORMALIZATIONS, COLOURS, strict=False):
            draw_curve(
                panel,
                here.sel(normalization=name),
                "test_accuracy",
                name.replace("-", " "),
                color=colour,
            )
        draw_curve(panel, here, "bayes_optimal", "Bayes-optimal", line="--", color=BLACK)
        panel.set(xlabel="variance of the relative degrees", xlim=(0, 2))
    finish(axes, titles(POINTS), columns=5)


def statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """No other normalization is better at any variance."""
    best = dataset.test_accuracy.sel(normalization="regularized")
    least = float((best - dataset.test_accuracy.max("normalization")).min())
    gain = float((best - dataset.test_accuracy.sel(normalization="symmetric")).max())
    text = "the regularized normalization is the best at every variance"
    yield Statement(text, least > -1e-9, f"up to {gain:.3f} above the symmetric one")


FIGURE = PaperFigure(
    "degrees",
    "Which normalization: accuracy against the variance of the degrees, under the Bayes-optimal ceiling",
    data,
    draw,
    panels=(1, 2),
    size=(8.0, 3.9),
    dots=dots,
    curves=len(NORMALIZATIONS) * len(DOTS) * 2,
    statements=statements,
)
