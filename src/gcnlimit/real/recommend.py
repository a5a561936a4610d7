"""What to use on a given graph, what to expect of it, and why."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gcnlimit._runtime.progress import progress_bar
from gcnlimit.classes import Classes
from gcnlimit.graphs.check import as_adjacency
from gcnlimit.graphs.standard import StandardizedGraph
from gcnlimit.real.estimate import Estimate, best_method, estimate_standard
from gcnlimit.real.scores import FEW, Interval, cross_validate, expected_accuracy
from gcnlimit.results.markup import Printed
from gcnlimit.theory.bayes import bayes_optimal

Doubts = tuple[str, ...]
UNEQUAL, EQUAL = 5, 40  # classes above which the ceiling takes minutes
RARE = 5  # labels of a class below which its size is not known
REACH = (  # of PageRank, up to a strength
    (0.6, "its direct neighbours"),
    (0.85, "nodes a few edges away"),
    (1.0, "nearly all nodes that edges connect to it"),
)
STEPS = ("hops", "random units")  # members of features averaged along the edges
VAGUE = 0.12  # standard error of the best possible accuracy beyond which it is not stated
MOVED = 0.1  # sum of differences of fractions of classes from which they are not the labels'
WIDE = 0.5  # width of an interval that says next to nothing
TOLD = 100  # labelled nodes from which probabilities can be judged,
TRUSTED = 0.05  # and how far they may be off


@dataclass(frozen=True, eq=False, repr=False)
class Recommendation(Printed):
    """What to use on a graph, and why.

    Parameters
    ----------
    network
        In words: the average of graph and features, or one of them alone.
    half_accuracy
        Accuracy with half of the labels; None with few.
    model
        The fitted `GraphClassifier`, which has the accuracy to expect, what the graph adds, and the members of the average.
    reason
        What to do and why, a line each.
    estimate, doubts
        The model that the graph resembles, and reasons to doubt it, one sentence each.
    """

    network: str
    half_accuracy: float | None
    reason: str
    estimate: Estimate
    doubts: Doubts
    model: Any

    def __str__(self) -> str:
        head = f"{'member':26}{'weight':>8}{'leave-one-out accuracy':>25}{'average minus this':>21}"
        rows = [
            member
            if ": left out, " in member
            else f"{member:26}{weight:8.2f}{accuracy:25.3f}{gain:+12.3f} +- {error:.3f}"
            for member, weight, accuracy, _, gain, error in self.model.table_
        ]
        return "\n".join([head, *rows, "", self.reason])


@progress_bar("comparing networks")
def recommend(X: Any, y: Any, graph: Any, *, scale: str | None = "auto") -> Recommendation:
    """Recommend what to use on a graph, and say why; `GraphClassifier` and ``gcnlimit classify`` do what is recommended.

    It fits `GraphClassifier` and says what to expect: an interval for the accuracy on other nodes, what the graph adds,
    how far along the edges to look, what more labels may buy, and the best possible accuracy where the block model holds.
    `X`, `y`, `graph` and `scale` are as for `GraphClassifier`.

    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=2, lam=-1.8, mu=2.0, rho=0.2, directed=False), nodes=600, degree=30, seed=0)
    >>> advice = gl.recommend(i.features, np.where(i.train_mask, i.labels > 0, -1), i.adjacency)
    >>> advice.network
    'the average of graph and features'
    """
    from gcnlimit.real.classifier import GraphClassifier

    adjacency = as_adjacency(graph)
    standard = StandardizedGraph.of(X, y, adjacency)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*, so whole groups of nodes")  # the reason says it
        model = GraphClassifier(scale=scale).fit(X, y, graph=adjacency)
    half = None  # each half must have two classes
    if standard.labels.labelled.size >= 2 * FEW and np.sort(standard.labels.counts)[-2] > 1:
        plain = GraphClassifier(scale=scale, fractions="labels")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of classes of a single label
            half = float(cross_validate(plain, X, y, adjacency, folds=2)["accuracy"].mean())
    estimate, limit, doubts = best_possible(model, standard)
    network = facts(model)["network"]
    lines = [f"Use {network}, as GraphClassifier() does.", *_expect(model, half), limit]
    return Recommendation(network, half, "\n".join(lines), estimate, doubts, model)


def facts(model: Any) -> dict[str, Any]:
    """What a fit says of itself, by the names that the command line gives it."""
    used = "the average of graph and features" if model.uses_graph_ else "the features alone"
    network = "the graph alone" if model.graph_gain_ is None else used
    value, low, high = model.expected_accuracy_
    gain, error = model.graph_gain_ or (None, None)
    told = {"labelled": model.labelled_.size, "network": network}
    told |= {"expected_accuracy": value, "expected_low": low, "expected_high": high}
    measured = {"graph_gain": gain, "graph_gain_error": error}
    measured |= {f"loo_{name}": score for name, score in model.loo_scores_.items()}
    return told | (dict.fromkeys(measured) if value is None else measured)  # 6 of 6 misleads


def expectation(model: Any) -> str:
    """What accuracy to expect, in a sentence."""
    value, low, high = model.expected_accuracy_
    labelled = model.labelled_.size
    if model.grouped_:
        return f"What accuracy to expect is not known: {model.grouped_}."
    chance = f"at most {high:.2f}, perhaps no better than chance"
    within = f"between {low:.2f} and {high:.2f}" if low else chance
    unlike = "nodes like the labelled ones (the others differ, so it may be lower there)"
    where = unlike if model.unlike_ else "other nodes"
    if value is not None:
        return f"Expect an accuracy of {value:.2f} on {where}, {within} (leave-one-out)."
    if high - low > WIDE:
        return f"{labelled} labelled nodes are too few to say what accuracy to expect."
    return f"The accuracy on other nodes is {within}; {labelled} labels do not say more."


def trust(model: Any) -> Iterator[str]:
    """Whether probabilities can be taken at their word, in a sentence, where enough labels tell it."""
    if model.labelled_.size >= TOLD and not model.grouped_:
        off = model.calibration_.expected_error
        low = "low" if model.calibration_.signed_error > 0.0 else "high"
        told = "right as they are" if off <= TRUSTED else f"too {low}"
        yield f"Probabilities are {told}: off by {off:.2f} on average (leave-one-out)."


def _expect(model: Any, half: float | None) -> Iterator[str]:
    """What accuracy to expect, whether to trust probabilities, what graph and labels add, how far along the edges to look."""
    yield expectation(model)
    yield from trust(model)
    if model.graph_gain_ is not None:
        yield _graph(model)
    if model.uses_graph_ and model.labelled_.size >= FEW:
        yield from _depth(model)
    if half is not None and model.expected_accuracy_.low > 0.0:
        points = 100.0 * (model.loo_score_ - half)
        gained = f"all of your labels gained {points:.1f} points (from {half:.2f})"
        much = f"Going from half to {gained}; doubling them should gain less than that."
        none = f"Half of the labels give {half:.2f}, as much as all: more will hardly help."
        yield none if points < 0.5 else much


def _graph(model: Any) -> str:
    if model.labelled_.size < FEW:
        return f"{model.labelled_.size} labelled nodes are too few to measure what the graph adds."
    gain, error = (100.0 * part for part in model.graph_gain_)
    told = f"Using the graph changes the accuracy by {gain:+.1f} +- {error:.1f} points"
    if not model.uses_graph_:
        why = "the probabilities are no better" if gain > 2.0 * error else "no measurable benefit"
        return f"{told}: {why}, so it is left out."
    better = ", which may be chance; it is kept because it makes the probabilities better"
    return f"{told}{better * (gain <= 2.0 * error)}."


def _depth(model: Any) -> Iterator[str]:
    """How far along the edges the filters of weight look."""
    rows = [row for row in model.table_ if row.weight > 0.02]
    strengths = sorted({row.strength for row in rows if row.strength is not None})
    if strengths:
        does = "averages" if strengths[-1] > 0 else "contrasts"
        does += " and contrasts" * (strengths[0] < 0 < strengths[-1])
        sizes = sorted(map(abs, strengths))[:: max(len(strengths) - 1, 1)]
        reach = dict.fromkeys(next(word for most, word in REACH if s <= most) for s in sizes)
        far = ", and with ".join(reach)
        strength = ", ".join(f"{s:g}" for s in strengths)
        yield f"It {does} a node with {far} (PageRank of strength {strength})."
    elif any(row.member.startswith(STEPS) for row in rows):
        yield "It uses features averaged over the nodes a few edges away."


def best_possible(model: Any, standard: StandardizedGraph) -> tuple[Estimate, str, Doubts]:
    """The model that a graph resembles, a sentence on the best possible accuracy, and the doubts."""
    estimate = estimate_standard(standard, best_method(standard))
    doubts = estimate.warnings
    if standard.has_hubs and not standard.classes.equal:
        doubts += ("there is no theory of hubs and unequal classes",)
    if model.grouped_ or model.unlike_ or np.abs(model.fractions_ - model._prior).sum() > MOVED:
        unlike = "the labelled nodes look unlike the others and may be no random sample"
        doubts = (model.grouped_.partition(", so")[0] or unlike, *doubts)
    features = None
    if model.graph_gain_ is not None:
        alone = (fit for fit in model._model.fitted.values() if not fit.member.graph)
        best = max(alone, key=lambda fit: fit.accuracy)
        features = expected_accuracy(best.right, model.classes_.size)
    return estimate, *_ceiling(model.expected_accuracy_, estimate, doubts, features)


def _ceiling(
    expected: Interval, estimate: Estimate, doubts: Doubts, features: Interval | None = None
) -> tuple[str, Doubts]:
    """Sentence on the best possible accuracy, and the doubts; one that leave-one-out exceeds is not stated.

    Nor is one of a model whose features would allow less than leave-one-out shows of the `features` alone.
    """
    unequal = not Classes.of(estimate.fractions).equal
    many = len(estimate.fractions) > UNEQUAL  # which may be unequal within the errors
    if not doubts and (unequal or many) and estimate.counts.min() < RARE:
        rare, count = estimate.classes[estimate.counts.argmin()], int(estimate.counts.min())
        few = f"class {rare} has {count} labelled node{'s' * (count > 1)}, too few to tell its size"
        return f"How much better one could do is not known: {few}.", doubts
    if not doubts and len(estimate.fractions) > (UNEQUAL if unequal else EQUAL):
        call = "gcnlimit.bayes_optimal(advice.estimate.data) in Python"
        return f"The best possible accuracy takes minutes to compute: {call}.", doubts
    if not doubts and features is not None:
        best = bayes_optimal(estimate.data.having(lam=0.0, lam_error=0.0))
        value, error = float(best.test_accuracy), float(best.standard_error.test_accuracy)
        if features.low > value + 2.0 * error:
            shown = f"{features.low:.2f} or more by leave-one-out, {value:.2f} +- {error:.2f}"
            doubts = (f"the features alone are more accurate than the model allows ({shown})",)
    if not doubts:
        best = bayes_optimal(estimate.data)
        value, error = float(best.test_accuracy), float(best.standard_error.test_accuracy)
        both = f"{expected.low:.2f} or more, where the model allows {value:.2f} +- {error:.2f}"
        shown = f"leave-one-out shows an accuracy of {both}"
        if error > VAGUE or value < expected.low <= value + 2.0 * error:
            return f"How much better one could do is not known: {shown}; label more nodes.", doubts
        doubts = (shown,) if value < expected.low else ()
    if doubts:
        unknown = "How much better one could do is not known, since the block model may not hold"
        return f"{unknown}: {doubts[0]}.", doubts
    model = "assuming the graph follows the block model, which our checks found no reason to doubt"
    limit = f"The best possible accuracy is {value:.3f} +- {error:.3f}, {model}."
    if expected.value is not None and value - error > expected.value + 0.01:
        limit += " In Python, gcnlimit.nn.MessagePassingClassifier is made to close this gap."
    elif expected.value is not None and value < expected.value:
        limit += " The expected accuracy is as near to it as the errors can tell."
    return limit, doubts
