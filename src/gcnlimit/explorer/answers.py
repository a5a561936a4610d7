"""Pictures for many clients: the first at once, others if quick, the rest from other processes; the latest state wins."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gcnlimit.errors import GCNLimitError
from gcnlimit.explorer.accuracies import Parts
from gcnlimit.explorer.parts import PARTS
from gcnlimit.explorer.picture import Picture
from gcnlimit.explorer.pictures import PICTURES, needs
from gcnlimit.explorer.recent import Recent
from gcnlimit.explorer.state import State
from gcnlimit.explorer.worker import Worker

FIRST, MORE = 0.25, 0.05
"""Processor seconds that the first picture of the answer to a movement may take, and that the others may take together."""
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

    def now(self, state: State, client: str, number: int, seen: Sequence[str]) -> Iterator[tuple[str, Picture]]:
        """Pictures that are seen, each with the parts that are known or quick; `number` counts the states of a client."""
        self._latest.put(client, max(number, self._latest.get(client) or 0))
        left = FIRST
        for name in seen:
            if self._passed(client, number):
                return
            first = name == seen[0]
            parts = (*(("ceiling", "here") if first else ()), *needs(name, state))
            with self._turn:  # many clients are answered picture by picture, and none waits for all
                left -= self._compute_quick(parts, state, left)
            yield name, self._draw(name, state)
            left = MORE if first else left

    def later(self, state: State, client: str, number: int, seen: Sequence[str]) -> Iterator[tuple[str, Picture]]:
        """Every picture, those that are seen first and quick parts before slow ones, until a later state of the client comes."""
        for prompt in (True, False):
            for name in dict.fromkeys((*seen, *PICTURES)):
                parts = [part for part in needs(name, state) if PARTS[part].prompt is prompt]
                if not self._fetch(parts, state, lambda: self._passed(client, number)):
                    return
                if prompt or parts:
                    yield name, self._draw(name, state)

    def complete(self, name: str, state: State) -> Picture:
        """One picture with all of its parts."""
        self._fetch(needs(name, state), state, lambda: False)
        return self._draw(name, state)

    def waiting(self, state: State) -> list[str]:
        """Pictures of which some part is not known."""
        return [name for name in PICTURES if any(self._get(part, state) is None for part in needs(name, state))]

    def parts(self, names: Iterable[str], state: State) -> Parts:
        """Those of some parts that are known."""
        found = {name: self._get(name, state) for name in names}
        return {name: one.value for name, one in found.items() if one is not None and not one.sentence}

    def _get(self, part: str, state: State) -> Computed | None:
        return self._parts.get((part, PARTS[part].key(state)))

    def _passed(self, client: str, number: int) -> bool:
        """Whether a later state of the client has come."""
        return number < (self._latest.get(client) or 0)

    def _draw(self, name: str, state: State) -> Picture:
        wanted = needs(name, state)
        found = [self._get(part, state) for part in wanted]
        picture = PICTURES[name].draw(state, self.parts(wanted, state))
        sentences = dict.fromkeys(one.sentence for one in found if one is not None and one.sentence)
        return picture.with_state(complete=None not in found, sentences=tuple(sentences))

    def _compute_quick(self, parts: Iterable[str], state: State, left: float) -> float:
        """Compute those of some parts that are known to fit into the seconds that are left; the seconds that they took."""
        spent = 0.0
        for part in parts:
            seconds = self._seconds.get(_kind(part, state)) or math.inf
            if PARTS[part].prompt and seconds < left - spent and self._get(part, state) is None:
                found = compute(part, PARTS[part].key(state))
                spent += found.seconds
                self._keep(part, state, found)
        return spent

    def _fetch(self, parts: Iterable[str], state: State, unwanted: Callable[[], bool]) -> bool:
        """Compute in other processes those parts that are not known; false if they became unwanted."""
        for part in parts:
            if self._get(part, state) is None:
                found = self._workers[PARTS[part].prompt].run(compute, part, PARTS[part].key(state), unwanted=unwanted)
                if found is None:
                    return False
                self._keep(part, state, found)
        return True

    def _keep(self, part: str, state: State, found: Computed) -> None:
        self._parts.put((part, PARTS[part].key(state)), found)
        self._seconds.put(_kind(part, state), found.seconds)


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
