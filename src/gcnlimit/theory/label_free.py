r"""The signal of a graph without a label on it, from how smooth its inputs are (Eq. 10.10); and strengths that follow it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from gcnlimit._values import Array, Integers
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.operator import without_degrees

APART = 3.0  # standard errors between two graphs from which they differ
FEWEST = 30  # nodes with an edge from which a graph says something
SUREST = 30.0  # largest square of the margin that inputs are believed to have


def label_free_signals(operator: Any, inputs: Any, weights: Any = None) -> tuple[float, float]:
    r"""Return estimates of :math:`\lambda'` and :math:`c^2` of a graph from the inputs :math:`z = X'w` alone, without labels.

    They follow from the two overlaps of Eq. 10.10; if the `weights` :math:`w` are given, and the noise of the features has unit
    variance, :math:`|z|^2/N = (1 + c^2)|w|^2` replaces the second. `operator` is anything with ``@``, scaled like the
    library's; arrays are of NumPy or PyTorch. If the first overlap is within its scatter of 0, the graph is uninformative, and
    the answer is ``(0.0, inf)``: it is then best to use no filter.

    >>> rng = np.random.default_rng(1)
    >>> y, noise = np.repeat([1.0, -1.0], 1000), rng.normal(size=(2000, 2000)) / 2000**0.5
    >>> lam, square = label_free_signals(-1.5 / 2000 * np.outer(y, y) + noise, 0.8 * y + rng.normal(size=2000))
    >>> bool(abs(lam + 1.5) < 0.2), bool(abs(square - 0.64) < 0.2)
    (True, True)
    """
    try:
        x1, x2 = input_overlaps(operator, inputs)
        if weights is not None:
            size = max(float((weights**2).sum()), 1e-300)
            square = float((inputs**2).sum()) / len(inputs) / size - 1.0
            x2 = x1**2 * (1.0 + 1.0 / square) if square > 0.0 else 0.0
        uninformative = x1**2 < 8.0 / math.prod(inputs.shape) or x2 <= x1**2
        if not (math.isfinite(x1) and math.isfinite(x2)):
            raise ValueError("they are not finite")
    except Exception as error:  # of whatever was given
        raise ParameterError(f"inputs or operator are no arrays of numbers: {error}") from None
    return (0.0, np.inf) if uninformative else signals_of(x1, x2)


def signals_of(x1: float, x2: float) -> tuple[float, float]:
    r"""Return :math:`\lambda' = x_2/x_1` and :math:`c^2 = x_1^2/(x_2 - x_1^2)` of two overlaps (Eq. 10.10)."""
    return x2 / x1, x1**2 / (x2 - x1**2) if x2 > x1**2 else np.inf


def input_overlaps(operator: Any, inputs: Any) -> tuple[float, float]:
    r"""Overlaps :math:`x_1` and :math:`x_2` of inputs with an operator (Eq. 10.10), over all columns if there are several."""
    carried = operator @ inputs
    size = max(float((inputs**2).sum()), 1e-300)
    return float((inputs * carried).sum()) / size, float((carried**2).sum()) / size - 1.0


class Smoothness(NamedTuple):
    r"""Overlaps :math:`x_1, x_2` of inputs :math:`z` with a graph (Eq. 10.10), and the number of its nodes with an edge."""

    first: float
    second: float
    nodes: int

    @classmethod
    def of(cls, graph: Any, inputs: Array, left_out: Integers | None = None) -> Self:
        """Overlaps on a symmetric graph, its degrees divided out and its noise of unit size; some nodes may be left out."""
        kept = np.ones(graph.shape[0], bool)
        kept[[] if left_out is None else left_out] = False
        part = graph[kept][:, kept]
        joined = np.diff(part.indptr) > 0
        if joined.sum() < FEWEST:
            return cls(0.0, 0.0, 1)
        part = part[joined][:, joined]
        z = inputs[kept][joined]
        S = without_degrees(part)
        noise = (float(np.sum(S.matrix.data**2)) - 1.0) / len(z)
        return cls(*input_overlaps(S / math.sqrt(max(noise, 1e-12)), z - z.mean(axis=0)), len(z))

    @property
    def strength(self) -> float:
        r"""Strength :math:`\lambda/(1 + \lambda^2 + c^2)` of the best filter (Eq. 10.6)."""
        signal, square = signals_of(self.first, self.second)
        return signal / (1.0 + signal**2 + min(square, SUREST))


def relative_strength(trained: Smoothness, new: Smoothness) -> float:
    """Strength of the best filter there over that here; 1 unless the homophily has vanished or changed its sign.

    A graph that is somewhat more or less homophilous is not told from one whose other structure the inputs follow.

    >>> relative_strength(Smoothness(0.5, 0.6, 1000), Smoothness(-0.5, 0.6, 1000))
    -1.0
    >>> relative_strength(Smoothness(0.5, 0.6, 1000), Smoothness(0.2, 0.6, 1000))
    1.0
    """
    error = APART * math.sqrt(2.0 / trained.nodes + 2.0 / new.nodes)
    least = APART * math.sqrt(2.0 / trained.nodes)
    alike = new.first * np.sign(trained.first) > math.sqrt(2.0 / new.nodes)
    if alike or abs(trained.first - new.first) < error or abs(trained.first) < least:
        return 1.0
    return new.strength / trained.strength if new.first else 0.0
