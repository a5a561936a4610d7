"""Functions of one variable as polynomials on panels: computed once, then evaluated for many arguments at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.polynomial import chebyshev

from gcnlimit._values import Array

Function = Callable[[Array], Array]


def chebyshev_nodes(degree: int) -> Array:
    """Return the `degree` + 1 zeros of a Chebyshev polynomial, at which a polynomial of that degree is fitted."""
    return np.cos(np.pi * (np.arange(degree + 1.0) + 0.5) / (degree + 1))


def powers(values: Array) -> Array:
    """Coefficients, lowest power first, of the polynomials that take these values at the Chebyshev nodes (first axis)."""
    n = len(values)
    series = chebyshev.chebvander(chebyshev_nodes(n - 1), n - 1).T @ values * (2.0 / n)
    series[0] *= 0.5
    return _to_powers(n) @ series


@cache
def _to_powers(n: int) -> Array:
    """Matrix whose columns are the first `n` Chebyshev polynomials, lowest power first."""
    columns = np.zeros((n, n))
    for k in range(n):
        columns[: k + 1, k] = chebyshev.cheb2poly([0.0] * k + [1.0])
    return columns


class Panels(NamedTuple):
    """A function on panels of equal width from `start`, on each a polynomial in the distance from its middle."""

    start: float
    width: float
    coefficients: Array

    @classmethod
    def fit(cls, function: Function, start: float, width: float, panels: int, degree: int) -> Self:
        """Interpolate a function, called with all the nodes (nodes of a panel along the first axis) at once.

        >>> sine = Panels.fit(np.sin, 0.0, 0.5, panels=4, degree=12)
        >>> bool(np.allclose(sine(np.array([0.3, 1.9])), [np.sin([0.3, 1.9]), np.cos([0.3, 1.9])], atol=1e-13))
        True
        """
        middle = start + width * (np.arange(panels) + 0.5)
        nodes = middle + 0.5 * width * chebyshev_nodes(degree)[:, None]
        return cls(start, width, powers(function(nodes)))

    def __call__(self, x: Array) -> tuple[Array, Array]:
        """Value and derivative; outside the panels the value at their end, and 0."""
        place, t, rows = self._at(x)
        value = next(rows)
        # Horner's rule for the value, and its derivative along with it
        slope = 0.0 * value
        for row in rows:
            slope *= t
            slope += value
            value *= t
            value += row
        outside = (place < 0.0) | (place > self.coefficients.shape[1])
        return np.reshape(value, x.shape), np.where(outside, 0.0, slope * (2.0 / self.width))

    def value(self, x: Array) -> Array:
        """Value alone, in half the time."""
        _, t, rows = self._at(x)
        value = next(rows)
        for row in rows:
            value *= t
            value += row
        return np.reshape(value, x.shape)

    def _at(self, x: Array) -> tuple[Array, Any, Iterator[Any]]:
        """Place in units of panels, distance from the middle of the panel in half widths, and coefficients, highest first."""
        place = (x - self.start) / self.width
        last = self.coefficients.shape[1] - 1.0
        # the first panel for NaN, which the distance keeps
        panel = np.minimum(np.fmax(place, 0.0), last).astype(np.intp)
        t = np.minimum(np.maximum(2.0 * (place - panel) - 1.0, -1.0), 1.0)
        if x.size == 1:  # plain numbers: their arithmetic is the same, and faster
            return place, t.item(), iter(self.coefficients[::-1, panel.item()].tolist())
        return place, t, (row.take(panel, mode="clip") for row in self.coefficients[::-1])
