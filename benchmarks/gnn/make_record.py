"""Record the suite: ``python -m benchmarks.gnn.make_record [--workers N] [--parts PART ...] [--problems NAME ...] [--out FILE]``.

The parts are the exact accuracies, the scatter of message passing over graphs, and the checksums of small, standard and large
graphs with the accuracy of message passing on each; what is not computed is left as it was recorded. To be run when the sampler
has changed, with a new version of the suite once it is released.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from gcnlimit._runtime.processes import run
from gcnlimit._values import Array
from gcnlimit._version import NUMERICAL_VERSION
from gcnlimit.benchmark.methods import message_passing
from gcnlimit.benchmark.problems import FILE, SIZES, VERSION, Exact, Problem, as_problems, problems
from gcnlimit.benchmark.task import accuracy, checksum, score_table
from gcnlimit.choose.best_filter import filter_ceiling
from gcnlimit.choose.tune import tune
from gcnlimit.csbm import CSBM
from gcnlimit.filters import PageRank
from gcnlimit.network import GCN
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.decision import best_log_error
from gcnlimit.theory.linear import best_linear
from gcnlimit.theory.transfer import best_test_filter, best_training_filter, transfer

GRAPHS = {"small": 5, "standard": 5, "large": 1}
"""How many graphs of each size are recorded."""

POPULATION = 6_000
"""Nodes in each population of the ceilings."""

SCATTERED = 50
"""Small graphs on which the scatter is measured."""

Place = tuple[str, ...]


def main(arguments: list[str] | None = None) -> None:
    """Compute the parts asked for, and write them beside what is recorded."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [problem.name for problem in (*problems(), *problems(aside=True))]
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--parts",
        nargs="+",
        default=["exact", "scatter", *GRAPHS],
        choices=["exact", "scatter", *GRAPHS],
    )
    parser.add_argument("--problems", nargs="+", default=names, choices=names, metavar="NAME")
    parser.add_argument(
        "--out", type=Path, default=Path(str(resources.files("gcnlimit.benchmark").joinpath(FILE)))
    )
    given = parser.parse_args(arguments)
    jobs = [job for part in given.parts for name in given.problems for job in _jobs(part, name)]
    found = run([job for _, job in jobs], given.workers)
    record = (
        json.loads(given.out.read_text(encoding="utf-8"))
        if given.out.exists()
        else {"exact": {}, "graphs": {}}
    )
    for (place, _), one in zip(jobs, found, strict=True):
        _put(record, place, one)
    record = {"suite": VERSION, "numerical_version": NUMERICAL_VERSION, **_ordered(record, names)}
    given.out.write_text(compact(record), encoding="utf-8")


def compact(record: dict[str, Any]) -> str:
    """JSON with a line for each problem."""
    parts = []
    for key, value in record.items():
        text = json.dumps(value)
        if isinstance(value, dict):
            rows = [f"  {json.dumps(name)}: {json.dumps(one)}" for name, one in value.items()]
            text = "{\n" + ",\n".join(rows) + "\n }"
        parts.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _jobs(part: str, name: str) -> list[tuple[Place, Callable[[], dict[str, Any]]]]:
    """What one part computes for a problem, and where it is put."""
    if part == "exact":
        return [(("exact", name), partial(accuracies, name))]
    if part == "scatter":
        return [(("exact", name), partial(scatter, name))]
    return [
        (("graphs", name, part, str(graph)), partial(entry, name, part, graph))
        for graph in range(GRAPHS[part])
    ]


def _put(record: dict[str, Any], place: Place, one: dict[str, Any]) -> None:
    kind, name, *where = place
    if kind == "exact":
        record["exact"][name] = record["exact"].get(name, {}) | one
        return
    size, graph = where
    graphs = record["graphs"].setdefault(name, {}).setdefault(size, [])
    graphs[int(graph) : int(graph) + 1] = [one]


