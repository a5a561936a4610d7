r"""Margins of networks on one graph of :math:`N` nodes, as functions of its overlaps and of a few Gaussian numbers (Eq. 10.23).

The weights at infinite regularization are :math:`w = X^T q`, :math:`q = g(a) R y`. Of the noise of the features, the rows along
the vectors :math:`q` of the networks and the columns along their weights are written out; the rest is a uniform direction.
Outputs are then sums of functions of the operator applied to a few directions: that of the labels, that of the choice of the
labelled nodes, and one for the noise of each network. Margins are differentiated by an imaginary step in all that fluctuates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.theory.overlaps import Profile, profile

Power = tuple[int, ...]
Vector = dict[Power, Any]
"""Functions of the operator, products of the filters to these powers, and the directions that they are applied to."""

_STEP = 1e-30  # imaginary step of exact derivatives


class SampledMargins(NamedTuple):
    """Margins of networks, correlation of the noise of their outputs on test nodes, and :math:`N` times their covariance."""

    margin: Array
    correlation: Array
    covariance: Array


def sampled_margins(series: Sequence[Array], signal: float, alpha: float, mu: float, rho: float) -> SampledMargins:
    """Return the margins of one or two networks, whose filters are Laurent series, and how they fluctuate over graphs.

    >>> one = sampled_margins([np.array([1.0])], 0.0, 2.0, 1.5, 0.3)  # without a graph
    >>> q = 1.5 * 0.3
    >>> bool(np.allclose(one.margin**2, 1.5 / 2.0 * q / (1 + q)))
    True
    """
    count = len(series)
    profiles = _profiles(series, signal)
    model = _Model(count, alpha, mu, rho)
    means = {power: _mean(p, count + 2) for power, p in profiles.items()}
    margin, correlation = model.margins(means, np.zeros(model.numbers))
    covariance = np.zeros((count, count))
    for i, j in combinations_with_replacement(range(count + 2), 2):
        slopes = [model.slope(means, power, i, j) for power in profiles]
        moves = np.array([p.fluctuation(i, j) for p in profiles.values()])
        change = np.array(slopes).T @ moves
        covariance += change @ change.T
    noise = np.array([model.noise_slope(means, k) for k in range(model.numbers)])
    return SampledMargins(margin.real, correlation.real, covariance + noise.T @ noise)


def _profiles(series: Sequence[Array], signal: float) -> dict[Power, Profile]:
    """Profiles of the products of the filters up to the fourth degree, all of one length."""
    powers = [power for power in product(range(5), repeat=len(series)) if 0 < sum(power) <= 4]
    made: dict[Power, Array] = {(0,) * len(series): np.ones(1)}
    for power in sorted(powers, key=sum):
        k = next(k for k, p in enumerate(power) if p)
        made[power] = np.convolve(made[(*power[:k], power[k] - 1, *power[k + 1 :])], series[k])
    length = max(len(made[power]) // 2 + 1 for power in powers)
    return {power: profile(made[power], signal, length) for power in powers}


def _mean(p: Profile, directions: int) -> Array:
    return np.diag(np.concatenate([p.J[:1], np.full(directions - 1, p.f[0])])).astype(complex)


class _Model:
    """The margins as a function of the overlaps of each product of filters and of Gaussian numbers of variance 1/N."""

    def __init__(self, count: int, alpha: float, mu: float, rho: float) -> None:
        self.count, self.alpha, self.mu, self.rho = count, alpha, mu, rho
        self.gram = list(combinations_with_replacement(range(count + 1), 2))
        self.numbers = len(self.gram) + sum(3 + k for k in range(count))

    def slope(self, means: dict[Power, Array], power: Power, i: int, j: int) -> Array:
        """Derivative of the margins in one overlap."""
        moved = means[power].copy()
        moved[i, j] += 1j * _STEP
        moved[j, i] = moved[i, j]
        return self.margins(means | {power: moved}, np.zeros(self.numbers))[0].imag / _STEP

    def noise_slope(self, means: dict[Power, Array], k: int) -> Array:
        """Derivative of the margins in one Gaussian number."""
        return self.margins(means, 1j * _STEP * np.eye(self.numbers)[k])[0].imag / _STEP

    def margins(self, means: dict[Power, Array], noise: Array) -> tuple[Array, Array]:
        """Margins, and correlation of the outputs' noise on test nodes."""
        overlaps, zero = means | {(0,) * self.count: np.eye(self.count + 2)}, (0,) * self.count
        unit = np.eye(self.count + 2)
        root, rest = np.sqrt(self.rho), np.sqrt(1.0 - self.rho)

        def dot(x: Vector, y: Vector) -> Any:
            terms = (x[p] @ overlaps[tuple(map(sum, zip(p, q, strict=True)))] @ y[q] for p in x for q in y)
            return sum(terms)

        known: Vector = {zero: root * unit[0] + rest * unit[1]}  # v_R
        hidden: Vector = {zero: rest * unit[0] - root * unit[1]}  # v_T
        q = [self._filtered(k, _times(root, known)) for k in range(self.count)]
        basis = _orthonormal(q, dot)
        gram, directions = self._gram(noise), self._directions(noise)
        weights = [np.array([np.sqrt(self.mu) * dot({zero: unit[0]}, x), *(dot(b, x) for b in basis)]) for x in q]
        factors = _factor(np.array([[w @ gram @ v for v in weights] for w in weights]))
        across = [_plus({zero: d}, *(_times(-dot(b, {zero: d}), b) for b in basis)) for d in directions]
        outputs = []
        for k, w in enumerate(weights):
            pull = gram @ w
            parts = [_times(np.sqrt(self.mu) * pull[0], {zero: unit[0]})]
            parts += [_times(p, b) for p, b in zip(pull[1:], basis, strict=True)]
            parts += [_times(f, a) for f, a in zip(factors[k], across, strict=True)]
            outputs.append(self._filtered(k, _plus(*parts)))
        along = np.array([dot(hidden, h) for h in outputs])
        seen = np.array([dot(known, h) for h in outputs])
        square = np.array([[dot(h, k) for k in outputs] for h in outputs])
        square = square - np.outer(along, along) - np.outer(seen, seen)
        size = np.sqrt(np.diag(square))
        return along / rest / size, square / np.outer(size, size)

    def _filtered(self, k: int, x: Vector) -> Vector:
        """Filter of network `k` applied to a vector."""
        return {(*p[:k], p[k] + 1, *p[k + 1 :]): v for p, v in x.items()}

    def _gram(self, noise: Array) -> Array:
        """Products of the class means and of the noise along each vector q, over the number of nodes."""
        gram = np.eye(self.count + 1, dtype=complex)
        for (i, j), n in zip(self.gram, noise, strict=False):
            gram[i, j] += np.sqrt(self.alpha) * n * (np.sqrt(2.0) if i == j else 1.0)
            gram[j, i] = gram[i, j]
        return gram / self.alpha

    def _directions(self, noise: Array) -> list[Array]:
        """Directions of the noise of the inputs, each with its own beside what it has of those before it."""
        left = iter(noise[len(self.gram) :])
        directions = []
        for k in range(self.count):
            d = np.zeros(self.count + 2, complex)
            d[: 2 + k] = [next(left) for _ in range(2 + k)]
            d[2 + k] = np.sqrt(1.0 + np.sqrt(2.0) * next(left))
            directions.append(d)
        return directions


def _orthonormal(vectors: list[Vector], dot: Callable[[Vector, Vector], Any]) -> list[Vector]:
    """Gram-Schmidt basis."""
    basis: list[Vector] = []
    for x in vectors:
        rest = _plus(x, *(_times(-dot(b, x), b) for b in basis))
        basis.append(_times(1.0 / np.sqrt(dot(rest, rest)), rest))
    return basis


def _plus(*vectors: Vector) -> Vector:
    powers = {p for x in vectors for p in x}
    return {p: sum(x[p] for x in vectors if p in x) for p in powers}


def _times(factor: Any, x: Vector) -> Vector:
    return {p: factor * v for p, v in x.items()}


def _factor(matrix: Array) -> Array:
    """Triangular factor without complex conjugation, which derivatives by an imaginary step need."""
    factor = np.zeros_like(matrix)
    for j in range(len(matrix)):
        for i in range(j):
            factor[j, i] = (matrix[j, i] - factor[j, :i] @ factor[i, :i]) / factor[i, i]
        factor[j, j] = np.sqrt(matrix[j, j] - factor[j, :j] @ factor[j, :j])
    return factor
