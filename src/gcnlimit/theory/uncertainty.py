r"""Standard errors of answers for estimated models: one decorator, for the functions whose answers carry them.

With the change :math:`\Delta(z)` of an answer at :math:`(\lambda + z_1 \sigma_\lambda, \mu + z_2 \sigma_\mu)`, the signals give

.. math:: \max_z |\Delta(z)|/|z|, \qquad\text{and at least}\quad \bigl(2\, \langle \Delta(z)^2/|z|^2 \rangle\bigr)^{1/2},

over models one error and two errors away (`EstimatedCSBM.displaced`), the mean over either of the two circles. The class
fractions add the root mean square of the change over their posterior (`EstimatedCSBM.other_fractions`). The error is infinite
where one of the models has no answer, or an error of the model is infinite. Errors of two models are independent of each other;
classes of the same fractions are the same classes, whose fractions change together and count once.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.progress import progress_bar
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import GCNLimitError
from gcnlimit.estimated import EstimatedCSBM
from gcnlimit.results.performance import Performance, Prediction, same_everywhere, scalar_or_array

P = ParamSpec("P")
Answer = TypeVar("Answer", bound=Prediction)
_AROUND = 16  # models two errors away
_FEW = 4  # the same where a model takes seconds


def carries_errors(
    function: Callable[P, Answer], nearby: Callable[[CSBM, CSBM], Performance] | None = None
) -> Callable[P, Answer]:
    """Let a function of the models `data`, and perhaps `to`, carry on the errors of estimated ones; it sees plain models alone.

    ``nearby(data, near)`` answers in its place for data near those of the estimate, where several unequal classes take long;
    fewer models are then tried.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def door(*args: P.args, **options: P.kwargs) -> Answer:
        if not any(isinstance(value, EstimatedCSBM) for value in (*args, *options.values())):
            return function(*args, **options)
        arguments = signature.bind(*args, **options).arguments
        estimates = {n: v for n, v in arguments.items() if isinstance(v, EstimatedCSBM)}
        arguments |= {name: estimate.model for name, estimate in estimates.items()}
        again: Callable[..., Any] = function
        answer: Answer = again(**arguments)
        shown = arguments.get("progress")
        # models without an answer are told by their numbers
        arguments |= {name: False for name in ("throw", "progress") if name in signature.parameters}
        around = _Around(answer, arguments, again)
        if nearby is not None:
            near = arguments["data"]
            around = _Around(answer, {"data": near, "near": near}, nearby)
            if near.classes.count > 2 and not near.classes.equal:
                around = around._replace(answer=nearby(near, near), directions=_FEW)
        with progress_bar("carrying on errors", None, shown):
            return replace(answer, standard_error=around.errors(estimates))

    return door


class _Around(NamedTuple):
    """An answer, its arguments, the function that gives it, and how many models two errors away are tried."""

    answer: Performance
    arguments: dict[str, Any]
    function: Callable[..., Performance]
    directions: int = _AROUND

    def again(self, **models: CSBM) -> Performance:
        """The answer for other models."""
        return self.function(**(self.arguments | models))

    def errors(self, estimates: dict[str, EstimatedCSBM]) -> Performance:
        """Errors of the answer from those of its models."""
        unknown = same_everywhere(np.inf, np.shape(self.answer.test_accuracy))
        if any(not math.isfinite(4.0 * (e.lam_error + e.mu_error)) for e in estimates.values()):
            return unknown
        asked = {name: self.arguments.get(name) for name in ("data", "to")}
        models = {name: model for name, model in asked.items() if isinstance(model, CSBM)}
        # classes of the same fractions are the same classes
        shared = models if len({model.classes for model in models.values()}) == 1 else {}
        counted = False
        squares: list[dict[str, Array]] = []
        try:
            for name, estimate in estimates.items():
                squares.append(self._of_signals(name, estimate))
                if estimate.counts is not None and not (shared and counted):
                    squares.append(self._of_fractions(name, estimate, shared))
                    counted = True
        except GCNLimitError:  # a model near the estimate has no answer
            return unknown
        names = self.answer.as_dict()
        errors = {name: np.sqrt(sum(part[name] for part in squares)) for name in names}
        numbers: dict[str, Any] = {name: scalar_or_array(error) for name, error in errors.items()}
        return Performance(**{"roc_auc": None} | numbers)

    def _of_signals(self, name: str, estimate: EstimatedCSBM) -> dict[str, Array]:
        """Squared error of each field from those of the two signals."""
        models, distance = estimate.displaced(self.directions)
        column = (-1,) + (1,) * np.ndim(self.answer.test_accuracy)
        lam, mu = np.reshape(models.lam, column), np.reshape(models.mu, column)
        moved = self.again(**{name: models.having(lam=lam, mu=mu)})
        squares = {}
        for field, value in self.answer.as_dict().items():
            there = np.reshape(getattr(moved, field), (-1, *np.shape(value)))
            slopes = _change(there, value) / distance.reshape(column)
            circles = slopes[:4], slopes[4 : 4 + self.directions]
            means = [np.sqrt(2.0 * np.mean(circle**2, axis=0)) for circle in circles]
            squares[field] = np.max([*means, *slopes], axis=0) ** 2
        return squares

    def _of_fractions(
        self, name: str, estimate: EstimatedCSBM, shared: dict[str, CSBM]
    ) -> dict[str, Array]:
        """Squared error of each field from that of the class fractions, degrees taken as alike."""
        reference = self.answer
        if estimate.degrees is not None:
            reference = self.again(**{name: estimate.model.having(degrees=None)})
        around = []
        for model in estimate.other_fractions():
            others = {n: other.having(classes=model.classes) for n, other in shared.items()}
            around.append(self.again(**(others | {name: model})))
        squares = {}
        for field, value in reference.as_dict().items():
            changes = [_change(getattr(moved, field), value) for moved in around]
            squares[field] = np.mean(np.square(changes), axis=0)
        return squares


def _change(moved: npt.ArrayLike, value: npt.ArrayLike) -> Array:
    """Distance of two answers, infinite where one is missing."""
    with np.errstate(invalid="ignore"):
        change = np.where(np.equal(moved, value), 0.0, np.abs(np.subtract(moved, value)))
    return np.where(np.isnan(change), np.inf, change)
