"""The network as an estimator of scikit-learn, with the interface of `GraphClassifier`."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from scipy.sparse.linalg import svds

from gcnlimit._validation import one_of, whole
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.check import dense
from gcnlimit.graphs.labels import Labels
from gcnlimit.nn.network import MessagePassing, indicators
from gcnlimit.nn.operators import SymmetricOperator, as_operator, from_graph
from gcnlimit.nn.train import train
from gcnlimit.real.graph_estimator import GraphEstimator
from gcnlimit.real.views import Scaling

Codes = npt.NDArray[np.int64]
Counts = list[int | None]

NUMBERS = (15, 30, 60, 120, 240)  # of components
OPERATORS = ("normalized", "paper")
FOLDS = 5


class Components(NamedTuple):
    """Principal components of scaled features, each of unit variance, the largest first; all features if there are none.

    >>> X = np.random.default_rng(0).standard_normal((50, 4)) * [1.0, 2.0, 3.0, 4.0]
    >>> Z = Components.of(X, 2)(X)
    >>> bool(np.allclose(Z.T @ Z / 50, np.eye(2)))
    True
    """

    scaling: Scaling
    mean: Array
    directions: Array | None

    @classmethod
    def of(cls, X: Any, count: int | None) -> Components:
        """Components of these features; None takes the features as they are."""
        if count is None:
            return cls(Scaling.of(X, None), np.zeros(X.shape[1]), None)
        scaling = Scaling.of(X, "auto")
        scaled = dense(scaling(X))
        mean = scaled.mean(axis=0)
        return cls(scaling, mean, _directions(scaled - mean, count))

    def __call__(self, X: Any, count: int | None = None) -> Array:
        """The first `count` of them, or all, on these nodes."""
        scaled = dense(self.scaling(X)) - self.mean
        return scaled if self.directions is None else scaled @ self.directions[:, :count]


def _directions(centred: Array, count: int) -> Array:
    """Directions whose components have unit variance; those without variance are left out."""
    rank = min(centred.shape)
    if count < rank // 2:
        s, V = svds(centred, k=count, v0=np.random.default_rng(0).standard_normal(rank))[1:]
    else:
        s, V = np.linalg.svd(centred, full_matrices=False)[1:]
    largest = np.argsort(-s)[:count]
    kept = largest[s[largest] > 1e-6 * max(float(s.max()), 1e-300)]
    return np.asarray(V[kept].T * (np.sqrt(len(centred)) / s[kept]))


class Fitted(NamedTuple):
    """A trained network, its operator and number of components, and what it reaches on hidden labels."""

    network: MessagePassing
    operator: str
    components: int | None
    accuracy: float
    score: float  # less the square error, which decides between accuracies that hardly differ


class MessagePassingClassifier(GraphEstimator):
    r"""Unrolled message passing on your own graph: a handful of numbers, trained on the labelled nodes alone.

    Features enter as whitened principal components, the graph as one of two operators (see `from_graph`). Where something is
    to be chosen, the network is trained with each choice, a fifth of the labels is hidden in turn, and the choice of the
    best accuracy less square error on them is taken.

    On another graph the class centroids of the features are those of the fit, and no label is known there.

    Parameters
    ----------
    operator
        ``"normalized"``, for graphs with hubs; ``"paper"``, for graphs without; ``"auto"``, whichever predicts hidden labels
        better.
    components
        Number of principal components of the features; ``"auto"``, that of 15, 30, 60, 120 and 240 which predicts hidden labels
        best; None takes the features as they are, which must then have unit variance.
    layers, iterations, maskings, seed, device
        Number of layers; numbers of the training, see `train`; device of PyTorch.

    Attributes
    ----------
    network_, operator_, components_
        The trained network, and what was chosen; `classes_`, `labelled_` and others as in `GraphClassifier`.
    hidden_score_
        Accuracy on labels hidden by fifths. It is optimistic by the choice itself.

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
        components: int | str | None = "auto",
        iterations: int = 20,
        maskings: int = 4,
        seed: int = 0,
        device: str = "cpu",
    ) -> None:
        self.layers = layers
        self.operator = operator
        self.components = components
        self.iterations = iterations
        self.maskings = maskings
        self.seed = seed
        self.device = device

    def _learn(self, features: Any, labels: Labels, adjacency: Any) -> Array:
        one_of("operator", self.operator, "auto", *OPERATORS)
        nodes = features.shape[0] if adjacency is None else adjacency.shape[0]
        codes = np.full(nodes, -1, np.int64)
        codes[labels.labelled] = labels.index
        counts = self._counts(features)
        self._whitening = None if features is None else Components.of(features, counts[-1])
        kinds = OPERATORS if self.operator == "auto" and adjacency is not None else (self.operator,)
        operators = {kind: self._operator(adjacency, nodes, kind) for kind in kinds}
        best = self._chosen(features, codes, operators, counts)
        self.network_, self.operator_, self.components_, self.hidden_score_, _ = best
        outputs, self._centroids = self._passed(features, operators[best.operator], codes)
        return outputs

    def _apply(self, features: Any, adjacency: Any) -> Array:
        nodes = features.shape[0]
        S = self._operator(adjacency, nodes, self.operator_)
        return self._passed(features, S, np.full(nodes, -1), self._centroids)[0]

    def _operator(self, adjacency: Any, nodes: int, kind: str) -> SymmetricOperator:
        """Operator of a graph; without one, of nodes that have no edge nor propensity to it, so that nothing is sent."""
        if adjacency is None:
            empty = as_operator(sparse.csr_array((nodes, nodes)), theta=np.zeros(nodes))
            return empty.to(self.device)
        return from_graph(adjacency, kind).to(self.device)

    def _counts(self, features: Any) -> Counts:
        """Numbers of components to choose from, increasing."""
        if features is None or self.components is None:
            return [None]
        nodes, width = features.shape
        most = max(min(int(nodes) - 1, int(width)), 1)  # that may have a variance
        if self.components == "auto":
            return [*sorted({n for n in (*NUMBERS, most) if n <= min(most, NUMBERS[-1])})]
        if isinstance(self.components, str):
            use = "use 'auto', a whole number or None"
            raise ParameterError(f"components = {self.components!r} is not allowed; {use}")
        return [min(whole("components", self.components, low=1), most)]

    def _chosen(
        self, X: Any, codes: Codes, operators: dict[str, SymmetricOperator], counts: Counts
    ) -> Fitted:
        """Best operator at the middle number of components, then the best number."""
        known = torch.from_numpy(codes).to(self.device)
        options = {"maskings": self.maskings, "iterations": self.iterations, "seed": self.seed}

        def fitted(kind: str, count: int | None) -> Fitted:
            x = self._inputs(X, len(codes), count)
            network = MessagePassing(int(codes.max()) + 1, self.layers, bias=True).to(self.device)
            train(network, x, operators[kind], known, **options)
            scores = _hidden(network, x, operators[kind], known, self.seed)
            return Fitted(network, kind, count, *scores)

        middle = counts[len(counts) // 2]
        best = max((fitted(kind, middle) for kind in operators), key=attrgetter("score"))
        others = [fitted(best.operator, count) for count in counts if count != middle]
        return max([best, *others], key=attrgetter("score"))

    def _passed(self, X: Any, S: Any, codes: Any, centroids: Any = None) -> tuple[Array, Any]:
        """Outputs and centroids on these nodes."""
        x = self._inputs(X, len(codes), self.components_)
        known = torch.from_numpy(np.asarray(codes)).to(self.device)
        shown = indicators(known, self.network_.classes, x.dtype)
        with torch.no_grad():
            logits, found = self.network_.passed(x, S, shown[:, None], centroids)
        return np.asarray(logits[:, 0].cpu().numpy(), float), found

    def _inputs(self, X: Any, nodes: int, count: int | None) -> Any:
        """Features in the unit of the network, no column where there are none."""
        x = np.zeros((nodes, 0)) if self._whitening is None else self._whitening(X, count)
        return torch.from_numpy(np.ascontiguousarray(x, np.float32)).to(self.device)


def _hidden(network: MessagePassing, x: Any, S: Any, labels: Any, seed: int) -> tuple[float, float]:
    """Accuracy and score on the labelled nodes, a fifth of them hidden in turn."""
    labelled = torch.nonzero(labels >= 0)[:, 0]
    folds = np.random.default_rng(seed).permutation(len(labelled)) % FOLDS
    fold = torch.from_numpy(folds).to(labels.device)
    every = indicators(labels, network.classes, x.dtype)
    known = every[:, None].repeat(1, FOLDS, 1)
    known[labelled, fold] = 0.0
    with torch.no_grad():
        logits = network.passed(x, S, known)[0][labelled, fold]
    accuracy = float((logits.argmax(1) == labels[labelled]).double().mean())
    return accuracy, accuracy - float(((torch.softmax(logits, 1) - every[labelled]) ** 2).mean())
