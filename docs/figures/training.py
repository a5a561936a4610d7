"""How long to train: accuracy against the training time, beside ridge regression, on two kinds of data.

Gradient flow from zero weights on the square loss, stopped at time t, and training to the end with the regularization 1/t
(Eqs. 13.1 and 13.5). Dots are the same flow on sampled graphs of average degree 60.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit.csbm import CSBM
from gcnlimit.figures.base import PaperFigure, Simulation, Statement
from gcnlimit.figures.style import BLACK, COLOURS, draw_curve, each_panel, finish, titles
from gcnlimit.filters import Diffusion
from gcnlimit.network import GCN
from gcnlimit.simulation.simulate import simulate
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.predict import predict
from gcnlimit.training import GradientFlow

POINTS = {"alpha": (4.0, 2.0), "lam": (1.0, 0.6), "mu": (2.0, 1.0), "rho": (0.1, 0.5)}
TIMES = np.geomspace(1e-3, 1e3, 121)
DOTS = (0.01, 0.1, 1.0, 10.0, 100.0)
FILTER = Diffusion(1.0)
DEGREE = 60.0


def data() -> xarray.Dataset:
    """Accuracies of the flow at each time, of the ridge regression at one over it, and the ceiling."""
    model = _model()
    ceiling = np.broadcast_to(bayes_optimal(model).test_accuracy, (2, TIMES.size))
    accuracies = {
        "test_accuracy": predict(model, GCN(FILTER, training=GradientFlow(TIMES))).test_accuracy,
        "ridge": predict(model, GCN(FILTER, reg=1.0 / TIMES)).test_accuracy,
        "bayes_optimal": ceiling,
    }
    dims = ("point", "time")
    return xarray.Dataset(
        {name: (dims, y) for name, y in accuracies.items()}, {"point": [0, 1], "time": TIMES}
    )


def _model() -> CSBM:
    return CSBM(*(np.array(values)[:, None] for values in POINTS.values()))


def dots(dataset: xarray.Dataset, simulation: Simulation) -> xarray.Dataset:
    """Simulated accuracies at some times."""
    degree = min(DEGREE, simulation.nodes / 8)
    network = GCN(FILTER, training=GradientFlow(DOTS))
    found = simulate(_model(), network, simulation.nodes, degree, simulation.trials, progress=False)
    simulation.advance()
    dims = ("point", "dot")
    numbers = {
        "test_accuracy_simulated": (dims, found.test_accuracy),
        "test_accuracy_standard_error": (dims, found.standard_error.test_accuracy),
    }
    attributes = {"nodes": simulation.nodes, "degree": degree, "trials": found.trials}
    return xarray.Dataset(numbers, {"point": [0, 1], "dot": list(DOTS)}, attributes)


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """One panel for each point."""
    for panel, here in each_panel(axes, dataset, "point"):
        draw_curve(panel, here, "test_accuracy", "stopped at time t", color=COLOURS[0])
        draw_curve(panel, here, "ridge", "ridge regression, r = 1/t", line=":", color=COLOURS[1])
        draw_curve(panel, here, "bayes_optimal", "Bayes-optimal", line="--", color=BLACK)
        panel.set(xlabel="training time t", xscale="log", xlim=(TIMES[0], TIMES[-1]))
    finish(axes, titles(POINTS), columns=3)


def statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """The best time and the best regularization have the same accuracy."""
    apart = float(np.abs((dataset.test_accuracy - dataset.ridge.max("time")).max("time")).max())
    text = "stopping early is as good as the best ridge regression, within 0.3 points"
    yield Statement(text, apart < 3e-3, f"they differ by {apart:.1e}")


FIGURE = PaperFigure(
    "training",
    "How long to train: accuracy against the training time, beside ridge regression",
    data,
    draw,
    panels=(1, 2),
    size=(8.0, 3.6),
    dots=dots,
    statements=statements,
)
