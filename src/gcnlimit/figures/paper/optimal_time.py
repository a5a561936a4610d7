r"""Accuracy at the best diffusion time against the signal of the graph, with that time as an inset.

The continuous network and its discretizations, each at its own best time, on the graph as it is and symmetrized, under the
Bayes-optimal ceiling.

Chosen here, where the paper leaves it open: depths 1, 2, 4, 16 and infinity; signals up to 2.5; both graphs in each panel,
and the inset gives :math:`t^*` of the continuous network on both.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit.csbm import CSBM
from gcnlimit.figures.base import PaperFigure, Statement
from gcnlimit.figures.paper.networks import LONGEST, growth_with_depth, name_depth, tuned_depth
from gcnlimit.figures.style import BLACK, TEST_ACCURACY, label_panels, legend_below, shades
from gcnlimit.theory.bayes import bayes_optimal

SETTINGS = ((4.0, 1.0, 0.1), (1.0, 2.0, 0.1), (2.0, 1.0, 0.3))
DEPTHS = (1.0, 2.0, 4.0, 16.0, np.inf)


def data() -> xarray.Dataset:
    """Accuracies at the best time, and the best time of the continuous network."""
    lam = np.linspace(0.0, 2.5, 41)
    alpha, mu, rho = np.array(SETTINGS).T
    csbm = CSBM(alpha=alpha[:, None], lam=lam, mu=mu[:, None], rho=rho[:, None])
    best = {s: [tuned_depth(csbm, K, symmetrize=bool(s)) for K in DEPTHS] for s in (0, 1)}
    accuracy = np.array([[tuned.prediction.test_accuracy for tuned in best[s]] for s in (0, 1)])
    return xarray.Dataset(
        {
            "test_accuracy": (("symmetrize", "K", "setting", "lam"), accuracy),
            "best_t": (("symmetrize", "setting", "lam"), np.array([best[s][-1].parameters["t"] for s in (0, 1)])),
            "bayes_optimal": (("setting", "lam"), bayes_optimal(csbm).test_accuracy),
        },
        {
            "symmetrize": [0, 1],
            "K": list(DEPTHS),
            "lam": lam,
            "alpha": ("setting", alpha),
            "mu": ("setting", mu),
            "rho": ("setting", rho),
        },
        {"reg": "inf"},
    )


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """Accuracies, and the best time in an inset at the lower right."""
    depths = dataset.K.values
    for panel, setting in zip(axes, dataset.setting.values, strict=True):
        here = dataset.isel(setting=setting)
        panel.plot(here.lam, here.bayes_optimal, color=BLACK, label="Bayes-optimal")
        for symmetrize, style, graph in ((1, "-", ", symmetrized"), (0, "--", "")):
            for K, colour in zip(depths, shades(len(depths)), strict=True):
                curve = here.test_accuracy.sel(symmetrize=symmetrize, K=K)
                panel.plot(here.lam, curve, style, color=colour, label=f"{name_depth(K)}{graph}")
        panel.set(xlabel=r"$\lambda$", xlim=(0, 2.5), ylim=(None, 1.0))
        _inset(panel, here)
    axes[0].set_ylabel(TEST_ACCURACY)
    label_panels(axes, [rf"$\alpha={a:g},\ \mu={m:g},\ \rho={r:g}$" for a, m, r in SETTINGS])
    legend_below(axes, columns=4)


def _inset(panel: Axes, here: xarray.Dataset) -> None:
    """The best time of the continuous network, on both graphs."""
    inset = panel.inset_axes((0.65, 0.12, 0.33, 0.28))
    for symmetrize, style in ((1, "-"), (0, "--")):
        inset.plot(here.lam, here.best_t.sel(symmetrize=symmetrize), style, color=shades(5)[-1])
    inset.set(xlim=(0, 2.5), ylim=(0, None))
    inset.set_title("$t^*$", pad=2)
    inset.tick_params(labelsize=7)


def grows_with_depth(dataset: xarray.Dataset) -> Statement:
    """Monotone in K, each depth at its own best time; without a graph (lam = 0) all depths are the same."""
    accuracy = dataset.test_accuracy.where(dataset.lam > 0)
    return growth_with_depth(accuracy, "at the best time the accuracy grows with K", least=-1e-9)


def best_time_is_finite(dataset: xarray.Dataset) -> Statement:
    """The best time lies inside the searched interval, at every signal."""
    longest = float(dataset.best_t.max())
    return Statement("t* is finite for any lam", longest < 0.99 * LONGEST, f"largest t* {longest:.3f}")


def best_time_vanishes(dataset: xarray.Dataset) -> Statement:
    """The best time at the weakest signals."""
    t = dataset.best_t.isel(lam=[0, 1])
    number = f"largest t* at lam = 0: {float(t[..., 0].max()):.1e}, at lam = {float(t.lam[1]):g}: {float(t[..., 1].max()):.2f}"
    return Statement(
        "t* tends to 0 as lam tends to 0", bool((t[..., 0] < 1e-3).all() and (t[..., 1] < 0.5).all()), number
    )


def best_time_turns(dataset: xarray.Dataset) -> Statement:
    """The best time first grows with the signal, then falls."""
    peak = dataset.lam.values[dataset.best_t.argmax("lam")]
    inside = bool(((peak > 0) & (peak < dataset.lam.values[-1])).all())
    return Statement("t* is not monotone in lam", inside, f"largest at lam = {np.unique(peak.round(2)).tolist()}")


FIGURE = PaperFigure(
    "optimal-time",
    "Accuracy at the best diffusion time t* against lam, discrete and continuous, with t* as an inset",
    data,
    draw,
    panels=(1, 3),
    size=(9.6, 4.2),
    statements=(grows_with_depth, best_time_is_finite, best_time_vanishes, best_time_turns),
)
