"""Who computes the blocks: this process, a pool, any executor or a Dask cluster; and what happens when a worker dies."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import Any

from gcnlimit._runtime.extras import need
from gcnlimit._runtime.processes import as_finished, broken, check_pickle, process_pool, submitted
from gcnlimit._runtime.threads import cores
from gcnlimit._validation import whole
from gcnlimit.errors import GCNLimitError, ParameterError
from gcnlimit.sweeps.grid import Block, Columns
from gcnlimit.sweeps.producers import Producer, compute, failed, reason

_ATTEMPTS = 3
_IN_FLIGHT = 1024  # blocks given at once to an executor of unknown size
_START = 10.0  # seconds to wait for a Dask scheduler and for its first worker
_PATIENCE = 60.0  # seconds without any worker after which a sweep on a cluster ends

Answers = Iterator[tuple[Block, Columns]]
Waiting = Callable[[], None]


@contextlib.contextmanager
def runner(
    producer: Producer, workers: int | None, executor: Executor | None, scheduler: str | None
) -> Iterator[Callable[[Iterable[Block]], Answers]]:
    """Function from blocks to answers, as the user chose to run them."""
    given = {"workers": workers, "executor": executor, "scheduler": scheduler}
    chosen = [name for name, value in given.items() if value is not None]
    if len(chosen) > 1:
        raise ParameterError(f"give one of {' and '.join(chosen)}, not several: each says who computes")
    if scheduler is not None:
        with dask_executor(scheduler, producer) as (cluster, check):
            yield lambda blocks: in_executor(producer, blocks, cluster, check)
        return
    if executor is not None:
        if not hasattr(executor, "submit"):
            raise ParameterError(f"executor = {executor!r} is not allowed; it must be a concurrent.futures.Executor")
        yield lambda blocks: in_executor(producer, blocks, executor, None)
        return
    usual = cores() if producer.name == "simulate" else 1
    count = usual if workers is None else whole("workers", workers, low=1)
    if count > 1:
        check_pickle(producer, producer.name)
        yield lambda blocks: in_processes(producer, blocks, count)
    else:
        yield lambda blocks: ((block, compute(producer, block)) for block in blocks)


def in_executor(producer: Producer, blocks: Iterable[Block], executor: Executor, waiting: Waiting | None) -> Answers:
    """Blocks as they finish in an executor that someone else owns; `waiting` is called while nothing finishes."""
    for block, future in _as_finished(producer, blocks, executor, _IN_FLIGHT, waiting):
        if broken(future):
            raise GCNLimitError("the executor broke or was closed; with a store, the same sweep in a new one resumes")
        yield block, _result(future, block)


def in_processes(producer: Producer, blocks: Iterable[Block], workers: int) -> Answers:
    """Blocks as they finish in processes of our own.

    If a process dies, the blocks in flight are suspects: each is tried alone in a new pool, so that one which kills its
    process every time is found and reported, and costs nothing to the others.
    """
    rest = iter(blocks)
    started = False
    suspects: list[Block] = []
    while True:
        suspects.clear()
        healthy = iter(lambda: None if suspects else next(rest, None), None)
        with process_pool(workers) as pool:
            for block, future in _as_finished(producer, healthy, pool, 4 * workers):
                if broken(future):
                    suspects.append(block)
                else:
                    started = True
                    yield block, _result(future, block)
        if suspects and not started:
            _check_start(producer)
        for block in suspects:
            yield block, _alone(producer, block)
        if not suspects:
            return


def _as_finished(
    producer: Producer, blocks: Iterable[Block], executor: Executor, window: int, waiting: Waiting | None = None
) -> Iterator[tuple[Block, Future[Columns]]]:
    """Blocks and their futures as they finish."""
    pairs = ((block, block) for block in blocks)
    return as_finished(executor, functools.partial(compute, producer), pairs, window, waiting)


def _result(future: Future[Columns], block: Block) -> Columns:
    """Columns of a finished block; an error here is not the producer's but of who ran it (a dead worker)."""
    error = future.exception()
    return future.result() if error is None else failed(reason(error), block.size)


def _alone(producer: Producer, block: Block) -> Columns:
    """Try a block that was there when a process died, in a process of its own."""
    for _ in range(_ATTEMPTS):
        with process_pool(1) as pool:
            future = submitted(pool, functools.partial(compute, producer), block)
            if not broken(future):
                return _result(future, block)
    return failed(f"the process that computed it died, {_ATTEMPTS} times; it may need more memory", block.size)


def _check_start(producer: Producer) -> None:
    """Raise `GCNLimitError` if worker processes cannot even start."""
    with process_pool(1) as pool:
        if broken(pool.submit(repr, producer)):
            raise GCNLimitError(
                "worker processes cannot start; a function defined in a script needs its call to sweep "
                "under if __name__ == '__main__':"
            )


@contextlib.contextmanager
def dask_executor(address: str, producer: Producer) -> Iterator[tuple[Executor, Waiting]]:
    """Executor of a cluster, and a function that raises if the cluster has been without workers for too long."""
    if not isinstance(address, str):
        raise ParameterError(f"scheduler = {address!r} is not allowed; it must be an address such as 'tcp://host:8786'")
    need("a Dask cluster", "dist", "distributed")
    from distributed import Client

    try:
        client: Any = Client(address, timeout=f"{_START:g} s")  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise GCNLimitError(f"no Dask scheduler answers at {address!r} ({error}); check the address") from None
    with client:
        _check_cluster(client, address, producer)
        executor = client.get_executor()
        try:
            yield executor, _Watch(client, address)
        finally:
            executor.shutdown(wait=False)  # cancels what is left; to wait for it would never end without workers


def _check_cluster(client: Any, address: str, producer: Producer) -> None:
    """Wait for a worker, and send it the producer: a module that it does not have fails at once, not at every point."""
    try:
        client.wait_for_workers(1, timeout=_START)
    except TimeoutError:
        raise GCNLimitError(
            f"the Dask scheduler at {address!r} has no workers; start some with: dask worker {address}"
        ) from None
    try:
        client.submit(repr, producer, pure=False).result()
    except Exception as error:
        raise GCNLimitError(
            f"the cluster at {address!r} cannot load {producer.name} ({error}); "
            "install gcnlimit and the module that defines it on the scheduler and its workers"
        ) from None


class _Watch:
    """Called while nothing finishes: raises when the cluster has been without workers for too long."""

    def __init__(self, client: Any, address: str) -> None:
        self._client = client
        self._address = address
        self._seen = time.monotonic()

    def __call__(self) -> None:
        if self._client.scheduler_info()["workers"]:
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > _PATIENCE:
            raise GCNLimitError(
                f"the Dask cluster at {self._address!r} has lost all its workers; start new ones, "
                "and with a store the same sweep resumes"
            )
