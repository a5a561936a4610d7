"""The network as an estimator of scikit-learn, with the interface of `GraphClassifier`.

Features enter as whitened principal components.
"""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse.linalg import svds

from gcnlimit._validation import whole
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.check import dense
from gcnlimit.graphs.labels import Labels
from gcnlimit.nn.network import MessagePassing
from gcnlimit.nn.operators import SymmetricOperator, TwoGraphs, from_graph
from gcnlimit.nn.train import train
from gcnlimit.real.graph_estimator import GraphEstimator
from gcnlimit.real.views import Scaling


def message_passing_scores(
    features: npt.NDArray[Any],
    graph: Any,
    labels: npt.NDArray[np.int64],
    *,
    layers: int = 15,
    operator: str = "auto",
    seed: int = 0,
    device: str = "cpu",
    new: tuple[npt.NDArray[Any], Any] | None = None,
    **options: Any,
) -> npt.NDArray[Any]:
    """Logits of all nodes from a network trained on the labelled ones; -1 marks the others. `options` are its ablations.

    `new` is another graph, its features and its adjacency, of the same classes: its nodes follow in the answer. The network
    is trained on the first and passes messages on both; the signal of the new graph is measured without labels.
    """
    counts = np.bincount(labels[labels >= 0])
    memory = "trained" if new is None else "matched"  # numbers that mean the same on any graph
    options = {"sizes": _unequal(counts), "memory": memory, **options}
    x, y = _tensor(features, device), torch.from_numpy(np.asarray(labels, np.int64)).to(device)
    S = from_graph(graph, operator).to(device)
    network = MessagePassing(counts.size, layers, **options).to(device)
    train(network, x, S, y, seed=seed)
    with torch.no_grad():
        if new is None:
            return np.asarray(network(x, S, y, y >= 0).cpu().numpy())
        there = _tensor(new[0], device), from_graph(new[1], operator).to(device)
        return np.asarray(_on_both(network, (x, S), there, y).cpu().numpy())


def _tensor(values: npt.NDArray[Any], device: str) -> Any:
    return torch.from_numpy(np.ascontiguousarray(values, np.float32)).to(device)


def _unequal(counts: npt.NDArray[np.int64]) -> bool:
    """Whether so many labels of each class differ by more than chance from equal numbers: at four deviations of chi squared."""
    mean, freedom = counts.mean(), counts.size - 1
    return bool(np.sum((counts - mean) ** 2) / mean > freedom + 4.0 * np.sqrt(2.0 * freedom))


def _on_both(network: MessagePassing, here: tuple[Any, Any], there: tuple[Any, Any], labels: Any) -> Any:
    """Logits on two graphs, of a network trained on the first; the signal of the second is estimated as it is used."""
    (x, S), (x_new, S_new) = here, there
    shown = torch.nn.functional.one_hot(labels.clamp(min=0), network.classes) * (labels >= 0)[:, None]
    known = torch.zeros(len(x) + len(x_new), 1, network.classes, dtype=x.dtype, device=x.device)
    known[: len(x), 0] = shown.to(x.dtype)
    gain, both = float(network.numbers[0, 0]), torch.cat([x, x_new])
    signal = label_free_signal(S_new, x_new, network.passed(x, S, known[: len(x)])[1][:, 0])
    wider = copy.deepcopy(network)
    wider.numbers[:, 1:3] *= len(both) / len(x)  # more nodes say more of the class means
    for _ in range(REFINEMENTS):
        logits = wider.passed(both, TwoGraphs(S, S_new, signal / gain), known)[0]
        signal = refined_signal(S_new, wider.means(logits)[len(x) :], signal)
    return wider.passed(both, TwoGraphs(S, S_new, signal / gain), known)[0][:, 0]


REFINEMENTS = 4


def label_free_signal(S: SymmetricOperator, x: Any, centroids: Any) -> float:
    r"""Signal :math:`\lambda` of a graph from features read by centroids of other nodes, without labels (Eq. 10.10).

    The scores :math:`z = Xu` have :math:`|z|^2/N = (1 + c^2)|u|^2` and :math:`z\cdot Sz/|z|^2 = \lambda c^2/(1 + c^2)`.
    """
    z = x @ centroids
    square = float((z**2).sum())
    c2 = square / len(z) / max(float((centroids**2).sum()), 1e-300) - 1.0
    return float((z * (S @ z)).sum()) / square * (1.0 + c2) / c2 if c2 > 0.0 else 0.0


