"""State evolution on a new graph whose features are those of a training graph (Eqs. 10.15 to 10.17 and 12.12)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.csbm import CSBM, SIGNALS
from gcnlimit.theory.ceiling.state_evolution import StateEvolution

_SWEEPS = 1000  # exchanges between the two graphs
_STILL = 1e-15  # change of an overlap that ends them


def stages_of_learning(
    home: StateEvolution, there: StateEvolution, learned: Array | None = None
) -> tuple[StateEvolution, StateEvolution, StateEvolution]:
    """State evolutions on the new graph: with both graphs at hand, after the training graph, with its weights kept.

    Where there are several stable fixed points, the two graphs exchange what each has found by itself. `learned` is the evidence
    that frozen weights give on a node; by default that of the best weights.
    """
    mu = home.evidence.mu
    alone = _overlap(home)
    taught = _taught(there, means=mu * alone)
    if learned is None:
        learned = taught.evidence.at(np.zeros_like(mu))
    # frozen weights give evidence of their own, and learn nothing from the new graph
    frozen = _taught(there, node=learned, mu=np.zeros_like(mu))
    return _taught(there, means=mu * _exchanged(home, there, alone)), taught, frozen


def joint_layers(home: StateEvolution, there: StateEvolution, depth: int) -> Array:
    """Evidence on the new graph after each layer on both graphs at once, as `StateEvolution.layers` has it (Eq. 12.12)."""
    graphs = (home, there)
    m = [np.zeros_like(home.rho)] * 2
    layers = []
    for _ in range(depth):
        q = [graph.overlap(x) for graph, x in zip(graphs, m, strict=True)]
        # what each graph has learned of the class means is known to the other
        taught = [graph.evidence.mu * x for graph, x in zip(graphs, q, strict=True)][::-1]
        m = [_taught(e, means=k).evidence.at(x) for e, k, x in zip(graphs, taught, q, strict=True)]
        layers.append(m[1])
    return np.stack(layers, axis=1).ravel()


def spread_points(data: CSBM, shape: tuple[int, ...]) -> CSBM:
    """Data with a value of each signal at every point of that shape."""
    return data.having(**{n: np.broadcast_to(getattr(data, n), shape) for n in SIGNALS})


def _taught(evolution: StateEvolution, **evidence: Any) -> StateEvolution:
    """State evolution with what another graph has taught of the evidence."""
    return replace(evolution, evidence=replace(evolution.evidence, **evidence))


def _overlap(evolution: StateEvolution) -> Array:
    """Overlap of the labels with their best estimates."""
    return evolution.overlap(evolution.fixed_points().best)


def _exchanged(home: StateEvolution, there: StateEvolution, alone: Array) -> Array:
    """Overlap on the training graph when each graph has learned from the other all it can."""
    q = alone
    for _ in range(_SWEEPS):
        before = q
        q_there = _overlap(_taught(there, means=home.evidence.mu * q))
        q = _overlap(_taught(home, means=there.evidence.mu * q_there))
        if not np.any(np.abs(q - before) > _STILL):
            break
    return q
