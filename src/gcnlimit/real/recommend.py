"""Which network for a given graph, by several rules, and how far to trust each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.choose.tune import tune
from gcnlimit.csbm import CSBM
from gcnlimit.errors import GCNLimitError
from gcnlimit.filters import PageRank
from gcnlimit.graphs.check import as_adjacency, as_features
from gcnlimit.graphs.labels import as_labels
from gcnlimit.graphs.standard import StandardizedGraph
from gcnlimit.network import GCN
from gcnlimit.real.advice import Rule, sentences
from gcnlimit.real.describe import degree_doubts, degrees
from gcnlimit.real.estimate import Estimate, estimate_standard
from gcnlimit.real.leave_one_out import REG, Choice, Problem, choose
from gcnlimit.real.offers import Options, offers
from gcnlimit.real.outlook import Depth, depths, with_half
from gcnlimit.real.scaling import Scaling

FEW = 50  # labelled nodes below which leave-one-out is too noisy to choose by
FIXED = 0.9
DRAWS = 200


@dataclass(frozen=True, eq=False)
class Recommendation:
    """The network recommended and why.

    Parameters
    ----------
    chosen
        The network recommended.
    reason
        What to do and why, a line each: the network, what the graph adds, which depths are as good, what more
        labels buy, what is left to gain.
    rules
        What every rule would choose.
    depths
        Accuracy against the depth, by leave-one-out.
    estimate
        The model that the graph resembles.
    doubts
        What speaks against the model, one sentence each; empty where it holds as far as can be seen.
    """

    chosen: Rule
    reason: str
    rules: tuple[Rule, ...]
    depths: tuple[Depth, ...]
    estimate: Estimate
    doubts: tuple[str, ...]

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of `GraphClassifier` for the network recommended."""
        return self.chosen.options

    def __str__(self) -> str:
        head = f"{'rule':16}{'network':12}{'strength':>9}{'reg':>9}{'accuracy':>10}{'error':>8}{'optimism':>10}"
        body = [
            f"{r.rule:16}{r.family:12}{r.strength:9.2f}{r.reg:9.3g}{r.loo_accuracy:10.3f}{r.loo_error:8.3f}{r.optimism:10.3f}"
            for r in self.rules
        ]
        depth = [
            f"{d.strength:16.2f}{d.steps:12.1f}{d.loo_accuracy:19.3f}{d.below.value:13.3f} +- {d.below.error:.3f}"
            for d in self.depths
        ]
        title = f"{'strength':>16}{'mean steps':>12}{'left out accuracy':>19}{'below the best':>22}"
        return "\n".join([head, *body, "", title, *depth, "", self.reason])


def recommend(X: Any, y: Any, graph: Any) -> Recommendation:
    r"""Recommend a network for a graph, and say why.

    Four rules: leave-one-out over the default networks of `GraphClassifier`; the theory, whose
    :math:`\theta` is tuned at the estimated :math:`\lambda, \mu` and carried over relative to the top eigenvalue,
    :math:`s = \theta(|\lambda| + 1/|\lambda|)`; a fixed strength 0.9; and no graph. Leave-one-out is recommended, except where
    fewer than 50 nodes are labelled: then the theory, if the likelihood finds nothing against its model, or else the fixed
    strength, unless one of them is worse than leave-one-out by more than two standard errors.

    Parameters
    ----------
    X, y, graph
        As for `GraphClassifier`.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=2, lam=-1.8, mu=2.0, rho=0.2, directed=False), nodes=600, degree=30, seed=0)
    >>> advice = gl.recommend(i.features, np.where(i.train_mask, i.labels > 0, -1), i.adjacency)
    >>> advice.chosen.rule, advice.chosen.family, bool(advice.chosen.strength < 0)
    ('leave-one-out', 'pagerank', True)
    """
    adjacency = as_adjacency(graph)
    problem = _problem(X, y, adjacency)
    model = _model(StandardizedGraph.of(X, y, adjacency))
    offered = offers(problem, adjacency, Options())
    wide = choose(problem, offered, np.array(REG))
    rules = [_rule("leave-one-out", problem, wide, {})]
    for name, strength in (("theory", _by_theory(model)), ("fixed strength", FIXED), ("no graph", 0.0)):
        if strength is not None:
            options: dict[str, Any] = {"strengths": [strength], "hops": 0}
            alone = offers(problem, adjacency, Options(**options))
            rules.append(_rule(name, problem, choose(problem, alone, np.array(REG)), options))
    chosen, why = _chosen(rules, model, problem)
    degree = degrees(adjacency, model.directed)
    doubts = (*model.warnings, *degree_doubts(float(degree.mean()), float(degree.std())))
    curve = depths(wide)
    half = with_half(problem, wide, offered) if problem.labelled.size >= FEW else None
    reason = "\n".join(sentences(chosen, why, curve, half=half, bare=problem.bare, model=model, doubts=doubts))
    return Recommendation(chosen, reason, tuple(rules), curve, model, doubts)


