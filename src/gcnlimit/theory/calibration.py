r"""How sure a network is, and how sure it should be: outputs given the class are Gaussian (Eqs. 14.1 to 14.7).

An output :math:`h` is read as the probability :math:`\sigma(h)` of the class +1, outputs of several classes by the softmax. With
means :math:`\pm m` and variance :math:`v` the true probability is :math:`\sigma(bh)`, :math:`b = 2m/v`: one slope repairs
everything, and what is left depends on the margin alone. Under a law of degrees the slope grows with the degree.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import expit, log_expit, ndtr, softmax

from gcnlimit._values import Array
from gcnlimit.classes import Classes
from gcnlimit.degrees import DegreeLaw
from gcnlimit.errors import ParameterError
from gcnlimit.numerics.gaussian import gaussian_grid
from gcnlimit.results.calibration import Calibration, best_slope
from gcnlimit.results.performance import scalar_or_array
from gcnlimit.theory.ceiling.amp_layers import softmax_averages
from gcnlimit.theory.decision import accuracy, two_codes

_REACH = 10.0  # standard deviations of an output that carry all of it
_WIDE = np.array([32.0, 28.0, 24.0, 20.0, 17.0, 14.0])  # deviations of logits of many classes
_LAGUERRE = np.polynomial.laguerre.laggauss(40)
_LEGENDRE = np.polynomial.legendre.leggauss(48)
_SURE = (1e-6, 30.0)  # deviations of logits between no evidence and certainty, as good as either
_PANELS = np.array([0.0, 2.0, 6.0, 14.0, 34.0])  # logits below the largest that others count at


def calibration_at(
    classes: Classes, degrees: DegreeLaw | None, outputs: tuple[Array, ...], shape: tuple[int, ...]
) -> Calibration:
    """Calibration of networks from margin, deviation and offset of their outputs, in the shape of the points."""
    margin, deviation, offset = (x.reshape(shape + x.shape[1:]) for x in outputs)
    biased = np.nan_to_num(offset).any()  # as where it was trained for other classes
    if degrees is None and classes.equal and not biased:
        right = accuracy(margin, classes.count)
        return calibration(margin * deviation, deviation, margin, right, classes.count)
    if classes.count > 2 or np.any(deviation == 0.0):
        raise ParameterError(
            "calibration of unequal classes, and under a law of degrees, needs two classes and a "
            "finite reg; take equal classes and leave out degrees, or calibrate on sampled graphs"
        )
    weight = classes.fractions if degrees is None else degrees.weight
    if degrees is None:
        # logits of the own class, whose means differ, mix like those of nodes of other degrees
        upper, lower = two_codes(classes.fractions)
        margin = np.stack([margin * upper + offset, -(margin * lower + offset)], axis=-1)
        deviation = np.broadcast_to(deviation[..., None], margin.shape)
    return _mixed_calibration(margin * deviation, deviation, weight)


def evidence_calibration(
    classes: Classes, degrees: DegreeLaw | None, evidence: Array, shape: tuple[int, ...]
) -> Calibration:
    r"""Calibration of posteriors, and of the best linear network: true probabilities, so that the slope is 1.

    Their logits are those of a field of mean :math:`My` and variance :math:`M` in each direction of the codes (Eq. 14.9).
    """
    two = classes.count == 2
    upper, lower = two_codes(classes.fractions) if two else (0.0, 0.0)
    apart = upper - lower if two else np.sqrt(classes.count)
    deviation = np.clip(apart * np.sqrt(evidence), *_SURE)
    margin = deviation / apart
    offset = np.zeros_like(margin)
    if two and not classes.equal:
        odds = np.log(classes.fractions[0] / classes.fractions[1])
        offset = odds / deviation - 0.5 * margin * (upper + lower)
    sure = calibration_at(classes, degrees, (margin, deviation, offset), shape)
    return replace(sure, slope=scalar_or_array(np.ones(shape)))


def calibration(
    mean: Array, deviation: Array, margin: Array, right: Array, classes: int
) -> Calibration:
    r"""Calibration of equal classes from mean and standard deviation of the output at each point, and their ratio.

    `right` is the fraction of nodes classified correctly. At infinite regularization mean and deviation vanish, their ratio
    does not, and the slope is infinite.

    >>> one = np.ones(1)
    >>> c = calibration(0.5 * one, one, 0.5 * one, ndtr(0.5 * one), classes=2)
    >>> float(c.slope[0]), abs(float(c.expected_error[0])) < 1e-12, bool(c.log_loss == c.calibrated_log_loss)
    (1.0, True, True)
    """
    scores = _two_classes if classes == 2 else partial(_many_classes, classes)
    # logits of C classes lie sqrt(C) times as far apart as the outputs, those of two twice as far
    apart = 2.0 if classes == 2 else np.sqrt(classes)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(deviation == 0.0, np.copysign(np.inf, margin), apart * margin / deviation)
    confidence, *raw = scores(mean, deviation)
    # outputs times the slope: functions of the margin alone
    repaired = scores(apart * margin**2, apart * np.abs(margin))
    # the slope of the truth differs from 1 by the same sign at every output
    error = np.abs(right - confidence)
    columns = (slope, right, confidence, error, *raw, *repaired[1:])
    return replace(Calibration(*map(scalar_or_array, columns)), classes=classes)


def _mixed_calibration(mean: Array, deviation: Array, weight: Array) -> Calibration:
    """Calibration of two classes; the last axis runs over kinds of nodes of that weight, propensities or classes (Eq. 14.7)."""
    z, normal = _normal(np.nanmax(deviation, initial=0.0))
    ahead = -(mean[..., None] + deviation[..., None] * z).reshape(-1, weight.size * z.size, 1)
    slope = best_slope(ahead, np.outer(weight, normal).ravel()).reshape(mean.shape[:-1])
    sure = _two_classes(mean, deviation)
    repaired = _two_classes(slope[..., None] * mean, np.abs(slope)[..., None] * deviation)
    right = ndtr(mean / deviation) @ weight
    error = _mixed_error(mean, deviation, weight)
    confidence, *scores = (score @ weight for score in (*sure, *repaired[1:]))
    return Calibration(*map(scalar_or_array, (slope, right, confidence, error, *scores)))


def _normal(deviation: float) -> tuple[Array, Array]:
    """Nodes and weights of a normal variable, for functions of logits of this deviation."""
    unit = min(max(deviation, 2.0), 500.0)
    x, weight = gaussian_grid(np.zeros(1), np.full(1, unit))
    return x[0] / unit, weight[0]


def _two_classes(mean: Array, deviation: Array) -> tuple[Array, ...]:
    """Confidence, log loss and Brier score of a node of class +1, whose output is a logit (Eqs. 14.2 and 14.3)."""
    # pieces between the threshold and logits that are as good as certain
    ends = np.repeat([[-34.0], [0.0], [34.0]], mean.size, axis=1)
    h, normal = gaussian_grid(mean.ravel(), np.maximum(deviation.ravel(), 1e-300), ends)
    scores = (expit(np.abs(h)) - 0.5, -log_expit(h), expit(-h) ** 2)
    sure, *losses = (np.vecdot(score, normal).reshape(mean.shape) for score in scores)
    return 0.5 + sure, *losses


def _mixed_error(mean: Array, deviation: Array, weight: Array) -> Array:
    r"""Mean distance :math:`\int dh\,|f_+ - \sigma(h)(f_+ + f_-)|` of the true probability from the one read off."""
    # a grid around the mean of each kind, of either sign, since some may be far narrower than their
    # distances; those of kinds that are alike lie between each other
    kinds = weight.size
    count = max(20, 2000 // kinds)
    grid = (np.arange(-count, count + 1) + np.arange(kinds)[:, None] / kinds) * _REACH / count
    h = (mean[..., None] + deviation[..., None] * grid).reshape(*mean.shape[:-1], -1)
    h = np.sort(np.concatenate([h, -h], axis=-1), axis=-1)
    share = 0.5 * weight / deviation / np.sqrt(2.0 * np.pi)
    away = (h[..., None] - mean[..., None, :]) / deviation[..., None, :]
    up = np.vecdot(np.exp(-0.5 * away**2), share[..., None, :])
    down = up[..., ::-1]  # as of -h
    return np.asarray(np.trapezoid(np.abs(up - expit(h) * (up + down)), h))


def _many_classes(C: int, mean: Array, deviation: Array) -> tuple[Array, ...]:
    r"""Scores of softmax outputs: the logit of the true class has the mean :math:`\sqrt C\bar\omega`, others 0 (Eq. 14.6)."""
    scores = np.full((3, mean.size), np.nan)
    for k in np.flatnonzero(np.isfinite(mean)):
        lead, spread = np.sqrt(C) * mean.flat[k], deviation.flat[k]
        if spread <= _WIDE[0]:
            scores[:, k] = _softmax_scores(C, lead, spread)
            continue
        # of wide logits only ties are unsure: a series in 1/deviation
        exact = np.stack([_softmax_scores(C, lead * (x / spread), x) for x in _WIDE])
        exact[:, 1] /= _WIDE
        terms = np.linalg.solve(np.vander(_WIDE[-1] / _WIDE), exact)
        scores[:, k] = (np.vander([_WIDE[-1] / spread], _WIDE.size) @ terms)[0]
        scores[1, k] *= spread
    return tuple(scores.reshape(3, *mean.shape))


def _softmax_scores(C: int, lead: float, spread: float) -> tuple[float, float, float]:
    *moments, log_loss = softmax_averages(lead / C, spread**2 / C, C)
    right, squares = ((1.0 + (C - 1) * x) / C for x in moments)
    return _softmax_confidence(C - 1, lead, spread), log_loss, 0.5 * (squares - 2.0 * right + 1.0)


def _softmax_confidence(others: int, lead: float, deviation: float) -> float:
    r"""Mean largest probability: :math:`\int da\,e^{-a} \prod_j \mathbb E[e^{-ae^{x_j - x}}; x_j < x]` at the largest."""
    sure = float(np.max(softmax(np.append(np.zeros(others), lead))))
    if deviation == 0.0:
        return sure
    # the rule is exact for one probability, in the middle of those that occur
    unit = np.sqrt(sure * min(1.0, sure * np.exp(6.0 * deviation))) if deviation < 2.0 else 1.0
    a, weight = unit * _LAGUERRE[0], unit * np.exp((1.0 - unit) * _LAGUERRE[0]) * _LAGUERRE[1]
    half = 0.5 * np.diff(_PANELS)[:, None]
    below = (_PANELS[:-1, None] + half * (1.0 + _LEGENDRE[0])).ravel()
    factor = (half * _LEGENDRE[1]).ravel() * np.exp(-a[:, None] * np.exp(-below))

    def beaten(largest: Array, centre: float) -> Array:
        """Mean over one competing logit, below the largest, at each value of the largest and each a."""
        if deviation < 1.0:  # nodes in the density, which varies faster than the probabilities
            spread, cut = np.full(largest.size, deviation), np.zeros((1, largest.size))
            apart, normal = gaussian_grid(centre - largest, spread, cut)
            inside = np.where(apart < 0.0, normal, 0.0)
            kept = np.exp(-a * np.exp(apart)[..., None])
            return np.asarray(np.einsum("tn,tna->ta", inside, kept))
        z = (largest[:, None] - below - centre) / deviation
        density = np.exp(-0.5 * z**2) / (deviation * np.sqrt(2.0 * np.pi))
        far = ndtr((largest - _PANELS[-1] - centre) / deviation)
        return np.asarray(density @ factor.T + far[:, None])

    z, normal = _normal(max(deviation, others / 20.0))  # the largest of many varies little
    top = deviation * z
    wrong = beaten(top, lead) * beaten(top, 0.0) ** (others - 1)
    return float(normal @ (beaten(lead + top, 0.0) ** others + others * wrong) @ weight)
