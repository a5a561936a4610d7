"""What every area shares: a clock, a row of the table of ratios, a fitted power."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def timed(
    function: Callable[[], Any], repeat: int = 1, clock: Callable[[], float] = time.process_time
) -> tuple[float, Any]:
    """Best of `repeat` times of the processor, which other programs disturb least, and the last answer."""
    best, answer = np.inf, None
    for _ in range(repeat):
        start = clock()
        answer = function()
        best = min(best, clock() - start)
    return best, answer


def seconds(
    function: Callable[[], Any], repeat: int = 1, clock: Callable[[], float] = time.process_time
) -> float:
    """Time alone."""
    return timed(function, repeat, clock)[0]


def peak(function: Callable[[], Any]) -> float:
    """Peak of the memory that a call allocates, in MiB."""
    tracemalloc.start()
    function()
    size = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return size


def row(
    what: str, ours_s: float, peer: str, peer_s: float, note: str = "", **more: Any
) -> dict[str, Any]:
    """One comparison; the ratio is above 1 where ours is faster."""
    return {
        "what": what,
        "ours_s": ours_s,
        "peer": peer,
        "peer_s": peer_s,
        "ratio": peer_s / ours_s,
        "note": note,
    } | more


def power(
    x: Sequence[float], y: Sequence[float], relative: Sequence[float] | None = None
) -> tuple[float, float]:
    """Exponent of y against x by least squares of the logarithms, and its standard error.

    The error comes from the relative errors of y where these are known, else from the scatter about the line.
    """
    log_x, log_y = np.log(x), np.log(y)
    weights = np.ones(len(log_x)) if relative is None else 1.0 / np.asarray(relative, float)
    slopes = np.stack([log_x, np.ones_like(log_x)], axis=1) * weights[:, None]
    answer, *_ = np.linalg.lstsq(slopes, log_y * weights)
    covariance = np.linalg.inv(slopes.T @ slopes)
    if relative is None:
        rest = log_y - np.stack([log_x, np.ones_like(log_x)], axis=1) @ answer
        covariance *= rest @ rest / max(len(log_x) - 2, 1)
    return float(answer[0]), float(np.sqrt(covariance[0, 0]))


def curve(
    what: str,
    against: str,
    x: Sequence[float],
    y: Sequence[float],
    *,
    unit: str,
    last: int,
    relative: Sequence[float] | None = None,
) -> dict[str, Any]:
    """A cost against a size, with the exponent fitted over its last points."""
    fitted, error = power(x[-last:], y[-last:], None if relative is None else relative[-last:])
    return {
        "what": what,
        "against": against,
        "x": [float(value) for value in x],
        "y": [float(value) for value in y],
        "unit": unit,
        "first": float(x[-last]),
        "exponent": fitted,
        "exponent_error": error,
    } | ({} if relative is None else {"relative": [float(value) for value in relative]})
