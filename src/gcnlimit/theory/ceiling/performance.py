"""Bayes-optimal performance at the fixed points of a state evolution."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.numerics.linear import batches
from gcnlimit.parameters import labelled
from gcnlimit.results.order_parameters import OrderParameters, Output
from gcnlimit.results.performance import BayesPrediction, Prediction, Status, same_everywhere, scalar_or_array
from gcnlimit.theory.ceiling.state_evolution import FixedPoints, StateEvolution
from gcnlimit.theory.decision import from_margins

_BLOCK = 4096  # points solved together, whose numbers fit in a cache


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
