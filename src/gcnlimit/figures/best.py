"""Networks at their best against the signals: accuracies, best diffusion times, learning rates, and maps of the gap."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit.choose.free_numbers import Bounds
from gcnlimit.choose.gap_map import gap_map
from gcnlimit.choose.tune import tune
from gcnlimit.csbm import CSBM
from gcnlimit.figures import base, style
from gcnlimit.figures.base import FEW_PERCENT, PaperFigure, Statement, columns, coordinates
from gcnlimit.figures.depth import LAYERS, LONGEST, tuned_depth
from gcnlimit.figures.style import BLACK, COLOURS, draw_curve, each_panel, finish, named, titles
from gcnlimit.filters import Diffusion, Residual
from gcnlimit.network import GCN
from gcnlimit.theory.bayes import bayes_optimal

ALPHA, RHO = 4.0, 0.1
SIGNALS = np.linspace(0.0, 2.0, 31)
FEW = ("1", "2", "inf")
TIMED = {"alpha": (4.0, 1.0, 2.0), "mu": (1.0, 2.0, 1.0), "rho": (0.1, 0.1, 0.3)}
MAPPED = {"alpha": (1.0, 2.0), "rho": (0.1, 0.3)}
MU = (1.0, 3.0)
FAR = (40.0, 60.0)
GRAPHS = ((1, "-", ", symmetrized"), (0, "--", ""))
"""Whether the graph is symmetrized, with its style and its words."""


def data() -> xarray.Dataset:
    r"""Accuracy against the strength of the signal, every network at its best.

    Depth 1, depth 2 and infinite depth, on the graph as it is and symmetrized, under the Bayes-optimal ceiling. At each point
    the residual strengths or the diffusion time, and the regularization, are those of the highest accuracy (square loss).

    Chosen here, where the paper leaves it open: :math:`\alpha = 4`, :math:`\rho = 0.1`, and graph and features of equal
    strength, :math:`\lambda^2 = \mu^2/\alpha`, as in its other figures. The residual strengths of the layers vary
    independently. Filter and regularization are tuned together; on the directed graph a finite regularization gains less than
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
        network = GCN(Diffusion(1.0), symmetrize=symmetrize)
        free = {"t": (0.0, 10.0)}
    else:
        network = GCN(Residual.constant(1.0, int(depth)), symmetrize=symmetrize)
        free = {"c": [(-math.inf, math.inf)] * int(depth)}
    return tune(csbm, network, free | {"reg": (0.0, math.inf)}).prediction.test_accuracy


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """One curve for each network, solid on the symmetrized graph and dashed on the directed one, and the ceiling in black."""
    (panel,) = axes
    draw_curve(panel, dataset, "bayes_optimal", "best any algorithm can do", color=BLACK)
    for symmetrize, line, graph in GRAPHS:
        for depth, colour in reversed(list(zip(FEW, COLOURS, strict=False))):
            label = f"depth ${depth}${graph}".replace("inf", r"\infty")
            network = dataset.sel(symmetrize=symmetrize, K=depth)
            draw_curve(panel, network, "test_accuracy", label, line=line, color=colour)
    panel.set_xlabel(r"signal of graph and features, $\lambda = \mu/\sqrt{\alpha}$")
    panel.set(ylabel="accuracy on unlabelled nodes", xlim=(0, 2), ylim=(0.5, 1.0))
    panel.legend(loc="lower right")


def statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """Accuracy grows with the depth, and comes close to the ceiling."""
    text = "a deeper network, at its best, is never worse"
    yield base.growth_with_depth(dataset.test_accuracy, text, least=-1e-9)
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
    csbm = CSBM(lam=lam, **columns(TIMED))
    tuned = [[tuned_depth(csbm, K, symmetrize) for K in LAYERS] for symmetrize in (False, True)]
    accuracy = [[best_network.prediction.test_accuracy for best_network in row] for row in tuned]
    best_t = [row[-1].parameters["t"] for row in tuned]
    return xarray.Dataset(
        {
            "test_accuracy": (("symmetrize", "K", "setting", "lam"), np.array(accuracy)),
            "best_t": (("symmetrize", "setting", "lam"), np.array(best_t)),
            "bayes_optimal": (("setting", "lam"), bayes_optimal(csbm).test_accuracy),
        },
        {"symmetrize": [0, 1], "K": list(LAYERS), "lam": lam} | coordinates(TIMED),
        {"reg": "inf"},
    )


