"""Independent tasks in parallel processes: spawned, of one thread each, with a progress bar, interruptible."""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, TypeVar

from gcnlimit._threads import cores, one_thread, one_thread_each
from gcnlimit.errors import ParameterError

__all__ = ["run"]

R = TypeVar("R")


def run(
    tasks: Sequence[Callable[[], R]], workers: int | None = None, *, small: bool = False, progress: bool | None = None
) -> list[R | None]:
    """Results of the tasks, in their order; after Ctrl-C those of the tasks done, and None for the others.

    `small` work stays in this process by default; `progress` draws a bar or not, by default on a terminal only.

    >>> run([list, dict], workers=1)
    [[], {}]
    """
    if workers is None:
        workers = 1 if small else cores()
    results: list[R | None] = [None] * len(tasks)
    workers = min(workers, len(tasks))
    serve = _here if workers == 1 else _in_processes
    with _progress(len(tasks), progress) as advance, contextlib.suppress(KeyboardInterrupt):
        for index, result in serve(tasks, workers):
            results[index] = result
            advance()
    return results


def _here(tasks: Sequence[Callable[[], R]], workers: int) -> Iterator[tuple[int, R]]:
    with one_thread():
        for index, task in enumerate(tasks):
            yield index, task()


def _in_processes(tasks: Sequence[Callable[[], R]], workers: int) -> Iterator[tuple[int, R]]:
    executor = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_prepare)
    try:
        with _quiet_start(tasks):
            futures = {executor.submit(_call, task): index for index, task in enumerate(tasks)}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        executor.shutdown(cancel_futures=True)


def _call(task: Callable[[], R]) -> R:
    return task()


def _prepare() -> None:
    """Leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def _quiet_start(tasks: Sequence[Any]) -> Iterator[None]:
    """Start workers with one thread each, and without importing the caller's script again (unless a task is defined in it).

    A spawned process imports ``__main__``, which would run a script that has no ``if __name__ == "__main__"`` once more.
    """
    main = sys.modules["__main__"]
    if not any(_from_main(task) for task in tasks[:1]):
        sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        with one_thread_each():
            yield
    finally:
        sys.modules["__main__"] = main


def _from_main(task: Any) -> bool:
    """Whether the task, or a loss or filter that it carries, is defined in the caller's script."""
    try:
        return b"__main__" in pickle.dumps(task)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ParameterError(
            f"the network cannot be sent to other processes ({error}); define its functions with def at the top level of a "
            "module, or pass workers=1"
        ) from None


@contextlib.contextmanager
def _progress(total: int, wanted: bool | None) -> Iterator[Callable[[], None]]:
    """A progress bar if rich is installed and it is wanted; yields what to call after each task."""
    if not (total > 1 and sys.stderr.isatty() if wanted is None else wanted):
        yield lambda: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ModuleNotFoundError:
        yield lambda: None
        return
    with Progress(console=Console(stderr=True, force_terminal=True), transient=True) as progress:
        bar = progress.add_task("trials", total=total)
        yield lambda: progress.advance(bar)
