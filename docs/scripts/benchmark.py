"""Pictures of the page on the benchmark: ``python docs/scripts/benchmark.py benchmarks/study.json``."""

import sys
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import gcnlimit as gl

ROOT = Path(__file__).parent.parent.parent
IMAGES = ROOT / "docs" / "images"


def main() -> None:
    """Draw accuracy against depth, and if there are results of the study, the place of each method."""
    depth()
    if len(sys.argv) > 1:
        places(gl.benchmark.Scores.load(sys.argv[1]))


def depth() -> None:
    """Accuracy against the number of layers: best linear network and message passing, exact."""
    names = ("reference", "many-labels", "deep")
    chosen = [problem for problem in gl.benchmark.problems() if problem.name in names]
    layers = np.arange(1, 13)
    figure = Figure(figsize=(9, 2.9), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, problem in zip(figure.subplots(1, 3), chosen, strict=True):
        linear = [_linear(problem.data, int(k)) for k in layers]
        axes.plot(layers, linear, "o-", ms=3, color="tab:orange", label="best linear network")
        passing = gl.theory.message_passing(problem.data, layers.size).test_accuracy
        axes.plot(layers, passing, "o-", ms=3, color="tab:blue", label="message passing")
        axes.axhline(problem.exact.bayes, color="black", lw=1, label="Bayes-optimal")
        axes.axhline(problem.exact.linear, color="tab:orange", lw=1, ls=":", label="all linear networks")
        axes.set_title(problem.name, fontsize=9)
        axes.set_xlabel("layers")
    figure.axes[0].set_ylabel("test accuracy")
    figure.axes[0].legend(fontsize=7, loc="lower right")
    figure.savefig(IMAGES / "benchmark-depth.png", dpi=110)


def _linear(data: gl.CSBM, order: int) -> float:
    """Best polynomial of that order, at the best regularization."""
    best = gl.best_filter(data, order, symmetrize=True)
    return float(best.prediction.test_accuracy)


def places(scores: gl.benchmark.Scores) -> None:
    """Share of the way from chance to the ceiling, each method a row and each problem a column."""
    lines = scores.lines
    methods = list(dict.fromkeys(line.method for line in lines))
    problems = list(dict.fromkeys(line.problem for line in lines))
    place = {(line.method, line.problem): _place(line) for line in lines}
    order = sorted(methods, key=lambda m: np.nanmean([place.get((m, p), np.nan) for p in problems]))
    figure = Figure(figsize=(9, 0.32 * len(methods) + 1.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for k, problem in enumerate(problems):
        axes.scatter(
            [place.get((m, problem), np.nan) for m in order],
            order,
            s=18,
            color=f"C{k % 10}",
            marker="os^Dv"[k // 10],
            label=problem,
        )
    means = [np.nanmean([place.get((m, p), np.nan) for p in problems]) for m in order]
    axes.scatter(means, order, s=160, color="black", marker="|", label="mean")
    axes.axvline(1.0, color="black", lw=1)
    axes.axvline(0.0, color="grey", lw=1, ls=":")
    axes.set_xlabel("place between chance (0) and the best possible (1)")
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(IMAGES / "benchmark-places.png", dpi=110)


def _place(line: gl.benchmark.Line) -> float:
    problem = gl.benchmark.problems()[0]
    for problem in (*gl.benchmark.problems(), *gl.benchmark.problems(aside=True)):
        if problem.name == line.problem:
            break
    chance = max(problem.data.fractions)
    return float((line.accuracy - chance) / (problem.exact.bayes - chance))


if __name__ == "__main__":
    main()
