"""Reference methods, each a function from a task to scores."""

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
from gcnlimit.graphs.operator import has_hubs, propagation
from gcnlimit.network import GCN
from gcnlimit.normalization import as_normalization
from gcnlimit.simulation.data.observation import Observation
from gcnlimit.simulation.infer.amp import amp
from gcnlimit.simulation.infer.belief_propagation import belief_propagation
from gcnlimit.theory.transfer import best_test_filter, best_training_filter

STRENGTHS = (0.0, 0.5, 0.8, 0.95, -0.5, -0.8, -0.95)  # of PageRank, relative to the top eigenvalue; 0 is no graph
_SPREAD = (0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)  # of label propagation: eight settings, as for every method
_STEPS = 50  # of label propagation


def message_passing(task: Task) -> Array:
    """Approximate message passing that is given the parameters of the model: Bayes-optimal for large graphs.

    Two graphs share class means; the first is not scored.
    """
    if task.new is None:
        return amp(task.observation).probabilities
    return np.pad(amp(task.observation, to=task.new).probabilities, ((task.observation.nodes, 0), (0, 0)))


def beliefs(task: Task) -> Array:
    """Belief propagation that is given the parameters of the model: Bayes-optimal on sparse graphs too."""
    if task.new is not None:
        raise ParameterError("belief-propagation takes one graph; on an inductive problem take amp")
    return belief_propagation(task.observation).probabilities


def linear_by_theory(task: Task) -> Array:
    r"""PageRank of the strength that the theory says is best, at infinite regularization.

    The scores are :math:`g'(a') X' X^T g(a)^T R Y`, products with a few columns; on the training graph :math:`g' = g`.
    """
    here, there = task.observation, task.new
    if not here.data.classes.equal:
        raise ParameterError("linear-by-theory has no bias, which unequal classes need; take linear-by-leave-one-out")
    strength, new_strength = _best_strengths(here.data, None if there is None else there.data)
    nodes = here.nodes
    weights = task.features[:nodes].T @ _pagerank(here, strength, task.targets[:nodes])
    scores = _pagerank(here, strength, task.features[:nodes] @ weights)
    if there is None:
        return scores
    return np.concatenate([scores, _pagerank(there, new_strength, task.features[nodes:] @ weights)])


def linear_by_leave_one_out(task: Task) -> Array:
    """Single network of `GraphClassifier`: PageRank and ridge regression, both chosen by leave-one-out.

    Where the graph has hubs its operator is the regularized one; on a new graph the strength is tuned without labels.
    """
    from gcnlimit.real.classifier import GraphClassifier

    here, new = task.observation, task.new
    operator = "regularized" if has_hubs(here.adjacency) else "none"
    model = GraphClassifier("pagerank", strengths=STRENGTHS, normalization=operator, scale=None, deploy="tuned")
    model.fit(np.asarray(here.features, float), task.labels[: here.nodes], graph=here.adjacency)
    if new is None:
        return model.decision_function()
    there = model.decision_function(np.asarray(new.features, float), graph=new.adjacency)
    return np.concatenate([model.decision_function(), there])


def features_alone(task: Task) -> Array:
    r"""Class centroids of the features, :math:`X X^T R Y`: infinite regularization, which suits independent features.

    Unequal classes need a bias: there it is ridge regression, its regularization chosen by leave-one-out.
    """
    if not task.observation.data.classes.equal:
        from gcnlimit.real.classifier import GraphClassifier

        X = task.features.astype(float)
        known = task.labelled_mask
        outputs = GraphClassifier("pagerank", scale=None).fit(X[known], task.labels[known]).decision_function(X)
        return outputs if task.classes > 2 else np.column_stack([-outputs, outputs])
    return task.features @ (task.features.T @ task.targets)


def label_propagation(task: Task) -> Array:
    r"""Iteration :math:`F \leftarrow s\, \hat A F + (1 - s) Y` on the normalized graph, :math:`s` chosen on validation nodes."""
    S = propagation(task.adjacency, "symmetric", loops=False).operator
    trials = {s: _validated(task, _spread(S, _on(task, task.train_mask), s)) for s in _SPREAD}
    return _spread(S, task.targets, max(trials, key=lambda s: trials[s]))


