"""Pictures for many clients: quick parts at once, the others from other processes, the latest state first."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from gcnlimit.errors import GCNLimitError
from gcnlimit.explorer.accuracies import Parts
from gcnlimit.explorer.parts import PARTS, STRENGTHS
from gcnlimit.explorer.picture import Picture
from gcnlimit.explorer.pictures import PICTURES, needs
from gcnlimit.explorer.recent import Recent
from gcnlimit.explorer.state import State
from gcnlimit.explorer.worker import Worker

__all__ = ["Answers", "Computed", "compute"]

AT_ONCE = 0.2
"""Processor seconds that parts may take within the answer to a movement."""
_met: set[str] = set()


@dataclass(frozen=True)
class Computed:
    """Value of a part, None with a sentence if the library refuses it, and the processor seconds that it took."""

    value: Any
    sentence: str
    seconds: float


def compute(name: str, state: State) -> Computed:
    """Compute a part; the first time in a process twice if it is quick, so that its time is not that of imports and tables."""
    found = _timed(name, state)
    if name in _met or found.seconds > 1.0:
        return found
    _met.add(name)
    return _timed(name, state)


def _timed(name: str, state: State) -> Computed:
    began, value, sentence = time.thread_time(), None, ""
    try:
        value = PARTS[name].compute(state)
    except GCNLimitError as error:
        sentence = f"{str(error).rstrip('.')}."
    return Computed(value, sentence, time.thread_time() - began)


class Answers:
    """Pictures of states, each part computed once.

    Parameters
    ----------
    quick, slow
        Processes for the parts that belong to the answer to a movement, and for the others.
    """

    def __init__(self, quick: Worker, slow: Worker) -> None:
        self._workers = {True: quick, False: slow}
        self._parts: Recent[tuple[str, State], Computed] = Recent(1024)
        self._seconds: Recent[Hashable, float] = Recent(1024)
        self._latest: Recent[str, int] = Recent(4096)
        self._turn = threading.Lock()

    def now(self, state: State, client: str, number: int) -> dict[str, Picture]:
        """Every picture with the parts that are known or quick; `number` counts the states of a client."""
        self._latest.put(client, max(number, self._latest.get(client) or 0))
        with self._turn:  # one at a time, so that the answers to many clients follow each other and none waits for all
            self._compute_quick(state)
        return self.known(state)

    def later(self, name: str, state: State, client: str = "", number: int = 0) -> dict[str, Picture]:
        """Every picture after the parts of one have been computed; none if a later state of the client, if any, has come."""

        def unwanted() -> bool:
            return number < (self._latest.get(client) or 0)

        for part in needs(name, state):
            key = PARTS[part].key(state)
            if self._parts.get((part, key)) is None:
                found = self._workers[PARTS[part].prompt].run(compute, part, key, unwanted=unwanted)
                if found is None:
                    return {}
                self._keep(part, state, found)
        return self.known(state)

    def known(self, state: State) -> dict[str, Picture]:
        """Every picture with the parts that are known."""
        return {name: self._draw(name, state) for name in PICTURES}

    def parts(self, names: Iterable[str], state: State) -> Parts:
        """Those of some parts that are known."""
        found = {name: self._parts.get((name, PARTS[name].key(state))) for name in names}
        return {name: one.value for name, one in found.items() if one is not None and not one.sentence}

    def _draw(self, name: str, state: State) -> Picture:
        wanted = needs(name, state)
        found = [self._parts.get((part, PARTS[part].key(state))) for part in wanted]
        picture = PICTURES[name].draw(state, self.parts(wanted, state))
        sentences = dict.fromkeys(one.sentence for one in found if one is not None and one.sentence)
        return picture.with_state(complete=None not in found, sentences=tuple(sentences))

    def _compute_quick(self, state: State) -> None:
        """Compute the parts that are known to fit into the answer to a movement."""
        left = AT_ONCE
        for part in _ordered(state):
            key = PARTS[part].key(state)
            seconds = self._seconds.get(_kind(part, state)) or math.inf
            if self._parts.get((part, key)) is None and seconds < left:
                found = compute(part, key)
                left -= found.seconds
                self._keep(part, state, found)

    def _keep(self, part: str, state: State, found: Computed) -> None:
        self._parts.put((part, PARTS[part].key(state)), found)
        self._seconds.put(_kind(part, state), found.seconds)


def _ordered(state: State) -> list[str]:
    """Parts of the answer to a movement in the order of their importance."""
    first = ("ceiling", "here", state.family, "along", "depth")
    prompt = [part for part in (*first, *STRENGTHS) if part in PARTS and PARTS[part].prompt]
    return list(dict.fromkeys(prompt))


def _kind(part: str, state: State) -> Hashable:
    """What the time of a part depends on: states of one kind take about as long."""
    symmetric = state.symmetrize or not state.directed
    return (
        part,
        math.isinf(state.reg),
        state.loss,
        symmetric,
        state.classes,
        state.family,
        state.depth,
        state.gap,
        state.axis,
    )
