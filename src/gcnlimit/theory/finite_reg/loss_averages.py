r"""What the theory needs of a loss: three averages over a Gaussian output, and two losses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.losses import Loss, Square
from gcnlimit.numerics.gaussian import gaussian_grid

__all__ = ["Eta", "Output", "eta", "eta_at_zero", "expected_envelope", "expected_losses", "slope_at_zero"]


_WIDEST = 1e4  # deviation of an output up to which a loss is averaged: far more than any network has
_GRID = 1 << 20  # numbers held by the grid of one average
_NARROW = 1e-3  # width of a corner below which it is not resolved
_WIDE = 1e-3  # deviation of the output, over that width, from which on it need not be
_LOST = 1e-12  # move of an output, over its size, that is lost in rounding


class Output(NamedTuple):
    r"""Mean and variance of the output :math:`\omega` of a test node, and the response `v` of an output to its own loss."""

    mean: Array
    variance: Array
    v: Array

    def take(self, rows: npt.NDArray[Any]) -> Output:
        """Outputs of some of the points."""
        return Output(*(field[rows] for field in self))


class Eta(NamedTuple):
    r"""Averages of the pull :math:`f(\omega) = (\mathrm{prox}_{v\ell}(\omega) - \omega)/v` of the loss on a labelled node.

    :math:`\eta_1 = \mathbb E f`, :math:`\eta_2 = \mathbb E f^2` and :math:`\eta_3 = -\mathbb E f'`, which is
    :math:`\mathbb E[1 - \mathrm{prox}']/v`, over :math:`\omega \sim \mathcal N(\bar\omega, \sigma^2)`.
    """

    pull: Array
    square: Array
    stiffness: Array


def eta(loss: Loss, output: Output) -> Eta:
    """Return the three averages, closed for the square loss, by quadrature for the others.

    They are NaN where the output is not that of a network: the search that met such a state then steps back.
    """
    if type(loss) is Square:
        mean, variance, v = output
        stiffness = np.where((v > 0.0) & (variance >= 0.0), 1.0 / (1.0 + v), np.nan)
        return Eta((1.0 - mean) * stiffness, ((1.0 - mean) ** 2 + variance) * stiffness**2, stiffness)
    answer = Eta(*(np.full_like(output.v, np.nan) for _ in range(3)))
    for rows in _alike(output):
        part = _eta_by_quadrature(loss, output.take(rows))
        for whole, values in zip(answer, part, strict=True):
            whole[rows] = values
    return answer


def eta_at_zero(loss: Loss, shape: tuple[int, ...]) -> Eta:
    """Return the averages for an output that vanishes: what a labelled node feels at infinite regularization."""
    if type(loss) is Square:
        return Eta(*(np.ones(shape) for _ in range(3)))
    tiny = np.full(shape, 1e-12 if hasattr(loss, "pull") else 1e-9)
    return eta(loss, Output(np.zeros(shape), tiny**2, tiny))


def _eta_by_quadrature(loss: Loss, output: Output) -> Eta:
    omega, weight = _grid(loss, output)
    pull, slope = _pull(loss, omega, output)
    stiffness = _average(weight, slope)
    kinks = _kinks(loss, output)
    if kinks is not None:  # a corner may fall between two numbers: Stein's lemma does not need to see it
        mean, variance, v = output
        away, deviation = omega - mean[:, None], np.sqrt(variance)
        within = np.any(np.abs(kinks - mean) < np.max(np.abs(away), axis=1), axis=0)
        narrow = within & (v < _NARROW) & (deviation > _WIDE * v)
        by_parts = -_average(weight, pull * away)
        stiffness = np.where(narrow, np.maximum(by_parts, 0.0) / np.where(narrow, variance, 1.0), stiffness)
    return Eta(_average(weight, pull), _average(weight, pull**2), stiffness)


def _pull(loss: Loss, omega: Array, output: Output) -> tuple[Array, Array]:
    """Pull of the loss and how it falls with the output, from the loss itself or from its proximal operator.

    The latter moves an output by `v` times the pull, and cannot tell if that is lost in rounding.
    """
    v = output.v[:, None]
    own = getattr(loss, "pull", None)
    if own is not None:
        pull, slope = own(omega, v)
        return np.asarray(pull), np.asarray(slope)
    v = np.where(v > _LOST * np.max(np.abs(omega), axis=1, keepdims=True), v, np.nan)
    return (loss.prox(omega, v) - omega) / v, (1.0 - loss.prox_derivative(omega, v)) / v


def _alike(output: Output) -> Iterator[npt.NDArray[np.intp]]:
    """Rows that are outputs of a network, grouped by their deviation within a factor of two, which share a grid."""
    mean, variance, v = output
    allowed = np.isfinite(mean) & (variance >= 0.0) & (variance < _WIDEST**2) & (v > 0.0) & np.isfinite(v)
    if len(v) == 1:  # the usual case, at once
        yield from (np.zeros(1, int),) if allowed[0] else ()
        return
    octave = np.floor(0.5 * np.log2(np.where(allowed & (variance > 1.0), variance, 1.0)))
    for o in np.unique(octave[allowed]):
        rows = np.flatnonzero(allowed & (octave == o))
        together = max(1, int(_GRID / (60.0 * 2.0**o)))
        yield from (rows[k : k + together] for k in range(0, rows.size, together))


def expected_losses(loss: Loss, output: Output) -> tuple[Array, Array]:
    r"""Return test and train loss, :math:`\mathbb E \ell(\omega)` and :math:`\mathbb E \ell(\mathrm{prox}_{v\ell}(\omega))`."""
    if type(loss) is Square:
        mean, variance, v = output
        test = 0.5 * ((1.0 - mean) ** 2 + variance)
        return test, test / (1.0 + v) ** 2
    test, train = (np.full_like(output.v, np.nan) for _ in range(2))
    for rows in _alike(output):
        omega, weight = _grid(loss, output.take(rows))
        test[rows] = _average(weight, loss.value(omega))
        train[rows] = _average(weight, loss.value(loss.prox(omega, output.v[rows, None])))
    return test, train


def expected_envelope(loss: Loss, output: Output) -> Array:
    r"""Return the average of Moreau's envelope, :math:`\mathbb E \min_x\, [\ell(x) + (x - \omega)^2/2v]`."""
    omega, weight = _grid(loss, output)
    v = output.v[:, None]
    x = loss.prox(omega, v)
    return _average(weight, loss.value(x) + (x - omega) ** 2 / (2.0 * v))


