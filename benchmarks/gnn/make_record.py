"""Record the suite: ``python -m benchmarks.gnn.make_record [--workers N] [--sizes SIZE ...] [--out FILE]``.

To be run when the sampler has changed, with a new version of the suite once it is released. Without any size after ``--sizes``
it computes the exact accuracies anew and leaves the graphs as they are recorded.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from gcnlimit._runtime.processes import run
from gcnlimit._version import NUMERICAL_VERSION
from gcnlimit.benchmark.methods import message_passing
from gcnlimit.benchmark.problems import FILE, VERSION, as_problems, computed_exact, problems
from gcnlimit.benchmark.task import accuracy, checksum

GRAPHS = {"small": 5, "standard": 5, "large": 1}
"""How many graphs of each size are recorded."""


POPULATION = 6_000
"""Nodes in each population of the ceilings."""


def main(arguments: list[str] | None = None) -> None:
    """Write the exact accuracies; draw the graphs, and write checksums and accuracies of message passing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--sizes", nargs="*", default=list(GRAPHS), choices=list(GRAPHS))
    parser.add_argument("--out", type=Path, default=Path(str(resources.files("gcnlimit.benchmark").joinpath(FILE))))
    given = parser.parse_args(arguments)
    names = [problem.name for problem in (*problems(), *problems(aside=True))]
    places = [(name, size, graph) for name in names for size in given.sizes for graph in range(GRAPHS[size])]
    tasks = [*(partial(accuracies, name) for name in names), *(partial(entry, *place) for place in places)]
    found = run(tasks, given.workers)
    graphs = json.loads(given.out.read_text(encoding="utf-8"))["graphs"] if given.out.exists() else {}
    for (name, size, graph), one in zip(places, found[len(names) :], strict=True):
        graphs.setdefault(name, {}).setdefault(size, [])[graph:] = [one]
    exact = dict(zip(names, found, strict=False))
    record = {"suite": VERSION, "numerical_version": NUMERICAL_VERSION, "exact": exact, "graphs": graphs}
    given.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def accuracies(name: str) -> dict[str, float]:
    """Exact accuracies of that problem."""
    found = asdict(computed_exact(as_problems(name)[0], POPULATION))
    return {field: round(value, 6) for field, value in found.items()}


def entry(name: str, size: str, graph: int) -> dict[str, Any]:
    """Checksum of one graph, and accuracy of message passing on it."""
    problem = as_problems(name)[0]
    task = problem.drawn(size, graph)
    found = accuracy(message_passing(task), problem.truth(size, graph), task.test_mask, task.classes)
    return {"checksum": checksum(task), "amp": round(found, 6)}


if __name__ == "__main__":
    main()
