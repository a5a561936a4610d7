"""The network: approximate message passing unrolled, with a handful of trained numbers."""

from __future__ import annotations

from typing import Any

import torch

from gcnlimit._validation import one_of, whole
from gcnlimit.errors import ParameterError
from gcnlimit.nn.operators import SymmetricOperator, TwoGraphs, from_edge_index

Operator = SymmetricOperator | TwoGraphs

_LOW = -0.99  # of g (C p - 1), which is above -1 for probabilities
_LEAST = -0.9  # of the shrinkage: 1 + s q > 0 even if more labels are known than in training


def indicators(labels: Any, classes: int, dtype: Any) -> Any:
    """Indicators of the classes, rows of 0 where the label is -1."""
    found = torch.nn.functional.one_hot(labels.clamp(min=0), classes)
    return (found * (labels >= 0)[:, None]).to(dtype)


def _product(matrix: Any, block: Any) -> Any:
    """Product with the first axis of a block."""
    found = matrix @ block.flatten(1)
    return found.reshape(len(found), *block.shape[1:])


class NodeMessages:
    r"""Evidence :math:`\gamma S\hat y - \gamma^2 m V\,\hat y^{old}`: its second term, Onsager's, takes the echo back."""

    def __init__(self, S: Operator, means: Any) -> None:
        self.S = S
        self.old = torch.zeros_like(means)

    def evidence(self, means: Any, unsure: Any, gain: Any, memory: Any) -> Any:
        """Evidence on each node, of shape (nodes, batch, classes)."""
        found = gain * _product(self.S, means)
        found = found - gain**2 * memory * self.S.reaction(unsure) * self.old
        self.old = means
        self.variance = gain**2 * (means**2).mean(dim=0)
        return found

    def update(self, logits: Any, means_of: Any, seen: Any, code: Any) -> None:
        """The messages are the means of the nodes: nothing is left to do."""


class EdgeMessages:
    r"""Evidence :math:`\sqrt\pi\sum_j \log(1 + \gamma S_{ij}(p_{j\to i}/\pi - 1)) - \gamma\, v v^T\hat y`, as on a sparse graph.

    The message :math:`p_{j\to i}` is the posterior of :math:`j` without the evidence that :math:`i` gave it, of which
    Onsager's term is the limit of large degree.
    """

    variance = 0.0  # a sum of logarithms of probabilities needs no correction by it

    def __init__(self, S: SymmetricOperator, means: Any, root: Any) -> None:
        self.S = S
        self.edges = S.edges
        self.root = root
        self.sent = means[self.edges.column]

    def evidence(self, means: Any, unsure: Any, gain: Any, memory: Any) -> Any:
        """Evidence on each node, of shape (nodes, batch, classes)."""
        ratio = gain * self.edges.weight[:, None, None] * self.sent / self.root
        self.received = torch.log1p(ratio.clamp(min=_LOW)) * self.root
        self.memory = memory
        found = torch.zeros_like(means).index_add(0, self.edges.row, self.received)
        if self.S.vector is None:
            return found
        return found - gain * torch.einsum("i,j,jbc->ibc", self.S.vector, self.S.vector, means)

    def update(self, logits: Any, means_of: Any, seen: Any, code: Any) -> None:
        """Send to each neighbour the mean without what it said itself."""
        column = self.edges.column
        back = self.received[self.edges.reverse]
        cavity = means_of(logits[column] - self.memory * back / self.root)
        self.sent = torch.where(seen[column], code[column], cavity)


