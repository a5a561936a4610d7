"""The unknowns of the chain equations."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple, Self

import numpy as np

from gcnlimit._validation import Array

__all__ = ["State", "outer"]


class State(NamedTuple):
    r"""Unknowns of the equations, first axis over the points; matrices are :math:`K \times K`.

    `m_hat[i]`, `V_hat[i, j]`, `Q_hat[i, j]` are conjugate to layers :math:`i, j < K`.
    """

    m_w: Array
    Q_w: Array
    V_w: Array
    m: Array
    m_hat: Array
    V: Array
    V_hat: Array
    Q: Array
    Q_hat: Array

    @staticmethod
    def blocks(depth: int) -> list[int]:
        """Lengths of the fields when a state is laid out in one row."""
        return [1, 1, 1, depth, depth, *[depth * depth] * 4]

    def scale(self) -> State:
        r"""Size of each entry, whatever the scale of the layers: :math:`\sqrt{V_{ii} V_{jj}}` for :math:`V_{ij}`, and so on.

        :math:`\hat V` counts where it adds to :math:`V^{-1}`.
        """
        V, Q, Q_hat, V_hat = (
            np.sqrt(np.abs(np.einsum("bii->bi", x))) for x in (self.V, self.Q, self.Q_hat, self.V_hat)
        )
        V_hat = np.maximum(V_hat, 1.0 / V)
        m_w, Q_w, V_w = np.sqrt(np.abs(self.Q_w)), np.abs(self.Q_w), np.abs(self.V_w)
        return State(m_w, Q_w, V_w, Q, Q_hat, outer(V, V), outer(V_hat, V_hat), outer(Q, Q), outer(Q_hat, Q_hat))

    def pack(self) -> Array:
        """One row a point."""
        return np.concatenate([field.reshape(len(self.m_w), -1) for field in self], axis=1)

    @classmethod
    def unpack(cls, rows: Array, depth: int) -> Self:
        """Inverse of `pack`."""
        ends = list(accumulate(cls.blocks(depth)))
        parts = [rows[:, end - length : end] for end, length in zip(ends, cls.blocks(depth), strict=True)]
        square = (len(rows), depth, depth)
        return cls(*(p[:, 0] for p in parts[:3]), *parts[3:5], *(p.reshape(square) for p in parts[5:]))


def outer(a: Array, b: Array) -> Array:
    """Products of the entries of two batches of vectors."""
    return np.asarray(a[:, :, None] * b[:, None, :])
