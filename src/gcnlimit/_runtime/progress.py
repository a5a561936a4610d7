"""Progress of whatever takes more than two seconds, on standard error: a line that changes on a terminal, elsewhere a new one.

``GCNLIMIT_QUIET=1`` silences all of it, ``progress=False`` that of a function which has the parameter.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from gcnlimit.errors import ParameterError

QUIET = "GCNLIMIT_QUIET"
FIRST, EVERY = 2.0, 10.0  # seconds before the first line, and between two others
_MOVES = 0.2  # seconds between two looks at the bars
_REST = 10  # looks at none after which the thread that shows them ends


@dataclass(eq=False)
class Bar:
    """Progress of a computation: its title, how many items it has, how many are finished, and the bars inside."""

    title: str
    total: int | None
    unit: str
    done: int = 0
    began: float = field(default_factory=time.monotonic)
    parts: list[Bar] = field(default_factory=list)
    lines: int = 0  # that were written

    def advance(self, count: int) -> None:
        """Count items that have just been finished."""
        self.done += count

    def __str__(self) -> str:
        seconds = time.monotonic() - self.began
        if self.total is None:
            counted = [part for part in self.parts if part.total is not None]
            return f"{self.title}, {counted[0]}" if counted else f"{self.title}: {seconds:.0f} s"
        share = f"{self.title}: {self.done} of {self.total} {self.unit}, {seconds:.0f} s"
        left = seconds * (self.total / self.done - 1.0) if self.done else 0.0
        return f"{share}, about {left:.0f} s left" if left else share


_outermost: ContextVar[Bar | None] = ContextVar("outermost", default=None)
_shown: list[Bar] = []  # outermost bars of all threads; the first of them is written
_watched = threading.Lock()  # held by the thread that looks at them
_writing = threading.Lock()


def is_terminal(stream: Any) -> bool:
    """Whether a stream, which may be closed or missing, is a terminal."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


@contextlib.contextmanager
def progress_bar(
    title: str, total: int | None = None, show: bool | None = None, *, unit: str = "points"
) -> Iterator[Bar]:
    """Bar of `total` items, or of the time so far if their number is unknown; one inside another advances the outer.

    >>> with progress_bar("trials", 2, show=False) as bar:
    ...     bar.advance(2)
    """
    if not (show is None or isinstance(show, bool)):
        raise ParameterError(f"progress must be True, False or None, got {type(show).__name__}")
    bar = Bar(title, total if total != 1 else None, unit)  # a share of one says nothing
    outer = _outermost.get()
    shown = not os.environ.get(QUIET) if show is None else show
    among = outer.parts if outer else _shown if shown else []
    among.append(bar)
    if not outer:
        _outermost.set(bar)
        _start_watching()
    try:
        yield bar
    finally:
        among.remove(bar)
        if not outer:
            _outermost.set(None)
            if bar.lines or show:
                _end(bar, bool(show))


def _end(bar: Bar, told: bool) -> None:
    """Leave nothing on a terminal; elsewhere say how it ended if that was asked for."""
    with _writing:
        if is_terminal(sys.stderr):
            Forgiving(sys.stderr).write("\r\x1b[K")
        elif told:
            Forgiving(sys.stderr).write(f"{bar}\n")


def _start_watching() -> None:
    """Start the thread that shows bars, unless there are none or it runs; a forked process stays silent."""
    if _shown and _watched.acquire(blocking=False):
        threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    """Show the first of the bars whenever it is due, until there has been none for a while."""
    rest = 0
    while rest < _REST:
        time.sleep(_MOVES)
        rest = 0 if _shown else rest + 1
        for bar in _shown[:1]:
            _tell(bar)
    _watched.release()
    _start_watching()  # if there is one since the last look


def _tell(bar: Bar) -> None:
    """Write the state of a bar if it is due."""
    moving = is_terminal(sys.stderr)
    if time.monotonic() - bar.began < FIRST + (0.0 if moving else EVERY * bar.lines):
        return
    bar.lines += 1  # before the look whether it has ended, so that what is written will be removed
    with _writing:
        if bar in _shown:
            text = str(bar)[: shutil.get_terminal_size().columns - 1] if moving else str(bar)
            Forgiving(sys.stderr).write(f"\r{text}\x1b[K" if moving else f"{text}\n")


class Forgiving:
    """Standard error that never fails: if it is missing, closed or full, what is said there is lost, and the work goes on."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream or io.StringIO()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, if that is possible."""
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()
        return len(text)

    def flush(self) -> None:
        """Nothing: each text is written at once."""


def block_done(count: int = 1) -> None:
    """Say, however deep in a long computation, that some blocks are done, to the bar whose unit is ``"blocks"``."""
    if outer := _outermost.get():
        for bar in (outer, *outer.parts):
            bar.advance(count if bar.unit == "blocks" else 0)
