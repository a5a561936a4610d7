r"""Accuracy against the residual strength, for one, two and three layers at several regularizations.

The same strength :math:`c` in all layers, on the graph as it is; logistic loss above, quadratic loss below. The inset varies
the strengths of two layers independently, at infinite regularization: the best pair lies on the diagonal.

A second figure has the training errors of the same networks, on the same simulated graphs. If :math:`c` were trained on
:math:`E_{train}` it would diverge, and the graph would be discarded: it has to be chosen by the accuracy. At infinite
regularization the output vanishes and the error is :math:`\ell(0)`, which is not drawn.

Chosen here, where the paper leaves it open: :math:`r` = 0.1, 1, 10 and infinity; :math:`c` from 0 to 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit.csbm import CSBM
from gcnlimit.figures.base import LITTLE, PaperFigure, Simulation, Statement
from gcnlimit.figures.paper.networks import growth_with_depth, infinity_is_nearly_best, strength_dots
from gcnlimit.figures.style import (
    BLACK,
    MARKERS,
    TEST_ACCURACY,
    draw_dots,
    label_panels,
    legend_below,
    name_reg,
    shades,
)
from gcnlimit.filters import Residual
from gcnlimit.network import GCN
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.predict import predict

SETTINGS = {"logistic": CSBM(4.0, 1.5, 3.0, 0.1), "square": CSBM(4.0, 1.0, 2.0, 0.1)}
DEPTHS, REG = (1, 2, 3), (0.1, 1.0, 10.0, np.inf)
STRENGTHS, DOTS = np.linspace(0.0, 4.0, 65), (0.0, 1.0, 2.0, 3.0)


def data() -> xarray.Dataset:
    """The accuracies among the numbers of the networks, and the map of the inset."""
    return strengths().drop_vars("train_loss")


def strengths() -> xarray.Dataset:
    """Accuracy and training error over the strength, for each loss, depth and regularization; the map of the inset."""
    found = [[_predicted(loss, K) for K in DEPTHS] for loss in SETTINGS]
    pair = np.linspace(0.0, 4.0, 33)
    both = Residual(np.stack(np.meshgrid(pair, pair, indexing="ij"), axis=-1))
    dims = ("loss", "K", "reg", "c")
    return xarray.Dataset(
        {
            "test_accuracy": (dims, np.array([[p.test_accuracy for p in row] for row in found])),
            "train_loss": (dims, np.array([[p.train_loss for p in row] for row in found])),
            "pair_accuracy": (
                ("loss", "c1", "c2"),
                np.array([predict(csbm, GCN(both, symmetrize=False)).test_accuracy for csbm in SETTINGS.values()]),
            ),
            "bayes_optimal": ("loss", [bayes_optimal(csbm).test_accuracy for csbm in SETTINGS.values()]),
        },
        {"loss": list(SETTINGS), "K": list(DEPTHS), "reg": list(REG), "c": STRENGTHS, "c1": pair, "c2": pair},
        {"alpha": 4.0, "rho": 0.1, "symmetrize": 0},
    )


def _predicted(loss: str, depth: int) -> Any:
    network = GCN(Residual.constant(STRENGTHS, depth), loss=loss, reg=np.array(REG)[:, None], symmetrize=False)
    return predict(SETTINGS[loss], network)


def dots(dataset: xarray.Dataset, simulation: Simulation) -> xarray.Dataset:
    """Simulated accuracies or training errors, whichever the numbers are, and the theory at the same strengths."""
    names = [name for name in ("test_accuracy", "train_loss") if name in dataset]
    measured = [
        strength_dots(simulation, csbm, loss, DEPTHS, {"c": DOTS, "reg": REG}, *names)
        for loss, csbm in SETTINGS.items()
    ]
    theory = dataset[names].sel(c=list(DOTS)).rename({name: f"{name}_predicted" for name in names})
    found = xarray.concat(measured, "loss").sel(reg=dataset.reg)
    return found.merge(theory, join="override", compat="override").rename(c="dot")


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """Accuracies of a loss in each row, of a depth in each column."""
    draw_strengths(dataset, axes, "test_accuracy", TEST_ACCURACY)
    for k, loss in enumerate(dataset.loss.values):
        ceiling = float(dataset.bayes_optimal.sel(loss=loss))
        lowest = float(dataset.test_accuracy.sel(loss=loss).min())
        for panel in axes[3 * k : 3 * k + 3]:
            panel.axhline(ceiling, color=BLACK, linestyle=":", label="Bayes-optimal")
            panel.set_ylim(lowest - 0.6 * (ceiling - lowest), ceiling + 0.02)
        _inset(axes[3 * k + 1], dataset.sel(loss=loss))
    legend_below(axes, columns=5)


def draw_strengths(dataset: xarray.Dataset, axes: Sequence[Axes], name: str, symbol: str) -> None:
    """A quantity over the strength: losses in rows, depths in columns, regularizations in colours."""
    places = [(loss, K) for loss in dataset.loss.values for K in dataset.K.values]
    for panel, (loss, K) in zip(axes, places, strict=True):
        here = dataset.sel(loss=loss, K=K)
        for reg, colour, marker in zip(dataset.reg.values, shades(len(REG)), MARKERS, strict=False):
            panel.plot(here.c, here[name].sel(reg=reg), color=colour)
            panel.plot([], [], color=colour, marker=marker, label=name_reg(reg))
            draw_dots(panel, here.sel(reg=reg), name, color=colour, marker=marker)
        panel.set(xlabel="$c$")
    for panel in axes[::3]:
        panel.set_ylabel(symbol)
    words = {"square": "quadratic"}
    titles = [
        rf"$K={K}$, {words.get(loss, loss)} loss, $\lambda={SETTINGS[loss].lam:g},\ \mu={SETTINGS[loss].mu:g}$"
        for loss, K in places
    ]
    label_panels(axes, titles)


def _inset(panel: Axes, here: xarray.Dataset) -> None:
    """Accuracy over both strengths, and its maximum."""
    inset = panel.inset_axes((0.42, 0.16, 0.25, 0.28))
    inset.contourf(here.c1, here.c2, here.pair_accuracy.T, 12, cmap="viridis")
    best = here.pair_accuracy.argmax(["c1", "c2"])
    inset.plot(here.c1[best["c1"]], here.c2[best["c2"]], "*", color="white", markersize=6)
    inset.set(xticks=[0, 4], yticks=[0, 4])
    inset.set_xlabel("$c_1$", labelpad=-5, fontsize=8)
    inset.set_ylabel("$c_2$", labelpad=-3, fontsize=8)
    inset.tick_params(labelsize=6)


def infinite_is_nearly_best(dataset: xarray.Dataset) -> Statement:
    """No finite regularization gains much over the infinite one, at the best strength of each."""
    best = dataset.test_accuracy.max("c")
    return infinity_is_nearly_best(best.drop_sel(reg=np.inf), best.sel(reg=np.inf))


def deeper_is_better(dataset: xarray.Dataset) -> Statement:
    """Accuracy at the best strength grows with the depth."""
    best = dataset.test_accuracy.sel(reg=np.inf).max("c")
    return growth_with_depth(best, "K = 1, 2, 3 come closer and closer to optimality")


def equal_strengths_are_best(dataset: xarray.Dataset) -> Statement:
    """The maximum over both strengths lies on the diagonal."""
    diagonal = dataset.pair_accuracy.values.diagonal(axis1=1, axis2=2).max(axis=1)
    loss = float((dataset.pair_accuracy.max(["c1", "c2"]) - diagonal).max())
    return Statement("at K = 2 equal strengths are the best", loss < 1e-6, f"lost on the diagonal {loss:.1e}")


def best_strength_grows(dataset: xarray.Dataset) -> Statement:
    """The best strength is of order one and grows with the depth."""
    best = dataset.c.values[dataset.test_accuracy.sel(reg=np.inf).argmax("c")]
    grows = bool((np.diff(best, axis=1) > 0).all())
    return Statement("the best strength c* grows with K", grows, f"c* = {best.round(2).tolist()}")


def loss_matters_little(dataset: xarray.Dataset) -> Statement:
    """Accuracy at large regularization does not depend on the loss: logistic at r = 10 against the limit."""
    here = dataset.test_accuracy.sel(loss="logistic")
    distance = float(abs(here.sel(reg=10.0).max("c") - here.sel(reg=np.inf).max("c")).max())
    text = "the loss has little effect at large r (logistic at r = 10 against the common limit)"
    return Statement(text, distance < LITTLE, f"difference {distance:.1e}")


def error_data() -> xarray.Dataset:
    """The training errors among the numbers of the accuracies, at finite regularization."""
    everything = strengths()
    return everything[["train_loss"]].sel(reg=np.isfinite(everything.reg))


def draw_errors(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """Errors of a loss in each row, of a depth in each column."""
    draw_strengths(dataset, axes, "train_loss", r"$E_\mathrm{train}$")
    for panel in axes:
        panel.set_ylim(0, None)
    legend_below(axes, columns=3)


def strength_diverges(dataset: xarray.Dataset) -> Statement:
    """The training error is lowest at the largest strength."""
    at = dataset.c.values[dataset.train_loss.argmin("c")]
    text = "trained on E_train, the strength c would diverge"
    number = f"lowest at the largest c in {int((at == at.max()).sum())} of {at.size} curves"
    return Statement(text, bool((at == dataset.c.values[-1]).all()), number)


FIGURE = PaperFigure(
    "residual-strength",
    "Accuracy against the residual strength c for K = 1, 2, 3 at several r, logistic and quadratic loss",
    data,
    draw,
    panels=(2, 3),
    size=(9.6, 5.6),
    dots=dots,
    curves=6,
    statements=(
        infinite_is_nearly_best,
        deeper_is_better,
        equal_strengths_are_best,
        best_strength_grows,
        loss_matters_little,
    ),
)
TRAIN_ERROR = PaperFigure(
    "train-error",
    "Training error against the residual strength c for K = 1, 2, 3 at several r",
    error_data,
    draw_errors,
    panels=(2, 3),
    size=(9.6, 5.6),
    dots=dots,
    curves=FIGURE.curves,
    statements=(strength_diverges,),
)
