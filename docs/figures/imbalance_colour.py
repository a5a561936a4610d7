r"""What unequal classes and correlated features cost a network, and what whitening returns.

Left: two classes, one of a fraction :math:`p`; a continuous network with the logistic loss, decided with its own bias, at the
best threshold, and by the average over the classes of the accuracy in each. Right: half of the features have noise of variance
:math:`1 - s`, half :math:`1 + s`, the signal being spread evenly; ridge regression on the features as they are, at infinite and
at the best regularization, and on whitened ones. The ceiling does not depend on whitening. Dots are simulated networks: with
their own bias on the left, on the features as they are and at infinite regularization on the right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit.csbm import CSBM
from gcnlimit.figures.base import PaperFigure, Simulation, Statement
from gcnlimit.figures.style import BLACK, COLOURS, draw_curve, finish
from gcnlimit.filters import Diffusion
from gcnlimit.network import GCN
from gcnlimit.spectrum import Spectrum
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.predict import predict

ALPHA, MU, RHO = 4.0, 2.0, 0.1
REG = np.geomspace(1e-2, 1e3, 41)
LOGISTIC = GCN(Diffusion(1.0), "logistic", reg=1.0)
RIDGE = GCN(Diffusion(1.0))
DOTS = {"own_bias": (0.1, 0.2, 0.35), "coloured": (0.3, 0.6, 0.9)}


def data() -> xarray.Dataset:
    """Accuracies along the fraction of a class and along the spread of the variances."""
    p = np.linspace(0.04, 0.5, 24)
    spread = np.linspace(0.0, 0.96, 25)
    classes = [unequal(fraction) for fraction in p]
    trained = [predict(model, LOGISTIC) for model in classes]
    coloured = [spread_out(s) for s in spread]
    white = [whitened(model) for model in coloured]
    ridge = GCN(Diffusion(1.0), reg=REG)
    return xarray.Dataset(
        {
            "own_bias": ("p", [x.test_accuracy for x in trained]),
            "best_threshold": ("p", [x.best_accuracy for x in trained]),
            "balanced": ("p", [x.balanced_accuracy for x in trained]),
            "ceiling": ("p", [bayes_optimal(d).test_accuracy for d in classes]),
            "coloured": ("spread", [predict(d, RIDGE).test_accuracy for d in coloured]),
            "coloured_ridge": (
                "spread",
                [np.max(predict(d, ridge).test_accuracy) for d in coloured],
            ),
            "whitened": ("spread", [predict(d, RIDGE).test_accuracy for d in white]),
            "whitened_ridge": ("spread", [np.max(predict(d, ridge).test_accuracy) for d in white]),
            "coloured_ceiling": ("spread", [bayes_optimal(d).test_accuracy for d in coloured]),
        },
        {"p": p, "spread": spread},
    )


def unequal(p: float) -> CSBM:
    """Two classes, one of the fraction `p`."""
    return CSBM(ALPHA, 1.0, MU, RHO, classes=[p, 1.0 - p])


def spread_out(s: float) -> CSBM:
    """Features of variances :math:`1 - s` and :math:`1 + s`, half of them each."""
    return CSBM(ALPHA, 0.5, MU, RHO, features=Spectrum([1.0 - s, 1.0 + s]))


def dots(dataset: xarray.Dataset, simulation: Simulation) -> xarray.Dataset:
    """Simulated accuracies at some fractions and at some spreads."""
    left = [_dot(simulation, "own_bias", unequal(p), LOGISTIC) for p in DOTS["own_bias"]]
    right = [_dot(simulation, "coloured", spread_out(s), RIDGE) for s in DOTS["coloured"]]
    places = {"dot_p": list(DOTS["own_bias"]), "dot_spread": list(DOTS["coloured"])}
    return xarray.merge(
        [xarray.concat(left, "dot_p"), xarray.concat(right, "dot_spread")]
    ).assign_coords(places)


def _dot(simulation: Simulation, name: str, data: CSBM, gcn: GCN) -> xarray.Dataset:
    """Accuracy of a network on sampled graphs."""
    found = simulation.measure(data, gcn, {"reg": [float(gcn.reg)]}, "test_accuracy").squeeze(
        "reg", drop=True
    )
    return found.rename({key: str(key).replace("test_accuracy", name) for key in found})


def whitened(data: CSBM) -> CSBM:
    r"""Return the model of the features :math:`X\Sigma^{-1/2}`: noise of unit variance, the signal where the noise was small."""
    law = data.features
    gain = law.signal / law.variance
    mean = law.average(gain)
    signal = Spectrum(np.ones_like(gain), gain / mean, law.weight)
    mu = np.asarray(data.mu) * mean
    return CSBM(
        data.alpha, data.lam, mu, data.rho, data.directed, classes=data.classes, features=signal
    )


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """Imbalance on the left, colour on the right."""
    left, right = axes
    draw_curve(left, dataset, "ceiling", "Bayes-optimal", color=BLACK)
    draw_curve(left, dataset, "best_threshold", "best threshold", color=COLOURS[2])
    draw_curve(left, dataset, "own_bias", "own bias", line="--", color=COLOURS[1])
    draw_curve(left, dataset, "balanced", "balanced accuracy", line="-.", color=COLOURS[3])
    left.plot(dataset.p, 1.0 - dataset.p, ":", color="grey", label="larger class")
    left.set(xlabel="fraction $p$ of the smaller class", xlim=(0.04, 0.5), ylim=(0.5, 1))
    draw_curve(right, dataset, "coloured_ceiling", "Bayes-optimal", color=BLACK)
    for name, words, colour in (
        ("whitened", "whitened", COLOURS[0]),
        ("coloured", "as they are", COLOURS[4]),
    ):
        draw_curve(right, dataset, name, rf"features {words}, $r=\infty$", color=colour)
        draw_curve(
            right, dataset, f"{name}_ridge", f"features {words}, best $r$", line="--", color=colour
        )
    right.set(xlabel="spread $s$ of the variances", xlim=(0, 1), ylim=(0.6, 1))
    titles = [r"$\lambda=1$, logistic loss, $r=1$", r"$\lambda=0.5$, square loss"]
    finish(axes, titles, columns=3, ylabel="accuracy")


def statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """Loss against the ceiling with the own bias and at the best threshold; whitened features against white ones."""
    here = dataset.sel(p=0.2, method="nearest")
    own, best = float(here.ceiling - here.own_bias), float(here.ceiling - here.best_threshold)
    text = "most of what imbalance costs a trained network is its threshold"
    number = f"at p = {float(here.p):.2g} {own:.3f} below the ceiling, {best:.3f} at the best"
    yield Statement(text, own > 2.0 * best, number)
    gain = float(
        (dataset.whitened - dataset.coloured.isel(spread=0)).isel(spread=slice(1, None)).min()
    )
    yield Statement(
        "whitening returns more than colour costs", gain > 0.0, f"least gain {gain:.1e}"
    )


FIGURE = PaperFigure(
    "imbalance-colour",
    "What unequal classes and correlated features cost, and what whitening returns",
    data,
    draw,
    panels=(1, 2),
    size=(8.0, 4.1),
    dots=dots,
    curves=sum(map(len, DOTS.values())),
    statements=statements,
)
