r"""Misclassification at a large signal of the graph: the learning rates.

:math:`\log(1-\mathrm{Acc}_\mathrm{test}) \sim -\tau\lambda^2`, with :math:`\tau = 1` for the Bayes-optimal classifier. One
layer has a rate below 1/2, two layers or more reach 1/2 on the graph as it is and 1 on the symmetrized graph.

Chosen here, where the paper leaves it open: the two strengths of the features are :math:`\mu = 1` and :math:`\mu = 3` at
:math:`\alpha = 4`; depths 1, 2, 3 on both graphs. The rates are slopes in :math:`\lambda^2` between
:math:`\lambda = 40` and 60, where the logarithm of the error is still exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit.csbm import CSBM
from gcnlimit.figures.base import PaperFigure, Statement
from gcnlimit.figures.paper.networks import tuned_depth
from gcnlimit.figures.style import BLACK, COLOURS, label_panels, legend_below
from gcnlimit.theory.bayes import bayes_optimal

ALPHA, RHO, MU = 4.0, 0.1, (1.0, 3.0)
DEPTHS = (1, 2, 3)
FAR = (40.0, 60.0)


def data() -> xarray.Dataset:
    """Logarithms of the error over the signal, and the rates."""
    lam = np.linspace(1.0, 4.0, 25)
    csbm = CSBM(alpha=ALPHA, lam=np.concatenate([lam, FAR]), mu=np.array(MU)[:, None], rho=RHO)
    network = np.array(
        [[tuned_depth(csbm, K, symmetrize).prediction.log_test_error for K in DEPTHS] for symmetrize in (False, True)]
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
        {"symmetrize": [0, 1], "K": list(DEPTHS), "mu": list(MU), "lam": lam},
        {"alpha": ALPHA, "rho": RHO, "reg": "inf"},
    )


def _rate(log_error: Any) -> Any:
    """Slope of the last two points in the square of the signal."""
    return (log_error[..., -2] - log_error[..., -1]) / (FAR[1] ** 2 - FAR[0] ** 2)


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """Errors on a logarithmic scale against the square of the signal, where a rate is a slope."""
    square = dataset.lam**2
    for panel, mu in zip(axes, dataset.mu.values, strict=True):
        here = dataset.sel(mu=mu)
        panel.plot(square, np.exp(here.bayes_optimal), color=BLACK, label="Bayes-optimal")
        for symmetrize, style, graph in ((1, "-", ", symmetrized"), (0, "--", "")):
            for K, colour in zip(dataset.K.values, COLOURS, strict=False):
                curve = here.log_test_error.sel(symmetrize=symmetrize, K=K)
                panel.plot(square, np.exp(curve), style, color=colour, label=f"$K={K}${graph}")
        for rate, style, text in ((1.0, "-.", r"$e^{-\lambda^2}$"), (0.5, ":", r"$e^{-\lambda^2/2}$")):
            panel.plot(square, np.exp(-rate * square), style, color="0.6", label=text)
        panel.set(yscale="log", ylim=(1e-7, 1.0), xlim=(1, 16), xlabel=r"$\lambda^2$")
    axes[0].set_ylabel(r"$1-\mathrm{Acc}_\mathrm{test}$")
    label_panels(axes, [rf"$\alpha={ALPHA:g},\ \mu={mu:g},\ \rho={RHO:g}$" for mu in dataset.mu.values])
    legend_below(axes, columns=3)


def one_layer_is_slow(dataset: xarray.Dataset) -> Statement:
    """Rates of one layer."""
    rates = dataset.rate.sel(K=1, symmetrize=0).values
    text = "one layer: the rate stays below 1/2 and depends on the features"
    return Statement(text, bool(rates.max() < 0.499 and np.ptp(rates) > 0.01), f"rates {rates.round(3).tolist()}")


def _rates_of_depth(dataset: xarray.Dataset, symmetrize: int, expected: float) -> Statement:
    rates = dataset.rate.sel(K=[2, 3], symmetrize=symmetrize).values
    graph = "symmetrized, " if symmetrize else ""
    worst = float(np.abs(rates - expected).max())
    text = f"{graph}two layers or more: the rate is {expected:g} for any features"
    return Statement(text, worst < 0.01, f"largest deviation {worst:.1e}")


def two_layers_reach_half(dataset: xarray.Dataset) -> Statement:
    """Rates of deeper networks."""
    return _rates_of_depth(dataset, 0, 0.5)


def symmetrized_reach_optimum(dataset: xarray.Dataset) -> Statement:
    """Rates of deeper networks on the symmetrized graph: those of the Bayes-optimal classifier."""
    return _rates_of_depth(dataset, 1, 1.0)


FIGURE = PaperFigure(
    "learning-rates",
    "Misclassification at a large signal of the graph: rates of depths 1, 2, 3 and the Bayes-optimal rate",
    data,
    draw,
    panels=(1, 2),
    size=(7.2, 4.0),
    statements=(one_layer_is_slow, two_layers_reach_half, symmetrized_reach_optimum),
)
