"""Public graphs: accuracy and time of `GraphClassifier` and of single networks, beside other packages.

    python -m benchmarks.real_graphs examples/data/*.npz --out benchmarks/real_graphs.md

Each fit has one thread, and its seconds are those of the processor. A run that was interrupted goes on where it stopped, from
the numbers beside the table. Columns of packages that cannot be imported are left out.
"""

import argparse
import importlib
import importlib.util
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = os.environ[
    "MKL_NUM_THREADS"
] = "1"

import numpy as np
from scipy import sparse
from scipy.stats import rankdata

from gcnlimit import real
from gcnlimit.numerics.leave_one_out import pair
from gcnlimit.real.classifier import GraphClassifier
from gcnlimit.real.filter_classifier import FilterClassifier

Outputs = tuple[Any, Any]
Scores = Callable[[real.Dataset, Any, int], Outputs]
ALL_LABELS = "default, validation too"
VALIDATION = 500  # nodes of a data set that has none
DRAWN = 5  # splits of a data set that has none, of 20 labels a class,
HALF = (
    "amherst41",
    "johnshopkins55",
    "twitch_de",
    "twitch_fr",
)  # or of half of the labels, as is usual for these


class Fit(NamedTuple):
    """One method on one split of one data set."""

    path: Path
    method: str
    split: int

    @property
    def key(self) -> str:
        """Name of its result."""
        return f"{self.path.stem}/{self.method}/{self.split}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--splits", type=int, default=10, help="most splits of a data set")
    parser.add_argument(
        "--trained-splits",
        type=int,
        default=3,
        help="most splits for the networks that are trained",
    )
    parser.add_argument("--methods", nargs="+", default=list(METHODS), help="by default all")
    parser.add_argument("--workers", type=int, default=1, help="fits at the same time")
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="table in Markdown; the numbers go beside it as JSON",
    )
    given = parser.parse_args()
    beside = given.out.with_suffix(".json")
    found: dict[str, Any] = json.loads(beside.read_text()) if beside.exists() else {}
    left = [fit for fit in fits(given) if fit.key not in found]
    with ProcessPoolExecutor(given.workers) as pool:
        for fit, result in zip(left, pool.map(measured, left), strict=True):
            found[fit.key] = result
            print(fit.key, result, flush=True)
            beside.write_text(json.dumps(found, indent=0))
            given.out.write_text(table(found))


def fits(given: argparse.Namespace) -> Iterator[Fit]:
    """Everything to be measured."""
    for path in given.files:
        for method in given.methods:
            most = (
                given.trained_splits if method in {"PyG GCN", "message passing"} else given.splits
            )
            yield from (
                Fit(path, method, split) for split in range(min(dataset(path).splits, most))
            )


