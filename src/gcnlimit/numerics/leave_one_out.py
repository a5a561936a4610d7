"""Leave-one-out losses of classifiers, and the soft average of many by these losses."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from gcnlimit._values import Array, Integers, Mask
from gcnlimit.numerics.gaussian import roc_area
from gcnlimit.numerics.roots import bracketed_roots

REG = tuple(np.logspace(-4, 3, 15).tolist())
COLDEST = 100.0  # largest inverse temperature
SAMPLE = 5000  # labelled nodes that are enough to find a temperature
ROWS = 8192  # whose probabilities are averaged at once
TREES = 64  # of a forest,
GROWN = 2000  # and nodes on which each is grown, at most
SCORES = ("accuracy", "balanced_accuracy", "macro_f1", "auc")
SPREAD = (1.0, 0.5)  # of offsets, and of the log sharpness, before any label of a new graph


def targets(classes: Integers, count: int) -> Array:
    """One column of -1 and 1 for each class, and a single one for two."""
    signs = np.where(classes[:, None] == np.arange(count), 1.0, -1.0)
    return signs[:, 1:] if count == 2 else signs


def made_up(left_out: Array, classes: Integers, count: int) -> Array:
    r"""Leave-one-out outputs as if the class of a left-out node were not one short among the others.

    Outputs are :math:`2g_c - 1` of fits :math:`g_c` to the indicators of the classes (:math:`g_1 - g_0` for two), and
    :math:`g_c` of a left-out node of class :math:`c` is a sum over the :math:`n_c - 1` others: it is multiplied by
    :math:`n_c/(n_c - 1)`. Without this, equal classes that nothing tells apart are all wrong, and 60 classes of 10 lose 6 points.

    >>> tie = np.array([[1 / 3], [1 / 3], [-1 / 3], [-1 / 3]])
    >>> np.allclose(made_up(tie, np.array([0, 0, 1, 1]), 2), 0.0)
    True
    """
    sizes = np.bincount(classes, minlength=count)
    more = 1.0 / np.maximum(sizes - 1, 1)[classes] * (sizes > 1)[classes]
    full = left_out.copy()
    if count == 2:
        full[..., 0] += 0.5 * more * (np.where(classes == 1, 1.0, -1.0) + left_out[..., 0])
        return full
    nodes = np.arange(classes.size)
    full[..., nodes, classes] += more * (1.0 + left_out[..., nodes, classes])
    return full


def forest(rows: Array, classes: Integers) -> tuple[Any, Array]:
    """Random forest, and what it says of each row by the trees grown without it; the order of unequal rows does not matter."""
    from sklearn.ensemble import RandomForestClassifier

    order = np.lexsort([classes, *rows.T])
    most = min(len(rows), GROWN)
    trees = RandomForestClassifier(TREES, oob_score=True, max_samples=most, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a row that every tree has seen
        trees.fit(rows[order], classes[order])
    left_out = np.empty_like(trees.oob_decision_function_)
    left_out[order] = np.nan_to_num(trees.oob_decision_function_, nan=1.0 / left_out.shape[1])
    return trees, left_out


def blurred(classes: Integers, count: int, blur: float) -> Array:
    """Probabilities of the classes of labelled nodes that are sure up to `blur`, so that no best temperature is infinite.

    >>> blurred(np.array([0, 1]), 2, 0.2)
    array([[0.9, 0.1],
           [0.1, 0.9]])
    """
    return np.asarray(blur / count + (1.0 - blur) * (classes[:, None] == np.arange(count)))


def correct(outputs: Array, classes: Integers) -> Mask:
    """Whether each node is given its class."""
    return np.asarray(pair(outputs).argmax(axis=-1) == classes)


def hits(logs: Array, classes: Integers) -> Array:
    """Share of right answers to expect on nodes without labels, one for each of the labels, which are few and random.

    The largest class is smaller among other nodes: with the label left out made up, answers are right too often (10 points with
    20 labels of 5 classes that little tells apart), without it those to equal classes are wrong. This is the mean of both.
    """
    counts = np.bincount(classes, minlength=logs.shape[1])
    less = np.log(np.maximum(counts - 1, 0.1) / np.maximum(counts, 1))
    without = logs + np.where(classes[:, None] == np.arange(counts.size), less, 0.0)
    return 0.5 * (correct(logs, classes) + 1.0 * correct(without, classes))


def scores(outputs: Array, classes: Integers) -> dict[str, float]:
    """Accuracy, balanced accuracy, macro F1 and area under the ROC curve (mean over the classes against the rest).

    >>> scores(np.array([[2.0, 1.0], [0.0, 1.0], [0.0, 3.0]]), np.array([0, 1, 1]))
    {'accuracy': 1.0, 'balanced_accuracy': 1.0, 'macro_f1': 1.0, 'auc': 1.0}
    """
    predicted = outputs.argmax(axis=1)
    each = []
    for c in np.unique(classes):
        actual, decided = classes == c, predicted == c
        hits = np.sum(actual & decided)
        margins = outputs[:, c] - np.delete(outputs, c, axis=1).max(axis=1)
        f1 = 2.0 * hits / (actual.sum() + decided.sum())
        each.append((hits / actual.sum(), f1, roc_area(margins, np.where(actual, 0, 1))))
    means = (np.mean(predicted == classes), *np.mean(each, axis=0))
    return dict(zip(SCORES, map(float, means), strict=True))


def pair(outputs: Array) -> Array:
    """One column for each class, two classes included; a tie goes to the first."""
    if outputs.shape[-1] > 1:
        return outputs
    return np.concatenate([np.zeros_like(outputs), outputs], axis=-1)


def averaged(outputs: Array, weights: Array, sharpness: Array) -> Array:
    """Weighted mean (nodes by classes) of softmax of sharpness times outputs, over the classifiers along the first axis."""
    total = np.zeros((outputs.shape[1], max(outputs.shape[2], 2)))
    for first in range(0, len(total), ROWS):  # what a cache holds
        rows = slice(first, first + ROWS)
        for output, weight, s in zip(outputs[:, rows], weights, sharpness, strict=True):
            if weight > 0.0:
                logs = s * np.ascontiguousarray(pair(output).T, float)  # whose sums are over rows
                total[rows] += weight * softmax(logs, axis=0).T
    return total


def sharpened(left_out: Array, classes: Integers, share: Array) -> tuple[Array, Array]:
    """Inverse temperatures of least leave-one-out cross-entropy, and this loss of each node (classifiers by nodes).

    `left_out` are outputs (classifiers by nodes by columns), `share` the weights of the nodes, of sum 1.
    """
    n = classes.size
    some = np.sort(np.random.default_rng(0).permutation(n)[:SAMPLE])
    outputs = pair(left_out[:, some])
    weights = share[some] / share[some].sum()
    wanted = blurred(classes[some], outputs.shape[-1], 1.0 / (some.size + 2.0))  # sure up to one
    aim = np.sum(wanted * outputs, axis=-1) @ weights
    low = np.full(len(outputs), 1.0 / COLDEST)
    # what is wrong more often than not is as blurred as allowed, without a search
    high = np.where(outputs.mean(axis=-1) @ weights < aim, COLDEST, low)
    sharpness = best_sharpness(outputs, aim, weights, np.minimum(high, 1.0), (low, high))
    losses = np.empty((len(sharpness), n))
    for k, s in enumerate(sharpness.tolist()):
        losses[k] = -log_softmax(s * pair(left_out[k]), axis=-1)[np.arange(n), classes]
    return sharpness, losses


def best_sharpness(
    outputs: Array, aim: Array, weights: Array, start: Array, bounds: tuple[Array, Array]
) -> Array:
    r"""Inverse temperature :math:`b` of least cross-entropy of each classifier: the root of :math:`\langle p\cdot o\rangle - a`.

    :math:`p = \mathrm{softmax}(b\,o)` are the probabilities at outputs :math:`o` (classifiers by nodes by classes), :math:`a` is
    the mean output of the classes wanted, and means are over nodes of these weights, of sum 1.
    """

    def slope_of_loss(sharpness: Array) -> tuple[Array, Array]:
        p = softmax(sharpness[:, None, None] * outputs, axis=-1)
        mean = np.sum(p * outputs, axis=-1)
        return mean @ weights - aim, (np.sum(p * outputs**2, axis=-1) - mean**2) @ weights

    return bracketed_roots(slope_of_loss, start, *bounds, tol=1e-7)


def recalibrated(logs: Array, nodes: Integers, wanted: Array) -> Array:
    """Logarithms of probabilities after a sharpness and an offset of each class that suit those wanted of some nodes."""
    count = logs.shape[1]

    def loss(x: Array) -> tuple[float, Array]:
        scaled = log_softmax(np.exp(x[-1]) * logs[nodes] + x[:-1], axis=1)
        apart = np.exp(scaled) - wanted
        slope = np.append(apart.sum(axis=0), np.exp(x[-1]) * np.sum(apart * logs[nodes]))
        width = np.append(np.full(count, SPREAD[0]), SPREAD[1])
        value = -np.sum(wanted * scaled) + 0.5 * np.sum((x / width) ** 2)
        return float(value), slope + x / width**2

    x = minimize(loss, np.zeros(count + 1), jac=True, method="L-BFGS-B").x
    return np.asarray(log_softmax(np.exp(x[-1]) * logs + x[:-1], axis=1))


def soft_weights(losses: Array, share: Array, prior: Array) -> Array:
    r"""Weights of classifiers in their average, by the losses :math:`q_i` of the nodes; those of prior 0 are left out.

    Each classifier is compared with the best on the same nodes: :math:`z` is the mean of :math:`q_i - q_i^{best}` over
    its standard error, and the weight is the `prior` times :math:`e^{-z^2/2}`.
    """
    with np.errstate(divide="ignore"):
        mean = losses @ share - np.log(prior) / share.size
    apart = losses - losses[mean.argmin()]
    gap = apart @ share
    # few nodes do not know their own spread: one more of the size of the typical loss is added
    error = np.sqrt((apart - gap[:, None]) ** 2 @ share**2 + (0.5 / share.size) ** 2)
    weights = prior * np.exp(-0.5 * (gap / error) ** 2)
    weights = np.where(weights > 1e-3 * weights.max(), weights, 0.0)
    return np.asarray(weights / (weights.sum() or 1.0))


def paired(first: Any, second: Any, share: Array) -> tuple[float, float]:
    """Mean of `first - second` on the same nodes, and its standard error."""
    apart = np.asarray(first, float) - np.asarray(second, float)
    mean = float(share @ apart)
    square = float(share**2 @ (apart - mean) ** 2) * apart.size / max(apart.size - 1, 1)
    return mean, math.sqrt(square)
