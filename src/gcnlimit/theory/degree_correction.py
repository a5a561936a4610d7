"""How far the accuracy at a finite mean degree is from that of large degree."""

from __future__ import annotations

import warnings
from typing import NamedTuple

from gcnlimit._validation import check_types, number
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.theory.bayes import bayes_optimal


class DegreeCorrection(NamedTuple):
    """Accuracy at finite degree less that at large degree, of the Bayes-optimal classifier, and its standard error."""

    accuracy: float
    standard_error: float


def degree_correction(
    data: CSBM, degree: float, *, tolerance: float = 0.005, population: int = 3000, sweeps: int = 40, seed: int = 0
) -> DegreeCorrection:
    r"""Correction of the accuracy at mean degree `degree`, with a warning if it is larger than `tolerance`.

    It is that of the ceiling, by population dynamics (Eq. 9.6). The accuracies of networks move by about as much (measured:
    by up to 1.6 times as much, and often by less), so that it says whether `predict` can be trusted at this degree. With two
    equal classes the correction falls as :math:`1/d`, and with more, or unequal ones, as :math:`1/\sqrt d`, with the opposite
    sign of :math:`\lambda` (Eq. 9.8).

    Parameters
    ----------
    data, degree
        The model, of single parameters, and its mean degree.
    tolerance
        Correction of the accuracy up to which there is no warning.
    population, sweeps, seed
        As for `bayes_optimal`.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> found = degree_correction(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), degree=10, population=500, sweeps=20)
    >>> bool(abs(found.accuracy) < 0.005 + 4 * found.standard_error)
    True
    """
    check_types("degree_correction", data=(data, CSBM))
    if data.shape:
        raise ParameterError(
            f"degree_correction takes single parameters, got data of shape {data.shape}; loop over them"
        )
    limit = number("tolerance", tolerance, low=0)
    degree = number("degree", degree, low=0, open_low=True)
    found = bayes_optimal(data, degree=degree, population=population, sweeps=sweeps, seed=seed)
    shift = float(found.test_accuracy) - float(bayes_optimal(data).test_accuracy)
    error = float(found.standard_error.test_accuracy)
    if abs(shift) > limit + 2.0 * error:
        warnings.warn(
            f"at degree {degree:g} the accuracy differs by {shift:+.4f} from that of large degree, which predict computes; "
            "take a larger degree, or compare with bayes_optimal(data, degree=...)",
            stacklevel=2,
        )
    return DegreeCorrection(shift, error)
