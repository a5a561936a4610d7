r"""Averages of a loss over a Gaussian output (Eqs. 3.7 and 3.12), and of a penalty over a weight in its field (Eq. 3.31).

A weight is :math:`w^* = \arg\min_w r\gamma(w) + \frac12 \hat V_w w^2 - Bw` in a field :math:`B` of variance
:math:`\hat Q_w + \hat m_w^2`. By Stein's lemma :math:`V_w = \frac1\alpha \mathbb E \frac{\partial w^*}{\partial B}`,
:math:`m_w = \hat m_w V_w` and :math:`Q_w = \frac1\alpha \mathbb E (w^*)^2`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.losses import Loss
from gcnlimit.numerics.gaussian import REACH, gaussian_grid, legendre_grid
from gcnlimit.numerics.linear import batches
from gcnlimit.numerics.roots import first_root
from gcnlimit.penalties import Penalty
from gcnlimit.results.order_parameters import Output, Weights
from gcnlimit.results.performance import scalar_or_array

_WIDEST = 1e4  # deviation of an output up to which a grid grows with it
_UTMOST = 1e20  # and up to which others serve, for nodes of hardly any edges
_GRID = 1 << 20  # numbers held by the grid of one average
_NARROW = 1e-3  # width v of a corner below which Stein's lemma replaces the derivative
_NEGLIGIBLE = 1e-13  # part of an average that the ends of its range may have
_WIDE = 1e-3  # deviation of the output over v, below which the grid resolves the corner anyway
_IN_PIECES = 8.0  # deviation above which the proximal points are laid out instead of the outputs
_ONE_GRID = 5.5  # stands for the octave of all such outputs, whose grids are as long
_CUTS = REACH * np.linspace(-1.0, 1.0, 5)  # in deviations of the output


class Eta(NamedTuple):
    r"""Averages of the pull :math:`f(\omega) = (\mathrm{prox}_{v\ell}(\omega) - \omega)/v` of the loss on a labelled node.

    :math:`\eta_1 = \mathbb E f`, :math:`\eta_2 = \mathbb E f^2` and :math:`\eta_3 = -\mathbb E f'`, which is
    :math:`\mathbb E[1 - \mathrm{prox}']/v` (Eq. 3.7), over :math:`\omega \sim \mathcal N(\bar\omega, \sigma^2)`.
    """

    pull: Array
    square: Array
    stiffness: Array


def eta(loss: Loss, output: Output) -> Eta:
    """Return the three averages, in closed form where the loss has one, else by quadrature.

    They are NaN where the output is not that of a network: the search that met such a state then steps back.
    """
    closed = loss.gaussian_pull(*output)
    if closed is not None:
        return Eta(*closed)
    answer = Eta(*(np.full_like(output.v, np.nan) for _ in range(3)))
    mean, variance, v = output
    # within a million deviations of 0, and of a response that leaves proximal points their digits
    wide = (variance > _IN_PIECES**2) & (np.hypot(1e20 * mean, v) < 1e26 * np.sqrt(variance))
    pieces = loss.pieces if wide.any() else None
    for rows in _alike(loss, output, wide & (pieces is not None)):
        part = output.take(rows)
        by_pieces = pieces is not None and wide[rows[0]]
        found = _eta_by_pieces(loss, part, pieces) if by_pieces else _eta_by_quadrature(loss, part)
        for whole, values in zip(answer, found, strict=True):
            whole[rows] = values
    return answer


def eta_at_zero(loss: Loss, shape: tuple[int, ...]) -> Eta:
    """Return the averages for an output that vanishes, as at infinite regularization."""
    tiny = np.full(shape, loss.smallest_response)
    return eta(loss, Output(np.zeros(shape), tiny**2, tiny))


def _eta_by_quadrature(loss: Loss, output: Output) -> Eta:
    omega, weight = _grid(loss, output)
    pull, slope = loss.pull(omega, output.v[:, None])
    stiffness = np.vecdot(weight, slope)
    kinks = loss.breakpoints(output.v)
    if kinks is not None:  # kinks narrower than the grid: Stein's lemma, Eq. 6.5
        mean, variance, v = output
        away = omega - mean[:, None]
        deviation = np.sqrt(variance)
        # a kink that the grid does not reach, or a narrow output, needs no other rule
        within = np.any(np.abs(kinks - mean) < np.max(np.abs(away), axis=1), axis=0)
        narrow = within & (v < _NARROW) & (deviation > _WIDE * v)
        by_parts = np.maximum(-np.vecdot(weight, pull * away), 0.0)
        stiffness = np.where(narrow, by_parts / np.where(narrow, variance, 1.0), stiffness)
    return Eta(np.vecdot(weight, pull), np.vecdot(weight, pull**2), stiffness)


def _eta_by_pieces(loss: Loss, output: Output, pieces: Any) -> Eta:
    r"""The averages over the proximal points :math:`x` of wide outputs, :math:`x + v\ell'(x)`, in pieces of the loss."""
    mean, variance, v = (part[:, None] for part in output)
    deviation = np.sqrt(variance)
    cuts = loss.prox(mean + deviation * _CUTS, v)
    edges = np.concatenate([cuts, np.clip(pieces, cuts[:, :1], cuts[:, -1:])], axis=1)
    x, length = legendre_grid(np.sort(edges, axis=1))
    slope, curvature = loss.in_pieces(x)
    last = loss.in_pieces(cuts[:, -1])[0]
    unit = (x + v * slope - mean) / deviation
    # integrals by parts: v times the curvature, of fewer digits, is not in them
    turned = length * curvature
    above = turned * ndtr(unit)
    density = np.exp(-0.5 * unit**2) / (np.sqrt(2.0 * np.pi) * deviation)
    square = last**2 - 2.0 * np.vecdot(above, slope)
    return Eta(np.sum(above, axis=1) - last, square, np.vecdot(turned, density))


def _alike(loss: Loss, output: Output, wide: Any = False) -> Iterator[npt.NDArray[np.intp]]:
    """Rows that are outputs of a network, grouped by their deviation within a factor of two, which share a grid."""
    mean, variance, v = output
    allowed = np.isfinite(mean) & (variance >= 0.0) & (v > 0.0) & np.isfinite(v)
    far = allowed & (variance >= _WIDEST**2)
    if far.any():
        fixed = loss.breakpoints(v) is not None or loss.pieces is not None
        allowed &= variance < (_UTMOST if fixed else _WIDEST) ** 2
    # the length of a grid grows with the deviation: one wide output would lengthen all
    octave = np.floor(0.5 * np.log2(np.where(allowed & (variance > 1.0), variance, 1.0)))
    octave = np.where(far | wide, _ONE_GRID + far, octave)
    for o in np.unique(octave[allowed]):
        rows = np.flatnonzero(allowed & (octave == o))
        together = max(1, int(_GRID / (60.0 * 2.0**o)))
        yield from (rows[part] for part in batches(rows.size, together))


def expected_losses(loss: Loss, output: Output) -> tuple[Array, Array]:
    r"""Losses, Eq. 3.12: :math:`\mathbb E \ell(\omega)` and :math:`\mathbb E \ell(\mathrm{prox}_{v\ell}(\omega))`."""
    closed = loss.gaussian_losses(*output)
    if closed is not None:
        return closed
    test, train = (np.full_like(output.v, np.nan) for _ in range(2))
    for rows in _alike(loss, output):
        omega, weight = _grid(loss, output.take(rows))
        train[rows] = np.vecdot(weight, loss.value(loss.prox(omega, output.v[rows, None])))
        # a loss may grow as an exponential does: wider, until the ends do not matter
        for wider in (1.0, 2.0, 4.0):
            parts = weight * loss.value(omega)
            total, ends = np.sum(parts, axis=1), np.max(np.abs(parts[:, [0, -1]]), axis=1)
            found = (
                np.isnan(test[rows]) & np.isfinite(total) & (ends <= _NEGLIGIBLE * np.abs(total))
            )
            test[rows[found]] = total[found]
            if not np.isnan(test[rows]).any():
                break
            omega, weight = _grid(loss, output.take(rows), 2.0 * wider * REACH)
    return test, train


def slope_at_zero(loss: Loss) -> float:
    r"""Return :math:`\ell'(0)`, from the right; where only the proximal operator is given, the point that it maps to 0."""
    if loss.slope_at_zero is not None:
        return loss.slope_at_zero
    slope: float | None
    if loss.has_derivatives:
        slope = float(loss.derivatives(0.0)[0])
    else:
        intervals = ((-reach, reach) for reach in 4.0 ** np.arange(20))
        slope = first_root(lambda x: float(loss.prox(x, 1.0)), intervals, rtol=1e-14)
    if slope is None:
        told = f"loss = {loss!r} has no finite slope at 0: its prox never changes sign"
        raise ParameterError(f"{told}; take a loss that is differentiable there")
    if slope >= 0.0:
        told = f"loss = {loss!r} does not pull outputs to their labels: its slope at 0 is {slope:g}"
        raise ParameterError(f"{told}; take a loss that decreases there")
    return slope


def _grid(loss: Loss, output: Output, reach: float = REACH) -> tuple[Array, Array]:
    """Quadrature nodes for the output, in panels that end at the kinks of the proximal operator.

    Panels of an output beyond the widest end at the pieces of the loss, and where the proximal point is at these.
    """
    deviation = np.sqrt(np.maximum(output.variance, 1e-300))
    ends = loss.breakpoints(output.v)
    if ends is None and loss.pieces is not None and np.min(deviation) >= _WIDEST:
        pieces, slope = loss.pieces[:, None], loss.in_pieces(loss.pieces)[0][:, None]
        ends = np.concatenate([pieces + 0.0 * output.v, pieces + slope * output.v])
    return gaussian_grid(output.mean, deviation, ends, reach)


def weight_law(
    penalty: Penalty, alpha: Array, reg: Array, V_hat: Array, variance: Array
) -> tuple[Array, Array]:
    """Order parameters :math:`V_w` and :math:`Q_w` of weights in a field of given variance; NaN if all are 0."""
    pull = reg + V_hat  # a field of this size moves a weight by about 1
    v = reg / V_hat
    kinks = penalty.breakpoints(v)
    kinks = None if kinks is None else kinks * V_hat / pull
    at, weight = gaussian_grid(np.zeros_like(pull), np.sqrt(variance) / pull, kinks)
    # the grid is laid where the field moves weights, in units that no regularization makes large
    omega = at * (pull / V_hat)[:, None]
    w = penalty.prox(omega, v[:, None])
    slope = np.vecdot(weight, penalty.prox_derivative(omega, v[:, None]))
    V_w = np.where(slope > 0.0, slope, np.nan) / (alpha * V_hat)
    return V_w, np.vecdot(weight, w**2) / alpha


def nonzero_weights(penalty: Penalty, reg: Array, weights: Weights) -> Any:
    r"""Fraction of the weights that are not 0: how likely the field :math:`B` (Eq. 3.31) leaves the corner of the penalty.

    None for a penalty that has none.
    """
    with np.errstate(all="ignore"):
        # between the two kinks of its prox a penalty holds weights at 0
        edges = penalty.breakpoints(reg / np.asarray(weights.V_hat))
        if edges is None:
            return None
        field = np.asarray(weights.Q_hat) + np.asarray(weights.m_hat) ** 2
        deviation = np.sqrt(field) / weights.V_hat
        low, high = np.min(edges, axis=0), np.max(edges, axis=0)
        return scalar_or_array(ndtr(low / deviation) + ndtr(-high / deviation))
