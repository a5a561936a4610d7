"""Calibration: how sure a classifier is, how sure it should be, and what one temperature repairs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from gcnlimit._validation import as_real
from gcnlimit._values import Array, Numbers
from gcnlimit.errors import ParameterError
from gcnlimit.results.result import Result


@dataclass(frozen=True, repr=False)
class Calibration(Result):
    r"""Calibration on test nodes, outputs read as logits; each field is a float, or an array over the parameters.

    Parameters
    ----------
    slope
        The :math:`b` for which :math:`\sigma(bh)`, or the softmax of :math:`b` times the outputs, is the true probability
        (Eqs. 14.1 and 14.6); with hubs the one of the smallest log loss. Above 1 the network is under-confident, below 1
        over-confident.
    accuracy, confidence
        Fraction of nodes classified correctly, and mean probability of the class that was chosen.
    expected_error
        Expected calibration error, the mean distance of the two at equal confidence.
    log_loss, brier
        Mean negative log probability of the true class, and half the mean squared distance of the probabilities from it.
    calibrated_log_loss, calibrated_brier
        The same after outputs were divided by the best temperature.
    classes
        Number of classes.
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

    _plotted = "expected_error"

    @property
    def temperature(self) -> Numbers:
        """Temperature by which outputs are to be divided: one over the slope."""
        with np.errstate(divide="ignore"):
            found = 1.0 / np.asarray(self.slope)
        return found if found.ndim else float(found)

    @property
    def signed_error(self) -> Numbers:
        """Accuracy less confidence: positive if the network is under-confident."""
        return self.accuracy - self.confidence

    def reliability(self, confidence: ArrayLike) -> Array:
        r"""Accuracy among nodes that are classified with a given confidence, :math:`\sigma(b\,\mathrm{logit})`; two classes.

        It has the shape of the points, then that of `confidence`.

        >>> import gcnlimit as gl
        >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
        >>> p = gl.predict(data, gl.GCN(gl.Residual([1.0, 1.0]), "logistic", reg=0.5))
        >>> p.calibration.reliability([0.5, 0.6, 0.7]).round(3)  # under-confident
        array([0.5  , 0.717, 0.875])
        """
        if self.classes != 2:
            raise ParameterError(
                f"reliability is a function of one confidence for two classes only, not for "
                f"{self.classes}; use expected_error"
            )
        confidence = np.asarray(as_real("confidence", confidence, low=0.5, high=1.0))
        slope = np.asarray(self.slope).reshape(np.shape(self.slope) + (1,) * confidence.ndim)
        with np.errstate(invalid="ignore"):
            return np.asarray(expit(np.where(confidence == 0.5, 0.0, slope * logit(confidence))))

    def _shown(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in CALIBRATED}


CALIBRATED = tuple(f for f in fields(Calibration) if not f.kw_only and f.name != "classes")
"""The fields that are numbers."""
