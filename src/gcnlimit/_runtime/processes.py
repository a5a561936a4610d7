"""Parallel processes: spawned, of one thread each, ended with their parent, stopped at once by Ctrl-C."""

from __future__ import annotations

import contextlib
import itertools
import operator
import os
import pickle
import signal
import sys
import threading
import types
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from functools import partial
from typing import Any, TypeVar

from gcnlimit._runtime.progress import Forgiving
from gcnlimit._runtime.threads import single_threaded_blas, single_threaded_children
from gcnlimit.errors import GCNLimitError, ParameterError

K = TypeVar("K")
T = TypeVar("T")
R = TypeVar("R")
Answers = Generator[tuple[int, R], None, None]  # numbers of finished tasks, and their results


def run(
    tasks: Sequence[Callable[[], R]],
    workers: int,
    *,
    done: Callable[[int], None] = lambda count: None,
) -> list[R | None]:
    """Results of independent tasks, in their order; after Ctrl-C those of the finished tasks, and None for the others.

    One worker is this process; `done` is called after each task with the number 1.

    >>> run([list, dict], workers=1)
    [[], {}]
    """
    workers = min(workers, len(tasks))
    results: list[R | None] = [None] * len(tasks)
    answers = _here(tasks) if workers == 1 else _in_processes(tasks, workers)
    with contextlib.suppress(KeyboardInterrupt), contextlib.closing(answers):
        for index, result in answers:
            results[index] = result
            done(1)
    return results


@contextlib.contextmanager
def process_pool(workers: int) -> Iterator[Executor]:
    """Executor of spawned processes of one thread each; if anything is raised, they are stopped at once."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    spawn = multiprocessing.get_context("spawn")
    with single_threaded_children():
        pool = ProcessPoolExecutor(workers, spawn, initializer=_start_worker)
        pool.submit = partial(_submit, pool.submit)  # type: ignore[method-assign]
        try:
            yield pool
        except BaseException:
            for process in list((pool._processes or {}).values()):
                process.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _submit(submit: Callable[..., Any], fn: Callable[..., Any], /, *args: Any, **kw: Any) -> Any:
    """Submit a call without the caller's script, unless the call needs something defined in it.

    This may start a process, which imports ``__main__``: a script without ``if __name__ == "__main__"`` would run once more. An
    empty module stands in for it. What waits to be written to a full standard error is no reason to fail.
    """
    needed = b"__main__" in pickle.dumps((fn, args, kw))
    with _SWAPPED, _blocked_interruptions(), contextlib.redirect_stderr(Forgiving(sys.stderr)):
        main = sys.modules["__main__"]
        sys.modules["__main__"] = main if needed else types.ModuleType("__main__")
        try:
            return submit(fn, *args, **kw)
        finally:
            sys.modules["__main__"] = main


@contextlib.contextmanager
def _blocked_interruptions() -> Iterator[None]:
    """Ctrl-C waits, where the system can do so; a process that starts inherits this, and is not interrupted while it imports."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_SWAPPED = threading.Lock()
"""Held while an empty module stands in for ``__main__``: of two threads, the second would put it back for good."""


def _here(tasks: Sequence[Callable[[], R]]) -> Answers[R]:
    with single_threaded_blas():
        for index, task in enumerate(tasks):
            yield index, task()


def _in_processes(tasks: Sequence[Callable[[], R]], workers: int) -> Answers[R]:
    check_pickle(tasks[0], "the network")
    with process_pool(workers) as pool:
        # a few wait for each process, so that none is idle
        for index, future in as_finished(pool, operator.call, enumerate(tasks), 4 * workers):
            if broken(future):
                raise GCNLimitError("a worker process died (out of memory?); take fewer workers")
            yield index, future.result()


def check_pickle(what: object, name: str, other: str = ", or pass workers=1") -> None:
    """Raise `ParameterError` if an object cannot be sent to other processes; `other` is another way out."""
    try:
        pickle.dumps(what)
    except Exception as error:
        problem = f"{name} cannot be sent to other processes ({error})"
        remedy = "define its functions with def at the top level of a module"
        raise ParameterError(f"{problem}; {remedy}{other}") from None


def as_finished(
    executor: Executor, function: Callable[[T], R], items: Iterable[tuple[K, T]], window: int
) -> Generator[tuple[K, Future[R]], None, None]:
    """Labels of the items and futures of ``function(item)`` as they finish, at most `window` of them in flight."""
    rest = iter(items)
    flying: dict[Future[R], K] = {}
    try:
        while True:
            for label, item in itertools.islice(rest, window - len(flying)):
                flying[submitted(executor, function, item)] = label
            if not flying:
                return
            for future in wait(flying, return_when=FIRST_COMPLETED).done:
                yield flying.pop(future), future
    finally:
        for future in flying:
            future.cancel()


def submitted(executor: Executor, function: Callable[[T], R], item: T) -> Future[R]:
    """Future of a call; one that has failed already, if the executor is broken."""
    try:
        return executor.submit(function, item)
    except RuntimeError as error:  # BrokenExecutor is one
        future: Future[R] = Future()
        future.set_exception(BrokenExecutor(str(error)))
        return future


def broken(future: Future[Any]) -> bool:
    """Whether the executor broke before it could finish the call; waits for the end of the call."""
    return future.cancelled() or isinstance(future.exception(), BrokenExecutor)


def _start_worker() -> None:
    """Leave Ctrl-C to the parent, and end when the parent does, however it ends."""
    import multiprocessing

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
