"""Standard errors of predictions whose model was estimated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from gcnlimit.csbm import CSBM
from gcnlimit.estimated import EstimatedCSBM
from gcnlimit.performance import Performance, Prediction, scalar_or_array

__all__ = ["with_errors"]

Answer = TypeVar("Answer", bound=Prediction)


def with_errors(answer: Answer, data: CSBM, again: Callable[[CSBM], Performance]) -> Answer:
    r"""The answer with the standard errors that those of an estimated model imply; as it is for a model that is given.

    The square of the error of a field :math:`f(\lambda, \mu)` is

    .. math:: \tfrac12 \sum_\pm \bigl([f(\lambda \pm \sigma_\lambda, \mu) - f]^2 + [f(\lambda, \mu \pm \sigma_\mu) - f]^2\bigr),

    that of linear propagation for small errors, and not 0 where :math:`f` is stationary. It is infinite where one of these
    points has no answer, or an error of the model is infinite.
    """
    if not isinstance(data, EstimatedCSBM):
        return answer
    if not np.isfinite(data.lam_error + data.mu_error):
        unknown = scalar_or_array(np.full(np.shape(answer.test_accuracy), np.inf))
        return replace(answer, standard_error=Performance(*[unknown] * 5))
    there = again(data.displaced(np.ndim(answer.test_accuracy)))
    errors = {f.name: _error(getattr(there, f.name), getattr(answer, f.name)) for f in fields(Performance)}
    return replace(answer, standard_error=Performance(**errors))


def _error(displaced: npt.ArrayLike, value: npt.ArrayLike) -> float:
    with np.errstate(invalid="ignore"):
        squares = np.where(np.equal(displaced, value), 0.0, np.subtract(displaced, value) ** 2)
    error = np.sqrt(0.5 * np.sum(squares, axis=0))
    return scalar_or_array(np.where(np.isnan(error), np.inf, error))  # type: ignore[no-any-return]
