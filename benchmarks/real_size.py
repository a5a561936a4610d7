"""Seconds of `GraphClassifier` against the size of the graph, beside PyTorch Geometric's GCN and scikit-network's diffusion.

    python -m benchmarks.real_size --out benchmarks/real_size.md

Graphs of five classes whose edges join equal classes about seven times as often as others; up to 100 features are Gaussian, more
are sparse counts unless they are said to be dense. Seconds are those of the processor, one thread, the packages imported before.
The GCN has the usual settings and 200 epochs, of which 20 are measured. Accuracy on nodes without a label beside leave-one-out
shows that no label leaks into its own prediction. Packages that cannot be imported are left out. The large graphs are measured
with ours alone, each in a process of its own (``--alone 0``), so that its largest memory is known; the last is drawn from the
model with hubs.
"""

import argparse
import contextlib
import importlib
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = os.environ[
    "MKL_NUM_THREADS"
] = "1"

import numpy as np
from scipy import sparse

import gcnlimit as gl

CLASSES, WIDE = 5, 200
EPOCHS, MEASURED = 200, 20


class Size(NamedTuple):
    """A graph to be drawn."""

    nodes: int
    edges: int
    features: int
    labels: int
    dense: bool = False
    classes: int = CLASSES
    hubs: bool = False

    def __str__(self) -> str:
        kind = ", dense" if self.dense else ""
        return f"{self.nodes} | {self.edges} | {self.features}{kind} | {self.labels}"


NODES = [Size(n, 5 * n, 100, 500) for n in (3000, 10_000, 30_000)]
LABELS = [Size(10_000, 50_000, 300, n) for n in (250, 500, 1000, 2000, 4000)]
NAMED = [
    Size(2700, 5300, 1433, 140),
    Size(2200, 94_000, 2100, 1050),
    Size(7600, 30_000, 930, 3650),
    Size(12_000, 519_000, 10, 5900),
    Size(12_000, 60_000, 100, 6000),
    Size(12_000, 60_000, 300, 6000, dense=True),
]
LARGE = [
    Size(100_000, 1_000_000, 100, 5000),
    Size(1_000_000, 5_000_000, 50, 5000),
    Size(200_000, 2_000_000, 128, 90_000, classes=40, hubs=True),
]
METHODS: dict[str, Callable[..., tuple[float, str]]] = {}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path)
    parser.add_argument("--alone", type=int, help="only this large graph, in this process")
    given = parser.parse_args()
    if given.alone is not None:
        print(alone(LARGE[given.alone]))
    else:
        table(given.out)


def alone(size: Size) -> str:
    """Row of one large graph: seconds and GiB, the drawing of the graph included in the latter."""
    ours(*drawn(Size(500, 2500, 20, 100)))  # imports what is imported at first use
    parts = drawn(size)
    start = time.process_time()
    _, told = ours(*parts)
    seconds = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return f"| {size} | {size.classes} | {seconds:.0f} s | {memory:.1f} GiB | {told} |"


def table(out: Path) -> None:
    METHODS.update(methods())
    names = ["nodes", "edges", "features", "labels", *METHODS, "leave-one-out", "other nodes"]
    lines = ["| " + " | ".join(names) + " |", "| --- |" + " --- |" * (len(names) - 1)]
    seconds: dict[Size, list[float]] = {}
    ours(*drawn(Size(500, 2500, 20, 100)))  # imports what is imported at first use
    for size in (*NODES, *LABELS, *NAMED):
        seconds[size], right = measured(size)
        lines.append(
            "| " + " | ".join([str(size), *(f"{s:.2g} s" for s in seconds[size]), right]) + " |"
        )
        print(lines[-1], flush=True)
        out.write_text("\n".join(lines) + "\n")
    lines += ["", exponents(seconds), ""]
    names = [
        "nodes",
        "edges",
        "features",
        "labels",
        "classes",
        "GraphClassifier",
        "memory",
        "leave-one-out",
        "other nodes",
    ]
    lines += ["| " + " | ".join(names) + " |", "| --- |" + " --- |" * (len(names) - 1)]
    for k in range(len(LARGE)):
        command = [sys.executable, "-m", "benchmarks.real_size", "--alone", str(k)]
        lines.append(subprocess.check_output(command, text=True).strip())
        out.write_text("\n".join(lines) + "\n")


def measured(size: Size) -> tuple[list[float], str]:
    """Seconds of each method, and the two accuracies of the first."""
    parts = drawn(size)
    found, told = [], ""
    for method in METHODS.values():
        start = time.process_time()
        extrapolated, said = method(*parts)
        found.append((time.process_time() - start) * extrapolated)
        told = told or said
    return found, told


