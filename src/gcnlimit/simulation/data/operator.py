"""The operator that a network applies: the centred, rescaled adjacency, as sparse plus rank one."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import eigh_tridiagonal

from gcnlimit.filters.action import norm
from gcnlimit.simulation.backend import Backend, Device, backend_of

try:
    # private: they add S B, and S itself, to a given array, which no public function does
    from scipy.sparse._sparsetools import csr_matvecs, csr_todense
except ImportError:  # a SciPy that has moved them: the public product serves, at less than half the speed
    csr_matvecs = None  # type: ignore[assignment]


_STEPS = 500  # of Lanczos' method, at most
PANEL = 800  # rows of a block of 100 columns that a second-level cache holds


@dataclass(frozen=True, eq=False)
class Operator:
    r"""Operator :math:`a = A^e/\sqrt N` (Eq. 1.3), held as :math:`a = S - \epsilon\, 1 1^T` with :math:`S` sparse.

    The adjacency is centred and rescaled, :math:`\tilde A = (A - d/N)/\sqrt{d/N (1-d/N)}`, and symmetrized to
    :math:`(\tilde A + \tilde A^T)/\sqrt 2` if wanted. A dense matrix is taken as :math:`\tilde A` itself.

    Parameters
    ----------
    matrix
        :math:`S`.
    shift
        :math:`\epsilon`.
    symmetric
        Whether the operator equals its transpose.

    Examples
    --------
    >>> A = sparse.csr_array(np.array([[0.0, 1.0], [0.0, 0.0]]))
    >>> a = Operator.of(A, degree=1.0, symmetrize=False)
    >>> a @ np.eye(2)  # (A - 1/2) / (1/2) / sqrt(2)
    array([[-0.70710678,  0.70710678],
           [-0.70710678, -0.70710678]])
    """

    matrix: Any
    shift: float
    symmetric: bool

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
        nodes, backend = adjacency.shape[0], backend_of(device)
        scale, shift = 1.0 / np.sqrt(nodes), 0.0
        if degree is not None:
            density = degree / nodes
            scale /= np.sqrt(density * (1.0 - density))
            shift = density * scale
        if both := symmetrize and not symmetric:
            scale /= np.sqrt(2.0)
            shift *= np.sqrt(2.0)
        matrix, transpose = backend.sparse(adjacency, scale, both, not symmetric, np.dtype(dtype))
        if device == "cpu":
            return Operator(matrix, float(shift), symmetric or symmetrize)
        return DeviceOperator(matrix, float(shift), symmetric or symmetrize, transpose, backend)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return (self.matrix.shape[0], self.matrix.shape[1])

    def __matmul__(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Product with a vector or a block of columns."""
        out = np.zeros((self.shape[0], *block.shape[1:]), block.dtype)
        self.add_product(block, out)
        return out

    def add_product(self, block: npt.NDArray[Any], out: npt.NDArray[Any], factor: float = 1.0) -> None:
        """``out += factor * (a @ block)`` in place, through panels of rows that a cache holds."""
        scale = block.dtype.type(factor)
        out += scale * self._centre(block)
        if not self._by_panels(block):
            out += scale * (self.matrix @ block)
        elif (parts := _few_and_level(block)) is not None:  # such as the indicators of a few nodes, or their neighbours
            few, level = parts
            product = self.matrix @ few
            csr_todense(*product.shape, product.indptr, product.indices, scale * product.data, out)  # type: ignore[call-arg]
            if level.any():
                out += np.multiply.outer(self._row_sums, scale * level)
        else:
            for start, panel in self._panels:
                part = np.ascontiguousarray(block[start : start + panel.shape[1]]).ravel()
                csr = (panel.indptr, panel.indices, scale * panel.data)
                csr_matvecs(*panel.shape, block.shape[1], *csr, part, out.reshape(-1))  # type: ignore[call-arg]

    @cached_property
    def _row_sums(self) -> npt.NDArray[Any]:
        return np.asarray(self.matrix @ np.ones(self.shape[1], self.matrix.dtype))

    def _centre(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Product with the part of rank one: the same row for every node."""
        return np.asarray(-block.dtype.type(self.shift) * (np.ones(len(block), block.dtype) @ block))

    def _by_panels(self, block: npt.NDArray[Any]) -> bool:
        """Whether a block is wide enough, and the graph large enough, for panels to pay."""
        wide = block.ndim == 2 and block.shape[1] >= 32 and block.dtype == self.matrix.dtype
        return wide and csr_matvecs is not None and len(self._panels) > 1

    @cached_property
    def _panels(self) -> list[tuple[int, Any]]:
        """The sparse part cut into panels of columns, as (first column, panel), with a few non-zeros per row of each."""
        nodes = self.shape[1]
        if isinstance(self.matrix, np.ndarray):
            return [(0, self.matrix)]
        count = max(1, min(nodes // PANEL, self.matrix.nnz // (2 * nodes)))
        edges = np.linspace(0, nodes, count + 1).astype(int)
        return [(int(i), self.matrix[:, i:j].tocsr()) for i, j in itertools.pairwise(edges)]

    @cached_property
    def single(self) -> Operator:
        """The same in single precision."""
        return Operator(self.matrix.astype(np.float32), self.shift, self.symmetric)

    @cached_property
    def T(self) -> Operator:
        """The transpose."""
        if self.symmetric:
            return self
        matrix = self.matrix.T
        return Operator(matrix if isinstance(matrix, np.ndarray) else matrix.tocsr(), self.shift, False)

    @cached_property
    def radius(self) -> float | None:
        r"""Bound of the spectrum of a symmetric operator, None for one that is not.

        The largest eigenvalue by Lanczos' method to a thousandth, and five thousandths more.
        """
        return spectral_radius(self, self._random_vector()) * 1.005 if self.symmetric else None

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

    transpose: Any
    backend: Backend

    def __matmul__(self, block: Any) -> Any:
        """Product with a vector or a block of columns, tensors on the device."""
        return self.matrix @ block - self.shift * block.sum(0)

    def add_product(self, block: Any, out: Any, factor: float = 1.0) -> None:
        """``out += factor * (a @ block)`` in place."""
        out += float(factor) * (self @ block)

    @cached_property
    def T(self) -> Operator:
        """The transpose."""
        if self.symmetric:
            return self
        return DeviceOperator(self.transpose, self.shift, False, self.matrix, self.backend)

    def _random_vector(self) -> Any:
        v = np.random.default_rng(0).standard_normal(self.shape[0])
        return self.backend.place(v).to(self.matrix.dtype)


def spectral_radius(operator: Any, start: Any) -> float:
    r"""Largest magnitude of the eigenvalues of a symmetric operator, by Lanczos' method from the vector `start`.

    Stops when the residual of the eigenvector, :math:`\beta_k` times its last entry in the Lanczos basis, is below a
    thousandth of the eigenvalue; lost orthogonality only repeats eigenvalues that were found.

    >>> round(spectral_radius(np.diag([1.0, -3.0, 2.0]), np.ones(3)), 6)
    3.0
    """
    before, v, diagonal, beside = 0.0 * start, start / norm(start), [], [0.0]
    for k in range(1, _STEPS + 1):
        w = operator @ v - beside[-1] * before
        diagonal.append(float((v * w).sum()))
        w = w - diagonal[-1] * v
        beside.append(norm(w))
        if k % 8 == 0 or beside[-1] <= 1e-6 * abs(diagonal[-1]) or k == len(start):
            values, vectors = eigh_tridiagonal(diagonal, beside[1:-1])
            largest = int(np.argmax(np.abs(values)))
            if beside[-1] * abs(vectors[-1, largest]) <= 1e-3 * abs(values[largest]) or k == len(start):
                break
        before, v = v, w / beside[-1]
    return float(abs(values[largest]))


def _few_and_level(block: npt.NDArray[Any]) -> tuple[Any, npt.NDArray[Any]] | None:
    """A block as a sparse part plus one constant per column; None if that part is not sparse."""
    if np.count_nonzero(block[1:50] == block[:49]) < 0.9 * block[:49].size:
        return None
    level = block.min(axis=0)
    where = np.flatnonzero(block != level)
    if where.size > 0.02 * block.size:
        return None
    row, column = np.divmod(where, block.shape[1])
    return sparse.csr_array((block[row, column] - level[column], (row, column)), shape=block.shape), level
