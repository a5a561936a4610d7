"""What keeps trained networks below what they could reach: the operator, the threshold, the optimizer, or dropout.

    python -m benchmarks.gnn.training_costs --device cuda --out FILE.json                  # the numbers of the page
    python -m benchmarks.gnn.training_costs --size small --networks SGC --out FILE.json    # minutes, on a processor
    python -m benchmarks.gnn.training_costs --table --out FILE.json                        # the table of a file

Four networks of the study on the same graphs. One thing is changed at a time: the operator (`OPERATORS`), dropout, the number of
epochs. Every network is also read at the threshold that puts half of the test nodes on each side, which needs no label where
classes are equal. SGC is also solved: ridge regression on its features. As in the study, settings are chosen on the validation
nodes of the first graph, and the epoch on those of each graph. The same command resumes where it stopped.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from benchmarks.gnn.networks import NETWORKS, Graph, Setting
from benchmarks.gnn.train_network import PATIENCE
from gcnlimit.benchmark.problems import SIZES, Problem, as_problems
from gcnlimit.benchmark.task import Task
from gcnlimit.nn.operators import SymmetricOperator
from gcnlimit.numerics.leave_one_out import REG, correct, targets
from gcnlimit.numerics.ridge import Ridge

PROBLEMS = ("reference", "deep", "few-labels", "heterophily", "weak-features")
TRIED = ("SGC", "GCN", "GPR-GNN", "APPNP")
SHORT, LONG = 200, 2000  # epochs
DECAY = 5e-4  # weight decay of the study, the smaller one


@dataclass(frozen=True)
class Variant:
    """One way to train: an operator, with or without dropout, and whether it is also trained for long."""

    operator: str
    dropout: bool
    long: bool = False

    def __str__(self) -> str:
        return f"{self.operator}, {'dropout' if self.dropout else 'no dropout'}"


VARIANTS = (
    Variant("normalized", True),
    Variant("normalized", False, long=True),
    Variant("top eigenvector out", True),
    Variant("top eigenvector out", False, long=True),
    Variant("theory", True),
    Variant("theory", False),
    Variant("mean subtracted", False),
)


class MeanSubtracted:
    """Operator after which the mean over the nodes is subtracted from every column."""

    def __init__(self, operator: Any) -> None:
        self.operator = operator

    def __matmul__(self, block: Any) -> Any:
        """Product with a block of columns."""
        product = self.operator @ block
        return product - product.mean(dim=0)


def without_top(graph: Graph) -> SymmetricOperator:
    r"""Operator :math:`S - uu^T` without the top eigenvector :math:`u \propto D^{1/2} 1` of the normalized one."""
    root = np.sqrt(np.asarray(graph.both.sum(axis=1), dtype=np.float32) + 1.0)
    top = torch.from_numpy(root / np.linalg.norm(root)).to(graph.device)
    return SymmetricOperator(graph.normalized.matrix, top)


OPERATORS = {
    "normalized": lambda graph: graph.normalized,
    "top eigenvector out": without_top,
    "mean subtracted": lambda graph: MeanSubtracted(graph.normalized),
    "theory": lambda graph: graph.centred,
}
"""Operators by name: as usual, in two ways without the uniform mode, and that of the theory, centred and of unit variance."""


@dataclass(frozen=True, eq=False)
class Sample:
    """A task, the classes of all its nodes, its graph and its features as a tensor."""

    task: Task
    truth: Any
    graph: Graph
    x: Any

    @classmethod
    def draw(cls, problem: Problem, size: str, graph: int, device: str) -> Sample:
        """Graph of that number, as in the suite."""
        task = problem.task(size, graph)
        x = torch.from_numpy(task.features).to(device)
        return cls(task, problem.truth(size, graph), Graph(task.adjacency, device), x)


def curve(
    drawn: Sample, name: str, variant: Variant, setting: Setting, epochs: int
) -> list[list[float]]:
    """Rows along the training: epoch, accuracy and minus the loss on validation nodes, accuracy on test nodes, at the median."""
    task = drawn.task
    torch.manual_seed(task.seed)
    S = OPERATORS[variant.operator](drawn.graph)
    x = drawn.x
    model = forward = NETWORKS[name].build(x.shape[1], task.classes, setting.structure).to(x.device)
    if name == "SGC" and not variant.dropout:
        # its powers commute with the linear map, so that they are taken once
        one = torch.ones(len(x), 1, device=x.device)
        for _ in range(int(setting.structure)):
            x, one = S @ x, S @ one
        forward = partial(_propagated, model.encoder, one=one)
    train, val = (np.flatnonzero(mask) for mask in (task.train_mask, task.val_mask))
    y = torch.from_numpy(task.labels).to(x.device)
    train_y, val_y = y[train], y[val]
    optimizer = torch.optim.Adam(
        model.parameters(), lr=setting.rate, weight_decay=setting.weight_decay
    )
    rows = []
    for epoch in range(1, epochs + 1):
        model.train(variant.dropout)
        optimizer.zero_grad()
        cross_entropy(forward(x, S)[train], train_y).backward()
        optimizer.step()
        if epoch % 4 == 0 and (epoch <= SHORT or epoch % 40 == 0):
            model.eval()
            with torch.no_grad():
                scores = forward(x, S)
                loss = float(cross_entropy(scores[val], val_y))
            rows.append([epoch, *accuracies(drawn, scores.cpu().numpy(), val, -loss)])
    return rows


def _propagated(encoder: Any, x: Any, _: Any, *, one: Any) -> Any:
    """Linear map of propagated features, its bias propagated as well."""
    return x @ encoder.weight.T + one * encoder.bias


def accuracies(drawn: Sample, scores: Any, val: Any, merit: float) -> list[float]:
    """Accuracy on validation nodes, a merit that decides between equal ones, accuracy on test nodes, and that at the median."""
    apart = scores[:, 1] - scores[:, 0]
    test = drawn.task.test_mask

    def right(where: Any, threshold: float = 0.0) -> float:
        return float(np.mean((apart[where] > threshold) == (drawn.truth[where] == 1)))

    return [right(val), merit, right(test), right(test, float(np.median(apart)))]


def solved(drawn: Sample, operator: str) -> dict[str, float]:
    """SGC without an optimizer: ridge regression on the training nodes, powers and regularization by leave-one-out."""
    task, x = drawn.task, drawn.x
    nodes = np.flatnonzero(task.train_mask)
    classes = task.labels[nodes]
    Y = targets(classes, task.classes)
    S = OPERATORS[operator](drawn.graph)
    best: tuple[float, Any] = (-np.inf, None)
    for power in range(1, 5):
        x = S @ x
        if power not in NETWORKS["SGC"].structures:
            continue
        rows = x.cpu().numpy()
        ridge = Ridge(rows[nodes].astype(float))
        left_out, dual = ridge.solve(Y, np.array(REG))
        gains = [np.mean(correct(one, classes)) - np.mean((one - Y) ** 2) for one in left_out]
        k = int(np.argmax(gains))
        if gains[k] > best[0]:
            weights, bias = ridge.linear(Y, dual[k])
            best = (gains[k], rows @ weights + bias)
    scores = np.hstack([-best[1], best[1]])
    _, _, test, median = accuracies(drawn, scores, nodes, 0.0)
    return {"test": test, "median": median}


def settings_of(name: str) -> list[Setting]:
    """Four settings: two structures and two learning rates of the study, at its smaller weight decay."""
    network = NETWORKS[name]
    return [Setting(*one, DECAY) for one in product(network.structures, network.rates)]


def chosen(rows: list[list[float]], patience: int | None = None) -> dict[str, float]:
    """Accuracies at the best epoch on validation nodes; with a patience, among those before so many without a better one."""
    best = rows[0]
    for row in rows[1:]:
        if row[1:3] > best[1:3]:
            best = row
        elif patience is not None and row[0] - best[0] >= patience:
            break
    return dict(zip(("epoch", "val", "merit", "test", "median"), best, strict=True))


def measure(problem: Problem, given: argparse.Namespace, known: dict[str, Any], keep: Any) -> None:
    """All networks and variants on one problem; what is known is not computed again."""
    samples = [
        Sample.draw(problem, given.size, graph, given.device) for graph in range(given.graphs)
    ]
    for name, variant in product(given.networks, VARIANTS):
        key = f"{problem.name}|{name}|{variant}"
        if name == "SGC" and not variant.dropout:
            known[f"{key}|solved"] = [solved(drawn, variant.operator) for drawn in samples]
        if f"{key}|{SHORT}" in known:
            continue
        start = time.perf_counter()
        trials = {
            setting: curve(samples[0], name, variant, setting, SHORT)
            for setting in settings_of(name)
        }
        setting = max(
            trials, key=lambda setting: [chosen(trials[setting])[kind] for kind in ("val", "merit")]
        )
        curves = [
            trials[setting],
            *(curve(drawn, name, variant, setting, SHORT) for drawn in samples[1:]),
        ]
        known[f"{key}|setting"] = [setting.structure, setting.rate]
        known[f"{key}|patience"] = [chosen(rows, PATIENCE) for rows in curves]
        known[f"{key}|{SHORT}"] = [chosen(rows) for rows in curves]
        if variant.long:
            longer = [curve(drawn, name, variant, setting, LONG) for drawn in samples]
            known[f"{key}|{LONG}"] = [chosen(rows) for rows in longer]
            known[f"{key}|{LONG}, last"] = [chosen(rows[-1:]) for rows in longer]
        test, median = (
            100.0 * np.mean([one[kind] for one in known[f"{key}|{SHORT}"]])
            for kind in ("test", "median")
        )
        print(
            f"{key}: {test:.1f}, at the median {median:.1f} ({time.perf_counter() - start:.0f} s)",
            flush=True,
        )
        keep()


ROWS = {
    "as in the study": ("normalized, dropout", "patience", "test"),
    "200 epochs without patience": ("normalized, dropout", "200", "test"),
    "the same, threshold at the median": ("normalized, dropout", "200", "median"),
    "without dropout": ("normalized, no dropout", "200", "test"),
    "without dropout, 2000 epochs": ("normalized, no dropout", "2000", "test"),
    "top eigenvector out": ("top eigenvector out, dropout", "200", "test"),
    "top eigenvector out, without dropout": ("top eigenvector out, no dropout", "200", "test"),
    "mean subtracted, without dropout": ("mean subtracted, no dropout", "200", "test"),
    "operator of the theory": ("theory, dropout", "200", "test"),
    "operator of the theory, without dropout": ("theory, no dropout", "200", "test"),
    "solved: ridge regression": ("normalized, no dropout", "solved", "test"),
    "solved, top eigenvector out": ("top eigenvector out, no dropout", "solved", "test"),
}
"""Rows of the table: variant, budget, and how the outputs are read."""


def table(known: dict[str, Any], given: argparse.Namespace) -> str:
    """Accuracies in per cent, mean and standard error over the graphs, in Markdown."""
    lines = [f"| | {' | '.join(given.problems)} |", "| --- |" + " --- |" * len(given.problems)]
    for name, (words, (variant, budget, how)) in product(given.networks, ROWS.items()):
        keys = [f"{problem}|{name}|{variant}|{budget}" for problem in given.problems]
        if all(key in known for key in keys):
            values = [100.0 * np.array([one[how] for one in known[key]]) for key in keys]
            cells = [f"{v.mean():.1f} ± {v.std(ddof=1) / v.size**0.5:.1f}" for v in values]
            lines.append(f"| {name}: {words} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure the networks on every problem."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu", help="device of PyTorch")
    parser.add_argument("--size", default="standard", choices=list(SIZES))
    parser.add_argument("--graphs", type=int, default=3)
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS))
    parser.add_argument("--networks", nargs="+", default=list(TRIED))
    parser.add_argument("--table", action="store_true", help="print the table of what is known")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    torch.set_num_threads(1)
    known = json.loads(given.out.read_text()) if given.out.exists() else {}

    if given.table:
        print(table(known, given))
        return

    def keep() -> None:
        lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in known.items())
        given.out.write_text("{\n" + ",\n".join(lines) + "\n}\n")

    for problem in as_problems(given.problems):
        measure(problem, given, known, keep)


if __name__ == "__main__":
    main()
