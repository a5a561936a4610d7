"""Standard errors of predictions whose model was estimated."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.estimated import EstimatedCSBM
from gcnlimit.results.performance import Performance, Prediction, same_everywhere, scalar_or_array

Answer = TypeVar("Answer", bound=Prediction)


def with_errors(answer: Answer, data: CSBM, again: Callable[[CSBM], Performance], directions: int = 16) -> Answer:
    r"""The answer with the standard errors that those of an estimated model imply; as it is for a model that is given.

    With its change :math:`\Delta(z)` at :math:`(\lambda + z_1 \sigma_\lambda, \mu + z_2 \sigma_\mu)`, the error of a field is

    .. math:: \max_z |\Delta(z)|/|z|, \qquad\text{and at least}\quad \bigl(2\, \langle \Delta(z)^2/|z|^2 \rangle\bigr)^{1/2},

    over models one error and two errors away (`EstimatedCSBM.displaced`), the mean over either of the two circles. For small
    errors the mean is that of linear propagation; for large ones, two errors reach the answers of all these models. The error is
    infinite where one of them has no answer, or an error of the model is infinite.
    """
    if not isinstance(data, EstimatedCSBM):
        return answer
    shape = np.shape(answer.test_accuracy)
    if not math.isfinite(4.0 * (data.lam_error + data.mu_error)):
        return replace(answer, standard_error=same_everywhere(np.inf, shape))
    models, distance = data.displaced(directions)
    column = (-1,) + (1,) * len(shape)
    there = again(models.replaced(lam=np.reshape(models.lam, column), mu=np.reshape(models.mu, column)))
    circles = slice(0, 4), slice(4, 4 + directions)

    def error(name: str) -> float:
        return _error(getattr(there, name), getattr(answer, name), distance.reshape(column), circles)

    errors: dict[str, Any] = {"roc_auc": None} | {name: error(name) for name in answer.as_dict()}
    return replace(answer, standard_error=Performance(**errors))


def _error(there: npt.ArrayLike, here: npt.ArrayLike, distance: Array, circles: tuple[slice, ...]) -> float:
    with np.errstate(invalid="ignore"):
        slopes = np.where(np.equal(there, here), 0.0, np.abs(np.subtract(there, here)) / distance)
    slopes = np.where(np.isnan(slopes), np.inf, slopes)
    means = [np.sqrt(2.0 * np.mean(slopes[circle] ** 2, axis=0)) for circle in circles]
    return scalar_or_array(np.max([*means, *slopes], axis=0))  # type: ignore[no-any-return]
