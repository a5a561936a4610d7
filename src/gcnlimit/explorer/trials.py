"""Graphs sampled in the background at the point that the page shows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field

import numpy as np

from gcnlimit._values import Array
from gcnlimit.errors import GCNLimitError
from gcnlimit.explorer.answers import Recent
from gcnlimit.explorer.picture import Curve
from gcnlimit.explorer.pictures import SHOWN, STRENGTHS
from gcnlimit.explorer.state import State
from gcnlimit.simulation.simulate import simulate

__all__ = ["Run", "Trials", "measured_strengths", "trial"]

AT_ONCE = 8


def measured_strengths(state: State) -> Array:
    """Strengths that are measured: some along the curve, and the one of the page, last."""
    if state.family not in STRENGTHS:
        return np.array([np.nan])
    low, high = SHOWN[state.parameter]
    if state.family == "pagerank":  # beyond, the geometric series of the filter may diverge on a sampled graph
        edge = 0.9 / (abs(float(state.data.effective_signal(state.symmetrize))) + 1.5)
        low, high = -edge, edge
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

    def curve(self) -> Curve | None:
        """Means over the graphs done so far, with standard errors; None before the first."""
        if not self.results:
            return None
        values, x = np.array(self.results), measured_strengths(self.state)
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.zeros(values.shape[1])
        return Curve(f"{len(values)} sampled graphs", x, values.mean(axis=0), "dots", error)


class Trials:
    """The run of each client.

    Parameters
    ----------
    executor
        Makes the executor of other processes when it is first needed.
    """

    def __init__(self, executor: Callable[[], Executor]) -> None:
        self._executor = executor
        self._runs: Recent[str, Run] = Recent(64)
        self._places = threading.BoundedSemaphore(AT_ONCE)

    def start(self, client: str, state: State) -> None:
        """Begin to sample graphs; what ran for this client is stopped."""
        self.stop(client)
        if not self._places.acquire(blocking=False):
            raise GCNLimitError(f"{AT_ONCE} samplings are running already; wait until one has ended")
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

    def _serve(self, run: Run) -> None:
        try:
            for seed in range(run.state.trials):
                if not run.running:
                    break
                future: Future[Array] = self._executor().submit(trial, run.state, seed)
                run.results.append(future.result())
        except (GCNLimitError, RuntimeError, OSError) as error:
            run.sentence = str(error)
        finally:
            run.running = False
            self._places.release()
