"""Every number and the figure of docs/findings/best-filter.md.

Run ``python docs/scripts/best_filter.py`` for the theory (about two minutes on one core) and
``python docs/scripts/best_filter.py simulate`` for its confirmation on sampled graphs (half a minute).
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import gcnlimit as gl
from gcnlimit.choose.best_filter import filter_ceiling

SETTINGS = [(4.0, 1.0, 0.1), (4.0, 2.0, 0.1), (1.0, 2.0, 0.1), (2.0, 1.0, 0.3)]  # alpha, mu, rho
METHODS = (
    "residual, equal c, depth 8",
    "residual, free c, depth 8",
    "diffusion",
    "PageRank",
    "best polynomial, order 12",
    "any one filter, reg = inf",
    "Bayes-optimal",
)
SIGNALS = (0.5, 1.0, 1.5)
ANYWHERE = (-math.inf, math.inf)


def table(header: list[str], rows: list[list[object]]) -> None:
    """Print a table in Markdown."""
    print("| " + " | ".join(header) + " |")
    print("|" + " --- |" * len(header))
    for row in rows:
        print(
            "| "
            + " | ".join(f"{cell:.5f}" if isinstance(cell, float) else str(cell) for cell in row)
            + " |"
        )
    print()


def accuracy(data: gl.CSBM, filter: gl.Filter, free: dict, symmetrize: bool = True) -> np.ndarray:
    """Log error of the tuned network: lower is better, and it keeps its digits."""
    return np.asarray(
        gl.tune(data, gl.GCN(filter, symmetrize=symmetrize), free).prediction.log_test_error
    )


def random_data(count: int) -> gl.CSBM:
    """Data drawn at random, homophilic and heterophilic."""
    rng = np.random.default_rng(0)
    low, high = np.array([[0.5, -2.0, 0.2, 0.02], [5.0, 2.0, 4.0, 0.6]])
    return gl.CSBM(*rng.uniform(low, high, size=(count, 4)).T)


def settings() -> None:
    """What beats the continuous network, setting by setting."""
    rows, left = [], 0.0
    for alpha, mu, rho in SETTINGS:
        for lam in SIGNALS:
            data = gl.CSBM(alpha, lam, mu, rho)
            comparison = gl.compare(data, depth=8, reg=math.inf)
            equal, free, diffusion, pagerank, twelve, linear, bayes = (
                float(comparison[method].test_accuracy) for method in METHODS
            )
            four = float(gl.best_filter(data, 4, reg=math.inf).prediction.test_accuracy)
            any_reg = float(filter_ceiling(data).test_accuracy)
            left = max(left, linear - twelve)
            share = [
                f"{(best - diffusion) / (bayes - diffusion):.0%}" for best in (linear, any_reg)
            ]
            rows.append(
                [
                    alpha,
                    lam,
                    mu,
                    rho,
                    *(
                        f"{v:.5f}"
                        for v in (equal, free, diffusion, four, pagerank, linear, any_reg, bayes)
                    ),
                    *share,
                ]
            )
    rows = [[f"{v:g}" if isinstance(v, float) else v for v in row] for row in rows]
    names = [
        "equal c, K = 8",
        "free c, K = 8",
        "diffusion",
        "order 4",
        "PageRank",
        "any one filter, reg = inf",
        "any one filter, any reg",
        "Bayes-optimal",
    ]
    table(
        ["alpha", "lam", "mu", "rho", *names, "share of the gap closed, reg = inf", "any reg"], rows
    )
    print(
        f"The best polynomial of order 12 is within {left:.0e} of any one filter in each of these settings.\n"
    )


def sample(count: int = 300) -> None:
    """How general the answer is: random data, symmetrized and directed."""
    data = random_data(count)
    rows = []
    for symmetrize in (True, False):
        diffusion = accuracy(data, gl.Diffusion(1.0), {"t": ANYWHERE}, symmetrize)
        wins = {}
        for K in (1, 2, 3, 5, 8):
            wins[f"equal c, K = {K}"] = accuracy(
                data, gl.Residual.constant(1.0, K), {"c": ANYWHERE}, symmetrize
            )
        for K in (2, 3, 5):
            wins[f"free c, K = {K}"] = accuracy(
                data, gl.Residual.constant(1.0, K), {"c": [ANYWHERE] * K}, symmetrize
            )
        wins["PageRank"] = accuracy(data, gl.PageRank(0.0), {"theta": (-1, 1)}, symmetrize)
        for degree in (1, 2, 3, 4, 6, 8):
            best = gl.best_filter(data, degree, symmetrize, reg=math.inf)
            wins[f"best polynomial, order {degree}"] = np.asarray(best.prediction.log_test_error)
        graph = "symmetrized" if symmetrize else "directed"
        for name, other in wins.items():
            gain = np.exp(diffusion) - np.exp(other)
            rows.append(
                [
                    graph,
                    name,
                    f"{np.sum(other < diffusion)} of {count}",
                    f"{np.median(gain):+.4f}",
                    f"{gain.max():+.4f}",
                ]
            )
    table(
        ["graph", "filter", "beats diffusion in", "median difference", "largest difference"], rows
    )


def roots(count: int = 300) -> None:
    """How often the best polynomial is not a product of real layers."""
    data = random_data(count)
    rows: list[list[object]] = []
    for graph, symmetrize in (("symmetrized", True), ("directed", False)):
        for degree in (4, 8):
            every = [
                np.roots(g[::-1])
                for g in gl.best_filter(data, degree, symmetrize, reg=math.inf).coefficients
            ]
            pairs = np.array(
                [np.count_nonzero(np.abs(x.imag) > 1e-6 * np.abs(x)) // 2 for x in every]
            )
            rows.append(
                [
                    graph,
                    degree,
                    f"{np.count_nonzero(pairs)} of {count}",
                    f"{np.mean(2 * pairs == degree):.0%}",
                ]
            )
    table(["graph", "degree", "has complex roots in", "has no other roots in"], rows)


def figure(path: Path) -> None:
    """The best filter beside the exponential and the PageRank, on the spectrum."""
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    best = gl.best_filter(data, 20, reg=math.inf)
    curves = {"best filter (order 20)": (best.x, best.g)}
    tuned = [
        (
            "PageRank",
            gl.tune(data, gl.GCN(gl.PageRank(0.0), symmetrize=True), {"theta": (0, 1)}).gcn.filter,
        ),
        (
            "diffusion",
            gl.tune(data, gl.GCN(gl.Diffusion(1.0), symmetrize=True), {"t": (0, 10)}).gcn.filter,
        ),
    ]
    for name, filter in tuned:
        curves[name] = (best.x, filter(best.x) / filter(best.x[-1]))
    canvas = Figure(figsize=(6, 3.6), layout="constrained")
    axes = canvas.add_subplot()
    for (name, (x, g)), style in zip(curves.items(), ("k-", "C1--", "C2-."), strict=True):
        axes.plot(x[:-1], g[:-1], style, label=name)
        axes.plot(x[-1:], g[-1:], "ks", markersize=5)
    axes.axvspan(-2, 2, color="0.93", zorder=0)
    axes.annotate(
        "spike",
        (best.x[-1], 1.0),
        xytext=(-8, -3),
        textcoords="offset points",
        ha="right",
        va="top",
    )
    axes.set_xlabel("eigenvalue x of the symmetrized graph (the bulk is shaded)")
    axes.set_ylabel("g(x) / g(spike)")
    axes.legend(frameon=False)
    path.parent.mkdir(exist_ok=True)
    canvas.savefig(path, dpi=150)


def simulate(trials: int = 10) -> None:
    """The same order on sampled graphs of ten thousand nodes: each filter on the same graphs, so that differences are sharp."""
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    networks = {
        "diffusion": gl.tune(data, gl.GCN(gl.Diffusion(1.0), symmetrize=True), {"t": (0, 10)}).gcn,
        "PageRank": gl.tune(data, gl.GCN(gl.PageRank(0.0), symmetrize=True), {"theta": (0, 1)}).gcn,
        "best polynomial, order 4": gl.best_filter(data, 4, reg=math.inf).gcn,
        "best polynomial, order 12": gl.best_filter(data, 12, reg=math.inf).gcn,
    }
    rows, reference, expected = [], np.zeros(trials), 0.0
    for name, gcn in networks.items():
        graphs = (
            gl.simulate(data, gcn, nodes=10_000, degree=30, trials=1, seed=k) for k in range(trials)
        )
        measured = np.array([graph.test_accuracy for graph in graphs])
        predicted = float(gl.predict(data, gcn).test_accuracy)
        if name == "diffusion":
            reference, expected = measured, predicted
        gain = "" if name == "diffusion" else _pm(measured - reference)
        rows.append(
            [name, predicted, _pm(measured), f"{predicted - expected:+.5f}" if gain else "", gain]
        )
    table(
        ["filter", "predicted", "simulated", "predicted gain over diffusion", "simulated gain"],
        rows,
    )


def simulate_any_reg(trials: int = 10) -> None:
    """Filter and regularization at their best where labels are many and features weak, on sampled graphs of 4000 nodes."""
    data = gl.CSBM(alpha=4, lam=0.75, mu=0.5, rho=0.5)
    diffusion, everything = gl.GCN(gl.Diffusion(1.0)), {"t": (0, 10), "reg": (0, math.inf)}
    networks = {
        "diffusion, reg = inf": gl.tune(data, diffusion, {"t": (0, 10)}).gcn,
        "diffusion, best reg": gl.tune(data, diffusion, everything).gcn,
        "best polynomial, order 12, best reg": gl.best_filter(data, 12).gcn,
    }
    rows = []
    for name, gcn in networks.items():
        found = gl.simulate(data, gcn, nodes=4000, degree=60, trials=trials, seed=0)
        measured = f"{found.test_accuracy:.5f} ± {found.standard_error.test_accuracy:.5f}"
        rows.append([name, float(gl.predict(data, gcn).test_accuracy), measured])
    rows.append(["any one filter, any reg", float(filter_ceiling(data).test_accuracy), ""])
    rows.append(["Bayes-optimal", float(gl.bayes_optimal(data).test_accuracy), ""])
    table(["network", "predicted", "simulated"], rows)


def _pm(values: np.ndarray) -> str:
    """Mean and standard error."""
    return f"{values.mean():.5f} ± {values.std(ddof=1) / math.sqrt(values.size):.5f}"


if __name__ == "__main__":
    if sys.argv[1:] == ["simulate"]:
        simulate()
        simulate_any_reg()
    else:
        settings()
        sample()
        roots()
        figure(Path(__file__).parent.parent / "images" / "finding-best-filter.png")