def slope_at_zero(loss: Loss) -> float:
    r"""Return :math:`\ell'(0)`: the point that :math:`\mathrm{prox}_\ell` maps to 0.

    >>> from gcnlimit import Logistic
    >>> round(slope_at_zero(Logistic()), 12)
    -0.5
    """
    from scipy.optimize import brentq

    reach = 1.0
    while not float(loss.prox(-reach, 1.0)) < 0.0 < float(loss.prox(reach, 1.0)):
        reach *= 4.0
        if reach > 1e12:
            raise ParameterError(f"loss = {loss!r} has no finite slope at 0: its prox never changes sign")
    slope = float(brentq(lambda omega: float(loss.prox(omega, 1.0)), -reach, reach, xtol=1e-15, rtol=1e-14))
    if slope >= 0.0:
        raise ParameterError(f"loss = {loss!r} must decrease at 0: its slope there is {slope:g}")
    return slope


def _grid(loss: Loss, output: Output) -> tuple[Array, Array]:
    """Nodes for the output, aware of the kinks of a loss that names them in `breakpoints`."""
    return gaussian_grid(output.mean, np.sqrt(np.maximum(output.variance, 1e-300)), _kinks(loss, output))


def _kinks(loss: Loss, output: Output) -> Array | None:
    """Where the proximal operator of a loss has corners, one row a corner; None if it is smooth."""
    kinks = getattr(loss, "breakpoints", None)
    return None if kinks is None else np.asarray(kinks(output.v), float)


def _average(weight: Array, values: Array) -> Array:
    return np.asarray(np.einsum("bn,bn->b", weight, values))
