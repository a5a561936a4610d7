"""One block computed: columns of numbers, and the reason of each point that failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit.errors import GCNLimitError
from gcnlimit.results.performance import Status
from gcnlimit.sweeps.grid import Block
from gcnlimit.sweeps.producers import Producer

FAILED = -1
"""Status of a point that raised; its reason is kept beside it."""
DONE = 100
"""Status of a point of a producer that reports none."""


STATUS_NAMES = {FAILED: "failed", **{int(status): status.name.lower() for status in Status}, DONE: "done"}
_LOST = "the answer is not a number; the parameters are too extreme for double precision"


class Columns(NamedTuple):
    """Numbers of the points of a block by name, and the reasons of failure by place.

    A block is `final` if computing it again can only give the same: it is then kept in the store. A point that failed
    for a reason other than its parameters (memory, a dead worker) is tried again by the next sweep.
    """

    fields: dict[str, npt.NDArray[Any]]
    errors: dict[int, str]
    final: bool = True


def compute(producer: Producer, block: Block) -> Columns:
    """Answers of a block; if it raises, of its halves, down to the single points that raise."""
    return _compute(producer, block.common, block.arrays, block.size)


def failed(reason: str, size: int = 1, *, final: bool = False) -> Columns:
    """Columns of points that failed for the same reason."""
    return Columns({"status": np.full(size, FAILED, np.int8)}, dict.fromkeys(range(size), reason), final)


def _compute(producer: Producer, common: dict[str, Any], arrays: dict[str, Any], size: int) -> Columns:
    try:
        columns = _columns(producer.evaluate(common | arrays), common, size)
        status = columns["status"]
        errors = {place: Status(int(status[place])).message for place in _where(_unsolved(status))}
        if not producer.identity:  # the library's own answers are numbers, or failures
            lost = np.isnan(columns["test_accuracy"]) & ~_unsolved(status)
            status[lost] = FAILED
            errors |= dict.fromkeys(_where(lost), _LOST)
        return Columns(columns, errors)
    except Exception as error:
        if size == 1:
            return failed(reason(error), final=isinstance(error, GCNLimitError))
        halves = slice(0, size // 2), slice(size // 2, size)
        return joined(
            [
                _compute(producer, common, {name: a[half] for name, a in arrays.items()}, half.stop - half.start)
                for half in halves
            ]
        )


def _unsolved(status: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
    """Points of theory that ended without a solution."""
    return np.asarray((status > Status.CONVERGED) & (status < DONE))


def _where(points: npt.NDArray[np.bool_]) -> list[int]:
    return [int(place) for place in np.flatnonzero(points)]


def _columns(answer: Any, common: dict[str, Any], size: int) -> dict[str, npt.NDArray[Any]]:
    columns = {
        name: np.array(np.broadcast_to(np.asarray(v, float), size)) for name, v in answer.items() if name != "status"
    }
    columns["status"] = np.array(np.broadcast_to(np.asarray(answer.get("status", DONE)).astype(np.int8), size))
    if "seed" in common:
        columns["seed"] = np.full(size, common["seed"], np.int64)
    return columns


def joined(parts: Sequence[Columns]) -> Columns:
    """Columns of consecutive parts of a block; a field that a part does not have is NaN there."""
    sizes = [part.fields["status"].size for part in parts]
    starts = np.cumsum([0, *sizes]).tolist()
    names = dict.fromkeys(name for part in parts for name in part.fields)
    fields = {
        name: np.concatenate([part.fields.get(name, np.full(n, np.nan)) for part, n in zip(parts, sizes, strict=True)])
        for name in names
    }
    errors = {
        start + place: reason
        for start, part in zip(starts, parts, strict=False)
        for place, reason in part.errors.items()
    }
    return Columns(fields, errors, all(part.final for part in parts))


def reason(error: BaseException) -> str:
    """Why a point failed, in one line.

    >>> reason(ValueError("*** in database main ***\\nPage 2"))
    'ValueError: *** in database main *** Page 2'
    """
    return str(error if isinstance(error, GCNLimitError) else GCNLimitError(f"{type(error).__name__}: {error}"))
