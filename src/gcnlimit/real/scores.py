"""Scores of a classifier, the accuracy that its leave-one-out leads to expect, cross-validation and a search on a graph."""

from __future__ import annotations

import math
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import one_of, plain_array, same_rows, whole
from gcnlimit._values import Array, shown
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.labels import as_labels
from gcnlimit.numerics.leave_one_out import SCORES, scores
from gcnlimit.results.text import rounded

FEW = 20  # labelled nodes below which no single number is named
SILENT = 10  # labelled nodes below which leave-one-out says nothing
SURE, LUCK = 1.96, 3.5  # standard errors: of an interval, and of hits of the best of many by chance


@rounded
class Interval(NamedTuple):
    """Accuracy to expect, None if labels are too few, and its interval: of nominal level 95 %, wider with few labels."""

    value: float | None
    low: float
    high: float


def expected_accuracy(
    right: Any, classes: int, others: int = 0, share: Array | None = None, variance: float = 0.0
) -> Interval:
    """Interval of Wilson for the leave-one-out hits, wider for few labels.

    The accuracy on a number of `others` has an error of its own, that of their hits; 0 stands for infinitely many. Nodes have
    weights of sum 1, their `share`, where other nodes are not drawn like them; `variance` is that of the accuracy from the
    fractions of the classes. All of this leaves fewer labels than there are. Hits below chance count as chance. Where the hits
    may be chance, which helps the best of many members, there is no lower end (0). Below ten labelled nodes it says nothing.
    """
    labels, chance = right.size, 1.0 / classes
    if labels < SILENT:
        return Interval(None, 0.0, 1.0)
    share = np.full(labels, 1.0 / labels) if share is None else share
    hits = max(float(np.average(right, weights=share)), chance)  # exactly 1 if all are right
    spread = max(hits * (1.0 - hits), 0.01)
    n = spread / (spread * (float(share @ share) + 1.0 / (others or math.inf)) + variance)
    z2 = (SURE * (1.0 + 2.0 / math.sqrt(n))) ** 2
    centre = (hits + z2 / (2.0 * n)) / (1.0 + z2 / n)
    half = math.sqrt(z2 * (hits * (1.0 - hits) / n + z2 / (4.0 * n * n))) / (1.0 + z2 / n)
    error = math.sqrt(chance * (1.0 - chance) / n)
    lucky = max(math.sqrt(z2) * error, min(LUCK * error, 0.9 * (1.0 - chance)))
    low = centre - half if hits - chance > lucky else 0.0
    return Interval(None if labels < FEW else hits, low, min(max(centre + half, hits), 1.0))


