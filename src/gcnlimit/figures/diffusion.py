"""The continuous network against its diffusion time, on the graph as it is and symmetrized."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import xarray
from matplotlib.axes import Axes
from scipy.interpolate import CubicSpline

from gcnlimit.csbm import CSBM
from gcnlimit.figures import base
from gcnlimit.figures.base import PaperFigure, Simulation, Statement
from gcnlimit.figures.style import MARKERS, draw_dots, each_panel, finish, named, shades, titles
from gcnlimit.filters import Diffusion
from gcnlimit.network import GCN
from gcnlimit.results.performance import Status
from gcnlimit.theory.predict import predict

SIGNALS = {
    "alpha": (4.0, 4.0, 1.0, 1.0, 2.0, 2.0),
    "lam": (1.5, 0.7, 1.5, 0.7, 1.5, 0.7),
    "mu": (3.0, 1.0, 2.0, 1.0, 1.0, 1.0),
    "rho": (0.1, 0.1, 0.1, 0.1, 0.3, 0.3),
}
REG = (0.1, 1.0, 10.0, np.inf)
TIMES = np.linspace(0.0, 3.0, 61)
DOTS = (0.5, 1.0, 1.5, 2.5)
SOLVED = np.array([0.0, 0.125, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5])


def data(symmetrize: bool) -> xarray.Dataset:
    r"""Accuracy of the continuous network against the diffusion time, at several regularizations, theory and simulation.

    One figure is on the graph as it is, one on the symmetrized graph, where :math:`\lambda^s = \sqrt 2 \lambda`. Each has the
    three panels of the paper: :math:`\alpha = 4`, :math:`\rho = 0.1`; :math:`\alpha = 1`, :math:`\rho = 0.1`; :math:`\alpha = 2`,
    :math:`\mu = 1`, :math:`\rho = 0.3`. The paper has the theory at infinite regularization only; here every dot has its own.

    Chosen here, where the paper leaves it open: :math:`r` = 0.1, 1, 10 and infinity. Each panel has a strong and a weak
    signal, :math:`\lambda` = 1.5 and 0.7, with :math:`\mu` = 3 and 1 at :math:`\alpha = 4`, and 2 and 1 at :math:`\alpha = 1`.
    The theory at finite regularization is drawn up to :math:`t = 2.5`.
    """
    csbm = CSBM(**base.columns(SIGNALS))
    limit = predict(csbm, GCN(Diffusion(TIMES), symmetrize=symmetrize)).test_accuracy
    solved = []
    # one call for each time, whose networks have like numbers of layers
    for t in SOLVED:
        prediction = predict(csbm, GCN(Diffusion(t), reg=REG, symmetrize=symmetrize), throw=False)
        solved_at = np.less_equal(prediction.status, Status.CONVERGED)
        solved.append(np.where(solved_at, prediction.test_accuracy, np.nan))
    return xarray.Dataset(
        {
            "limit": (("signal", "t"), limit),
            "test_accuracy": (("signal", "reg", "solved"), np.stack(solved, axis=-1)),
        },
        {"t": TIMES, "reg": list(REG), "solved": SOLVED} | base.coordinates(SIGNALS, "signal"),
        {"symmetrize": int(symmetrize), "loss": "square"},
    )


def dots(dataset: xarray.Dataset, simulation: Simulation) -> xarray.Dataset:
    """Simulated accuracies."""
    network = GCN(Diffusion(1.0), symmetrize=bool(dataset.symmetrize))
    axes = {"t": DOTS, "reg": REG}
    each = [CSBM(*signals) for signals in zip(*SIGNALS.values(), strict=True)]
    measured = [simulation.measure(csbm, network, axes, "test_accuracy") for csbm in each]
    return xarray.concat(measured, "signal").rename(t="dot")


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """A panel for two signals; colour and marker show the regularization."""
    panels = [panel for panel in axes for _ in range(2)]
    for panel, signal in each_panel(panels, dataset, "signal"):
        for reg, colour, marker in zip(REG, shades(len(REG)), MARKERS, strict=False):
            at_reg = signal.sel(reg=reg)
            if math.isinf(reg):
                panel.plot(signal.t, signal.limit, color=colour)
            else:
                _draw_smooth(panel, at_reg.test_accuracy, color=colour, linewidth=0.9)
            panel.plot([], [], color=colour, marker=marker, label=named(r=reg))
            draw_dots(panel, at_reg, "test_accuracy", color=colour, marker=marker)
        end = (2.95, float(signal.limit.sel(t=2.6, method="nearest")))
        text = named(lam=float(signal.lam), mu=float(signal.mu))
        above: Any = {"xytext": (0, 15), "textcoords": "offset points", "ha": "right"}
        panel.annotate(text, end, **above)
        panel.margins(y=0.12)
        panel.set(xlabel="$t$", xlim=(0, 3))
    finish(axes, titles({name: SIGNALS[name][::2] for name in ("alpha", "rho")}), columns=4)


def _draw_smooth(panel: Axes, curve: xarray.DataArray, **style: Any) -> None:
    """A cubic curve through few, precise points."""
    points = curve.dropna("solved")
    times = points.solved.values
    if times.size > 3:
        fine = np.linspace(times[0], times[-1], 100)
        panel.plot(fine, CubicSpline(times, points.values)(fine), **style)


def statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """At the best time of each, no finite regularization gains much; at times up to 1, a regularization of 1 is enough."""
    finite = dataset.test_accuracy.drop_sel(reg=np.inf)
    yield base.infinity_is_nearly_best(finite.max("solved"), dataset.limit.max("t"))
    short = dataset.test_accuracy.sel(solved=slice(0, 1.0))
    distance = float(abs(short.sel(reg=1.0) - short.sel(reg=np.inf)).max())
    number = f"largest difference {distance:.4f}"
    yield Statement("r = 1 is enough at t ≤ 1", distance < base.LITTLE, number)


def _figure(name: str, graph: str, symmetrize: bool) -> PaperFigure:
    title = f"Accuracy of the continuous network against t and r, on the {graph} graph"
    numbers = functools.partial(data, symmetrize)
    return PaperFigure(name, title, numbers, draw, statements, (1, 3), (9.6, 3.6), dots, 6)


DIRECTED = _figure("diffusion-directed", "asymmetric", symmetrize=False)
SYMMETRIZED = _figure("diffusion-symmetrized", "symmetrized", symmetrize=True)
