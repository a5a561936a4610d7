"""What is recorded of the suite: a checksum of each graph, and the accuracy of message passing on it."""

from __future__ import annotations

import json
import warnings
from functools import lru_cache
from importlib import resources
from typing import Any

from gcnlimit.benchmark.task import Task, checksum

__all__ = ["FILE", "recorded", "verify"]

FILE = "record.json"


def recorded(problem: str, size: str, graph: int) -> dict[str, Any] | None:
    """Checksum and accuracy of message passing on that graph; None if it is not among the recorded ones.

    >>> sorted(recorded("reference", "small", 0))
    ['amp', 'checksum']
    """
    graphs = _record().get(problem, {}).get(size, [])
    return graphs[graph] if graph < len(graphs) else None


def verify(task: Task, size: str, graph: int) -> None:
    """Warn if a graph is not the one that was recorded: results on it are not comparable with those of others."""
    known = recorded(task.problem, size, graph)
    if known is not None and known["checksum"] != checksum(task):
        warnings.warn(
            f"graph {graph} of the problem {task.problem!r} ({size}) is not the recorded one: the sampler of this version, or "
            "that of NumPy, has changed, and accuracies on it are comparable within their errors only",
            stacklevel=3,
        )


@lru_cache(maxsize=1)
def _record() -> dict[str, Any]:
    file = resources.files("gcnlimit.benchmark").joinpath(FILE)
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["graphs"]
    return found