def exponents(seconds: dict[Size, list[float]]) -> str:
    """Exponents of the seconds in the number of nodes (edges grow alike) and, at fixed size, of labels."""
    told = []
    for k, name in enumerate(METHODS):
        for what, sizes in (("nodes", NODES), ("labels", LABELS)):
            x = [np.log(getattr(size, what)) for size in sizes]
            slope = np.polyfit(x, [np.log(seconds[size][k]) for size in sizes], 1)[0]
            told.append(f"{name} {slope:.2f} in {what}")
    return "Fitted exponents:\n" + ",\n".join(told) + "."


def ours(X: Any, y: Any, seen: Any, graph: Any) -> tuple[float, str]:
    model = gl.GraphClassifier().fit(X, np.where(seen, y, -1), graph=graph)
    right = model.score(y=np.where(seen, -1, y))
    return 1.0, f"{model.loo_score_:.3f} ± {model.loo_score_error_:.3f} | {right:.3f}"


def diffusion(X: Any, y: Any, seen: Any, graph: Any) -> tuple[float, str]:
    from sknetwork.classification import DiffusionClassifier

    DiffusionClassifier().fit(sparse.csr_matrix(graph), labels=np.where(seen, y, -1)).predict()
    return 1.0, ""


def usual_gcn(X: Any, y: Any, seen: Any, graph: Any) -> tuple[float, str]:
    """The first epochs of a training, and how many times as many there are in all."""
    import torch
    from torch_geometric.nn import GCNConv

    torch.set_num_threads(1)
    x = torch.from_numpy(np.asarray(sparse.csr_array(X).toarray(), np.float32))
    edges, wanted = (
        torch.from_numpy(np.stack(graph.nonzero()).astype(np.int64)),
        torch.from_numpy(y),
    )
    layers = torch.nn.ModuleList(
        [GCNConv(x.shape[1], 16, cached=True), GCNConv(16, CLASSES, cached=True)]
    )
    optimizer = torch.optim.Adam(layers.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(MEASURED):
        optimizer.zero_grad()
        h = layers[0](torch.nn.functional.dropout(x, 0.5), edges).relu()
        h = layers[1](torch.nn.functional.dropout(h, 0.5), edges)
        torch.nn.functional.cross_entropy(h[seen], wanted[seen]).backward()
        optimizer.step()
    return EPOCHS / MEASURED, ""


def methods() -> dict[str, Callable[..., tuple[float, str]]]:
    """Ours, and those whose packages can be imported."""
    found: dict[str, Callable[..., tuple[float, str]]] = {"GraphClassifier": ours}
    others = (
        ("PyG GCN", "torch_geometric.nn", usual_gcn),
        ("scikit-network diffusion", "sknetwork.classification", diffusion),
    )
    for name, package, method in others:
        with contextlib.suppress(ImportError):
            importlib.import_module(package)
            found[name] = method
    return found


def drawn(size: Size) -> tuple[Any, Any, Any, Any]:
    """Features, classes, which of them are known, and a graph."""
    if size.hubs:
        return of_model(size)
    rng = np.random.default_rng(0)
    y = rng.integers(CLASSES, size=size.nodes)
    ends = rng.integers(size.nodes, size=(2, 5 * size.edges))
    kept = rng.random(ends.shape[1]) < np.where(y[ends[0]] == y[ends[1]], 0.8, 0.12)
    row, column = ends[:, kept][:, : size.edges]
    A = sparse.coo_array((np.ones(row.size), (row, column)), shape=(size.nodes, size.nodes)).tocsr()
    A.data[:] = 1.0
    seen = rng.permutation(size.nodes) < size.labels
    return _features(size, y, rng), y, seen, A.maximum(A.T).tocsr()


def of_model(size: Size) -> tuple[Any, Any, Any, Any]:
    """The same from the block model, degrees by propensities of variance 1."""
    alpha, rho = size.nodes / size.features, size.labels / size.nodes
    data = gl.CSBM(
        alpha, 2.5, 0.4 * alpha, rho, classes=size.classes, degrees=gl.Gamma(1.0), directed=False
    )
    i = gl.sample(data, nodes=size.nodes, degree=2 * size.edges / size.nodes, seed=0)
    return i.features, i.labels.astype(int), i.train_mask, i.adjacency


def _features(size: Size, y: Any, rng: np.random.Generator) -> Any:
    if size.dense or size.features <= WIDE:
        centres = 0.25 * rng.standard_normal((CLASSES, size.features))
        return rng.standard_normal((size.nodes, size.features)) + centres[y]
    share = 0.015 * np.exp(0.4 * rng.standard_normal((CLASSES, size.features)))
    rows = [sparse.csr_array(rng.random((1, size.features)) < share[c]) for c in y]
    return sparse.vstack(rows, format="csr").astype(float)


if __name__ == "__main__":
    main()
