r"""The hard phase of a graph without features: where classes can be recovered in principle, and no efficient algorithm is known.

Left: accuracy of ten classes without labels, Bayes-optimal and reached by message passing. Middle: the signals between which
recovery is hard, against the number of classes; from the spinodal on a state that recovers the classes exists. Right: labels end
the phase; between the lines two states are stable, and they meet at :math:`\rho_c`. All curves follow from the function
:math:`T(m)` of Eq. 8.9: every fixed point has :math:`\lambda_s^2 = m/[\rho + (1-\rho) T(m)]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit._values import Array
from gcnlimit.classes import Classes
from gcnlimit.csbm import CSBM
from gcnlimit.figures.base import PaperFigure, Statement
from gcnlimit.figures.style import BLACK, COLOURS, draw_curve, finish, named
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.ceiling.posterior import posterior
from gcnlimit.theory.limits import hard_phase

SHOWN = 10
CLOSING = (7, 10, 20)
_HALVINGS = 28  # of an interval below 1/2, to 1e-9


def data() -> xarray.Dataset:
    """Accuracies at ten classes, the lines of the phase diagram, and how labels close it."""
    lam = np.linspace(0.8, 1.1, 301)
    classes = np.arange(4, 21)
    ceiling = bayes_optimal(_graph(lam, 0.0, SHOWN))
    phases = [hard_phase(int(C)) for C in classes]
    lines = [_closing(C) for C in CLOSING]
    return xarray.Dataset(
        {
            "bayes_optimal": ("lam", ceiling.test_accuracy),
            "algorithmic": ("lam", ceiling.algorithmic.test_accuracy),
            "lam_spinodal": ("classes", [phase.lam_spinodal for phase in phases]),
            "lam_transition": ("classes", [phase.lam_transition for phase in phases]),
            "rho_c": ("C", [hard_phase(C).rho_c for C in CLOSING]),
            "spinodal_lam": (("C", "m"), np.array([line[0] for line in lines])),
            "spinodal_rho": (("C", "m"), np.array([line[1] for line in lines])),
            "transition_lam": (("C", "step"), np.array([line[2] for line in lines])),
            "transition_rho": (("C", "step"), np.array([line[3] for line in lines])),
        },
        {"lam": lam, "classes": classes, "C": list(CLOSING)},
    )


def _graph(lam: Array, rho: Array | float, classes: int) -> CSBM:
    """Symmetric graph without features."""
    return CSBM(alpha=1.0, lam=lam, mu=0.0, rho=rho, directed=False, classes=classes)


def _closing(classes: int) -> tuple[Array, Array, Array, Array]:
    r"""Both spinodals as one curve through the point where they meet, then the transition between them: signals and labels.

    At a spinodal :math:`\frac{d\lambda_s^2}{dm} = 0`, that is :math:`\frac\rho{1-\rho} = m\,T' - T`.
    """
    tables = posterior(Classes.of(classes))
    m = np.geomspace(1e-3, 30.0, 4001) / tables.rate
    T = tables.at(m)
    excess = np.maximum(m * T.slope - T.overlap, 0.0)
    rho = excess / (1.0 + excess)
    lam = np.sqrt(m / (rho + (1.0 - rho) * T.overlap))
    top = int(np.argmax(rho))
    early = m <= m[top]
    known = (rho > 0.0) & (lam <= 1.0) & (early | (rho > 1e-6 * rho[top]))
    labels = rho[top] * (1.0 - np.linspace(1.0, 0.02, 40) ** 2)
    # the transition lies between the spinodals: halve the interval by asking which state is Bayes-optimal
    upper = np.interp(labels, rho[known & early], lam[known & early])
    late = np.flatnonzero(known & (m >= m[top]))[::-1]
    lower = np.interp(labels, rho[late], lam[late])
    for _ in range(_HALVINGS):
        middle = 0.5 * (lower + upper)
        hard = np.asarray(bayes_optimal(_graph(middle, labels, classes)).hard)
        lower, upper = np.where(hard, lower, middle), np.where(hard, middle, upper)
    return np.where(known, lam, np.nan), np.where(known, rho, np.nan), upper, labels


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """Three panels, the hard phase shaded in each."""
    left, middle, right = axes
    shade = {"color": COLOURS[4], "alpha": 0.25, "linewidth": 0}
    ten = dataset.sel(classes=SHOWN)
    left.axvspan(float(ten.lam_transition), 1.0, **shade, label="hard phase")
    draw_curve(left, dataset, "bayes_optimal", "Bayes-optimal", color=BLACK)
    draw_curve(left, dataset, "algorithmic", "message passing", line="--", color=COLOURS[0])
    left.axvline(float(ten.lam_spinodal), color="grey", linestyle=":", linewidth=1.0)
    left.set(xlabel=r"$\lambda_s$", xlim=(0.8, 1.1), ylim=(0, 1))
    middle.fill_between(dataset.classes, dataset.lam_transition, 1.0, **shade)
    middle.plot(
        dataset.classes,
        np.ones(dataset.classes.size),
        color=COLOURS[0],
        label="threshold of message passing",
    )
    draw_curve(middle, dataset, "lam_transition", "transition", color=BLACK)
    draw_curve(middle, dataset, "lam_spinodal", "spinodals", line=":", color="grey")
    middle.set(
        xlabel="number of classes $C$", ylabel=r"$\lambda_s$", xlim=(4, 20), ylim=(0.68, 1.02)
    )
    for C, colour in zip(CLOSING, COLOURS[1:], strict=False):
        here = dataset.sel(C=C)
        known = here.dropna("m")
        right.fill(known.spinodal_lam, known.spinodal_rho, color=colour, alpha=0.15, linewidth=0)
        right.plot(known.spinodal_lam, known.spinodal_rho, ":", color=colour)
        right.plot(here.transition_lam, here.transition_rho, color=colour, label=named(C=C))
    right.set(
        xlabel=r"$\lambda_s$",
        ylabel=r"fraction of labels $\rho$",
        xlim=(0.68, 1.01),
        ylim=(0, None),
    )
    finish(
        axes, [f"{named(C=SHOWN)}, no labels", "no labels", "two stable states inside"], columns=5
    )


def statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """Without labels message passing starts at snr = 1; the largest fraction of labels on the spinodals is rho_c."""
    below = float(dataset.algorithmic.where(dataset.lam < 1.0 - 1e-9).max())
    beyond = float(
        (dataset.bayes_optimal - dataset.algorithmic).where(dataset.lam > 1.0 + 1e-9).max()
    )
    text = "without labels message passing is at chance up to lam_s = 1, and Bayes-optimal beyond"
    yield Statement(
        text, abs(below - 1 / SHOWN) < 1e-9 and beyond == 0.0, f"largest accuracy below {below:.3f}"
    )
    error = float(abs(dataset.spinodal_rho.max("m") - dataset.rho_c).max())
    yield Statement("the spinodals meet at rho_c", error < 1e-6, f"largest distance {error:.0e}")


FIGURE = PaperFigure(
    "hard-phase",
    "The hard phase: recovery possible in principle, out of reach of message passing, and ended by labels",
    data,
    draw,
    panels=(1, 3),
    size=(9.6, 3.9),
    statements=statements,
)
