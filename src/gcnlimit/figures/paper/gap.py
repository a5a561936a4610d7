"""Maps of the gap to Bayes-optimality."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import xarray
from matplotlib.axes import Axes

from gcnlimit.choose.compare import gap_map
from gcnlimit.csbm import CSBM
from gcnlimit.figures.base import FEW_PERCENT, PaperFigure, Statement
from gcnlimit.figures.paper.depth import LONGEST
from gcnlimit.figures.style import label_panels
from gcnlimit.filters import Diffusion
from gcnlimit.network import GCN

SETTINGS = ((1.0, 0.1), (2.0, 0.3))


def data() -> xarray.Dataset:
    r"""Maps of the gap to Bayes-optimality, over the signals of graph and features.

    Bayes-optimal accuracy minus that of the continuous network on the symmetrized graph at its best time and infinite
    regularization. The line is :math:`\mathrm{snr} = 2\lambda^2 + \mu^2/\alpha = 1`: above it the classes can be distinguished
    without any label.

    Chosen here, where the paper leaves it open: :math:`\lambda` up to 2, :math:`\mu` up to 3, one colour scale for both panels.
    """
    lam, mu = np.linspace(0.0, 2.0, 27), np.linspace(0.0, 3.0, 27)
    alpha, rho = np.array(SETTINGS).T
    csbm = CSBM(alpha=alpha[:, None, None], lam=lam, mu=mu[:, None], rho=rho[:, None, None])
    found = gap_map(csbm, GCN(Diffusion(1.0), symmetrize=True), {"t": (0.0, LONGEST)})
    dims = ("setting", "mu", "lam")
    return xarray.Dataset(
        {
            "gap": (dims, found.gap),
            "best_t": (dims, np.asarray(found.tuned.parameters["t"])),
            "snr": (dims, np.asarray(csbm.snr)),
        },
        {"lam": lam, "mu": mu, "alpha": ("setting", alpha), "rho": ("setting", rho)},
        {"reg": "inf", "symmetrize": 1},
    )


def draw(dataset: xarray.Dataset, axes: Sequence[Axes]) -> None:
    """Maps with a common scale."""
    levels = 0.01 * np.arange(np.ceil(100.0 * float(dataset.gap.max())) + 1)
    for panel, setting in zip(axes, dataset.setting.values, strict=True):
        here = dataset.isel(setting=setting)
        colours = panel.contourf(here.lam, here.mu, here.gap, levels, cmap="viridis")
        colours.set_edgecolor("face")  # no white seams between the levels in PDF viewers
        line = panel.contour(here.lam, here.mu, here.snr, [1.0], colors="white", linewidths=1.2, linestyles="--")
        panel.clabel(line, fmt={1.0: "snr = 1"}, fontsize=8)
        panel.set(xlabel=r"$\lambda$")
    axes[0].set_ylabel(r"$\mu$")
    axes[0].figure.colorbar(
        colours, ax=list(axes), ticks=levels[::2], label=r"$\mathrm{Acc}_\mathrm{BO}-\mathrm{Acc}_\mathrm{test}$"
    )
    label_panels(axes, [rf"$\alpha={alpha:g},\ \rho={rho:g}$" for alpha, rho in SETTINGS])


def statements(dataset: xarray.Dataset) -> Iterator[Statement]:
    """The gap is nowhere negative, small where labels are needed or many, and large where few labels meet strong features."""
    least = float(dataset.gap.min())
    yield Statement("no network exceeds the Bayes-optimal accuracy", least > -1e-12, f"smallest gap {least:+.1e}")
    weak, many = float(dataset.gap.where(dataset.snr < 1.0).max()), float(dataset.gap.isel(setting=1).max())
    text = "below snr = 1 the network is a few percent (5 %) from optimality"
    yield Statement(text, weak < FEW_PERCENT, f"largest gap {weak:.4f}")
    text = "at alpha = 2, rho = 0.3 the gap is a few percent (5 %) for all lam and mu"
    yield Statement(text, many < FEW_PERCENT, f"largest gap {many:.4f}")
    left = dataset.gap.isel(setting=0)
    where = left.where(left == left.max(), drop=True)
    lam, mu = float(where.lam[0]), float(where.mu[0])
    number = f"largest gap {float(left.max()):.4f} at lam = {lam:.2f}, mu = {mu:.2f}"
    text = "at alpha = 1, rho = 0.1 the network is far from optimality at small lam and large mu"
    yield Statement(text, lam < 0.75 and mu > 1.5, number)


FIGURE = PaperFigure(
    "gap",
    "Maps of the gap to Bayes-optimality of the continuous network on the symmetrized graph",
    data,
    draw,
    panels=(1, 2),
    size=(7.2, 3.2),
    statements=statements,
)
