"""The network: approximate message passing unrolled, with a handful of trained numbers."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any, NamedTuple

import torch

from gcnlimit._validation import one_of, whole
from gcnlimit.nn.operators import SymmetricOperator, TwoGraphs, from_edge_index

Operator = SymmetricOperator | TwoGraphs

_LEAST = -0.9  # of the shrinkage: 1 + s q > 0 even if more labels are known than in training


def indicators(labels: Any, classes: int, dtype: Any) -> Any:
    """Indicators of the classes, rows of 0 where the label is -1."""
    one_hot = torch.nn.functional.one_hot(labels.clamp(min=0), classes)
    return (one_hot * (labels >= 0)[:, None]).to(dtype)


def _product(matrix: Any, block: Any) -> Any:
    """Product with the first axis of a block."""
    product = matrix @ block.flatten(1)
    return product.reshape(len(product), *block.shape[1:])


class LayerNumbers(NamedTuple):
    """The numbers of a layer: gains of graph and features, shrinkage of the centroids, weights of the two memories."""

    graph_gain: Any
    feature_gain: Any
    shrinkage: Any
    graph_memory: Any
    feature_memory: Any


class OperatorMessages:
    r"""Evidence :math:`\gamma S\hat y - \gamma^2 m V\,\hat y^{old}`: its second term, Onsager's, takes the echo back."""

    def __init__(self, S: Operator, means: Any) -> None:
        self.S = S
        self.old = torch.zeros_like(means)

    def evidence(self, means: Any, unsure: Any, numbers: LayerNumbers) -> Any:
        """Evidence on each node, of shape (nodes, batch, classes)."""
        gain, memory = numbers.graph_gain, numbers.graph_memory
        heard = gain * _product(self.S, means)
        heard = heard - gain**2 * memory * self.S.reaction(unsure) * self.old
        self.old = means
        self.variance = gain**2 * (means**2).mean(dim=0)
        return heard


class FeatureMessages:
    r"""Evidence :math:`\kappa (X u - \frac{m M/N}{1 + s q}\hat y)` of the class centroids :math:`u`.

    They are :math:`u = (X^T\hat y/N - \kappa m V u^{old})/(1 + s q)`, or given ones, in which these nodes have no part.
    """

    def __init__(self, x: Any, centroids: Any = None) -> None:
        self.x = x
        self.centroids = centroids
        self.fixed = centroids is not None

    def evidence(self, means: Any, unsure: Any, numbers: LayerNumbers) -> Any:
        """Evidence on each node, of shape (nodes, batch, classes)."""
        gain, memory = numbers.feature_gain, numbers.feature_memory
        nodes, width = self.x.shape
        q = (means**2).sum(dim=2, keepdim=True).mean(dim=0, keepdim=True) / (means.shape[2] - 1)
        shrunk = 1.0 + torch.clamp(numbers.shrinkage, min=_LEAST) * q
        if not self.fixed:
            sums = _product(self.x.T, means) / nodes
            if self.centroids is not None:
                sums = sums - gain * memory * unsure.mean(dim=0, keepdim=True) * self.centroids
            self.centroids = sums / shrunk
        field = _product(self.x, self.centroids)
        self.variance = gain**2 * (self.centroids**2).sum(dim=0)
        return gain * (field if self.fixed else field - memory * width / nodes / shrunk * means)


STARTS = LayerNumbers(0.7, 0.7, 0.7, 1.0, 1.0)


