"""Labels drawn by class, 20 of each, or as many at random: what the fractions of the classes change.

    python -m benchmarks.real_fractions FILE.npz ... --out benchmarks/real_fractions.md

Accuracy on the nodes without labels in per cent, means over ten draws: with the fractions of the labels, as `GraphClassifier()`
chooses, and with the true ones; and in how many draws the stated interval holds the accuracy of the default.
"""

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import gcnlimit as gl

DRAWS = 10
LABELS = 20


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    names = ("labels", "of the labels", "default", "true", "within its interval")
    lines = ["| graph | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    warnings.simplefilter("ignore")
    for path in given.files:
        data = gl.real.read(path)
        for how, draw in (("by class", by_class), ("at random", at_random)):
            found = [
                scores(data, draw(data.y, np.random.default_rng(seed))) for seed in range(DRAWS)
            ]
            *means, inside = np.array(found).T
            cells = [
                how,
                *(f"{100 * np.mean(part):.1f}" for part in means),
                f"{int(np.sum(inside))} of {DRAWS}",
            ]
            lines.append(f"| {path.stem} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
            given.out.write_text("\n".join(lines) + "\n")


def by_class(y: Any, rng: np.random.Generator) -> Any:
    """Up to 20 labels of each class, at most half of it."""
    seen = np.full(len(y), -1)
    for c in np.unique(y[y >= 0]):
        mine = np.flatnonzero(y == c)
        seen[rng.choice(mine, min(LABELS, (len(mine) + 1) // 2), replace=False)] = c
    return seen


def at_random(y: Any, rng: np.random.Generator) -> Any:
    """As many labels as 20 of each class would be."""
    known = np.flatnonzero(y >= 0)
    some = rng.choice(known, min(LABELS * np.unique(y[known]).size, known.size // 2), replace=False)
    seen = np.full(len(y), -1)
    seen[some] = y[some]
    return seen


def scores(data: gl.real.Dataset, seen: Any) -> tuple[float, float, float, float]:
    """Accuracies with three fractions, and whether the interval holds that of the default."""
    test = np.where(seen < 0, data.y, -1)
    model = gl.GraphClassifier().fit(data.X, seen, graph=data.graph)
    labels, true = (np.array([np.sum(part == c) for c in model.classes_]) for part in (seen, test))
    plain, best = (
        model.score(y=test, fractions=np.maximum(part, 0.5) / np.maximum(part, 0.5).sum())
        for part in (labels, true)
    )
    default = model.score(y=test)
    _, low, high = model.expected_accuracy_
    return plain, default, best, float(low <= default <= high)


if __name__ == "__main__":
    main()
