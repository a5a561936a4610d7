"""The simplest graph convolution, SGC (Wu et al. 2019), solved instead of trained: a control of physics, not of optimizers.

    python -m benchmarks.gnn.study --methods "SGC, solved" --workers 8 --out study

The features :math:`S^K X` with :math:`S = D^{-1/2} (A + A^T + 1) D^{-1/2}` are those of the trained network, and so are the
labels: the training nodes, without those of validation. Ridge regression with a free bias replaces gradient descent; `K` and
the regularization are chosen by exact leave-one-out.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from gcnlimit._values import Array
from gcnlimit.benchmark.task import Task
from gcnlimit.graphs.operator import normalized
from gcnlimit.numerics.leave_one_out import REG, correct, pair, targets
from gcnlimit.numerics.ridge import Ridge

POWERS = (1, 2, 4, 8)


def solved_sgc(task: Task) -> Array:
    """Scores of the classes on all nodes."""
    nodes = np.flatnonzero(task.train_mask)
    classes = task.labels[nodes]
    Y = targets(classes, task.classes)
    S = normalized(
        task.adjacency + task.adjacency.T + sparse.eye_array(task.labels.size, format="csr")
    )
    X = task.features
    best, scores = -np.inf, np.zeros(0)
    for step in range(1, max(POWERS) + 1):
        X = S.astype(X.dtype) @ X
        if step not in POWERS:
            continue
        rows = X[nodes].astype(float)
        ridge = Ridge(rows)
        left_out, dual = ridge.solve(Y, np.array(REG))
        gains = [np.mean(correct(one, classes)) - np.mean((one - Y) ** 2) for one in left_out]
        k = int(np.argmax(gains))
        if gains[k] > best:
            weights, bias = ridge.linear(Y, dual[k])
            best, scores = gains[k], X @ weights + bias
    return pair(scores)
