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


ELSEWHERE = {"alpha": 2.0, "lam": -0.9, "mu": 2.0, "rho": 0.0}
ONE = gl.GCN(gl.Diffusion(1.0), reg=1.0)
DOORS = {
    "predict": lambda data: gl.predict(data, ONE),
    "ceiling": gl.bayes_optimal,
    "joining": lambda data: gl.transfer(data, ONE, "joining"),
    "transfer": lambda data: gl.transfer(data, ONE, gl.CSBM(**ELSEWHERE, classes=data.classes)),
    "ceiling elsewhere": lambda data: gl.bayes_optimal(data, to=gl.CSBM(**ELSEWHERE, classes=data.classes)),
}


def counted(fractions, labelled, **errors):
    """Estimate whose class fractions come from so many labelled nodes."""
    counts = np.rint(labelled * np.array(fractions)).astype(int)
    return EstimatedCSBM(**POINT, **({"lam_error": 0.0, "mu_error": 0.0} | errors), classes=fractions, counts=counts)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("fractions", [(0.3, 0.7), (0.5, 0.3, 0.2)])
def test_many_labels_propagate_the_error_of_the_fractions_by_their_covariance(door, fractions):
    """Other route: the gradient in the fractions, and the covariance of multinomial counts."""
    if door == "ceiling elsewhere" and len(fractions) > 2:
        pytest.skip("there is no such theory")
    answer, p, labelled, h = DOORS[door], np.array(fractions), 1e5, 1e-4
    steps = h * (np.eye(p.size) - np.eye(p.size)[-1])[:-1]  # from the last class to another
    ends = [[answer(gl.CSBM(**POINT, classes=p + sign * step)).test_accuracy for sign in (1, -1)] for step in steps]
    slope = np.array([(up - down) / (2 * h) for up, down in ends])
    covariance = ((np.diag(p) - np.outer(p, p)) / labelled)[:-1, :-1]
    found = answer(counted(fractions, labelled)).standard_error.test_accuracy
    assert found == pytest.approx(np.sqrt(slope @ covariance @ slope), rel=0.01)


@pytest.mark.parametrize("door", DOORS)
def test_few_labels_of_unequal_classes_widen_every_interval(door):
    """The error is that of the signals without counts; that of the fractions falls as the root of the labels."""
    answer, errors = DOORS[door], {"lam_error": 0.05, "mu_error": 0.1}
    classes = (0.3, 0.7)
    few, many = (answer(counted(classes, n, **errors)).standard_error.test_accuracy for n in (30, 3000))
    known = answer(EstimatedCSBM(**POINT, **errors, classes=classes)).standard_error.test_accuracy
    assert known < many < few
    assert few**2 - known**2 == pytest.approx(100.0 * (many**2 - known**2), rel=0.5)


@pytest.mark.parametrize(
    "answer", [lambda one, other: gl.transfer(one, ONE, other), lambda a, b: gl.bayes_optimal(a, to=b)]
)
def test_the_fractions_of_one_estimate_count_once(answer):
    """Used as both graphs, its classes change together; two estimates of other fractions are independent."""
    one, other = counted((0.3, 0.7), 40), counted((0.35, 0.65), 40)
    same = answer(one, one).standard_error.test_accuracy
    assert same == answer(one, one.replaced()).standard_error.test_accuracy > 0.0
    parts = [answer(a, b).standard_error.test_accuracy for a, b in ((one, other.replaced()), (one.replaced(), other))]
    assert answer(one, other).standard_error.test_accuracy == pytest.approx(np.hypot(*parts), rel=1e-12)


@pytest.mark.parametrize("answer", [gl.bayes_optimal, lambda data: gl.predict(data, ONE)])
def test_the_error_of_many_equal_classes_falls_faster_than_the_root_of_the_labels(answer):
    """To first order it is 0, by symmetry."""
    few, many = (answer(counted((0.25,) * 4, n)).standard_error.test_accuracy for n in (400, 1600))
    assert few > 2.0 * many > 0.0
