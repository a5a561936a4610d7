r"""Accuracy against the diffusion time, at finite depth and in the continuous limit.

On the graph as it is, at infinite regularization; a network of depth :math:`K` and time :math:`t` has residual strength
:math:`c = K/t`.

Chosen here, where the paper leaves it open: depths 1, 2, 4, 16 and infinity; one panel for each signal: :math:`\lambda = 1.5`
and 0.7 with :math:`\mu = 2` and 1 at :math:`\alpha = 1`, and with :math:`\mu = 1` at :math:`\alpha = 2`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit.csbm import CSBM
from gcnlimit.figures.base import LITTLE, PaperFigure, Statement
from gcnlimit.figures.paper.networks import name_depth, of_depth
from gcnlimit.figures.style import BLACK, TEST_ACCURACY, label_panels, legend_below, shades
from gcnlimit.network import GCN
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.predict import predict

SETTINGS = ((1.0, 1.5, 2.0, 0.1), (2.0, 1.5, 1.0, 0.3), (1.0, 0.7, 1.0, 0.1), (2.0, 0.7, 1.0, 0.3))
DEPTHS = (1.0, 2.0, 4.0, 16.0, np.inf)


def data() -> xarray.Dataset:
    """Accuracies over the diffusion time, for each depth."""
    t = np.linspace(0.04, 4.0, 100)
    alpha, lam, mu, rho = np.array(SETTINGS).T
    csbm = CSBM(alpha=alpha[:, None], lam=lam[:, None], mu=mu[:, None], rho=rho[:, None])
    accuracy = [predict(csbm, GCN(of_depth(K, t), symmetrize=False)).test_accuracy for K in DEPTHS]
    signals = {"alpha": alpha, "lam": lam, "mu": mu, "rho": rho}
    return xarray.Dataset(
        {
            "test_accuracy": (("K", "setting", "t"), np.array(accuracy)),
            "bayes_optimal": ("setting", np.asarray(bayes_optimal(csbm).test_accuracy)[:, 0]),
        },
        {"K": list(DEPTHS), "t": t} | {name: ("setting", values) for name, values in signals.items()},
        {"reg": "inf", "symmetrize": 0},
    )


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """One curve for each depth."""
    depths = dataset.K.values
    for panel, setting in zip(axes, dataset.setting.values, strict=True):
        here = dataset.isel(setting=setting)
        for K, colour in zip(depths, shades(len(depths)), strict=True):
            panel.plot(here.t, here.test_accuracy.sel(K=K), color=colour, label=name_depth(K))
        panel.axhline(here.bayes_optimal, color=BLACK, linestyle=":", label="Bayes-optimal")
        panel.set(xlim=(0, 4))
    for panel in axes[2:]:
        panel.set_xlabel("$t$")
    for panel in axes[::2]:
        panel.set_ylabel(TEST_ACCURACY)
    titles = [rf"$\alpha={a:g},\ \lambda={s:g},\ \mu={m:g},\ \rho={r:g}$" for a, s, m, r in SETTINGS]
    label_panels(axes, titles)
    legend_below(axes, columns=6)


def converges(dataset: xarray.Dataset) -> Statement:
    """Depth 16 is close to the continuous network at times that are not too long."""
    short = dataset.test_accuracy.sel(t=slice(0, 1.5))
    distance = float(abs(short.sel(K=np.inf) - short.sel(K=16)).max())
    text = "K = 16 is enough to reach the continuous limit if t is not too large (t ≤ 1.5)"
    return Statement(text, distance < LITTLE, f"largest difference {distance:.4f}")


def best_is_continuous(dataset: xarray.Dataset) -> Statement:
    """The best of all depths and times is the continuous network at t*."""
    best = dataset.test_accuracy.max("t")
    lead = float((best.sel(K=np.inf) - best.drop_sel(K=np.inf)).min())
    return Statement("the continuous network at t* is above every K and t", lead > 0, f"smallest lead {lead:+.1e}")


def best_time_is_inside(dataset: xarray.Dataset) -> Statement:
    """The accuracy has its maximum at a positive and finite time."""
    at = dataset.t.values[dataset.test_accuracy.sel(K=np.inf).argmax("t")]
    inside = bool((at > dataset.t.values[0]).all() and (at < dataset.t.values[-1]).all())
    return Statement("there is a positive and finite best time t*", inside, f"t* = {at.round(2).tolist()}")


FIGURE = PaperFigure(
    "diffusion-depth",
    "Accuracy against the diffusion time t, at depths 1, 2, 4, 16 and in the continuous limit",
    data,
    draw,
    panels=(2, 2),
    size=(7.2, 5.2),
    statements=(converges, best_is_continuous, best_time_is_inside),
)
