"""The numbers of the section on regularization of docs/finding-best-filter.md: where infinite regularization is not the best.

Run ``python docs/scripts/finite_reg.py`` (about a minute on one core).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

import gcnlimit as gl

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
                rows.append([graph, depth, loss, f"{reg:.4g}", f"{accuracy:.6f}", f"{infinite:.6f}"])
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
    lam: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0), mu: tuple[float, ...] = (0.5, 1, 2, 4, 8)
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
            [f"{100 * g:.3f} % ({r:.3g})" if np.isfinite(r) else "inf" for g, r in zip(*row, strict=True)]
            for row in zip(gain, reg, strict=True)
        ]
        table(["lam", *(f"mu = {m:g}" for m in mu)], [[v, *row] for v, row in zip(lam, cells, strict=True)])


if __name__ == "__main__":
    fixed_filter()
    joint()
    where()
