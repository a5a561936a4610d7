"""A graph classifier for scikit-learn: an average of ridge regressions, or a single network of the theory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import as_real, one_of
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter
from gcnlimit.graphs.check import as_features
from gcnlimit.graphs.labels import Labels
from gcnlimit.graphs.operator import propagation, undirected
from gcnlimit.normalization import Normalization, as_normalization
from gcnlimit.real.ensemble import Ensemble
from gcnlimit.real.graph_estimator import GraphEstimator
from gcnlimit.real.leave_one_out import REG, correct, pair, sharpened
from gcnlimit.real.networks import NO_GRAPH, Smoothness, choose, networks, relative_strength
from gcnlimit.real.scores import expected_accuracy, scores
from gcnlimit.real.views import HOPS, Scaling
from gcnlimit.results.show import ready_axes

TRIED = ("symmetric", "centred")  # the others are worse on public graphs, or as good


class GraphClassifier(GraphEstimator):
    r"""Classifier of the nodes of a graph; what `gcnlimit.recommend` recommends and ``gcnlimit classify`` does.

    By default an average of ridge regressions on several views of a node, weighted by *exact leave-one-out* on the labelled
    nodes: no validation set is needed. The graph is left out where that does as well within one standard error. Naming a
    filter, or any of `strengths`, `normalization`, `hops` and `reg`, gives a single network of the theory instead,
    :math:`h = g(S) X W + b`, chosen by leave-one-out accuracy minus square error. Cross-validation of scikit-learn cannot cut
    a graph: use `loo_score_`, or `gcnlimit.cross_validate`.

    Parameters
    ----------
    filter
        ``"auto"``, the average; ``"pagerank"``, ``"diffusion"`` or ``"hops"`` (ridge on :math:`X, SX, S^2X, \dots`), whose
        strength is chosen; or a filter such as ``PageRank(0.9)``, taken as it is.
    strengths
        One strength or several to choose from, relative to the top eigenvalue; 0 is without a graph.
    normalization
        :math:`S`: ``"symmetric"``, :math:`D^{-1/2}(A + 1)D^{-1/2}`; ``"centred"``, the same without its top eigenvector;
        ``"auto"``, whichever of the two leave-one-out prefers; or as for `gcnlimit.GCN`, with :math:`\tau = 1` if it is not
        given. A directed graph is :math:`\max(A, A^T)` here; the average looks along and against its edges apart.
    hops
        Highest power of :math:`S` of the filter ``"hops"``; 4 by default.
    reg
        One regularization or several to choose from, in units of the mean squared norm of a propagated, centred row.
    scale
        ``"rows"`` of unit norm, ``"columns"`` of mean 0 and variance 1, None, or ``"auto"``: rows if most features are 0.
    class_weight
        None, or ``"balanced"`` for classes of equal weight, or a weight for each class as a dictionary.
    deploy
        Filters on another graph than that of the fit: the ``"same"``, or ``"tuned"`` to it without a label there, where the
        graphs differ measurably: strengths are then multiplied by the ratio of the best ones on the two graphs.

    Attributes
    ----------
    classes_, n_features_in_, labelled_, transduction_
        Classes, number of features, labelled nodes, and the class predicted for each node.
    loo_score_, loo_score_error_, loo_scores_, expected_accuracy_
        Leave-one-out accuracy and its standard error; balanced accuracy, macro F1 and area under the ROC curve beside it;
        interval for the accuracy on other nodes: value (None with few labels), low and high.
    uses_graph_, graph_gain_
        Whether the graph is used; leave-one-out accuracy less that of the features alone, and the standard error of this
        difference (None for a single network or without features).
    table_
        Members of the average: weight, leave-one-out accuracy, difference from the average.
    normalization_, family_, filter_, strength_, hops_, reg_, coef_, intercept_
        Of a single network: what was chosen, and coefficients of the propagated, scaled features.

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
        filter: str | Filter = "auto",
        *,
        strengths: npt.ArrayLike | None = None,
        normalization: str | tuple[float, float] | Normalization = "auto",
        hops: int | None = None,
        reg: npt.ArrayLike | None = None,
        scale: str | None = "auto",
        class_weight: str | Mapping[Any, float] | None = None,
        deploy: str = "same",
    ) -> None:
        self.filter = filter
        self.strengths = strengths
        self.normalization = normalization
        self.hops = hops
        self.reg = reg
        self.scale = scale
        self.class_weight = class_weight
        self.deploy = deploy

    def plot(self, axes: Any = None) -> Any:
        """Draw weight and leave-one-out accuracy of the members (needs matplotlib); returns the axes."""
        if not getattr(self, "table_", None):
            raise ParameterError("plot draws the members of the average; fit with filter='auto'")
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
        self._tunes()  # a bad word is refused here already
        weights = class_weights(labels, self.class_weight)
        self._graph = adjacency
        share = weights / weights.sum()
        learn = self._average if self._averages() else self._single
        outputs = learn(features, labels, adjacency, weights)
        right = correct(self._left_out, labels.codes)
        self.loo_score_ = min(float(share @ right), 1.0)
        self.loo_score_error_ = float(np.sqrt(share**2 @ (right - self.loo_score_) ** 2))
        self.loo_scores_ = scores(self._left_out, labels.codes)
        self.expected_accuracy_ = expected_accuracy(right, labels.classes.size)
        return outputs

    def _averages(self) -> bool:
        unnamed = self.strengths is None and self.hops is None and self.reg is None
        return self._normalizations() == TRIED and self.filter == "auto" and unnamed

    def _average(self, features: Any, labels: Labels, adjacency: Any, weights: Array) -> Array:
        model = Ensemble.fit(features, labels, adjacency, weights, self.scale)
        self._model = model
        self._sharpness = 1.0
        self.table_ = model.table()
        self._left_out = model.left_out
        self.uses_graph_ = model.uses_graph
        self.graph_gain_ = model.gain
        return model.scores

    def _single(self, features: Any, labels: Labels, adjacency: Any, weights: Array) -> Array:
        family = "pagerank" if self.filter == "auto" else self.filter
        offered = networks(family, self.strengths, HOPS if self.hops is None else self.hops)
        features = as_features(None, adjacency.shape[0]) if features is None else features
        self._scaling = Scaling.of(features, self.scale)
        scaled = self._scaling(features)
        names = self._normalizations()
        if adjacency is None:
            names = ("none",)
            offered = [NO_GRAPH]
        operators = {name: self._propagation(adjacency, name) for name in names}
        reg = REG if self.reg is None else self.reg
        choice = choose(scaled, labels, weights, operators=operators, tried=offered, reg=reg)
        self._choice = choice
        self._inputs = choice.inputs(scaled)
        self._left_out = pair(choice.left_out)
        sharpness, _ = sharpened(choice.left_out[None], labels.codes, weights / weights.sum())
        self._sharpness = float(sharpness[0])
        self.uses_graph_ = choice.network is not NO_GRAPH
        self.table_ = []
        self.graph_gain_ = None
        self.normalization_ = choice.operator
        self.reg_ = choice.reg
        self.family_, self.strength_, self.filter_, self.hops_ = choice.network
        self.coef_ = np.vstack(choice.coefficients).T
        self.intercept_ = choice.intercept
        return choice.outputs(scaled, operators[choice.operator])

    def _normalizations(self) -> tuple[Any, ...]:
        """Those among which leave-one-out chooses: names, and what has none."""
        given = self.normalization
        if isinstance(given, str) and given in ("auto", "centred"):
            return TRIED if given == "auto" else (given,)
        known = as_normalization(given)
        return (given if isinstance(given, str) else known,)

    def _propagation(self, adjacency: Any, normalization: Any) -> Any:
        if adjacency is None:
            return None
        S = propagation(adjacency, normalization)
        return S if isinstance(self.filter, Filter) else S.unit()

    def _tunes(self) -> bool:
        one_of("deploy", self.deploy, "same", "tuned")
        return self.deploy == "tuned"

    def _apply(self, features: Any, adjacency: Any) -> Array:
        tuned = self._tunes() and adjacency is not None
        if not self.table_:  # of an average
            scaled = self._scaling(features)
            choice = self._choice
            if tuned and self.uses_graph_:
                here = Smoothness.of(undirected(self._graph), self._inputs, self.labelled_)
                there = Smoothness.of(undirected(adjacency), choice.inputs(scaled))
                network = choice.network.stronger(relative_strength(here, there))
                choice = choice._replace(network=network)
            return choice.outputs(scaled, self._propagation(adjacency, self.normalization_))
        return self._model.elsewhere(features, adjacency, tuned)


def class_weights(labels: Labels, class_weight: object) -> Array:
    """Weight of each labelled node, 1 on average."""
    if class_weight is None:
        return np.ones(labels.codes.size)
    if isinstance(class_weight, Mapping):
        given = [class_weight.get(c, 1.0) for c in labels.classes.tolist()]
        each = np.asarray(as_real("class_weight", given, low=0, open_low=True))
    elif class_weight == "balanced":
        each = 1.0 / np.bincount(labels.codes)
    else:
        use = "use None, 'balanced' or a dictionary of weights by class"
        raise ParameterError(f"class_weight = {class_weight!r} is not allowed; {use}")
    found = each[labels.codes]
    return np.asarray(found / found.mean())
