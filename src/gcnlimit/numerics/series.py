"""Arithmetic of truncated power series."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gcnlimit._values import Array


@dataclass(frozen=True, eq=False)
class Series:
    r"""Power series :math:`\sum_{k \le n} c_k x^k`, cut at the order of its operands; `c` has the orders along its first axis.

    Numbers and arrays are series of order 0. Further axes are those of the coefficients; ``@`` multiplies matrices.

    >>> x = Series(np.array([0.0, 1.0, 0.0, 0.0, 0.0]))
    >>> (1.0 / (1.0 - x)).c
    array([1., 1., 1., 1., 1.])
    >>> (1.0 + x).sqrt().c.tolist(), (2.0 * x).exp().c.round(4).tolist()
    ([1.0, 0.5, -0.125, 0.0625, -0.0390625], [1.0, 2.0, 2.0, 1.3333, 0.6667])
    """

    c: Array

    __array_ufunc__ = None  # arrays leave the operation to the series

    @property
    def order(self) -> int:
        """Highest power that is kept."""
        return len(self.c) - 1

    def __add__(self, other: Any) -> Series:
        if isinstance(other, Series):
            return Series(self.c + other.c)
        total = np.broadcast_to(self.c, (len(self.c), *np.broadcast_shapes(self.c.shape[1:], np.shape(other)))).copy()
        total[0] += other
        return Series(total)

    __radd__ = __add__

    def __neg__(self) -> Series:
        return Series(-self.c)

    def __sub__(self, other: Any) -> Series:
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> Series:
        return self.__neg__().__add__(other)

    def __mul__(self, other: Any) -> Series:
        if isinstance(other, float):
            return Series(self.c * other)
        return self._product(other, np.multiply)

    __rmul__ = __mul__

    def __pow__(self, power: int) -> Series:
        """Whole power, at least the first."""
        return self if power == 1 else self * self ** (power - 1)

    def __matmul__(self, other: Any) -> Series:
        return self._product(other, np.matmul)

    def _product(self, other: Any, times: Callable[[Array, Array], Array]) -> Series:
        if not isinstance(other, Series):
            return Series(np.stack([times(part, other) for part in self.c]))
        return Series(np.stack([cauchy(self.c, other.c, k, times) for k in range(len(self.c))]))

    def __truediv__(self, other: Any) -> Series:
        if not isinstance(other, Series):
            return Series(self.c / other)
        return self * other.__rtruediv__(1.0)

    def __rtruediv__(self, other: Any) -> Series:
        """Multiple of the reciprocal: the product of the two is 1 at order 0, and 0 at the others."""
        inverse = [1.0 / self.c[0]]
        for k in range(1, len(self.c)):
            inverse.append(-inverse[0] * sum(self.c[j] * inverse[k - j] for j in range(1, k + 1)))
        return Series(np.stack(inverse)).__mul__(other)

    def sqrt(self) -> Series:
        """Root of a series that does not begin at 0."""
        root = [np.sqrt(self.c[0])]
        for k in range(1, len(self.c)):
            known = sum(root[j] * root[k - j] for j in range(1, k))
            root.append((self.c[k] - known) / (2.0 * root[0]))
        return Series(np.stack(root))

    def raised(self, power: int = 1) -> Series:
        """Product with a power of the variable."""
        zeros = np.zeros((min(power, len(self.c)), *self.c.shape[1:]))
        return Series(np.concatenate([zeros, self.c])[: len(self.c)])

    def lowered(self) -> Series:
        """Quotient by the variable of a series that begins at 0; its highest order is 0."""
        return Series(np.concatenate([self.c[1:], np.zeros_like(self.c[:1])]))

    def exp(self) -> Series:
        """Exponential: its derivative is its product with that of the series."""
        values = [np.exp(self.c[0])]
        for k in range(1, len(self.c)):
            values.append(sum(j * self.c[j] * values[k - j] for j in range(1, k + 1)) / k)
        return Series(np.stack(values))

    def __call__(self, inner: Series) -> Series:
        """Composition with a series that begins at 0."""
        value: Series = inner * 0.0 + self.c[-1]
        for part in self.c[-2::-1]:
            value = value * inner + part
        return value


def cauchy(a: Array, b: Array, k: int, times: Callable[[Array, Array], Array] = np.multiply) -> Array:
    """Coefficient of order `k` of a product."""
    return np.asarray(sum(times(a[j], b[k - j]) for j in range(k + 1)))
