"""The operator of a graph with heterogeneous degrees: centred by the degrees, and divided by powers of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._values import Array
from gcnlimit.normalization import Normalization
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.data.operator import Operator


class NormalizedOperator(Operator):
    r"""Operator :math:`\mathrm{diag}(L)\,(A - d\,\theta\theta^T/N)\,\mathrm{diag}(R)/\sqrt d`, a sparse one less one of rank one.

    The propensities :math:`\theta` are measured, degrees over their mean, in- and out-degree together on a directed graph;
    :math:`L` and :math:`R` are the powers by which a normalisation divides (Eq. 11.3).

    >>> A = sparse.csr_array(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    >>> a = normalized_operator(A, propensities(A), Normalization(0, 0), 1.0)
    >>> bool(np.abs(a @ np.ones(3)).max() < 1e-12)  # the modularity matrix: rows sum to 0
    True
    """

    def __init__(self, inner: Operator, rows: Any, columns: Any) -> None:
        self.__dict__.update(vars(inner), inner=inner, rows=rows, columns=columns)

    inner: Operator
    rows: Any
    columns: Any

    def _centre(self, block: Any) -> Any:
        """Product with the part of rank one."""
        product = self.columns @ block
        return self.rows * product if block.ndim == 1 else self.rows[:, None] * product

    def __matmul__(self, block: Any) -> Any:
        """Product with a vector or a block of columns."""
        return self.inner @ block - self._centre(block)

    def add_product(self, block: Any, out: Any, factor: float = 1.0) -> None:
        """``out += factor * (a @ block)`` in place."""
        self.inner.add_product(block, out, factor)
        out -= float(factor) * self._centre(block)

    @cached_property
    def T(self) -> Operator:
        """The transpose."""
        return self if self.symmetric else NormalizedOperator(self.inner.T, self.columns, self.rows)

    def _random_vector(self) -> Any:
        return self.inner._random_vector()


def propensities(adjacency: Any) -> Array:
    """Degree of each node over their mean, in- and out-degree together."""
    degree = np.asarray(adjacency.sum(axis=0) + adjacency.sum(axis=1), float).ravel()
    return np.asarray(degree / np.mean(degree))


def normalized_operator(  # noqa: PLR0917
    adjacency: Any,
    theta: Array,
    normalization: Normalization,
    signal: float,
    symmetrize: bool = False,
    symmetric: bool = True,
    dtype: npt.DTypeLike = float,
    device: Device = "cpu",
) -> Operator:
    """Operator of a graph of these propensities; `signal` is that by which the best normalisation divides."""
    nodes, mean = adjacency.shape[0], float(adjacency.sum()) / adjacency.shape[0]
    left, right = (scale[0] for scale in normalization.scales(theta, np.array([signal])))
    unit = 1.0 / np.sqrt(mean * (1.0 - mean / nodes))
    both = symmetrize and not symmetric
    graph = (adjacency + adjacency.T) / np.sqrt(2.0) if both else adjacency
    weighted = sparse.diags_array(left * unit * np.sqrt(nodes)) @ graph @ sparse.diags_array(right)
    alike = normalization.left == normalization.right and (symmetrize or symmetric)
    inner = Operator.of(weighted.tocsr(), None, False, alike, dtype, device)
    share = unit * mean / nodes * (np.sqrt(2.0) if both else 1.0)
    vectors = (backend_of(device).place((side * theta).astype(dtype)) for side in (share * left, right))
    return NormalizedOperator(inner, *vectors)
