"""A sparse matrix plus one of rank one: centred without becoming dense."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array


@dataclass(frozen=True, eq=False)
class SparsePlusRankOne:
    r"""Operator :math:`S - u v^T`: a `matrix`, as a rule sparse, plus one of rank one.

    Without `v`, `u` is one number for all entries; without `u` there is no second part. `symmetric` says that it equals its
    transpose.

    >>> from scipy import sparse
    >>> a = SparsePlusRankOne(sparse.eye_array(2, format="csr"), u=0.5)
    >>> a @ np.eye(2)
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """

    matrix: Any
    u: Array | float | None = None
    v: Any = None
    symmetric: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return (self.matrix.shape[0], self.matrix.shape[1])

    @property
    def dtype(self) -> Any:
        """Precision of the matrix."""
        return self.matrix.dtype

    def __matmul__(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Product with a vector or a block of columns."""
        product = np.asarray(self.matrix @ block)
        if self.u is not None:
            sums = block.sum(axis=0) if self.v is None else self.v @ block
            product -= np.multiply.outer(self.u, sums)
        return product

    def __truediv__(self, number: float) -> Self:
        """The operator over a number."""
        u = None if self.u is None else self.u / number
        return replace(self, matrix=self.matrix / number, u=u)

    def astype(self, dtype: npt.DTypeLike) -> Self:
        """The operator in another precision."""
        u, v = (part if part is None else np.asarray(part, dtype) for part in (self.u, self.v))
        return replace(self, matrix=self.matrix.astype(dtype), u=u, v=v)

    @cached_property
    def T(self) -> Self:
        """The transpose."""
        if self.symmetric:
            return self
        matrix = self.matrix.T.tocsr() if hasattr(self.matrix, "tocsr") else self.matrix.T
        u, v = (self.u, None) if self.v is None else (self.v, self.u)
        return replace(self, matrix=matrix, u=u, v=v)
