r"""Standard errors of answers for estimated models: one decorator, for the functions whose answers carry them.

With the change :math:`\Delta(z)` of an answer at :math:`(\lambda + z_1 \sigma_\lambda, \mu + z_2 \sigma_\mu)`, the signals give

.. math:: \max_z |\Delta(z)|/|z|, \qquad\text{and at least}\quad \bigl(2\, \langle \Delta(z)^2/|z|^2 \rangle\bigr)^{1/2},

over models one error and two errors away (`EstimatedCSBM.displaced`), the mean over either of the two circles. The class
fractions add the root mean square of the change over their posterior (`EstimatedCSBM.other_fractions`); where a network has no
theory for unequal classes, that of ridge regression. The error is infinite where a model has no answer or an infinite error.
Errors of two models are independent of each other; classes of the same fractions change together and count once.
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

from gcnlimit import scope
from gcnlimit._runtime.progress import progress_bar
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import GCNLimitError
from gcnlimit.estimated import EstimatedCSBM
from gcnlimit.network import GCN
from gcnlimit.results.performance import Performance, Prediction, same_everywhere, scalar_or_array
from gcnlimit.training import END

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
        models = {n: m for n in ("data", "to") if isinstance(m := self.arguments.get(n), CSBM)}
        # classes of the same fractions are the same classes
        shared = models if len({model.classes for model in models.values()}) == 1 else {}
        counted = [(name, e) for name, e in estimates.items() if e.counts is not None]
        try:
            squares = [self._of_signals(name, e) for name, e in estimates.items()]
            squares += [self._of_fractions(*one, shared) for one in counted[: 1 if shared else 2]]
        except GCNLimitError:  # a model near the estimate has no answer
            return unknown
        total = {name: sum(part[name] for part in squares) for name in self.answer.as_dict()}
        errors: dict[str, Any] = {n: scalar_or_array(np.sqrt(x)) for n, x in total.items()}
        return Performance(**{"roc_auc": None} | errors)

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
        """Squared error of each field from that of the class fractions, degrees taken as alike and labels as right."""
        models, simpler = estimate.other_fractions(), self
        gcn: GCN | None = self.arguments.get("gcn")
        if gcn is not None and scope.sentence("predict", models[0], gcn):
            simpler = self._replace(arguments=self.arguments | {"gcn": _ridge(gcn)})
        reference = simpler.again(**{name: estimate.model.having(degrees=None, noise=0.0)})
        around = []
        for model in models:
            others = {n: other.having(classes=model.classes) for n, other in shared.items()}
            around.append(simpler.again(**(others | {name: model})))
        values = reference.as_dict().items()
        changes = {n: [_change(getattr(moved, n), x) for moved in around] for n, x in values}
        return {n: np.mean(np.square(each), axis=0) for n, each in changes.items()}


def _ridge(gcn: GCN) -> GCN:
    """Ridge regression with the filter of a network; a stopped training, which learns t at small eigenvalues, is one of 1/t."""
    t = (gcn.training or END).learned(np.array([1e-6]))[..., 0]
    return gcn.replaced(loss="square", penalty="l2", training=None, reg=gcn.reg + 1.0 / t)


def _change(moved: npt.ArrayLike, value: npt.ArrayLike) -> Array:
    """Distance of two answers, infinite where one is missing."""
    with np.errstate(invalid="ignore"):
        change = np.where(np.equal(moved, value), 0.0, np.abs(np.subtract(moved, value)))
    return np.where(np.isnan(change), np.inf, change)
