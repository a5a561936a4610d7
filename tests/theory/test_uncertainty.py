"""Predictions from an estimated model carry its standard errors on."""

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.real import EstimatedCSBM

NETWORK = gl.GCN(gl.Diffusion(1.0), reg=[0.1, 1.0, np.inf])
POINT = {"alpha": 2.0, "lam": 1.2, "mu": 2.0, "rho": 0.1}
ANSWERS = {"predict": lambda data: gl.predict(data, NETWORK), "ceiling": gl.bayes_optimal}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("classes", [2, 4])
def test_small_errors_propagate_by_the_derivatives(answer, classes):
    errors = {"lam": 1e-3, "mu": 3e-3}
    found = answer(EstimatedCSBM(**POINT, classes=classes, lam_error=errors["lam"], mu_error=errors["mu"]))
    squares = 0.0
    for name, error in errors.items():
        h = 1e-4
        up, down = (answer(gl.CSBM(**(POINT | {name: POINT[name] + s * h}), classes=classes)) for s in (1, -1))
        squares += (error * (up.test_accuracy - down.test_accuracy) / (2 * h)) ** 2
    assert found.test_accuracy == pytest.approx(answer(gl.CSBM(**POINT, classes=classes)).test_accuracy, rel=1e-12)
    assert found.standard_error.test_accuracy == pytest.approx(np.sqrt(squares), rel=1e-2)


def test_the_error_where_the_derivative_vanishes_is_that_of_the_curvature():
    """At lam = 0 the ceiling does not depend on the sign of lam."""
    at = POINT | {"lam": 0.0}
    found = gl.bayes_optimal(EstimatedCSBM(**at, lam_error=0.5, mu_error=0.0))
    there = gl.bayes_optimal(gl.CSBM(**(at | {"lam": 0.5})))
    assert found.standard_error.test_accuracy == pytest.approx(there.test_accuracy - found.test_accuracy)


def test_an_unknown_error_or_an_undefined_filter_gives_an_infinite_one():
    strong = gl.GCN(gl.PageRank(0.9 / (1.7 + 1 / 1.7)))  # defined at lam = 1.2, not at 1.8
    for data in (
        EstimatedCSBM(**POINT, lam_error=np.inf, mu_error=0.1),
        EstimatedCSBM(**POINT, lam_error=0.6, mu_error=0.0),
    ):
        assert gl.predict(data, strong).standard_error.test_accuracy == np.inf
