"""Any model on the suite: in processes, resumable, and without a hidden label in reach."""

from __future__ import annotations

import functools
import json
import math
import os
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from gcnlimit._runtime.processes import check_pickle, process_pool
from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import whole
from gcnlimit.benchmark.problems import VERSION, Problem, as_problems, check_size
from gcnlimit.benchmark.scores import Run, Scores
from gcnlimit.benchmark.task import Task, accuracy
from gcnlimit.errors import ParameterError

if TYPE_CHECKING:
    from gcnlimit.sweeps.grid import Block, Columns

Model = Callable[[Task], npt.ArrayLike]
"""From a task to scores: a row for each node and a column for each class."""


def evaluate(
    model: Model,
    problems: Iterable[str | Problem] | str | Problem | None = None,
    *,
    size: str = "standard",
    graphs: int = 5,
    name: str | None = None,
    seed: int | None = None,
    store: str | os.PathLike[str] | None = None,
    workers: int = 1,
    progress: bool | None = None,
) -> Scores:
    """Accuracy of a model on the problems of the suite, beside the exact ceilings.

    The model never has access to the hidden labels: they are drawn again from the seed afterwards, to score it.

    Parameters
    ----------
    model
        Function from a `Task` to scores, one row per node and one column per class (for two classes one score per
        node is enough, positive for the second).
    problems
        Names or problems; by default the whole suite.
    size
        ``"small"``, ``"standard"`` or ``"large"``: 2000, 10 000 or 30 000 nodes.
    graphs
        Graphs per problem.
    name
        Of the model in the table; by default that of the function.
    seed
        A secret, such as ``secrets.randbits(64)``, for graphs that the author of the model cannot draw. The model, which
        other processes must be able to import, then runs in a process that is sent the task and not the seed.
    store
        File that keeps every finished graph; the same call resumes where it stopped.
    workers
        Number of processes; 1 is this process.
    progress
        Whether to show a progress bar; by default if standard error is a terminal.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> def centroids(task):
    ...     return task.features @ (task.features.T @ task.targets)
    >>> scores = gl.benchmark.evaluate(centroids, "strong-features", size="small", graphs=2)
    >>> line = scores.lines[0]
    >>> line.method, line.problem, bool(0.5 < line.accuracy < 0.9)
    ('centroids', 'strong-features', True)
    """
    from gcnlimit.sweeps.plan import Plan
    from gcnlimit.sweeps.producers import Producer
    from gcnlimit.sweeps.run import missing, runner
    from gcnlimit.sweeps.store import Store, describe

    if not callable(model):
        raise ParameterError(f"model = {model!r} must be a function from a task to scores")
    chosen = as_problems(problems)
    check_size(size)
    if seed is not None:
        seed = whole("seed", seed, low=0)
        check_pickle(model, "the model")
    named = name or _name(model)
    numbers = range(whole("graphs", graphs, low=1))
    axes = {"problem": {problem.name: problem for problem in chosen}, "graph": numbers}
    producer = Producer(
        name=named,
        evaluate=functools.partial(_measure, model),
        allowed=("problem", "graph", "size", "given"),
        identity=json.dumps([VERSION, named if store is None else describe(model)]),
    )
    plan = Plan(producer, axes, None, None, {"size": size, "given": seed})
    run = runner(producer, whole("workers", workers, low=1))
    found: dict[tuple[str, int], Run] = {}
    with Store(store) as kept, progress_bar(named, plan.size, progress, unit="graphs") as bar:

        def put(block: Block, columns: Columns) -> None:
            problem, graph = block.common["problem"].name, int(block.common["graph"])
            found[problem, graph] = Run(named, problem, size, graph, *_outcome(columns))
            bar.advance(1)

        for block, columns in run(missing(plan, kept, put)):
            if columns.final and not columns.errors:
                kept.put(block.key, columns)
            put(block, columns)
    return Scores(tuple(found[problem.name, graph] for problem in chosen for graph in numbers))


def _measure(model: Model, parameters: dict[str, Any]) -> dict[str, float]:
    """Accuracy and time on one graph; the hidden labels are drawn when the model has answered."""
    problem = parameters["problem"]
    seed = parameters["given"]
    where = (parameters["size"], parameters["graph"])
    task = problem.task(*where, seed=seed)
    started = time.perf_counter()
    scores = model(task) if seed is None else _apart(model, task)
    seconds = time.perf_counter() - started
    test, classes = task.test_mask, task.classes
    del task
    truth = problem.truth(*where, seed=seed)
    return {"accuracy": accuracy(scores, truth, test, classes), "seconds": seconds}


def _apart(model: Model, task: Task) -> npt.ArrayLike:
    """Scores from a process that has nothing but the task."""
    with process_pool(1) as pool:
        scores: npt.ArrayLike = pool.submit(model, task).result()
    return scores


def _outcome(columns: Columns) -> tuple[float, float, str]:
    """Accuracy, seconds, and why there are none."""
    if error := columns.errors.get(0, ""):
        return math.nan, math.nan, error
    return float(columns.fields["accuracy"][0]), float(columns.fields["seconds"][0]), ""


def _name(model: object) -> str:
    inner = model.func if isinstance(model, functools.partial) else model
    return str(getattr(inner, "__name__", type(inner).__name__))
