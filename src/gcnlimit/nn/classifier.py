"""The network as an estimator, with the interface of `GraphClassifier`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse.linalg import svds

from gcnlimit._validation import whole
from gcnlimit._values import Array
from gcnlimit.errors import GCNLimitError, ParameterError
from gcnlimit.given.inputs import as_adjacency, as_features, as_labels, is_sparse
from gcnlimit.nn.network import MessagePassing
from gcnlimit.nn.operators import SymmetricOperator, from_graph
from gcnlimit.nn.train import train
from gcnlimit.real.scaling import Scaling

__all__ = ["MessagePassingClassifier"]


class MessagePassingClassifier:
    r"""Unrolled message passing on your own graph: a handful of numbers, trained on the labelled nodes alone.

    Features enter as whitened principal components, the graph as one of two operators (see `from_graph`).

    Parameters
    ----------
    layers
        Number of layers.
    operator
        ``"normalized"``, for graphs with hubs; ``"paper"``, for graphs without; ``"auto"``, whichever has the lower
        cross-entropy on hidden halves of the labelled nodes.
    components
        Number of principal components of the features; None takes the features as they are, which must then have unit variance.
    bias
        Whether each class has a bias.
    iterations, maskings, seed
        Of the training, see `train`.
    device
        Device of PyTorch.

    Attributes
    ----------
    classes_, labelled_, transduction_
        Classes, labelled nodes, and the class predicted for each node.
    network_, operator_, loss_
        The trained network, its operator, and the cross-entropy on the hidden halves.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.5, mu=3.0, rho=0.2), nodes=500, degree=20, seed=0)
    >>> y = np.where(i.train_mask, i.labels > 0, -1)
    >>> model = MessagePassingClassifier(operator="paper", components=None).fit(i.features, y, graph=i.adjacency)
    >>> bool(model.network_.numbers[0, 0] > 0), bool(np.mean(model.predict() == (i.labels > 0)) > 0.9)
    (True, True)
    """

    def __init__(
        self,
        layers: int = 10,
        *,
        operator: str = "auto",
        components: int | None = 60,
        bias: bool = True,
        iterations: int = 20,
        maskings: int = 4,
        seed: int = 0,
        device: str = "cpu",
    ) -> None:
        self.layers = layers
        self.operator = operator
        self.components = components
        self.bias = bias
        self.iterations = iterations
        self.maskings = maskings
        self.seed = seed
        self.device = device

    def fit(self, X: Any, y: Any, graph: Any = None) -> Self:
        """Train on the labelled nodes.

        Parameters
        ----------
        X
            Features, a row for each node, dense or sparse.
        y
            Class of each node; -1, NaN or None for the unlabelled ones.
        graph
            Adjacency matrix (SciPy sparse, dense or a NetworkX graph).
        """
        if graph is None:
            raise ParameterError("graph is None; the network passes messages along its edges: give one")
        if self.operator not in ("auto", "normalized", "paper"):
            raise ParameterError(f"operator = {self.operator!r} is not allowed; use 'auto', 'normalized' or 'paper'")
        adjacency = as_adjacency(graph)
        labels = as_labels(y, adjacency.shape[0])
        codes = np.full(adjacency.shape[0], -1, np.int64)
        codes[labels.labelled] = labels.codes
        known = torch.from_numpy(codes).to(self.device)
        x = self._inputs(as_features(X, adjacency.shape[0])).to(self.device)
        kinds = ("normalized", "paper") if self.operator == "auto" else (self.operator,)
        operators = {kind: from_graph(adjacency, kind).to(self.device) for kind in kinds}
        trained = {kind: self._trained(S, x, known, labels.classes.size) for kind, S in operators.items()}
        self.operator_ = min(kinds, key=lambda kind: trained[kind][0])
        self.loss_, self.network_ = trained[self.operator_]
        with torch.no_grad():
            logits = self.network_(x, operators[self.operator_], known, known >= 0)
        self._logits = np.asarray(logits.cpu().numpy(), float)
        self.classes_, self.labelled_ = labels.classes, labels.labelled
        self.transduction_ = self.predict()
        return self

    def decision_function(self) -> Array:
        """Logits of the nodes of the fit: one column for each class, one number for two."""
        logits = self._fitted()
        return logits[:, 1] - logits[:, 0] if logits.shape[1] == 2 else logits

    def predict(self) -> npt.NDArray[Any]:
        """Classes of the nodes of the fit."""
        return np.asarray(self.classes_[self._fitted().argmax(axis=1)])

    def predict_proba(self) -> Array:
        """Probabilities of the classes."""
        logits = self._fitted()
        raised = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))

    def score(self, y: Any) -> float:
        """Accuracy on the nodes that `y` labels."""
        truth = as_labels(y, len(self._fitted()))
        return float(np.mean(self.predict()[truth.labelled] == truth.classes[truth.codes]))

    def _fitted(self) -> Array:
        if not hasattr(self, "_logits"):
            raise GCNLimitError("the classifier is not fitted; call fit(X, y, graph=...) first")
        return self._logits

    def _trained(self, S: SymmetricOperator, x: Any, known: Any, classes: int) -> tuple[float, MessagePassing]:
        network = MessagePassing(classes, self.layers, bias=self.bias).to(self.device)
        options = {"maskings": self.maskings, "iterations": self.iterations, "seed": self.seed}
        return train(network, x, S, known, **options), network

    def _inputs(self, X: Any) -> Any:
        """Features, or their principal components of unit variance."""
        if self.components is None:
            return torch.from_numpy(np.ascontiguousarray(X.toarray() if is_sparse(X) else X, np.float32))
        count = min(whole("components", self.components, low=1), min(X.shape) - 1)
        X = Scaling.of(X, "auto")(X)
        X = X.toarray() if is_sparse(X) else X
        start = np.random.default_rng(0).standard_normal(min(X.shape))
        U, s, _ = svds(X - X.mean(axis=0), k=count, v0=start)
        U = U[:, s > 1e-6 * s.max()] * np.sqrt(len(X))
        return torch.from_numpy(np.ascontiguousarray(U, np.float32))
