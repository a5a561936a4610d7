"""The front door: sweep a producer over axes, here, in processes or in an executor, into a labelled dataset."""

from __future__ import annotations

import functools
import io
import json
import math
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy

from gcnlimit._runtime.extras import need
from gcnlimit._runtime.processes import as_finished, broken, check_pickle, process_pool, submitted
from gcnlimit._runtime.progress import progress_bar
from gcnlimit._runtime.threads import cores
from gcnlimit._validation import whole
from gcnlimit._values import shown
from gcnlimit._version import NUMERICAL_VERSION, __version__
from gcnlimit.csbm import CSBM
from gcnlimit.errors import GCNLimitError, ParameterError
from gcnlimit.network import GCN
from gcnlimit.parameters import SIMULATION, build_data, long_name
from gcnlimit.sweeps.grid import Block, Columns
from gcnlimit.sweeps.plan import Plan
from gcnlimit.sweeps.producers import STATUS_NAMES, Producer, as_producer, compute, failed, reason
from gcnlimit.sweeps.store import Store, plain

if TYPE_CHECKING:
    import xarray

_ATTEMPTS = 3
_IN_FLIGHT = 1024  # blocks given at once to an executor of unknown size

Answers = Iterator[tuple[Block, Columns]]
Work = Callable[[Block], Columns]

_FIELD_NAMES = {
    "test_accuracy": "fraction of unlabelled nodes classified correctly",
    "train_accuracy": "fraction of labelled nodes classified correctly",
    "test_loss": "average loss on unlabelled nodes",
    "train_loss": "average loss on labelled nodes",
    "log_test_error": "logarithm of the test error",
    "best_accuracy": "test accuracy at the best threshold",
    "status": "how the computation of the point ended",
    "error": "why the point failed",
    "optimum": "where the optimum lies, a TuneStatus",
}


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
    progress: bool | None = None,
) -> xarray.Dataset:
    """Compute `what` at every combination of the axes, and return a labelled dataset.

    Parameters
    ----------
    what
        `predict`, `bayes_optimal`, `best_linear`, `simulate` or `tune` (the function or its name), or your own function from
        keyword arguments to a dictionary of numbers, a number, or an answer of the library.
    axes
        Values of each swept parameter of the data, the network or the simulation, by the names of `CSBM`, `GCN` and `simulate`;
        ``degrees_variance`` of a law of degrees; ``t``, ``theta``, ``c`` and ``depth``, ``coefficients`` or ``filter`` (a list or
        dictionary of filters); ``tau`` of a normalization; ``time``, or ``steps``, ``rate`` and ``momentum`` of a training.
    data, gcn
        Everything that is not swept; the values here of swept parameters are ignored.
    fixed
        Other parameters that are not swept, by name: ``nodes``, ``trials``, ``seed``, ``tol``, ``free``...
    store
        File that keeps every finished block; the same sweep started again resumes where it stopped.
    workers
        Number of processes; by default 1 (this process, vectorized) except for `simulate`, which takes all cores.
    executor
        Instead of `workers`: any ``concurrent.futures`` executor, such as that of a Dask cluster,
        ``Client(address).get_executor()``.
    progress
        Whether to show progress on standard error; by default where it takes more than two seconds.

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
    >>> abs(float(ds.test_accuracy.sel(lam=1.0, t=1.0)) - gl.predict(data, gcn).test_accuracy) < 1e-12
    True
    """
    need("a sweep", "sweep", "xarray")
    plan = Plan(as_producer(what), axes, data, gcn, {} if fixed is None else fixed)
    if workers is None and executor is None and (fixed or {}).get("device", "cpu") != "cpu":
        workers = _in_flight(plan)
    run = runner(plan.producer, workers, executor)
    with Store(store) as kept, progress_bar(plan.producer.name, plan.size, progress) as bar:
        answers = _Answers(plan, bar.advance)
        try:
            for block, columns in run(missing(plan, kept, answers.put)):
                if columns.final:
                    kept.put(block.key, columns)
                answers.put(block, columns)
        except KeyboardInterrupt as stop:
            resume = f"kept in {store}; run the same again to resume"
            fate = resume if store else "lost: give a store to keep them"
            done = f"{answers.done} of {plan.size} points were finished"
            stop.add_note(f"interrupted: {done} and are {fate}")
            raise
    return answers.dataset(plan.producer.name)


