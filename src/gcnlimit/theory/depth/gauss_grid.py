"""Functions of the depth on Gauss-Legendre nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gcnlimit._values import Array

__all__ = ["GaussGrid"]

Kernel = Callable[[Array], Array]


@dataclass(frozen=True)
class GaussGrid:
    r"""Gauss-Legendre nodes `x` and weights `w` on [0, 1].

    A forward source is the vector of its :math:`\delta(x)` and its values at the nodes; a convolution
    :math:`\int_{0^-}^x \kappa(x - x') f(x') dx'` of it is read at the nodes and at the end :math:`x = 1`.
    """

    x: Array
    w: Array

    @classmethod
    def of(cls, n: int) -> GaussGrid:
        """Grid of `n` nodes."""
        x, w = np.polynomial.legendre.leggauss(n)
        return cls((x + 1.0) / 2.0, w / 2.0)

    @cached_property
    def ends(self) -> Array:
        """Nodes, and the end."""
        return np.append(self.x, 1.0)

    @cached_property
    def where(self) -> Array:
        """Points of [0, x] at which an integral up to x is sampled: 0 for the delta, then scaled nodes."""
        return np.concatenate([np.zeros((self.ends.size, 1)), np.multiply.outer(self.ends, self.x)], axis=1)

    @cached_property
    def sampling(self) -> Array:
        """Matrices from a source to its weighted samples on [0, x], interpolated between the nodes."""
        n = self.x.size
        matrices = np.zeros((n + 1, n + 1, n + 1))
        matrices[:, 0, 0] = 1.0
        matrices[:, 1:, 1:] = self.interpolation(self.where[:, 1:]) * np.multiply.outer(self.ends, self.w)[:, :, None]
        return matrices

    def convolution(self, kernel: Kernel) -> Array:
        """Matrix of the convolution with a kernel, from a source to the values at the nodes and at the end."""
        return np.asarray(np.einsum("il,ila->ia", kernel(self.ends[:, None] - self.where), self.sampling))

    def convolution2(self, kernel: Callable[[Array, Array], Array], source: Array) -> Array:
        """Convolution in both arguments, read at the nodes and the ends."""
        left = (self.ends[:, None] - self.where)[:, None, :, None]
        right = (self.ends[:, None] - self.where)[None, :, None, :]
        samples = np.einsum("ila,kmb,ab->iklm", self.sampling, self.sampling, source, optimize=True)
        return np.asarray(np.einsum("iklm,iklm->ik", kernel(left, right), samples))

    def interpolation(self, x: Array) -> Array:
        """Matrix from values at the nodes to values at other depths."""
        n = self.x.size
        basis, there = (np.polynomial.legendre.legvander(2.0 * depths - 1.0, n - 1) for depths in (self.x, x))
        return np.asarray(there @ np.linalg.inv(basis))
