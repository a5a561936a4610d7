"""The operator that a network applies: the centred, rescaled adjacency, as sparse plus rank one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit.filters.action import norm
from gcnlimit.graphs.eigenvalues import largest_eigenvalue
from gcnlimit.graphs.operator import SparsePlusRankOne, centring
from gcnlimit.simulation.backend import Backend, Device, backend_of
from gcnlimit.simulation.data.panels import Panels


@dataclass(frozen=True, eq=False)
class Operator(SparsePlusRankOne):
    r"""Operator :math:`a = A^e/\sqrt N` (Eq. 1.3), held as :math:`a = S - \epsilon\, 1 1^T` with :math:`S` sparse.

    The adjacency is centred and rescaled, :math:`\tilde A = (A - d/N)/\sqrt{d/N (1-d/N)}`, weights in their unit, and
    symmetrized to :math:`(\tilde A + \tilde A^T)/\sqrt 2` if wanted. A dense matrix is taken as :math:`\tilde A` itself.

    Examples
    --------
    >>> from scipy import sparse
    >>> A = sparse.csr_array(np.array([[0.0, 1.0], [0.0, 0.0]]))
    >>> a = Operator.of(A, degree=1.0, symmetrize=False)
    >>> a @ np.eye(2)  # (A - 1/2) / (1/2) / sqrt(2)
    array([[-0.70710678,  0.70710678],
           [-0.70710678, -0.70710678]])
    """

    u: float = 0.0

    @staticmethod
    def of(  # noqa: PLR0917
        adjacency: Any,
        degree: float | None,
        symmetrize: bool,
        symmetric: bool = False,
        dtype: npt.DTypeLike = float,
        device: Device = "cpu",
    ) -> Operator:
        """Operator of an adjacency matrix; `symmetric` says that it is so already, and `degree` is None if it is dense."""
        backend = backend_of(device)
        scale, shift = 1.0 / np.sqrt(adjacency.shape[0]), 0.0
        if degree is not None:
            scale, shift = centring(adjacency, degree)
        if both := symmetrize and not symmetric:
            scale /= np.sqrt(2.0)
            shift *= np.sqrt(2.0)
        matrix, transpose = backend.sparse(adjacency, scale, both, not symmetric, np.dtype(dtype))
        if device == "cpu":
            return Operator(matrix, float(shift), None, symmetric or symmetrize)
        return DeviceOperator(matrix, float(shift), None, symmetric or symmetrize, transpose, backend)

    def __matmul__(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Product with a vector or a block of columns."""
        out = np.zeros((self.shape[0], *block.shape[1:]), block.dtype)
        self.add_product(block, out)
        return out

    def add_product(self, block: npt.NDArray[Any], out: npt.NDArray[Any], factor: float = 1.0) -> None:
        """``out += factor * (a @ block)`` in place."""
        scale = block.dtype.type(factor)
        sums = np.ones(len(block), block.dtype) @ block
        out += scale * (-block.dtype.type(self.u) * sums)
        if self._panels.suit(block):
            self._panels.add_product(block, out, scale)
        else:
            out += scale * (self.matrix @ block)

    @cached_property
    def _panels(self) -> Panels:
        return Panels(self.matrix)

    @cached_property
    def T(self) -> Operator:
        """The transpose."""
        if self.symmetric:
            return self
        matrix = self.matrix.T
        return Operator(matrix if isinstance(matrix, np.ndarray) else matrix.tocsr(), self.u)

    @cached_property
    def radius(self) -> float | None:
        r"""Bound of the spectrum of a symmetric operator, None for one that is not.

        The largest eigenvalue by Lanczos' method to a thousandth, and five thousandths more.
        """
        return largest_eigenvalue(self, self._random_vector()) * 1.005 if self.symmetric else None

    @cached_property
    def growth(self) -> float:
        """Factor by which a random vector grows in the last of 12 products: about the spectral radius, symmetric or not."""
        v, size = self._random_vector(), 1.0
        for _ in range(12):
            v = self @ (v / size)
            size = norm(v) or 1.0
        return size

    def _random_vector(self) -> Any:
        return np.random.default_rng(0).standard_normal(self.shape[0]).astype(self.matrix.dtype)


@dataclass(frozen=True, eq=False)
class DeviceOperator(Operator):
    """The same operator on a device of PyTorch, for blocks of few columns."""

    transpose: Any = None
    backend: Backend | None = None

    def __matmul__(self, block: Any) -> Any:
        """Product with a vector or a block of columns, tensors on the device."""
        return self.matrix @ block - self.u * block.sum(0)

    def add_product(self, block: Any, out: Any, factor: float = 1.0) -> None:
        """``out += factor * (a @ block)`` in place."""
        out += float(factor) * (self @ block)

    @cached_property
    def T(self) -> Operator:
        """The transpose."""
        if self.symmetric:
            return self
        return DeviceOperator(self.transpose, self.u, None, False, self.matrix, self.backend)

    def _random_vector(self) -> Any:
        assert self.backend is not None
        v = np.random.default_rng(0).standard_normal(self.shape[0])
        return self.backend.place(v).to(self.matrix.dtype)
