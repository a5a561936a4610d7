"""Labels of whole groups of nodes, and labels by chance: what `GraphClassifier` says of them, and whether its interval holds.

``python -m validation.grouped_labels FILE.npz ... --draws 10`` labels whole households, companies, regions and clusters of near
duplicates of graphs with 1 200 nodes, and nodes found by breadth-first search in the files, as well as random nodes and 20 nodes
of each class of all of them. It prints how often groups are said to be labelled, and how often the stated interval holds the
accuracy on the other nodes. ``--chance 100`` counts false alarms alone, with so many draws of each kind and the true classes
in place of the outputs, on the files and on the graphs of `graph_kinds.py` too.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import gcnlimit as gl
from gcnlimit import real
from gcnlimit.graphs.blocks import labelled_in_groups
from gcnlimit.graphs.check import as_adjacency
from gcnlimit.graphs.labels import as_labels, classes_of_nodes
from gcnlimit.graphs.scaling import Scaling
from validation.graph_kinds import KINDS, joined

Generator = np.random.Generator
NODES = 1200
GROUPS = {"households": 4, "companies": 20, "duplicates": 4, "regions": 40}


def in_groups(rng: Generator, kind: str) -> tuple[Any, Any, Any, Any]:
    """Features, classes, graph and groups."""
    size, count = GROUPS[kind], int(rng.integers(2, 5))
    sizes = rng.integers(max(size // 2, 2), size + size // 2 + 1, size=NODES)
    group = np.repeat(np.arange(NODES), sizes)[:NODES]
    y = np.where(rng.random(NODES) < 0.9, rng.integers(count, size=NODES)[group], 0)
    y = np.where(rng.random(NODES) < 0.9, y, rng.integers(count, size=NODES))
    own = {"duplicates": 0.1, "regions": 1.5}.get(kind, 1.0)
    X = 0.5 * rng.standard_normal((count, 10))[y] + rng.standard_normal((NODES, 10))[group]
    X += own * rng.standard_normal(X.shape)
    inside = {"households": 0.9, "companies": 0.3, "duplicates": 0.0}
    rate = np.where(y[:, None] == y, 8.0, 3.0) / NODES
    if kind == "regions":
        place = rng.random((NODES, 2))[group] + 0.05 * rng.standard_normal((NODES, 2))
        apart = np.linalg.norm(place[:, None] - place, axis=2)
        rate = 0.5 * (apart < np.quantile(apart, 12.0 / NODES))
    elif inside[kind]:
        rate = np.where(group[:, None] == group, inside[kind], rate)
    return X, y, sparse.csr_array(joined(rng, rate)), group


def around(rng: Generator, y: Any, A: Any, count: int) -> Any:
    """Nodes of known class found by breadth-first search from two of them."""
    order: list[int] = [int(i) for i in rng.choice(np.flatnonzero(y >= 0), 2, replace=False)]
    met, k = {*order}, 0
    while sum(y[i] >= 0 for i in order[:k]) < count:
        if k == len(order):
            order.append(int(rng.choice([i for i in range(len(y)) if i not in met])))
        near = A.indices[A.indptr[order[k]] : A.indptr[order[k] + 1]]
        order += [int(j) for j in rng.permutation(near) if j not in met]
        met.update(order)
        k += 1
    return np.isin(np.arange(len(y)), order[:k]) & (y >= 0)


def by_chance(rng: Generator, y: Any) -> Iterator[tuple[str, Any]]:
    """Nodes of known class, at random and so many of each class."""
    known = rng.permutation(np.flatnonzero(y >= 0))
    for share in (0.05, 0.2, 0.5):
        yield f"{share:.0%} at random", np.isin(np.arange(y.size), known[: int(share * y.size)])
    for count in (5, 20):
        each = [known[y[known] == c] for c in np.unique(y[known])]
        some = np.concatenate([c[: min(count, c.size // 2)] for c in each])
        yield f"{count} of each class", np.isin(np.arange(y.size), some)


def told(X: Any, y: Any, A: Any, seen: Any) -> tuple[bool, bool] | None:
    """Whether groups are said to be labelled, and whether the interval holds the accuracy on the others."""
    if np.unique(y[seen]).size < 2:
        return None
    model = gl.GraphClassifier().fit(X, np.where(seen, y, -1), graph=A)
    rest = ~seen & (y >= 0)
    accuracy = float(np.mean((model.predict() == y)[rest]))
    _, low, high = model.expected_accuracy_
    return bool(model.grouped_), low <= accuracy <= high


def alarms(rng: Generator, X: Any, y: Any, A: Any, draws: int) -> tuple[int, int]:
    """False alarms with the true classes in place of the outputs, and draws."""
    A = as_adjacency(A)
    scaled = None if X is None else Scaling.of(X, "auto")(X)
    found = []
    for _, seen in (one for _ in range(draws) for one in by_chance(rng, y)):
        if (classes := np.unique(y[seen])).size > 1:
            labels = as_labels(np.where(seen, y, -1), y.size)
            found.append(bool(labelled_in_groups(labels, (y[:, None] == classes) * 1.0, A, scaled)))
    return sum(found), len(found)


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--chance", type=int, metavar="DRAWS")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    files = {path.stem: real.read(path) for path in asked.files}
    known = {name: classes_of_nodes(d.y, d.nodes) for name, d in files.items()}
    if asked.chance:
        return _chance(asked, files, known)
    rows: dict[str, list[tuple[bool, bool] | None]] = {}
    for k in range(asked.draws):
        for kind in GROUPS:
            rng = np.random.default_rng([asked.seed, k, len(kind)])
            X, y, A, group = in_groups(rng, kind)
            for share in (0.05, 0.2, 0.5):
                whole = np.isin(group, np.flatnonzero(rng.random(group.max() + 1) < share))
                rows.setdefault(f"{kind}, {share:.0%}", []).append(told(X, y, A, whole))
            for how, seen in by_chance(rng, y):
                rows.setdefault(f"{how} ({', '.join(GROUPS)})", []).append(told(X, y, A, seen))
        for name, data in files.items():
            rng = np.random.default_rng([asked.seed, k, len(name)])
            y, A = known[name], as_adjacency(data.graph)
            for count in (50, y.size // 5):
                seen = around(rng, y, A, count)
                kind = "50 nodes" if count == 50 else "a fifth of the nodes"
                rows.setdefault(f"{kind} by search", []).append(told(data.X, y, A, seen))
            for how, seen in by_chance(rng, y):
                rows.setdefault(f"{how} (files)", []).append(told(data.X, y, A, seen))
    print("| labels | fits | said to be groups | interval holds |\n| --- | --- | --- | --- |")
    for name, each in rows.items():
        some = [one for one in each if one is not None]
        said, inside = (sum(column) for column in zip(*some, strict=True))
        print(f"| {name} | {len(some)} | {said} | {inside} |")
    return 0


def _chance(asked: Any, files: dict[str, Any], known: dict[str, Any]) -> int:
    """Print the false alarms on files and kinds."""
    rng = np.random.default_rng(asked.seed)
    total = np.zeros(2, int)
    for name, data in files.items():
        total += (some := alarms(rng, data.X, known[name], data.graph, asked.chance))
        print(f"{name}: {some[0]} of {some[1]}", flush=True)
    for kind, draw in KINDS.items():
        y = rng.integers(3, size=600)
        X = rng.standard_normal((600, 10)) + 0.5 * rng.standard_normal((3, 10))[y]
        A = np.asarray(draw(rng, y, X), float)
        total += (some := alarms(rng, X, y, sparse.csr_array(A), asked.chance))
        if some[0]:
            print(f"{kind}: {some[0]} of {some[1]}", flush=True)
    print(f"{total[0]} false alarms in {total[1]} draws")
    return int(total[0] > 0.02 * total[1])


if __name__ == "__main__":
    sys.exit(main())
