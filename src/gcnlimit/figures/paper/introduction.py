r"""Accuracy against the strength of the signal, every network at its best.

Depth 1, depth 2 and infinite depth, on the graph as it is and symmetrized, under the Bayes-optimal ceiling. At each point
the residual strengths or the diffusion time, and the regularization, are those of the highest accuracy (square loss).

Chosen here, where the paper leaves it open: :math:`\alpha = 4`, :math:`\rho = 0.1`, and graph and features of equal
strength, :math:`\lambda^2 = \mu^2/\alpha`, as in its other figures; the residual strengths of the layers are free, each by
itself. Filter and regularization are tuned together; on the directed graph a finite one gains less than
:math:`2 \cdot 10^{-4}`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit.choose.search import Bounds
from gcnlimit.choose.tune import tune
from gcnlimit.csbm import CSBM
from gcnlimit.figures.base import FEW_PERCENT, PaperFigure, Statement
from gcnlimit.figures.style import BLACK, COLOURS
from gcnlimit.filters import Diffusion, Residual
from gcnlimit.network import GCN
from gcnlimit.theory.bayes import bayes_optimal

ALPHA, RHO = 4.0, 0.1
SIGNALS = np.linspace(0.0, 2.0, 31)
DEPTHS = ("1", "2", "inf")
ANY_REG = (0.0, math.inf)


def data() -> xarray.Dataset:
    """Accuracies of the best networks and of the Bayes-optimal classifier, over the strength of the signal."""
    csbm = CSBM(alpha=ALPHA, lam=SIGNALS, mu=np.sqrt(ALPHA) * SIGNALS, rho=RHO)
    accuracy = [[best(csbm, depth, symmetrize) for depth in DEPTHS] for symmetrize in (False, True)]
    return xarray.Dataset(
        {
            "test_accuracy": (("symmetrize", "K", "lam"), np.array(accuracy)),
            "bayes_optimal": ("lam", bayes_optimal(csbm).test_accuracy),
        },
        {"symmetrize": [0, 1], "K": list(DEPTHS), "lam": SIGNALS},
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
    return tune(csbm, network, free | {"reg": ANY_REG}).prediction.test_accuracy


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """One curve for each network, solid on the symmetrized graph and dashed on the directed one, and the ceiling in black."""
    panel = axes[0]
    panel.plot(dataset.lam, dataset.bayes_optimal, color=BLACK, label="best any algorithm can do")
    for symmetrize, style, graph in ((1, "-", ", symmetrized"), (0, "--", "")):
        for depth, colour in reversed(list(zip(DEPTHS, COLOURS, strict=False))):
            symbol = depth.replace("inf", r"\infty")
            curve = dataset.test_accuracy.sel(symmetrize=symmetrize, K=depth)
            panel.plot(dataset.lam, curve, style, color=colour, label=f"depth ${symbol}${graph}")
    panel.set_xlabel(r"signal of graph and features, $\lambda = \mu/\sqrt{\alpha}$")
    panel.set(ylabel="accuracy on unlabelled nodes", xlim=(0, 2), ylim=(0.5, 1.0))
    panel.legend(loc="lower right")


def deeper_is_better(dataset: xarray.Dataset) -> Statement:
    """Accuracy grows with the depth."""
    step = float(dataset.test_accuracy.diff("K").min())
    return Statement("a deeper network, at its best, is never worse", step > -1e-9, f"smallest step {step:+.1e}")


def close_to_optimal(dataset: xarray.Dataset) -> Statement:
    """The continuous network on the symmetrized graph comes close to the ceiling."""
    gap = float((dataset.bayes_optimal - dataset.test_accuracy.sel(symmetrize=1, K="inf")).max())
    return Statement(
        "symmetrized and of infinite depth, it comes close to optimality", gap < FEW_PERCENT, f"gap {gap:.4f}"
    )


FIGURE = PaperFigure(
    "introduction",
    "Accuracy against the signal: each network at its best, under the Bayes-optimal ceiling",
    data,
    draw,
    statements=(deeper_is_better, close_to_optimal),
)