def correct_and_smooth(task: Task) -> Array:
    """Class centroids of the features, their errors and then the scores spread over the graph; settings by validation."""
    S = propagation(task.adjacency, "symmetric", loops=False).operator
    base = task.features @ (task.features.T @ _on(task, task.train_mask))
    known, wanted = base[task.val_mask], task.targets[task.val_mask]
    scale = float(np.sum(known * wanted) / max(np.sum(known**2), 1e-30))  # to the unit of the targets, by least squares
    settings = [(c, s) for c in (0.5, 0.9) for s in (0.3, 0.6, 0.8, 0.9)]
    trials = {pair: _validated(task, _corrected(task, S, scale * base, task.train_mask, pair)) for pair in settings}
    best = max(trials, key=lambda pair: trials[pair])
    fewer = task.train_mask.sum() / task.labelled_mask.sum()
    return _corrected(task, S, fewer * scale * features_alone(task), task.labelled_mask, best)


def message_passing_network(task: Task, device: str = "cpu", **options: Any) -> Array:
    """Message passing as a network whose few numbers are trained on the labelled nodes (PyTorch, extra ``nn``)."""
    from gcnlimit.nn import message_passing_scores

    here, new, nodes = task.observation, task.new, task.observation.nodes
    there = None if new is None else (np.asarray(new.features), new.adjacency)
    features = np.asarray(here.features)
    labels = task.labels[:nodes]
    return message_passing_scores(features, here.adjacency, labels, seed=task.seed, device=device, new=there, **options)


METHODS: dict[str, Model] = {
    "features": features_alone,
    "label-propagation": label_propagation,
    "correct-and-smooth": correct_and_smooth,
    "linear-by-leave-one-out": linear_by_leave_one_out,
    "message-passing-network": message_passing_network,
    "linear-by-theory": linear_by_theory,
    "amp": message_passing,
    "belief-propagation": beliefs,
}
"""Reference methods by name. The last three are given the parameters of the model."""


SECONDS = {
    "features": (0.1, 0.6),
    "label-propagation": (0.3, 3.0),
    "correct-and-smooth": (0.5, 11.0),
    "linear-by-leave-one-out": (5.0, 120.0),
    "message-passing-network": (12.0, 300.0),
    "linear-by-theory": (0.1, 1.2),
    "amp": (0.1, 1.1),
    "belief-propagation": (0.7, 6.0),
}
"""Seconds of one core for a small graph and a standard one, for the costliest two 25 times those of a small graph."""


def reference_methods(names: Iterable[str]) -> dict[str, Model]:
    """Methods of these names; ``"all"`` stands for every one."""
    chosen = list(names)
    for name in chosen:
        if name != "all" and name not in METHODS:
            raise ParameterError(f"method = {name!r} is unknown; choose among {', '.join(METHODS)} and all")
    return {name: model for name, model in METHODS.items() if name in chosen or "all" in chosen}


@lru_cache(maxsize=64)
def _best_strengths(data: CSBM, to: CSBM | None) -> tuple[float, float]:
    """To train and to read a new graph; the same for any number of classes, which enter in the last step alone."""
    plain = CSBM(data.alpha, data.lam, data.mu, data.rho, data.directed, degrees=data.degrees)
    if to is not None:
        gcn = GCN(best_training_filter(plain), symmetrize=True)
        return float(gcn.filter.theta), float(best_test_filter(plain, gcn, to).theta)  # type: ignore[attr-defined]
    gcn = GCN(PageRank(0.0), symmetrize=True, normalization="regularized")
    best = tune(plain, gcn, {"theta": (-1.0, 1.0)})
    return float(np.asarray(best.parameters["theta"])), math.nan


def _pagerank(graph: Observation, strength: float, block: Array) -> Array:
    """Block after PageRank on that graph, weakened where it is near its pole."""
    a = graph.operator(True, normalization=as_normalization("regularized"))
    radius = float(a.radius or math.inf)
    filter = PageRank(math.copysign(min(abs(strength), 0.95 / radius), strength))
    return np.asarray(filter.apply(a, block, radius=radius))


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
