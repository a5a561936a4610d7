r"""Fluctuations over graphs of :math:`N` nodes: of overlaps with functions of a symmetric operator, and of margins.

Overlaps :math:`v_i \cdot f(a)\,v_j`, direction 0 that of the labels, fluctuate independently (Eq. 10.20), with covariances
that are sums over the coefficients :math:`f_k` of :math:`U_k(x/2)`, their tails :math:`J_k = \sum_j f_{k+j}\lambda^j` and the
tails :math:`K_k` of these. Products of functions are products of their Laurent series in :math:`\psi`,
:math:`x = \psi + 1/\psi`; a grid on the spectrum would lose the digits that the tails amplify. The margins of networks on
their training graph are functions of these overlaps and of a few Gaussian numbers (Eq. 10.23), differentiated by an imaginary
step in all that fluctuates.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.csbm import SpikedOperator
from gcnlimit.filters import Filter
from gcnlimit.numerics.linear import triangular_factor


class Profile(NamedTuple):
    """Coefficients of a function, their tails, and the tails of these; orders along the last axis."""

    f: Array
    J: Array
    K: Array

    def fluctuation(self, i: int, j: int) -> Array:
        """Vector whose products are :math:`N` times the covariance of the overlaps of directions `i` and `j`."""
        labels = (i, j).count(0)  # how many of the directions are that of the labels
        part = (self.f, self.J, self.K)[labels][..., 1:]
        return part * np.sqrt(2.0) if i == j else part


def laurent(filter: Filter, signal: float) -> Array:
    r"""Laurent coefficients of a filter, from :math:`\psi^{-n}` to :math:`\psi^n`, by its chain of layers.

    >>> from gcnlimit import Polynomial
    >>> laurent(Polynomial([1.0, 0.0, 2.0]), 0.5)  # 1 + 2 (psi + 1/psi)^2
    array([2., 0., 5., 0., 2.])
    """
    size = max(abs(signal), 1.0)
    # precise at the spike too, where the tails sum the coefficients with powers of the signal
    b, c, g = filter.chain(accuracy=1e-16, radius=size + 1.0 / size)
    state = g[-1:].copy()
    for k in range(len(b) - 1, -1, -1):
        state = np.convolve(state, [b[k], c[k], b[k]])
        state[len(state) // 2] += g[k]
    return state


def filter_series(filter: Filter, operator: SpikedOperator) -> Array:
    r"""Laurent series of a filter; on a directed operator that of :math:`\sum_k g_k U_k(x/2)`, with its coefficients."""
    if operator.symmetric:
        return laurent(filter, float(operator.signal))
    signal = operator.signal.reshape(1)
    half = filter.directed_chain(signal).taylor(signal)[0][:, 0].copy()
    # U_k holds psi^k, psi^(k-2), ...: coefficients two apart add up
    for k in range(len(half) - 3, -1, -1):
        half[k] += half[k + 2]
    return np.concatenate([half[:0:-1], half])


def profile(series: Array, signal: float, length: int | None = None) -> Profile:
    """Profile of a function given by its Laurent series, filled with zeros to a length."""
    upper = np.concatenate([series[len(series) // 2 :], np.zeros(2)])
    # and in return the coefficient of U_k is a difference of two
    f = upper[:-2] - upper[2:]
    f = np.concatenate([f, np.zeros((length or f.size) - f.size)])
    J = _tails(f, signal)
    return Profile(f, J, _tails(J, signal))


def _tails(f: Array, signal: float) -> Array:
    tails = f.copy()
    for k in range(f.size - 2, -1, -1):
        tails[k] += signal * tails[k + 1]
    return tails


Power = tuple[int, ...]  # of the filters in a product of them
_STEP = 1e-30  # imaginary step of exact derivatives


def sampled_margins(
    series: Sequence[Array], signal: float, alpha: float, mu: float, rho: float
) -> tuple[Array, Array, Array]:
    """Margins of networks whose filters are Laurent series, correlation of their noise, and N times their covariance.

    >>> margin, _, _ = sampled_margins([np.array([1.0])], 0.0, 2.0, 1.5, 0.3)  # without a graph
    >>> q = 1.5 * 0.3
    >>> bool(np.allclose(margin**2, 1.5 / 2.0 * q / (1 + q)))
    True
    """
    profiles = _profiles(series, signal)
    model = _Model(len(series), alpha, mu, rho)
    means = {power: model.mean(profile) for power, profile in profiles.items()}
    still = np.zeros(model.numbers)
    margin, correlation = model.margins(means, still)
    noise = [model.margins(means, 1j * _STEP * unit)[0].imag / _STEP for unit in np.eye(still.size)]
    covariance = np.transpose(noise) @ noise
    moving = [power for power in profiles if any(power)]
    for i, j in combinations_with_replacement(range(model.directions), 2):
        nudge = np.zeros((model.directions, model.directions), complex)
        nudge[i, j] = nudge[j, i] = 1j * _STEP
        nudged = (means | {p: means[p] + nudge} for p in moving)
        slopes = [model.margins(overlaps, still)[0].imag / _STEP for overlaps in nudged]
        change = np.transpose(slopes) @ [profiles[p].fluctuation(i, j) for p in moving]
        covariance += change @ change.T
    return margin.real, correlation.real, covariance


def _profiles(series: Sequence[Array], signal: float) -> dict[Power, Profile]:
    """Profiles of the products of the filters up to the fourth degree, all of one length."""
    powers = [power for power in product(range(5), repeat=len(series)) if sum(power) <= 4]
    made = {}
    for power in powers:
        repeated = zip(series, power, strict=True)
        factors = [factor for factor, times in repeated for _ in range(times)]
        made[power] = reduce(np.convolve, factors, np.ones(1))
    length = max(map(len, made.values())) // 2 + 1
    return {power: profile(made[power], signal, length) for power in powers}


def _product(p: Sequence[int], q: Sequence[int]) -> Power:
    return tuple(a + b for a, b in zip(p, q, strict=True))


class _Model:
    """The margins as a function of the overlaps of each product of filters and of Gaussian numbers of variance 1/N.

    A vector is a sum of products of filters, up to the second degree, applied to the directions: its coefficients.
    """

    def __init__(self, count: int, alpha: float, mu: float, rho: float) -> None:
        self.count, self.alpha, self.mu, self.rho = count, alpha, mu, rho
        self.directions = count + 2
        self.powers = sorted((p for p in product(range(3), repeat=count) if sum(p) <= 2), key=sum)
        self.gram = list(combinations_with_replacement(range(count + 1), 2))
        self.numbers = len(self.gram) + sum(3 + k for k in range(count))

    def mean(self, p: Profile) -> npt.NDArray[np.complex128]:
        """Mean overlaps of a product of filters."""
        return np.diag(np.append(p.J[0], np.full(self.directions - 1, p.f[0]))).astype(complex)

    def margins(self, overlaps: dict[Power, Any], noise: npt.NDArray[Any]) -> tuple[Array, Array]:
        """Margins, and correlation of the outputs' noise on test nodes."""
        G = np.block([[overlaps[_product(p, q)] for q in self.powers] for p in self.powers])
        unit = np.eye(self.directions, len(G))
        root = np.sqrt(self.rho)
        rest = np.sqrt(1.0 - self.rho)
        labelled = root * unit[0] + rest * unit[1]  # v_R
        hidden = rest * unit[0] - root * unit[1]  # v_T
        # q = g(a) R y, and an orthonormal basis of these; without conjugation, for imaginary steps
        q = self._filtered(np.tile(root * labelled, (self.count, 1)))
        basis = np.linalg.solve(triangular_factor(q @ G @ q.T), q)
        frame = np.concatenate([np.sqrt(self.mu) * unit[:1], basis])
        # features along the class means and q are in the frame, others a fresh direction
        weights = q @ G @ frame.T
        pull = weights @ self._gram(noise)
        fresh = self._directions(noise) @ unit
        across = fresh - fresh @ G @ basis.T @ basis
        h = self._filtered(pull @ frame + triangular_factor(pull @ weights.T) @ across)
        # the noise on test nodes is what is left of the outputs without the labels
        along, seen = h @ G @ hidden, h @ G @ labelled
        square = h @ G @ h.T - np.outer(along, along) - np.outer(seen, seen)
        size = np.sqrt(np.diag(square))
        return along / rest / size, square / np.outer(size, size)

    def _filtered(self, vectors: Array) -> Array:
        """Filter of each network applied to its vector."""
        parts = vectors.reshape(self.count, len(self.powers), -1)
        moved = np.zeros_like(parts)
        for k, single in enumerate(np.eye(self.count, dtype=int).tolist()):
            for place, power in enumerate(self.powers):
                if sum(power) < 2:
                    moved[k, self.powers.index(_product(power, single))] = parts[k, place]
        return moved.reshape(vectors.shape)

    def _gram(self, noise: npt.NDArray[Any]) -> Array:
        """Products of the class means and of the noise along each vector q, over the number of nodes."""
        gram = np.eye(self.count + 1, dtype=noise.dtype)
        for (i, j), n in zip(self.gram, noise, strict=False):
            gram[i, j] += np.sqrt(self.alpha) * n * (np.sqrt(2.0) if i == j else 1.0)
            gram[j, i] = gram[i, j]
        return np.asarray(gram / self.alpha)

    def _directions(self, noise: npt.NDArray[Any]) -> Array:
        """Directions of the noise of the inputs: each is a combination of those before it and of a new one."""
        left = iter(noise[len(self.gram) :])
        directions = np.zeros((self.count, self.directions), noise.dtype)
        for k, d in enumerate(directions):
            d[: 2 + k] = [next(left) for _ in range(2 + k)]
            d[2 + k] = np.sqrt(1.0 + np.sqrt(2.0) * next(left))
        return directions
