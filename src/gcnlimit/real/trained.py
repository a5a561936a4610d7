"""A linear graph network, chosen and trained: what `GraphClassifier` does, independent of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from gcnlimit._validation import flag, real
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter
from gcnlimit.graphs.check import as_features
from gcnlimit.graphs.labels import Labels
from gcnlimit.real.candidates import NO_GRAPH, families
from gcnlimit.real.leave_one_out import Choice, Offer, Problem, choose, correct
from gcnlimit.real.offers import Options, identity, most_hops, offers
from gcnlimit.real.operators import DIRECTIONS, OPERATORS, propagation
from gcnlimit.real.scaling import Scaling


class Trained(NamedTuple):
    """A network with what it was trained on.

    Parameters
    ----------
    options, labels, scaling
        Parameters, labelled nodes and scale of the features.
    choice
        What leave-one-out chose, with coefficients.
    outputs
        Outputs on all nodes of the fit: one column for each class, a single one for two.
    loo_score, loo_score_error
        Leave-one-out accuracy and its standard error.
    sharpness
        Inverse temperature of least log-loss on the leave-one-out outputs.
    """

    options: Options
    labels: Labels
    scaling: Scaling
    choice: Choice
    outputs: Array
    loo_score: float
    loo_score_error: float
    sharpness: float

    def evaluate(self, X: Any, adjacency: Any) -> Array:
        """Outputs on the nodes of another graph, or without one."""
        given, operator = self.options, self.choice.best.operator
        if adjacency is None:
            S = identity(X.shape[0])
        else:
            S = propagation(adjacency, operator, given.self_loops, given.direction)
            S = S if isinstance(given.filter, Filter) else S.unit()
        return self.choice.outputs(self.scaling(X), S)


def train(features: Any, labels: Labels, adjacency: Any, options: Options) -> Trained:
    """Choose and train on parts that have been checked; either `features` or `adjacency` may be None."""
    _among("operator", options.operator, ("auto", *OPERATORS))
    _among("direction", options.direction, DIRECTIONS)
    flag("self_loops", options.self_loops)
    bare = features is None
    features = as_features(None, adjacency.shape[0]) if bare else features
    scaling = Scaling.of(features, options.scale)
    scaled = scaling(features)
    weights = _weights(labels, options.class_weight)
    problem = Problem(scaled, labels.labelled, labels.codes, labels.classes.size, weights, bare)
    reg = np.ravel(np.asarray(real("reg", options.reg, low=0, open_low=True)))
    tried = _offers(problem, adjacency, options)
    choice = choose(problem, tried, reg)
    chosen = next(offer.propagation for offer in tried if offer.operator == choice.best.operator)
    outputs = choice.outputs(scaled, chosen)
    return Trained(options, labels, scaling, choice, outputs, *_score(choice, problem), _sharpness(choice, problem))


def pair(outputs: Array) -> Array:
    """One column for each class, two classes included; a tie goes to the first.

    >>> pair(np.array([[2.0], [-1.0]])).argmax(axis=1)
    array([1, 0])
    """
    return np.hstack([np.zeros_like(outputs), outputs]) if outputs.shape[1] == 1 else outputs


def _offers(problem: Problem, adjacency: Any, given: Options) -> list[Offer]:
    if adjacency is None:
        families(
            "pagerank" if given.filter == "auto" else given.filter, given.strengths
        )  # a wrong name is an error here too
        most_hops(problem, given.hops)
        return [Offer("none", identity(problem.features.shape[0]), [NO_GRAPH])]
    return offers(problem, adjacency, given)


def _weights(labels: Labels, class_weight: object) -> Array:
    """Weight of each labelled node, 1 on average."""
    counts = np.bincount(labels.codes, minlength=labels.classes.size)
    if class_weight is None:
        return np.ones(labels.codes.size)
    if isinstance(class_weight, str):
        _among("class_weight", class_weight, ("balanced",))
        return np.asarray(labels.codes.size / (counts.size * counts[labels.codes]))
    if not isinstance(class_weight, Mapping):
        raise ParameterError(
            f"class_weight = {class_weight!r} is not allowed; use None, 'balanced' or a weight for each class"
        )
    wanted = [class_weight.get(c, 1.0) for c in labels.classes.tolist()]
    each = np.asarray(real("class_weight", wanted, low=0, open_low=True))
    return np.asarray(each[labels.codes] * labels.codes.size / each[labels.codes].sum())


def _score(choice: Choice, problem: Problem) -> tuple[float, float]:
    """Leave-one-out accuracy and its standard error."""
    share = problem.weights / problem.weights.sum()
    right = correct(choice.left_out, problem.classes)
    score = min(float(share @ right), 1.0)
    return score, float(np.sqrt(share**2 @ (right - score) ** 2))


def _sharpness(choice: Choice, problem: Problem) -> float:
    scores, rows = pair(choice.left_out), np.arange(problem.classes.size)

    def loss(log_beta: float) -> float:
        return -float(np.mean(log_softmax(np.exp(log_beta) * scores, axis=1)[rows, problem.classes]))

    return float(np.exp(minimize_scalar(loss, bounds=(-4.0, 4.0), method="bounded").x))


def _among(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ParameterError(f"{name} = {value!r} is not allowed; use {' or '.join(map(repr, allowed))}")
