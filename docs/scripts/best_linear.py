"""Every number and the figure of docs/findings/best-linear.md.

Run ``python docs/scripts/best_linear.py`` for the tables, ``python docs/scripts/best_linear.py figure`` for the figure with its
simulated dots, and ``python docs/scripts/best_linear.py graphs`` for the network on sampled graphs; minutes each on one core.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from best_filter import random_data
from scipy.special import ndtr

import gcnlimit as gl
from gcnlimit.choose.best_filter import filter_ceiling
from gcnlimit.choose.filter_sums import best_filter_sum
from gcnlimit.theory.points import Points

IMAGES = Path(__file__).parent.parent / "images"
POINTS = ((4.0, 2.0, 0.1), (1.0, 4.0, 0.02))  # alpha, mu, rho
DOTS = (0.2, 0.6, 1.0, 1.4)
DEGREE, NODES, GRAPHS = 30, 5000, 6
STEPS = (
    "one filter, any reg -> sums of filters",
    "better of the two -> all linear networks",
    "all linear networks -> Bayes-optimal: the tanh",
    "clamping, given the passes",
    "passes through the features, given clamping",
)


def margins(data: gl.CSBM) -> dict[str, np.ndarray]:
    """Squared margins of four ways to use labels and features, by fixed points of one line each."""
    signal, mu, rho = (
        np.asarray(v) for v in (data.effective_signal(symmetrize=True), data.mu, data.rho)
    )
    odds = rho / (1 - rho)

    def clamped(M: np.ndarray) -> np.ndarray:
        return (rho + M) / (1 + M)

    def unclamped(M: np.ndarray) -> np.ndarray:
        return (M + odds) / (1 + M + odds)

    def through_features(q: np.ndarray) -> np.ndarray:
        return mu / data.alpha * mu * q / (1 + mu * q)

    def limit(overlap, passes: bool) -> np.ndarray:
        M = np.full(data.shape, 100.0)
        for _ in range(5000):  # the graph alone, for the only pass through the features
            M = signal**2 * overlap(M)
        frozen = through_features(overlap(M))
        M = np.full(data.shape, 100.0)
        for _ in range(5000):
            M = (through_features(overlap(M)) if passes else frozen) + signal**2 * overlap(M)
        return M

    names = {"all linear": (clamped, True), "clamped, one pass": (clamped, False)}
    names |= {"not clamped, many passes": (unclamped, True), "sums of filters": (unclamped, False)}
    return {name: limit(*how) for name, how in names.items()}


def decomposition(directed: bool, count: int = 300) -> None:
    """What each step is worth on random data, in points of accuracy."""
    drawn = random_data(count)
    data = gl.CSBM(drawn.alpha, drawn.lam, drawn.mu, drawn.rho, directed=directed)
    found = {name: ndtr(np.sqrt(M)) for name, M in margins(data).items()}
    points = Points.of(data, gl.GCN(gl.PageRank(0.0), symmetrize=True))
    assert np.allclose(found["sums of filters"], ndtr(best_filter_sum(points).margin), atol=1e-10)
    best = np.asarray(gl.best_linear(data).test_accuracy)
    assert np.allclose(found["all linear"], best, atol=1e-10)
    one = np.asarray(filter_ceiling(data).test_accuracy)
    bayes = np.asarray(gl.bayes_optimal(data).test_accuracy)
    better = np.maximum(one, found["sums of filters"])
    worth = (
        found["sums of filters"] - one,
        best - better,
        bayes - best,
        best - found["not clamped, many passes"],
        best - found["clamped, one pass"],
    )
    print(
        f"{'symmetrized' if directed else 'symmetric'}, {count} data; above both in {np.sum(best > better)}"
    )
    print("| step | min | 25 % | median | 75 % | max |\n| --- | --- | --- | --- | --- | --- |")
    for name, gain in zip(STEPS, worth, strict=True):
        cells = " | ".join(f"{100 * x:.2f}" for x in np.quantile(gain, (0, 0.25, 0.5, 0.75, 1)))
        print(f"| {name} | {cells} |")
    share = (best - better) / (bayes - better)
    cells = " | ".join(f"{100 * x:.0f}" for x in np.quantile(share, (0, 0.25, 0.5, 0.75, 1)))
    print(f"| share of (better of the two -> Bayes-optimal) closed, % | {cells} |")
    layers = np.asarray(gl.best_linear(data, layers=30).test_accuracy)
    enough = 1 + np.argmax(layers >= (better + 0.9 * (best - better))[:, None], axis=1)
    cells = " | ".join(f"{x:.0f}" for x in np.quantile(enough, (0, 0.25, 0.5, 0.75, 1)))
    print(f"| layers for 90 % of the gain | {cells} |")
    weak = np.abs(data.effective_signal(symmetrize=True)) < 0.7
    few = np.asarray(data.rho) < 0.1
    for name, rows in (("graph weaker than 0.7", weak), ("fewer than 10 % labelled", few)):
        print(f"median share, {name}: {100 * np.median(share[rows]):.0f} % of {rows.sum()} data")
    print()


def many_classes() -> None:
    """Where the nonlinearity is most of the accuracy: many classes below the linear transition, without features."""
    print(
        "| C | lam_e | rho | all linear networks | message passing | Bayes-optimal |\n|---|---|---|---|---|---|"
    )
    for C, lam, rho in ((8, 0.95, 0.003), (8, 1.02, 0.0005), (5, 1.05, 0.001), (8, 0.95, 0.0005)):
        data = gl.CSBM(1.0, lam, 0.0, rho, directed=False, classes=C)
        bayes = gl.bayes_optimal(data)
        values = (
            gl.best_linear(data).test_accuracy,
            bayes.algorithmic.test_accuracy,
            bayes.test_accuracy,
        )
        print(f"| {C} | {lam} | {rho} | " + " | ".join(f"{v:.3f}" for v in values) + " |")
    print()


def measured(data: gl.CSBM, **how) -> tuple[float, float]:
    """Mean accuracy over graphs, and its standard error."""
    accuracies = []
    for seed in range(GRAPHS):
        answer = gl.linear_message_passing(gl.sample(data, NODES, DEGREE, seed=seed), **how)
        accuracies.append(answer.performance.test_accuracy)
    return float(np.mean(accuracies)), float(np.std(accuracies, ddof=1) / np.sqrt(GRAPHS))


def graphs() -> None:
    """The network on sampled graphs, with and without the parameters."""
    print(
        "| alpha, lam_e, mu, rho | theory | layers | system | fitted to the labels | fitted, 5 layers | Bayes-optimal |"
    )
    print("|---|---|---|---|---|---|---|")
    for alpha, lam, mu, rho in (
        (4, 2**0.5, 2, 0.1),
        (1, 0.849, 4, 0.02),
        (2, -1.27, 1, 0.1),
        (3, -0.9, 2, 0.05),
    ):
        data = gl.CSBM(alpha, lam, mu, rho, directed=False)
        ways = ({}, {"by": "system"}, {"by": "labels"}, {"by": "labels", "layers": 5})
        cells = " | ".join("{:.4f} ± {:.4f}".format(*measured(data, **how)) for how in ways)
        exact = gl.best_linear(data).test_accuracy, gl.bayes_optimal(data).test_accuracy
        print(
            f"| {alpha}, {lam:.3f}, {mu}, {rho} | {exact[0]:.4f} | {cells} | {exact[1]:.4f} |",
            flush=True,
        )


def figure() -> None:
    """Accuracy against the signal of the graph at two points."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(9, 3.9), layout="constrained")
    lam = np.linspace(0, 1.6, 65)
    for axes, (alpha, mu, rho) in zip(drawing.subplots(1, 2), POINTS, strict=True):
        data = gl.CSBM(alpha, lam, mu, rho)
        layers = np.asarray(gl.best_linear(data, layers=5).test_accuracy)
        for k in range(5):
            label = "layers 1 to 5" if k == 0 else None
            axes.plot(
                lam, layers[:, k], color="tab:blue", lw=0.7, alpha=0.35 + 0.1 * k, label=label
            )
        sums = ndtr(
            best_filter_sum(Points.of(data, gl.GCN(gl.PageRank(0.0), symmetrize=True))).margin
        )
        one = filter_ceiling(data).test_accuracy
        axes.plot(lam, one, color="tab:green", ls="--", label="any one filter, any regularization")
        axes.plot(lam, sums, color="tab:orange", ls="-.", label="sums of filters, labels as input")
        axes.plot(
            lam,
            gl.best_linear(data).test_accuracy,
            color="tab:blue",
            lw=2,
            label="all linear networks",
        )
        axes.plot(lam, gl.bayes_optimal(data).test_accuracy, color="black", label="Bayes-optimal")
        for k, signal in enumerate(DOTS):
            mean, error = measured(gl.CSBM(alpha, signal, mu, rho), by="system")
            label = f"simulated, {NODES} nodes" if k == 0 else None
            axes.errorbar(signal, mean, error, fmt="o", ms=4, color="tab:blue", label=label)
            print(
                alpha,
                signal,
                f"{mean:.4f} ± {error:.4f}",
                round(gl.best_linear(gl.CSBM(alpha, signal, mu, rho)).test_accuracy, 4),
            )
        axes.set(
            xlabel=r"signal of the graph $\lambda$", ylabel="test accuracy", ylim=(0.49, 1.005)
        )
        axes.set_title(rf"$\alpha = {alpha:g},\ \mu = {mu:g},\ \rho = {rho:g}$", fontsize=10)
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    drawing.savefig(sys.argv[2] if len(sys.argv) > 2 else IMAGES / "best-linear.png", dpi=150)


if __name__ == "__main__":
    what = sys.argv[1] if len(sys.argv) > 1 else "tables"
    if what == "figure":
        figure()
    elif what == "graphs":
        graphs()
    else:
        decomposition(directed=True)
        decomposition(directed=False)
        many_classes()
