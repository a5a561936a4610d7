"""A single network of the theory as a classifier for scikit-learn: one filter, one ridge regression."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import one_of
from gcnlimit._values import Array
from gcnlimit.filters import Filter
from gcnlimit.graphs.check import as_features
from gcnlimit.graphs.labels import Labels
from gcnlimit.graphs.operator import propagation, undirected
from gcnlimit.graphs.scaling import Scaling
from gcnlimit.normalization import Normalization, as_normalization
from gcnlimit.real.graph_estimator import GraphEstimator, class_weights
from gcnlimit.real.leave_one_out import REG, pair, sharpened
from gcnlimit.real.networks import NO_GRAPH, choose, networks
from gcnlimit.real.views import HOPS
from gcnlimit.theory.label_free import Smoothness, relative_strength

TRIED = ("symmetric", "centred")  # the others are worse on public graphs, or as good


class FilterClassifier(GraphEstimator):
    r"""Single network of the theory, :math:`h = g(S) X W + b`: one filter and one ridge regression, chosen by leave-one-out.

    Of the filters, operators and regularizations offered it takes that of the largest leave-one-out accuracy less square error.
    `GraphClassifier` averages many such networks, and is better on most graphs; this one has coefficients to look at.

    Parameters
    ----------
    filter
        ``"pagerank"``, ``"diffusion"`` or ``"hops"`` (ridge on :math:`X, SX, S^2X, \dots`), whose strength is chosen; or a filter
        such as ``PageRank(0.9)``, taken as it is.
    strengths
        One strength or several to choose from, relative to the top eigenvalue; 0 is without a graph.
    normalization
        :math:`S`: ``"symmetric"``, :math:`D^{-1/2}(A + 1)D^{-1/2}`; ``"centred"``, the same without its top eigenvector;
        ``"auto"``, whichever of the two leave-one-out prefers; or as for `gcnlimit.GCN`, with :math:`\tau = 1` if it is not
        given. A directed graph is :math:`\max(A, A^T)` here.
    hops
        Highest power of :math:`S` of the filter ``"hops"``.
    reg
        One regularization or several to choose from, in units of the mean squared norm of a propagated, centred row; by default
        from 1e-4 to 1e3.
    scale, class_weight
        As for `GraphClassifier`.
    deploy
        Filter on another graph than that of the fit: the ``"same"``, or ``"tuned"`` to it without a label there where its
        homophily has vanished or changed its sign: its strength is then multiplied by the ratio of the best ones on both.

    Attributes
    ----------
    classes_, n_features_in_, labelled_, transduction_, loo_score_, loo_score_error_, loo_scores_, expected_accuracy_
        As of `GraphClassifier`.
    calibration_, uses_graph_
        As of `GraphClassifier`.
    normalization_, family_, filter_, strength_, hops_, reg_, coef_, intercept_
        What was chosen, and coefficients of the propagated, scaled features.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=2, lam=-2.0, mu=3.0, rho=0.2, directed=False), nodes=600, degree=30, seed=0)
    >>> y = np.where(i.train_mask, i.labels > 0, -1)
    >>> model = gl.FilterClassifier("pagerank").fit(i.features, y, graph=i.adjacency)
    >>> model.family_, model.strength_ < 0, bool(np.mean(model.predict() == (i.labels > 0)) > 0.9)
    ('pagerank', True, True)
    """

    def __init__(
        self,
        filter: str | Filter = "pagerank",
        *,
        strengths: npt.ArrayLike | None = None,
        normalization: str | tuple[float, float] | Normalization = "auto",
        hops: int = HOPS,
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

    def _learn(self, features: Any, labels: Labels, adjacency: Any) -> Array:
        one_of("deploy", self.deploy, "same", "tuned")
        weights = class_weights(labels, self.class_weight)
        offered = networks(self.filter, self.strengths, self.hops)
        features = as_features(None, adjacency.shape[0]) if features is None else features
        self._scaling = Scaling.of(features, self.scale)
        scaled = self._scaling(features)
        names = self._normalizations()
        self._relative = not isinstance(self.filter, Filter)
        if adjacency is None:
            if np.any(np.asarray(0.5 if self.strengths is None else self.strengths) != 0.0):
                use = "write fit(X, y, graph=...), or strengths=0 for the features alone"
                warnings.warn(f"there is no graph, so the filter is not used; {use}", stacklevel=3)
            names = ("none",)
            offered = [NO_GRAPH]
        operators = {name: self._propagation(adjacency, name) for name in names}
        reg = REG if self.reg is None else self.reg
        choice = choose(scaled, labels, weights, operators=operators, tried=offered, reg=reg)
        self._graph = adjacency
        self._choice = choice
        self._inputs = choice.inputs(scaled)
        sharpness, _ = sharpened(choice.left_out[None], labels.index, weights / weights.sum())
        self._sharpness = float(sharpness[0])
        self._judge(self._sharpness * pair(choice.left_out), labels, weights)
        self.uses_graph_ = choice.network is not NO_GRAPH
        self.normalization_ = choice.operator
        self.reg_ = choice.reg
        self.family_, self.strength_, self.filter_, self.hops_ = choice.network
        self.coef_ = np.vstack(choice.coefficients).T
        self.intercept_ = choice.intercept
        return choice.outputs(scaled, operators[choice.operator])

    def _normalizations(self) -> tuple[Any, ...]:
        """Normalizations among which leave-one-out chooses: names, and values that have none."""
        given = self.normalization
        if isinstance(given, str) and given in ("auto", "centred"):
            return TRIED if given == "auto" else (given,)
        known = as_normalization(given)
        return (given if isinstance(given, str) else known,)

    def _propagation(self, adjacency: Any, normalization: Any) -> Any:
        if adjacency is None:
            return None
        S = propagation(adjacency, normalization)
        return S.unit() if self._relative else S

    def _apply(self, features: Any, adjacency: Any) -> Array:
        one_of("deploy", self.deploy, "same", "tuned")
        scaled = self._scaling(features)
        choice = self._choice
        if self.deploy == "tuned" and adjacency is not None and self.uses_graph_:
            here = Smoothness.of(undirected(self._graph), self._inputs, self.labelled_)
            there = Smoothness.of(undirected(adjacency), choice.inputs(scaled))
            network = choice.network.stronger(relative_strength(here, there))
            choice = choice._replace(network=network)
        return choice.outputs(scaled, self._propagation(adjacency, self.normalization_))
