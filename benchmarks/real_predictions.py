"""Predicted against measured accuracy on public graphs, before and after the theory knows the law of the degrees.

    python -m benchmarks.real_predictions FILE.npz ... --out benchmarks/real_predictions.md

Signals are estimated from all labels, classes count as equal, and features are standardized (noise where there are none). The
network is diffusion of strength 1 at infinite regularization on the adjacency matrix less its mean (normalization "none"), and
with the symmetric normalization; `fit` trains the very network that `predict` predicts, on the training nodes of the first
splits. The best possible accuracy stands beside that of `GraphClassifier`. Without a law of the degrees all normalizations are
predicted alike.
"""

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import gcnlimit as gl
from benchmarks.real_graphs import dataset
from gcnlimit.graphs.check import column_spread, dense

SPLITS = 3
NETWORKS = [gl.GCN(gl.Diffusion(1.0), normalization=kind) for kind in ("none", "symmetric")]
HEAD = (
    "graph",
    "signal of graph, features",
    "noise",
    "any, no law",
    "none, law",
    "none, measured",
    "symmetric, law",
    "symmetric, measured",
    "best possible, no law",
    "best possible, law",
    "GraphClassifier",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = ["| " + " | ".join(HEAD) + " |", "| --- |" + " --- |" * (len(HEAD) - 1)]
    for path in given.files:
        lines.append(f"| {path.stem} | " + " | ".join(row(dataset(path))) + " |")
        print(lines[-1], flush=True)
        given.out.write_text("\n".join(lines) + "\n")


def row(data: gl.real.Dataset) -> list[str]:
    """Cells of one data set, accuracies in per cent."""
    found = gl.describe(data.X, data.y, data.graph)
    signals, degrees = found.estimate, gl.Degrees(np.diff(data.graph.indptr))
    splits = range(min(data.splits, SPLITS))
    rho = float(np.mean([np.mean(data.training(split) >= 0) for split in splits]))
    usual: dict[str, Any] = {"directed": False, "classes": signals.classes.size}
    before, after = (
        gl.CSBM(signals.alpha, signals.lam, max(signals.mu, 0.0), rho, **usual, degrees=law)
        for law in (None, degrees)
    )
    plain, symmetric = (said(gl.predict, after, gcn) for gcn in NETWORKS)
    on_plain, on_symmetric, ours = np.mean(
        [measured(data, after, split) for split in splits], axis=0
    )
    numbers = [said(gl.predict, before, NETWORKS[0]), plain, on_plain, symmetric, on_symmetric]
    numbers += [said(gl.bayes_optimal, model) for model in (before, after)]
    shown = (
        "refused" if np.isnan(number) else f"{100 * number:.1f}" for number in (*numbers, ours)
    )
    return [f"{signals.lam:.2f}, {signals.mu:.2f}", f"{found.noise_level:.2f}", *shown]


def said(function: Any, *values: Any) -> float:
    """Predicted or measured accuracy, NaN where there is none."""
    try:
        found = function(*values)
    except gl.GCNLimitError:
        return float("nan")
    return float(getattr(found, "performance", found).test_accuracy)


def measured(data: gl.real.Dataset, model: gl.CSBM, split: int) -> list[float]:
    """Accuracy of both networks and of the classifier on the nodes that are not labelled."""
    y, seen = data.y, data.training(split) >= 0
    noise = np.random.default_rng(split)
    X = noise.standard_normal((data.nodes, data.nodes)) if data.X is None else standardized(data.X)
    two = np.unique(y[y >= 0]).size == 2
    labels = np.select([y == 1, y == 0], [1.0, -1.0], np.nan) if two else np.where(y < 0, np.nan, y)
    instance = gl.Instance.of(data.graph, X, labels, seen, data=model)
    found = [said(gl.fit, instance, gcn) for gcn in NETWORKS]
    classifier = gl.GraphClassifier().fit(data.X, np.where(seen, y, -1), graph=data.graph)
    return [*found, classifier.score(y=np.where(seen, -1, y))]


def standardized(X: Any) -> Any:
    mean, spread, varies = column_spread(X)
    return (dense(X)[:, varies] - mean[varies]) / spread[varies]


if __name__ == "__main__":
    main()