class FeatureMessages:
    r"""Evidence :math:`\kappa (X u - \frac{m M/N}{1 + s q}\hat y)` of the class centroids :math:`u`.

    They are :math:`u = (X^T\hat y/N - \kappa m V u^{old})/(1 + s q)`, or given ones, in which these nodes have no part.
    """

    def __init__(self, x: Any, centroids: Any = None) -> None:
        self.x = x
        self.centroids = centroids
        self.fixed = centroids is not None

    def evidence(self, means: Any, unsure: Any, gain: Any, shrinkage: Any, memory: Any) -> Any:
        """Evidence on each node, of shape (nodes, batch, classes)."""
        nodes, width = self.x.shape
        q = (means**2).sum(dim=2, keepdim=True).mean(dim=0, keepdim=True) / (means.shape[2] - 1)
        shrunk = 1.0 + torch.clamp(shrinkage, min=_LEAST) * q
        if not self.fixed:
            found = _product(self.x.T, means) / nodes
            if self.centroids is not None:
                found = found - gain * memory * unsure.mean(dim=0, keepdim=True) * self.centroids
            self.centroids = found / shrunk
        field = _product(self.x, self.centroids)
        self.variance = gain**2 * (self.centroids**2).sum(dim=0)
        return gain * (field if self.fixed else field - memory * width / nodes / shrunk * means)


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
    bias
        Whether each class has a trained bias, in place of :math:`\log\pi`.
    sizes
        Whether the classes have unequal sizes :math:`\pi`, which are trained; else :math:`\pi = 1/C` divides everywhere.
    memory
        ``"trained"``, from 1; ``"matched"``: 1, and :math:`s = \kappa`, which leaves two numbers that estimate
        :math:`\lambda_s` and :math:`\mu` and serve on another graph too; ``"reverse"``, for sparse graphs: messages along the
        edges, each without the one that came back, in place of the memory of the graph.
    """

    def __init__(
        self,
        classes: int,
        layers: int = 15,
        *,
        bias: bool = False,
        sizes: bool = False,
        memory: str = "trained",
    ) -> None:
        super().__init__()
        one_of("memory", memory, "trained", "matched", "reverse")
        self.classes = whole("classes", classes, low=2)
        self.layers = whole("layers", layers, low=1)
        self.sizes = sizes
        self.memory = memory
        self.numbers = torch.nn.Parameter(torch.tensor([[0.7, 0.7, 0.7, 1.0, 1.0]]))
        self.bias = torch.nn.Parameter(torch.zeros(classes), requires_grad=bias or sizes)

    def forward(self, x: Any, edge_index: Any, y: Any, mask: Any) -> Any:
        """Logits of the classes.

        The features `x` have mean 0 and variance 1 in the noise; `edge_index` are edges as in PyTorch Geometric, or a
        `SymmetricOperator`, which is not built anew. The classes `y` are looked at on the nodes of `mask` alone.
        """
        S = edge_index
        if not isinstance(S, SymmetricOperator):
            S = from_edge_index(edge_index, x.shape[0])
        known = indicators(torch.where(mask, y, -1), self.classes, x.dtype)
        return self.passed(x, S, known[:, None])[0][:, 0]

    def passed(self, x: Any, S: Operator, known: Any, centroids: Any = None) -> tuple[Any, Any]:
        """Logits (nodes, batch, classes), and centroids of the features of each class (features, batch, classes).

        `known` are indicators of the known classes, 0 on other nodes; `centroids` of other nodes replace those found here.
        """
        seen = known.sum(dim=2, keepdim=True) > 0
        prior = torch.softmax(self.bias, 0)
        root = self._root(prior)
        code = (known - prior) / root
        y = logits = torch.where(seen, code, 0.0)
        messages = self._messages(S, y, root)
        features = FeatureMessages(x, centroids)
        for layer in range(self.layers):
            gamma, kappa, s, m1, m2 = self._of(layer)
            unsure = self._unsure(y, root)
            b = messages.evidence(y, unsure, gamma, m1) + features.evidence(y, unsure, kappa, s, m2)
            logits = b / root + self.bias
            if self.sizes:
                logits = logits - 0.5 * (messages.variance + features.variance) / prior
            y = self._layer_means(logits, seen, code)
            messages.update(logits, self.means, seen, code)
        return logits, features.centroids

    def _messages(self, S: Operator, means: Any, root: Any) -> NodeMessages | EdgeMessages:
        if self.memory != "reverse":
            return NodeMessages(S, means)
        if isinstance(S, TwoGraphs):
            raise ParameterError("memory = 'reverse' is for one graph; take memory='trained'")
        return EdgeMessages(S, means, root)

    def _of(self, layer: int) -> Any:
        """The five numbers of a layer: all layers share them."""
        numbers = self.numbers[0]
        if self.memory != "matched":
            return numbers
        return torch.cat([numbers[:2], numbers[1:2], numbers[3:].detach()])

    def _unsure(self, y: Any, root: Any) -> Any:
        """Posterior variance of the code on each node, in the mean over its directions; 0 on known nodes."""
        square = (y**2).sum(dim=2, keepdim=True)
        if self.sizes:
            square = square - (y / root).sum(dim=2, keepdim=True)
        return 1.0 - square / (self.classes - 1)

    def means(self, logits: Any) -> Any:
        """Posterior means of the codes of the classes, from logits."""
        prior = torch.softmax(self.bias, 0)
        return (torch.softmax(logits, 2) - prior) / self._root(prior)

    def _layer_means(self, logits: Any, seen: Any, code: Any) -> Any:
        """Means after a layer: those of known nodes are their codes."""
        return torch.where(seen, code, self.means(logits))

    def _root(self, prior: Any) -> Any:
        return torch.sqrt(prior if self.sizes else torch.full_like(prior, 1.0 / self.classes))
