"""Tables and pictures of the page on the benchmark: ``python docs/scripts/benchmark.py benchmarks/gnn/study.json``."""

import json
import sys
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import gcnlimit as gl
from gcnlimit.benchmark.problems import as_problems, recorded
from gcnlimit.benchmark.scores import PUBLISHED, as_place

ROOT = Path(__file__).parent.parent.parent
IMAGES = ROOT / "docs" / "images"
TABLES = ROOT / "benchmarks" / "gnn"
OWN = "message-passing-network"
KINDS = {  # of problems: colour and marker
    "two equal classes": ("#0072b2", "o"),
    "three or more equal classes": ("#e69f00", "s"),
    "unequal classes": ("#cc79a7", "D"),
    "hubs": ("#009e73", "P"),
    "another graph": ("#d55e00", "v"),
    "kept aside": ("0.45", "^"),
}


def main() -> None:
    """Write the table of problems, draw accuracy against depth, and, given results, write and draw those of the study."""
    suite = (*gl.benchmark.problems(), *gl.benchmark.problems(aside=True))
    (TABLES / "problems.md").write_text(problem_table(suite))
    scores = gl.benchmark.Scores.load(sys.argv[1]) if len(sys.argv) > 1 else gl.benchmark.Scores(())
    depth(scores)
    if scores.runs:
        (TABLES / "ablations.md").write_text(ablation_table(scores))
        whole = gl.benchmark.Scores(
            tuple(run for run in scores.runs if not run.method.startswith(f"{OWN},"))
        )
        (TABLES / "study.md").write_text(study_table(whole))
        places(whole)
        (ROOT / "src" / "gcnlimit" / "benchmark" / PUBLISHED).write_text(published(whole))


def problem_table(suite: tuple[gl.benchmark.Problem, ...]) -> str:
    """Problems, their parameters and exact accuracies, and message passing on the recorded graphs, in Markdown."""
    signals = "| problem | classes | alpha | lam | mu | rho | degree "
    accuracies = "| features | one filter | all linear networks | algorithmic | Bayes | Bayes, large degree | AMP, 10 000 nodes |"
    rows = [signals + accuracies, "| --- " * 14 + "|"]
    for problem in suite:
        data, exact = problem.data, problem.exact
        runs = [found["amp"] for k in range(5) if (found := recorded(problem.name, "standard", k))]
        amp = f"{np.mean(runs):.4f} ± {np.std(runs, ddof=1) / len(runs) ** 0.5:.4f}" if runs else ""
        bayes = f"{exact.bayes:.4f} ± {exact.bayes_error:.4f}"
        signals = f"{data.alpha:g} | {data.lam:g} | {data.mu:g} | {data.rho:g}"
        degree = f"{problem.degree:g}{'' if data.directed else ', symmetric'}"
        linear = f"{exact.one_filter:.4f} | {exact.linear:.4f}"
        limits = f"{exact.features:.4f} | {linear} | {exact.algorithmic:.4f} | {bayes} | {exact.bayes_large_degree:.4f}"
        rows.append(
            f"| {problem.name} | {len(data.fractions)} | {signals} | {degree} | {limits} | {amp} |"
        )
    return "\n".join(rows) + "\n"


def study_table(scores: gl.benchmark.Scores) -> str:
    """Mean accuracy in per cent of each method, problem by problem, the best of each column first by mean place."""
    lines = scores.lines
    suite = (*gl.benchmark.problems(), *gl.benchmark.problems(aside=True))
    problems = [problem for problem in suite if any(line.problem == problem.name for line in lines)]
    cell = {
        (line.method, line.problem): f"{100 * line.accuracy:.1f} ± {100 * line.standard_error:.1f}"
        for line in lines
    }
    order = sorted(
        dict.fromkeys(line.method for line in lines), key=lambda method: -_mean_place(lines, method)
    )
    names = " | ".join(problem.name for problem in problems)
    rows = [f"| method | mean place | aside | {names} |", "| --- " * (len(problems) + 3) + "|"]
    rows.append(
        f"| *Bayes-optimal* | 1 | 1 | {' | '.join(f'*{100 * p.exact.bayes:.1f}*' for p in problems)} |"
    )
    for method in order:
        cells = " | ".join(cell.get((method, problem.name), "") for problem in problems)
        means = " | ".join(
            f"{_mean_place(lines, method, aside):.3f}".replace("nan", "") for aside in (False, True)
        )
        rows.append(f"| {method} | {means} | {cells} |")
    rows.append(
        f"| *features alone* | | | {' | '.join(f'*{100 * p.exact.features:.1f}*' for p in problems)} |"
    )
    return "\n".join(rows) + "\n"


