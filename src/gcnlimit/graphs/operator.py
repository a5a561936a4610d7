"""A sparse matrix less a product of two vectors, such as a centred graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array


@dataclass(frozen=True, eq=False)
class SparseLessRankOne:
    r"""Operator :math:`S - u v^T` with :math:`S` a matrix, as a rule sparse; no second part if :math:`u` is None."""

    matrix: Any
    u: Array | None = None
    v: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return (self.matrix.shape[0], self.matrix.shape[1])

    def __matmul__(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Product with a vector or a block of columns."""
        product = np.asarray(self.matrix @ block)
        if self.u is not None and self.v is not None:
            product -= np.multiply.outer(self.u, self.v @ block)
        return product

    def __truediv__(self, number: float) -> SparseLessRankOne:
        """The operator over a number."""
        return SparseLessRankOne(self.matrix / number, None if self.u is None else self.u / number, self.v)

    @cached_property
    def T(self) -> SparseLessRankOne:
        """The transpose."""
        matrix = self.matrix.T
        return SparseLessRankOne(matrix if isinstance(matrix, np.ndarray) else matrix.tocsr(), self.v, self.u)
