"""The ceiling: the best accuracy that any algorithm can reach, knowing the model, at large and at finite degree."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import check_types, number, whole
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.numerics.linear import batches
from gcnlimit.parameters import labelled
from gcnlimit.results.order_parameters import OrderParameters, Output
from gcnlimit.results.performance import BayesPrediction, Prediction, Status, same_everywhere, scalar_or_array
from gcnlimit.theory.ceiling.finite_degree import sparse_ceiling
from gcnlimit.theory.ceiling.posterior import posterior
from gcnlimit.theory.ceiling.state_evolution import Evidence, FixedPoints, StateEvolution
from gcnlimit.theory.ceiling.unequal import unequal_ceiling
from gcnlimit.theory.decision import from_margins
from gcnlimit.theory.degrees.ceiling import heterogeneous_ceiling
from gcnlimit.theory.points import with_errors

_BLOCK = 4096  # points solved together, whose numbers fit in a cache


def bayes_optimal(
    data: CSBM, *, degree: float | None = None, population: int = 3000, sweeps: int = 40, seed: int = 0
) -> BayesPrediction:
    r"""Bayes-optimal performance, and that of approximate message passing where it is less.

    The evidence :math:`m` on a test node is a root of Eq. 8.8, for two equal classes and white features that of Eq. 5.1,

    .. math::
        m = \frac{\mu^2}{\alpha} \frac{m_y}{1 + \mu m_y} + \lambda_s^2 m_y, \qquad
        m_y = \rho + (1-\rho)\, \mathbb E \tanh(m + \sqrt m\, \zeta), \qquad \zeta \sim \mathcal N(0, 1),

    with :math:`\lambda_s = \sqrt 2 \lambda` for a directed graph and :math:`\lambda` for a symmetric one; the accuracy is that of
    the margin :math:`\sqrt m`. `test_loss` is the expected cross-entropy of the posterior, in nats: the best that any
    calibrated classifier can reach. On the labelled nodes nothing is left to infer. With five classes or more, or two of very
    unequal sizes, and few labels, there may be two stable roots: the better one is the answer, and `algorithmic` is what
    message passing reaches from the labels alone. Under a law of degrees there are two overlaps, one weighted by degree
    (Eq. 11.13), and `accuracy_by_degree` says who gains.

    On three or more unequal classes the evidence is a matrix, a root of Eq. 8.18, and each point is solved by itself: to about
    1e-11 for three classes, 1e-8 for four, and 1e-6 to 3e-5 for five to ten, by random nodes whose scatter is the
    `standard_error`. Margin and overlap of the order parameters are then means over the directions of the codes.

    At a finite mean degree the answer is that of belief propagation on a large graph, by population dynamics (Eq. 9.6): a Monte
    Carlo method, whose `standard_error` is that of several independent populations, half of them started from the labels
    alone and half from the truth. Uncertainties of `data` do not enter it.

    Parameters
    ----------
    data
        The data; array parameters broadcast.
    degree
        Mean degree of the graph; by default it is large, and the answer exact.
    population, sweeps, seed
        At finite degree: nodes in each of sixteen populations, how often they are drawn anew, half of the time to forget the
        start, and the seed. Errors fall as the inverse square root of either; slow near a transition, where `status` says so.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> round(gl.bayes_optimal(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)).test_accuracy, 5)
    0.91273
    >>> gl.bayes_optimal(gl.CSBM(alpha=4, lam=0.5, mu=1.0, rho=0.0)).test_accuracy  # below the threshold: chance
    0.5
    >>> hard = gl.bayes_optimal(gl.CSBM(alpha=4, lam=0.95, mu=0.0, rho=0.0, directed=False, classes=10))
    >>> hard.hard, round(hard.test_accuracy, 5), round(hard.algorithmic.test_accuracy, 5)
    (True, 0.81509, 0.1)
    >>> sparse = gl.bayes_optimal(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), degree=3, population=500, sweeps=20)
    >>> bool(abs(sparse.test_accuracy - 0.9219) < 4 * sparse.standard_error.test_accuracy)
    True
    """
    check_types("bayes_optimal", data=(data, CSBM))
    sizes = (
        whole("population", population, low=100),
        whole("sweeps", sweeps, low=4, high=100_000),
        whole("seed", seed, low=0),
    )
    if degree is not None:
        return sparse_ceiling(data, number("degree", degree, low=0, open_low=True), *sizes)
    if data.degrees is not None:
        return labelled(with_errors(heterogeneous_ceiling(data, data.degrees), data, bayes_optimal), data)
    if not data.classes.equal and data.classes.count > 2:
        return labelled(with_errors(unequal_ceiling(data), data, bayes_optimal, directions=4), data)  # seconds each
    rho = np.broadcast_to(data.rho, data.shape).ravel()
    with np.errstate(all="ignore"):  # evidence beyond the largest number is infinite
        evolution = StateEvolution(Evidence.of(data), rho, posterior(data.classes))
    return labelled(with_errors(ceiling(data, evolution), data, bayes_optimal), data)


@np.errstate(all="ignore")
def ceiling(data: CSBM, evolution: StateEvolution) -> BayesPrediction:
    """Bayes-optimal performance at the fixed points of a state evolution, whose points are those of the data."""
    found = _fixed_points(evolution)
    best = _prediction(data, evolution, found, found.best)
    hard = found.reached < found.best
    reached = _prediction(data, evolution, found, found.reached) if np.any(hard) else best
    free_entropy = evolution.free_entropy(found.best).reshape(data.shape)
    return BayesPrediction(
        **vars(best),
        algorithmic=labelled(reached, data),
        hard=scalar_or_array(hard.reshape(data.shape)),
        free_entropy=scalar_or_array(free_entropy),
    )


def _fixed_points(evolution: StateEvolution) -> FixedPoints:
    """Fixed points of all points, block by block."""
    blocks = batches(evolution.rho.size, _BLOCK)
    columns = zip(*(evolution.take(rows).fixed_points() for rows in blocks), strict=True)
    return FixedPoints(*(np.concatenate(column) for column in columns))


def _prediction(data: CSBM, evolution: StateEvolution, found: FixedPoints, m: Array) -> Prediction:
    """Prediction at that evidence."""
    shape = data.shape
    margin, known = np.sqrt(m).reshape(shape), np.full(shape, np.inf)
    cross_entropy = evolution.tables.information(m)[1].reshape(shape)

    def shaped(values: npt.NDArray[Any]) -> Any:
        return scalar_or_array(values.reshape(shape))

    return Prediction(
        **vars(from_margins(data.classes, margin, known, cross_entropy, np.zeros(shape))),
        standard_error=same_everywhere(0.0, shape),
        order_parameters=OrderParameters(
            test_margin=scalar_or_array(margin),
            train_margin=scalar_or_array(known),
            output=Output(*(shaped(x) for x in (m, m, np.zeros_like(m)))),
            overlap=shaped(evolution.overlap(m)),
        ),
        status=np.full(shape, Status.CONVERGED) if shape else Status.CONVERGED,
        residual=shaped(found.residual),
        iterations=shaped(found.iterations),
    )


class DegreeCorrection(NamedTuple):
    """Accuracy at finite degree less that at large degree, of the Bayes-optimal classifier, and its standard error."""

    accuracy: float
    standard_error: float


def degree_correction(
    data: CSBM, degree: float, *, tolerance: float = 0.005, population: int = 3000, sweeps: int = 40, seed: int = 0
) -> DegreeCorrection:
    r"""Correction of the accuracy at mean degree `degree`, with a warning if it is larger than `tolerance`.

    It is that of the ceiling, by population dynamics (Eq. 9.6). The accuracies of networks usually move by a similar amount
    (measured at :math:`\lambda = 1`: by up to 1.6 times as much, and often by less), so it says whether `predict` can be trusted
    at this degree. With two equal classes the correction falls as :math:`1/d` and grows as :math:`\lambda^4`. With more classes,
    or unequal ones, it falls as :math:`1/\sqrt d`, with the opposite sign of :math:`\lambda` (Eq. 9.8).

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
