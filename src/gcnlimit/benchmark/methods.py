"""Reference methods, each a function from a task to scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np

from gcnlimit._validation import one_of
from gcnlimit._values import Array, Mask
from gcnlimit.benchmark.evaluate import Model
from gcnlimit.benchmark.task import Task
from gcnlimit.choose.tune import tune
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.filters import PageRank
from gcnlimit.graphs.operator import propagation
from gcnlimit.graphs.verdict import edge_counts, has_hubs
from gcnlimit.network import GCN
from gcnlimit.normalization import as_normalization
from gcnlimit.simulation.data.observation import Observation
from gcnlimit.simulation.infer.amp import amp
from gcnlimit.simulation.infer.belief_propagation import belief_propagation
from gcnlimit.simulation.infer.linear import By
from gcnlimit.simulation.infer.linear import linear_message_passing as passed_linearly
from gcnlimit.theory.transfer import best_test_filter, best_training_filter

# of PageRank, relative to the top eigenvalue; 0 is no graph
STRENGTHS = (0.0, 0.5, 0.8, 0.95, -0.5, -0.8, -0.95)
# of label propagation: eight settings, as for every method
_SPREAD = (0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
_CORRECTED = tuple(product((0.5, 0.9), (0.3, 0.6, 0.8, 0.9)))  # to correct and to smooth
_STEPS = 50  # of label propagation
_SMALL_DEGREE = 15.0  # below which the edges count one by one


def message_passing(task: Task) -> Array:
    """Approximate message passing that is given the parameters of the model: Bayes-optimal for large graphs.

    Two graphs share class means; the first is not scored.
    """
    return _on_all_nodes(task, amp(task.observation, to=task.new).probabilities)


def _on_all_nodes(task: Task, probabilities: Array) -> Array:
    """Rows of 0 for the training graph of an inductive task, before those of the new graph."""
    return np.pad(probabilities, ((task.observation.nodes if task.new else 0, 0), (0, 0)))


def beliefs(task: Task) -> Array:
    """Belief propagation that is given the parameters of the model: Bayes-optimal on sparse graphs too."""
    if task.new is not None:
        raise ParameterError("belief-propagation takes one graph; on an inductive problem take amp")
    return belief_propagation(task.observation).probabilities


def linear_message_passing(task: Task) -> Array:
    """The best linear network, given the parameters of the model: one linear system for labels, graph and features.

    Where the degree is small it is that of the Bethe Hessian.
    """
    graph = task.observation
    by: By = "bethe" if graph.degree is not None and graph.degree < _SMALL_DEGREE else "system"
    return _on_all_nodes(task, passed_linearly(graph, to=task.new, by=by).probabilities)


def linear_message_passing_by_labels(task: Task) -> Array:
    """The best linear network without the parameters: two numbers a layer, by least squares on the labels of one graph."""
    if task.new is not None:
        remedy = "on an inductive problem take linear-message-passing"
        raise ParameterError(f"linear-message-passing-by-labels takes one graph; {remedy}")
    return passed_linearly(task.observation, by="labels").probabilities


def linear_by_theory(task: Task) -> Array:
    r"""PageRank of the strength that the theory says is best, at infinite regularization.

    The scores are :math:`g'(a') X' X^T g(a)^T R Y`, products with a few columns; on the training graph :math:`g' = g`.
    """
    graph, new = task.observation, task.new
    if not graph.data.classes.equal:
        remedy = "take linear-by-leave-one-out"
        raise ParameterError(f"linear-by-theory has no bias, which unequal classes need; {remedy}")
    strength, new_strength = _best_strengths(graph.data, None if new is None else new.data)
    X, new_X = np.split(task.features, [graph.nodes])
    weights = X.T @ _pagerank(graph, strength, task.targets[: graph.nodes])
    scores = _pagerank(graph, strength, X @ weights)
    if new is None:
        return scores
    return np.concatenate([scores, _pagerank(new, new_strength, new_X @ weights)])


def linear_by_leave_one_out(task: Task) -> Array:
    """`FilterClassifier`: PageRank and ridge regression, both chosen by leave-one-out.

    Where the graph has hubs its operator is the regularized one; on a new graph the strength is tuned without labels.
    """
    from gcnlimit.real.filter_classifier import FilterClassifier

    graph, new = task.observation, task.new
    operator = "regularized" if has_hubs(edge_counts(graph.adjacency)) else "none"
    settings: dict[str, Any] = {"strengths": STRENGTHS, "scale": None, "deploy": "tuned"}
    model = FilterClassifier("pagerank", normalization=operator, **settings)
    model.fit(np.asarray(graph.features, float), task.labels[: graph.nodes], graph=graph.adjacency)
    if new is None:
        return model.decision_function()
    there = model.decision_function(np.asarray(new.features, float), graph=new.adjacency)
    return np.concatenate([model.decision_function(), there])


def features_alone(task: Task) -> Array:
    r"""Class centroids of the features, :math:`X X^T R Y`: infinite regularization, which suits independent features.

    Unequal classes need a bias: there it is ridge regression, its regularization chosen by leave-one-out.
    """
    if not task.observation.data.classes.equal:
        from gcnlimit.real.filter_classifier import FilterClassifier

        X = task.features.astype(float)
        labelled = task.labelled_mask
        model = FilterClassifier(strengths=0, scale=None).fit(X[labelled], task.labels[labelled])
        outputs = model.decision_function(X)
        return outputs if task.classes > 2 else np.column_stack([-outputs, outputs])
    return task.features @ (task.features.T @ task.targets)


def label_propagation(task: Task) -> Array:
    r"""Iteration :math:`F \leftarrow s\, \hat A F + (1 - s) Y` on the normalized graph, :math:`s` by validation."""
    S = propagation(task.adjacency, "symmetric", loops=False).operator
    train = np.where(task.train_mask[:, None], task.targets, 0.0)
    best = _chosen(task, _SPREAD, lambda strength: _spread(S, train, strength))
    return _spread(S, task.targets, best)


def correct_and_smooth(task: Task) -> Array:
    """Class centroids of the features; their errors, then the scores, spread over the graph; settings by validation."""
    S = propagation(task.adjacency, "symmetric", loops=False).operator
    base = task.features @ (task.features.T @ np.where(task.train_mask[:, None], task.targets, 0.0))
    # the centroids in the unit of the targets, by least squares
    centroids, wanted = base[task.val_mask], task.targets[task.val_mask]
    scale = float(np.sum(centroids * wanted) / max(np.sum(centroids**2), 1e-30))
    scores = partial(_corrected, task, S, scale * base, task.train_mask)
    best = _chosen(task, _CORRECTED, scores)
    # the centroids of more labels are as much longer
    fewer = task.train_mask.sum() / task.labelled_mask.sum()
    return _corrected(task, S, fewer * scale * features_alone(task), task.labelled_mask, best)


def message_passing_network(task: Task, device: str = "cpu") -> Array:
    """Message passing as a network whose few numbers are trained on the labelled nodes (PyTorch, extra ``nn``)."""
    from gcnlimit.nn import message_passing_scores

    graph, new = task.observation, task.new
    second = None if new is None else (np.asarray(new.features), new.adjacency)
    labels, X = task.labels[: graph.nodes], np.asarray(graph.features)
    settings: dict[str, Any] = {"seed": task.seed, "device": device}
    return message_passing_scores(X, graph.adjacency, labels, new=second, **settings)


METHODS: dict[str, Model] = {
    "features": features_alone,
    "label-propagation": label_propagation,
    "correct-and-smooth": correct_and_smooth,
    "linear-by-leave-one-out": linear_by_leave_one_out,
    "message-passing-network": message_passing_network,
    "linear-message-passing-by-labels": linear_message_passing_by_labels,
    "linear-by-theory": linear_by_theory,
    "linear-message-passing": linear_message_passing,
    "amp": message_passing,
    "belief-propagation": beliefs,
}
"""Reference methods by name. The last four are given the parameters of the model."""


def reference_methods(names: Iterable[str]) -> dict[str, Model]:
    """Methods of these names; ``"all"`` stands for every one."""
    chosen = list(names)
    for name in chosen:
        one_of("method", name, *METHODS, "all")
    return {name: model for name, model in METHODS.items() if name in chosen or "all" in chosen}


@lru_cache(maxsize=64)
def _best_strengths(data: CSBM, to: CSBM | None) -> tuple[float, float]:
    """Strengths of PageRank to train and to read a new graph with, for any number of classes: they enter the last step only."""
    plain = CSBM(data.alpha, data.lam, data.mu, data.rho, data.directed, degrees=data.degrees)
    if to is not None:
        gcn = GCN(best_training_filter(plain), symmetrize=True)
        read = best_test_filter(plain, gcn, to)
        return float(gcn.filter.theta), float(read.theta)  # type: ignore[attr-defined]
    gcn = GCN(PageRank(0.0), symmetrize=True, normalization="regularized")
    return float(np.asarray(tune(plain, gcn, {"theta": (-1.0, 1.0)}).parameters["theta"])), math.nan


def _pagerank(graph: Observation, strength: float, block: Array) -> Array:
    """Block after PageRank on that graph, weakened where it is near its pole."""
    a = graph.operator(True, normalization=as_normalization("regularized"))
    # the largest eigenvalue of a small graph exceeds that of the theory
    radius = float(a.radius or math.inf)
    filter = PageRank(math.copysign(min(abs(strength), 0.95 / radius), strength))
    return np.asarray(filter.apply(a, block, radius=radius))


def _spread(S: Any, start: Array, strength: float) -> Array:
    F = start
    for _ in range(_STEPS):
        F = strength * (S @ F) + (1.0 - strength) * start
    return np.asarray(F)


def _corrected(task: Task, S: Any, base: Array, labelled: Mask, settings: Any) -> Array:
    """Scores with spread errors added, known ones put in place, and all spread again."""
    correct, smooth = settings
    errors = np.where(labelled[:, None], task.targets - base, 0.0)
    scores = base + _spread(S, errors, correct) / (1.0 - correct)
    return _spread(S, np.where(labelled[:, None], task.targets, scores), smooth)


def _chosen(task: Task, settings: Iterable[Any], scores: Callable[[Any], Array]) -> Any:
    """The setting whose scores are right on most validation nodes."""
    wanted = task.labels[task.val_mask]
    return max(settings, key=lambda s: np.mean(scores(s)[task.val_mask].argmax(1) == wanted))
