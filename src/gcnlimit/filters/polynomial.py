"""The polynomial filter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.filters.action import Block, power_sum
from gcnlimit.filters.base import Filter, SearchScale, to_unit
from gcnlimit.filters.chain import Chain


@dataclass(frozen=True, eq=False, init=False)
class Polynomial(Filter):
    r"""Polynomial filter :math:`g(x) = \sum_{k=0}^K g_k x^k`.

    Parameters
    ----------
    coefficients
        :math:`g_0, \dots, g_K`; the last axis runs over the powers.

    Examples
    --------
    >>> round(float(Polynomial(coefficients=[1.0, 0.0, 2.0])(3.0)), 12)
    19.0
    """

    parameter = "coefficients"
    deep = True
    scale = SearchScale(to=np.positive, back=np.positive, largest=1e6)
    shared = False
    coefficients: Array

    def __init__(self, coefficients: npt.ArrayLike) -> None:
        self._store(coefficients)
        if not np.all(np.any(self.coefficients != 0, axis=-1)):
            raise ParameterError("coefficients are all zero; a filter must let something through")

    @property
    def order(self) -> int:
        """Highest power :math:`K`."""
        return int(self.coefficients.shape[-1]) - 1

    def quadrature_nodes(self) -> npt.NDArray[np.int64]:
        """Four times the order, and one."""
        return np.full(self.shape, 4 * self.order + 1)

    def normalized(self, x: Array) -> tuple[Array, Array]:
        """Horner's rule in :math:`x / max|x|`, on coefficients scaled to match."""
        x, _ = np.broadcast_arrays(x, np.zeros((*self.shape, 1)))
        largest = np.max(np.abs(x), axis=-1, keepdims=True)
        largest = np.where(largest > 0, largest, 1.0)
        with np.errstate(divide="ignore"):
            size = np.log(np.abs(self.coefficients)) + np.arange(self.order + 1) * np.log(largest)
        top = np.max(size, axis=-1)
        weights = np.exp(size - top[..., None]) * np.sign(self.coefficients)
        g = np.zeros(x.shape)
        for k in range(self.order, -1, -1):
            g = g * (x / largest) + weights[..., k, None]
        g, more = to_unit(g)
        return g, top + more

    def chain(self, *, accuracy: float = 1e-12, radius: npt.ArrayLike = 2.0) -> Chain:
        """Powers of the operator, read out with the coefficients."""
        return Chain.polynomial(self.coefficients)

    def series(self, operator: Any, block: Block, accuracy: float, shape: tuple[int, ...]) -> Block:
        """Powers of the operator."""
        weights = self.coefficients.T.reshape(self.order + 1, *shape)
        return power_sum(weights, operator, block)
