"""What each part of `GraphClassifier` is worth on public graphs: parts left out, the choice instead of the average, scales.

    python -m benchmarks.real_ablation FILE.npz ... --splits 5 --workers 2 --out benchmarks/real_ablation.md

Accuracy on the test nodes in per cent (ROC AUC for two unequal classes), and its mean difference from the default on the same
splits. With ``--half``, half of the labels of each graph are drawn instead.
"""

import argparse
import copy
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.real_graphs import dataset, quality
from gcnlimit.graphs.operator import propagation
from gcnlimit.real import bank, views
from gcnlimit.real.classifier import GraphClassifier
from gcnlimit.real.ensemble import _mixture

LEFT_OUT = {
    "without negative strengths": ("PageRank -",),
    "without PageRank": ("PageRank",),
    "without leading directions": ("leading",),
    "without rows of the graph": ("PageRank 0.9, rows", "features, rows", "pairs of rows"),
    "without pairs of columns": ("pairs of",),
    "without the neighbourhood kernel": ("neighbourhood",),
    "without labels as input": ("labels",),
    "without random units": ("random units",),
    "without a forest": ("forest",),
}
MARKS = (50, 200)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--half", action="store_true", help="half of the labels of each graph")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    splits = [(path, n, given.half) for path in given.files for n in range(given.splits)]
    columns: dict[str, dict[str, list[float]]] = {path.stem: {} for path in given.files}
    with ProcessPoolExecutor(given.workers) as pool:
        for (path, split, _), scores in zip(
            splits, pool.map(_split, *zip(*splits, strict=True)), strict=True
        ):
            for name, score in scores.items():
                columns[path.stem].setdefault(name, []).append(100 * score)
            print(path.stem, split, scores, flush=True)
    given.out.write_text(_table(columns))


def _table(columns: dict[str, dict[str, list[float]]]) -> str:
    names = list(next(iter(columns.values())))
    lines = ["| | " + " | ".join(columns) + " |", "| --- |" + " --- |" * len(columns)]
    for name in names:
        cells = [
            _cell(column[name], column[names[0]], name == names[0]) for column in columns.values()
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(scores: list[float], default: list[float], first: bool) -> str:
    return f"{np.mean(scores):.1f}" if first else mean_and_error(np.subtract(scores, default))


def mean_and_error(differences: Any) -> str:
    """Mean of paired differences, and its standard error where it is known."""
    mean, count = float(np.mean(differences)), len(differences)
    return f"{mean:+.1f}" + (
        f" ± {np.std(differences, ddof=1) / count**0.5:.1f}" if count > 1 else ""
    )


def _split(path: Path, split: int, half: bool) -> dict[str, float]:
    """Scores of every variant on one split of one data set, if it has that many."""
    data = dataset(path, half)
    return _variants(data, split) if split < data.splits else {}


def _variants(data: Any, split: int) -> dict[str, float]:
    y, test = data.training(split), data.testing(split)

    def score(probabilities: Any) -> float:
        return quality(model.classes_, probabilities, data.y, test >= 0)

    def fitted(**options: Any) -> Any:
        return GraphClassifier(**options).fit(data.X, y, graph=data.graph)

    model = fitted()
    ensemble = model._model
    about = (ensemble.views, ensemble.labels)

    def mixture(kept: Any) -> Any:
        return _mixture(ensemble.fitted, ensemble.share, kept)

    members = list(bank.members(*about, ensemble.told))
    others = mixture(lambda one: one.name not in bank.PAIRS)
    members += bank.on_pairs(*about, members, others)

    def mixed(mixture: Any, relearn: bool = True) -> float:
        other = copy.copy(ensemble)
        other.weights, other.bank = mixture, members
        other.scores = other._scores(other.views, mixture, members)
        if relearn:
            other.relearn(model._offset)
        return score(np.exp(other.scores + model._offset))

    found = {"default": score(model.predict_proba())}
    whole = mixture(lambda one: True)
    largest = max(weights.max() for weights in whole.values())
    found["always with the graph"] = mixed(whole)
    found["without learning from all nodes"] = mixed(ensemble.weights, relearn=False)
    found["the best instead of the average"] = mixed(
        {n: (w == largest).astype(float) for n, w in whole.items()}
    )
    for name, parts in LEFT_OUT.items():
        kept = [one for one in ensemble.fitted if not any(part in one for part in parts)]
        found[name] = found["always with the graph"]
        if len(kept) < len(ensemble.fitted):
            found[name] = mixed(mixture(lambda one, kept=kept: one.name in kept))
    found["fractions of the labels"] = score(fitted(fractions="labels").predict_proba())
    other = "rows" if ensemble.scaling.how == "columns" else "columns"
    found["columns standardized, or rows where they are"] = score(
        fitted(scale=other).predict_proba()
    )
    views.propagation = lambda graph, kind, *loops: propagation(
        graph, "regularized" if kind == "centred" else kind, *loops
    )
    found["PageRank on the regularized operator"] = score(fitted().predict_proba())
    views.propagation = propagation
    usual = bank.LANDMARKS
    for marks in MARKS:
        bank.LANDMARKS = marks
        same = model.labelled_.size <= marks
        found[f"{marks} landmarks"] = found["default"] if same else score(fitted().predict_proba())
    bank.LANDMARKS = usual
    return found


if __name__ == "__main__":
    main()