class MessagePassing(torch.nn.Module):  # type: ignore[misc]
    r"""Unrolled message passing: posterior means of the classes, updated from the graph and from the class centroids.

    With :math:`\hat y_i = (p_i - \pi)/\sqrt\pi` from the class probabilities :math:`p_i`, certain on known nodes, and the sizes
    :math:`\pi` of the classes, a layer is

    .. math::
        u &= \frac{X^T\hat y/\sqrt N - \kappa V\,u^{old}}{1 + s\,q}, \qquad q = \frac{|\hat y|^2}{N(C-1)}, \\
        b &= \gamma\, S\hat y - \gamma^2 m_1 V\,\hat y^{old} + \kappa\Big[\frac{X u}{\sqrt N}
             - \frac{m_2\,M/N}{1 + s\,q}\,\hat y\Big], \qquad p = \mathrm{softmax}\Big(\frac{b}{\sqrt\pi}
             - \frac{v}{2\pi} + \log\pi\Big).

    The posterior variance :math:`V` of the codes, in the mean over nodes and directions, is :math:`1 - q` for classes of equal
    sizes. The variance :math:`v_k = \gamma^2 |\hat y_k|^2/N + \kappa^2 |u_k|^2` of the evidence is then the same for all of
    them and drops out; else it is larger for small classes. The numbers are the gain :math:`\gamma` of the graph, of either sign,
    :math:`\kappa` of the features, the shrinkage :math:`s`, and the weights :math:`m_1, m_2` of the two memories, 1 where
    state evolution is exact (:func:`gcnlimit.theory.message_passing`).

    Parameters
    ----------
    classes, layers
        Their numbers.
    sizes
        Whether the classes have unequal sizes :math:`\pi`, which are trained; else :math:`\pi = 1/C`.
    memory
        ``"trained"``, from 1; ``"matched"``: 1, and :math:`s = \kappa`, which leaves two numbers that estimate
        :math:`\lambda_s` and :math:`\mu` and serve on another graph too.
    """

    def __init__(
        self, classes: int, layers: int = 15, *, sizes: bool = False, memory: str = "trained"
    ) -> None:
        super().__init__()
        one_of("memory", memory, "trained", "matched")
        self.classes = whole("classes", classes, low=2)
        self.layers = whole("layers", layers, low=1)
        self.sizes = sizes
        self.memory = memory
        for name, start in STARTS._asdict().items():
            self.register_parameter(name, torch.nn.Parameter(torch.tensor(start)))
        self.log_sizes = torch.nn.Parameter(torch.zeros(classes), requires_grad=sizes)

    def numbers(self) -> Iterable[LayerNumbers]:
        """Numbers of each layer: all layers share them."""
        shared = LayerNumbers(*(getattr(self, name) for name in LayerNumbers._fields))
        if self.memory == "matched":
            ones = torch.ones_like(shared.graph_gain)
            gain = shared.feature_gain
            shared = shared._replace(shrinkage=gain, graph_memory=ones, feature_memory=ones)
        return repeat(shared, self.layers)

    def forward(self, x: Any, edge_index: Any, y: Any, mask: Any) -> Any:
        """Logits of the classes.

        The features `x` have mean 0 and variance 1 in the noise; `edge_index` are edges as in PyTorch Geometric, or a
        `SymmetricOperator`, which is not built anew. The classes `y` are looked at on the nodes of `mask` alone.
        """
        S = edge_index
        if not isinstance(S, SymmetricOperator):
            S = from_edge_index(edge_index, x.shape[0])
        onehot = indicators(torch.where(mask, y, -1), self.classes, x.dtype)
        return self.passed(x, S, onehot[:, None])[0][:, 0]

    def passed(self, x: Any, S: Operator, onehot: Any, centroids: Any = None) -> tuple[Any, Any]:
        """Logits (nodes, batch, classes), and centroids of the features of each class (features, batch, classes).

        `onehot` are indicators of the known classes, 0 on other nodes; `centroids` of other nodes replace those found here.
        """
        seen = onehot.sum(dim=2, keepdim=True) > 0
        prior, root = self._prior()
        code = (onehot - prior) / root
        y = logits = torch.where(seen, code, 0.0)
        graph = OperatorMessages(S, y)
        features = FeatureMessages(x, centroids)
        for numbers in self.numbers():
            unsure = self._unsure(y, root)
            b = graph.evidence(y, unsure, numbers) + features.evidence(y, unsure, numbers)
            logits = b / root + self.log_sizes
            if self.sizes:
                logits = logits - 0.5 * (graph.variance + features.variance) / prior
            y = self.layer_means(logits, seen, code)
        return logits, features.centroids

    def _unsure(self, y: Any, root: Any) -> Any:
        """Posterior variance of the code on each node, in the mean over its directions; 0 on known nodes."""
        square = (y**2).sum(dim=2, keepdim=True)
        if self.sizes:
            square = square - (y / root).sum(dim=2, keepdim=True)
        return 1.0 - square / (self.classes - 1)

    def means(self, logits: Any) -> Any:
        """Posterior means of the codes of the classes, from logits."""
        prior, root = self._prior()
        return (torch.softmax(logits, 2) - prior) / root

    def layer_means(self, logits: Any, seen: Any, code: Any) -> Any:
        """Means after a layer: those of known nodes are their codes."""
        return torch.where(seen, code, self.means(logits))

    def _prior(self) -> tuple[Any, Any]:
        """Sizes of the classes, and their square roots."""
        prior = torch.softmax(self.log_sizes, 0)
        return prior, torch.sqrt(prior)
