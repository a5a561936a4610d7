"""The answers: one shape for theory, ceiling and simulation."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array, Numbers
from gcnlimit.errors import ParameterError
from gcnlimit.results.calibration import Calibration
from gcnlimit.results.order_parameters import OrderParameters
from gcnlimit.results.result import Result, status_names
from gcnlimit.results.text import ERROR


class Outcome(enum.IntEnum):
    """Base of the ways in which a computation may end; `message` is the sentence shown to the user."""

    message: str

    def __new__(cls, value: int, message: str = "") -> Self:
        """Member of that value, with its sentence."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.message = message
        return member

    @classmethod
    def of(cls, status: npt.NDArray[np.int64]) -> Self | npt.NDArray[np.int64]:
        """Member of a single number, an array of no axes; an array of several as it is."""
        return status if status.ndim else cls(int(status))


class Status(Outcome):
    """How a computation ended."""

    EXPLICIT = 0, "explicit formula, nothing to converge"
    CONVERGED = 1, "the fixed point was reached to the requested tolerance"
    NOT_CONVERGED = 2, "the fixed point was not reached; allow more iterations or a larger tol"
    UNRESOLVED = (
        3,
        "the filter is too steep for the finest grid on the spectrum, or momentum too near 1, or "
        "the time too long for eigenvalues near 0; take a larger reg, a flatter filter (PageRank "
        "away from its pole), less momentum or less time",
    )
    OUT_OF_RANGE = (
        4,
        "the gain of the filter, reg or time in its units, reg in those of the loss or a mean loss "
        "is out of range, or a penalty leaves no weight; take normalize=True, another reg or time",
    )
    REFUSED = (
        5,
        "the filter is not defined on the spectrum, the data are out of range, or the degree "
        "allows no such signal; take a weaker filter, rho > 0 and less extreme data",
    )
    DIVERGED = (
        6,
        "the descent diverges: rate is above its largest stable value, "
        "2 (1 + momentum) / (reg + largest eigenvalue); take a smaller rate",
    )


@dataclass(frozen=True, eq=False, repr=False)
class Performance(Result):
    """Accuracies and losses of a classifier; each field is a float, or an array over the parameters.

    Parameters
    ----------
    test_accuracy, train_accuracy
        Fractions of unlabelled and labelled nodes classified correctly.
    test_loss, train_loss
        Averages of the loss over these nodes.
    log_test_error
        ``log(1 - test_accuracy)``, precise where `test_accuracy` rounds to 1.
    best_accuracy
        Accuracy on test nodes at the best threshold, or, with more than two classes, of the posterior decision.
    balanced_accuracy
        Best average over the classes of the accuracy in each.
    roc_auc
        Area under the receiver operating characteristic of two classes; None for more, and for predictions on heterogeneous
        degrees.
    by_degree
        Function behind `accuracy_by_degree`; None without a law of degrees.
    calibrated
        Function behind `calibration`; None where outputs are not logits.
    """

    test_accuracy: Numbers
    train_accuracy: Numbers
    test_loss: Numbers
    train_loss: Numbers
    log_test_error: Numbers
    best_accuracy: Numbers
    balanced_accuracy: Numbers
    roc_auc: Numbers | None
    by_degree: Callable[[npt.ArrayLike], Array] | None = field(default=None, kw_only=True)
    calibrated: Callable[[], Calibration] | None = field(default=None, kw_only=True)

    def accuracy_by_degree(self, theta: npt.ArrayLike) -> Numbers:
        """Accuracy on test nodes of given propensities, that is degrees divided by their mean.

        It has the shape of the points, then that of `theta`. A measured one is that of all nodes whose propensity is closest to
        the same one of ``degrees.theta``, NaN if there is none.

        >>> import gcnlimit as gl
        >>> data = gl.CSBM(alpha=4, lam=1.2, mu=2.0, rho=0.1, directed=False, degrees=gl.Gamma(0.5))
        >>> gl.bayes_optimal(data).accuracy_by_degree([0.2, 1.0, 5.0]).round(3)  # hubs know more
        array([0.758, 0.876, 0.991])
        """
        if self.by_degree is None:
            raise ParameterError("accuracy_by_degree needs a law of degrees, CSBM(degrees=...)")
        return scalar_or_array(np.asarray(self.by_degree(theta)))  # type: ignore[no-any-return]

    @cached_property
    def calibration(self) -> Calibration:
        """How sure the network is on test nodes and how sure it should be; see `Calibration`.

        Of a measurement, `standard_error` has that of each field.

        >>> import gcnlimit as gl
        >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
        >>> sure = gl.predict(data, gl.GCN(gl.Residual([1.0]), "logistic", reg=[0.01, 1.0])).calibration
        >>> sure.slope.round(3), sure.expected_error.round(3)  # over-confident, then under-confident
        (array([0.837, 8.416]), array([0.027, 0.243]))
        """
        if self.calibrated is None:
            use = "use predict, transfer, simulate or fit, or a ceiling without degree"
            raise ParameterError(f"calibration is not known for this answer; {use}")
        return replace(self.calibrated(), coordinates=self.coordinates)

    def as_dict(self) -> dict[str, Numbers]:
        """Return the fields by name; the area under the curve only of two classes."""
        values = {f.name: getattr(self, f.name) for f in MEASURED}
        return {name: value for name, value in values.items() if value is not None}

    def distinct(self) -> dict[str, Any]:
        """Return the fields by name; other thresholds only where they change the accuracy, as on unequal classes."""
        same = np.array_equal(self.best_accuracy, self.test_accuracy, equal_nan=True)
        hidden = THRESHOLDS if same else ()
        return {name: value for name, value in self.as_dict().items() if name not in hidden}

    def _shown(self) -> dict[str, Any]:
        return self.distinct()


