"""Calibration: how sure a classifier is, how sure it should be, and what one temperature repairs."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from gcnlimit._validation import as_real
from gcnlimit._values import Array, Integers, Numbers
from gcnlimit.errors import ParameterError
from gcnlimit.numerics.leave_one_out import best_sharpness
from gcnlimit.results.pictures import ready_axes
from gcnlimit.results.result import Result
from gcnlimit.results.text import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 10  # of equally many nodes, by confidence
_FARTHEST = 700.0  # logit whose exponential is a number


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Result):
    r"""Calibration on test nodes, outputs read as logits; each field is a float, or an array over the parameters.

    Parameters
    ----------
    slope
        The :math:`b` for which :math:`\sigma(bh)`, or the softmax of :math:`b` times the outputs, is the true probability
        (Eqs. 14.1 and 14.6), or nearest to it in log loss. Above 1 the network is under-confident, below 1 over-confident.
    accuracy, confidence
        Fraction of nodes classified correctly, and mean probability of the class that was chosen.
    expected_error
        Expected calibration error, the mean distance of the two at equal confidence. A measured one is the mean over tenths
        of the nodes, by confidence, minus what the scatter of that many nodes adds.
    log_loss, brier
        Mean negative log probability of the true class, and half the mean squared distance of the probabilities from it.
    calibrated_log_loss, calibrated_brier
        The same after outputs were divided by the best temperature.
    classes
        Number of classes.
    bins
        Of a measured one, mean confidence and accuracy in each tenth of the nodes, along the last axis.
    """

    slope: Numbers
    accuracy: Numbers
    confidence: Numbers
    expected_error: Numbers
    log_loss: Numbers
    brier: Numbers
    calibrated_log_loss: Numbers
    calibrated_brier: Numbers
    classes: int = 2
    bins: tuple[Array, Array] | None = field(default=None, kw_only=True)

    _plotted = "expected_error"

    @property
    def temperature(self) -> Numbers:
        """Temperature by which outputs are to be divided: one over the slope."""
        with np.errstate(divide="ignore"):
            inverse = 1.0 / np.asarray(self.slope)
        return inverse if inverse.ndim else float(inverse)

    @property
    def signed_error(self) -> Numbers:
        """Accuracy minus confidence: positive if the network is under-confident."""
        return self.accuracy - self.confidence

    def reliability(self, confidence: ArrayLike) -> Array:
        r"""Accuracy among nodes that are classified with a given confidence, :math:`\sigma(b\,\mathrm{logit})`; two classes.

        It has the shape of the points, then that of `confidence`; a measured one is that of the slope.

        >>> p = Calibration(2.0, 0.8, 0.7, 0.1, 0.5, 0.2, 0.4, 0.15)
        >>> p.reliability([0.5, 0.6, 0.7]).round(3)  # under-confident
        array([0.5  , 0.692, 0.845])
        """
        if self.classes != 2:
            only = f"of one confidence for two classes only, not for {self.classes}"
            raise ParameterError(f"reliability is a function {only}; use expected_error")
        confidence = np.asarray(as_real("confidence", confidence, low=0.5, high=1.0))
        slope = np.asarray(self.slope).reshape(np.shape(self.slope) + (1,) * confidence.ndim)
        with np.errstate(invalid="ignore"):
            odds = slope * scipy.special.logit(confidence)
            return np.asarray(scipy.special.expit(np.where(confidence == 0.5, 0.0, odds)))

    def plot(self, name: str | None = None, *, axes: Axes | None = None) -> Axes:
        """Draw one quantity over the parameters that vary, as of any result; of a single point, the reliability."""
        alone = name is None and not np.ndim(self.slope)
        return self.plot_reliability(axes) if alone else super().plot(name, axes=axes)

    def plot_reliability(self, axes: Axes | None = None) -> Axes:
        """Draw accuracy against confidence, a curve for each point, and dots where it was measured (needs Matplotlib)."""
        axes, ends = ready_axes(axes), (1.0 / self.classes, 1.0)
        axes.plot(ends, ends, color="0.7", linewidth=1, label="calibrated")
        if self.classes == 2:
            x = np.linspace(*ends, 101)
            lines = axes.plot(x, self.reliability(x).reshape(-1, x.size).T)
            columns = self.coordinates.columns(shape := np.shape(self.slope)).items()
            named = ([f"{n} = {number(v)}" for v in x] for n, x in [*columns][: len(shape)])
            if shape:
                axes.legend(lines, [*map(", ".join, zip(*named, strict=True))], frameon=False)
        if self.bins is not None:
            axes.set_prop_cycle(None)
            axes.plot(*(part.reshape(-1, BINS).T for part in self.bins), "o")
        axes.set(xlabel="confidence", ylabel="accuracy", xlim=ends)
        return axes

    def _shown(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in CALIBRATED}


CALIBRATED = tuple(f for f in fields(Calibration) if not f.kw_only and f.name != "classes")
"""The fields that are numbers."""

ROWS = 9 + 2 * BINS
"""Length of the column of `calibration_column`."""


def calibration_column(logits: Array, class_index: Integers, vanish: bool = False) -> Array:
    """Numbers that `measured_calibration` takes, of logits (nodes by classes) and the true classes; NaN without a node.

    If the logits `vanish`, they are known up to a factor that is 0.
    """
    nodes, classes = logits.shape
    if not nodes:
        return np.full(ROWS, np.nan)
    true = np.arange(classes) == class_index[:, None]
    ahead = logits[~true].reshape(nodes, -1) - logits[true][:, None]  # of the true class
    right = np.all(ahead <= 0.0, axis=1) / (1.0 + np.sum(ahead == 0.0, axis=1))  # a tie is shared
    slope = np.inf if np.any(ahead < 0.0) else 1.0  # if no node is wrong
    if np.any(ahead > 0.0):
        slope = float(best_slope(ahead[None], np.full(nodes, 1.0 / nodes))[0])
    confidence, *scores = _scores(0.0 if vanish else 1.0, ahead)
    bins = np.full((2, BINS), np.nan)
    if nodes >= BINS:
        parts = np.array_split(np.argsort(confidence, kind="stable"), BINS)
        bins[:] = [[v[part].mean() for part in parts] for v in (confidence, right)]
    means = right.mean(), confidence.mean(), np.mean(right - confidence)
    told = np.inf if vanish else slope
    return np.array([nodes, told, *means, *scores, *_scores(slope, ahead)[1:], *bins.ravel()])


def _scores(slope: float, ahead: Array) -> tuple[Array, float, float]:
    """Confidence at each node, log loss and Brier score, from how far other classes are ahead of the true one."""
    with np.errstate(invalid="ignore"):  # an infinite slope times a tie
        others = np.exp(np.minimum(np.nan_to_num(slope * ahead, nan=0.0), _FARTHEST))
    total = 1.0 + np.sum(others, axis=1)
    p = others / total[:, None]
    brier = 0.5 * (np.sum(p, axis=1) ** 2 + np.sum(p**2, axis=1))
    best = np.maximum(1.0, others.max(axis=1)) / total
    return best, float(np.mean(np.log(total))), float(np.mean(brier))


def best_slope(ahead: Array, weight: Array) -> Array:
    """Factor of logits of least log loss; other classes are `ahead` of the true one, at nodes of these weights: points first."""
    unit = np.mean(np.abs(ahead), axis=2) @ weight / np.sum(weight)  # squares may underflow
    # the true class first, at 0
    outputs = np.pad(ahead / unit[:, None, None], ((0, 0), (0, 0), (1, 0)))
    start, infinite = np.ones(unit.shape), np.full(unit.shape, np.inf)
    slope = best_sharpness(outputs, np.zeros(1), weight, start, (-infinite, infinite))
    return np.asarray(slope / unit)


def measured_calibration(rows: Array, classes: int, trials: int = 1) -> Calibration:
    """Calibration from means of `calibration_column` over trials, along the first axis; with 0 trials, from standard errors."""
    nodes, slope, right, sure, signed, log_loss, brier, *repaired = rows[: ROWS - 2 * BINS]
    sure_in, right_in = np.moveaxis(rows[-2 * BINS :].reshape(2, BINS, *slope.shape), 1, -1)
    error = signed
    if trials:
        # the scatter of so many nodes would be taken for an error
        noise = right_in * (1.0 - right_in) * BINS / (trials * nodes[..., None])
        error = np.sqrt(np.maximum((right_in - sure_in) ** 2 - noise, 0.0)).mean(axis=-1)
    numbers = (slope, right, sure, error, log_loss, brier, *repaired)
    each: list[Any] = [part if np.ndim(part) else float(part) for part in numbers]
    return replace(Calibration(*each), classes=classes, bins=(sure_in, right_in))
