"""Symmetric operators of a graph as torch tensors: a sparse matrix less a matrix of rank one."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse

from gcnlimit.real.operators import propagation
from gcnlimit.simulation.operator import Operator

__all__ = ["SymmetricOperator", "from_edge_index", "from_graph"]


class SymmetricOperator(NamedTuple):
    r"""Operator :math:`S - v v^T`, symmetric, that multiplies blocks of columns and lets gradients through."""

    matrix: Any
    vector: Any

    def __matmul__(self, block: Any) -> Any:
        """Product with a block of columns."""
        return _Product.apply(block, self.matrix, self.vector)

    def to(self, device: Any) -> SymmetricOperator:
        """The same on another device; the sparse matrix is SciPy's on a processor, whose product is faster there."""
        if torch.device(device).type == "cpu" or not sparse.issparse(self.matrix):
            return self
        csr: Any = self.matrix
        parts = (torch.from_numpy(part.astype(np.int64)) for part in (csr.indptr, csr.indices))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "sparse CSR is in beta"
            tensor = torch.sparse_csr_tensor(*parts, torch.from_numpy(csr.data), csr.shape)
        return SymmetricOperator(tensor.to(device), self.vector.to(device))


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
    product = torch.from_numpy(matrix @ block.numpy()) if sparse.issparse(matrix) else matrix @ block
    return product - torch.outer(vector, vector @ block)


def from_graph(graph: Any, kind: str = "paper") -> SymmetricOperator:
    r"""Operator of an adjacency matrix, symmetrized.

    ``"paper"`` is :math:`(A - p)/\sqrt{Np(1-p)}` symmetrized (Eq. 1.3), which suits graphs without hubs; ``"normalized"`` is
    :math:`D^{-1/2}AD^{-1/2}` without its top eigenvector, over half of its largest eigenvalue: the scale of a semicircle.
    """
    graph = sparse.csr_array(graph)
    nodes = graph.shape[0]
    if kind == "paper":
        symmetric = bool((graph != graph.T).nnz == 0)
        a = Operator.of(graph, float(graph.sum()) / nodes, True, symmetric)
        return _parts(a.matrix, np.full(nodes, np.sqrt(a.shift)))
    S = propagation(graph, "centred", loops=False)
    scale = 2.0 / S.radius
    vector = np.zeros(nodes) if S.operator.u is None else S.operator.u
    return _parts(S.operator.matrix * scale, vector * np.sqrt(scale))


def from_edge_index(edge_index: Any, nodes: int, kind: str = "paper") -> SymmetricOperator:
    """Operator of the edges of PyTorch Geometric, on their device."""
    row, column = edge_index.detach().cpu().numpy()
    graph = sparse.coo_array((np.ones(row.size), (row, column)), shape=(nodes, nodes)).tocsr()
    return from_graph(graph, kind).to(edge_index.device)


def _parts(matrix: Any, vector: Any) -> SymmetricOperator:
    return SymmetricOperator(
        sparse.csr_array(matrix, dtype=np.float32), torch.from_numpy(np.asarray(vector, np.float32))
    )
