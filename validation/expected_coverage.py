"""How often the interval that `GraphClassifier` states holds its accuracy on the other nodes, with few labels.

``python -m validation.expected_coverage FILE.npz ... --draws 40 --workers 16 --out expected.json`` draws 6, 9, 12, 20 and 50
labelled nodes of graphs that are sampled (four kinds) and of those in the files, and prints a row for each.
"""

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import gcnlimit as gl
from gcnlimit import real

LABELS = (6, 9, 12, 20, 50)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, help="every interval, as JSON")
    given = parser.parse_args()
    graphs = {"block model": sampled, "the same, heterophilous": partial(sampled, lam=-1.5)}
    graphs["classes 0.2/0.8"] = partial(sampled, lam=1.0, classes=(0.2, 0.8))
    graphs["three classes, few features"] = messy
    graphs |= {path.stem: partial(of_file, path=path) for path in given.files}
    print(
        "| graph | "
        + " | ".join(f"{n} labels" for n in LABELS)
        + " |\n| --- |"
        + " --- |" * len(LABELS)
    )
    rows = []
    with ProcessPoolExecutor(given.workers) as pool:
        for name, draw in graphs.items():
            jobs = [
                [pool.submit(covered, draw, k, labels) for k in range(given.draws)]
                for labels in LABELS
            ]
            found = [[job.result() for job in some] for some in jobs]
            print(f"| {name} | " + " | ".join(map(cell, found)) + " |", flush=True)
            rows += [{"graph": name} | row for some in found for row in some]
            if given.out:
                given.out.write_text(json.dumps(rows, indent=0))


def cell(rows):
    """Share of the intervals that hold the accuracy, their mean width and the mean accuracy."""
    inside, accuracy = (np.mean([row[key] for row in rows]) for key in ("inside", "accuracy"))
    width = np.mean([row["high"] - row["low"] for row in rows])
    return f"{100 * inside:.0f} % (width {width:.2f}, accuracy {accuracy:.2f})"


def sampled(k, lam=1.5, nodes=600, classes=2):
    """Features, classes and graph of the block model."""
    data = gl.CSBM(alpha=2, lam=lam, mu=2.0, rho=0.1, directed=False, classes=classes)
    i = gl.sample(data, nodes=nodes, degree=20, seed=k)
    return i.features, (i.labels > 0).astype(int), i.adjacency


def messy(k):
    """Three classes, three features, low degrees."""
    rng = np.random.default_rng(k)
    y = rng.integers(3, size=400)
    A = np.triu(rng.random((400, 400)) < np.where(y[:, None] == y, 0.025, 0.006), 1).astype(float)
    return rng.standard_normal((400, 3)) + rng.standard_normal((3, 3))[y], y, A + A.T


@cache
def _read(path):
    return real.read(path)


def of_file(k, path):
    """The graph in a file, whichever the draw."""
    data = _read(path)
    return data.X, data.y, data.graph


def covered(draw, k, labels):
    """Interval and accuracy with so many random labels, and whether the one holds the other."""
    X, y, A = draw(k)
    rng = np.random.default_rng([k, labels])
    seen = rng.choice(y.size, labels, replace=False)
    while np.unique(y[seen]).size < 2:
        seen = rng.choice(y.size, labels, replace=False)
    hidden = np.full(y.size, -1)
    hidden[seen] = y[seen]
    model = gl.GraphClassifier().fit(X, hidden, graph=A)
    accuracy = model.score(y=np.where(hidden < 0, y, -1))
    _, low, high = model.expected_accuracy_
    return {
        "labels": labels,
        "accuracy": accuracy,
        "low": low,
        "high": high,
        "inside": low <= accuracy <= high,
    }


if __name__ == "__main__":
    main()
