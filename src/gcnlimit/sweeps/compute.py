"""One block computed: columns of numbers, and the reason of each point that failed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit.errors import GCNLimitError
from gcnlimit.results.performance import Status
from gcnlimit.sweeps.grid import Block, Columns
from gcnlimit.sweeps.producers import DONE, Producer

FAILED = -1
"""Status of a point without an answer; its reason is kept beside it."""

STATUS_NAMES = {FAILED: "failed", DONE: "done"} | {int(s): s.name.lower() for s in Status}
LOST = "the answer is not a number; the parameters are too extreme for double precision"


def compute(producer: Producer, block: Block) -> Columns:
    """Answers of a block. A producer says by `status` which points failed; if it raises, all of them did."""
    try:
        fields = _fields(producer.evaluate(block.common | block.arrays), block)
    except Exception as error:
        return failed(reason(error), block.size, final=isinstance(error, GCNLimitError))
    status = fields["status"]
    unsolved = (status > Status.CONVERGED) & (status < DONE)
    errors = {place: Status(int(status[place])).message for place in _where(unsolved)}
    if producer.identity:
        return Columns(fields, errors)
    # The library's own answers are numbers or failures, and its sentence names the parameter at fault.
    refused = _where(status == Status.REFUSED)
    errors |= {place: _refusal(producer, block, place) for place in refused}
    lost = _where(np.isnan(fields["test_accuracy"]) & ~unsolved)
    status[refused + lost] = FAILED
    return Columns(fields, errors | dict.fromkeys(lost, LOST))


def _refusal(producer: Producer, block: Block, place: int) -> str:
    """Sentence by which the producer refuses a point."""
    point = {name: float(values[place]) for name, values in block.arrays.items()}
    try:
        producer.evaluate(block.common | point | {"throw": True})
    except GCNLimitError as error:
        return str(error)
    return Status.REFUSED.message


def failed(reason: str, size: int = 1, *, final: bool = False) -> Columns:
    """Columns of points that failed for the same reason."""
    status = np.full(size, FAILED, np.int8)
    return Columns({"status": status}, dict.fromkeys(range(size), reason), final)


def reason(error: BaseException) -> str:
    """Why a point failed, in one line.

    >>> reason(ValueError("no digits\\nin it"))
    'ValueError: no digits in it'
    """
    if isinstance(error, GCNLimitError):
        return str(error)
    return " ".join(f"{type(error).__name__}: {error}".split())


def _where(points: npt.NDArray[np.bool_]) -> list[int]:
    return [int(place) for place in np.flatnonzero(points)]


def _fields(answer: Any, block: Block) -> dict[str, npt.NDArray[Any]]:
    """Each number of the answer at each point, and the status; the seed beside them, if there is one."""
    fields = {
        name: np.array(np.broadcast_to(np.asarray(values, float), block.size))
        for name, values in answer.items()
        if name != "status"
    }
    fields["status"] = np.array(np.broadcast_to(answer.get("status", DONE), block.size), np.int8)
    if "seed" in block.common:
        fields["seed"] = np.full(block.size, block.common["seed"], np.int64)
    return fields
