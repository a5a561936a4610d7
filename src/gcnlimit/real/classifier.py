"""The graph classifier for scikit-learn: an average of ridge regressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gcnlimit._validation import one_of
from gcnlimit._values import Array
from gcnlimit.graphs.labels import Labels
from gcnlimit.real.ensemble import Ensemble
from gcnlimit.real.graph_estimator import GraphEstimator, class_weights
from gcnlimit.results.pictures import ready_axes


class GraphClassifier(GraphEstimator):
    r"""Classifier of the nodes of a graph; what `gcnlimit.recommend` recommends and ``gcnlimit classify`` does.

    An average of ridge regressions on several views of a node, weighted by *exact leave-one-out* on the labelled nodes: no
    validation set is needed. The graph is left out where that does as well within one standard error. `FilterClassifier` is a
    single network of the theory instead. Cross-validation of scikit-learn cannot cut a graph: use `loo_score_`, or
    `gcnlimit.cross_validate`.

    Parameters
    ----------
    scale
        ``"rows"`` of unit norm, ``"columns"`` of mean 0 and variance 1, None, or ``"auto"``: rows if most features are 0.
    class_weight
        None, or ``"balanced"`` for classes of equal weight, or a weight for each class as a dictionary.
    deploy
        Filters on another graph than that of the fit: the ``"same"``, or ``"tuned"`` to it without a label there, where its
        homophily has vanished or changed its sign: strengths are then multiplied by the ratio of the best ones on the two graphs.

    Attributes
    ----------
    classes_, n_features_in_, labelled_, transduction_
        Classes, number of features, labelled nodes, and the class predicted for each node.
    loo_score_, loo_score_error_, loo_scores_, expected_accuracy_
        Leave-one-out accuracy and its standard error; balanced accuracy, macro F1 and area under the ROC curve beside it;
        interval for the accuracy on other nodes: value (None with few labels), low and high.
    uses_graph_, graph_gain_
        Whether the graph is used; leave-one-out accuracy less that of the features alone, and the standard error of this
        difference (None without features).
    table_
        Members of the average: weight, leave-one-out accuracy, difference from the average.

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
        class_weight: str | Mapping[Any, float] | None = None,
        deploy: str = "same",
    ) -> None:
        self.scale = scale
        self.class_weight = class_weight
        self.deploy = deploy

    def plot(self, axes: Any = None) -> Any:
        """Draw weight and leave-one-out accuracy of the members (needs matplotlib); returns the axes."""
        axes = ready_axes(axes)
        names, weights, accuracies = list(zip(*self.table_, strict=True))[:3]
        place = np.arange(len(names))
        axes.barh(place, weights, color="C0", label="weight")
        axes.plot(accuracies, place, "o", color="C1", label="leave-one-out accuracy")
        axes.set_yticks(place, names)
        axes.axvline(self.loo_score_, color="0.5", lw=1, label="average")
        axes.invert_yaxis()
        axes.set_xlim(0.0, 1.0)
        axes.legend(frameon=False)
        return axes

    def _learn(self, features: Any, labels: Labels, adjacency: Any) -> Array:
        one_of("deploy", self.deploy, "same", "tuned")
        weights = class_weights(labels, self.class_weight)
        model = Ensemble(features, labels, adjacency, weights, self.scale)
        self._model = model
        self.table_ = model.table()
        self.uses_graph_ = model.uses_graph
        self.graph_gain_ = model.gain
        self._judge(model.left_out, labels, weights)
        return model.scores

    def _apply(self, features: Any, adjacency: Any) -> Array:
        one_of("deploy", self.deploy, "same", "tuned")
        tuned = self.deploy == "tuned" and adjacency is not None
        return self._model.elsewhere(features, adjacency, tuned)