@cache
def dataset(path: Path, half: bool = False) -> real.Dataset:
    """The data set, with splits drawn if it has none, or if half of the labels are wanted."""
    data = real.read(path)
    if data.splits and not half:
        return data
    rng, train = np.random.default_rng(0), np.zeros((DRAWN, data.nodes), bool)
    known = np.flatnonzero(data.y >= 0)
    for row in train:
        if half or path.stem in HALF:
            row[rng.permutation(known)[: known.size // 2]] = True
            continue
        for c in np.unique(data.y[known]):
            row[rng.choice(np.flatnonzero(data.y == c), 20, replace=False)] = True
    return real.Dataset(data.graph, data.X, data.y, train)


def masks(data: real.Dataset, split: int) -> tuple[Any, Any, Any]:
    """Nodes for training (a mask), validation and test."""
    assert data.train is not None
    train, test = data.train[split], data.testing(split) >= 0
    if data.val is not None:
        return train, np.flatnonzero(data.val[split]), np.flatnonzero(test)
    held = np.random.default_rng(split).choice(np.flatnonzero(test), VALIDATION, replace=False)
    return train, held, np.setdiff1d(np.flatnonzero(test), held)


def measured(fit: Fit) -> dict[str, float]:
    """Accuracy on the test nodes or, for two unequal classes, ROC AUC, in per cent; and seconds."""
    warnings.simplefilter("ignore")
    data = dataset(fit.path)
    for package in PACKAGES.get(fit.method, ()):
        importlib.import_module(package)  # before the clock starts
    start = time.process_time()
    classes, outputs = METHODS[fit.method](data, data.training(fit.split), fit.split)
    seconds = time.process_time() - start
    test = np.flatnonzero(data.testing(fit.split) >= 0)
    if fit.method == ALL_LABELS:
        _, _, test = masks(data, fit.split)
    return {"score": 100 * quality(classes, outputs, data.y, test), "seconds": seconds}


def quality(classes: Any, outputs: Any, y: Any, nodes: Any) -> float:
    """Accuracy on some nodes, or ROC AUC if the data set has two unequal classes.

    A class that the training nodes lack has no column.
    """
    outputs, true, known = outputs[nodes], y[nodes], y[y >= 0]
    if outputs.shape[1] == 2 and np.bincount(known).min() < 0.4 * known.size:
        ranks, ones = rankdata(outputs[:, 1] - outputs[:, 0]), int(true.sum())
        area = (ranks[true == 1].sum() - 0.5 * ones * (ones + 1)) / (ones * (true.size - ones))
        return float(area)
    return float(np.mean(classes[outputs.argmax(axis=1)] == true))


def ours(data: real.Dataset, y: Any, split: int, **options: Any) -> Outputs:
    """`GraphClassifier`, or with options a single network."""
    model = (FilterClassifier if options else GraphClassifier)(**options).fit(
        data.X, y, graph=data.graph
    )
    return model.classes_, model.predict_proba()


def ours_on_all_labels(data: real.Dataset, y: Any, split: int) -> Outputs:
    """`GraphClassifier` with the labels of the validation nodes, which choose for the networks that are tuned."""
    _, held, _ = masks(data, split)
    known = np.array(y)
    known[held] = data.y[held]
    return ours(data, known, split)


def diffused(data: real.Dataset, y: Any, split: int) -> Outputs:
    """Diffusion of scikit-network: labels on the graph, features unused."""
    from sknetwork.classification import DiffusionClassifier

    model = DiffusionClassifier().fit(sparse.csr_matrix(data.graph), labels=np.asarray(y))
    return np.unique(y[y >= 0]), model.predict_proba()


def spreading(data: real.Dataset, y: Any, split: int) -> Outputs:
    """Labels spread on the graph, features unused."""
    from sklearn.semi_supervised import LabelSpreading

    model = LabelSpreading(
        kernel=lambda *_: sparse.csr_matrix(data.graph), alpha=0.9, max_iter=1000, tol=1e-4
    )
    model.fit(np.arange(data.nodes)[:, None], y)
    return model.classes_, model.label_distributions_


def logistic(data: real.Dataset, y: Any, split: int) -> Outputs:
    """Features alone."""
    from sklearn.linear_model import LogisticRegression

    X = np.eye(data.nodes) if data.X is None else data.X
    model = LogisticRegression(max_iter=1000).fit(X[np.flatnonzero(y >= 0)], y[y >= 0])
    return model.classes_, model.predict_proba(X)


def usual_gcn(data: real.Dataset, y: Any, split: int) -> Outputs:
    """The GCN of PyTorch Geometric with the usual settings, trained for 200 epochs."""
    import torch
    from torch_geometric.nn import GCNConv

    torch.set_num_threads(1)
    torch.manual_seed(split)
    graph = real.to_pyg(
        real.Dataset(data.graph, np.eye(data.nodes) if data.X is None else data.X, y)
    )
    x, edges = graph.x / graph.x.abs().sum(dim=1, keepdim=True).clamp(min=1.0), graph.edge_index
    layers = torch.nn.ModuleList([GCNConv(x.shape[1], 16), GCNConv(16, int(data.y.max()) + 1)])

    def network(train: bool) -> Any:
        drop = torch.nn.functional.dropout
        h = layers[0](drop(x, 0.5, train), edges).relu()
        return layers[1](drop(h, 0.5, train), edges)

    optimizer = torch.optim.Adam(layers.parameters(), lr=0.01, weight_decay=5e-4)
    known = graph.y >= 0
    for _ in range(200):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(True)[known], graph.y[known]).backward()
        optimizer.step()
    with torch.no_grad():
        found = network(False).numpy()
    return np.arange(found.shape[1]), found


def message_passing(data: real.Dataset, y: Any, split: int) -> Outputs:
    """The message-passing network with everything at its default."""
    import torch

    from gcnlimit.nn import MessagePassingClassifier

    torch.set_num_threads(1)
    model = MessagePassingClassifier().fit(data.X, y, graph=data.graph)
    return model.classes_, pair(np.reshape(model.decision_function(), (data.nodes, -1)))


METHODS: dict[str, Scores] = {
    "default": ours,
    ALL_LABELS: ours_on_all_labels,
    "no graph": partial(ours, strengths=0.0),
    "PageRank": partial(ours, filter="pagerank"),
    "diffusion": partial(ours, filter="diffusion"),
}
PACKAGES: dict[str, tuple[str, ...]] = {}
if importlib.util.find_spec("sklearn") is not None:
    METHODS |= {"LabelSpreading": spreading, "logistic": logistic}
    PACKAGES |= dict.fromkeys(
        ("LabelSpreading", "logistic"), ("sklearn.semi_supervised", "sklearn.linear_model")
    )
if all(importlib.util.find_spec(package) is not None for package in ("sklearn", "torch")):
    METHODS["message passing"] = message_passing
    PACKAGES["message passing"] = ("gcnlimit.nn.classifier",)
if importlib.util.find_spec("sknetwork") is not None:
    METHODS["sknetwork"] = diffused
    PACKAGES["sknetwork"] = ("sknetwork.classification",)
if importlib.util.find_spec("torch_geometric") is not None:
    METHODS["PyG GCN"] = usual_gcn
    PACKAGES["PyG GCN"] = ("torch_geometric.nn",)


def table(found: dict[str, Any]) -> str:
    """Accuracies and, in a second table, seconds."""
    cells: dict[tuple[str, str], list[Any]] = {}
    for key, result in found.items():
        data, method, _ = key.split("/")
        cells.setdefault((data, method), []).append(result)
    names = [name for name in ALL if any(method == name for _, method in cells)]
    head = "| data set | " + " | ".join(names) + " |\n| --- |" + " --- |" * len(names)
    lines = []
    for form in (accuracy, seconds):
        lines += [head]
        for data in dict.fromkeys(data for data, _ in cells):
            row = (form(cells[data, name]) if (data, name) in cells else "" for name in names)
            lines.append(f"| {data} | " + " | ".join(row) + " |")
        lines.append("")
    told = "Seconds of the processor, one thread; median over the splits, choice included, where each split was fitted apart."
    return "\n".join([*lines, told, ""])


ALL: tuple[str, ...] = ("default", "message passing", "no graph", "PageRank", "diffusion")
ALL += ("LabelSpreading", "logistic", "sknetwork", "PyG GCN")
ALL += (ALL_LABELS, "GCN, tuned", "APPNP, tuned", "GPR-GNN, tuned", "LINKX, tuned")


def accuracy(results: list[Any]) -> str:
    """Mean, and standard deviation if there are several splits."""
    scores = [result["score"] for result in results]
    return f"{np.mean(scores):.1f}" + (f" ± {np.std(scores):.1f}" if len(scores) > 1 else "")


def seconds(results: list[Any]) -> str:
    known = [result["seconds"] for result in results if "seconds" in result]
    return f"{np.median(known):.2g} s" if known else ""


if __name__ == "__main__":
    main()
