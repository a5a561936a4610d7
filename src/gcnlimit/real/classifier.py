"""A graph classifier for scikit-learn: filter, ridge regression, exact leave-one-out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from gcnlimit._values import Array
from gcnlimit.errors import GCNLimitError, ParameterError
from gcnlimit.filters import Filter
from gcnlimit.given.inputs import Labels, as_adjacency, as_features, as_labels
from gcnlimit.real.leave_one_out import REG
from gcnlimit.real.offers import Options
from gcnlimit.real.trained import pair, train

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ModuleNotFoundError:
    raise GCNLimitError("GraphClassifier needs scikit-learn; install it with pip install 'gcnlimit[sklearn]'") from None

__all__ = ["GraphClassifier"]


class GraphClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
        Candidates in place of the usual ones, relative to the top eigenvalue; 0 is no graph.
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

    def fit(self, X: Any, y: Any, graph: Any = None) -> Self:
        """Choose and train.

        Parameters
        ----------
        X
            Features, a row for each node, dense or sparse; None with a graph alone.
        y
            Class of each node; with a graph, -1, NaN or None for the unlabelled ones.
        graph
            Adjacency matrix (SciPy sparse, dense or a NetworkX graph), weights allowed; None for features alone.
        """
        adjacency = None if graph is None else as_adjacency(graph, None if X is None else _rows(X))
        features, labels = self._training(X, y, adjacency)
        self._trained = train(features, labels, adjacency, Options(**self.get_params(deep=False)))
        self._with_graph = adjacency is not None
        best, choice = self._trained.choice.best, self._trained.choice
        self.classes_, self.labelled_ = labels.classes, labels.labelled
        self.operator_, self.reg_ = best.operator, best.reg
        self.family_, self.strength_, self.filter_, self.hops_ = best.network
        self.coef_, self.intercept_ = np.vstack(choice.coefficients).T, np.asarray(choice.intercept)
        self.loo_score_, self.loo_score_error_ = self._trained.loo_score, self._trained.loo_score_error
        self.trials_ = choice.trials
        self.transduction_ = self._decide(self._trained.outputs)
        return self

    def decision_function(self, X: Any = None, graph: Any = None) -> Array:
        """Outputs: one column for each class, one number for two. Without arguments, of the nodes of the fit."""
        outputs = self._evaluate(X, graph)
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def predict(self, X: Any = None, graph: Any = None) -> npt.NDArray[Any]:
        """Classes of the nodes of the fit, or of new features `X` on another `graph` (without, if fitted without)."""
        return self._decide(self._evaluate(X, graph))

    def predict_proba(self, X: Any = None, graph: Any = None) -> Array:
        """Probabilities of the classes: softmax of the outputs at the temperature of least leave-one-out log-loss."""
        outputs = pair(self._evaluate(X, graph))
        return np.asarray(softmax(self._trained.sharpness * outputs, axis=1))

    def score(self, X: Any = None, y: Any = None, sample_weight: Any = None, *, graph: Any = None) -> float:
        """Accuracy on the nodes that `y` labels; without `X`, on the nodes of the fit."""
        found = self.predict(X, graph)
        if not self._with_graph:
            return float(np.average(found == np.asarray(y), weights=sample_weight))
        raw = np.asarray(y)
        if raw.shape != found.shape:
            raise ParameterError(f"y has shape {raw.shape}; it must have one entry for each of the {found.size} nodes")
        known = np.array([v is not None and v == v and v != -1 for v in raw.tolist()])  # noqa: PLR0124
        if not known.any():
            raise ParameterError("y labels no node; -1, NaN and None mark those that do not count")
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(np.average(found[known] == raw[known], weights=weights))

    def _training(self, X: Any, y: Any, adjacency: Any) -> tuple[Any, Labels]:
        if adjacency is None:
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
            check_classification_targets(y)
            classes, codes = np.unique(y, return_inverse=True)
            if classes.size < 2:
                raise ParameterError(f"y has one class, {classes[0]!s}; a classifier needs two")
            return X, Labels(classes, np.arange(len(y)), codes)
        features = as_features(X, adjacency.shape[0])
        labels = as_labels(y, adjacency.shape[0])
        if X is not None:
            validate_data(self, X, accept_sparse="csr", dtype=None, skip_check_array=True)
        self.n_features_in_ = features.shape[1]
        return (None if X is None else features), labels

    def _evaluate(self, X: Any, graph: Any) -> Array:
        check_is_fitted(self)
        if X is None and graph is None:
            return self._trained.outputs
        if not self._with_graph:
            if graph is not None:
                raise ParameterError("graph is given but the model was fitted without one; fit it with a graph")
            X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
            adjacency = None
        else:
            X, adjacency = self._elsewhere(X, graph)
        return self._trained.evaluate(X, adjacency)

    def _elsewhere(self, X: Any, graph: Any) -> tuple[Any, Any]:
        if graph is None:
            raise ParameterError(
                "X is given without a graph but the model was fitted with one; predict() answers for the nodes of the fit, "
                "predict(X, graph=...) for those of another graph"
            )
        adjacency = as_adjacency(graph, None if X is None else _rows(X))
        X = as_features(X, adjacency.shape[0])
        if X.shape[1] != self.n_features_in_:
            raise ParameterError(f"X has {X.shape[1]} features but the model was fitted with {self.n_features_in_}")
        return X, adjacency

    def _decide(self, outputs: Array) -> npt.NDArray[Any]:
        return np.asarray(self.classes_[pair(outputs).argmax(axis=1)])

    def __sklearn_tags__(self) -> Any:
        """Sparse features are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _rows(X: Any) -> int | None:
    shape = getattr(X, "shape", None)
    return int(shape[0]) if shape else None
