"""The graph classifier for scikit-learn: an average of ridge regressions."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import whole
from gcnlimit._values import Array, Integers
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.labels import Labels, as_fractions, class_weights
from gcnlimit.graphs.scaling import unit_rows
from gcnlimit.numerics.leave_one_out import correct, hits
from gcnlimit.numerics.uncertain import uncertain_and_spread
from gcnlimit.real.ensemble import Ensemble
from gcnlimit.real.fractions import EXPLAINED, Shift, drawn_by_class
from gcnlimit.real.graph_estimator import GraphEstimator
from gcnlimit.real.scores import expected_accuracy
from gcnlimit.results.pictures import ready_axes

SMOOTH = 0.9  # strength of PageRank that tells nodes to label next apart
FEWEST = 50  # nodes of another graph whose outputs say something of its fractions
SURELY = 0.05  # level from which a warning says that they moved,
MOVED = 0.1  # by so much in total variation


class GraphClassifier(GraphEstimator):
    r"""Classifier of the nodes of a graph, the one that `gcnlimit.recommend` recommends and ``gcnlimit classify`` uses.

    An average of ridge regressions on several views of a node, weighted by *exact leave-one-out* on the labelled nodes: no
    validation set is needed. The graph is dropped if features alone are within one standard error of it. `FilterClassifier` is a
    single network of the theory instead. Cross-validation of scikit-learn cannot cut a graph: use `loo_score_`, or
    `gcnlimit.cross_validate`.

    Parameters
    ----------
    scale
        ``"rows"`` of unit norm, ``"columns"`` of mean 0 and variance 1, None, or ``"auto"``: rows if most features are 0, after
        columns of another unit have been brought to the size of the others (and, with up to 300 labels, rare words to a larger
        one), else columns, unless leave-one-out prefers columns by two standard errors, or rows by three.
    fractions
        Fractions of the classes among the nodes without labels: those of the ``"labels"``, ``"estimated"`` from the outputs on
        these nodes, or given, in the order of the classes or by class. ``"auto"`` estimates them only where the outputs show
        that the labels are not a random sample, as with 20 of each class; with a `class_weight` it takes those of the labels.
    class_weight
        None, or ``"balanced"`` for classes of equal weight, or a weight for each class as a dictionary.

    Attributes
    ----------
    classes_, n_features_in_, labelled_, transduction_
        Classes, number of features, labelled nodes, and the class predicted for each node.
    loo_score_, loo_score_error_, loo_scores_, expected_accuracy_
        Leave-one-out accuracy and its standard error; balanced accuracy, macro F1 and area under the ROC curve as well;
        interval for the accuracy on the nodes without labels: value (None with few labels), low and high.
    calibration_
        How sure leave-one-out is, and should be (`gcnlimit.results.Calibration`), on nodes like the labels; None with few.
    fractions_, unlike_, grouped_
        Fractions of the classes assumed among the nodes without labels, in the order of `classes_`; whether outputs there differ
        from those of the labelled nodes in a way that other fractions do not explain; what shows that groups of nodes, such as
        households, were labelled as a whole, in words (else ``""``): the accuracy to expect is then not known.
    uses_graph_, graph_gain_
        Whether the graph is used; leave-one-out accuracy minus that of the features alone, and its error (None without these).
    table_
        Members of the average: weight, leave-one-out accuracy, difference from the average; a name says if one was not trained.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=2, lam=2.0, mu=3.0, rho=0.2, directed=False), nodes=600, degree=30, seed=0)
    >>> y = np.where(i.train_mask, i.labels > 0, -1)
    >>> model = gl.GraphClassifier().fit(i.features, y, graph=i.adjacency)
    >>> bool(np.mean(model.predict() == (i.labels > 0)) > 0.9)
    True
    """

    def __init__(
        self,
        *,
        scale: str | None = "auto",
        fractions: Any = "auto",
        class_weight: str | Mapping[Any, float] | None = None,
    ) -> None:
        self.scale = scale
        self.fractions = fractions
        self.class_weight = class_weight

    def plot(self, axes: Any = None) -> Any:
        """Draw weight and leave-one-out accuracy of members, and the accuracy to expect (needs matplotlib); returns the axes."""
        axes = ready_axes(axes)
        names, weights, accuracies = list(zip(*self.table_, strict=True))[:3]
        place = np.arange(len(names))
        axes.barh(place, weights, color="C0", label="weight")
        axes.plot(accuracies, place, "o", color="C1", label="leave-one-out accuracy")
        axes.set_yticks(place, names)
        axes.axvline(self.loo_score_, color="0.5", lw=1, label="average")
        look = {"color": "C2", "alpha": 0.2, "label": "accuracy to expect"}
        axes.axvspan(*self.expected_accuracy_[1:], **look)
        axes.invert_yaxis()
        axes.set_xlim(0.0, 1.0)
        axes.legend(frameon=False)
        return axes

    @progress_bar("choosing nodes")
    def review(self, count: int = 50) -> Integers:
        """Integers without a label to label next, the least certain first: uncertain ones, spread over graph and features.

        50 of them, not 50 random nodes, gained two points on two of five graphs, nothing on three: :doc:`/how-to/real-graphs`.
        """
        probabilities = self.predict_proba()
        free = np.setdiff1d(np.arange(len(probabilities)), self.labelled_)
        if not free.size:
            raise ParameterError("every node has a label; there is none to label next")
        view = np.asarray(unit_rows(self._model.views.pagerank([SMOOTH])[0]))
        return uncertain_and_spread(view, probabilities, free, whole("count", count, low=1))

    def _learn(self, features: Any, labels: Labels, adjacency: Any) -> Array:
        if adjacency is None:
            alone = "there is no graph, so the features alone are used; if you have one"
            use = "write fit(X, y, graph=...), and gcnlimit.search instead of GridSearchCV"
            warnings.warn(f"{alone}, {use}", stacklevel=3)
        weights = class_weights(labels, self.class_weight)
        model = self._model = Ensemble.fit(features, labels, adjacency, weights, self.scale)
        self.table_ = model.table()
        self.uses_graph_, self.graph_gain_ = model.uses_graph, model.gain
        self._labels = labels = model.labels  # in its order
        self._judge(model.left_out, labels, model.share)
        self._set_fractions(np.delete(model.scores, labels.labelled, axis=0))
        model.relearn(self._offset)
        views = model.views
        self._check_groups(model.scores, labels, views.graph, None if model.bare else views.X)
        return model.scores

    def _set_fractions(self, outputs: Array) -> None:
        """Fractions of the classes among nodes without labels, of these outputs, and the accuracy to expect there."""
        labels, left_out = self._labels, self._model.left_out
        word = self.fractions if isinstance(self.fractions, str) else None
        if word == "auto" and self.class_weight is not None:
            word = "labels"
        fractions, self.unlike_, shift = self._prior, False, None
        if word in ("auto", "estimated") and len(outputs):
            shift = Shift.of(left_out, labels.index, outputs, self._prior)
            refuted = shift.refutes(labels.counts)
            told = shift.remaining > EXPLAINED and self.expected_accuracy_.low > 0.0
            self.unlike_ = refuted and not told
            if word == "estimated" or (refuted and told):
                fractions = shift.fractions
        elif word not in ("auto", "estimated", "labels"):
            fractions = as_fractions(self.fractions, labels.classes)
        self.fractions_ = fractions
        about = (labels.classes.size, self._others)
        if fractions is self._prior and (shift is None or not drawn_by_class(labels.counts)):
            self.expected_accuracy_ = expected_accuracy(hits(left_out, labels.index), *about)
            return
        self._offset = np.log(fractions / self._prior)
        right = correct(left_out + self._offset, labels.index)
        share = (fractions / labels.counts)[labels.index]
        by_class = np.bincount(labels.index, right) / labels.counts
        variance = 0.0 if shift is None else max(float(by_class @ shift.covariance @ by_class), 0.0)
        self.expected_accuracy_ = expected_accuracy(right, *about, share, variance)

    def _apply(self, features: Any, adjacency: Any) -> Array:
        return self._model.elsewhere(features, adjacency)

    def _warn_of_shift(self, logs: Array) -> None:
        left_out = self._model.left_out_by(self._model.portable) + self._offset
        shift = Shift.of(left_out, self._labels.index, logs, self.fractions_)
        apart = 0.5 * float(np.abs(shift.fractions - self.fractions_).sum())
        if len(logs) >= FEWEST and shift.level < SURELY and apart > MOVED:
            both = np.round([shift.fractions, self.fractions_], 2).tolist()
            told = f"about {both[0]} instead of {both[1]} for {self.classes_.tolist()}"
            use = "give fractions=..., or y=... with the classes of a few nodes there"
            moved = "the outputs suggest that the classes have other fractions here than in the fit"
            warnings.warn(f"{moved}, {told}; {use}", stacklevel=5)
