r"""One trained network on graphs of other homophily: the same filter, no graph, the best filter, and the ceilings.

A diffusion is trained at infinite regularization on one graph, and used on independent graphs of signal :math:`\lambda'` with the
same features. Through the filter of the training it fails on graphs of opposite homophily. The weights are as good there as at
home: the best of all filters, a PageRank (Eq. 10.6), is even in :math:`\lambda'`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit.csbm import CSBM
from gcnlimit.figures.base import PaperFigure, Simulation, Statement
from gcnlimit.figures.style import BLACK, COLOURS, draw_curve, finish
from gcnlimit.filters import Diffusion, Filter, Polynomial
from gcnlimit.network import GCN
from gcnlimit.simulation.simulate import simulate
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.scatter import expected_error
from gcnlimit.theory.transfer import best_test_filter, transfer

HERE = CSBM(alpha=4.0, lam=1.2, mu=2.0, rho=0.1, directed=False)
NETWORK = GCN(Diffusion(1.0))
DOTS = (-1.2, -0.6, 0.0, 0.6, 1.2)
DEGREE = 100.0  # at a small one accuracies above the transition are a little lower
NAMES = ("same filter", "no graph", "best filter")


def filters(there: CSBM) -> tuple[Filter, ...]:
    """Filters through which the nodes of other graphs are read, in the order of the names."""
    return NETWORK.filter, Polynomial([1.0]), best_test_filter(HERE, NETWORK, there)


def data() -> xarray.Dataset:
    """Accuracies on graphs of other signals, and the ceilings there."""
    there = HERE.replaced(lam=np.linspace(-1.8, 1.8, 73), rho=0.0)
    read = [
        transfer(HERE, NETWORK.replaced(test_filter=filter), there).test_accuracy
        for filter in filters(there)
    ]
    ceiling = bayes_optimal(HERE, to=there, gcn=NETWORK)
    return xarray.Dataset(
        {
            "accuracy": (("filter", "lam"), np.array(read)),
            "same_weights": ("lam", ceiling.frozen.test_accuracy),
            "bayes_optimal": ("lam", ceiling.test_accuracy),
        },
        {"filter": list(NAMES), "lam": np.asarray(there.lam)},
        {"alpha": HERE.alpha, "mu": HERE.mu, "rho": HERE.rho, "lam_trained": HERE.lam, "t": 1.0},
    )


def dots(dataset: xarray.Dataset, simulation: Simulation) -> xarray.Dataset:
    """Simulated accuracies on graphs of some signals, and the theory there."""
    there = HERE.replaced(lam=DOTS, rho=0.0)
    nodes, trials = simulation.nodes, simulation.trials
    size = nodes, min(DEGREE, nodes / 4), trials
    rows = []
    for seed, filter in enumerate(filters(there)):
        gcn = NETWORK.replaced(test_filter=filter)
        measured = simulate(
            HERE, gcn, *size, seed, to=there, device=simulation.device, progress=False
        )
        exact = transfer(HERE, gcn, there).test_accuracy
        rows.append(
            (
                measured.test_accuracy,
                measured.standard_error.test_accuracy,
                exact,
                _expected(seed, nodes, trials),
            )
        )
        simulation.advance()
    columns = np.moveaxis(np.array(rows), 1, 0)
    endings = ("simulated", "standard_error", "predicted", "expected_error")
    named = {
        f"accuracy_{end}": (("filter", "dot"), values)
        for end, values in zip(endings, columns, strict=True)
    }
    return xarray.Dataset(
        named, {"filter": list(NAMES), "dot": list(DOTS)}, {"nodes": nodes, "trials": trials}
    )


def _expected(place: int, nodes: int, trials: int) -> list[float]:
    """Standard errors of the dots of a filter by theory."""
    graphs = [HERE.replaced(lam=lam, rho=0.0) for lam in DOTS]
    networks = [NETWORK.replaced(test_filter=filters(there)[place]) for there in graphs]
    return [
        expected_error(HERE, gcn, nodes, trials, to=to)
        for gcn, to in zip(networks, graphs, strict=True)
    ]


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """Curves against the signal of the new graph."""
    (panel,) = axes
    for name, colour in zip(NAMES, COLOURS, strict=False):
        draw_curve(panel, dataset.sel(filter=name), "accuracy", name, color=colour)
    draw_curve(
        panel, dataset, "same_weights", "best inference, same weights", line=":", color=BLACK
    )
    draw_curve(
        panel, dataset, "bayes_optimal", "Bayes-optimal, both graphs", line="--", color=BLACK
    )
    panel.axvline(float(HERE.lam), color="grey", lw=0.6)
    panel.set(xlabel=r"signal $\lambda'$ of the new graph", xlim=(-1.8, 1.8), ylim=(0.5, 1.0))
    finish(axes, [r"trained at $\lambda=1.2$: $\alpha=4,\ \mu=2,\ \rho=0.1,\ t=1$"], columns=2)


def statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """The best filter is as good on the graph of opposite homophily, and never worse than the others."""
    best = dataset.accuracy.sel(filter="best filter")
    difference = float(abs(best - best[::-1].values).max())
    text = "with the best filter the sign of the homophily does not matter"
    yield Statement(text, difference < 1e-9, f"largest difference {difference:.1e}")
    least = float((best - dataset.accuracy).min())
    yield Statement(
        "the best filter is never worse than no graph or the same filter",
        least >= 0.0,
        f"least {least:.1e}",
    )


FIGURE = PaperFigure(
    "transfer",
    "Accuracy of one trained network on graphs of other homophily: same filter, no graph, best filter, ceilings",
    data,
    draw,
    size=(5.4, 4.2),
    dots=dots,
    curves=len(NAMES),
    statements=statements,
)
