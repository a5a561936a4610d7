"""The front door: sweep a producer over axes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

from gcnlimit._runtime.extras import need
from gcnlimit._runtime.progress import progress_bar
from gcnlimit.csbm import CSBM
from gcnlimit.network import GCN
from gcnlimit.parameters import SIMULATION, build_data
from gcnlimit.sweeps.answers import Answers
from gcnlimit.sweeps.execute import runner
from gcnlimit.sweeps.grid import Block, Columns
from gcnlimit.sweeps.plan import Plan
from gcnlimit.sweeps.producers import as_producer
from gcnlimit.sweeps.store import Store

if TYPE_CHECKING:
    import xarray


def sweep(
    what: Callable[..., Any] | str,
    *,
    axes: Mapping[str, Any],
    data: CSBM | None = None,
    gcn: GCN | None = None,
    fixed: Mapping[str, Any] | None = None,
    store: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    scheduler: str | None = None,
    progress: bool | None = None,
) -> xarray.Dataset:
    """Compute `what` at every combination of the axes, and return a labelled dataset.

    Parameters
    ----------
    what
        `predict`, `bayes_optimal`, `simulate` or `tune` (the function or its name), or a function of your own from
        keyword arguments to a dictionary of numbers.
    axes
        Values of each swept parameter: ``alpha lam mu rho directed`` of the data; ``t``, ``theta``, ``c`` and ``depth``,
        ``coefficients`` or ``filter`` (a list or dictionary of filters), ``loss reg symmetrize`` of the network;
        ``nodes degree trials seed`` of a simulation.
    data, gcn
        Everything that is not swept; the values here of swept parameters are ignored.
    fixed
        Other parameters that are not swept, by name: ``nodes``, ``trials``, ``seed``, ``tol``, ``free``...
    store
        File that keeps every finished block; the same sweep started again resumes where it stopped.
    workers
        Number of processes; by default 1 (this process, vectorised) except for `simulate`, which takes all cores.
    executor, scheduler
        Instead of `workers`: any ``concurrent.futures`` executor, or the address of a Dask scheduler.
    progress
        Whether to show a progress bar; by default if standard error is a terminal.

    Returns
    -------
    xarray.Dataset
        One dimension for each axis; the fields of the answer, and ``status`` and ``error`` of each point. The numbers
        are the same whatever the number of workers and however often the sweep was interrupted.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data, gcn = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.Diffusion(t=1.0), symmetrize=True)
    >>> ds = gl.sweep(gl.predict, data=data, gcn=gcn, axes={"lam": [0.5, 1.0], "t": [0.0, 1.0, 2.0]})
    >>> dict(ds.sizes)
    {'lam': 2, 't': 3}
    >>> float(ds.test_accuracy.sel(lam=1.0, t=1.0)) == gl.predict(data, gcn).test_accuracy
    True
    """
    need("a sweep", "sweep", "xarray")
    plan = Plan.of(as_producer(what), axes, data, gcn, fixed or {})
    alone = workers is None and executor is None and scheduler is None
    if alone and (fixed or {}).get("device", "cpu") != "cpu":
        workers = _in_flight(plan)
    with (
        runner(plan.producer, workers, executor, scheduler) as run,
        Store(store) as kept,
        progress_bar(plan.producer.name, plan.grid.size, progress) as bar,
    ):
        answers = Answers(plan.grid, bar.advance)
        try:
            for block, columns in run(missing(plan, kept, answers.put)):
                if columns.final:
                    kept.put(block.key, columns)
                answers.put(block, columns)
        except KeyboardInterrupt as stop:
            stop.add_note(
                f"interrupted: {answers.done} of {plan.grid.size} points were finished and are {_kept_in(store)}"
            )
            raise
    return answers.dataset(plan.producer.name)


def _in_flight(plan: Plan) -> int:
    """Processes that share a graphics card: its memory holds a trial of each at the largest of the points."""
    if plan.producer.name != "simulate":
        return 1
    from gcnlimit.simulation.data.size import Size
    from gcnlimit.simulation.simulate import in_flight

    grid, common = plan.grid, next(plan.grid.blocks()).common
    swept = {axis.name: axis.values for axis in grid.axes if axis.name in SIMULATION}
    largest = {name: None if None in values else max(values) for name, values in swept.items()}
    given = plan.producer.defaults | common | largest
    nodes, degree, streamed, dtype, device = (
        given.get(name) for name in ("nodes", "degree", "streamed", "dtype", "device")
    )
    size = Size.of("sweep", build_data(common), nodes, degree, streamed, dtype, str(device))
    return in_flight(size, grid.columns, given["trials"] * grid.rows)


def _kept_in(store: object) -> str:
    return f"kept in {store}; run the same sweep again to resume" if store else "lost: give a store to keep them"


def missing(plan: Plan, kept: Store, put: Callable[[Block, Columns], None]) -> Iterator[Block]:
    """Blocks that the store does not have when their turn comes; `put` takes the answers of the others."""
    for block in plan.blocks():
        found = kept.get(block.key)
        if found is not None and found.final:
            put(block, found)
        else:
            yield block