def optimism(choice: Choice, weights: Array) -> float:
    """Accuracy of the best trial less that of trials chosen on some nodes and judged on the others (bootstrap).

    Labelled nodes are drawn with replacement; the trial of the best score on those drawn is judged on those not drawn.
    """
    n = weights.size
    counts = np.random.default_rng(0).multinomial(n, np.full(n, 1.0 / n), size=DRAWS).astype(float) * weights
    best = np.argmax(counts @ choice.gains.T, axis=1)
    inside = counts @ choice.hits.T / counts.sum(axis=1, keepdims=True)
    outside = (counts == 0) * weights
    judged = np.sum(outside * choice.hits[best], axis=1) / np.maximum(outside.sum(axis=1), 1e-300)
    return max(float(np.mean(inside[np.arange(DRAWS), best] - judged)), 0.0)


def _problem(X: Any, y: Any, adjacency: Any) -> Problem:
    features, labels = as_features(X, adjacency.shape[0]), as_labels(y, adjacency.shape[0])
    scaled = Scaling.of(features, "auto")(features)
    weights = np.ones(labels.labelled.size)
    return Problem(scaled, labels.labelled, labels.codes, labels.classes.size, weights, X is None)


def _model(given: StandardizedGraph) -> Estimate:
    """By likelihood for two classes, from labels for more."""
    return estimate_standard(given, "likelihood" if given.labels.classes.size == 2 else "labels")


def _by_theory(model: Estimate) -> float | None:
    r"""Strength :math:`s` of the PageRank filter that is best in theory; None if it cannot be tuned."""
    signal = float(model.data.effective_signal(symmetrize=True))
    radius = abs(signal) + 1.0 / abs(signal) if abs(signal) > 1.0 else 2.0
    data = CSBM(model.alpha, signal, max(model.mu, 0.0), model.rho, directed=False)
    try:
        best = tune(data, GCN(PageRank(0.0)), {"theta": (-0.95 / radius, 0.95 / radius)})
    except GCNLimitError:
        return None
    return float(best.parameters["theta"]) * radius


def _rule(name: str, problem: Problem, choice: Choice, options: dict[str, Any]) -> Rule:
    best, network = choice.best, choice.best.network
    labelled = problem.labelled.size
    error = max(
        math.sqrt(best.accuracy * (1.0 - best.accuracy) / labelled), 1.0 / (labelled + 2)
    )  # no error seen is not 0
    bias = optimism(choice, problem.weights)
    return Rule(name, network.family, network.strength, best.reg, best.accuracy, error, bias, options)


def _chosen(rules: list[Rule], model: Estimate, problem: Problem) -> tuple[Rule, str]:
    """The rule to follow, and why."""
    by_name = {rule.rule: rule for rule in rules}
    first, labelled = by_name["leave-one-out"], problem.labelled.size
    if labelled >= FEW:
        return first, f"{labelled} labelled nodes are enough to choose by leave-one-out"
    fits = "theory" in by_name and not model.warnings and problem.class_count == 2
    other = by_name["theory" if fits else "fixed strength"]
    if other.loo_accuracy < first.loo_accuracy - 2.0 * first.loo_error:
        return first, f"the {other.rule} is worse by more than two standard errors"
    return other, f"{labelled} labelled nodes are too few to choose by leave-one-out"