@progress_bar("cross-validating")
def cross_validate(
    model: Any, X: Any, y: Any, graph: Any, *, folds: int = 5, seed: int = 0
) -> dict[str, npt.NDArray[np.float64]]:
    """Scores on labelled nodes whose labels were hidden, the graph kept whole: cross-validation for nodes of a graph.

    In turn the labels of each part are hidden, the model is fitted, and its answers there are scored: accuracy, balanced
    accuracy, macro F1, area under the ROC curve and seconds of the fit, each an array over the parts. They hold for nodes drawn
    like the labels; of labels drawn by class read the balanced accuracy, or `expected_accuracy_` of a fit.

    Parameters
    ----------
    model
        Estimator with ``fit(X, y, graph=...)``, such as `GraphClassifier`, or a pipeline of scikit-learn with one last; cloned.
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

    if graph is None:
        raise ParameterError("graph is None; without one, use cross_val_score of scikit-learn")
    same_rows(X, y)
    raw = plain_array("y", y)
    labels = as_labels(y, raw.size)
    if whole("folds", folds, low=2) > labels.labelled.size:
        raise ParameterError(f"folds = {folds} exceeds the {labels.labelled.size} labelled nodes")
    if single := labels.classes[labels.counts == 1].tolist():
        told = f"class {single[0]!r} has one labelled node"
        warnings.warn(f"{told}; while it is hidden no model knows of this class", stacklevel=4)
    mixed = np.random.default_rng(whole("seed", seed, low=0)).permutation(labels.index.size)
    part = np.argsort(mixed[np.argsort(labels.index[mixed], kind="stable")]) % folds
    numbers = raw.dtype.kind in "if"  # whose mark, unlike None, every step of a pipeline takes
    rows = []
    for k in range(folds):
        hidden = labels.labelled[part == k]
        seen = np.array(raw, raw.dtype if numbers else object)
        seen[hidden] = -1 if numbers else None
        start = time.perf_counter()
        last = _fit(clone(model, safe=False) if hasattr(model, "fit") else model, X, seen, graph)
        seconds = time.perf_counter() - start
        outputs = np.full((hidden.size, labels.classes.size), -np.inf)
        columns = [labels.classes.tolist().index(c) for c in last.classes_.tolist()]
        outputs[:, columns] = np.log(np.maximum(last.predict_proba()[hidden], 1e-300))
        rows.append(scores(outputs, labels.index[part == k]) | {"fit_seconds": seconds})
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _fit(model: Any, X: Any, y: Any, graph: Any) -> Any:
    """Fit a model; of a pipeline the last step alone takes the graph, and is returned."""
    from sklearn.utils.validation import has_fit_parameter

    last = model[-1] if hasattr(model, "named_steps") else model
    if isinstance(last, type) or not has_fit_parameter(last, "graph"):
        use = "use GraphClassifier, FilterClassifier or nn.MessagePassingClassifier"
        raise ParameterError(f"{type(last).__name__} takes no graph; {use} (last in a pipeline)")
    for _, step in () if last is model else model.steps[:-1]:
        if step not in (None, "passthrough"):
            X = step.fit_transform(X, y)
    return last.fit(X, y, graph=graph)


@rounded
class Trial(NamedTuple):
    """Settings that were tried, mean score on hidden labels, and its standard error over the parts."""

    settings: dict[str, Any]
    score: float
    error: float


class Search(NamedTuple):
    """What `search` found: the model with the best settings, fitted to all labels, and all trials, best first."""

    model: Any
    trials: list[Trial]


def search(
    model: Any,
    settings: Any,
    X: Any,
    y: Any,
    graph: Any,
    *,
    score: str = "accuracy",
    folds: int = 5,
    seed: int = 0,
) -> Search:
    """Best settings of a model by `cross_validate`; ``GridSearchCV``, made for tables, would cut the graph.

    Parameters
    ----------
    model, X, y, graph, folds, seed
        As for `cross_validate`; all settings are tried on the same parts.
    settings
        Values of each parameter by name, as for ``GridSearchCV``; all combinations are tried.
    score
        ``"accuracy"``, ``"balanced_accuracy"``, ``"macro_f1"`` or ``"auc"``. The best score is optimistic, because it was chosen.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=2, lam=2.0, mu=3.0, rho=0.5, directed=False), nodes=300, degree=20, seed=0)
    >>> y = np.where(i.train_mask, i.labels > 0, -1)
    >>> found = gl.search(gl.FilterClassifier(), {"strengths": [0, 0.8]}, i.features, y, i.adjacency, folds=3)
    >>> found.trials[0].settings, found.model.strength_
    ({'strengths': 0.8}, 0.8)
    """
    from sklearn.base import clone
    from sklearn.model_selection import ParameterGrid

    one_of("score", score, *SCORES)
    try:
        tried = [(how, clone(model).set_params(**how)) for how in ParameterGrid(settings or [None])]
    except (TypeError, ValueError) as error:
        raise ParameterError(f"settings = {shown(settings)} are not allowed: {error}") from None
    trials = []
    with progress_bar("searching", len(tried), unit="settings") as bar:
        for how, candidate in tried:
            scores = cross_validate(candidate, X, y, graph, folds=folds, seed=seed)[score]
            trials.append(Trial(how, float(scores.mean()), float(scores.std(ddof=1) / folds**0.5)))
            bar.advance(1)
    trials.sort(key=lambda trial: -trial.score)
    _fit(best := clone(model).set_params(**trials[0].settings), X, y, graph)
    return Search(best, trials)
