"""Fit classifiers on one graph and use them on another: halves of public graphs, two universities, the block model.

    python -m benchmarks.real_transfer FILE.npz ... --out benchmarks/real_transfer.md

A file is cut into random halves, and edges between them are left out; half of the nodes of each class are labelled, at most 20
(100 on chameleon_filtered and the block model). polblogs has no features and is given 100 of the block model. texas and
wisconsin, if both are given, are fitted whole, the classes of the one matched to the other's by their mean features; so are
twitch_de and twitch_fr, with 500 labels at random (two draws). The other columns on the other graph: its fractions of the
classes are given, or the classes of 20 or 50 random nodes (accuracy on the rest, means over ten draws); and how often
`GraphClassifier` warned that the fractions moved.
"""

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

import gcnlimit as gl
from benchmarks.real_ablation import mean_and_error
from gcnlimit.graphs.check import dense

SPLITS = 5
LABELS = {"chameleon_filtered": 100, "block model": 100, "twitch_de": 500, "twitch_fr": 500}
WHOLE = {("texas", "wisconsin"): SPLITS, ("twitch_de", "twitch_fr"): 2}  # pairs, and draws
AT_RANDOM = 500  # labels where there are so many, since fractions of the classes are to be seen
THERE = (20, 50)  # labels on the other graph,
TIMES = 10  # drawn so often
NODES, WIDTH, MARGIN = 2000, 500, 0.7


class Part(NamedTuple):
    """Features, classes and graph."""

    X: Any
    y: Any
    graph: Any


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    names = ["on its own graph", "features alone", "average", "fractions given"]
    names += [f"{count} labels there" for count in THERE]
    names += ["one filter", "tuned filter", "tuned minus same", "warned"]
    lines = [
        "| fitted on, used on | " + " | ".join(names) + " |",
        "| --- |" + " --- |" * len(names),
    ]
    for name, pairs in cases(given.files):
        found = np.array(
            [
                scores(*pair, LABELS.get(name.split(",")[0], 20), seed)
                for seed, pair in enumerate(pairs)
            ]
        )
        cells = [
            *(f"{mean:.1f}" for mean in found[:, :-1].mean(axis=0)),
            mean_and_error(found[:, -2] - found[:, -3]),
            f"{int(found[:, -1].sum())} of {len(found)}",
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
        given.out.write_text("\n".join(lines) + "\n")


def cases(files: list[Path]) -> Iterator[tuple[str, Iterator[tuple[Part, Part]]]]:
    """Pairs of graphs, a few for each name."""
    for there in (1.2, 0.0, -1.2):
        yield (
            f"block model, signal 1.2, then {there:g}",
            (drawn(1.2, there, seed) for seed in range(SPLITS)),
        )
    read = {path.stem: gl.real.read(path) for path in files}
    for name, data in read.items():
        if not any(name in pair for pair in WHOLE):
            yield name, (halves(data, seed) for seed in range(SPLITS))
    for pair, draws in WHOLE.items():
        if set(pair) <= set(read):
            for one, two in (pair, pair[::-1]):
                named = matched if pair == ("texas", "wisconsin") else unchanged
                whole = named(read[one], read[two])
                yield f"{one}, {two}", (whole for _ in range(draws))


def scores(fit: Part, other: Part, labels: int, seed: int) -> list[float]:
    """Accuracies in per cent on the other nodes of the graph of the fit and on the other graph, and whether a warning came."""
    rng, seen = np.random.default_rng(seed), np.full(len(fit.y), -1)
    classes = np.unique(fit.y)
    if labels == AT_RANDOM:
        some = rng.choice(len(fit.y), labels, replace=False)
        seen[some] = fit.y[some]
    for c in () if labels == AT_RANDOM else classes:
        mine = np.flatnonzero(fit.y == c)
        seen[rng.choice(mine, min(labels, (len(mine) + 1) // 2), replace=False)] = c
    model = gl.GraphClassifier().fit(fit.X, seen, graph=fit.graph)
    alone = gl.FilterClassifier(strengths=0.0).fit(fit.X, seen, graph=fit.graph)
    single = gl.FilterClassifier().fit(fit.X, seen, graph=fit.graph)
    found = [model.score(y=np.where(seen < 0, fit.y, -1))]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found += [one.score(other.X, other.y, graph=other.graph) for one in (alone, model)]
    moved = any("other fractions" in str(one.message) for one in told)
    counts = np.maximum([np.sum(other.y == c) for c in classes], 0.5)
    share = counts / counts.sum()
    found.append(model.score(other.X, other.y, graph=other.graph, fractions=share))
    found += [with_labels(model, other, count, rng) for count in THERE]
    found.append(single.score(other.X, other.y, graph=other.graph))
    found.append(single.set_params(deploy="tuned").score(other.X, other.y, graph=other.graph))
    return [*(100 * score for score in found), float(moved)]


def with_labels(model: Any, other: Part, count: int, rng: np.random.Generator) -> float:
    """Accuracy on another graph if the classes of some random nodes there recalibrate the outputs."""
    found = []
    for _ in range(TIMES):
        known, some = np.full(len(other.y), -1), rng.choice(len(other.y), count, replace=False)
        known[some] = other.y[some]
        told = model.predict(other.X, other.graph, y=known)
        found.append(np.mean((told == other.y)[known < 0]))
    return float(np.mean(found))


def halves(data: gl.real.Dataset, seed: int) -> tuple[Part, Part]:
    rng = np.random.default_rng(seed)
    first = rng.random(data.nodes) < 0.5
    X = features_of_model(data.y, rng) if data.X is None else data.X
    one, two = (
        Part(X[part], data.y[part], data.graph[part][:, part])
        for part in map(np.flatnonzero, (first, ~first))
    )
    return one, two


def features_of_model(y: Any, rng: np.random.Generator, width: int = 100) -> Any:
    """Two classes whose best linear classifier has a margin of `MARGIN`."""
    return (
        rng.standard_normal((len(y), width))
        + MARGIN / width**0.5 * np.where(y == 1, 1.0, -1.0)[:, None]
    )


def drawn(here: float, there: float, seed: int) -> tuple[Part, Part]:
    """Two graphs of the block model, their features alike."""
    found, rng = [], np.random.default_rng(seed)
    for k, lam in enumerate((here, there)):
        data = gl.CSBM(alpha=NODES / WIDTH, lam=lam, mu=0.0, rho=0.1, directed=False)
        graph = gl.sample(data, nodes=NODES, degree=30, seed=2 * seed + k)
        y = (graph.labels > 0).astype(int)
        found.append(Part(features_of_model(y, rng, WIDTH), y, graph.adjacency))
    return found[0], found[1]


def unchanged(one: gl.real.Dataset, two: gl.real.Dataset) -> tuple[Part, Part]:
    """Both whole, with their own classes."""
    return Part(one.X, one.y, one.graph), Part(two.X, two.y, two.graph)


def matched(one: gl.real.Dataset, two: gl.real.Dataset) -> tuple[Part, Part]:
    """Both whole, the classes of the second named as those of the first that they resemble."""
    centroids = []
    for data in (one, two):
        means = np.stack(
            [dense(data.X[np.flatnonzero(data.y == c)]).mean(axis=0) for c in np.unique(data.y)]
        )
        apart = means - means.mean(axis=0)
        centroids.append(apart / np.linalg.norm(apart, axis=1, keepdims=True))
    name = linear_sum_assignment(centroids[1] @ centroids[0].T, maximize=True)[1]
    return Part(one.X, one.y, one.graph), Part(two.X, name[two.y], two.graph)


if __name__ == "__main__":
    main()
