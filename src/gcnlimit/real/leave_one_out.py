"""Choosing a network and its regularization by exact leave-one-out on the labelled nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.graphs.check import dense
from gcnlimit.real.candidates import Candidates, Network
from gcnlimit.real.operators import Propagation
from gcnlimit.real.ridge import Ridge

Indices = npt.NDArray[np.int64]
REG = tuple(np.logspace(-4, 3, 15).tolist())
MEMORY = 3e7  # numbers in the blocks that are propagated at once


class Problem(NamedTuple):
    """Features of all nodes, labelled nodes, their classes (0, 1, ...) and weights.

    `bare` says that there are no features, and each node has one of its own.
    """

    features: Any
    labelled: Indices
    classes: Indices
    class_count: int
    weights: Array
    bare: bool = False

    @property
    def primal(self) -> bool:
        """Whether there are more labelled nodes than features."""
        return bool(self.labelled.size > self.features.shape[1])


class Offer(NamedTuple):
    """An operator by its name, and the networks that use it."""

    operator: str
    propagation: Propagation
    kinds: list[Candidates]


class Trial(NamedTuple):
    """One network on one operator at one regularization: its leave-one-out accuracy and square error."""

    operator: str
    network: Network
    reg: float
    accuracy: float
    square_error: float

    @property
    def score(self) -> float:
        """What is maximised: the accuracy less the square error, which decides between accuracies that hardly differ."""
        return self.accuracy - self.square_error


class Choice(NamedTuple):
    """The best network with its coefficients (one block for each filter), intercept and leave-one-out outputs.

    `hits` and `gains` say, for each trial and labelled node, whether it was right and how much it added to the score.
    """

    best: Trial
    coefficients: list[Array]
    intercept: Array
    left_out: Array
    trials: list[Trial]
    gains: Array
    hits: npt.NDArray[np.bool_]

    def outputs(self, features: Any, S: Propagation) -> Array:
        r"""Outputs :math:`\sum_b g_b(S) X W_b + b` on any graph with the same features: only these columns are propagated."""
        blocks = [np.asarray(features @ W) for W in self.coefficients]
        return self.best.network.apply(S, blocks) + self.intercept


def choose(problem: Problem, offers: list[Offer], reg: Array) -> Choice:
    """Best of all networks and regularizations by the score of their leave-one-out predictions."""
    Y, share = targets(problem.classes, problem.class_count), problem.weights / problem.weights.sum()
    trials: list[Trial] = []
    gains: list[Array] = []
    hits: list[npt.NDArray[np.bool_]] = []
    best: tuple[Trial, Ridge, list[Array]] | None = None
    for operator, network, ridge, designs in _regressions(problem, offers):
        found = []
        for r, left_out in zip(reg, ridge.left_out(Y, reg), strict=True):
            hits.append(correct(left_out, problem.classes))
            squares = np.mean((left_out - Y) ** 2, axis=1)
            gains.append(hits[-1] - squares)
            accuracy = min(float(share @ hits[-1]), 1.0)  # shares sum to 1 up to rounding
            found.append(Trial(operator, network, float(r), accuracy, float(share @ squares)))
        trials += found
        top = max(found, key=lambda trial: trial.score)
        if best is None or top.score > best[0].score:
            best = (top, ridge, designs)
    assert best is not None
    trial, ridge, designs = best
    return Choice(trial, *_solve(problem, Y, trial.reg, ridge, designs), trials, np.array(gains), np.array(hits))


def propagated(problem: Problem, offer: Offer) -> list[Array]:
    """Rows of the labelled nodes for the one network of an offer, a block for each filter."""
    return next(_primal(problem, offer, offer.kinds[0]) if problem.primal else _dual(problem, offer, offer.kinds[0]))


def trained(problem: Problem, blocks: list[Array], reg: Array) -> tuple[list[Array], Array]:
    """Coefficients and intercept of the regression on these rows, at the regularization of the best score."""
    Y, share = targets(problem.classes, problem.class_count), problem.weights / problem.weights.sum()
    ridge = _regression(problem, blocks)
    scores = [
        share @ (correct(left_out, problem.classes) - np.mean((left_out - Y) ** 2, axis=1))
        for left_out in ridge.left_out(Y, reg)
    ]
    coefficients, intercept, _ = _solve(problem, Y, float(reg[np.argmax(scores)]), ridge, blocks)
    return coefficients, intercept


def targets(classes: Indices, count: int) -> Array:
    """One column of -1 and 1 for each class, and a single one for two."""
    one = np.where(classes[:, None] == np.arange(count), 1.0, -1.0)
    return one[:, 1:] if count == 2 else one


def correct(outputs: Array, classes: Indices) -> npt.NDArray[np.bool_]:
    """Whether each node is given its class."""
    if outputs.shape[1] == 1:
        return np.asarray((outputs[:, 0] > 0) == (classes == 1))
    return np.asarray(outputs.argmax(axis=1) == classes)


def _regressions(problem: Problem, offers: list[Offer]) -> Iterator[tuple[str, Network, Ridge, list[Array]]]:
    """The regression of each network, and the rows that it is on, one block for each filter."""
    nodes, width = problem.features.shape
    size = max(1, int(MEMORY / (nodes * (width if problem.primal else problem.labelled.size))))
    for offer in offers:
        for kind in offer.kinds:
            for part in kind.parts(size):
                rows = _primal(problem, offer, part) if problem.primal else _dual(problem, offer, part)
                for network, blocks in zip(part.networks(), rows, strict=True):
                    yield offer.operator, network, _regression(problem, blocks), blocks


def _primal(problem: Problem, offer: Offer, kind: Candidates) -> Iterator[list[Array]]:
    r"""Rows :math:`[g_b(S) X]_R`, fewer columns than rows."""
    for blocks in kind.propagate(offer.propagation, dense(problem.features), transposed=False):
        yield [block[problem.labelled] for block in blocks]


def _dual(problem: Problem, offer: Offer, kind: Candidates) -> Iterator[list[Array]]:
    r"""The same as :math:`(X^T g_b(S)^T E_R)^T`: the indicators of the labelled nodes are propagated, not the features."""
    E = np.zeros((problem.features.shape[0], problem.labelled.size))
    E[problem.labelled, np.arange(problem.labelled.size)] = 1.0
    for blocks in kind.propagate(offer.propagation, E, transposed=True):
        yield [np.asarray(problem.features.T @ block).T for block in blocks]


def _regression(problem: Problem, blocks: list[Array]) -> Ridge:
    if problem.primal:
        return Ridge(rows=np.hstack(blocks), weights=problem.weights)
    return Ridge(gram=sum((Z @ Z.T for Z in blocks), np.zeros(())), weights=problem.weights)


def _solve(
    problem: Problem, Y: Array, reg: float, ridge: Ridge, designs: list[Array]
) -> tuple[list[Array], Array, Array]:
    """Coefficients, intercept and leave-one-out outputs."""
    dual = ridge.dual(Y, reg)
    coefficients = [Z.T @ dual for Z in designs]
    share = problem.weights / problem.weights.sum()
    intercept = share @ Y - sum((share @ Z @ W for Z, W in zip(designs, coefficients, strict=True)), np.zeros(()))
    return coefficients, intercept, ridge.left_out(Y, np.array([reg]))[0]
