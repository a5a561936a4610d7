"""Train a network on an instance, and measure it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gcnlimit._runtime.memory import require
from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import check_types, tolerance
from gcnlimit._values import Brief, Numbers
from gcnlimit.network import GCN
from gcnlimit.parameters import with_coordinates
from gcnlimit.results.performance import Performance, scalar_or_array
from gcnlimit.simulation.backend import Device
from gcnlimit.simulation.data.features import Block, streamed
from gcnlimit.simulation.data.instance import Instance
from gcnlimit.simulation.data.observation import Observation
from gcnlimit.simulation.data.size import Size, training_bytes
from gcnlimit.simulation.measure import evaluate_rows, measured
from gcnlimit.simulation.train.solvers import TOLERANCE
from gcnlimit.simulation.train.train import holds_rows, train


@dataclass(frozen=True, eq=False)
class Fit(Brief):
    r"""A trained network; each field has the shape of the network's parameters, then its own.

    With :math:`C \ge 3` classes weights, outputs and bias have one more axis, the :math:`C - 1` codes of the classes (Eq. 8.1).

    Parameters
    ----------
    weights
        :math:`w`, of length :math:`M`; at infinite regularization :math:`\lim r w`, up to the factor :math:`-\ell'(0)`.
    outputs
        :math:`h = g(a) X w/\sqrt N`, of length :math:`N`, on the same scale.
    bias
        What is added to the outputs: 0 for equal classes, infinite for two unequal ones at infinite regularization.
    performance
        Accuracies and losses on the labelled nodes, and on the others where their labels are known; ties are split evenly.
    gap
        Duality gap over the objective that the training reached; 0 where the weights solve a linear system.
    """

    weights: Block
    outputs: Block
    bias: Numbers
    performance: Performance
    gap: Numbers


def fit(
    instance: Instance, gcn: GCN, *, tol: float = TOLERANCE, device: Device | None = None
) -> Fit:
    r"""Train a network on an instance: minimize :math:`\sum_{i \in R} \ell(y_i h_i) + \frac r2 |w|^2`.

    With more than two classes the weights are a matrix and the loss is the cross-entropy, or the square loss with the codes of
    the classes as targets; unequal classes have a bias that is not regularized. Array parameters of the network share the
    propagation through the graph. The training sees the labels of the labelled nodes only.

    Parameters
    ----------
    instance, gcn
        The instance and the network.
    tol
        How far from optimal the weights may be: for the square loss the residual of the linear system, relative to its
        right-hand side; for logistic and softmax losses the norm of the gradient, relative to that at :math:`w = 0`; for any
        other convex loss the duality gap, relative to the objective. Single precision allows :math:`2 \cdot 10^{-6}`.
    device
        Where to compute: ``"cpu"`` or ``"cuda"`` (PyTorch, extra ``gpu``); by default where the features were drawn.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), nodes=1000, degree=30, seed=0)
    >>> f = gl.fit(i, gl.GCN(gl.Residual(c=[1.0, 1.0]), loss="square", reg=[0.1, 10.0], symmetrize=True))
    >>> f.weights.shape, f.outputs.shape, f.performance.test_accuracy.shape
    ((2, 250), (2, 1000), (2,))
    >>> bool(f.performance.train_accuracy[0] > 0.99)
    True
    """
    check_types("fit", instance=(instance, Instance), gcn=(gcn, GCN))
    tol = tolerance("tol", tol)
    _check_memory(instance.observation, gcn)
    X = instance.features
    total = X.tiles if streamed(X) and np.isinf(gcn.reg).all() else None
    with progress_bar("training", total, unit="blocks"):
        trained = train(instance.observation, gcn, tol, device)
    rows = evaluate_rows(instance, gcn, trained.outputs, trained.bias)
    performance = measured(instance.data, rows.reshape(-1, *gcn.shape))

    def shaped(values: Block) -> Any:
        alone = values.ndim > 1 and values.shape[-1] == 1
        width = values.shape[1 : -1 if alone else None]
        return scalar_or_array(values.reshape((*gcn.shape, *width)))

    weights, outputs, bias, gap = (shaped(values) for values in trained)
    return Fit(weights, outputs, bias, with_coordinates(performance, instance.data, gcn), gap)


def _check_memory(seen: Observation, gcn: GCN) -> None:
    X = seen.features
    directions = seen.classes.count - 1
    size = Size(seen.nodes, X.shape[1], seen.degree, streamed(X), X.dtype, "cpu", directions)
    labelled = int(seen.train_mask.sum())
    rows = holds_rows(gcn, seen.classes, streamed(X))
    needed = training_bytes(size, labelled, math.prod(gcn.shape), rows)
    what = f"training on {labelled} nodes with {X.shape[1]} features each"
    require(what, needed, "take fewer labelled nodes or parameters")
