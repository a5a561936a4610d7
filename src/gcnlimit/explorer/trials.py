"""Graphs sampled in the background at the point that the page shows."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

import numpy as np

from gcnlimit._values import Array
from gcnlimit.errors import GCNLimitError
from gcnlimit.explorer.answers import Recent, Worker
from gcnlimit.explorer.computations import STRENGTHS, strength_range
from gcnlimit.explorer.picture import Curve, Picture
from gcnlimit.explorer.state import CHOICES, State
from gcnlimit.simulation.simulate import simulate

_SIZES = ("measure", "axis", "gap", "nodes", "degree", "trials", "estimated")


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
    """Each measure of each measured strength on one graph."""
    gcn = state.gcn
    if state.family in STRENGTHS:
        gcn = state.gcn_of(state.filter_of(state.family, measured_strengths(state)))
    sequence = np.random.SeedSequence(0, spawn_key=(seed,))
    found = simulate(state.data, gcn, state.nodes, state.degree, trials=1, seed=sequence, workers=1, progress=False)
    return np.array([np.atleast_1d(getattr(found, name)) for name in CHOICES["measure"]])


@dataclass
class Run:
    """Trials of one state, done and to do."""

    state: State
    results: list[Array] = field(default_factory=list)
    running: bool = True
    sentence: str = ""

    def curves(self, state: State) -> dict[str, Curve]:
        """Means with standard errors for the pictures of a state: along the strengths, and at its point of the axis."""
        if not self.results or not self._of(state, *_SIZES, "t", "c", "theta"):
            return {}
        values = np.array(self.results)
        name = f"{len(values)} sampled graphs"
        mean = values.mean(axis=0)
        error = values.std(axis=0, ddof=min(1, len(values) - 1)) / np.sqrt(len(values))
        found = {}
        if state.family in STRENGTHS:
            k = CHOICES["measure"].index(state.measure)
            x = measured_strengths(self.state)
            found[f"strength-{state.family}"] = Curve(name, x, mean[k], "dots", error[k])
        if self._of(state, *_SIZES) and state.place is not None:
            found["axis"] = Curve(name, np.array([state.place]), mean[0, -1:], "dots", error[0, -1:])
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
