"""Every number and figure of docs/learn/depth.md.

Run ``python docs/scripts/depth.py`` for all of them, or name some: ``functions discretization residuals oversmoothing
convergence rates``. About four minutes on one core, most of them for the sampled graphs of ``functions``.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import ndtr

import gcnlimit as gl
from gcnlimit.figures.style import COLOURS
from validation.integral_equations import integral_residuals
from validation.measured_order_functions import measure_order_functions as measure

IMAGES = Path(__file__).parents[1] / "images"
DATA = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
GRAPHS = {"directed": False, "symmetrized": True}
MARKERS = "osv^D"  # a curve is told by its marker as well as by its colour
mpl.rcParams["axes.prop_cycle"] = cycler(color=COLOURS)


def canvas(
    rows: int, columns: int, width: float = 10.0, height: float = 3.0
) -> tuple[Figure, np.ndarray]:
    """Figure and its axes, an array of `rows` and `columns`."""
    figure = Figure(figsize=(width, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def save(figure: Figure, name: str) -> None:
    """Write a figure beside the page."""
    figure.savefig(IMAGES / f"depth-{name}.png", dpi=110)
    print(f"wrote docs/images/depth-{name}.png")


def functions(nodes: int = 10_000, trials: int = 8) -> None:
    """Predicted order functions, lines, and their measurement on sampled graphs, points."""
    x, marks = np.linspace(0, 1, 41), np.linspace(0, 1, 6)
    titles = ("overlap with the labels", "response", "correlation")
    print(
        "| graph | function | largest deviation | in standard errors |\n| --- | --- | --- | --- |"
    )
    figure, axes = canvas(2, 3)
    for row, (graph, symmetrize) in zip(axes, GRAPHS.items(), strict=True):
        gcn = gl.GCN(gl.Diffusion(1.0), symmetrize=symmetrize)
        lines = gl.depth.order_functions(DATA, gcn, x).as_dict()
        runs = [
            measure(gl.sample(DATA, nodes=nodes, degree=60, seed=k), gcn, marks, seed=k, probes=8)
            for k in range(trials)
        ]
        panels = [
            [("m", ..., r"$m(x)$"), ("m_hat", ..., r"$\hat m(x)$")],
            [
                ("V", -1, r"$V_h(1, x)$"),
                ("V_qh", 0, r"$V_{qh}(0, x)$"),
                ("V_hat", 0, r"$\hat V_h(0, x)$"),
            ],
            [
                ("Q", -1, r"$Q_h(1, x)$"),
                ("Q_hat", 0, r"$\hat Q_h(0, x)$"),
                ("Q_qh", 0, r"$Q_{qh}(0, x)$"),
            ],
        ]
        for ax, panel, title in zip(row, panels, titles, strict=True):
            for color, (name, section, label) in enumerate(panel):
                values = np.array([run.as_dict()[name][section] for run in runs])
                start = 1 if name == "V_qh" else 0  # the response begins just after the push
                ax.plot(x[start:], lines[name][section][start:], f"C{color}", label=label)
                error = values.std(axis=0, ddof=1) / np.sqrt(trials)
                exact = gl.depth.order_functions(DATA, gcn, marks).as_dict()[name][section]
                off = np.abs(values.mean(axis=0) - exact)[start:]
                print(
                    f"| {graph} | {label} | {np.max(off / exact[start:]):.1%} | {np.max(off / (error[start:] + 1e-12)):.1f} |"
                )
                ax.errorbar(
                    marks[start:],
                    values.mean(axis=0)[start:],
                    error[start:],
                    fmt=f"C{color}o",
                    ms=4,
                )
            ax.set(yscale="log", xlabel="depth $x$", title=f"{graph}: {title}")
            ax.title.set_fontsize(9)
            ax.legend(fontsize=8)
    save(figure, "functions")


def discretization() -> None:
    """How the functions of K layers approach the continuous ones, plain and extrapolated."""
    depths = [5, 10, 20, 40, 80]
    figure, axes = canvas(1, 2, width=8.5)
    for ax, (graph, symmetrize) in zip(axes[0], GRAPHS.items(), strict=True):
        gcn = gl.GCN(gl.Diffusion(1.0), symmetrize=symmetrize)
        found = [gl.depth.order_functions(DATA, gcn, layers=K) for K in depths]
        discrete = [f.as_dict() for f in found]
        exact = gl.depth.order_functions(DATA, gcn, found[0].x).as_dict()
        shown = {"m": "m", "V": "V_h", "Q": "Q_h", "Q_hat": r"\hat Q_h", "Q_qh": "Q_{qh}"}
        for color, (name, symbol) in enumerate(shown.items()):
            values = [
                f[name][(slice(None, None, K // 5),) * f[name].ndim]
                for f, K in zip(discrete, depths, strict=True)
            ]
            better = [2 * b - a for a, b in itertools.pairwise(values)]
            size = np.abs(exact[name]).max()
            ax.loglog(
                depths,
                [np.abs(v - exact[name]).max() / size for v in values],
                f"C{color}{MARKERS[color]}-",
                label=f"${symbol}$",
            )
            ax.loglog(
                depths[1:],
                [np.abs(v - exact[name]).max() / size for v in better],
                f"C{color}{MARKERS[color]}:",
                mfc="none",
            )
        ax.loglog(depths, 2.0 / np.array(depths), "k--", lw=0.8, label=r"$\propto K^{-1}$")
        ax.loglog(depths, 10.0 / np.array(depths) ** 2, "k-.", lw=0.8, label=r"$\propto K^{-2}$")
        ax.set(xlabel="layers $K$", ylabel="largest error, relative", title=graph)
        ax.set_xticks(depths, [str(K) for K in depths])
        ax.minorticks_off()
        ax.legend(fontsize=7)
    save(figure, "discretization")


def residuals() -> None:
    """Print the residuals of the integral equations."""
    names = ("V_qh", "phi", "Phi", "m", "Q_hat", "Q_qh", "Q")
    print("| graph | lam | t | nodes | " + " | ".join(names) + " |")
    print("|" + " --- |" * (len(names) + 4))
    for graph, symmetrize in GRAPHS.items():
        for lam, t in ((1.0, 1.0), (1.5, 2.0), (0.6, -0.7)):
            for nodes in (8, 20):
                data = gl.CSBM(DATA.alpha, lam, DATA.mu, DATA.rho)
                found = integral_residuals(
                    data, gl.GCN(gl.Diffusion(t), symmetrize=symmetrize), nodes
                )
                print(
                    f"| {graph} | {lam} | {t} | {nodes} | "
                    + " | ".join(f"{found[n]:.0e}" for n in names)
                    + " |"
                )


def oversmoothing() -> None:
    """Accuracy, feature information and distance to PCA along the depth, above and below the transition."""
    figure, axes = canvas(2, 3)
    for row, data in zip(axes, (gl.CSBM(4, 1.5, 3.0, 0.1), gl.CSBM(4, 0.7, 1.0, 0.1)), strict=True):
        fields = (
            "test_accuracy",
            "feature_information",
            "pca_distance" if data.lam > 1 else "pca_gap",
        )
        for name, (depths, filters), style in _families():
            found = gl.depth.oversmoothing(data, filters, symmetrize=False)
            for ax, field in zip(row, fields, strict=True):
                ax.plot(depths, getattr(found, field), style, ms=3, lw=1, label=name)
        limit = gl.depth.oversmoothing(data, [gl.Diffusion(1.0)], symmetrize=False)
        for ax, field in zip(row, fields, strict=True):
            ax.axhline(
                getattr(limit, field)[0], color="C0", ls="--", lw=1, label=r"$e^{ta}$, $t = 1$"
            )
            ax.set(xscale="log", xlabel="layers $K$, or time $t$")
        row[0].axhline(
            float(ndtr(gl.limits.pca_margin(data.lam))), color="k", ls=":", lw=1, label="PCA"
        )
        row[0].set(ylabel="test accuracy", title=rf"$\lambda = {data.lam}$, $\mu = {data.mu:g}$")
        row[1].set(ylabel=r"feature information $z^2 - z^2|_{\mu=0}$")
        row[2].set(ylabel="distance to PCA" if data.lam > 1 else "margin $z$", yscale="log")
    axes[0, 2].set(ylim=(1e-5, 1))
    axes[0, 1].legend(fontsize=7)
    save(figure, "oversmoothing")


def _families() -> list[tuple[str, tuple[np.ndarray, list[gl.Filter]], str]]:
    """Networks of growing depth, or of growing time, and how to draw them."""
    depths, times = np.unique(np.geomspace(1, 128, 18).astype(int)), np.geomspace(0.1, 32, 20)
    residual = {
        "$c = 0$": ([0.0] * len(depths), "C3v-"),
        "$c = 1$": ([1.0] * len(depths), "C1s-"),
        "$c = K$": (list(depths.astype(float)), "C0o-"),
    }
    families = [
        (
            name,
            (depths, [gl.Residual.constant(c, int(K)) for c, K in zip(cs, depths, strict=True)]),
            style,
        )
        for name, (cs, style) in residual.items()
    ]
    return [
        *families,
        ("$e^{ta}$ against $t$", (times, [gl.Diffusion(float(t)) for t in times]), "C4^-"),
    ]


def convergence() -> None:
    """The two laws of oversmoothing: exponential above the transition, a power of the depth below."""
    figure, axes = canvas(1, 2, width=9.0, height=3.4)
    above, below = axes[0]
    cases = [("directed", 0.0), ("directed", 1.0), ("symmetric", 0.0), ("symmetric", 1.0)]
    for color, (graph, c) in enumerate(cases):
        name, symmetric = f"{graph}, $c = {c:g}$", graph == "symmetric"
        _above(above, gl.CSBM(4, 1.5, 3.0, 0.1, directed=not symmetric), c, color, name)
        _below(below, gl.CSBM(4, 0.5, 1.0, 0.1, directed=not symmetric), c, color, name)
    K = np.array([20, 500])
    below.loglog(K, 0.12 * K**-0.5, "k--", lw=0.8, label="$K^{-1/2}$")
    below.loglog(K, 2.2 * K**-0.75, "k-.", lw=0.8, label="$K^{-3/4}$")
    above.set(
        xlabel="layers $K$", ylabel="distance to PCA", title=r"$\lambda_e = 1.5$", ylim=(1e-14, 1)
    )
    below.set(xlabel="layers $K$", ylabel="margin", title=r"$\lambda_e = 0.5$")
    above.legend(fontsize=7)
    below.legend(fontsize=7)
    save(figure, "convergence")


def _above(ax: Axes, data: gl.CSBM, c: float, color: int, name: str) -> None:
    depths = np.arange(2, 82, 4)
    filters = [gl.Residual.constant(c, int(K)) for K in depths]
    found = gl.depth.oversmoothing(data, filters, symmetrize=False).pca_distance
    ax.semilogy(depths, found, f"C{color}{MARKERS[color]}", ms=3, label=name)
    power = (
        (0.5 if c else 0.0) if data.directed else 1.5
    )  # of the sum of squared binomials, of the edge of the semicircle
    law = np.exp(-gl.limits.pca_rate(data.lam, c, not data.directed) * depths) * depths**-power
    ax.semilogy(depths, law * (found / law)[-1], f"C{color}-", lw=0.8)


def _below(ax: Axes, data: gl.CSBM, c: float, color: int, name: str) -> None:
    depths = 2 * np.unique(np.geomspace(1, 250, 14).astype(int))
    filters = [gl.Residual.constant(c, int(K)) for K in depths]
    found = gl.depth.oversmoothing(data, filters, symmetrize=False).pca_gap
    ax.loglog(depths, found, f"C{color}{MARKERS[color]}-", ms=3, lw=0.8, label=name)


def rates() -> None:
    """Error against the squared signal, and the fitted rates."""
    lam = np.linspace(0, 6, 60)
    data, anywhere = gl.CSBM(4, lam, 1.0, 0.1), gl.CSBM(4, 1.0, 1.0, 0.1)
    networks = {
        f"{graph}, $K = {K}$": gl.GCN(
            gl.Residual.constant(0.0 if K == 1 else 1.0, K), symmetrize=symmetrize
        )
        for graph, symmetrize in GRAPHS.items()
        for K in (1, 2, 4)
    }
    figure, axes = canvas(1, 1, width=6.0, height=3.8)
    ax = axes[0, 0]
    ax.plot(
        lam**2, gl.bayes_optimal(data).log_test_error, "k", label=r"Bayes-optimal, $\tau = 1.000$"
    )
    print("| network | rate |\n| --- | --- |")
    print(f"| Bayes-optimal | {gl.depth.learning_rate(anywhere):.5f} |")
    for color, (name, gcn) in enumerate(networks.items()):
        rate = gl.depth.learning_rate(anywhere, gcn)
        print(f"| {name} | {rate:.5f} |")
        style = f"C{color % 3}" + ("-" if gcn.symmetrize else "--")
        ax.plot(
            lam**2,
            gl.predict(data, gcn).log_test_error,
            style,
            label=rf"{name}, $\tau = {rate:.3f}$",
        )
    ax.set(xlabel=r"$\lambda^2$", ylabel=r"$\log(1 - Acc_{test})$", ylim=(-38, 0))
    ax.legend(fontsize=7)
    save(figure, "rates")


if __name__ == "__main__":
    for name in sys.argv[1:] or (
        "functions",
        "discretization",
        "residuals",
        "oversmoothing",
        "convergence",
        "rates",
    ):
        globals()[name]()
