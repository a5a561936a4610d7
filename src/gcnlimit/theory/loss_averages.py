r"""What the theory needs of a loss: three averages over a Gaussian output, and two losses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from gcnlimit._validation import Array
from gcnlimit.errors import ParameterError
from gcnlimit.losses import Loss, Square
from gcnlimit.numerics.gaussian import gaussian_grid

__all__ = ["Eta", "eta", "expected_envelope", "expected_losses", "slope_at_zero"]


class Eta(NamedTuple):
    r"""Averages of the pull :math:`f(\omega) = (\mathrm{prox}_{v\ell}(\omega) - \omega)/v` of the loss on a labelled node.

    :math:`\eta_1 = \mathbb E f`, :math:`\eta_2 = \mathbb E f^2` and :math:`\eta_3 = -\mathbb E f'`, which is
    :math:`\mathbb E[1 - \mathrm{prox}']/v`, over :math:`\omega \sim \mathcal N(\bar\omega, \sigma^2)`.
    """

    pull: Array
    square: Array
    stiffness: Array


def eta(loss: Loss, mean: Array, variance: Array, v: Array) -> Eta:
    """Return the three averages, closed for the square loss, by quadrature for the others."""
    if isinstance(loss, Square):
        stiffness = 1.0 / (1.0 + v)
        return Eta((1.0 - mean) * stiffness, ((1.0 - mean) ** 2 + variance) * stiffness**2, stiffness)
    if len(v) == 1:
        return _eta_by_quadrature(loss, mean, variance, v)
    answer = Eta(*(np.empty_like(v) for _ in range(3)))
    for rows in _alike(variance):
        part = _eta_by_quadrature(loss, mean[rows], variance[rows], v[rows])
        for whole, values in zip(answer, part, strict=True):
            whole[rows] = values
    return answer


def _eta_by_quadrature(loss: Loss, mean: Array, variance: Array, v: Array) -> Eta:
    omega, weight = _grid(loss, mean, variance, v)
    column = v[:, None]
    both = getattr(loss, "prox_with_derivative", None)
    prox, slope = both(omega, column) if both else (loss.prox(omega, column), loss.prox_derivative(omega, column))
    pull = (prox - omega) / column
    return Eta(_average(weight, pull), _average(weight, pull**2), _average(weight, (1.0 - slope) / column))


def _alike(variance: Array) -> list[npt.NDArray[np.intp]]:
    """Rows grouped by the size of their deviation, within a factor of two: they share a grid."""
    octave = np.maximum(np.floor(0.5 * np.log2(variance)), 0.0)
    return [np.flatnonzero(octave == o) for o in np.unique(octave)]


def expected_losses(loss: Loss, mean: Array, variance: Array, v: Array) -> tuple[Array, Array]:
    r"""Return test and train loss, :math:`\mathbb E \ell(\omega)` and :math:`\mathbb E \ell(\mathrm{prox}_{v\ell}(\omega))`."""
    if isinstance(loss, Square):
        test = 0.5 * ((1.0 - mean) ** 2 + variance)
        return test, test / (1.0 + v) ** 2
    omega, weight = _grid(loss, mean, variance, v)
    return _average(weight, loss.value(omega)), _average(weight, loss.value(loss.prox(omega, v[:, None])))


def expected_envelope(loss: Loss, mean: Array, variance: Array, v: Array) -> Array:
    r"""Return the average of Moreau's envelope, :math:`\mathbb E \min_x\, [\ell(x) + (x - \omega)^2/2v]`."""
    omega, weight = _grid(loss, mean, variance, v)
    x = loss.prox(omega, v[:, None])
    return _average(weight, loss.value(x) + (x - omega) ** 2 / (2.0 * v[:, None]))


def slope_at_zero(loss: Loss) -> float:
    r"""Return :math:`\ell'(0)`: the point that :math:`\mathrm{prox}_\ell` maps to 0.

    >>> from gcnlimit import Logistic
    >>> round(slope_at_zero(Logistic()), 12)
    -0.5
    """
    reach = 1.0
    while not float(loss.prox(-reach, 1.0)) < 0.0 < float(loss.prox(reach, 1.0)):
        reach *= 4.0
        if reach > 1e12:
            raise ParameterError(f"loss = {loss!r} has no finite slope at 0: its prox never changes sign")
    slope = float(brentq(lambda omega: float(loss.prox(omega, 1.0)), -reach, reach, xtol=1e-15, rtol=1e-14))
    if slope >= 0.0:
        raise ParameterError(f"loss = {loss!r} must decrease at 0: its slope there is {slope:g}")
    return slope


def _grid(loss: Loss, mean: Array, variance: Array, v: Array) -> tuple[Array, Array]:
    """Nodes for the output, aware of the kinks of a loss that names them in `breakpoints`."""
    kinks = getattr(loss, "breakpoints", None)
    return gaussian_grid(mean, np.sqrt(variance), None if kinks is None else np.asarray(kinks(v), float))


def _average(weight: Array, values: Array) -> Array:
    return np.asarray(np.einsum("bn,bn->b", weight, values))
