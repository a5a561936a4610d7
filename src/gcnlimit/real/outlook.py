"""What a recommended network owes to the graph, to its depth and to the number of labels: differences with their errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.real.candidates import Candidates
from gcnlimit.real.leave_one_out import REG, Choice, Offer, Problem, correct, propagated, trained

HALVES = 20


class Difference(NamedTuple):
    """Mean difference of two accuracies on the same nodes, and its standard error."""

    value: float
    error: float


class Depth(NamedTuple):
    """One PageRank strength at its best regularization.

    Parameters
    ----------
    strength
        Of the filter; 0 is no graph.
    steps
        Mean number of steps along the edges, `steps`.
    loo_accuracy
        Leave-one-out accuracy.
    below
        How far it is below the network chosen by leave-one-out, on the same nodes.
    """

    strength: float
    steps: float
    loo_accuracy: float
    below: Difference


def steps(strength: float) -> float:
    r"""Mean number of steps of PageRank, whose weight of :math:`k` steps is :math:`|s|^k`: :math:`|s|/(1 - |s|)`.

    >>> [round(steps(s), 2) for s in (0.0, 0.5, -0.5, 0.9)]
    [0.0, 1.0, 1.0, 9.0]
    """
    return abs(strength) / (1.0 - abs(strength))


def difference(first: Array, second: Array) -> Difference:
    """Mean of `first - second`, both 0 or 1 on the same nodes.

    >>> difference(np.array([1, 1, 0, 1]), np.array([1, 0, 0, 1]))
    Difference(value=0.25, error=0.25)
    """
    apart = np.asarray(first, float) - np.asarray(second, float)
    return Difference(float(apart.mean()), float(apart.std(ddof=1) / math.sqrt(apart.size)))


def depths(choice: Choice) -> tuple[Depth, ...]:
    """Accuracy against the depth: every PageRank strength that was tried, at its best operator and regularization."""
    best: dict[float, int] = {}
    for k, trial in enumerate(choice.trials):
        if trial.network.family in ("no graph", "pagerank"):
            s = trial.network.strength
            if s not in best or trial.score > choice.trials[best[s]].score:
                best[s] = k
    right = choice.hits[next(k for k, trial in enumerate(choice.trials) if trial is choice.best)]
    rows = [(s, k, difference(right, choice.hits[k])) for s, k in sorted(best.items())]
    return tuple(Depth(s, steps(s), choice.trials[k].accuracy, below) for s, k, below in rows)


def with_half(problem: Problem, choice: Choice, offers: Sequence[Offer]) -> float:
    """Accuracy of the chosen network trained on half of the labelled nodes, measured on the other half (twenty draws).

    A half keeps half of each class, so that none is lost.
    """
    network = choice.best.network
    propagation = next(offer.propagation for offer in offers if offer.operator == choice.best.operator)
    build = None if network.filter is None else (lambda s, filter=network.filter: filter)
    alone = Offer(choice.best.operator, propagation, [Candidates(network.family, (network.strength,), build)])
    rows, rng = propagated(problem, alone), np.random.default_rng(0)
    found = []
    for _ in range(HALVES):
        half = _half(problem, rng)
        part = problem._replace(
            labelled=problem.labelled[half], classes=problem.classes[half], weights=problem.weights[half]
        )
        coefficients, intercept = trained(part, [block[half] for block in rows], np.array(REG))
        outputs = sum(block[~half] @ W for block, W in zip(rows, coefficients, strict=True)) + intercept
        found.append(np.mean(correct(outputs, problem.classes[~half])))
    return float(np.mean(found))


def _half(problem: Problem, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    half = np.zeros(problem.labelled.size, bool)
    for k in range(problem.class_count):
        members = np.flatnonzero(problem.classes == k)
        half[rng.permutation(members)[: (members.size + int(rng.integers(2))) // 2]] = True
    return half
