r"""Accuracy of the continuous network against the diffusion time, at several regularizations, theory and simulation.

Two figures: on the graph as it is, and on the symmetrized graph, where :math:`\lambda^s = \sqrt 2 \lambda`. Each has the three
panels of the paper: :math:`\alpha = 4`, :math:`\rho = 0.1`; :math:`\alpha = 1`, :math:`\rho = 0.1`; :math:`\alpha = 2`,
:math:`\mu = 1`, :math:`\rho = 0.3`. The paper has the theory at infinite regularization only; here every dot has its own.

Chosen here, where the paper leaves it open: :math:`r` = 0.1, 1, 10 and infinity; a strong and a weak signal in each panel,
:math:`\lambda` = 1.5 and 0.7, with :math:`\mu` = 3 and 1 at :math:`\alpha = 4`, and 2 and 1 at :math:`\alpha = 1`. The theory
at finite regularization is drawn up to :math:`t = 2.5`.

A third figure has several depths in place of regularizations, on the graph as it is and at infinite regularization: a network of
depth :math:`K` and time :math:`t` has residual strength :math:`c = K/t`. Chosen for it: depths 1, 2, 4, 16 and infinity; a panel
for each signal, :math:`\lambda` = 1.5 and 0.7 with :math:`\mu` = 2 and 1 at :math:`\alpha = 1`, and with :math:`\mu = 1` at
:math:`\alpha = 2`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit.csbm import CSBM
from gcnlimit.figures.base import LITTLE, PaperFigure, Simulation, Statement
from gcnlimit.figures.paper.networks import infinity_is_nearly_best, name_depth, of_depth
from gcnlimit.figures.style import (
    BLACK,
    MARKERS,
    TEST_ACCURACY,
    draw_dots,
    draw_smooth,
    label_panels,
    legend_below,
    name_reg,
    shades,
)
from gcnlimit.filters import Diffusion
from gcnlimit.network import GCN
from gcnlimit.results.performance import Status
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.predict import predict

SIGNALS = (
    (4.0, 1.5, 3.0, 0.1),
    (4.0, 0.7, 1.0, 0.1),
    (1.0, 1.5, 2.0, 0.1),
    (1.0, 0.7, 1.0, 0.1),
    (2.0, 1.5, 1.0, 0.3),
    (2.0, 0.7, 1.0, 0.3),
)
REG = (0.1, 1.0, 10.0, np.inf)
TIMES, SOLVED, DOTS = (
    np.linspace(0.0, 3.0, 61),
    np.array([0.0, 0.125, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5]),
    (0.5, 1.0, 1.5, 2.5),
)


def data(symmetrize: bool) -> xarray.Dataset:
    """Accuracies over the time: explicit at infinite regularization, solved at finite ones."""
    alpha, lam, mu, rho = np.array(SIGNALS).T[:, :, None]
    csbm = CSBM(alpha=alpha, lam=lam, mu=mu, rho=rho)
    limit = predict(csbm, GCN(Diffusion(TIMES), symmetrize=symmetrize)).test_accuracy
    columns = {"alpha": alpha, "lam": lam, "mu": mu, "rho": rho}
    return xarray.Dataset(
        {
            "limit": (("signal", "t"), limit),
            "test_accuracy": (("signal", "reg", "solved"), _finite(csbm, symmetrize)),
        },
        {"t": TIMES, "reg": list(REG), "solved": SOLVED} | {k: ("signal", v[:, 0]) for k, v in columns.items()},
        {"symmetrize": int(symmetrize), "loss": "square"},
    )


def _finite(csbm: CSBM, symmetrize: bool) -> Any:
    """Accuracies at each regularization; one call for each time, whose networks have like numbers of layers."""
    each = [predict(csbm, GCN(Diffusion(t), reg=REG, symmetrize=symmetrize), throw=False) for t in SOLVED]
    return np.stack(
        [np.where(np.less_equal(p.status, Status.CONVERGED), p.test_accuracy, np.nan) for p in each], axis=-1
    )


def dots(dataset: xarray.Dataset, simulation: Simulation) -> xarray.Dataset:
    """Simulated accuracies, and the theory at the same times."""
    network = GCN(Diffusion(1.0), symmetrize=bool(dataset.symmetrize))
    measured = [
        simulation.measure(CSBM(*signal), network, {"t": DOTS, "reg": REG}, "test_accuracy").rename(t="dot")
        for signal in SIGNALS
    ]
    predicted = dataset.test_accuracy.reindex(solved=list(DOTS)).rename(solved="dot")
    limit = (
        dataset.limit.sel(t=list(DOTS), method="nearest").drop_vars("t").rename(t="dot").assign_coords(dot=list(DOTS))
    )
    predicted = predicted.where(np.isfinite(dataset.reg), limit)
    return xarray.concat(measured, "signal").assign(test_accuracy_predicted=predicted)


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """A panel for two signals; colour and marker show the regularization."""
    colours = shades(len(REG))
    for k, panel in enumerate(axes):
        for signal in (2 * k, 2 * k + 1):
            here = dataset.isel(signal=signal)
            for reg, colour, marker in zip(dataset.reg.values, colours, MARKERS, strict=False):
                if np.isinf(reg):
                    panel.plot(here.t, here.limit, color=colour)
                else:
                    draw_smooth(panel, here.solved, here.test_accuracy.sel(reg=reg), color=colour, linewidth=0.9)
                panel.plot([], [], color=colour, marker=marker, label=name_reg(reg))
                draw_dots(panel, here.sel(reg=reg), "test_accuracy", color=colour, marker=marker)
            place = float(here.limit.sel(t=2.6, method="nearest"))
            panel.annotate(
                rf"$\lambda={float(here.lam):g},\ \mu={float(here.mu):g}$",
                (2.95, place),
                xytext=(0, 15),
                textcoords="offset points",
                ha="right",
                fontsize=8,
            )
        panel.margins(y=0.12)
        panel.set(xlabel="$t$", xlim=(0, 3))
    axes[0].set_ylabel(TEST_ACCURACY)
    label_panels(axes, [rf"$\alpha={s[0]:g},\ \rho={s[3]:g}$" for s in SIGNALS[::2]])
    legend_below(axes, columns=4)


def infinite_is_nearly_best(dataset: xarray.Dataset) -> Statement:
    """No finite regularization gains much over the infinite one, at the best time of each."""
    finite = dataset.test_accuracy.drop_sel(reg=np.inf)
    return infinity_is_nearly_best(finite.max("solved"), dataset.limit.max("t"))


def converges_quickly(dataset: xarray.Dataset) -> Statement:
    """At times up to 1, a regularization of 1 is close to the infinite one."""
    short = dataset.test_accuracy.sel(solved=slice(0, 1.0))
    distance = float(abs(short.sel(reg=1.0) - short.sel(reg=np.inf)).max())
    return Statement("r = 1 is enough at t ≤ 1", distance < LITTLE, f"largest difference {distance:.4f}")


def _figure(name: str, graph: str, symmetrize: bool) -> PaperFigure:
    return PaperFigure(
        name,
        f"Accuracy of the continuous network against t and r, on the {graph} graph",
        functools.partial(data, symmetrize),
        draw,
        panels=(1, 3),
        size=(9.6, 3.6),
        dots=dots,
        curves=len(SIGNALS),
        statements=(infinite_is_nearly_best, converges_quickly),
    )


DIRECTED = _figure("diffusion-directed", "asymmetric", symmetrize=False)
SYMMETRIZED = _figure("diffusion-symmetrized", "symmetrized", symmetrize=True)


SETTINGS = ((1.0, 1.5, 2.0, 0.1), (2.0, 1.5, 1.0, 0.3), (1.0, 0.7, 1.0, 0.1), (2.0, 0.7, 1.0, 0.3))
DEPTHS = (1.0, 2.0, 4.0, 16.0, np.inf)


def depth_data() -> xarray.Dataset:
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


def draw_depths(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
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


AT_DEPTHS = PaperFigure(
    "diffusion-depth",
    "Accuracy against the diffusion time t, at depths 1, 2, 4, 16 and in the continuous limit",
    depth_data,
    draw_depths,
    panels=(2, 2),
    size=(7.2, 5.2),
    statements=(converges, best_is_continuous, best_time_is_inside),
)