def draw_times(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """Accuracies, and the best time of the continuous network in an inset at the lower right."""
    colours = style.shades(dataset.K.size)
    for panel, part in each_panel(axes, dataset, "setting"):
        _draw_depths(panel, part, "test_accuracy", colours)
        inset = panel.inset_axes((0.65, 0.12, 0.33, 0.28))
        for symmetrize, line, _ in GRAPHS:
            best_t = part.best_t.sel(symmetrize=symmetrize)
            inset.plot(part.lam, best_t, line, color=colours[-1])
        panel.set(xlabel=r"$\lambda$", xlim=(0, 2.5), ylim=(None, 1.0))
        inset.set(xlim=(0, 2.5), ylim=(0, None))
        inset.set_title("$t^*$", pad=2)
        inset.tick_params(labelsize=7)
    finish(axes, titles(TIMED), columns=4)


def _draw_depths(panel: Axes, part: xarray.Dataset, name: str, colours: Sequence[Any]) -> None:
    """A quantity at each depth, on both graphs, and the ceiling."""
    draw_curve(panel, part, "bayes_optimal", "Bayes-optimal", color=BLACK)
    for symmetrize, line, graph in GRAPHS:
        for K, colour in zip(part.K.values, colours, strict=False):
            curve = part.sel(symmetrize=symmetrize, K=K)
            draw_curve(panel, curve, name, named(K=K) + graph, line=line, color=colour)


def time_statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """Each depth at its own best time, and how that time depends on the signal; without a graph all depths are the same."""
    accuracy = dataset.test_accuracy.where(dataset.lam > 0)
    text = "at the best time the accuracy grows with K"
    yield base.growth_with_depth(accuracy, text, least=-1e-9)
    longest = float(dataset.best_t.max())
    finite = longest < 0.99 * LONGEST
    yield Statement("t* is finite for any lam", finite, f"largest t* {longest:.3f}")
    none = float(dataset.best_t.isel(lam=0).max())
    weak = float(dataset.best_t.isel(lam=1).max())
    number = f"largest t* at lam = 0: {none:.1e}, at lam = {float(dataset.lam[1]):g}: {weak:.2f}"
    yield Statement("t* tends to 0 as lam tends to 0", none < 1e-3 and weak < 0.5, number)
    peak = dataset.lam.values[dataset.best_t.argmax("lam")]
    inside = bool(((peak > 0) & (peak < dataset.lam.values[-1])).all())
    number = f"largest at lam = {np.unique(peak.round(2)).tolist()}"
    yield Statement("t* is not monotone in lam", inside, number)


def rate_data() -> xarray.Dataset:
    r"""Misclassification at a large signal of the graph: the learning rates.

    :math:`\log(1-\mathrm{Acc}_\mathrm{test}) \sim -\tau\lambda^2`, with :math:`\tau = 1` for the Bayes-optimal classifier. One
    layer has a rate below 1/2, two layers or more reach 1/2 on the graph as it is and 1 on the symmetrized graph.

    Chosen here, where the paper leaves it open: the two strengths of the features are :math:`\mu = 1` and :math:`\mu = 3` at
    :math:`\alpha = 4`; depths 1, 2, 3 on both graphs. The rates are slopes in :math:`\lambda^2` between
    :math:`\lambda = 40` and 60, where the logarithm of the error is still exact.
    """
    lam = np.append(np.linspace(1.0, 4.0, 25), FAR)
    csbm = CSBM(alpha=ALPHA, lam=lam, mu=np.array(MU)[:, None], rho=RHO)
    tuned = [[tuned_depth(csbm, K, symmetrize) for K in (1, 2, 3)] for symmetrize in (False, True)]
    error = [[best_network.prediction.log_test_error for best_network in row] for row in tuned]
    dataset = xarray.Dataset(
        {
            "log_test_error": (("symmetrize", "K", "mu", "lam"), np.array(error)),
            "bayes_optimal": (("mu", "lam"), np.asarray(bayes_optimal(csbm).log_test_error)),
        },
        {"symmetrize": [0, 1], "K": [1, 2, 3], "mu": list(MU), "lam": lam},
        {"alpha": ALPHA, "rho": RHO, "reg": "inf"},
    )
    # the slope far out, where the next term of the logarithm is small
    near, far = (dataset.sel(lam=signal, drop=True) for signal in FAR)
    slopes = (near - far) / (FAR[1] ** 2 - FAR[0] ** 2)
    rates = {"rate": slopes.log_test_error, "bayes_optimal_rate": slopes.bayes_optimal}
    return dataset.isel(lam=slice(-2)).assign(rates)


def draw_rates(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """Errors on a logarithmic scale against the square of the signal, where a rate is a slope."""
    errors = dataset[["log_test_error", "bayes_optimal"]].map(np.exp)
    errors = errors.assign_coords(lam=dataset.lam**2)
    slopes = {1.0: ("-.", r"$e^{-\lambda^2}$"), 0.5: (":", r"$e^{-\lambda^2/2}$")}
    for panel, part in each_panel(axes, errors, "mu"):
        _draw_depths(panel, part, "log_test_error", COLOURS)
        for rate, (line, text) in slopes.items():
            panel.plot(part.lam, np.exp(-rate * part.lam), line, color="0.6", label=text)
        panel.set(yscale="log", ylim=(1e-7, 1.0), xlim=(1, 16), xlabel=r"$\lambda^2$")
    shown = [named(alpha=ALPHA, mu=mu, rho=RHO) for mu in MU]
    finish(axes, shown, columns=3, ylabel=r"$1-\mathrm{Acc}_\mathrm{test}$")


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


def gap_data() -> xarray.Dataset:
    r"""Maps of the gap to Bayes-optimality, over the signals of graph and features.

    Bayes-optimal accuracy minus that of the continuous network on the symmetrized graph at its best time and infinite
    regularization. The line is :math:`\mathrm{snr} = 2\lambda^2 + \mu^2/\alpha = 1`: above it the classes can be distinguished
    without any label.

    Chosen here, where the paper leaves it open: :math:`\lambda` up to 2, :math:`\mu` up to 3, one colour scale for both panels.
    """
    lam = np.linspace(0.0, 2.0, 27)
    mu = np.linspace(0.0, 3.0, 27)
    csbm = CSBM(lam=lam, mu=mu[:, None], **columns(MAPPED, axes=2))
    gaps = gap_map(csbm, GCN(Diffusion(1.0), symmetrize=True), {"t": (0.0, LONGEST)})
    maps = {"gap": gaps.gap, "best_t": gaps.tuned.parameters["t"], "snr": csbm.snr}
    return xarray.Dataset(
        {name: (("setting", "mu", "lam"), np.asarray(values)) for name, values in maps.items()},
        {"lam": lam, "mu": mu} | coordinates(MAPPED),
        {"reg": "inf", "symmetrize": 1},
    )


def draw_gaps(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """Maps with a common scale."""
    levels = 0.01 * np.arange(np.ceil(100.0 * float(dataset.gap.max())) + 1)
    dashed: Any = {"colors": "white", "linewidths": 1.2, "linestyles": "--"}
    for panel, part in each_panel(axes, dataset, "setting"):
        colours = panel.contourf(part.lam, part.mu, part.gap, levels, cmap="viridis")
        colours.set_edgecolor("face")  # no white seams between the levels in PDF viewers
        line = panel.contour(part.lam, part.mu, part.snr, [1.0], **dashed)
        panel.clabel(line, fmt={1.0: "snr = 1"})
        title = named(alpha=float(part.alpha), rho=float(part.rho))
        panel.set(xlabel=r"$\lambda$", title=title)
    axes[0].set_ylabel(r"$\mu$")
    words = r"$\mathrm{Acc}_\mathrm{BO}-\mathrm{Acc}_\mathrm{test}$"
    axes[0].figure.colorbar(colours, ax=list(axes), ticks=levels[::2], label=words)


def gap_statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """The gap is nowhere negative, small where labels are needed or many, and large where few labels meet strong features."""
    least = float(dataset.gap.min())
    text = "no network exceeds the Bayes-optimal accuracy"
    yield Statement(text, least > -1e-12, f"smallest gap {least:+.1e}")
    weak = float(dataset.gap.where(dataset.snr < 1.0).max())
    text = "below snr = 1 the network is a few percent (5 %) from optimality"
    yield Statement(text, weak < FEW_PERCENT, f"largest gap {weak:.4f}")
    few, many = dataset.gap
    text = "at alpha = 2, rho = 0.3 the gap is a few percent (5 %) for all lam and mu"
    largest = float(many.max())
    yield Statement(text, largest < FEW_PERCENT, f"largest gap {largest:.4f}")
    where = few.where(few == few.max(), drop=True)
    lam, mu = float(where.lam[0]), float(where.mu[0])
    number = f"largest gap {float(few.max()):.4f} at lam = {lam:.2f}, mu = {mu:.2f}"
    text = "at alpha = 1, rho = 0.1 the network is far from optimality at small lam and large mu"
    yield Statement(text, lam < 0.75 and mu > 1.5, number)


_ACCURACY = "Accuracy against the signal: each network at its best, under the Bayes-optimal ceiling"
ACCURACY = PaperFigure("introduction", _ACCURACY, data, draw, statements)
_TIME = "Accuracy at the best diffusion time t* against lam, at several depths; inset: t*"
_IN_ROW = (1, 3), (9.6, 4.2)
TIME = PaperFigure("optimal-time", _TIME, time_data, draw_times, time_statements, *_IN_ROW)
_RATES = "Misclassification at a large signal of the graph: rates of depths 1 to 3, and the best"
_PAIR = (1, 2), (7.2, 4.0)
RATES = PaperFigure("learning-rates", _RATES, rate_data, draw_rates, rate_statements, *_PAIR)
_GAP = "Maps of the gap to Bayes-optimality of the continuous network on the symmetrized graph"
GAP = PaperFigure("gap", _GAP, gap_data, draw_gaps, gap_statements, (1, 2), (7.2, 3.2))