def _ordered(record: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The problems of the suite, in its order."""
    return {
        kind: {name: record[kind][name] for name in names if name in record[kind]}
        for kind in ("exact", "graphs")
    }


def accuracies(name: str) -> dict[str, Any]:
    """Exact accuracies of that problem."""
    found = asdict(computed_exact(as_problems(name)[0]))
    return {
        field: round(value, 6)
        for field, value in found.items()
        if field != "scatter" and value is not None
    }


def computed_exact(problem: Problem, population: int = POPULATION) -> Exact:
    """Exact accuracies of a problem, by the theory, with as many nodes in each population."""
    data, to = problem.data, problem.to
    beside: Any = {} if to is None else {"to": to}
    alone: Any = {} if to is None else {"to": to.replaced(lam=0.0)}
    best: Any = bayes_optimal(data, **beside, degree=problem.degree, population=population)
    return Exact(
        features=float(bayes_optimal(data.replaced(lam=0.0), **alone).test_accuracy),
        one_filter=best_one_filter(data) if to is None else best_deployed(data, to),
        linear=float(np.asarray(best_linear(data, **beside).test_accuracy)),
        algorithmic=float(best.algorithmic.test_accuracy),
        bayes=float(best.test_accuracy),
        bayes_error=float(best.standard_error.test_accuracy),
        bayes_large_degree=float(bayes_optimal(data, **beside).test_accuracy),
        frozen=None if to is None else float(best.frozen.test_accuracy),
    )


def best_one_filter(data: CSBM) -> float:
    """Accuracy of the best network of one filter and one weight vector, at any regularization; with hubs of PageRank."""
    if data.degrees is not None:
        gcn = GCN(PageRank(0.0), symmetrize=True, normalization="regularized")
        best = tune(data, gcn, {"theta": (-1.0, 1.0), "reg": (1e-2, math.inf)})
        return float(np.asarray(best.prediction.test_accuracy))
    plain = CSBM(data.alpha, data.lam, data.mu, data.rho, data.directed)
    margin = np.asarray(filter_ceiling(plain, True).margin)  # the same for any number of classes
    return float(-np.expm1(best_log_error(margin, data.classes)))


def best_deployed(data: CSBM, to: CSBM) -> float:
    """Accuracy on another graph of the best PageRank to train with, read through the filter that is best there."""

    def loss(point: Array) -> float:
        gcn = GCN(PageRank(point[0]), reg=10.0 ** point[1], symmetrize=True)
        return -float(
            transfer(
                data, gcn.replaced(test_filter=best_test_filter(data, gcn, to)), to
            ).test_accuracy
        )

    pole = 0.999 / float(data.operator(symmetrize=True).radius)
    start = (
        float(np.asarray(best_training_filter(data).theta)),
        2.0,
    )  # the first is best at infinite regularization
    bounds = [(-pole, pole), (-2.0, 6.0)]
    found = minimize(
        loss, start, method="Nelder-Mead", bounds=bounds, options={"xatol": 1e-4, "fatol": 1e-9}
    )
    return -float(found.fun)


def scatter(name: str) -> dict[str, float]:
    """Scatter of the accuracy of message passing over graphs, in units of one node."""
    found = [_measured(name, "small", graph)[1] for graph in range(SCATTERED)]
    return {"scatter": round(float(np.std(found, ddof=1)) * SIZES["small"] ** 0.5, 4)}


def entry(name: str, size: str, graph: int) -> dict[str, Any]:
    """Checksum of one graph, and accuracy of message passing on it."""
    check, found = _measured(name, size, graph)
    return {"checksum": check, "amp": round(found, 6)}


def _measured(name: str, size: str, graph: int) -> tuple[str, float]:
    problem = as_problems(name)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a graph that is not the recorded one is why this is run
        task = problem.task(size, graph)
    found = accuracy(
        score_table(message_passing(task), len(task.labels), task.classes),
        problem.truth(size, graph),
        task.test_mask,
    )
    return checksum(task), found


if __name__ == "__main__":
    main()
