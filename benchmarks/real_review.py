"""Which nodes to label next: accuracy after 50 more labels, chosen by a fitted classifier or at random.

    python -m benchmarks.real_review FILE.npz ... --out benchmarks/real_review.md

Half of the nodes, drawn at random, may be labelled: five of each class are, `GraphClassifier` is fitted, and 50 more are chosen.
The accuracy is that on the other half, in per cent; means over the draws, and differences from 50 nodes at random on the same
draws with their standard errors. *least certain* takes the least differences of the two largest probabilities; *and linked*
multiplies how uncertain a node is by the logarithm of 1 + its degree; *spread* takes the nodes nearest to 50 centres (k-means) of
the nodes' features smoothed by PageRank of strength 0.9; *least certain, spread*, which is `GraphClassifier.review`, does so of
nodes drawn by how uncertain they are.
"""

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import gcnlimit as gl
from benchmarks.real_ablation import mean_and_error
from gcnlimit.graphs.scaling import unit_rows
from gcnlimit.numerics.uncertain import uncertain_and_spread
from gcnlimit.real.classifier import SMOOTH

FIRST, MORE = 5, 50


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    lines: list[str] = []
    for path in given.files:
        draws = [scores(gl.real.read(path), seed) for seed in range(given.draws)]
        start, random, *others = (np.array([draw[name] for draw in draws]) for name in draws[0])
        if not lines:
            names = ["graph", *draws[0]]
            lines = ["| " + " | ".join(names) + " |", "| --- |" + " --- |" * (len(names) - 1)]
        cells = [
            f"{np.mean(start):.1f}",
            f"{np.mean(random):.1f}",
            *(mean_and_error(one - random) for one in others),
        ]
        lines.append(f"| {path.stem} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
        given.out.write_text("\n".join(lines) + "\n")


def scores(data: gl.real.Dataset, seed: int) -> dict[str, float]:
    """Accuracy before and after each choice."""
    rng = np.random.default_rng(seed)
    pool = (rng.random(data.nodes) < 0.5) & (data.y >= 0)
    test = np.where(pool, -1, data.y)
    seen = np.zeros(data.nodes, bool)
    for c in np.unique(data.y[pool]):
        seen[rng.permutation(np.flatnonzero(pool & (data.y == c)))[:FIRST]] = True

    def fitted(nodes: Any) -> gl.GraphClassifier:
        return gl.GraphClassifier().fit(data.X, np.where(nodes, data.y, -1), graph=data.graph)

    model = fitted(seen)
    found = {f"{FIRST} a class": 100 * model.score(y=test)}
    for name, chosen in choices(model, np.flatnonzero(pool & ~seen), rng).items():
        more = seen.copy()
        more[chosen] = True
        found[name] = 100 * fitted(more).score(y=test)
    return found


def choices(model: Any, free: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Nodes to label next, by each rule."""
    largest = np.sort(model.predict_proba(), axis=1)
    unsure = 1.0 - (largest[:, -1] - largest[:, -2])
    views = model._model.views
    smooth = unit_rows(views.pagerank([SMOOTH])[0])
    alike = np.full((views.nodes, 2), 0.5)
    linked = unsure * np.log1p(views.degrees)
    return {
        "random": rng.choice(free, min(MORE, free.size), replace=False),
        "least certain": free[np.argsort(-unsure[free], kind="stable")[:MORE]],
        "least certain and linked": free[np.argsort(-linked[free], kind="stable")[:MORE]],
        "spread": uncertain_and_spread(smooth, alike, free, MORE),
        "least certain, spread": uncertain_and_spread(smooth, model.predict_proba(), free, MORE),
    }


if __name__ == "__main__":
    main()
