"""The progress bar on standard error: what is done, rate and remaining time."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gcnlimit.errors import ParameterError

_counting: list[Callable[[int], None]] = []  # advances the bar that counts blocks, if there is one
_HAS_RICH = importlib.util.find_spec("rich") is not None


@dataclass(frozen=True)
class Bar:
    """A bar to be moved on; without functions, one that is not shown."""

    advance: Callable[[int], None] = lambda count: None  # by the number of items just finished
    rename: Callable[[str], None] = lambda title: None


@contextlib.contextmanager
def progress_bar(
    title: str, total: int | None, show: bool | None = None, *, unit: str = "points"
) -> Iterator[Bar]:
    """Bar of `total` items, or the time so far if it is None; by default shown on a terminal, with rich, and not inside another.

    >>> with progress_bar("trials", 2, show=False) as bar:
    ...     bar.advance(2)
    """
    if not (show is None or isinstance(show, bool)):
        raise ParameterError(f"progress must be True, False or None, got {show!r}")
    if show is None:
        show = total != 1 and sys.stderr.isatty()
    if not (show and _HAS_RICH):
        yield Bar()
        return
    from rich import progress
    from rich.console import Console
    from rich.errors import LiveError

    console = Console(stderr=True)
    columns: list[progress.ProgressColumn] = [progress.TextColumn("{task.description}")]
    if total is None:  # neither a share nor the time that is left is known
        columns += [progress.SpinnerColumn(), progress.TimeElapsedColumn()]
    else:
        rate = progress.TextColumn("{task.fields[rate]}")
        left = progress.TimeRemainingColumn(compact=True)
        columns += [progress.BarColumn(), progress.MofNCompleteColumn(), rate, left]
    shown = progress.Progress(*columns, console=console, transient=console.is_terminal)
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

        if unit == "blocks":
            _counting.append(advance)
        try:
            yield Bar(advance, lambda name: shown.update(task, description=name))
        finally:
            _counting.clear()


def block_done(count: int = 1) -> None:
    """Say, however deep in a long computation, that some blocks are done, to the bar whose unit is ``"blocks"``."""
    for advance in _counting:
        advance(count)