def published(scores: gl.benchmark.Scores) -> str:
    """Accuracies on the standard graphs as JSON, a line for each method."""
    found: dict[str, dict[str, list[float]]] = {}
    for run in scores.runs:
        if run.size == "standard" and not run.error:
            found.setdefault(run.method, {}).setdefault(run.problem, []).append(
                round(run.accuracy, 5)
            )
    rows = [f" {json.dumps(method)}: {json.dumps(one)}" for method, one in found.items()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def ablation_table(scores: gl.benchmark.Scores) -> str:
    """Points of accuracy that each change of the network costs or adds, on the same graphs."""
    found = {(run.method, run.problem, run.graph): 100 * run.accuracy for run in scores.runs}
    changes = [
        method
        for method in dict.fromkeys(run.method for run in scores.runs)
        if method.startswith(f"{OWN},")
    ]
    problems = ["reference", "deep", "sparse", "five-classes"]
    rows = [f"| | {' | '.join(problems)} |", "| --- " * (len(problems) + 1) + "|"]
    for method in changes:
        pairs = [
            [
                (found[method, name, k], found[OWN, name, k])
                for k in range(5)
                if (method, name, k) in found
            ]
            for name in problems
        ]
        rows.append(
            f"| {method.removeprefix(f'{OWN}, ')} | {' | '.join(map(_difference, pairs))} |"
        )
    means = (np.mean([found[OWN, name, k] for k in range(5)]) for name in problems)
    rows.insert(
        2, f"| *the network, 15 layers* | {' | '.join(f'*{mean:.2f}*' for mean in means)} |"
    )
    return "\n".join(rows) + "\n"


def _difference(pairs: list[tuple[float, float]]) -> str:
    """Mean difference and its standard error."""
    if not pairs:
        return ""
    gain = np.subtract(*np.transpose(pairs))
    return f"{gain.mean():+.2f} ± {gain.std(ddof=1) / gain.size**0.5:.2f}"


def _mean_place(lines: list[gl.benchmark.Line], method: str, aside: bool = False) -> float:
    """Mean place over the suite or the problems kept aside, without the hard and the sparse one, of other exact numbers."""
    chosen = {problem.name for problem in gl.benchmark.problems(aside=aside)} - {
        "hard-phase",
        "sparse",
    }
    places = [
        as_place(line.problem, line.accuracy)
        for line in lines
        if line.method == method and line.problem in chosen
    ]
    return float(np.mean(places)) if places else float("nan")


def depth(scores: gl.benchmark.Scores) -> None:
    """Accuracy against layers: best network of one filter and message passing, exact; the trained network measured."""
    names = ("reference", "many-labels", "deep")
    chosen = [problem for problem in gl.benchmark.problems() if problem.name in names]
    layers = np.arange(1, 11)
    linear = np.array([_best_linear(chosen, int(k)) for k in layers])
    figure = Figure(figsize=(9, 2.9), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, problem, curve in zip(figure.subplots(1, 3), chosen, linear.T, strict=True):
        passing = gl.theory.message_passing(problem.data, layers.size).test_accuracy
        axes.plot(layers, passing, "o-", ms=3, color="tab:blue", label="message passing")
        axes.plot(layers, curve, "s-", ms=3, color="tab:orange", label="any one filter")
        axes.axhline(problem.exact.bayes, color="black", lw=1, label="Bayes-optimal")
        axes.axhline(
            problem.exact.linear, color="tab:orange", lw=1, ls=":", label="all linear networks"
        )
        for count in (2, 5):
            trained = [
                line
                for line in scores.lines
                if (line.method, line.problem) == (f"{OWN}, {count} layers", problem.name)
            ]
            for line in trained:
                axes.errorbar(
                    count,
                    line.accuracy,
                    2 * line.standard_error,
                    fmt="kx",
                    ms=6,
                    label="trained network, measured",
                )
        axes.set_title(problem.name, fontsize=9)
        axes.set_xlabel("layers")
        print(problem.name, "linear", curve.round(4), "message passing", passing.round(4))
    figure.axes[0].set_ylabel("test accuracy")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    figure.axes[0].legend(unique.values(), unique.keys(), fontsize=7, loc="lower right")
    figure.savefig(IMAGES / "benchmark-depth.png", dpi=110)


def _best_linear(problems: list[gl.benchmark.Problem], order: int) -> np.ndarray:
    """Accuracy of the best polynomial of that order, at its best regularization."""
    parameters = {
        name: [getattr(p.data, name) for p in problems] for name in ("alpha", "lam", "mu", "rho")
    }
    return np.asarray(
        gl.best_filter(gl.CSBM(**parameters), order, symmetrize=True).prediction.test_accuracy
    )


def places(scores: gl.benchmark.Scores) -> None:
    """Place of each method between chance and the best possible, each problem a mark of its kind."""
    lines = scores.lines
    named = {line.problem for line in lines}
    problems = [
        p.name
        for p in (*gl.benchmark.problems(), *gl.benchmark.problems(aside=True))
        if p.name in named
    ]
    order = sorted(
        dict.fromkeys(line.method for line in lines), key=lambda method: _mean_place(lines, method)
    )
    figure = Figure(figsize=(9, 0.3 * len(order) + 1.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for problem in as_problems(problems):
        marks = [
            (as_place(line.problem, line.accuracy), order.index(line.method))
            for line in lines
            if line.problem == problem.name
        ]
        kind = _kind(problem)
        colour, marker = KINDS[kind]
        axes.scatter(*np.transpose(marks), s=16, color=colour, marker=marker, label=kind)
    axes.scatter(
        [_mean_place(lines, m) for m in order],
        range(len(order)),
        s=160,
        color="black",
        marker="|",
        label="mean",
    )
    axes.set_yticks(range(len(order)), order)
    axes.axvline(1.0, color="black", lw=1)
    axes.axvline(0.0, color="grey", lw=1, ls=":")
    axes.set_xlabel("place between chance (0) and the best possible (1)")
    handles, labels = axes.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    figure.legend(unique.values(), unique.keys(), fontsize=8, ncols=4, loc="outside lower center")
    figure.savefig(IMAGES / "benchmark-places.png", dpi=110)


def _kind(problem: gl.benchmark.Problem) -> str:
    """Name in `KINDS` of the kind of a problem: what sets it apart from two equal classes on one graph."""
    fractions = problem.data.fractions
    marks = {
        "kept aside": problem.aside,
        "another graph": problem.to is not None,
        "hubs": problem.data.degrees is not None,
        "unequal classes": float(np.ptp(fractions)) > 0,
        "three or more equal classes": len(fractions) > 2,
    }
    return next((kind for kind, holds in marks.items() if holds), "two equal classes")


if __name__ == "__main__":
    main()
