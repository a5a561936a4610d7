"""Spectra of public graphs beside the semicircle, for the page on real graphs: ``python docs/scripts/real_graphs.py``."""

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import gcnlimit as gl

ROOT = Path(__file__).parent.parent.parent


def main() -> None:
    """Draw three panels: a sampled graph, cora, texas."""
    i = gl.sample(
        gl.CSBM(alpha=2, lam=1.6, mu=2.0, rho=0.5, directed=False), nodes=2708, degree=30, seed=0
    )
    found = {
        "sampled from the model": gl.describe(
            i.features, np.where(i.train_mask, i.labels > 0, -1), i.adjacency
        )
    }
    for name in ("cora", "texas"):
        data = gl.real.read(ROOT / "examples" / "data" / f"{name}.npz")
        found[name] = gl.describe(data.X, data.y, data.graph)
    figure = Figure(figsize=(9, 3.0), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (name, description) in zip(figure.subplots(1, 3), found.items(), strict=True):
        title = f"{name}: $\\lambda$ = {description.estimate.lam:.2f}"
        description.plot(axes).set_title(title, fontsize=9)
        axes.get_legend().remove()  # one for all, where it hides nothing
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=9, ncols=3, loc="outside lower center", frameon=False)
    figure.savefig(ROOT / "docs" / "images" / "real-spectra.png", dpi=110)


if __name__ == "__main__":
    main()
