"""The numbers of the section on regularization of docs/findings/best-filter.md: where infinite regularization is not the best.

Run ``python docs/scripts/finite_reg.py`` (about a minute on one core), and ``python docs/scripts/finite_reg.py map`` for the map
over the signals and the share of the gap that the best filter closes (about two minutes).
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import gcnlimit as gl
from gcnlimit.choose.best_filter import filter_ceiling

DATA = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
LOSSES = ("square", "logistic", "hinge")
ANY_REG = (0.01, math.inf)
FAMILIES = {
    "equal c, K = 1": (gl.Residual.constant(1.0, 1), {"c": (-9, 9)}),
    "equal c, K = 2": (gl.Residual.constant(1.0, 2), {"c": (-9, 9)}),
    "diffusion": (gl.Diffusion(1.0), {"t": (-9, 9)}),
    "PageRank": (gl.PageRank(0.0), {"theta": (-1, 1)}),
    "best polynomial, order 2": (gl.Polynomial(np.ones(3)), {"coefficients": (-1, 1)}),
}


def table(header: list[str], rows: list[list[object]]) -> None:
    """Print a table in Markdown."""
    for row in (header, ["---"] * len(header), *rows):
        print("| " + " | ".join(map(str, row)) + " |")
    print()


def fixed_filter() -> None:
    """The best regularization of one and two layers of strength 1, for each loss."""
    rows: list[list[object]] = []
    for graph, symmetrize in (("symmetrized", True), ("directed", False)):
        for depth in (1, 2):
            gcn = gl.GCN(gl.Residual.constant(1.0, depth), symmetrize=symmetrize)
            infinite = gl.predict(DATA, gcn).test_accuracy
            for loss in LOSSES:
                best = gl.tune(DATA, replace(gcn, loss=loss), {"reg": ANY_REG})
                reg, accuracy = best.parameters["reg"], best.prediction.test_accuracy
                rows.append(
                    [graph, depth, loss, f"{reg:.4g}", f"{accuracy:.6f}", f"{infinite:.6f}"]
                )
    table(["graph", "layers", "loss", "best reg", "accuracy there", "accuracy at reg = inf"], rows)


def joint() -> None:
    """Filter, regularization and loss chosen together on the symmetrized graph."""
    rows: list[list[object]] = []
    for name, (filter, free) in FAMILIES.items():
        gcn = gl.GCN(filter, symmetrize=True)
        infinite = gl.tune(DATA, gcn, free).prediction.test_accuracy
        each = [gl.tune(DATA, replace(gcn, loss=loss), free | {"reg": ANY_REG}) for loss in LOSSES]
        accuracies = [f"{best.prediction.test_accuracy:.5f}" for best in each]
        gain = max(best.prediction.test_accuracy for best in each) - infinite
        rows.append([name, f"{infinite:.5f}", *accuracies, f"{gain:+.5f}"])
    table(["filter", "reg = inf", "square", "logistic", "hinge", "gain"], rows)


def where(
    lam: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0),
    mu: tuple[float, ...] = (0.5, 1, 2, 4, 8),
) -> None:
    """Gain of the best finite regularization over infinity, filter tuned in both: diffusion, square loss, symmetrized graph."""
    for rho in (0.02, 0.1, 0.5):
        data = gl.CSBM(alpha=4, lam=np.array(lam)[:, None], mu=np.array(mu, float), rho=rho)
        gcn = gl.GCN(gl.Diffusion(1.0), symmetrize=True)
        infinite = gl.tune(data, gcn, {"t": (-9, 9)}).prediction
        best = gl.tune(data, gcn, {"t": (-9, 9), "reg": ANY_REG})
        gain = np.exp(infinite.log_test_error) - np.exp(best.prediction.log_test_error)
        reg = best.parameters["reg"]
        print(f"rho = {rho}: gain in accuracy (best reg)\n")
        cells = [
            [
                f"{100 * g:.3f} % ({r:.3g})" if np.isfinite(r) else "inf"
                for g, r in zip(*row, strict=True)
            ]
            for row in zip(gain, reg, strict=True)
        ]
        table(
            ["lam", *(f"mu = {m:g}" for m in mu)],
            [[v, *row] for v, row in zip(lam, cells, strict=True)],
        )


def ceiling_map(path: Path, rhos: tuple[float, ...] = (0.02, 0.1, 0.5)) -> None:
    """Gain of the best regularization over infinity, in points of accuracy, the best of all filters at both."""
    lam, mu = np.linspace(0.0, 2.0, 25), np.linspace(0.25, 4.0, 16)
    canvas = Figure(figsize=(9.0, 3.2), layout="constrained")
    panels = canvas.subplots(1, len(rhos), sharey=True)
    levels = [0.0, 0.01, 0.1, 0.3, 1.0, 2.0, 4.0, 8.0]
    rows: list[list[object]] = []
    for panel, rho in zip(panels, rhos, strict=True):
        data = gl.CSBM(alpha=4, lam=lam, mu=mu[:, None], rho=rho)
        best, infinite = filter_ceiling(data), filter_ceiling(data, reg=math.inf)
        gain = 100.0 * (np.exp(infinite.log_test_error) - np.exp(best.log_test_error))
        colours = panel.contourf(lam, mu, gain, levels, cmap="viridis", norm="symlog")
        panel.set(xlabel=r"$\lambda$", title=rf"$\rho = {rho:g}$")
        k, at = np.unravel_index(np.argmax(gain), gain.shape)
        finite = np.mean(np.isfinite(best.reg))
        rows.append(
            [
                rho,
                f"{gain[k, at]:.2f}",
                f"lam = {lam[at]:.2f}, mu = {mu[k]:.2f}",
                f"{np.median(gain):.3f}",
                f"{finite:.0%}",
            ]
        )
    panels[0].set_ylabel(r"$\mu$")
    canvas.colorbar(colours, ax=list(panels), label="points of accuracy gained", ticks=levels)
    canvas.savefig(path, dpi=150)
    table(["rho", "largest gain (points)", "at", "median", "a finite reg is the best in"], rows)


def share_of_the_gap(count: int = 300) -> None:
    """How much of the distance from the paper's network to Bayes the best network of one filter closes, on random data."""
    rng = np.random.default_rng(0)
    low, high = np.array([[0.5, -2.0, 0.2, 0.02], [5.0, 2.0, 4.0, 0.6]])
    data = gl.CSBM(*rng.uniform(low, high, size=(count, 4)).T)
    diffusion = gl.tune(
        data, gl.GCN(gl.Diffusion(1.0)), {"t": (-math.inf, math.inf)}
    ).prediction.test_accuracy
    infinite = filter_ceiling(data, reg=math.inf).test_accuracy
    best, bayes = filter_ceiling(data).test_accuracy, gl.bayes_optimal(data).test_accuracy
    rows: list[list[object]] = []
    for name, accuracy in (
        ("diffusion, reg = inf", diffusion),
        ("all filters, reg = inf", infinite),
        ("all filters, any reg", best),
    ):
        left, closed = 100.0 * (bayes - accuracy), (accuracy - diffusion) / (bayes - diffusion)
        quartiles = [f"{q:.0%}" for q in np.quantile(closed, (0.25, 0.5, 0.75, 1.0))]
        rows.append([name, f"{np.median(left):.2f}", f"{np.max(left):.2f}", *quartiles])
    table(
        [
            "network",
            "median gap (points)",
            "largest gap",
            "share closed: quartile",
            "median",
            "quartile",
            "largest",
        ],
        rows,
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["map"]:
        ceiling_map(Path(__file__).parent.parent / "images" / "finite-reg-map.png")
        share_of_the_gap()
    else:
        fixed_filter()
        joint()
        where()
