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


@pytest.mark.parametrize("answer", [gl.bayes_optimal, lambda data: gl.predict(data, gl.GCN(gl.Diffusion(1.0)))])
@pytest.mark.parametrize(
    "signals", [(3.1, 9.2, 18.8, 31.6), (0.0, 0.5, 2.0, 0.5), (-6.4, 4.8, 0.0, 7.9), (1.5, 0.3, 1.7, 1.1)]
)
def test_twice_the_error_reaches_all_models_within_two_errors(answer, signals):
    """Also those where both signals are lost; 3.1 +- 9.2 is from three labels. Sixteen directions see a slope to 2 per cent."""
    lam, lam_error, mu, mu_error = signals
    found = answer(EstimatedCSBM(2.0, lam, mu, 0.01, lam_error=lam_error, mu_error=mu_error))
    z = np.random.default_rng(0).standard_normal((2, 300))
    z *= 2.0 / np.maximum(np.linalg.norm(z, axis=0), 2.0)
    there = answer(gl.CSBM(2.0, lam + lam_error * z[0], np.maximum(mu + mu_error * z[1], 0.0), 0.01))
    reach = np.abs(there.test_accuracy - found.test_accuracy)
    assert np.max(reach) <= 2.0 * found.standard_error.test_accuracy / np.cos(np.pi / 16)
    assert np.max(reach) > found.standard_error.test_accuracy


def test_an_unknown_error_or_an_undefined_filter_gives_an_infinite_one():
    strong = gl.GCN(gl.PageRank(0.9 / (1.7 + 1 / 1.7)))  # defined at lam = 1.2, not at 1.8
    for data in (
        EstimatedCSBM(**POINT, lam_error=np.inf, mu_error=0.1),
        EstimatedCSBM(**POINT, lam_error=0.6, mu_error=0.0),
    ):
        assert gl.predict(data, strong).standard_error.test_accuracy == np.inf


@pytest.mark.parametrize("fractions", [(0.3, 0.7), (0.5, 0.3, 0.2)])
def test_many_labels_propagate_the_error_of_the_fractions_by_their_covariance(fractions):
    """Other route: the mean square over fractions drawn from their posterior."""
    counts, network = np.rint(1e4 * np.array(fractions)), gl.GCN(gl.Diffusion(1.0), reg=1.0)
    errors = {"lam_error": 0.0, "mu_error": 0.0, "classes": fractions}
    found = gl.predict(EstimatedCSBM(**POINT, **errors, counts=counts), network)
    drawn = np.random.default_rng(0).dirichlet(counts, 150)
    there = [gl.predict(gl.CSBM(**POINT, classes=p), network).test_accuracy for p in drawn]
    expected = np.sqrt(np.mean((np.array(there) - found.test_accuracy) ** 2))
    assert found.standard_error.test_accuracy == pytest.approx(expected, rel=0.2)  # 150 draws: 6 per cent
    assert gl.predict(EstimatedCSBM(**POINT, **errors), network).standard_error.test_accuracy < 1e-12
