"""Public graphs: accuracy and time of every network that is chosen by leave-one-out, beside scikit-learn and PyTorch Geometric.

    python -m benchmarks.real_graphs examples/data/*.npz --out benchmarks/real_graphs.md

All numbers of a table come from one run on one machine. PyTorch Geometric is included if it can be imported.
"""

import argparse
import importlib.util
import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.semi_supervised import LabelSpreading

import gcnlimit as gl
from gcnlimit import real

Scores = Callable[[real.Dataset, Any, int], tuple[Any, Any]]
DRAWN = 5  # splits of a data set that has none, of 20 labels a class


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--splits", type=int, default=10, help="most splits of a data set")
    parser.add_argument("--trained-splits", type=int, default=3, help="most splits for the networks that are trained")
    parser.add_argument("--out", type=Path, help="table in Markdown; the numbers go beside it as JSON")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: dict[str, Any] = {}
    for path in given.files:
        data = with_splits(real.read(path))
        rows[path.stem] = {}
        for name, scores in METHODS.items():
            trained = name.startswith("PyG")
            count = min(data.splits, given.trained_splits if trained else given.splits)
            rows[path.stem][name] = measured(data, scores, count)
            print(path.stem, name, rows[path.stem][name], flush=True)
            if given.out:
                write(rows, given.out)


def with_splits(data: real.Dataset) -> real.Dataset:
    """The data set itself, or with splits drawn if it has none."""
    if data.splits:
        return data
    rng, train = np.random.default_rng(0), np.zeros((DRAWN, data.nodes), bool)
    for row in train:
        for c in np.unique(data.y[data.y >= 0]):
            row[rng.choice(np.flatnonzero(data.y == c), 20, replace=False)] = True
    return real.Dataset(data.graph, data.X, data.y, train)


def measured(data: real.Dataset, scores: Scores, count: int) -> dict[str, Any]:
    """Mean and standard deviation over the splits, of the accuracy or, for two unequal classes, of the ROC AUC; seconds."""
    found, took = [], []
    for split in range(count):
        start = time.perf_counter()
        classes, outputs = scores(data, data.training(split), split)
        took.append(time.perf_counter() - start)
        test = data.testing(split)
        found.append(quality(classes, outputs[test >= 0], test[test >= 0]))
    return {"mean": 100 * np.mean(found), "sd": 100 * np.std(found), "seconds": float(np.median(took)), "splits": count}


def quality(classes: Any, outputs: Any, y: Any) -> float:
    """Accuracy, or ROC AUC; a class that the training nodes lack has no column."""
    if outputs.shape[1] == 2 and np.bincount(y).min() < 0.4 * y.size:
        return float(roc_auc_score(y, outputs[:, 1] - outputs[:, 0]))
    return float(np.mean(classes[outputs.argmax(axis=1)] == y))


def ours(**options: Any) -> Scores:
    def scores(data: real.Dataset, y: Any, split: int) -> tuple[Any, Any]:
        model = gl.GraphClassifier(**options).fit(data.X, y, graph=data.graph)
        outputs = model.decision_function()
        return model.classes_, np.column_stack([-outputs, outputs]) if outputs.ndim == 1 else outputs

    return scores


def spreading(data: real.Dataset, y: Any, split: int) -> tuple[Any, Any]:
    """Labels spread on the graph, features unused."""
    model = LabelSpreading(kernel=lambda *_: sparse.csr_matrix(data.graph), alpha=0.9, max_iter=1000, tol=1e-4)
    model.fit(np.arange(data.nodes)[:, None], y)
    return model.classes_, model.label_distributions_


def logistic(data: real.Dataset, y: Any, split: int) -> tuple[Any, Any]:
    """Features alone."""
    X = np.eye(data.nodes) if data.X is None else data.X
    model = LogisticRegression(max_iter=1000).fit(X[np.flatnonzero(y >= 0)], y[y >= 0])
    return model.classes_, model.predict_proba(X)


def trained(kind: str) -> Scores:
    """A network of PyTorch Geometric with the usual settings, trained for 200 epochs."""

    def scores(data: real.Dataset, y: Any, split: int) -> tuple[Any, Any]:
        import torch
        from torch_geometric.nn import APPNP, GCNConv, SGConv

        torch.manual_seed(split)
        graph = real.to_pyg(real.Dataset(data.graph, np.eye(data.nodes) if data.X is None else data.X, y))
        x, edges = graph.x / graph.x.abs().sum(dim=1, keepdim=True).clamp(min=1.0), graph.edge_index
        classes, hidden = int(data.y.max()) + 1, 64 if kind == "APPNP" else 16
        if kind == "GCN":
            layers = torch.nn.ModuleList([GCNConv(x.shape[1], hidden), GCNConv(hidden, classes)])
        elif kind == "SGC":
            layers = torch.nn.ModuleList([SGConv(x.shape[1], classes, K=2, cached=True)])
        else:
            dense = [torch.nn.Linear(x.shape[1], hidden), torch.nn.Linear(hidden, classes)]
            layers = torch.nn.ModuleList([*dense, APPNP(K=10, alpha=0.1)])

        def network(train: bool) -> Any:
            drop = torch.nn.functional.dropout
            if kind == "SGC":
                return layers[0](x, edges)
            ends = (edges,) if kind == "GCN" else ()
            h = layers[0](drop(x, 0.5, train), *ends).relu()
            h = layers[1](drop(h, 0.5, train), *ends)
            return layers[2](h, edges) if kind == "APPNP" else h

        rate, decay = (0.2, 1e-4) if kind == "SGC" else (0.01, 5e-4)
        optimizer = torch.optim.Adam(layers.parameters(), lr=rate, weight_decay=decay)
        known = graph.y >= 0
        for _ in range(200):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(True)[known], graph.y[known]).backward()
            optimizer.step()
        with torch.no_grad():
            return np.arange(classes), network(False).numpy()

    return scores


METHODS: dict[str, Scores] = {
    "default": ours(),
    "no graph": ours(strengths=[0.0], hops=0),
    "PageRank": ours(filter="pagerank", hops=0),
    "diffusion": ours(filter="diffusion", hops=0),
    "residual": ours(filter="residual", hops=0),
    "hops": ours(filter="hops"),
    "LabelSpreading": spreading,
    "logistic": logistic,
}
if importlib.util.find_spec("torch_geometric") is not None:
    METHODS |= {f"PyG {kind}": trained(kind) for kind in ("GCN", "SGC", "APPNP")}


def accuracy(row: dict[str, Any]) -> str:
    """Mean, and standard deviation if there are several splits."""
    return f"{row['mean']:.1f}" + (f" ± {row['sd']:.1f}" if row["splits"] > 1 else "")


def write(rows: dict[str, Any], path: Path) -> None:
    """Accuracies and, in a second table, seconds."""
    path.with_suffix(".json").write_text(json.dumps(rows, indent=1))
    names = list(METHODS)
    head = "| data set | " + " | ".join(names) + " |\n| --- |" + " --- |" * len(names)
    told = [head]
    for form in (accuracy, lambda r: f"{r['seconds']:.2g} s"):
        for data, row in rows.items():
            told.append(f"| {data} | " + " | ".join(form(row[n]) if n in row else "" for n in names) + " |")
        told += ["", head]
    cores = os.cpu_count()
    path.write_text("\n".join(told[:-2]) + f"\n\nSeconds on {cores} cores, median over the splits, choice included.\n")


if __name__ == "__main__":
    main()
