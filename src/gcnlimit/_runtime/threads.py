"""Thread pools over independent blocks; one thread inside worker processes."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from gcnlimit._runtime.progress import QUIET
from gcnlimit.errors import ParameterError

B = TypeVar("B")
R = TypeVar("R")
VARIABLE = "GCNLIMIT_THREADS"
BLAS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
MOST = 4  # threads by default, since the blocks of more would not fit a shared cache
LARGE = 1 << 18  # numbers in all blocks, below which one thread is faster


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads() -> int:
    """Number of threads: that of the environment variable ``GCNLIMIT_THREADS``, else one for each core and at most 4.

    >>> threads() >= 1
    True
    """
    setting = os.environ.get(VARIABLE, "").strip()
    if not setting:
        return min(MOST, cores())
    if not setting.isdecimal() or int(setting) < 1:
        raise ParameterError(f"{VARIABLE} = {setting!r} must be a whole number >= 1, or unset")
    return int(setting)


def over_blocks(function: Callable[[B], object], blocks: Iterable[B], size: int) -> None:
    """Call `function`, which writes a part of a result, on each block; in threads if `size`, the numbers in all, are many."""
    parts = list(blocks)
    for _ in ordered_map(function, parts, size if len(parts) > 1 else 0):
        pass


def ordered_map(function: Callable[[B], R], blocks: Iterable[B], size: int) -> Iterator[R]:
    """Answers of `function`, in the order of the blocks; each thread works on one, and one more waits to be taken.

    So what is made of the answers one after the other is bit-identical for any number of threads. There is one if `size`, the
    numbers in all blocks, are few. On an error, or Ctrl-C, blocks that have not begun are dropped; Ctrl-C waits for no other.

    >>> list(ordered_map(lambda k: k * k, range(4), size=1 << 20))
    [0, 1, 4, 9]
    """
    count = threads()
    if count == 1 or size < LARGE:
        yield from map(function, blocks)
        return
    with single_threaded_blas():
        pool, waiting = ThreadPoolExecutor(count), deque[Future[R]]()
        try:
            for block in blocks:
                # limits of memory are variables of the context, which a thread does not inherit
                waiting.append(pool.submit(copy_context().run, function, block))
                if len(waiting) > count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BaseException as error:  # a block may take long, and after Ctrl-C nobody needs it
            needed = not isinstance(error, KeyboardInterrupt | SystemExit)
            pool.shutdown(wait=needed, cancel_futures=True)
            raise
        pool.shutdown()


@contextlib.contextmanager
def single_threaded_children() -> Iterator[None]:
    """Environment in which a process that starts has one thread for blocks and for linear algebra, and shows no progress."""
    names = (VARIABLE, QUIET, *BLAS)
    before = {name: os.environ[name] for name in names if name in os.environ}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name in names:
            os.environ.pop(name, None)
        os.environ.update(before)


@contextlib.contextmanager
def single_threaded_blas() -> Iterator[None]:
    """One thread for linear algebra, if threadpoolctl is installed: several spin while they wait for one whose core is busy."""
    try:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        yield
        return
    with threadpool_limits(1, user_api="blas"):  # PyTorch keeps its own
        yield
