"""Networks at their best against the signal of the graph: accuracies, best diffusion times and learning rates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit.choose.search import Bounds
from gcnlimit.choose.tune import tune
from gcnlimit.csbm import CSBM
from gcnlimit.figures.base import FEW_PERCENT, PaperFigure, Statement, growth_with_depth
from gcnlimit.figures.paper.depth import LONGEST, tuned_depth
from gcnlimit.figures.style import BLACK, COLOURS, TEST_ACCURACY, label_panels, legend_below, name_value, shades
from gcnlimit.filters import Diffusion, Residual
from gcnlimit.network import GCN
from gcnlimit.theory.bayes import bayes_optimal

ALPHA, RHO = 4.0, 0.1
SIGNALS = np.linspace(0.0, 2.0, 31)
FEW = ("1", "2", "inf")
MANY = (1.0, 2.0, 4.0, 16.0, np.inf)
SETTINGS = ((4.0, 1.0, 0.1), (1.0, 2.0, 0.1), (2.0, 1.0, 0.3))
MU, FAR = (1.0, 3.0), (40.0, 60.0)
GRAPHS = ((1, "-", ", symmetrized"), (0, "--", ""))
"""Whether the graph is symmetrized, with its style and its words."""


def data() -> xarray.Dataset:
    r"""Accuracy against the strength of the signal, every network at its best.

    Depth 1, depth 2 and infinite depth, on the graph as it is and symmetrized, under the Bayes-optimal ceiling. At each point
    the residual strengths or the diffusion time, and the regularization, are those of the highest accuracy (square loss).

    Chosen here, where the paper leaves it open: :math:`\alpha = 4`, :math:`\rho = 0.1`, and graph and features of equal
    strength, :math:`\lambda^2 = \mu^2/\alpha`, as in its other figures; the residual strengths of the layers are free, each by
    itself. Filter and regularization are tuned together; on the directed graph a finite one gains less than
    :math:`2 \cdot 10^{-4}`.
    """
    csbm = CSBM(alpha=ALPHA, lam=SIGNALS, mu=np.sqrt(ALPHA) * SIGNALS, rho=RHO)
    accuracy = [[best(csbm, depth, symmetrize) for depth in FEW] for symmetrize in (False, True)]
    return xarray.Dataset(
        {
            "test_accuracy": (("symmetrize", "K", "lam"), np.array(accuracy)),
            "bayes_optimal": ("lam", bayes_optimal(csbm).test_accuracy),
        },
        {"symmetrize": [0, 1], "K": list(FEW), "lam": SIGNALS},
        {"alpha": ALPHA, "rho": RHO, "mu": "sqrt(alpha) lam", "reg": "best"},
    )


def best(csbm: CSBM, depth: str, symmetrize: bool) -> Any:
    """Highest accuracy of the networks of that depth."""
    free: dict[str, Bounds]
    if depth == "inf":
        network, free = GCN(Diffusion(1.0), symmetrize=symmetrize), {"t": (0.0, 10.0)}
    else:
        network = GCN(Residual.constant(1.0, int(depth)), symmetrize=symmetrize)
        free = {"c": [(-math.inf, math.inf)] * int(depth)}
    return tune(csbm, network, free | {"reg": (0.0, math.inf)}).prediction.test_accuracy


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """One curve for each network, solid on the symmetrized graph and dashed on the directed one, and the ceiling in black."""
    panel = axes[0]
    panel.plot(dataset.lam, dataset.bayes_optimal, color=BLACK, label="best any algorithm can do")
    for symmetrize, style, graph in GRAPHS:
        for depth, colour in reversed(list(zip(FEW, COLOURS, strict=False))):
            symbol = depth.replace("inf", r"\infty")
            curve = dataset.test_accuracy.sel(symmetrize=symmetrize, K=depth)
            panel.plot(dataset.lam, curve, style, color=colour, label=f"depth ${symbol}${graph}")
    panel.set_xlabel(r"signal of graph and features, $\lambda = \mu/\sqrt{\alpha}$")
    panel.set(ylabel="accuracy on unlabelled nodes", xlim=(0, 2), ylim=(0.5, 1.0))
    panel.legend(loc="lower right")


def statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """Accuracy grows with the depth, and comes close to the ceiling."""
    step = float(dataset.test_accuracy.diff("K").min())
    yield Statement("a deeper network, at its best, is never worse", step > -1e-9, f"smallest step {step:+.1e}")
    gap = float((dataset.bayes_optimal - dataset.test_accuracy.sel(symmetrize=1, K="inf")).max())
    text = "symmetrized and of infinite depth, it comes close to optimality"
    yield Statement(text, gap < FEW_PERCENT, f"gap {gap:.4f}")


def time_data() -> xarray.Dataset:
    r"""Accuracy at the best diffusion time against the signal of the graph, with that time as an inset.

    The continuous network and its discretizations, each at its own best time, on the graph as it is and symmetrized, under the
    Bayes-optimal ceiling.

    Chosen here, where the paper leaves it open: depths 1, 2, 4, 16 and infinity; signals up to 2.5; both graphs in each panel,
    and the inset gives :math:`t^*` of the continuous network on both.
    """
    lam = np.linspace(0.0, 2.5, 41)
    alpha, mu, rho = np.array(SETTINGS).T
    csbm = CSBM(alpha=alpha[:, None], lam=lam, mu=mu[:, None], rho=rho[:, None])
    best = {s: [tuned_depth(csbm, K, symmetrize=bool(s)) for K in MANY] for s in (0, 1)}
    accuracy = np.array([[tuned.prediction.test_accuracy for tuned in best[s]] for s in (0, 1)])
    return xarray.Dataset(
        {
            "test_accuracy": (("symmetrize", "K", "setting", "lam"), accuracy),
            "best_t": (("symmetrize", "setting", "lam"), np.array([best[s][-1].parameters["t"] for s in (0, 1)])),
            "bayes_optimal": (("setting", "lam"), bayes_optimal(csbm).test_accuracy),
        },
        {
            "symmetrize": [0, 1],
            "K": list(MANY),
            "lam": lam,
            "alpha": ("setting", alpha),
            "mu": ("setting", mu),
            "rho": ("setting", rho),
        },
        {"reg": "inf"},
    )


def draw_times(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """Accuracies, and the best time in an inset at the lower right."""
    depths = dataset.K.values
    for panel, setting in zip(axes, dataset.setting.values, strict=True):
        here = dataset.isel(setting=setting)
        panel.plot(here.lam, here.bayes_optimal, color=BLACK, label="Bayes-optimal")
        for symmetrize, style, graph in GRAPHS:
            for K, colour in zip(depths, shades(len(depths)), strict=True):
                curve = here.test_accuracy.sel(symmetrize=symmetrize, K=K)
                panel.plot(here.lam, curve, style, color=colour, label=f"{name_value('K', K)}{graph}")
        panel.set(xlabel=r"$\lambda$", xlim=(0, 2.5), ylim=(None, 1.0))
        _inset(panel, here)
    axes[0].set_ylabel(TEST_ACCURACY)
    label_panels(axes, [rf"$\alpha={a:g},\ \mu={m:g},\ \rho={r:g}$" for a, m, r in SETTINGS])
    legend_below(axes, columns=4)


def _inset(panel: Axes, here: xarray.Dataset) -> None:
    """The best time of the continuous network, on both graphs."""
    inset = panel.inset_axes((0.65, 0.12, 0.33, 0.28))
    for symmetrize, style, _ in GRAPHS:
        inset.plot(here.lam, here.best_t.sel(symmetrize=symmetrize), style, color=shades(5)[-1])
    inset.set(xlim=(0, 2.5), ylim=(0, None))
    inset.set_title("$t^*$", pad=2)
    inset.tick_params(labelsize=7)


def time_statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """Each depth at its own best time, and how that time depends on the signal; without a graph all depths are the same."""
    accuracy = dataset.test_accuracy.where(dataset.lam > 0)
    yield growth_with_depth(accuracy, "at the best time the accuracy grows with K", least=-1e-9)
    longest = float(dataset.best_t.max())
    yield Statement("t* is finite for any lam", longest < 0.99 * LONGEST, f"largest t* {longest:.3f}")
    none, weak = (float(dataset.best_t.isel(lam=k).max()) for k in (0, 1))
    number = f"largest t* at lam = 0: {none:.1e}, at lam = {float(dataset.lam[1]):g}: {weak:.2f}"
    yield Statement("t* tends to 0 as lam tends to 0", none < 1e-3 and weak < 0.5, number)
    peak = dataset.lam.values[dataset.best_t.argmax("lam")]
    inside = bool(((peak > 0) & (peak < dataset.lam.values[-1])).all())
    yield Statement("t* is not monotone in lam", inside, f"largest at lam = {np.unique(peak.round(2)).tolist()}")


def rate_data() -> xarray.Dataset:
    r"""Misclassification at a large signal of the graph: the learning rates.

    :math:`\log(1-\mathrm{Acc}_\mathrm{test}) \sim -\tau\lambda^2`, with :math:`\tau = 1` for the Bayes-optimal classifier. One
    layer has a rate below 1/2, two layers or more reach 1/2 on the graph as it is and 1 on the symmetrized graph.

    Chosen here, where the paper leaves it open: the two strengths of the features are :math:`\mu = 1` and :math:`\mu = 3` at
    :math:`\alpha = 4`; depths 1, 2, 3 on both graphs. The rates are slopes in :math:`\lambda^2` between
    :math:`\lambda = 40` and 60, where the logarithm of the error is still exact.
    """
    lam = np.linspace(1.0, 4.0, 25)
    csbm = CSBM(alpha=ALPHA, lam=np.concatenate([lam, FAR]), mu=np.array(MU)[:, None], rho=RHO)
    network = np.array(
        [
            [tuned_depth(csbm, K, symmetrize).prediction.log_test_error for K in (1, 2, 3)]
            for symmetrize in (False, True)
        ]
    )
    ceiling = np.asarray(bayes_optimal(csbm).log_test_error)
    dims = ("symmetrize", "K", "mu")
    return xarray.Dataset(
        {
            "log_test_error": ((*dims, "lam"), network[..., : lam.size]),
            "bayes_optimal": (("mu", "lam"), ceiling[..., : lam.size]),
            "rate": (dims, _rate(network)),
            "bayes_optimal_rate": ("mu", _rate(ceiling)),
        },
        {"symmetrize": [0, 1], "K": [1, 2, 3], "mu": list(MU), "lam": lam},
        {"alpha": ALPHA, "rho": RHO, "reg": "inf"},
    )


def _rate(log_error: Any) -> Any:
    """Slope of the last two points in the square of the signal."""
    return (log_error[..., -2] - log_error[..., -1]) / (FAR[1] ** 2 - FAR[0] ** 2)


def draw_rates(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """Errors on a logarithmic scale against the square of the signal, where a rate is a slope."""
    square = dataset.lam**2
    for panel, mu in zip(axes, dataset.mu.values, strict=True):
        here = dataset.sel(mu=mu)
        panel.plot(square, np.exp(here.bayes_optimal), color=BLACK, label="Bayes-optimal")
        for symmetrize, style, graph in GRAPHS:
            for K, colour in zip(dataset.K.values, COLOURS, strict=False):
                curve = here.log_test_error.sel(symmetrize=symmetrize, K=K)
                panel.plot(square, np.exp(curve), style, color=colour, label=f"$K={K}${graph}")
        for rate, style, text in ((1.0, "-.", r"$e^{-\lambda^2}$"), (0.5, ":", r"$e^{-\lambda^2/2}$")):
            panel.plot(square, np.exp(-rate * square), style, color="0.6", label=text)
        panel.set(yscale="log", ylim=(1e-7, 1.0), xlim=(1, 16), xlabel=r"$\lambda^2$")
    axes[0].set_ylabel(r"$1-\mathrm{Acc}_\mathrm{test}$")
    label_panels(axes, [rf"$\alpha={ALPHA:g},\ \mu={mu:g},\ \rho={RHO:g}$" for mu in dataset.mu.values])
    legend_below(axes, columns=3)


def rate_statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """Rates of one layer, and of deeper networks on both graphs."""
    rates = dataset.rate.sel(K=1, symmetrize=0).values
    slow = bool(rates.max() < 0.499 and np.ptp(rates) > 0.01)
    text = "one layer: the rate stays below 1/2 and depends on the features"
    yield Statement(text, slow, f"rates {rates.round(3).tolist()}")
    for symmetrize, expected, graph in ((0, 0.5, ""), (1, 1.0, "symmetrized, ")):
        worst = float(abs(dataset.rate.sel(K=[2, 3], symmetrize=symmetrize) - expected).max())
        text = f"{graph}two layers or more: the rate is {expected:g} for any features"
        yield Statement(text, worst < 0.01, f"largest deviation {worst:.1e}")


ACCURACY = PaperFigure(
    "introduction",
    "Accuracy against the signal: each network at its best, under the Bayes-optimal ceiling",
    data,
    draw,
    statements=statements,
)
TIME = PaperFigure(
    "optimal-time",
    "Accuracy at the best diffusion time t* against lam, discrete and continuous, with t* as an inset",
    time_data,
    draw_times,
    panels=(1, 3),
    size=(9.6, 4.2),
    statements=time_statements,
)
RATES = PaperFigure(
    "learning-rates",
    "Misclassification at a large signal of the graph: rates of depths 1, 2, 3 and the Bayes-optimal rate",
    rate_data,
    draw_rates,
    panels=(1, 2),
    size=(7.2, 4.0),
    statements=rate_statements,
)
