"""The linear network chosen by leave-one-out on a device of PyTorch, for graphs on which a processor takes minutes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from gcnlimit._values import Array
from gcnlimit.benchmark.methods import operator_kind, two_sided
from gcnlimit.benchmark.task import Task
from gcnlimit.graphs.operator import propagation
from gcnlimit.nn.operators import SymmetricOperator, as_operator
from gcnlimit.real.leave_one_out import REG, Ridge, correct, targets

STEPS = 40  # of the Chebyshev iteration: an error of 1e-5 at strength 0.95


class DeviceRidge(Ridge):
    """Ridge regression whose eigenvectors are found on the device of its rows."""

    def __init__(self, rows: Any) -> None:
        n = len(rows)
        self.rows, self.weights = rows, np.ones(n)
        self._share = self.weights / n
        centred = (rows - rows.mean(dim=0)).double()
        squares, U = torch.linalg.eigh(centred @ centred.T)
        squares = squares.clamp(min=0.0)
        self.P, self.squares = (U * squares.sqrt()).cpu().numpy(), squares.cpu().numpy()
        self.scale = max(float(self.squares.sum()) / n, 1e-300)


class Found(NamedTuple):
    """A regression, its regularization, the strength of its filter, and the score that is maximised."""

    ridge: DeviceRidge
    reg: float
    strength: float
    score: float


def linear_by_leave_one_out(task: Task, strengths: tuple[float, ...], device: str) -> Array:
    """PageRank and ridge regression, strength and regularization chosen by leave-one-out on the labelled nodes."""
    count, kind = task.observation.nodes, operator_kind(task)
    S = _unit(task.observation.adjacency, kind, device)
    X, nodes = torch.from_numpy(task.features).to(device), np.flatnonzero(task.labelled_mask)
    classes = task.labels[nodes]
    Y = targets(classes, task.classes)
    best: Found | None = None
    for strength in (0.0, *strengths):
        ridge = DeviceRidge(_pagerank(S, X[:count], strength)[torch.from_numpy(nodes).to(device)])
        top = max(_scored(ridge, strength, Y, classes), key=lambda one: one.score)
        best = top if best is None or top.score > best.score else best
    assert best is not None
    outputs = [_outputs(S, X[:count], best, Y)]
    if task.new is not None:
        outputs.append(_outputs(_unit(task.new.adjacency, kind, device), X[count:], best, Y))
    return two_sided(np.concatenate(outputs))


def _scored(ridge: DeviceRidge, strength: float, Y: Array, classes: Any) -> Iterator[Found]:
    """Leave-one-out accuracy less square error, at each regularization."""
    for reg, left_out in zip(REG, ridge.left_out(Y, np.array(REG)), strict=True):
        yield Found(ridge, reg, strength, float(correct(left_out, classes).mean() - np.mean((left_out - Y) ** 2)))


def _outputs(S: SymmetricOperator, X: Any, best: Found, Y: Array) -> Array:
    """Outputs on all nodes, a column for each class."""
    dual = torch.from_numpy(best.ridge.dual(Y, np.array([best.reg]))[0]).to(X)
    weights = best.ridge.rows.T @ dual
    outputs = _pagerank(S, X @ weights, best.strength) + torch.from_numpy(Y.mean(axis=0)).to(X)
    outputs -= best.ridge.rows.mean(dim=0) @ weights
    return np.asarray(outputs.cpu().numpy(), float)


def _pagerank(S: SymmetricOperator, block: Any, strength: float) -> Any:
    r"""Product :math:`(1 - \theta S)^{-1} B` for a spectrum within [-1, 1], by Chebyshev's iteration."""
    if strength == 0.0:
        return block
    bound = abs(strength)
    rho, residual = bound, block.clone()
    step, found = residual.clone(), torch.zeros_like(block)
    for _ in range(STEPS):
        found += step
        residual -= step - strength * (S @ step)
        rho, last = 1.0 / (2.0 / bound - rho), rho
        step = rho * last * step + (2.0 * rho / bound) * residual
    return found


def _unit(adjacency: Any, kind: str, device: str) -> SymmetricOperator:
    """Operator of linear networks, of top eigenvalue 1."""
    S = propagation(adjacency, kind, loops=False).unit().operator
    vector = np.sqrt(S.u * (1.0 if S.v is None else S.v)) * np.ones(S.shape[0])
    return as_operator(S.matrix, vector).to(device)
