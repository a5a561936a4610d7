"""Scores of a classifier, what accuracy its leave-one-out leads to expect, and cross-validation on a graph."""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import whole
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.labels import as_labels
from gcnlimit.numerics.gaussian import roc_area

FEW = 20  # labelled nodes below which no single number is named
SILENT = 10  # labelled nodes below which leave-one-out says nothing
SURE = 1.96


class Interval(NamedTuple):
    """Accuracy to expect, None where too few labels tell it, and an interval that holds it in nine of ten cases or more."""

    value: float | None
    low: float
    high: float


def expected_accuracy(
    right: npt.NDArray[Any],
    classes: int,
    others: int = 0,
    share: Array | None = None,
    variance: float = 0.0,
) -> Interval:
    """Interval of Wilson for the leave-one-out hits, wider for few labels.

    The accuracy on a number of `others` has an error of its own, that of their hits; 0 stands for infinitely many. Nodes have
    weights of sum 1, their `share`, where other nodes are not drawn like them; `variance` is that of the accuracy from the
    fractions of the classes. All of this leaves fewer labels than there are.
    Hits below chance count as chance: where nothing helps, the class of a left-out node is one short among the others. Where
    the hits may be chance there is no lower end (0): any method may then be below it. Below ten labelled nodes it says nothing.
    """
    labels = right.size
    chance = 1.0 / classes
    if labels < SILENT:
        return Interval(None, 0.0, 1.0)
    share = np.full(labels, 1.0 / labels) if share is None else share
    hits = min(max(float(share @ right), chance), 1.0)
    spread = max(hits * (1.0 - hits), 0.01)
    n = spread / (spread * (float(share @ share) + 1.0 / (others or math.inf)) + variance)
    z2 = (SURE * (1.0 + 2.0 / math.sqrt(n))) ** 2
    centre = (hits + z2 / (2.0 * n)) / (1.0 + z2 / n)
    half = math.sqrt(z2 * (hits * (1.0 - hits) / n + z2 / (4.0 * n * n))) / (1.0 + z2 / n)
    low = centre - half if centre - half > chance else 0.0
    return Interval(None if labels < FEW else hits, low, max(centre + half, hits))


def scores(outputs: Array, classes: npt.NDArray[np.int64]) -> dict[str, float]:
    """Accuracy, balanced accuracy, macro F1 and area under the ROC curve (mean over the classes against the rest).

    >>> scores(np.array([[2.0, 1.0], [0.0, 1.0], [0.0, 3.0]]), np.array([0, 1, 1]))
    {'accuracy': 1.0, 'balanced_accuracy': 1.0, 'macro_f1': 1.0, 'auc': 1.0}
    """
    from sklearn.metrics import f1_score

    found = outputs.argmax(axis=1)
    present = np.unique(classes)
    auc = []
    for c in present:
        margins = outputs[:, c] - np.delete(outputs, c, axis=1).max(axis=1)
        auc.append(roc_area(margins, np.where(classes == c, 0, 1)))
    return {
        "accuracy": float(np.mean(found == classes)),
        "balanced_accuracy": float(np.mean([np.mean(found[classes == c] == c) for c in present])),
        "macro_f1": float(f1_score(classes, found, labels=present, average="macro")),
        "auc": float(np.mean(auc)),
    }


def cross_validate(
    model: Any, X: Any, y: Any, graph: Any, *, folds: int = 5, seed: int = 0
) -> dict[str, npt.NDArray[np.float64]]:
    """Scores on labelled nodes whose labels were hidden, the graph kept whole: cross-validation for nodes of a graph.

    In turn the labels of each part are hidden, the model is fitted, and its answers there are scored: accuracy, balanced
    accuracy, macro F1, area under the ROC curve and seconds of the fit, an array over the parts each.

    Parameters
    ----------
    model
        `GraphClassifier`, `FilterClassifier`, `nn.MessagePassingClassifier`, or another estimator with ``fit(X, y, graph=...)``;
        it is cloned.
    X, y, graph
        As for `GraphClassifier`.
    folds, seed
        Number of parts, which keep the shares of the classes, and how they are drawn.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=2, lam=2.0, mu=3.0, rho=0.5, directed=False), nodes=300, degree=20, seed=0)
    >>> y = np.where(i.train_mask, i.labels > 0, -1)
    >>> found = gl.cross_validate(gl.FilterClassifier(), i.features, y, i.adjacency, folds=3)
    >>> bool(found["accuracy"].mean() > 0.8), sorted(found)
    (True, ['accuracy', 'auc', 'balanced_accuracy', 'fit_seconds', 'macro_f1'])
    """
    from sklearn.base import clone

    raw = np.asarray(y, object)
    labels = as_labels(y, raw.size)
    if whole("folds", folds, low=2) > labels.labelled.size:
        raise ParameterError(f"folds = {folds} exceeds the {labels.labelled.size} labelled nodes")
    part = stratified(labels.index, folds, seed)
    rows = []
    for k in range(folds):
        hidden = labels.labelled[part == k]
        seen = raw.copy()
        seen[hidden] = None
        start = time.perf_counter()
        fitted = clone(model).fit(X, seen, graph=graph)
        seconds = time.perf_counter() - start
        outputs = np.full((hidden.size, labels.classes.size), -np.inf)
        columns = [labels.classes.tolist().index(c) for c in fitted.classes_.tolist()]
        outputs[:, columns] = np.log(np.maximum(fitted.predict_proba()[hidden], 1e-300))
        rows.append(scores(outputs, labels.index[part == k]) | {"fit_seconds": seconds})
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def stratified(index: npt.NDArray[np.int64], folds: int, seed: int) -> npt.NDArray[np.int64]:
    """Part of each labelled node, each class spread evenly over the parts."""
    rng = np.random.default_rng(whole("seed", seed, low=0))
    mixed = rng.permutation(index.size)
    order = mixed[np.argsort(index[mixed], kind="stable")]
    part = np.empty(index.size, np.int64)
    part[order] = np.arange(index.size) % folds
    return part
