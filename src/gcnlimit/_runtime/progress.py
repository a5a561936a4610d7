"""Progress on standard error: on a terminal one line that changes, in a file or pipe a line now and then."""

from __future__ import annotations

import contextlib
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from gcnlimit.errors import ParameterError

FIRST, EVERY = 2.0, 10.0  # seconds before the first line, and between two others
_MOVES = 0.2  # seconds between two states of a line on a terminal

_counting: list[Callable[[int], None]] = []  # advances the bar that counts blocks, if there is one
_shown = threading.Lock()  # held by the bar that is shown: one at a time
_in_lines = [False]


@dataclass
class Bar:
    """Progress of a computation: its title, how many items it has, and how many are finished."""

    title: str
    total: int | None
    unit: str
    done: int = 0
    began: float = field(default_factory=time.monotonic)

    def advance(self, count: int) -> None:
        """Count items that have just been finished."""
        self.done += count

    def __str__(self) -> str:
        seconds = time.monotonic() - self.began
        if self.total is None:  # neither a share nor the time that is left is known
            return f"{self.title.strip()}: {seconds:.0f} s"
        share = f"{self.title.strip()}: {self.done} of {self.total} {self.unit}, {seconds:.0f} s"
        left = seconds * (self.total / self.done - 1.0) if self.done else 0.0
        return f"{share}, about {left:.0f} s left" if left else share


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

    Where there is no terminal, lines are printed if it is asked for, or inside `progress_in_lines`.

    >>> with progress_bar("trials", 2, show=False) as bar:
    ...     bar.advance(2)
    """
    if not (show is None or isinstance(show, bool)):
        raise ParameterError(f"progress must be True, False or None, got {type(show).__name__}")
    bar = Bar(title, total, unit)
    wanted = (is_terminal(sys.stderr) or _in_lines[-1]) and total != 1 if show is None else show
    if not (wanted and _shown.acquire(blocking=False)):
        yield bar
        return
    ended = threading.Event()
    thread = threading.Thread(target=_show, args=(bar, ended), daemon=True)
    thread.start()
    if unit == "blocks":
        _counting.append(bar.advance)
    try:
        yield bar
    finally:
        _counting.clear()
        ended.set()
        thread.join()
        if show and not is_terminal(sys.stderr):
            _write(f"{bar}\n")
        _shown.release()


def _show(bar: Bar, ended: threading.Event) -> None:
    """Write the state of a bar until it has ended; on a terminal nothing is left of it."""
    if is_terminal(sys.stderr):
        while not ended.wait(_MOVES):
            _write(f"\r{str(bar)[: shutil.get_terminal_size().columns - 1]}\x1b[K")
        _write("\r\x1b[K")
        return
    pause = FIRST
    while not ended.wait(pause):
        _write(f"{bar}\n")
        pause = EVERY


def _write(text: str) -> None:
    """Write to standard error, unless it is missing, closed or full."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(text)
        sys.stderr.flush()


def block_done(count: int = 1) -> None:
    """Say, however deep in a long computation, that some blocks are done, to the bar whose unit is ``"blocks"``."""
    for advance in _counting:
        advance(count)