def _in_flight(plan: Plan) -> int:
    """Processes that share a GPU: its memory holds a trial of each at the largest of the points."""
    if plan.producer.name != "simulate":
        return 1
    from gcnlimit.simulation.data.size import Size
    from gcnlimit.simulation.simulate import in_flight

    common = next(plan.blocks()).common
    swept = {axis.name: axis.values for axis in plan.axes if axis.name in SIMULATION}
    largest = {name: None if None in values else max(values) for name, values in swept.items()}
    settings = plan.producer.defaults | common | largest
    asked: Any = map(settings.get, ("nodes", "degree", "streamed", "dtype", "device"))
    size = Size.of(build_data(common), *asked)
    return in_flight(size, plan.columns, settings["trials"] * plan.rows)


def missing(plan: Plan, kept: Store, put: Callable[[Block, Columns], None]) -> Iterator[Block]:
    """Blocks that the store does not have when their turn comes; `put` takes the answers of the others."""
    for block in plan.blocks():
        columns = kept.get(block.key)
        if columns is not None and columns.final:
            put(block, columns)
        else:
            yield block


def runner(
    producer: Producer, workers: int | None, executor: Executor | None = None
) -> Callable[[Iterable[Block]], Answers]:
    """Function from blocks to answers, as the user chose to run them: in this process, in others, or in an executor."""
    work = functools.partial(compute, producer)
    if executor is not None:
        if workers is not None:
            raise ParameterError("give workers or executor, not both: each says who computes")
        if not hasattr(executor, "submit"):
            wrong = f"executor = {shown(executor)} is not allowed"
            raise ParameterError(f"{wrong}; it must be a concurrent.futures.Executor")
        return lambda blocks: _in_executor(work, blocks, executor)
    # theory is vectorized, and one process is faster than the start of several
    usual = cores() if producer.name == "simulate" else 1
    count = usual if workers is None else whole("workers", workers, low=1, high=10**4)
    if count == 1:
        return lambda blocks: ((block, work(block)) for block in blocks)
    check_pickle(producer, producer.name)
    return lambda blocks: _in_processes(work, blocks, count)


def _in_executor(work: Work, blocks: Iterable[Block], executor: Executor) -> Answers:
    """Blocks as they finish in an executor that someone else owns."""
    pairs = ((block, block) for block in blocks)
    for block, future in as_finished(executor, work, pairs, _IN_FLIGHT):
        if broken(future):
            raise GCNLimitError("the executor broke or was closed; with a store, a new one resumes")
        yield block, _result(future, block)


def _in_processes(work: Work, blocks: Iterable[Block], workers: int) -> Answers:
    """Blocks as they finish in processes of our own.

    If a process dies, the blocks in flight are suspects: each is tried alone in a new pool, so that one which kills its
    process every time is found and reported, and costs nothing to the others.
    """
    pairs = ((block, block) for block in blocks)
    started = False
    suspects: list[Block] = []
    while True:
        suspects.clear()
        # once a process has died, no further block is sent to its pool
        healthy = iter(lambda: None if suspects else next(pairs, None), None)
        with process_pool(workers) as pool:
            for block, future in as_finished(pool, work, healthy, 4 * workers):
                if broken(future):
                    suspects.append(block)
                else:
                    started = True
                    yield block, _result(future, block)
        if suspects and not started:
            _check_start(work)
        for block in suspects:
            yield block, _alone(work, block)
        if not suspects:
            return


