"""Accuracy at several depths: against the depth itself, and against the diffusion time of which it is a discretization."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import xarray
from matplotlib.axes import Axes
from scipy.special import ndtr

from gcnlimit._values import Array
from gcnlimit.choose.tune import Tuned, tune
from gcnlimit.csbm import CSBM
from gcnlimit.figures import base, style
from gcnlimit.figures.base import PaperFigure, Statement, columns, coordinates
from gcnlimit.figures.style import BLACK, COLOURS, MARKERS, each_panel, finish, titles
from gcnlimit.filters import Diffusion, Filter, Residual
from gcnlimit.network import GCN
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.limits import pca_margin
from gcnlimit.theory.predict import predict

SIGNALS = {"lam": (1.5, 0.7), "mu": (3.0, 1.0), "alpha": (4.0, 4.0), "rho": (0.1, 0.1)}
DEPTHS = np.unique(np.geomspace(1, 100, 28).round().astype(int))
SCALINGS = {"0": r"$c=0$", "1": r"$c=1$", "K/t*": r"$c=K/t^*$"}
SETTINGS = {
    "alpha": (1.0, 2.0, 1.0, 2.0),
    "lam": (1.5, 1.5, 0.7, 0.7),
    "mu": (2.0, 1.0, 1.0, 1.0),
    "rho": (0.1, 0.3, 0.1, 0.3),
}
LAYERS = (1.0, 2.0, 4.0, 16.0, np.inf)
"""Depths of the figures along diffusion times."""

LONGEST = 20.0
"""Upper end of the search for the best diffusion time."""


def of_depth(depth: float, t: float | Array) -> Filter:
    r"""Continuous network of diffusion time `t`, or its discretization :math:`(x + K/t)^K` of that depth.

    >>> fine, continuous = (of_depth(K, t=1.0) for K in (100, math.inf))
    >>> bool(abs(fine(0.3) / fine(0.0) - continuous(0.3)) < 1e-3)
    True
    """
    if math.isinf(depth):
        return Diffusion(t)
    return Residual.constant(depth / np.asarray(t, float), int(depth))


def tuned_depth(data: CSBM, depth: float, symmetrize: bool) -> Tuned:
    """The best network of a depth: of positive diffusion time, for a discrete one of residual strength c = K/t."""
    network = GCN(of_depth(depth, 1.0), symmetrize=symmetrize)
    free: dict[str, Any] = {"t": (0.0, LONGEST)} if math.isinf(depth) else {"c": (0.0, math.inf)}
    return tune(data, network, free)


def data() -> xarray.Dataset:
    r"""Accuracy against the depth, for three scalings of the residual strength.

    Without residual connections (:math:`c = 0`) or at constant strength (:math:`c = 1`) the network oversmooths: at large depth
    it does principal component analysis on the graph. At :math:`c \propto K` it tends to the continuous network.

    Chosen here, where the paper leaves it open: :math:`c = K/t^*`, with :math:`t^*` the best diffusion time of the continuous
    network; depths up to 100, on a logarithmic axis.
    """
    csbm = CSBM(**columns(SIGNALS, axes=0))
    continuous = tuned_depth(csbm, np.inf, symmetrize=False)
    best_t = np.asarray(continuous.parameters["t"])
    accuracy = []
    for K in DEPTHS.tolist():
        strength = np.stack([np.zeros(2), np.ones(2), K / best_t])
        network = GCN(Residual.constant(strength, K), symmetrize=False)
        accuracy.append(predict(csbm, network).test_accuracy)
    return xarray.Dataset(
        {
            "test_accuracy": (("K", "scaling", "signal"), np.array(accuracy)),
            "continuous": ("signal", continuous.prediction.test_accuracy),
            "best_t": ("signal", best_t),
            "pca": ("signal", ndtr(pca_margin(csbm.lam))),
            "bayes_optimal": ("signal", bayes_optimal(csbm).test_accuracy),
        },
        {"K": DEPTHS, "scaling": list(SCALINGS)} | coordinates(SIGNALS, "signal"),
        {"reg": "inf"},
    )


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """One curve for each scaling, and the two limits."""
    for panel, part in each_panel(axes, dataset, "signal"):
        for scaling, colour, marker in zip(SCALINGS, COLOURS, MARKERS, strict=False):
            shown: Any = {"marker": marker, "color": colour, "label": SCALINGS[scaling]}
            panel.plot(part.K, part.test_accuracy.sel(scaling=scaling), linewidth=0.8, **shown)
        panel.axhline(part.continuous, color=COLOURS[2], linestyle="--", label="continuous limit")
        panel.axhline(part.pca, color="0.5", linestyle=":", label="PCA on the graph")
        panel.set(xscale="log", xlabel="$K$")
    finish(axes, titles(SIGNALS), columns=5)


def statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """Growth at c = K/t*, the continuous network above all, and principal component analysis at constant strength."""
    growing = dataset.test_accuracy.sel(scaling="K/t*")
    yield base.growth_with_depth(growing, "at c = K/t* the accuracy grows with K")
    lead = float((dataset.continuous - dataset.test_accuracy).min())
    text = "the continuous network at t* is above every depth"
    yield Statement(text, lead > 0, f"smallest lead {lead:+.1e}")
    strong = dataset.isel(signal=0)
    last = strong.test_accuracy.isel(K=-1).sel(scaling=["0", "1"])
    distance = float(abs(last - strong.pca).max())
    text = "at c = 0 and c = 1 deep networks do PCA on the graph (lam > 1)"
    yield Statement(text, distance < 1e-3, f"distance at K = {int(dataset.K[-1])}: {distance:.1e}")


def time_data() -> xarray.Dataset:
    r"""Accuracy against the diffusion time at several depths, on the graph as it is and at infinite regularization.

    A network of depth :math:`K` and time :math:`t` has residual strength :math:`c = K/t`.

    Chosen here, where the paper leaves it open: depths 1, 2, 4, 16 and infinity; a panel for each signal, :math:`\lambda` = 1.5
    and 0.7 with :math:`\mu` = 2 and 1 at :math:`\alpha = 1`, and with :math:`\mu = 1` at :math:`\alpha = 2`.
    """
    t = np.linspace(0.04, 4.0, 100)
    csbm = CSBM(**columns(SETTINGS))
    accuracy = [predict(csbm, GCN(of_depth(K, t), symmetrize=False)).test_accuracy for K in LAYERS]
    return xarray.Dataset(
        {
            "test_accuracy": (("K", "setting", "t"), np.array(accuracy)),
            "bayes_optimal": ("setting", np.ravel(bayes_optimal(csbm).test_accuracy)),
        },
        {"K": list(LAYERS), "t": t} | coordinates(SETTINGS),
        {"reg": "inf", "symmetrize": 0},
    )


def draw_times(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """One curve for each depth."""
    for panel, part in each_panel(axes, dataset, "setting"):
        for K, colour in zip(LAYERS, style.shades(len(LAYERS)), strict=True):
            label = style.named(K=K)
            style.draw_curve(panel, part.sel(K=K), "test_accuracy", label, color=colour)
        panel.axhline(part.bayes_optimal, color=BLACK, linestyle=":", label="Bayes-optimal")
        panel.set(xlim=(0, 4))
    for panel in axes[2:]:
        panel.set_xlabel("$t$")
    finish(axes, titles(SETTINGS), columns=6)


def time_statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """Depth 16 is close to the continuous network, which is the best at a positive and finite time."""
    short = dataset.test_accuracy.sel(t=slice(0, 1.5))
    distance = float(abs(short.sel(K=np.inf) - short.sel(K=16)).max())
    text = "K = 16 is enough to reach the continuous limit if t is not too large (t ≤ 1.5)"
    yield Statement(text, distance < base.LITTLE, f"largest difference {distance:.4f}")
    best = dataset.test_accuracy.max("t")
    lead = float((best.sel(K=np.inf) - best.drop_sel(K=np.inf)).min())
    text = "the continuous network at t* is above every K and t"
    yield Statement(text, lead > 0, f"smallest lead {lead:+.1e}")
    at = dataset.t.values[dataset.test_accuracy.sel(K=np.inf).argmax("t")]
    inside = bool((at > dataset.t.values[0]).all() and (at < dataset.t.values[-1]).all())
    text = "there is a positive and finite best time t*"
    yield Statement(text, inside, f"t* = {at.round(2).tolist()}")


_DEPTH = "Accuracy against the depth for c = 0, c = 1 and c growing with K"
AGAINST_DEPTH = PaperFigure("depth", _DEPTH, data, draw, statements, (1, 2), (7.2, 3.4))
_TIME = "Accuracy against the diffusion time t, at depths 1, 2, 4, 16 and in the continuous limit"
AGAINST_TIME = PaperFigure(
    "diffusion-depth", _TIME, time_data, draw_times, time_statements, (2, 2), (7.2, 5.2)
)