def refined_signal(S: SymmetricOperator, means: Any, signal: float) -> float:
    r"""Signal of a graph from posterior means that were found with about this signal, and of its sign.

    Their field :math:`h = S\hat y - \lambda (1 - q)\hat y` is :math:`\lambda q y` and noise of variance :math:`q`.
    """
    theta = torch.ones(len(means), 1, 1, dtype=means.dtype, device=means.device)
    theta = theta if S.theta is None else S.theta[:, None, None]
    square = (means**2).sum(dim=2, keepdim=True) / (means.shape[2] - 1)
    q = float((theta * square).mean())
    h = (S @ means[:, 0])[:, None] - signal * S.reaction(1.0 - square) * means
    excess = float((h**2).sum()) / len(h) / (means.shape[2] - 1) - q
    return math.copysign(math.sqrt(max(excess, 0.0) / float((theta**2).mean())) / max(q, 1e-9), signal)


NUMBERS = (15, 30, 60, 120, 240)


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
        scaling = Scaling.of(X, None if count is None else "auto")
        scaled = dense(scaling(X))
        mean = scaled.mean(axis=0)
        if count is None:
            return cls(scaling, np.zeros_like(mean), None)
        return cls(scaling, mean, _directions(scaled - mean, count))

    def __call__(self, X: Any, count: int | None = None) -> Array:
        """The first `count` of them, or all, on these nodes."""
        scaled = dense(self.scaling(X)) - self.mean
        return scaled if self.directions is None else scaled @ self.directions[:, :count]


def most_components(X: Any) -> int:
    """Most components that may have a variance: there are no more than features, and fewer than nodes."""
    return max(min(int(X.shape[0]) - 1, int(X.shape[1])), 1)


def numbers_of_components(X: Any) -> list[int]:
    """Numbers among which the classifier chooses: the usual ones that nodes and features allow.

    >>> numbers_of_components(np.zeros((100, 50)))
    [15, 30, 50]
    """
    most = most_components(X)
    return [*(number for number in NUMBERS if number < most), *([most] if most <= NUMBERS[-1] else [])]


def _directions(centred: Array, count: int) -> Array:
    """Directions whose components have unit variance; those without variance are left out."""
    rank = min(centred.shape)
    if count < rank // 2:
        start = np.random.default_rng(0).standard_normal(rank)
        _, s, V = svds(centred, k=count, v0=start)
        order = np.argsort(-s)
        s, V = s[order], V[order]
    else:
        _, s, V = np.linalg.svd(centred, full_matrices=False)
        s, V = s[:count], V[:count]
    kept = s > 1e-6 * max(float(s[0]), 1e-300)
    return np.asarray(V[kept].T * (np.sqrt(len(centred)) / s[kept]))


OPERATORS = ("normalized", "paper")
FOLDS = 5


class Fitted(NamedTuple):
    """A trained network, its operator and number of components, and what it reaches on hidden labels."""

    network: MessagePassing
    operator: str
    components: int | None
    accuracy: float
    square_error: float

    @property
    def score(self) -> float:
        """What is maximized: the accuracy less the square error, which decides between accuracies that hardly differ."""
        return self.accuracy - self.square_error


