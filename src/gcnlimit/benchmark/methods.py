"""Reference methods, each a function from a task to scores; they need NumPy and SciPy only."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.benchmark.evaluate import Model
from gcnlimit.benchmark.task import Mask, Task
from gcnlimit.choose.tune import tune
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.filters import PageRank
from gcnlimit.graphs.labels import Labels
from gcnlimit.graphs.operator import propagation
from gcnlimit.network import GCN
from gcnlimit.real.networks import choose, networks
from gcnlimit.simulation.infer.amp import amp
from gcnlimit.simulation.infer.belief_propagation import belief_propagation
from gcnlimit.simulation.infer.inference import Inference

STRENGTHS = (0.5, 0.8, 0.95, -0.5, -0.8, -0.95)  # of PageRank, relative to the top eigenvalue
_SPREAD = (0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)  # of label propagation: eight settings, as for every method
_STEPS = 50  # of label propagation


def message_passing(task: Task) -> Array:
    """Approximate message passing that is given the parameters of the model: Bayes-optimal for large graphs."""
    return _scores(task, amp(task.observation))


def beliefs(task: Task) -> Array:
    """Belief propagation that is given the parameters of the model: Bayes-optimal on sparse graphs too."""
    return _scores(task, belief_propagation(task.observation))


def linear_by_theory(task: Task) -> Array:
    r"""PageRank of the strength that the theory says is best, at infinite regularization.

    The scores are :math:`g(a) X X^T g(a)^T R Y`, products with a few columns.
    """
    a = task.observation.operator(True)
    theta = _best_strength(task.observation.data)
    radius = float(a.radius or math.inf)
    filter = PageRank(math.copysign(min(abs(theta), 0.95 / radius), theta))
    weights = task.features.T @ filter.apply(a, task.targets, radius=radius)
    return np.asarray(filter.apply(a, task.features @ weights, radius=radius))


def linear_by_leave_one_out(task: Task) -> Array:
    """PageRank and ridge regression, strength and regularization chosen by leave-one-out on the labelled nodes."""
    nodes = np.flatnonzero(task.labelled_mask)
    X, S = task.features.astype(float), propagation(task.adjacency, "paper").unit()
    labels = Labels(np.arange(task.classes), nodes, task.labels[nodes])
    found = choose(X, labels, np.ones(nodes.size), {"paper": S}, networks("pagerank", STRENGTHS))
    return two_sided(found.outputs(X, S))


def features_alone(task: Task) -> Array:
    r"""Class centroids of the features, :math:`X X^T R Y`: infinite regularization, which suits independent features."""
    return task.features @ (task.features.T @ task.targets)


def label_propagation(task: Task) -> Array:
    r"""Iteration :math:`F \leftarrow s\, \hat A F + (1 - s) Y` on the normalized graph, :math:`s` chosen on validation nodes."""
    S = propagation(task.adjacency, "normalized", loops=False).operator
    trials = {s: _validated(task, _spread(S, _on(task, task.train_mask), s)) for s in _SPREAD}
    return _spread(S, task.targets, max(trials, key=lambda s: trials[s]))


def correct_and_smooth(task: Task) -> Array:
    """Class centroids of the features, their errors and then the scores spread over the graph; settings by validation."""
    S = propagation(task.adjacency, "normalized", loops=False).operator
    base = task.features @ (task.features.T @ _on(task, task.train_mask))
    scale = _scale(task, base)
    settings = [(c, s) for c in (0.5, 0.9) for s in (0.3, 0.6, 0.8, 0.9)]
    trials = {pair: _validated(task, _corrected(task, S, scale * base, task.train_mask, pair)) for pair in settings}
    best = max(trials, key=lambda pair: trials[pair])
    fewer = task.train_mask.sum() / task.labelled_mask.sum()
    return _corrected(task, S, fewer * scale * features_alone(task), task.labelled_mask, best)


METHODS: dict[str, Model] = {
    "features": features_alone,
    "label-propagation": label_propagation,
    "correct-and-smooth": correct_and_smooth,
    "linear-by-leave-one-out": linear_by_leave_one_out,
    "linear-by-theory": linear_by_theory,
    "amp": message_passing,
    "belief-propagation": beliefs,
}
"""Reference methods by name. The last three are given the parameters of the model."""


def reference_methods(names: Iterable[str]) -> dict[str, Model]:
    """Methods of these names; ``"all"`` stands for every one.

    >>> list(reference_methods(["amp"]))
    ['amp']
    """
    chosen = list(names)
    for name in chosen:
        if name != "all" and name not in METHODS:
            raise ParameterError(f"method = {name!r} is unknown; choose among {', '.join(METHODS)} and all")
    return {name: model for name, model in METHODS.items() if name in chosen or "all" in chosen}


@lru_cache(maxsize=64)
def _best_strength(data: CSBM) -> float:
    """The same for any number of classes: they enter only in the last step, from margin to accuracy."""
    plain = CSBM(data.alpha, data.lam, data.mu, data.rho, data.directed)
    best = tune(plain, GCN(PageRank(0.0), symmetrize=True), {"theta": (-1.0, 1.0)})
    return float(np.asarray(best.parameters["theta"]))


def _scale(task: Task, scores: Array) -> float:
    """Factor that brings scores to the unit of the targets: by least squares on the validation nodes."""
    known, wanted = scores[task.val_mask], task.targets[task.val_mask]
    return float(np.sum(known * wanted) / max(np.sum(known**2), 1e-30))


def _scores(task: Task, found: Inference) -> Array:
    """Scores of a posterior: the log-odds of two equal classes, whose first is +1, else the probabilities."""
    return -np.clip(found.log_odds, -1e3, 1e3) if task.observation.classes.two else found.probabilities  # +1 is class 0


def two_sided(outputs: Array) -> Array:
    """A column for each class, two classes included."""
    return np.hstack([-outputs, outputs]) if outputs.shape[1] == 1 else outputs


def _on(task: Task, nodes: Mask) -> Array:
    return np.asarray(np.where(nodes[:, None], task.targets, 0.0))


def _spread(S: Any, start: Array, strength: float) -> Array:
    F = start
    for _ in range(_STEPS):
        F = strength * (S @ F) + (1.0 - strength) * start
    return np.asarray(F)


def _corrected(task: Task, S: Any, base: Array, known: Mask, settings: tuple[float, float]) -> Array:
    """Scores with spread errors added, known ones put in place, and all spread again."""
    correct, smooth = settings
    errors = np.where(known[:, None], task.targets - base, 0.0)
    scores = base + _spread(S, errors, correct) / (1.0 - correct)
    return _spread(S, np.where(known[:, None], task.targets, scores), smooth)


def _validated(task: Task, scores: Array) -> float:
    """Accuracy on the validation nodes."""
    return float(np.mean(scores.argmax(axis=1)[task.val_mask] == task.labels[task.val_mask]))
