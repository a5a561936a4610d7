"""Networks of one, two and three layers against their residual strength: accuracy, training error, and symmetric graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit.csbm import CSBM
from gcnlimit.figures.base import LITTLE, PaperFigure, Simulation, Statement, growth_with_depth, infinity_is_nearly_best
from gcnlimit.figures.style import (
    BLACK,
    COLOURS,
    MARKERS,
    TEST_ACCURACY,
    draw_dots,
    label_panels,
    legend_below,
    name_value,
    shades,
)
from gcnlimit.filters import Residual
from gcnlimit.network import GCN
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.predict import predict

SETTINGS = {"logistic": CSBM(4.0, 1.5, 3.0, 0.1), "square": CSBM(4.0, 1.0, 2.0, 0.1)}
GRAPHS = {"asymmetric": SETTINGS["logistic"], "symmetric": CSBM(4.0, 1.5, 3.0, 0.1, directed=False)}
DEPTHS, REG, TWO_REG = (1, 2, 3), (0.1, 1.0, 10.0, np.inf), (1.0, np.inf)
STRENGTHS, DOTS = np.linspace(0.0, 4.0, 65), (0.0, 1.0, 2.0, 3.0)


def data() -> xarray.Dataset:
    r"""Accuracy against the residual strength, for one, two and three layers at several regularizations.

    The same strength :math:`c` in all layers, on the graph as it is; logistic loss above, quadratic loss below. The inset varies
    the strengths of two layers independently, at infinite regularization: the best pair lies on the diagonal.

    Chosen here, where the paper leaves it open: :math:`r` = 0.1, 1, 10 and infinity; :math:`c` from 0 to 4.
    """
    return strengths().drop_vars("train_loss")


def error_data() -> xarray.Dataset:
    r"""Training errors of the networks of ``residual-strength``, on the same simulated graphs.

    If :math:`c` were trained on :math:`E_{train}` it would diverge, and the graph would be discarded: it has to be chosen by the
    accuracy. At infinite regularization the output vanishes and the error is :math:`\ell(0)`, which is not drawn.
    """
    everything = strengths()
    return everything[["train_loss"]].sel(reg=np.isfinite(everything.reg))


def symmetry_data() -> xarray.Dataset:
    r"""Accuracy on an asymmetric graph and on a symmetric graph of the same signal.

    The network does not exploit the asymmetry: at equal :math:`\lambda` the accuracies are close. (Symmetrizing instead of
    tying the two directions raises the signal by :math:`\sqrt 2`, and the accuracy with it.)

    Chosen here, where the paper leaves it open: quadratic loss, :math:`r` = 1 and infinity, depths 1, 2, 3, over the residual
    strength :math:`c`.
    """
    found = [[_predicted(csbm, "square", K, TWO_REG).test_accuracy for K in DEPTHS] for csbm in GRAPHS.values()]
    return xarray.Dataset(
        {"test_accuracy": (("graph", "K", "reg", "c"), np.array(found))},
        {"graph": list(GRAPHS), "K": list(DEPTHS), "reg": list(TWO_REG), "c": STRENGTHS},
        {"alpha": 4.0, "lam": 1.5, "mu": 3.0, "rho": 0.1, "loss": "square"},
    )


def strengths() -> xarray.Dataset:
    """Accuracy and training error over the strength, for each loss, depth and regularization; the map of the inset."""
    found = [[_predicted(csbm, loss, K, REG) for K in DEPTHS] for loss, csbm in SETTINGS.items()]
    pair = np.linspace(0.0, 4.0, 33)
    both = GCN(Residual(np.stack(np.meshgrid(pair, pair, indexing="ij"), axis=-1)), symmetrize=False)
    dims = ("loss", "K", "reg", "c")
    of_pairs = [predict(csbm, both).test_accuracy for csbm in SETTINGS.values()]
    return xarray.Dataset(
        {
            "test_accuracy": (dims, np.array([[p.test_accuracy for p in row] for row in found])),
            "train_loss": (dims, np.array([[p.train_loss for p in row] for row in found])),
            "pair_accuracy": (("loss", "c1", "c2"), np.array(of_pairs)),
            "bayes_optimal": ("loss", [bayes_optimal(csbm).test_accuracy for csbm in SETTINGS.values()]),
        },
        {"loss": list(SETTINGS), "K": list(DEPTHS), "reg": list(REG), "c": STRENGTHS, "c1": pair, "c2": pair},
        {"alpha": 4.0, "rho": 0.1, "symmetrize": 0},
    )


def _predicted(csbm: CSBM, loss: str, depth: int, reg: Sequence[float]) -> Any:
    network = GCN(Residual.constant(STRENGTHS, depth), loss=loss, reg=np.array(reg)[:, None], symmetrize=False)
    return predict(csbm, network)


def dots(dataset: xarray.Dataset, simulation: Simulation) -> xarray.Dataset:
    """Simulated accuracies or training errors, whichever the numbers are."""
    names = [name for name in ("test_accuracy", "train_loss") if name in dataset]
    measured = [_measured(simulation, csbm, loss, REG, *names) for loss, csbm in SETTINGS.items()]
    return xarray.concat(measured, "loss").assign_coords(loss=list(SETTINGS)).sel(reg=dataset.reg)


def symmetry_dots(dataset: xarray.Dataset, simulation: Simulation) -> xarray.Dataset:
    """Simulated accuracies."""
    measured = [_measured(simulation, csbm, "square", TWO_REG, "test_accuracy") for csbm in GRAPHS.values()]
    return xarray.concat(measured, "graph").assign_coords(graph=list(GRAPHS))


def _measured(simulation: Simulation, csbm: CSBM, loss: str, reg: Sequence[float], *names: str) -> xarray.Dataset:
    """Simulated values over depth, strength and regularization."""
    networks = [GCN(Residual.constant(1.0, K), loss=loss, symmetrize=False) for K in DEPTHS]
    axes = {"c": DOTS, "reg": reg}
    measured = [simulation.measure(csbm, network, axes, *names) for network in networks]
    return xarray.concat(measured, "K").assign_coords(K=list(DEPTHS)).rename(c="dot")


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


def draw_errors(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """Errors of a loss in each row, of a depth in each column."""
    draw_strengths(dataset, axes, "train_loss", r"$E_\mathrm{train}$")
    for panel in axes:
        panel.set_ylim(0, None)
    legend_below(axes, columns=3)


def draw_strengths(dataset: xarray.Dataset, axes: Sequence[Axes], name: str, symbol: str) -> None:
    """A quantity over the strength: losses in rows, depths in columns, regularizations in colours."""
    places = [(loss, K) for loss in dataset.loss.values for K in dataset.K.values]
    for panel, (loss, K) in zip(axes, places, strict=True):
        here = dataset.sel(loss=loss, K=K)
        for reg, colour, marker in zip(dataset.reg.values, shades(len(REG)), MARKERS, strict=False):
            panel.plot(here.c, here[name].sel(reg=reg), color=colour)
            panel.plot([], [], color=colour, marker=marker, label=name_value("r", reg))
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


def draw_symmetry(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """A panel for each depth; colour shows the graph, line style the regularization."""
    for panel, K in zip(axes, dataset.K.values, strict=True):
        for graph, colour, marker in zip(dataset.graph.values, COLOURS, ("o", "s"), strict=False):
            for reg, style, face in ((np.inf, "-", colour), (1.0, "--", "white")):
                here = dataset.sel(K=K, graph=graph, reg=reg)
                panel.plot(here.c, here.test_accuracy, style, color=colour)
                label = f"{graph}, {name_value('r', reg)}"
                panel.plot([], [], style, color=colour, marker=marker, markerfacecolor=face, label=label)
                draw_dots(panel, here, "test_accuracy", color=colour, marker=marker, markerfacecolor=face)
        panel.set(xlabel="$c$")
    axes[0].set_ylabel(TEST_ACCURACY)
    label_panels(axes, [rf"$K={K},\ \alpha=4,\ \lambda=1.5,\ \mu=3,\ \rho=0.1$" for K in dataset.K.values])
    legend_below(axes, columns=4)


def statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """At the best strength: regularization, depth, equal strengths, and the loss."""
    best = dataset.test_accuracy.max("c")
    infinite = dataset.test_accuracy.sel(reg=np.inf)
    yield infinity_is_nearly_best(best.drop_sel(reg=np.inf), best.sel(reg=np.inf))
    yield growth_with_depth(infinite.max("c"), "K = 1, 2, 3 come closer and closer to optimality")
    diagonal = dataset.pair_accuracy.values.diagonal(axis1=1, axis2=2).max(axis=1)
    lost = float((dataset.pair_accuracy.max(["c1", "c2"]) - diagonal).max())
    yield Statement("at K = 2 equal strengths are the best", lost < 1e-6, f"lost on the diagonal {lost:.1e}")
    at = dataset.c.values[infinite.argmax("c")]
    grows = bool((np.diff(at, axis=1) > 0).all())
    yield Statement("the best strength c* grows with K", grows, f"c* = {at.round(2).tolist()}")
    logistic = best.sel(loss="logistic")
    distance = float(abs(logistic.sel(reg=10.0) - logistic.sel(reg=np.inf)).max())
    text = "the loss has little effect at large r (logistic at r = 10 against the common limit)"
    yield Statement(text, distance < LITTLE, f"difference {distance:.1e}")


def error_statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """The training error is lowest at the largest strength."""
    at = dataset.c.values[dataset.train_loss.argmin("c")]
    number = f"lowest at the largest c in {int((at == at.max()).sum())} of {at.size} curves"
    diverges = bool((at == dataset.c.values[-1]).all())
    yield Statement("trained on E_train, the strength c would diverge", diverges, number)


def symmetry_statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """Both graphs at the best strength of each."""
    best = dataset.test_accuracy.max("c")
    distance = float(abs(best.sel(graph="symmetric") - best.sel(graph="asymmetric")).max())
    text = "at equal lam the accuracy depends little on the symmetry of the graph"
    yield Statement(text, distance < LITTLE, f"largest difference at the best c {distance:.4f}")


ACCURACY = PaperFigure(
    "residual-strength",
    "Accuracy against the residual strength c for K = 1, 2, 3 at several r, logistic and quadratic loss",
    data,
    draw,
    panels=(2, 3),
    size=(9.6, 5.6),
    dots=dots,
    curves=6,
    statements=statements,
)
TRAIN_ERROR = replace(
    ACCURACY,
    name="train-error",
    title="Training error against the residual strength c for K = 1, 2, 3 at several r",
    data=error_data,
    draw=draw_errors,
    statements=error_statements,
)
SYMMETRY = PaperFigure(
    "symmetry",
    "Accuracy on an asymmetric graph and on a symmetric one of the same signal",
    symmetry_data,
    draw_symmetry,
    panels=(1, 3),
    size=(9.6, 3.4),
    dots=symmetry_dots,
    curves=6,
    statements=symmetry_statements,
)