class MessagePassingClassifier(GraphEstimator):
    r"""Unrolled message passing on your own graph: a handful of numbers, trained on the labelled nodes alone.

    Features enter as whitened principal components, the graph as one of two operators (see `from_graph`). Where something is
    to be chosen, the network is trained with each choice, a fifth of the labels is hidden in turn, and the choice of the
    best accuracy less square error on them is taken.

    On another graph the class centroids of the features are those of the fit, and no label is known there.

    Parameters
    ----------
    layers
        Number of layers.
    operator
        ``"normalized"``, for graphs with hubs; ``"paper"``, for graphs without; ``"auto"``, whichever predicts hidden labels
        better.
    components
        Number of principal components of the features; ``"auto"``, that of 15, 30, 60, 120 and 240 which predicts hidden labels
        best; None takes the features as they are, which must then have unit variance.
    bias
        Whether each class has a bias.
    iterations, maskings, seed
        Of the training, see `train`.
    device
        Device of PyTorch.

    Attributes
    ----------
    classes_, n_features_in_, labelled_, transduction_
        Classes, number of features, labelled nodes, and the class predicted for each node.
    network_, operator_, components_
        The trained network, and what was chosen.
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

    def _learn(self, features: Any, labels: Labels, adjacency: Any) -> Array:
        if self.operator not in ("auto", *OPERATORS):
            raise ParameterError(f"operator = {self.operator!r} is not allowed; use 'auto', 'normalized' or 'paper'")
        codes = np.full(features.shape[0] if adjacency is None else adjacency.shape[0], -1, np.int64)
        codes[labels.labelled] = labels.codes
        counts = self._counts(features)
        self._whitening = None if features is None else Components.of(features, counts[-1])
        best, operators = self._chosen(features, codes, adjacency, counts)
        self.network_, self.operator_, self.components_ = best.network, best.operator, best.components
        self.hidden_score_ = best.accuracy
        logits, self._centroids = self._passed(features, operators[best.operator], codes)
        return _outputs(logits)

    def _apply(self, features: Any, adjacency: Any) -> Array:
        S = None if adjacency is None else from_graph(adjacency, self.operator_).to(self.device)
        return _outputs(self._passed(features, S, np.full(features.shape[0], -1), self._centroids)[0])

    def _counts(self, features: Any) -> list[int | None]:
        """Numbers of components to choose from, increasing."""
        if features is None or self.components is None:
            return [None]
        if self.components == "auto":
            return [*numbers_of_components(features)]
        if isinstance(self.components, str):
            raise ParameterError(f"components = {self.components!r} is not allowed; use 'auto', a whole number or None")
        return [min(whole("components", self.components, low=1), most_components(features))]

    def _chosen(
        self, X: Any, codes: npt.NDArray[np.int64], adjacency: Any, counts: list[int | None]
    ) -> tuple[Fitted, dict[str, SymmetricOperator | None]]:
        """Best operator at the middle number of components, then the best number; and the operators."""
        if adjacency is None:
            operators: dict[str, SymmetricOperator | None] = {"none": None}
        else:
            kinds = OPERATORS if self.operator == "auto" else (self.operator,)
            operators = {kind: from_graph(adjacency, kind).to(self.device) for kind in kinds}
        middle = counts[len(counts) // 2]
        best = max((self._fitted(X, codes, operators, kind, middle) for kind in operators), key=lambda one: one.score)
        others = [self._fitted(X, codes, operators, best.operator, count) for count in counts if count != middle]
        return max([best, *others], key=lambda one: one.score), operators

    def _fitted(
        self,
        X: Any,
        codes: npt.NDArray[np.int64],
        operators: dict[str, SymmetricOperator | None],
        kind: str,
        count: int | None,
    ) -> Fitted:
        known, x = torch.from_numpy(codes).to(self.device), self._inputs(X, len(codes), count)
        network = MessagePassing(int(codes.max()) + 1, self.layers, bias=self.bias).to(self.device)
        options = {"maskings": self.maskings, "iterations": self.iterations, "seed": self.seed}
        train(network, x, operators[kind], known, **options)
        return Fitted(network, kind, count, *_hidden(network, x, operators[kind], known, self.seed))

    def _passed(self, X: Any, S: Any, codes: Any, centroids: Any = None) -> tuple[Any, Any]:
        """Logits and centroids on these nodes."""
        known = torch.from_numpy(np.asarray(codes)).to(self.device)
        shown = torch.nn.functional.one_hot(known.clamp(min=0), self.network_.classes) * (known >= 0)[:, None]
        x = self._inputs(X, len(codes), self.components_)
        with torch.no_grad():
            return self.network_.passed(x, S, shown[:, None].to(x.dtype), centroids)

    def _inputs(self, X: Any, nodes: int, count: int | None) -> Any:
        """Features in the unit of the network, no column where there are none."""
        x = np.zeros((nodes, 0)) if self._whitening is None else self._whitening(X, count)
        return torch.from_numpy(np.ascontiguousarray(x, np.float32)).to(self.device)


def _hidden(network: MessagePassing, x: Any, S: Any, labels: Any, seed: int) -> tuple[float, float]:
    """Accuracy and square error on the labelled nodes, a fifth of them hidden in turn."""
    labelled = torch.nonzero(labels >= 0)[:, 0]
    fold = torch.from_numpy(np.random.default_rng(seed).permutation(len(labelled)) % FOLDS).to(labels.device)
    one_hot = torch.nn.functional.one_hot(labels[labelled], network.classes).to(x.dtype)
    known = torch.zeros(len(labels), FOLDS, network.classes, dtype=x.dtype, device=x.device)
    for k in range(FOLDS):
        known[labelled[fold != k], k] = one_hot[fold != k]
    with torch.no_grad():
        logits = network.evidence(x, S, known)[labelled, fold]
    accuracy = (logits.argmax(1) == labels[labelled]).double().mean()
    return float(accuracy), float(((torch.softmax(logits, 1) - one_hot) ** 2).mean())


def _outputs(logits: Any) -> Array:
    """A column for each class, and a single one for two."""
    found = np.asarray(logits[:, 0].cpu().numpy(), float)
    return found[:, 1:] - found[:, :1] if found.shape[1] == 2 else found
