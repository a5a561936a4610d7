"""Progress on standard error: a bar with rate and remaining time on a terminal, a line now and then in a file or pipe."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from gcnlimit.errors import ParameterError

FIRST, EVERY = 2.0, 10.0  # seconds before the first line, and between two others

_counting: list[Callable[[int], None]] = []  # advances the bar that counts blocks, if there is one
_HAS_RICH = importlib.util.find_spec("rich") is not None
_lock = threading.Lock()  # held by what prints lines: one at a time
_in_lines: list[bool] = [False]


@dataclass(frozen=True)
class Bar:
    """A bar to be moved on; without functions, one that is not shown."""

    advance: Callable[[int], None] = lambda count: None  # by the number of items just finished
    rename: Callable[[str], None] = lambda title: None


def is_terminal(stream: Any) -> bool:
    """Whether a stream, which may be closed or missing, is a terminal."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


@contextlib.contextmanager
def progress_in_lines() -> Iterator[None]:
    """Let what is shown on a terminal be lines elsewhere, as the verbs of the command line do and a library should not."""
    _in_lines.append(True)
    try:
        yield
    finally:
        _in_lines.pop()


@contextlib.contextmanager
def progress_bar(
    title: str, total: int | None, show: bool | None = None, *, unit: str = "points"
) -> Iterator[Bar]:
    """Bar of `total` items, or the time so far if it is None; by default shown on a terminal, and not inside another.

    Lines stand for it where there is no terminal, if it is asked for or inside `progress_in_lines`; or no rich.

    >>> with progress_bar("trials", 2, show=False) as bar:
    ...     bar.advance(2)
    """
    if not (show is None or isinstance(show, bool)):
        raise ParameterError(f"progress must be True, False or None, got {show!r}")
    terminal = is_terminal(sys.stderr) or (show is True and "ipykernel" in sys.modules)
    shown: contextlib.AbstractContextManager[Bar] = contextlib.nullcontext(Bar())
    if show or (show is None and total != 1 and (terminal or _in_lines[-1])):
        how = _rich if terminal and _HAS_RICH else partial(_lines, last=show is True)
        shown = how(title, total, unit)
    with shown as bar:
        if unit == "blocks":
            _counting.append(bar.advance)
        try:
            yield bar
        finally:
            _counting.clear()


@contextlib.contextmanager
def _rich(title: str, total: int | None, unit: str) -> Iterator[Bar]:
    """Bar on a terminal."""
    from rich import progress
    from rich.console import Console
    from rich.errors import LiveError

    columns: list[progress.ProgressColumn] = [progress.TextColumn("{task.description}")]
    if total is None:  # neither a share nor the time that is left is known
        columns += [progress.SpinnerColumn(), progress.TimeElapsedColumn()]
    else:
        rate = progress.TextColumn("{task.fields[rate]}")
        left = progress.TimeRemainingColumn(compact=True)
        columns += [progress.BarColumn(), progress.MofNCompleteColumn(), rate, left]
    shown = progress.Progress(*columns, console=Console(stderr=True), transient=True)
    try:
        shown.start()
    except LiveError:  # one display at a time: that of the caller stays
        yield Bar()
        return
    with shown:
        task = shown.add_task(title, total=total, rate="")

        def advance(count: int) -> None:
            shown.advance(task, count)
            speed = shown.tasks[0].speed
            shown.update(task, rate=f"{speed:.3g} {unit}/s" if speed else "")

        yield Bar(advance, lambda name: shown.update(task, description=name))


@contextlib.contextmanager
def _lines(title: str, total: int | None, unit: str, last: bool) -> Iterator[Bar]:
    """Lines for what takes longer than `FIRST` seconds: what it is, how much is done, since when; at the end too if `last`."""
    if not _lock.acquire(blocking=False):  # one display at a time
        yield Bar()
        return
    state: dict[str, Any] = {"title": title, "done": 0}
    began = time.monotonic()
    ended = threading.Event()

    def say() -> None:
        share = "" if total is None else f"{state['done']} of {total} {unit}, "
        line = f"{state['title'].strip()}: {share}{time.monotonic() - began:.0f} s"
        with contextlib.suppress(OSError, ValueError):  # a stream that is closed or full
            print(line, file=sys.stderr, flush=True)

    def report() -> None:
        wait = FIRST
        while not ended.wait(wait):
            say()
            wait = EVERY

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        advance = lambda count: state.update(done=state["done"] + count)  # noqa: E731
        yield Bar(advance, lambda name: state.update(title=name))
    finally:
        ended.set()
        thread.join()
        if last:
            say()
        _lock.release()


def block_done(count: int = 1) -> None:
    """Say, however deep in a long computation, that some blocks are done, to the bar whose unit is ``"blocks"``."""
    for advance in _counting:
        advance(count)
