"""The progress bar: points done, rate and remaining time."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

__all__ = ["progress_bar"]


@contextlib.contextmanager
def progress_bar(title: str, total: int, show: bool | None) -> Iterator[Callable[[int], None]]:
    """Function to call with the number of points just done; by default a bar is shown if standard error is a terminal."""
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda points: None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ModuleNotFoundError:
        yield lambda points: None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn(compact=True))
    with Progress(TextColumn(title), *columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total, rate="")

        def advance(points: int) -> None:
            bar.advance(task, points)
            speed = bar.tasks[0].speed
            bar.update(task, rate=f"{speed:.3g} points/s" if speed else "")

        yield advance
