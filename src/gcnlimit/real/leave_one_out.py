"""Choosing a network and its regularization by exact leave-one-out on the labelled nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.real.candidates import Candidates, Network
from gcnlimit.real.inputs import is_sparse
from gcnlimit.real.operators import Propagation
from gcnlimit.real.ridge import Ridge

__all__ = ["Choice", "Problem", "Trial", "choose", "correct", "targets"]

Indices = npt.NDArray[np.int64]
MEMORY = 3e7  # numbers in the blocks that are propagated at once


class Problem(NamedTuple):
    """Features of all nodes, operator, labelled nodes, their classes (0, 1, ...) and weights."""

    features: Any
    propagation: Propagation
    labelled: Indices
    classes: Indices
    class_count: int
    weights: Array

    @property
    def primal(self) -> bool:
        """Whether there are more labelled nodes than features."""
        return bool(self.labelled.size > self.features.shape[1])


class Trial(NamedTuple):
    """One network at one regularization: its leave-one-out accuracy and square error."""

    network: Network
    reg: float
    accuracy: float
    square_error: float

    @property
    def score(self) -> float:
        """What is maximised: the accuracy less the square error, which decides between accuracies that hardly differ."""
        return self.accuracy - self.square_error


class Choice(NamedTuple):
    """The best network with its coefficients (one block for each filter), intercept and leave-one-out outputs."""

    best: Trial
    coefficients: list[Array]
    intercept: Array
    left_out: Array
    trials: list[Trial]

    def outputs(self, features: Any, S: Propagation) -> Array:
        r"""Outputs :math:`\sum_b g_b(S) X W_b + b` on any graph with the same features: only these columns travel."""
        blocks = [np.asarray(features @ W) for W in self.coefficients]
        return self.best.network.apply(S, blocks) + self.intercept


def choose(problem: Problem, kinds: list[Candidates], reg: Array) -> Choice:
    """Best of all networks and regularizations by the score of their leave-one-out predictions."""
    Y = targets(problem.classes, problem.class_count)
    trials: list[Trial] = []
    best: tuple[Trial, Ridge, list[Array]] | None = None
    for network, ridge, designs in _regressions(problem, kinds):
        found = _along(network, ridge, Y, problem, reg)
        trials += found
        top = max(found, key=lambda trial: trial.score)
        if best is None or top.score > best[0].score:
            best = (top, ridge, designs)
    assert best is not None
    return _solve(problem, Y, *best, trials)


def targets(classes: Indices, count: int) -> Array:
    """One column of -1 and 1 for each class, and a single one for two."""
    one = np.where(classes[:, None] == np.arange(count), 1.0, -1.0)
    return one[:, 1:] if count == 2 else one


def correct(outputs: Array, classes: Indices) -> npt.NDArray[np.bool_]:
    """Whether each node is given its class."""
    if outputs.shape[1] == 1:
        return np.asarray((outputs[:, 0] > 0) == (classes == 1))
    return np.asarray(outputs.argmax(axis=1) == classes)


def _along(network: Network, ridge: Ridge, Y: Array, problem: Problem, reg: Array) -> list[Trial]:
    share = problem.weights / problem.weights.sum()
    found = []
    for r, left_out in zip(reg, ridge.path(Y, reg).left_out, strict=True):
        accuracy = float(share @ correct(left_out, problem.classes))
        square = float(share @ np.mean((left_out - Y) ** 2, axis=1))
        found.append(Trial(network, float(r), accuracy, square))
    return found


def _regressions(problem: Problem, kinds: list[Candidates]) -> Iterator[tuple[Network, Ridge, list[Array]]]:
    """The regression of each network, with what its coefficients are made of: rows, or features times propagated nodes."""
    walk = _primal if problem.primal else _dual
    nodes = problem.features.shape[0]
    columns = problem.features.shape[1] if problem.primal else problem.labelled.size
    size = max(1, int(MEMORY / (nodes * columns)))
    for kind in kinds:
        for part in kind.parts(size) if kind.build is not None else [kind]:
            yield from zip(part.networks(), *walk(problem, part), strict=True)


def _primal(problem: Problem, kind: Candidates) -> tuple[list[Ridge], list[list[Array]]]:
    r"""Rows :math:`[g_b(S) X]_R`, fewer columns than rows."""
    X = problem.features.toarray() if is_sparse(problem.features) else problem.features
    designs = [
        [block[problem.labelled] for block in blocks] for blocks in kind.propagate(problem.propagation, X, False)
    ]
    return [Ridge(rows=np.hstack(blocks), weights=problem.weights) for blocks in designs], designs


def _dual(problem: Problem, kind: Candidates) -> tuple[list[Ridge], list[list[Array]]]:
    r"""Columns :math:`X^T g_b(S)^T E_R`: the indicators of the labelled nodes travel, never the features."""
    E = np.zeros((problem.features.shape[0], problem.labelled.size))
    E[problem.labelled, np.arange(problem.labelled.size)] = 1.0
    designs = [
        [np.asarray(problem.features.T @ block).T for block in blocks]
        for blocks in kind.propagate(problem.propagation, E, True)
    ]
    ridges = [Ridge(gram=sum((Z @ Z.T for Z in blocks), np.zeros(())), weights=problem.weights) for blocks in designs]
    return ridges, designs


def _solve(  # noqa: PLR0917
    problem: Problem, Y: Array, best: Trial, ridge: Ridge, designs: list[Array], trials: list[Trial]
) -> Choice:
    dual = ridge.dual(Y, best.reg)
    coefficients = [Z.T @ dual for Z in designs]
    share = problem.weights / problem.weights.sum()
    intercept = share @ Y - sum((share @ Z @ W for Z, W in zip(designs, coefficients, strict=True)), np.zeros(()))
    left_out = ridge.path(Y, np.array([best.reg])).left_out[0]
    return Choice(best, coefficients, intercept, left_out, trials)
