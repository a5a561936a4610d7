"""Pictures for many clients: the first at once, others if quick, the rest from other processes; the latest state wins.

Graphs are sampled in a process of their own, at the point that the page shows.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gcnlimit._runtime.processes import process_pool
from gcnlimit._values import Array
from gcnlimit.errors import GCNLimitError
from gcnlimit.explorer.computations import COMPUTATIONS, STRENGTHS, Results, is_quick, strength_range
from gcnlimit.explorer.picture import Curve, Picture
from gcnlimit.explorer.pictures import PICTURES, needs
from gcnlimit.explorer.sentences import WAIT
from gcnlimit.explorer.state import State
from gcnlimit.simulation.simulate import simulate

_QUICK = 0.05  # processor seconds of a movement after which no further picture is computed
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


class Computed(NamedTuple):
    """Result of a computation, or None with a sentence if the library refuses it."""

    value: Any
    sentence: str


def compute(name: str, state: State) -> Computed:
    """Result of a computation."""
    try:
        return Computed(COMPUTATIONS[name].compute(state), "")
    except GCNLimitError as error:
        return Computed(None, f"{str(error).rstrip('.')}.")


class Answers:
    """Pictures of states, each number computed once, by a `quick` process if a moving slider waits for it, else a `slow` one."""

    def __init__(self, quick: Worker, slow: Worker) -> None:
        self._workers = {True: quick, False: slow}
        self._computed: Recent[tuple[str, State], Computed] = Recent(1024)
        self._latest: Recent[str, int] = Recent(4096)
        self._turn = threading.Lock()

    def now(self, state: State, client: str, number: int, seen: Sequence[str]) -> Iterator[tuple[str, Picture]]:
        """Pictures that are seen, with what is known; `number` counts the states of a client.

        What is quick is computed here: of the first picture always, of the others while little time is spent.
        """
        self._latest.put(client, max(number, self._latest.get(client) or 0))
        spent = 0.0
        for name in seen:
            if self._passed(client, number):
                return
            wanted = needs(name, state) if name != seen[0] else ("ceiling", "here", *needs(name, state))
            if name == seen[0] or spent < _QUICK:
                with self._turn:  # many clients are answered picture by picture, and none waits for all
                    spent += self._compute(wanted, state)
            yield name, self._draw(name, state)

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
        """Picture of what is known; one whose numbers are refused, or not known yet, is a sentence."""
        wanted = needs(name, state)
        found = [self._get(one, state) for one in wanted]
        known = self.results(wanted, state)
        refused = dict.fromkeys(one.sentence for one in found if one is not None and one.sentence)
        picture = Picture("" if refused else WAIT)
        if all(one in known for one in wanted if one not in PICTURES[name].later):
            picture = PICTURES[name].draw(state, known)
        sentence = " ".join(filter(None, (picture.sentence, *refused)))
        return replace(picture, complete=None not in found, sentence=sentence)

    def _compute(self, names: Iterable[str], state: State) -> float:
        """Compute here what is quick and not known; the processor seconds that it took."""
        began = time.thread_time()
        for name in names:
            if is_quick(name, state) and self._get(name, state) is None:
                self._keep(name, state, compute(name, COMPUTATIONS[name].key(state)))
        return time.thread_time() - began

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


def measured_strengths(state: State) -> Array:
    """Strengths that are measured: some along the curve, and the one of the page, last."""
    if state.family not in STRENGTHS:
        return np.array([np.nan])
    low, high = strength_range(state.family, state)
    if state.family == "pagerank":  # beyond, the geometric series of the filter may diverge on a sampled graph
        high = 0.9 / (abs(float(state.data.effective_signal(state.symmetrize))) + 1.5)
        low = -high
    return np.append(np.linspace(low, high, 9), state.strength)


def trial(state: State, seed: int) -> Array:
    """Test accuracy of each measured strength on one graph."""
    gcn = state.gcn
    if state.family in STRENGTHS:
        gcn = state.gcn_of(state.filter_of(state.family, measured_strengths(state)))
    sequence = np.random.SeedSequence(0, spawn_key=(seed,))
    found = simulate(state.data, gcn, state.nodes, state.degree, trials=1, seed=sequence, workers=1, progress=False)
    return np.atleast_1d(found.test_accuracy)


@dataclass
class Run:
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
        found = {}
        if state.family in STRENGTHS:
            x = measured_strengths(self.state)
            found[f"strength-{state.family}"] = Curve(name, x, mean, "dots", error)
        if self._of(state, *sizes) and state.place is not None:
            found["axis"] = Curve(name, np.array([state.place]), mean[-1:], "dots", error[-1:])
        return found

    def _of(self, state: State, *beside: str) -> bool:
        """Whether the graphs were drawn for a state, apart from some of its values."""
        return self.state.replaced(**{name: getattr(state, name) for name in beside}) == state


class Trials:
    """The run of each client, sampled by a process."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._runs: Recent[str, Run] = Recent(64)

    def start(self, client: str, state: State) -> None:
        """Begin to sample graphs; what ran for this client is stopped."""
        self.stop(client)
        run = Run(state)
        self._runs.put(client, run)
        threading.Thread(target=self._serve, args=(run,), daemon=True).start()

    def stop(self, client: str) -> None:
        """Stop after the graph that is being drawn."""
        run = self._runs.get(client)
        if run is not None:
            run.running = False

    def of(self, client: str) -> Run | None:
        """Run of a client."""
        return self._runs.get(client)

    def with_dots(self, name: str, picture: Picture, client: str, state: State) -> Picture:
        """Picture with what was measured for this client, if it is of this state."""
        run = self.of(client)
        dots = {} if run is None else run.curves(state)
        return replace(picture, curves=(*picture.curves, dots[name])) if name in dots else picture

    def _serve(self, run: Run) -> None:
        try:
            for seed in range(run.state.trials):
                if not run.running:
                    break
                found = self._worker.run(trial, run.state, seed, unwanted=lambda: not run.running)
                run.results += [] if found is None else [found]
        except (GCNLimitError, OSError) as error:
            run.sentence = str(error)
        finally:
            run.running = False
