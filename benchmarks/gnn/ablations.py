"""The message-passing network with parts of it changed or left out, to see which of them matter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch

from gcnlimit.nn import MessagePassing, SymmetricOperator
from gcnlimit.nn.network import FeatureMessages, LayerNumbers

_LOW = -0.99  # of g (C p - 1), which is above -1 for probabilities


class Ablated(MessagePassing):
    """The network with other options.

    Parameters
    ----------
    memory
        Also ``"exact"``, 1 and not trained, or ``"none"``, 0.
    tied
        Whether all layers share their numbers.
    clamp
        Whether known labels enter every layer, or the first alone.
    """

    def __init__(
        self,
        classes: int,
        layers: int = 15,
        *,
        memory: str = "trained",
        tied: bool = True,
        clamp: bool = True,
    ) -> None:
        fixed = memory in ("exact", "none")
        super().__init__(classes, layers, memory="trained" if fixed else memory)
        self.tied, self.clamp = tied, clamp
        if fixed:
            for weight in (self.graph_memory, self.feature_memory):
                weight.requires_grad_(False).fill_(1.0 if memory == "exact" else 0.0)
        if not tied:
            for name in LayerNumbers._fields:
                every = getattr(self, name).detach().repeat(layers)
                self.register_parameter(name, torch.nn.Parameter(every))

    def numbers(self) -> Iterable[LayerNumbers]:
        """Numbers of each layer."""
        if self.tied:
            return super().numbers()
        return (
            LayerNumbers(*row)
            for row in zip(*(getattr(self, name) for name in LayerNumbers._fields), strict=True)
        )

    def layer_means(self, logits: Any, seen: Any, code: Any) -> Any:
        """Means after a layer."""
        return super().layer_means(logits, seen, code) if self.clamp else self.means(logits)


class Edges(NamedTuple):
    """Entries of a symmetric matrix, sorted by their row, and the place of the entry across the diagonal of each."""

    row: Any
    column: Any
    weight: Any
    reverse: Any

    @classmethod
    def of(cls, S: SymmetricOperator) -> Edges:
        """Entries of the sparse matrix of an operator."""
        matrix = S.matrix
        if isinstance(matrix, torch.Tensor):
            ends, column, weight = matrix.crow_indices(), matrix.col_indices(), matrix.values()
        else:
            ends, column, weight = map(
                torch.from_numpy, (matrix.indptr, matrix.indices, matrix.data)
            )
        row = torch.repeat_interleave(ends.diff().long())
        column = column.long()
        # entries are sorted by rows: sorting them by columns transposes
        return cls(row, column, weight, torch.argsort(column * len(ends) + row))


class Edgewise(MessagePassing):
    r"""The network with messages along edges, as on a sparse graph, in place of the memory of the graph.

    The evidence is :math:`\sqrt\pi\sum_j \log(1 + \gamma S_{ij}(p_{j\to i}/\pi - 1)) - \gamma\, v v^T\hat y`, where the message
    :math:`p_{j\to i}` is the posterior of :math:`j` without the evidence that :math:`i` gave it. Onsager's term is its limit of
    large degree. The classes have equal sizes.
    """

    def passed(self, x: Any, S: Any, onehot: Any, centroids: Any = None) -> tuple[Any, Any]:
        """Logits (nodes, batch, classes), and centroids of the features of each class."""
        seen = onehot.sum(dim=2, keepdim=True) > 0
        prior, root = self._prior()
        code = (onehot - prior) / root
        y = logits = torch.where(seen, code, 0.0)
        features, edges = FeatureMessages(x, centroids), Edges.of(S)
        sent = y[edges.column]
        for numbers in self.numbers():
            ratio = numbers.graph_gain * edges.weight[:, None, None] * sent / root
            received = torch.log1p(ratio.clamp(min=_LOW)) * root
            b = torch.zeros_like(y).index_add(0, edges.row, received)
            if S.vector is not None:
                b = b - numbers.graph_gain * torch.einsum("i,j,jbc->ibc", S.vector, S.vector, y)
            b = b + features.evidence(y, self._unsure(y, root), numbers)
            logits = b / root
            y = self.layer_means(logits, seen, code)
            back = numbers.graph_memory * received[edges.reverse] / root
            cavity = self.means(logits[edges.column] - back)
            sent = torch.where(seen[edges.column], code[edges.column], cavity)
        return logits, features.centroids
