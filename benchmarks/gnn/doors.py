"""The message-passing network through both of its doors, beside message passing that knows the parameters.

    python -m benchmarks.gnn.doors --nodes 10000 --degree 60 --graphs 5 --device cuda --out FILE.json    # minutes
    python -m benchmarks.gnn.doors --nodes 2000 --graphs 3 --out FILE.json                               # on a processor

Problems of unequal classes and of hubs that are not in the suite. The function and the estimator give the same accuracy on every
graph, within two standard errors of `amp`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import gcnlimit as gl

PROBLEMS = {
    "two, .3 and .7": gl.CSBM(2.5, 0.9, 1.6, 0.15, classes=(0.3, 0.7)),
    "two, .15 and .85, heterophily": gl.CSBM(2, -0.8, 1.5, 0.2, classes=(0.15, 0.85)),
    "three, .6, .25 and .15": gl.CSBM(3, 0.9, 2.0, 0.15, classes=(0.6, 0.25, 0.15)),
    "four, .4 to .1": gl.CSBM(2, 1.0, 2.5, 0.2, directed=False, classes=(0.4, 0.3, 0.2, 0.1)),
    "Gamma(0.5)": gl.CSBM(4, 1.0, 2.0, 0.1, degrees=gl.Gamma(0.5)),
    "Gamma(2), heterophily": gl.CSBM(3, -1.0, 1.5, 0.15, degrees=gl.Gamma(2.0)),
    "Pareto": gl.CSBM(3, 1.2, 2.0, 0.1, directed=False, degrees=gl.Pareto(2.5, 50.0)),
    "equal, no hubs": gl.CSBM(3, 0.9, 1.5, 0.15),
}


def main() -> None:
    """Measure every problem, print a row for each, and keep the accuracies."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--degree", type=float, default=60.0)
    parser.add_argument("--graphs", type=int, default=5)
    parser.add_argument("--device", default="cpu", help="device of PyTorch")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    rows = {}
    for name, data in PROBLEMS.items():
        graphs = (
            gl.sample(data, given.nodes, degree=given.degree, seed=seed)
            for seed in range(given.graphs)
        )
        rows[name] = [accuracies(graph, given.device) for graph in graphs]
        print(row(name, 100.0 * np.array(rows[name])), flush=True)
        given.out.write_text(json.dumps(rows, indent=1) + "\n")


def accuracies(instance: gl.Instance, device: str) -> tuple[float, float, float]:
    """Accuracy of `amp`, of the function and of the estimator on one graph."""
    from gcnlimit.nn import MessagePassingClassifier, message_passing_scores

    truth = instance.data.classes.index_of(instance.labels)
    known = np.where(instance.train_mask, truth, -1)
    X, A = np.asarray(instance.features), instance.adjacency
    scores = message_passing_scores(X, A, known, device=device).argmax(1)
    model = MessagePassingClassifier(device=device).fit(X, known, graph=A)
    test = ~instance.train_mask
    both = [float(np.mean(found[test] == truth[test])) for found in (scores, model.predict())]
    return float(gl.amp(instance).performance.test_accuracy), both[0], both[1]


def row(name: str, found: np.ndarray) -> str:
    """Means, and the difference to `amp` with its standard error."""
    gain = found[:, 2] - found[:, 0]
    error = gain.std(ddof=1) / gain.size**0.5 if gain.size > 1 else np.nan
    amp, function, estimator = found.mean(axis=0)
    ahead = f"estimator - amp {gain.mean():+.2f} ± {error:.2f}"
    return f"{name:30} amp {amp:.2f}, function {function:.2f}, estimator {estimator:.2f}, {ahead}"


if __name__ == "__main__":
    main()