MEASURED = tuple(f for f in fields(Performance) if not f.kw_only)  # the fields that are numbers

LOST = "the answer is not a number; the parameters are too extreme for double precision"
"""Why a point that was computed has no answer."""

THRESHOLDS = ("best_accuracy", "balanced_accuracy", "roc_auc")
"""Accuracies of decisions other than the network's own."""


def same_everywhere(value: float, shape: tuple[int, ...]) -> Performance:
    """Return a performance whose fields all have one value, such as the standard errors of a theory, 0."""
    return Performance(*[scalar_or_array(np.full(shape, value))] * len(MEASURED))


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(Performance):
    """Exact performance in the large-size limit.

    Parameters
    ----------
    standard_error
        Standard error of each field: 0, unless the data were estimated (`EstimatedCSBM`).
    order_parameters
        What the performance was computed from.
    status, residual, iterations
        How the computation ended at each point (see `Status`), the scaled residual of the equations, and the number of
        iterations; 0 where the formula is explicit.
    """

    standard_error: Performance
    order_parameters: OrderParameters
    status: Status | npt.NDArray[np.int64]
    residual: Numbers
    iterations: int | npt.NDArray[np.int64]

    def _shown(self) -> dict[str, Any]:
        shown = self.distinct()
        errors = {name + ERROR: getattr(self.standard_error, name) for name in shown}
        shown |= {name: error for name, error in errors.items() if np.any(error)}
        return shown | {"status": status_names(Status, self.status)}


@dataclass(frozen=True, eq=False, repr=False)
class BayesPrediction(Prediction):
    """Bayes-optimal performance, and that of the best known algorithm where the two differ.

    Parameters
    ----------
    algorithmic
        What approximate message passing reaches, without a hint of the classes beyond the labels.
    hard
        Whether this is lower: classes can be recovered better in principle, but no efficient algorithm is known that does so.
    free_entropy
        Free entropy per node of the Bayes-optimal state (Eq. 8.11).
    """

    algorithmic: Prediction
    hard: bool | npt.NDArray[np.bool_]
    free_entropy: Numbers

    def _shown(self) -> dict[str, Any]:
        where = {"algorithmic_accuracy": self.algorithmic.test_accuracy, "hard": self.hard}
        return super()._shown() | (where if np.any(self.hard) else {})


@dataclass(frozen=True, eq=False, repr=False)
class Measurement(Performance):
    """Performance measured on sampled graphs: means over the trials.

    `log_test_error` is the logarithm of the mean error; if no test node was misclassified, it is an upper bound: half an error
    among all test nodes.

    Parameters
    ----------
    standard_error
        Standard error of each field, from the scatter of the trials; infinite if there is only one.
    trials
        Number of trials that were done.
    status
        How the simulation ended at each point; ``REFUSED`` or ``NOT_CONVERGED`` where a graph cannot be drawn or a network is
        not defined or not trained on it (see `simulate`): such a point has NaN.
    """

    standard_error: Performance
    trials: int
    status: Status | npt.NDArray[np.int64] = Status.CONVERGED

    def _shown(self) -> dict[str, Any]:
        shown = self.distinct()
        return shown | {name + ERROR: getattr(self.standard_error, name) for name in shown}


def scalar_or_array(values: npt.NDArray[Any]) -> Any:
    """Return a Python number for a single point, else the array."""
    return values.item() if values.ndim == 0 else values
