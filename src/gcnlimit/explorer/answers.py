"""Pictures for many clients: the first at once, others if quick, the rest from other processes; the latest state wins.

Graphs are sampled in a process of their own, at the point that the page shows.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gcnlimit._runtime.processes import process_pool
from gcnlimit._values import Array
from gcnlimit.errors import GCNLimitError
from gcnlimit.explorer.computations import COMPUTATIONS, is_quick
from gcnlimit.explorer.curves import STRENGTHS, strength_range
from gcnlimit.explorer.picture import WAIT, Curve, Picture
from gcnlimit.explorer.pictures import PICTURES, needs
from gcnlimit.explorer.sentences import refusal
from gcnlimit.explorer.state import State
from gcnlimit.simulation.simulate import simulate

_QUICK = 0.05  # processor seconds of a movement after which no further picture is computed
_LOOK = 0.1  # seconds between two looks at whether a call is still wanted

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Drawn = Iterator[tuple[str, Picture]]
Key = tuple[str, State]
"""Name of a computation, and the part of a state on which it depends."""


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


class _Process:
    """One process, started when it is first needed."""

    def __init__(self) -> None:
        self._running = contextlib.ExitStack()
        self._pool: Executor | None = None
        self._turn, self._over = threading.Lock(), False

    def submit(self, call: Callable[..., V], *args: Any) -> Future[V]:
        """Future of a call."""
        with self._turn:
            if self._over:
                raise BrokenExecutor
            if self._pool is None:
                self._pool = self._running.enter_context(process_pool(1))
            return self._pool.submit(call, *args)

    def end(self, over: bool = False) -> None:
        """End the process as if its call had failed: it is not waited for, nor started again if all is `over`."""
        with self._turn, contextlib.suppress(InterruptedError), self._running:
            self._pool = None
            self._over |= over
            raise InterruptedError


class Workers:
    """Pool of processes, each of which answers one call at a time.

    `patience` is for how many seconds an unwanted call may go on before its process is ended: a new one takes as long.
    """

    def __init__(self, size: int = 1, patience: float = 1.5) -> None:
        self._patience = patience
        self._all = [_Process() for _ in range(size)]
        self._free: queue.LifoQueue[_Process] = queue.LifoQueue()
        for process in self._all:
            self._free.put(process)

    def run(self, call: Callable[..., V], *args: Any, unwanted: Callable[[], bool]) -> V | None:
        """Result of a call, None if it became unwanted before it ended."""
        while not unwanted():
            with contextlib.suppress(queue.Empty):
                process = self._free.get(timeout=_LOOK)
                break
        else:
            return None
        try:
            future = process.submit(call, *args)
            began = time.monotonic()
            while not (unwanted() and time.monotonic() - began > self._patience):
                with contextlib.suppress(TimeoutError):
                    return future.result(timeout=_LOOK)
            process.end()
            return None
        except BrokenExecutor:
            process.end()
            words = "the computing process died, perhaps for lack of memory; try again"
            raise GCNLimitError(words) from None
        finally:
            self._free.put(process)

    def close(self) -> None:
        """End the processes; calls fail from now on."""
        for process in self._all:
            process.end(over=True)


class Computed(NamedTuple):
    """Result of a computation, or None with a sentence if the library refuses it."""

    value: Any
    sentence: str


def compute(name: str, state: State) -> Computed:
    """Result of a computation."""
    try:
        return Computed(COMPUTATIONS[name].compute(state), "")
    except GCNLimitError as error:
        return Computed(None, refusal(error))


class Answers:
    """Pictures of states, each number computed once: by `quick` processes if a slider may wait for it, or by `slow` ones."""

    def __init__(self, quick: Workers, slow: Workers) -> None:
        self._workers = {True: quick, False: slow}
        self._computed: Recent[Key, Computed] = Recent(1024)
        self._asking: Counter[Key] = Counter()  # clients that wait for a number
        self._turns: Recent[Key, threading.Lock] = Recent(1024)
        self._latest: Recent[str, int] = Recent(4096)
        self._turn = threading.Lock()

    def now(self, state: State, client: str, number: int, seen: Sequence[str]) -> Drawn:
        """Pictures that are seen, with what is known; `number` counts the states of a client.

        What is quick is computed here: of the first picture always, of the others while little time is spent.
        """
        self._latest.put(client, max(number, self._latest.get(client) or 0))
        spent = 0.0
        for name in seen:
            if self._passed(client, number):
                return
            first = ("ceiling", "here") if name == seen[0] else ()
            if first or spent < _QUICK:
                quick = [task for task in (*first, *needs(name, state)) if is_quick(task, state)]
                # many clients are answered picture by picture, and none waits for all
                with self._turn:
                    began = time.thread_time()
                    for key in self._missing(quick, state):
                        self._computed.put(key, compute(*key))
                    spent += time.thread_time() - began
            yield name, self._draw(name, state)

    def later(self, state: State, client: str, number: int, seen: Sequence[str]) -> Drawn:
        """Every picture, those that are seen first and quick numbers before slow ones, until a later state comes."""
        unwanted = partial(self._passed, client, number)
        for prompt, worker in self._workers.items():
            for name in dict.fromkeys((*seen, *PICTURES)):
                tasks = needs(name, state)
                wanted = [task for task in tasks if COMPUTATIONS[task].prompt is prompt]
                for key in self._missing(wanted, state):
                    if not self._compute_once(key, worker, unwanted):
                        return
                if prompt or wanted:
                    yield name, self._draw(name, state)

    def _compute_once(self, key: Key, worker: Workers, unwanted: Callable[[], bool]) -> bool:
        """Whether a number is known in the end: of all clients that ask for it one computes, for as long as any wants it."""
        with self._turn:
            if self._turns.get(key) is None:
                self._turns.put(key, threading.Lock())
            turn = self._turns[key]
            self._asking[key] += 1
        try:
            while not turn.acquire(timeout=_LOOK):
                if unwanted():
                    return False
            try:
                if key not in self._computed:
                    alone = lambda: self._asking[key] < 2 and unwanted()  # noqa: E731
                    result = worker.run(compute, *key, unwanted=alone)
                    if result is not None:
                        self._computed.put(key, result)
            finally:
                turn.release()
        finally:
            with self._turn:
                self._asking[key] -= 1
                self._asking += Counter()  # forgets what nobody asks for
        return key in self._computed

    def waiting(self, state: State) -> list[str]:
        """Pictures of which something is not known."""
        return [name for name in PICTURES if any(self._missing(needs(name, state), state))]

    def results(self, names: Iterable[str], state: State) -> dict[str, Any]:
        """Results of some computations, as far as they are known."""
        done = self._known(names, state)
        return {name: computed.value for name, computed in done.items() if not computed.sentence}

    def _known(self, names: Iterable[str], state: State) -> dict[str, Computed]:
        """Computations that are done or refused, among some."""
        stored = {name: self._computed.get(_key(name, state)) for name in names}
        return {name: computed for name, computed in stored.items() if computed is not None}

    def _missing(self, names: Iterable[str], state: State) -> Iterator[Key]:
        """Keys of the computations that are still to be done, among some."""
        return (key for name in names if (key := _key(name, state)) not in self._computed)

    def _passed(self, client: str, number: int) -> bool:
        """Whether a later state of the client has come; what pages ask before they have a name is never passed."""
        return bool(client) and number < (self._latest.get(client) or 0)

    def _draw(self, name: str, state: State) -> Picture:
        """Picture of what is known; one whose numbers are refused, or not known yet, is a sentence."""
        wanted = needs(name, state)
        done = self._known(wanted, state)
        results = self.results(wanted, state)
        sentences = (computed.sentence for computed in done.values())
        refused = dict.fromkeys(filter(None, sentences))
        picture = Picture("" if refused else WAIT)
        if all(need in results for need in wanted if need not in PICTURES[name].later):
            picture = PICTURES[name].draw(state, results)
        sentence = " ".join(filter(None, (picture.sentence, *refused)))
        return replace(picture, complete=len(done) == len(wanted), sentence=sentence)


def _key(name: str, state: State) -> Key:
    return name, COMPUTATIONS[name].key(state)


def measured_strengths(state: State) -> Array:
    """Strengths that are measured: some along the curve, and the one of the page, last."""
    low, high = strength_range(state.family, state)
    if state.family == "pagerank":
        # beyond, the geometric series of the filter may diverge on a sampled graph
        high = 0.9 / (abs(float(state.data.effective_signal(state.symmetrize))) + 1.5)
        low = -high
    return np.append(np.linspace(low, high, 9), state.strength)


def trial(state: State, seed: int) -> Array:
    """Test accuracy of each measured strength on one graph."""
    gcn = state.gcn
    if state.family in STRENGTHS:
        gcn = state.gcn_of(state.family, measured_strengths(state))
    sequence = np.random.SeedSequence(0, spawn_key=(seed,))
    sizes = (state.nodes, state.degree, 1)
    measured = simulate(state.data, gcn, *sizes, sequence, workers=1, progress=False)
    return np.atleast_1d(measured.test_accuracy)


@dataclass(eq=False)
class TrialRun:
    """Trials of one state, done and to do."""

    state: State
    results: list[Array] = field(default_factory=list)
    running: bool = True
    sentence: str = ""

    def curves(self, state: State) -> dict[str, Curve]:
        """Means with standard errors for the pictures of a state: along the strengths, and at its point of the axis."""
        sizes = ("axis", "nodes", "degree", "trials", "estimated")
        if not self.results or not self._of(state, *sizes, "t", "c", "theta"):
            return {}
        values = np.array(self.results)
        name = f"{len(values)} sampled graphs"
        mean = values.mean(axis=0)
        error = values.std(axis=0, ddof=min(1, len(values) - 1)) / np.sqrt(len(values))
        dots = {}
        if state.family in STRENGTHS:
            x = measured_strengths(self.state)
            dots[f"strength-{state.family}"] = Curve(name, x, mean, "dots", error)
        if self._of(state, *sizes) and state.place is not None:
            dots["axis"] = Curve(name, np.array([state.place]), mean[-1:], "dots", error[-1:])
        return dots

    def _of(self, state: State, *beside: str) -> bool:
        """Whether the graphs were drawn for a state, apart from some of its values."""
        return self.state.replaced(**{name: getattr(state, name) for name in beside}) == state


class Trials:
    """The run of each client, sampled by a process."""

    def __init__(self, worker: Workers) -> None:
        self._worker = worker
        self.runs: Recent[str, TrialRun] = Recent(64)

    def start(self, client: str, state: State) -> None:
        """Begin to sample graphs; what ran for this client is stopped."""
        self.stop(client)
        run = TrialRun(state)
        self.runs.put(client, run)
        threading.Thread(target=self._serve, args=(run,), daemon=True).start()

    def stop(self, client: str) -> None:
        """Stop after the graph that is being drawn."""
        if run := self.runs.get(client):
            run.running = False

    def with_dots(self, name: str, picture: Picture, client: str, state: State) -> Picture:
        """Picture with what was measured for this client, if it is of this state."""
        run = self.runs.get(client)
        dots = {} if run is None else run.curves(state)
        return replace(picture, curves=(*picture.curves, dots[name])) if name in dots else picture

    def _serve(self, run: TrialRun) -> None:
        try:
            for seed in range(run.state.trials):
                result = self._worker.run(trial, run.state, seed, unwanted=lambda: not run.running)
                if result is None:
                    break
                run.results.append(result)
        except (GCNLimitError, OSError) as error:
            run.sentence = str(error)
        finally:
            run.running = False
