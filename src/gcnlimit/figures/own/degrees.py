r"""Which normalization: accuracy against the variance of the degrees, at a fixed mean degree.

A fifth of the nodes are hubs, :math:`\theta = 1 + 2\sqrt v`, the others have :math:`\theta = 1 - \sqrt v/2`. PageRank at infinite
regularization and its best strength, with each normalization of the adjacency, under the Bayes-optimal ceiling (Eq. 11.13).
Dots are on graphs of average degree 60, centred and divided by their measured degrees.
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
from gcnlimit.degrees import Degrees
from gcnlimit.figures.base import PaperFigure, Simulation, Statement
from gcnlimit.figures.style import BLACK, COLOURS, TEST_ACCURACY, draw_dots, label_panels, legend_below
from gcnlimit.filters import PageRank
from gcnlimit.network import GCN
from gcnlimit.theory.bayes import bayes_optimal

NORMALIZATIONS = ("none", "symmetric", "random-walk", "regularized")
POINTS = {"alpha": (4.0, 10.0), "lam": (1.2, 1.0), "mu": (2.0, 1.0), "rho": (0.1, 0.05)}
VARIANCES = np.linspace(0.0, 2.0, 17)
DOTS, DEGREE = (0.5, 1.5), 60.0


def data() -> xarray.Dataset:
    """Accuracies and best strengths of PageRank with each normalization, and the ceiling."""
    best = [[_tuned(variance, name) for variance in VARIANCES] for name in NORMALIZATIONS]
    dims = ("normalization", "variance", "point")
    return xarray.Dataset(
        {
            "test_accuracy": (dims, np.array([[found[0] for found in row] for row in best])),
            "theta": (dims, np.array([[found[1] for found in row] for row in best])),
            "bayes_optimal": (dims[1:], np.array([bayes_optimal(_model(v)).test_accuracy for v in VARIANCES])),
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


def _tuned(variance: float, normalization: str) -> tuple[Array, Array]:
    found = tune(_model(variance), GCN(PageRank(0.1), normalization=normalization), {"theta": (-1.0, 1.0)})
    return np.asarray(found.prediction.test_accuracy), np.asarray(found.parameters["theta"])


def dots(dataset: xarray.Dataset, simulation: Simulation) -> xarray.Dataset:
    """Simulated accuracies at the best strengths."""
    dense = replace(simulation, degree=min(DEGREE, simulation.nodes / 8))
    rows = [[_dot(dataset, dense, name, variance) for variance in DOTS] for name in NORMALIZATIONS]
    curves = [xarray.concat(row, "dot").assign_coords(dot=list(DOTS)) for row in rows]
    return xarray.concat(curves, "normalization").assign_coords(normalization=list(NORMALIZATIONS))


def _dot(dataset: xarray.Dataset, simulation: Simulation, normalization: str, variance: float) -> xarray.Dataset:
    """Both points at one variance."""
    theta = dataset.theta.sel(normalization=normalization, variance=variance).values
    points = [
        simulation.measure(
            _model(variance, k), GCN(PageRank(0.1), normalization=normalization), {"theta": [theta[k]]}, "test_accuracy"
        ).squeeze("theta", drop=True)
        for k in (0, 1)
    ]
    return xarray.concat(points, "point").assign_coords(point=[0, 1])


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """One panel for each point."""
    for panel, point in zip(axes, dataset.point.values, strict=True):
        here = dataset.sel(point=point)
        for name, colour in zip(NORMALIZATIONS, COLOURS, strict=False):
            one = here.sel(normalization=name)
            panel.plot(one.variance, one.test_accuracy, color=colour, label=name.replace("-", " "))
            draw_dots(panel, one, "test_accuracy", color=colour, marker="o")
        panel.plot(here.variance, here.bayes_optimal, "--", color=BLACK, label="Bayes-optimal")
        panel.set(xlabel="variance of the degrees over their mean", xlim=(0, 2))
    axes[0].set_ylabel(TEST_ACCURACY)
    names = (r"\alpha", r"\lambda", r"\mu", r"\rho")
    values = zip(*POINTS.values(), strict=True)
    label_panels(axes, [", ".join(f"${n}={v:g}$" for n, v in zip(names, row, strict=True)) for row in values])
    legend_below(axes, columns=5)


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
