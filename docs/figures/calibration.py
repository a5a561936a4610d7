"""How sure to be: log loss before and after one temperature against the regularization, and reliability curves.

A logistic network of one layer. Left: its log loss, that after the best temperature, and its error rate (Eqs. 14.3 and 14.4).
Right: accuracy among nodes of a given confidence at three regularizations (Eq. 14.1). Dots are sampled graphs of average
degree 60; on the right each is a tenth of their test nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit.csbm import CSBM
from gcnlimit.figures.base import PaperFigure, Simulation, Statement
from gcnlimit.figures.style import COLOURS, draw_curve, named
from gcnlimit.filters import Residual
from gcnlimit.network import GCN
from gcnlimit.simulation.simulate import simulate
from gcnlimit.theory.predict import predict

MODEL = CSBM(4.0, 1.0, 2.0, 0.1)
REGS = np.geomspace(1e-3, 1e2, 51)
DOTS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
SHOWN = (0.01, 0.1, 1.0)
CONFIDENCE = np.linspace(0.5, 1.0, 101)
DEGREE = 60.0
SCORES = {"log_loss": "log loss", "calibrated_log_loss": "after one temperature"}


def _network(reg: Sequence[float]) -> GCN:
    return GCN(Residual([1.0, 1.0]), "logistic", np.array(reg))


def data() -> xarray.Dataset:
    """Scores at each regularization, and reliability at three."""
    answer = predict(MODEL, _network(REGS))
    sure = predict(MODEL, _network(SHOWN)).calibration
    curves = {name: ("reg", getattr(answer.calibration, name)) for name in SCORES}
    curves["error_rate"] = ("reg", 1.0 - answer.test_accuracy)
    curves["reliability"] = (("shown", "confidence"), sure.reliability(CONFIDENCE))
    return xarray.Dataset(curves, {"reg": REGS, "shown": list(SHOWN), "confidence": CONFIDENCE})


def dots(dataset: xarray.Dataset, simulation: Simulation) -> xarray.Dataset:
    """The same on sampled graphs."""
    degree = min(DEGREE, simulation.nodes / 8)
    found = simulate(
        MODEL, _network(DOTS), simulation.nodes, degree, simulation.trials, progress=False
    )
    simulation.advance()
    numbers = {}
    for ending, answer in (("simulated", found), ("standard_error", found.standard_error)):
        numbers |= {
            f"{name}_{ending}": ("dot", getattr(answer.calibration, name)) for name in SCORES
        }
    numbers["error_rate_simulated"] = ("dot", 1.0 - found.test_accuracy)
    numbers["error_rate_standard_error"] = ("dot", found.standard_error.test_accuracy)
    rows = [DOTS.index(reg) for reg in SHOWN]
    for name, part in zip(
        ("tenth_confidence", "tenth_accuracy"), found.calibration.bins, strict=True
    ):
        numbers[name] = (("shown", "tenth"), part[rows])
    attributes = {"nodes": simulation.nodes, "degree": degree, "trials": found.trials}
    return xarray.Dataset(numbers, {"dot": list(DOTS), "shown": list(SHOWN)}, attributes)


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """Scores on the left, reliability on the right."""
    left, right = axes
    words = SCORES | {"error_rate": "error rate"}
    for (name, label), colour in zip(words.items(), COLOURS, strict=False):
        draw_curve(
            left, dataset[[n for n in dataset if n.startswith(name)]], name, label, color=colour
        )
    left.set(xlabel="regularization r", xscale="log", ylabel="log loss, error rate", ylim=(0, 0.75))
    left.legend()
    right.plot([0.5, 1.0], [0.5, 1.0], color="0.7", linewidth=0.8)
    for reg, colour in zip(SHOWN, COLOURS, strict=False):
        here = dataset.sel(shown=reg)
        right.plot(CONFIDENCE, here.reliability, color=colour, label=named(r=reg))
        if "tenth_accuracy" in here:
            right.plot(here.tenth_confidence, here.tenth_accuracy, "o", color=colour)
    right.set(xlabel="confidence", ylabel="accuracy", xlim=(0.5, 1.0), ylim=(0.48, 1.02))
    right.legend()


def statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """One regularization is the best of accuracy and of the log loss after one temperature, another of the log loss itself."""
    best = {
        name: float(dataset.reg[dataset[name].argmin("reg")]) for name in (*SCORES, "error_rate")
    }
    text = "after one temperature the best regularization is that of the best accuracy"
    yield Statement(
        text, best["calibrated_log_loss"] == best["error_rate"], f"r = {best['error_rate']:.2g}"
    )
    text = "the best log loss before is at a smaller regularization"
    yield Statement(text, best["log_loss"] < best["error_rate"], f"r = {best['log_loss']:.2g}")


FIGURE = PaperFigure(
    "calibration",
    "How sure to be: log loss before and after one temperature, and reliability curves",
    data,
    draw,
    panels=(1, 2),
    size=(8.0, 3.6),
    dots=dots,
    statements=statements,
)
