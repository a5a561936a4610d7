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

from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import number, one_of, whole
from gcnlimit._values import shown
from gcnlimit.benchmark.apart import close_memory, named_model, scores_apart, sealed
from gcnlimit.benchmark.problems import SIZES, VERSION, Problem, as_problems
from gcnlimit.benchmark.scores import Run, Scores
from gcnlimit.benchmark.task import Task, accuracy, score_table
from gcnlimit.errors import ParameterError

if TYPE_CHECKING:
    from gcnlimit.sweeps.grid import Block, Columns

Model = Callable[[Task], npt.ArrayLike]
"""From a task to scores: a row for each node and a column for each class."""


def evaluate(
    model: Model | str,
    problems: Iterable[str | Problem] | str | Problem | None = None,
    *,
    size: str = "standard",
    graphs: int = 5,
    name: str | None = None,
    seed: int | None = None,
    user: str | None = None,
    timeout: float = 3600.0,
    store: str | os.PathLike[str] | None = None,
    workers: int = 1,
    progress: bool | None = None,
) -> Scores:
    """Accuracy of a model on the problems of the suite, compared with the exact ceilings.

    The model never has access to the hidden labels: they are drawn again from the seed afterwards, to score it.

    Parameters
    ----------
    model
        Function from a `Task` to scores, one row per node and one column per class (for two classes one score per
        node is enough, positive for the second), or its name, ``"module:function"``.
    problems
        Names or problems; by default the whole suite.
    size
        ``"small"``, ``"standard"`` or ``"large"``: 2000, 10 000 or 30 000 nodes.
    graphs
        Graphs per problem.
    name
        Name of the model in the table; by default that of the function.
    seed
        A secret, such as ``secrets.randbits(64)``, for graphs that the author of the model cannot draw. The model, which
        other processes must be able to import, then runs in a process that is sent the task and not the seed, and that
        sends back numbers only. Its name, in place of the function, keeps its module out of this process.
    user
        With a seed: user of this machine as whom the model runs, so that it cannot read the memory of this process, which
        must be that of root.
    timeout
        With a seed: seconds that the model may take on one graph.
    store
        File that keeps every finished graph; the same call resumes where it stopped.
    workers
        Number of processes; 1 is this process. With a seed more than one needs a user.
    progress
        Whether to show graphs done and time left on standard error; by default where it takes more than two seconds.

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

    if not (callable(model) or isinstance(model, str)):
        raise ParameterError(
            f"model = {shown(model)} must be a function from a task to scores; wrap it in one"
        )
    chosen = as_problems(problems)
    one_of("size", size, *SIZES)
    if seed is None and user is not None:
        raise ParameterError(f"user = {shown(user)} needs a secret; add seed=secrets.randbits(64)")
    if isinstance(model, str) and store is not None:
        kept_by = f"store = {str(store)!r} keeps results by the code of the model"
        raise ParameterError(f"{kept_by}, which a name does not show; pass the function")
    named = name or _name(model)
    workers = whole("workers", workers, low=1, high=10**4)
    run_as: Any = model
    if seed is not None:
        seed = whole("seed", seed, low=0)
        run_as = sealed(model)
        if workers != 1 and user is None:  # while a worker starts, its memory is open
            raise ParameterError(f"workers = {workers} with a seed needs a user; take workers=1")
        close_memory()
    elif isinstance(model, str):
        run_as = named_model(model)
    limit = number("timeout", timeout, low=0.0, open_low=True)
    code = named if isinstance(model, str) or store is None else describe(model)
    graph_range = range(whole("graphs", graphs, low=1))
    axes = {"problem": {problem.name: problem for problem in chosen}, "graph": graph_range}
    # a sweep over problems and graphs: its store, processes and resuming serve here as well
    producer = Producer(
        name=named,
        evaluate=functools.partial(_measure, run_as, user, limit),
        allowed=("problem", "graph", "size", "given"),
        identity=json.dumps([VERSION, code]),
    )
    plan = Plan(producer, axes, None, None, {"size": size, "given": seed})
    run = runner(producer, workers)
    runs: dict[tuple[str, int], Run] = {}
    with Store(store) as kept, progress_bar(named, plan.size, progress, unit="graphs") as bar:

        def put(block: Block, columns: Columns) -> None:
            problem, graph = block.common["problem"].name, int(block.common["graph"])
            fields: dict[str, Any] = {"accuracy": [math.nan], "seconds": [math.nan]}
            fields |= columns.fields
            numbers = float(fields["accuracy"][0]), float(fields["seconds"][0])
            reason = columns.errors.get(0, "")
            runs[problem, graph] = Run(named, problem, size, graph, *numbers, reason)
            bar.advance(1)

        for block, columns in run(missing(plan, kept, put)):
            if columns.final and not columns.errors:
                kept.put(block.key, columns)
            put(block, columns)
    return Scores(tuple(runs[problem.name, graph] for problem in chosen for graph in graph_range))


def _measure(
    model: Any, user: str | None, limit: float, parameters: dict[str, Any]
) -> dict[str, float]:
    """Accuracy and time on one graph; under a secret seed the model, as it is sent, runs in another process."""
    problem, seed = parameters["problem"], parameters["given"]
    where = (parameters["size"], parameters["graph"])
    task = problem.task(*where, seed=seed)
    started = time.perf_counter()
    scores = model(task) if seed is None else scores_apart(model, task, user, limit)
    table = score_table(scores, task.labels.size, task.classes)
    seconds = time.perf_counter() - started
    test = task.test_mask
    del task
    # the hidden labels are drawn only when the scores are a plain array of this process
    return {"accuracy": accuracy(table, problem.truth(*where, seed=seed), test), "seconds": seconds}


def _name(model: object) -> str:
    if isinstance(model, str):
        return model.rpartition(":")[2]
    inner = model.func if isinstance(model, functools.partial) else model
    return str(getattr(inner, "__name__", type(inner).__name__))
