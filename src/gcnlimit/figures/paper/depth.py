r"""Accuracy against the depth, for three scalings of the residual strength.

Without residual connections (:math:`c = 0`) or at constant strength (:math:`c = 1`) the network oversmooths: at large depth it
does principal component analysis on the graph. At :math:`c \propto K` it tends to the continuous network.

Chosen here, where the paper leaves it open: :math:`c = K/t^*`, with :math:`t^*` the best diffusion time of the continuous
network; depths up to 100, on a logarithmic axis.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray
from matplotlib.axes import Axes
from scipy.special import ndtr

from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.figures.base import PaperFigure, Statement
from gcnlimit.figures.paper.networks import growth_with_depth, tuned_depth
from gcnlimit.figures.style import COLOURS, MARKERS, TEST_ACCURACY, label_panels, legend_below
from gcnlimit.filters import Residual
from gcnlimit.network import GCN
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.limits import pca_margin
from gcnlimit.theory.predict import predict

ALPHA, RHO = 4.0, 0.1
SIGNALS = ((1.5, 3.0), (0.7, 1.0))
DEPTHS = np.unique(np.geomspace(1, 100, 28).round().astype(int))
SCALINGS = {"0": r"$c=0$", "1": r"$c=1$", "K/t*": r"$c=K/t^*$"}


def data() -> xarray.Dataset:
    """Accuracies over the depth, and their limits."""
    lam, mu = np.array(SIGNALS).T
    csbm = CSBM(alpha=ALPHA, lam=lam, mu=mu, rho=RHO)
    continuous = tuned_depth(csbm, np.inf, symmetrize=False)
    best_t = np.asarray(continuous.parameters["t"])

    def accuracy(K: int) -> Array:
        strengths = (0.0 * best_t, 1.0 + 0.0 * best_t, K / best_t)
        return np.array(
            [predict(csbm, GCN(Residual.constant(c, int(K)), symmetrize=False)).test_accuracy for c in strengths]
        )

    return xarray.Dataset(
        {
            "test_accuracy": (("K", "scaling", "signal"), np.array([accuracy(K) for K in DEPTHS])),
            "continuous": ("signal", continuous.prediction.test_accuracy),
            "best_t": ("signal", best_t),
            "pca": ("signal", ndtr(pca_margin(lam))),
            "bayes_optimal": ("signal", bayes_optimal(csbm).test_accuracy),
        },
        {"K": DEPTHS, "scaling": list(SCALINGS), "lam": ("signal", lam), "mu": ("signal", mu)},
        {"alpha": ALPHA, "rho": RHO, "reg": "inf"},
    )


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """One curve for each scaling, and the two limits."""
    for panel, signal in zip(axes, dataset.signal.values, strict=True):
        here = dataset.isel(signal=signal)
        for scaling, colour, marker in zip(dataset.scaling.values, COLOURS, MARKERS, strict=False):
            curve = here.test_accuracy.sel(scaling=scaling)
            panel.plot(here.K, curve, marker=marker, color=colour, label=SCALINGS[str(scaling)], linewidth=0.8)
        panel.axhline(here.continuous, color=COLOURS[2], linestyle="--", label="continuous limit")
        panel.axhline(here.pca, color="0.5", linestyle=":", label="PCA on the graph")
        panel.set(xscale="log", xlabel="$K$")
    axes[0].set_ylabel(TEST_ACCURACY)
    label_panels(
        axes,
        [
            rf"$\lambda={lam:g},\ \mu={mu:g},\ \alpha={ALPHA:g},\ \rho={RHO:g}$"
            for lam, mu in zip(dataset.lam.values, dataset.mu.values, strict=True)
        ],
    )
    legend_below(axes, columns=5)


def grows_with_depth(dataset: xarray.Dataset) -> Statement:
    """Monotone in K at c = K/t*."""
    accuracy = dataset.test_accuracy.sel(scaling="K/t*")
    return growth_with_depth(accuracy, "at c = K/t* the accuracy grows with K")


def continuous_bounds(dataset: xarray.Dataset) -> Statement:
    """The continuous network is above all depths and scalings."""
    above = float((dataset.continuous - dataset.test_accuracy).min())
    return Statement("the continuous network at t* is above every depth", above > 0, f"smallest lead {above:+.1e}")


def oversmooths(dataset: xarray.Dataset) -> Statement:
    """At constant strength the network does principal component analysis in the end, where the graph allows it."""
    strong = dataset.isel(signal=0)
    last = strong.test_accuracy.isel(K=-1).sel(scaling=["0", "1"])
    distance = float(abs(last - strong.pca).max())
    text = "at c = 0 and c = 1 deep networks do PCA on the graph (lam > 1)"
    return Statement(text, distance < 1e-3, f"distance at K = {int(dataset.K[-1])}: {distance:.1e}")


FIGURE = PaperFigure(
    "depth",
    "Accuracy against the depth for c = 0, c = 1 and c growing with K",
    data,
    draw,
    panels=(1, 2),
    size=(7.2, 3.4),
    statements=(grows_with_depth, continuous_bounds, oversmooths),
)
