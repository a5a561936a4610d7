"""The network fitted to a graph, as the function and the estimator do it; and passed on two graphs."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import one_of
from gcnlimit._values import Array, Integers
from gcnlimit.graphs.verdict import class_sizes, edge_counts, has_hubs
from gcnlimit.nn.inputs import Counts, Inputs, inputs_of
from gcnlimit.nn.network import MessagePassing, indicators
from gcnlimit.nn.operators import KINDS, SymmetricOperator, TwoGraphs, as_operator, from_graph
from gcnlimit.nn.train import train
from gcnlimit.theory.label_free import label_free_signals

_FOLDS = 5
_REFINEMENTS = 4  # of the signal of a new graph


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """A network trained on a graph, what it was given there, and its accuracy on hidden labels."""

    network: MessagePassing
    inputs: Inputs | None  # None without features
    components: int | None
    operator: str
    x: Any
    S: SymmetricOperator
    labels: Any
    hidden_accuracy: float
    hidden_score: float  # less the square error, which decides between accuracies that are close

    def outputs(self) -> tuple[Array, Any]:
        """Logits of the nodes of the fit, and centroids of the features of each class."""
        onehot = indicators(self.labels, self.network.classes, self.x.dtype)[:, None]
        with torch.no_grad():
            logits, centroids = self.network.passed(self.x, self.S, onehot)
        return _plain(logits), centroids

    def elsewhere(self, features: Any, adjacency: Any, centroids: Any) -> Array:
        """Logits of other nodes by the centroids of the fit."""
        x, S = self._placed(features, adjacency)
        onehot = torch.zeros((len(x), 1, self.network.classes), dtype=x.dtype, device=x.device)
        with torch.no_grad():
            return _plain(self.network.passed(x, S, onehot, centroids)[0])

    def on_both(self, features: Any, adjacency: Any) -> Array:
        """Logits of the nodes of the fit and of a new graph, its signal measured without labels and refined as it is used."""
        x_new, S_new = self._placed(features, adjacency)
        x, S, network = self.x, self.S, self.network
        both = torch.cat([x, x_new])
        every = torch.cat([self.labels, self.labels.new_full((len(x_new),), -1)])
        onehot = indicators(every, network.classes, x.dtype)[:, None]
        with torch.no_grad():
            centroids = network.passed(x, S, onehot[: len(x)])[1][:, 0]
            signal, _ = label_free_signals(S_new, x_new @ centroids, centroids)
            gain = float(network.graph_gain)
            wider = copy.deepcopy(network)
            wider.feature_gain *= len(both) / len(x)  # more nodes say more of the class means
            for _ in range(_REFINEMENTS):
                logits = wider.passed(both, TwoGraphs(S, S_new, signal / gain), onehot)[0]
                signal = refined_signal(S_new, wider.means(logits)[len(x) :], signal)
            return _plain(wider.passed(both, TwoGraphs(S, S_new, signal / gain), onehot)[0])

    def _placed(self, features: Any, adjacency: Any) -> tuple[Any, SymmetricOperator]:
        nodes = features.shape[0] if adjacency is None else adjacency.shape[0]
        x = _tensor(self.inputs, features, nodes, self.components, self.x.device)
        return x, _operator(adjacency, nodes, self.operator).to(self.x.device)


@progress_bar("training")
def fit_network(
    features: Any,
    adjacency: Any,
    labels: Integers,
    *,
    layers: int = 15,
    operator: str = "auto",
    components: int | str | None = "auto",
    memory: str = "trained",
    iterations: int = 20,
    maskings: int = 4,
    seed: int = 0,
    device: str = "cpu",
) -> FittedNetwork:
    """Train the network on labelled nodes (-1 marks the others); open settings are chosen by hidden labels.

    Features, or the graph, may be None. Sizes of the classes are trained if the labels say that they are unequal.
    """
    one_of("operator", operator, "auto", *KINDS)
    counts = np.bincount(labels[labels >= 0])
    kinds: tuple[str, ...] = (operator,)
    if operator == "auto":
        hubs = adjacency is not None and has_hubs(edge_counts(adjacency))
        kinds = KINDS if hubs else ("paper",)
    inputs: Inputs | None = None
    numbers: Counts = [None]
    if features is not None:
        inputs, numbers = inputs_of(features, components, counts.size)
    classes = torch.from_numpy(np.asarray(labels, np.int64)).to(device)
    sizes = not class_sizes(counts).equal

    def fitted(kind: str, count: int | None) -> FittedNetwork:
        x = _tensor(inputs, features, labels.size, count, device)
        S = _operator(adjacency, labels.size, kind).to(device)
        network = MessagePassing(counts.size, layers, sizes=sizes, memory=memory).to(device)
        train(network, x, S, classes, maskings=maskings, iterations=iterations, seed=seed)
        hidden = _hidden(network, x, S, classes, seed)
        return FittedNetwork(network, inputs, count, kind, x, S, classes, *hidden)

    # the operator at the middle number of components, then that number
    middle = numbers[len(numbers) // 2]
    best = max((fitted(kind, middle) for kind in kinds), key=attrgetter("hidden_score"))
    others = [fitted(best.operator, number) for number in numbers if number != middle]
    return max([best, *others], key=attrgetter("hidden_score"))


def message_passing_scores(
    features: npt.NDArray[Any],
    graph: Any,
    labels: Integers,
    *,
    new: tuple[npt.NDArray[Any], Any] | None = None,
    layers: int = 15,
    operator: str = "auto",
    components: int | str | None = "auto",
    seed: int = 0,
    device: str = "cpu",
) -> Array:
    """Logits of all nodes from a network trained on the labelled ones; -1 marks the others.

    They are the outputs of `MessagePassingClassifier`, whose parameters these are. `new` is another graph, its features and its
    adjacency, of the same classes: its nodes follow in the answer. The network is trained on the first, with numbers that mean
    the same on any graph, and passes messages on both; the signal of the new graph is measured without labels.
    """
    memory = "trained" if new is None else "matched"
    choices: dict[str, Any] = {"layers": layers, "operator": operator, "components": components}
    settings: dict[str, Any] = choices | {"memory": memory, "seed": seed, "device": device}
    fitted = fit_network(features, graph, labels, **settings)
    return fitted.outputs()[0] if new is None else fitted.on_both(*new)


def refined_signal(S: SymmetricOperator, means: Any, signal: float) -> float:
    r"""Signal of a graph from posterior means that were found with about this signal, and of its sign.

    Their field :math:`h = S\hat y - \lambda (1 - q)\hat y` is :math:`\lambda q y` and noise of variance :math:`q`.
    """
    theta = torch.ones_like(means[:, :, :1]) if S.theta is None else S.theta[:, None, None]
    square = (means**2).sum(dim=2, keepdim=True) / (means.shape[2] - 1)
    q = float((theta * square).mean())
    h = (S @ means[:, 0])[:, None] - signal * S.reaction(1.0 - square) * means
    excess = float((h**2).sum()) / len(h) / (means.shape[2] - 1) - q
    size = math.sqrt(max(excess, 0.0) / float((theta**2).mean())) / max(q, 1e-9)
    return math.copysign(size, signal)


def _hidden(network: MessagePassing, x: Any, S: Any, labels: Any, seed: int) -> tuple[float, float]:
    """Accuracy and score on the labelled nodes, a fifth of them hidden in turn."""
    labelled = torch.nonzero(labels >= 0)[:, 0]
    folds = np.random.default_rng(seed).permutation(len(labelled)) % _FOLDS
    fold = torch.from_numpy(folds).to(labels.device)
    every = indicators(labels, network.classes, x.dtype)
    onehot = every[:, None].repeat(1, _FOLDS, 1)
    onehot[labelled, fold] = 0.0
    with torch.no_grad():
        logits = network.passed(x, S, onehot)[0][labelled, fold]
    accuracy = float((logits.argmax(1) == labels[labelled]).double().mean())
    return accuracy, accuracy - float(((torch.softmax(logits, 1) - every[labelled]) ** 2).mean())


def _operator(adjacency: Any, nodes: int, kind: str) -> SymmetricOperator:
    """Operator of a graph; without one, of nodes that have no edge nor propensity to it, so that nothing is sent."""
    if adjacency is None:
        return as_operator(sparse.csr_array((nodes, nodes)), theta=np.zeros(nodes))
    return from_graph(adjacency, kind)


def _tensor(inputs: Inputs | None, X: Any, nodes: int, count: int | None, device: Any) -> Any:
    """Features in the unit of the network, no column where there are none."""
    x = np.zeros((nodes, 0)) if inputs is None else inputs(X, count)
    return torch.from_numpy(np.ascontiguousarray(x, np.float32)).to(device)


def _plain(logits: Any) -> Array:
    return np.asarray(logits[:, 0].cpu().numpy(), float)
