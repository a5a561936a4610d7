"""A graph classifier for scikit-learn: filter, ridge regression, exact leave-one-out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.filters import Filter
from gcnlimit.graphs.labels import Labels
from gcnlimit.real.graph_estimator import GraphEstimator
from gcnlimit.real.leave_one_out import REG
from gcnlimit.real.offers import Options
from gcnlimit.real.trained import train


class GraphClassifier(GraphEstimator):
    r"""Linear graph network :math:`h = g(S) X W + b`, all choices made by exact leave-one-out on the labelled nodes.

    Ridge regression of the classes (one column of :math:`\pm 1` each) on propagated features. The strength of the filter,
    of either sign or 0 (no graph), and the regularization maximise the accuracy less the square error of the
    leave-one-out predictions. Cross-validation utilities of scikit-learn cut rows of `X` and `y` but not both axes of the
    graph: with a graph, use `loo_score_` instead of them.

    Parameters
    ----------
    filter
        ``"pagerank"``, ``"diffusion"``, ``"residual"`` or ``"hops"`` (ridge on :math:`X, SX, S^2X, \dots`), whose strength is
        chosen; ``"auto"``: PageRank, and diffusion too where there are no features; or a filter such as ``PageRank(0.9)``,
        which is taken as it is.
    operator
        :math:`S`: ``"normalized"``, :math:`D^{-1/2}(A + 1)D^{-1/2}`; ``"centred"``, the same without its top eigenvector, so
        that strengths are relative to the first eigenvalue that depends on more than the degrees; ``"auto"``, whichever
        of the two leave-one-out prefers; or ``"paper"`` (Eq. 1.3), which suits graphs without hubs.
    self_loops
        Whether the identity is added to :math:`A`; self-loops of the graph itself are dropped.
    direction
        What a directed graph becomes: ``"both"`` symmetrizes it, ``"out"`` and ``"in"`` follow its edges or go against them.
    strengths
        Candidates in place of the usual ones, relative to the top eigenvalue; 0 is without a graph.
    hops
        Highest power of :math:`S` offered as features of its own; ``"auto"`` offers 4 where features are few: at
        least four labelled nodes for each column.
    reg
        One regularization or several to choose from, in units of the mean squared norm of a propagated, centred row.
    scale
        ``"rows"`` of unit norm, ``"columns"`` of mean 0 and variance 1, None, or ``"auto"``: rows if most features are 0.
    class_weight
        None, or ``"balanced"`` for classes of equal weight, or a weight for each class as a dictionary.

    Attributes
    ----------
    classes_, n_features_in_
        Classes, and number of features.
    labelled_
        Labelled nodes.
    transduction_
        Class predicted for each node.
    operator_, family_, filter_, strength_, hops_, reg_
        What was chosen; the family is ``"no graph"`` if the graph does not help.
    coef_, intercept_
        Coefficients of the propagated, scaled features, one row for each class (one row for two classes).
    loo_score_, loo_score_error_
        Leave-one-out accuracy of the choice and its standard error. It is optimistic by the choice itself.
    trials_
        Every network and regularization tried, with leave-one-out accuracy and square error.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=2, lam=2.0, mu=3.0, rho=0.2, directed=False), nodes=600, degree=30, seed=0)
    >>> y = np.where(i.train_mask, i.labels > 0, -1)
    >>> model = gl.GraphClassifier().fit(i.features, y, graph=i.adjacency)
    >>> model.family_, bool(model.strength_ > 0), bool(np.mean(model.predict() == (i.labels > 0)) > 0.9)
    ('pagerank', True, True)
    """

    classes_: npt.NDArray[Any]
    labelled_: npt.NDArray[Any]
    transduction_: npt.NDArray[Any]
    n_features_in_: int
    coef_: Array
    intercept_: Array
    reg_: float
    loo_score_: float
    loo_score_error_: float

    def __init__(
        self,
        filter: str | Filter = "auto",
        *,
        operator: str = "auto",
        self_loops: bool = True,
        direction: str = "both",
        strengths: npt.ArrayLike | None = None,
        hops: int | str = "auto",
        reg: npt.ArrayLike = REG,
        scale: str | None = "auto",
        class_weight: str | Mapping[Any, float] | None = None,
    ) -> None:
        self.filter = filter
        self.operator = operator
        self.self_loops = self_loops
        self.direction = direction
        self.strengths = strengths
        self.hops = hops
        self.reg = reg
        self.scale = scale
        self.class_weight = class_weight

    def _learn(self, features: Any, labels: Labels, adjacency: Any) -> Array:
        self._trained = train(features, labels, adjacency, Options(**self.get_params(deep=False)))
        best, choice = self._trained.choice.best, self._trained.choice
        self.operator_, self.reg_ = best.operator, best.reg
        self.family_, self.strength_, self.filter_, self.hops_ = best.network
        self.coef_, self.intercept_ = np.vstack(choice.coefficients).T, np.asarray(choice.intercept)
        self.loo_score_, self.loo_score_error_ = self._trained.loo_score, self._trained.loo_score_error
        self.trials_, self._sharpness = choice.trials, self._trained.sharpness
        return self._trained.outputs

    def _apply(self, features: Any, adjacency: Any) -> Array:
        return self._trained.evaluate(features, adjacency)
