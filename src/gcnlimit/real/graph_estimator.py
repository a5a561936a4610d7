"""What the classifiers of graphs share: estimators of scikit-learn that take a graph beside `X` and `y`."""

from __future__ import annotations

import re
import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from gcnlimit._runtime.extras import need
from gcnlimit._runtime.progress import progress_bar
from gcnlimit._runtime.threads import single_threaded_blas
from gcnlimit._validation import as_real, plain_array, same_rows
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.blocks import labelled_in_groups
from gcnlimit.graphs.check import as_adjacency, as_features, check_indices, with_usable_names
from gcnlimit.graphs.labels import (
    Labels,
    as_classes,
    as_fractions,
    as_labels,
    is_missing,
    labelled_nodes,
)
from gcnlimit.numerics.leave_one_out import correct, recalibrated, scores
from gcnlimit.real.scores import FEW, Interval, expected_accuracy
from gcnlimit.results.calibration import calibration_column, measured_calibration

need("a graph classifier", "sklearn", "sklearn")

from sklearn.base import BaseEstimator, ClassifierMixin  # noqa: E402
from sklearn.utils.validation import check_is_fitted, validate_data  # noqa: E402


class _KindError(ParameterError, TypeError):
    """What scikit-learn wants refused as a `TypeError`."""


class GraphEstimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier of the nodes of a graph; a subclass says how it learns and what it says on other nodes."""

    _sharpness = 1.0

    @abstractmethod
    def _learn(self, features: Any, labels: Labels, adjacency: Any) -> Array:
        """Learn from parts that have been checked, and return the outputs on all nodes, one column for each class."""

    @abstractmethod
    def _apply(self, features: Any, adjacency: Any) -> Array:
        """Outputs on the nodes of another graph, or without one."""

    def fit(self, X: Any, y: Any, graph: Any = None) -> Self:
        """Learn, and make every choice, from the labelled nodes.

        Parameters
        ----------
        X
            Features, a row for each node, dense or sparse; None with a graph alone.
        y
            Class of each node; with a graph, -1, NaN or None for the unlabelled ones.
        graph
            Adjacency matrix (SciPy sparse, dense or a NetworkX graph), weights allowed; None for features alone.
        """
        same_rows(X, y)
        adjacency = None if graph is None else as_adjacency(graph)
        features, labels = self._training(X, y, adjacency)
        self._with_graph, self._with_features = adjacency is not None, features is not None
        self.classes_, self.labelled_ = labels.classes, labels.labelled
        self._others = 0 if adjacency is None else adjacency.shape[0] - labels.index.size
        self._prior = labels.counts / labels.index.size
        self._offset = np.zeros(labels.classes.size)
        with progress_bar("fitting"), single_threaded_blas():
            self._outputs = self._learn(features, labels, adjacency)
        self.transduction_ = self.predict()
        return self

    def decision_function(self, X: Any = None, graph: Any = None) -> Array:
        """Outputs: one column per class, or one number per node for two classes; without arguments, of the nodes of the fit."""
        outputs = self._evaluate(X, graph) + self._offset / self._sharpness
        return outputs[:, 1] - outputs[:, 0] if outputs.shape[1] == 2 else outputs

    def predict(
        self, X: Any = None, graph: Any = None, *, fractions: Any = None, y: Any = None
    ) -> npt.NDArray[Any]:
        """Classes of the nodes of the fit, or of new features `X` on another `graph`; the rest is as for `predict_proba`."""
        best = self._logs(X, graph, fractions, y).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(
        self, X: Any = None, graph: Any = None, *, fractions: Any = None, y: Any = None
    ) -> Array:
        """Probabilities of the classes: softmax of the outputs, at the temperature that the fit found.

        `fractions` of the classes among these nodes, in the order of `classes_` or by class, replace those of the fit. Or `y`
        gives the classes of a few nodes drawn at random there (-1 or None elsewhere), which recalibrate the outputs. Without
        either, a warning says if the outputs show that the fractions differ from those of the fit.
        """
        return np.asarray(softmax(self._logs(X, graph, fractions, y), axis=1))

    def score(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        graph: Any = None,
        fractions: Any = None,
    ) -> float:
        """Accuracy on the nodes that `y` labels; without `X`, on the nodes of the fit."""
        if y is None:
            raise ParameterError("y is None; write score(y=classes) for the nodes of the fit")
        predicted = self.predict(X, graph, fractions=fractions)
        labelled, classes = self._known(y, predicted.size)
        weights = np.ones(predicted.size) if sample_weight is None else sample_weight
        weights = np.asarray(as_real("sample_weight", weights, low=0, high=1e50))
        if weights.shape != predicted.shape or not weights[labelled].any():
            raise ParameterError(f"sample_weight needs {predicted.size} numbers, not all of them 0")
        return float(np.average(predicted[labelled] == classes, weights=weights[labelled]))

    def _known(self, y: Any, nodes: int) -> tuple[Any, npt.NDArray[Any]]:
        """Nodes that `y` labels, without a graph all of them, and their classes."""
        raw = plain_array("y", y)
        if raw.shape != (nodes,):
            raise ParameterError(f"y has shape {raw.shape}; give a class for each of {nodes} nodes")
        labelled = np.flatnonzero(labelled_nodes(raw) if self._with_graph else np.ones(nodes))
        if not labelled.size:
            raise ParameterError("y labels no node; -1, NaN and None mark those that do not count")
        return labelled, raw[labelled]

    def _logs(self, X: Any, graph: Any, fractions: Any, y: Any) -> Array:
        """Logarithms of the probabilities, up to a constant of each node."""
        logs = self._sharpness * self._evaluate(X, graph)
        elsewhere = X is not None or graph is not None
        if y is not None:
            if fractions is not None or not elsewhere:
                use = "give it alone, with another graph" if elsewhere else "fit with these labels"
                raise ParameterError(f"y recalibrates the classifier on another graph; {use}")
            labelled, classes = self._known(y, len(logs))
            names = self.classes_.tolist()
            if others := [c for c in classes.tolist() if c not in names]:
                raise ParameterError(f"y has the class {others[0]!r}; the fit has {names}")
            wanted = np.eye(len(names))[[names.index(c) for c in classes.tolist()]]
            return recalibrated(logs + self._offset, labelled, wanted)
        if fractions is not None:
            return np.asarray(logs + np.log(as_fractions(fractions, self.classes_) / self._prior))
        if elsewhere:
            self._warn_of_shift(logs + self._offset)
        return np.asarray(logs + self._offset)

    def _warn_of_shift(self, logs: Array) -> None:
        """Warn where outputs on other nodes tell other fractions of the classes than those of the fit."""

    def _training(self, X: Any, y: Any, adjacency: Any) -> tuple[Any, Labels]:
        if adjacency is None:
            if y is not None and any(map(is_missing, np.ravel(plain_array("y", y)).tolist())):
                raise ParameterError("y has unlabelled nodes but graph is None; give the graph=")
            X, y = self._validated(X, y=y)
            labelled_nodes(y)  # refuses what is no class; -1 is one
            classes, index = np.unique(as_classes(y), return_inverse=True)
            if classes.size < 2:
                raise ParameterError(f"y has one class, {classes[0]!s}; a classifier needs two")
            return X, Labels(classes, np.arange(len(y)), index)
        features = as_features(X, adjacency.shape[0])
        labels = as_labels(y, adjacency.shape[0])
        if X is not None:
            validate_data(self, with_usable_names(X), skip_check_array=True)
        self.n_features_in_ = features.shape[1]
        return (None if X is None else features), labels

    def _validated(self, X: Any, **how: Any) -> Any:
        """Features without a graph, and classes beside them, as scikit-learn checks them; what it refuses is one sentence."""
        check_indices("X", X)  # which it takes on trust
        try:
            X = with_usable_names(X)
            checked = validate_data(self, X, accept_sparse="csr", dtype=np.float64, **how)
        except (TypeError, ValueError, OverflowError) as error:
            text = re.sub("\n(?!Reshape).*", "", str(error))  # no more than a sentence or two
            refusal = _KindError if isinstance(error, TypeError) else ParameterError
            raise refusal(text) from None
        as_features(X)  # refuses masks, dates and numbers that cannot be squared as well
        return checked

    def _judge(self, left_out: Array, labels: Labels, weights: Array) -> None:
        """Set what leave-one-out outputs say of the accuracy, on nodes drawn like the labels."""
        share = weights / weights.sum()
        right = correct(left_out, labels.index)
        self._prior = np.asarray(np.bincount(labels.index, share), float)
        self.loo_score_ = float(np.average(right, weights=share))
        self.loo_score_error_ = float(np.sqrt(share**2 @ (right - self.loo_score_) ** 2))
        self.loo_scores_ = scores(left_out, labels.index)
        self.expected_accuracy_ = expected_accuracy(right, labels.classes.size, self._others)
        self.calibration_ = None
        if labels.index.size >= FEW:
            column = calibration_column(np.asarray(left_out, float), labels.index)
            self.calibration_ = measured_calibration(column, labels.classes.size)

    def _check_groups(self, outputs: Array, labels: Labels, adjacency: Any, scaled: Any) -> None:
        """Expect nothing, and warn, where groups of nodes were labelled as a whole, by the outputs on all nodes."""
        p = np.asarray(softmax(self._sharpness * outputs + self._offset, axis=1))
        edges = adjacency if self.uses_graph_ else None
        self.grouped_ = labelled_in_groups(labels, p, edges, scaled if self._others else None)
        if self.grouped_:
            self.expected_accuracy_ = Interval(None, 0.0, 1.0)
            warnings.warn(self.grouped_, stacklevel=4)

    @progress_bar("predicting")
    @single_threaded_blas()
    def _evaluate(self, X: Any, graph: Any) -> Array:
        check_is_fitted(self)
        if X is None and graph is None:
            return self._outputs
        for name, value, had in (("X", X, self._with_features), ("graph", graph, self._with_graph)):
            wrong, use = ("None", f"add {name}=...") if had else ("given", "leave it out")
            if (value is not None) != had:
                raise ParameterError(f"{name} is {wrong}, unlike in the fit; {use}")
        if graph is None:
            return self._apply(self._validated(X, reset=False), None)
        adjacency = as_adjacency(graph)
        X = with_usable_names(X, getattr(self, "feature_names_in_", ()))
        features = as_features(X, adjacency.shape[0])
        if (count := features.shape[1]) != self.n_features_in_:
            has = f"the graph has {count} nodes" if X is None else f"X has {count} features"
            raise ParameterError(f"{has}, the fit had {self.n_features_in_}; they must be the same")
        return self._apply(features, adjacency)

    def __sklearn_tags__(self) -> Any:
        """Sparse features are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
