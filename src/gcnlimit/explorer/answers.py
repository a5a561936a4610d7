"""Pictures for many clients: the first at once, others if quick, the rest from other processes; the latest state wins."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import dataclass
from typing import Any, TypeVar

from gcnlimit._runtime.processes import process_pool
from gcnlimit.errors import GCNLimitError
from gcnlimit.explorer.computations import COMPUTATIONS, Results
from gcnlimit.explorer.picture import Picture
from gcnlimit.explorer.pictures import PICTURES, needs
from gcnlimit.explorer.state import State

FIRST, MORE = 0.25, 0.05
"""Processor seconds that the first picture of the answer to a movement may take, and that the others may take together."""

_LOOK = 0.1  # seconds between two looks at whether a call is still wanted

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(dict[K, V]):
    """Dictionary of bounded size that forgets what was put in first; safe among threads.

    >>> r = Recent(2)
    >>> for key in "abc":
    ...     r.put(key, key.upper())
    >>> r.get("a"), r.get("c")
    (None, 'C')
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size
        self._lock = threading.Lock()

    def put(self, key: K, value: V) -> None:
        """Keep a value."""
        with self._lock:
            self.pop(key, None)
            self[key] = value
            while len(self) > self._size:
                del self[next(iter(self))]


class _EndedError(Exception):
    """The process is ended in the middle of a call."""


class Worker:
    """One process, started when it is first needed, that answers one call at a time.

    `patience` is for how many seconds an unwanted call may go on before its process is ended: starting another one takes as long.
    """

    def __init__(self, patience: float = 1.5) -> None:
        self._patience = patience
        self._turn = threading.Lock()
        self._process = contextlib.ExitStack()
        self._pool: Executor | None = None

    def run(self, call: Callable[..., V], *given: Any, unwanted: Callable[[], bool]) -> V | None:
        """Result of a call, None if it became unwanted before it ended."""
        while not self._turn.acquire(timeout=_LOOK):
            if unwanted():
                return None
        try:
            return None if unwanted() else self._run(call, *given, unwanted=unwanted)
        except BrokenExecutor:
            self._end()
            raise GCNLimitError("the computing process died, perhaps for lack of memory; try again") from None
        finally:
            self._turn.release()

    def close(self) -> None:
        """End the process."""
        with self._turn:
            self._end()

    def _run(self, call: Callable[..., V], *given: Any, unwanted: Callable[[], bool]) -> V | None:
        if self._pool is None:
            self._pool = self._process.enter_context(process_pool(1))
        future = self._pool.submit(call, *given)
        began = time.monotonic()
        while True:
            try:
                return future.result(timeout=_LOOK)
            except TimeoutError:
                if unwanted() and time.monotonic() - began > self._patience:
                    self._end()
                    return None

    def _end(self) -> None:
        """End the process as if its call had failed: it is not waited for."""
        self._pool = None
        with contextlib.suppress(_EndedError), self._process:
            raise _EndedError


@dataclass(frozen=True)
class Computed:
    """Result of a computation, None with a sentence if the library refuses it, and the processor seconds that it took."""

    value: Any
    sentence: str
    seconds: float


def compute(name: str, state: State) -> Computed:
    """Result of a computation, and its time; the first in a process includes tables, and the next corrects it."""
    began, value, sentence = time.thread_time(), None, ""
    try:
        value = COMPUTATIONS[name].compute(state)
    except GCNLimitError as error:
        sentence = f"{str(error).rstrip('.')}."
    return Computed(value, sentence, time.thread_time() - began)


class Answers:
    """Pictures of states, each number computed once, by a `quick` process if a moving slider waits for it, else a `slow` one."""

    def __init__(self, quick: Worker, slow: Worker) -> None:
        self._workers = {True: quick, False: slow}
        self._computed: Recent[tuple[str, State], Computed] = Recent(1024)
        self._seconds: Recent[Hashable, float] = Recent(1024)
        self._latest: Recent[str, int] = Recent(4096)
        self._turn = threading.Lock()

    def now(self, state: State, client: str, number: int, seen: Sequence[str]) -> Iterator[tuple[str, Picture]]:
        """Pictures that are seen, with what is known or quick; `number` counts the states of a client."""
        self._latest.put(client, max(number, self._latest.get(client) or 0))
        left = FIRST
        for name in seen:
            if self._passed(client, number):
                return
            first = name == seen[0]
            wanted = (*(("ceiling", "here") if first else ()), *needs(name, state))
            with self._turn:  # many clients are answered picture by picture, and none waits for all
                left -= self._compute_quick(wanted, state, left)
            yield name, self._draw(name, state)
            left = MORE if first else left

    def later(self, state: State, client: str, number: int, seen: Sequence[str]) -> Iterator[tuple[str, Picture]]:
        """Every picture, those that are seen first and quick numbers before slow ones, until a later state comes."""
        for prompt in (True, False):
            for name in dict.fromkeys((*seen, *PICTURES)):
                wanted = [one for one in needs(name, state) if COMPUTATIONS[one].prompt is prompt]
                if not self._fetch(wanted, state, lambda: self._passed(client, number)):
                    return
                if prompt or wanted:
                    yield name, self._draw(name, state)

    def waiting(self, state: State) -> list[str]:
        """Pictures of which something is not known."""
        return [name for name in PICTURES if any(self._get(one, state) is None for one in needs(name, state))]

    def results(self, names: Iterable[str], state: State) -> Results:
        """Those of some results that are known."""
        found = {name: self._get(name, state) for name in names}
        return {name: one.value for name, one in found.items() if one is not None and not one.sentence}

    def _get(self, name: str, state: State) -> Computed | None:
        return self._computed.get((name, COMPUTATIONS[name].key(state)))

    def _passed(self, client: str, number: int) -> bool:
        """Whether a later state of the client has come."""
        return number < (self._latest.get(client) or 0)

    def _draw(self, name: str, state: State) -> Picture:
        wanted = needs(name, state)
        found = [self._get(one, state) for one in wanted]
        picture = PICTURES[name].draw(state, self.results(wanted, state))
        sentences = dict.fromkeys(one.sentence for one in found if one is not None and one.sentence)
        return picture.with_state(complete=None not in found, sentences=tuple(sentences))

    def _compute_quick(self, names: Iterable[str], state: State, left: float) -> float:
        """Compute what is known to fit into the seconds that are left; the seconds that it took."""
        spent = 0.0
        for name in names:
            seconds = self._seconds.get(_kind(name, state)) or math.inf
            if COMPUTATIONS[name].prompt and seconds < left - spent and self._get(name, state) is None:
                found = compute(name, COMPUTATIONS[name].key(state))
                spent += found.seconds
                self._keep(name, state, found)
        return spent

    def _fetch(self, names: Iterable[str], state: State, unwanted: Callable[[], bool]) -> bool:
        """Compute in other processes what is not known; false if it became unwanted."""
        for name in names:
            if self._get(name, state) is None:
                one = COMPUTATIONS[name]
                found = self._workers[one.prompt].run(compute, name, one.key(state), unwanted=unwanted)
                if found is None:
                    return False
                self._keep(name, state, found)
        return True

    def _keep(self, name: str, state: State, found: Computed) -> None:
        self._computed.put((name, COMPUTATIONS[name].key(state)), found)
        self._seconds.put(_kind(name, state), found.seconds)


def _kind(name: str, state: State) -> Hashable:
    """What the time of a computation depends on: states of one kind take about as long."""
    network = state.loss, state.finite, state.symmetric, state.family, state.depth
    return name, network, state.classes, state.gap, state.axis