def _result(future: Future[Columns], block: Block) -> Columns:
    """Columns of a finished block; an error here is not the producer's but of who ran it (a dead worker)."""
    error = future.exception()
    return future.result() if error is None else failed(reason(error), block.size)


def _alone(work: Work, block: Block) -> Columns:
    """Try a block that was there when a process died, in a process of its own."""
    for _ in range(_ATTEMPTS):
        with process_pool(1) as pool:
            future = submitted(pool, work, block)
            if not broken(future):
                return _result(future, block)
    died = f"the process that computed it died, {_ATTEMPTS} times; it may need more memory"
    return failed(died, block.size)


def _check_start(work: Work) -> None:
    """Raise `GCNLimitError` if worker processes cannot even start."""
    with process_pool(1) as pool:
        if broken(pool.submit(repr, work)):
            why = "a function that is defined in a script needs the call to sweep under"
            raise GCNLimitError(f"worker processes cannot start; {why} if __name__ == '__main__':")


class _Answers:
    """Columns of the whole grid, filled block by block; `advance` is called with the number of points filled."""

    def __init__(self, plan: Plan, advance: Callable[[int], None]) -> None:
        self._plan = plan
        self._shape = plan.rows, plan.columns
        self._advance = advance
        self._fields: dict[str, npt.NDArray[Any]] = {}
        self._errors = np.full(self._shape, "", object)
        self.done = 0

    def put(self, block: Block, columns: Columns) -> None:
        """Write a block at its place."""
        place = (block.row, slice(block.start, block.start + block.size))
        # a failed block has no fields, so they are made by the first that has them
        for name, values in columns.fields.items():
            if name not in self._fields:
                missing = math.nan if values.dtype.kind == "f" else -1
                self._fields[name] = np.full(self._shape, missing, values.dtype.newbyteorder("="))
            self._fields[name][place] = values
        for at, sentence in columns.errors.items():
            self._errors[block.row, block.start + at] = sentence
        self.done += block.size
        self._advance(block.size)

    def dataset(self, what: str) -> xarray.Dataset:
        """The labelled dataset: one dimension for each axis, one variable for each field, and what computes it again."""
        import xarray

        axes = {axis.name: axis.labels for axis in self._plan.axes}
        shaped = {}
        for name, values in (self._fields | {"error": self._errors}).items():
            if name not in axes:
                shaped[name] = list(axes), self._plan.shaped(values), _attributes(name)
        coordinates = {}
        for name, labels in axes.items():
            units = {"units": "1"} if labels.dtype.kind in "if" else {}
            coordinates[name] = name, labels, {"long_name": long_name(name)} | units
        provenance = {
            "producer": what,
            "parameters": json.dumps(plain(self._plan.common)),
            "gcnlimit_version": __version__,
            "numerical_version": NUMERICAL_VERSION,
            "numpy_version": np.__version__,
            "scipy_version": scipy.__version__,
            "python_version": platform.python_version(),
        }
        return xarray.Dataset(shaped, coordinates, provenance)


def _attributes(name: str) -> dict[str, Any]:
    """What a variable is, in words; every number of the model is a pure one."""
    base = name.removesuffix("_standard_error")
    words = _FIELD_NAMES.get(base) or long_name(base)
    if name == "status":
        flags = np.array(list(STATUS_NAMES), np.int8)
        meanings = " ".join(STATUS_NAMES.values())
        return {"long_name": words, "flag_values": flags, "flag_meanings": meanings}
    named = {"long_name": words if base == name else f"standard error of the {words}"}
    return named if name == "error" else named | {"units": "1"}


def as_netcdf(dataset: xarray.Dataset) -> bytes:
    """Content of a NetCDF file, made in memory: where a disk is full, HDF5 would end the process."""
    import h5netcdf
    from xarray.backends import H5NetCDFStore

    content = io.BytesIO()
    with h5netcdf.File(content, "w") as file:
        dataset.dump_to_store(H5NetCDFStore(file))
    return content.getvalue()
