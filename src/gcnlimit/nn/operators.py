"""Symmetric operators of a graph as torch tensors: a sparse matrix minus one of rank one."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse

from gcnlimit._validation import one_of
from gcnlimit.graphs.check import as_adjacency, is_symmetric
from gcnlimit.graphs.operator import propagation, weight_unit
from gcnlimit.graphs.tables import from_edges
from gcnlimit.normalization import Normalization
from gcnlimit.simulation.data.operator import Operator, normalized_operator, propensities

KINDS = ("paper", "degrees", "normalized")


@dataclass(frozen=True, eq=False)
class SymmetricOperator:
    r"""Operator :math:`S - v v^T`, symmetric, that multiplies blocks of columns and lets gradients through.

    Parameters
    ----------
    matrix
        :math:`S`, of SciPy on a processor, whose product is faster there, and a CSR tensor on other devices.
    vector, theta
        :math:`v`, a tensor, or None for 0; propensities of the nodes, to which their rows scatter in proportion, or None.
    """

    matrix: Any
    vector: Any = None
    theta: Any = None

    def __matmul__(self, block: Any) -> Any:
        """Product with a block of columns."""
        return _Product.apply(block, self.matrix, self.vector)

    def reaction(self, unsure: Any) -> Any:
        r"""Return :math:`\theta_i \frac1N\sum_j \theta_j (1 - q_j)`: how much of what a node says comes back to it."""
        if self.theta is None:
            return unsure.mean(dim=0, keepdim=True)
        theta = self.theta[:, None, None]
        return theta * (theta * unsure).mean(dim=0, keepdim=True)

    def to(self, device: Any) -> SymmetricOperator:
        """The operator on another device."""
        if torch.device(device).type == "cpu" or not sparse.issparse(self.matrix):
            return self
        csr: Any = self.matrix
        places = (torch.from_numpy(part.astype(np.int64)) for part in (csr.indptr, csr.indices))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "sparse CSR is in beta"
            tensor = torch.sparse_csr_tensor(*places, torch.from_numpy(csr.data), csr.shape)
        parts = (tensor, self.vector, self.theta)
        return SymmetricOperator(*(None if part is None else part.to(device) for part in parts))


@dataclass(frozen=True, eq=False)
class TwoGraphs:
    """Operators of two graphs of different nodes, the second times the ratio of its signal to that of the first."""

    first: SymmetricOperator
    second: SymmetricOperator
    ratio: float

    def __matmul__(self, block: Any) -> Any:
        """Product with a block of columns, the rows of the first graph first."""
        nodes = self.first.matrix.shape[0]
        return torch.cat([self.first @ block[:nodes], self.ratio * (self.second @ block[nodes:])])

    def reaction(self, unsure: Any) -> Any:
        """Reaction of a node through each graph by itself."""
        nodes = self.first.matrix.shape[0]
        first = self.first.reaction(unsure[:nodes])
        second = self.ratio**2 * self.second.reaction(unsure[nodes:])
        rest = len(unsure) - nodes
        return torch.cat([first.expand(nodes, -1, -1), second.expand(rest, -1, -1)])


class _Product(torch.autograd.Function):  # type: ignore[misc]
    """The product; its gradient is the same product, since the operator is symmetric."""

    @staticmethod
    def forward(ctx: Any, block: Any, matrix: Any, vector: Any) -> Any:
        ctx.parts = (matrix, vector)
        return _multiply(matrix, vector, block)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        matrix, vector = ctx.parts
        return _multiply(matrix, vector, gradients[0]), None, None


def _multiply(matrix: Any, vector: Any, block: Any) -> Any:
    of_scipy = sparse.issparse(matrix)
    product = torch.from_numpy(matrix @ block.detach().numpy()) if of_scipy else matrix @ block
    return product if vector is None else product - torch.outer(vector, vector @ block)


def from_graph(graph: Any, kind: str = "paper") -> SymmetricOperator:
    r"""Operator of an adjacency matrix, symmetrized.

    ``"paper"`` is :math:`(A - p)/\sqrt{Np(1-p)}` symmetrized (Eq. 1.3), which suits graphs without hubs; ``"degrees"`` is
    :math:`(A - d\,\theta\theta^T/N)/\sqrt d` with the measured propensities :math:`\theta`, degrees over their mean :math:`d`,
    best on graphs of the model with hubs (Eq. 11.16); ``"normalized"`` is :math:`D^{-1/2}AD^{-1/2}` without its top
    eigenvector, over half of its largest eigenvalue: the scale of a semicircle.
    """
    one_of("kind", kind, *KINDS)
    graph = as_adjacency(graph)
    graph = graph / weight_unit(graph)
    nodes = graph.shape[0]
    symmetric = is_symmetric(graph)
    theta = None
    a: Any
    if kind == "normalized":
        S = propagation(graph, "centred", loops=False)
        a = S.operator / (0.5 * S.radius)
    elif kind == "degrees":
        theta = propensities(graph)
        a = normalized_operator(graph, theta, Normalization(0, 0), 1.0, True, symmetric)
    else:
        a = Operator.of(graph, graph.sum() / nodes, True, symmetric)
    v = np.ones(nodes) if a.v is None else a.v
    return as_operator(a.matrix, np.sqrt(a.u * v), theta)


def from_edge_index(edge_index: Any, nodes: int) -> SymmetricOperator:
    """Operator of the edges of PyTorch Geometric, on their device."""
    graph = from_edges(edge_index.detach().cpu().numpy().T, nodes)
    return from_graph(graph).to(edge_index.device)


def as_operator(matrix: Any, vector: Any = None, theta: Any = None) -> SymmetricOperator:
    """Operator of a symmetric SciPy matrix, a vector and propensities, in single precision."""
    csr: Any = sparse.csr_array(matrix, dtype=np.float32)
    csr.sort_indices()
    parts = (vector, theta)
    tensors = (None if x is None else torch.from_numpy(x.astype(np.float32)) for x in parts)
    return SymmetricOperator(csr, *tensors)
