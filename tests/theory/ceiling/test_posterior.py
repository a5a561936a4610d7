"""Averages over the posterior of a class: two routes to them, their limits, and what they add up to."""

from dataclasses import replace

import numpy as np
import pytest
from reference import CLASSES

from gcnlimit.classes import Classes
from gcnlimit.theory.ceiling.posterior import _equal_classes, _two_classes, posterior

POSTERIORS = [2, 3, 5, 10, 50, (0.3, 0.7), (0.02, 0.98)]


@pytest.mark.parametrize("row", CLASSES["T_C"], ids=lambda row: f"{row['C']}-{row['m']}")
def test_reference(row):
    tables, m = posterior(Classes.of(row["C"])), np.array([row["m"]])
    assert abs(tables.at(m).overlap[0] - row["T"]) < 1e-12
    assert abs(tables.information(m)[0][0] - row["psi"]) < 1e-11


def test_gumbel_noise_and_the_hyperbolic_secant_give_the_same_for_two_classes():
    s = np.geomspace(1e-4, 12.0, 40)
    assert np.allclose(_equal_classes(2)(s), _two_classes(0.5)(s), rtol=1e-12)


@pytest.mark.parametrize("classes", POSTERIORS)
def test_tables_are_the_integrals(classes):
    tables = posterior(Classes.of(classes))
    s = np.geomspace(1e-6, 38.0, 60)
    exact = _equal_classes(classes) if isinstance(classes, int) else _two_classes(classes[0])
    assert np.allclose(1.0 - tables.at(s / tables.rate).overlap, exact(s), rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("classes", POSTERIORS)
def test_the_deficit_keeps_its_digits_at_small_evidence(classes):
    """(m - T)/m^2 is (4 - C)/2 at 0 for equal classes, 1 - kappa_3^2/2 for two of any sizes."""
    m = 10.0 ** -np.arange(5.0, 15.0)
    if isinstance(classes, int):
        limit = 0.5 * (4 - classes)
    else:
        p = classes[0]
        limit = 1.0 - 0.5 * (1 - 2 * p) ** 2 / (p * (1 - p))
    tables = posterior(Classes.of(classes))
    slope = np.max(np.abs(tables.at(m).deficit / m**2 - limit) / m)
    assert slope < 500.0
    assert abs(tables.at(np.array([1e-14])).deficit[0] / 1e-28 - limit) < 1e-10


@pytest.mark.parametrize("classes", POSTERIORS)
def test_evidence_removes_the_whole_entropy_of_the_classes(classes):
    """The information d/2 times the integral of U, from 0 and from infinity, adds up to the entropy."""
    tables = posterior(Classes.of(classes))
    edge = 0.09 / tables.rate
    (below, above), (left, right) = tables.information(
        np.array([edge * (1 - 1e-13), edge * (1 + 1e-13)])
    )
    assert above == pytest.approx(below, abs=1e-13)
    assert right == pytest.approx(left, abs=1e-13)


@pytest.mark.parametrize("classes", POSTERIORS)
def test_the_slope_is_the_derivative(classes):
    tables = posterior(Classes.of(classes))
    m = np.geomspace(1e-3, 20.0, 30) / tables.rate
    step = 1e-4 * m
    slope = (tables.at(m + step).overlap - tables.at(m - step).overlap) / (2 * step)
    assert np.allclose(tables.at(m).slope, slope, rtol=1e-5, atol=1e-8)
    assert np.allclose(tables.at(m).deficit + tables.at(m).overlap, m, rtol=1e-14)


@pytest.mark.parametrize("noise", [0.01, 0.2])
def test_wrong_labels_have_an_overlap_a_slope_and_a_free_entropy_that_fit(noise):
    tables = replace(posterior(Classes.of(2)), noise=noise)
    m, h = np.geomspace(1e-3, 20.0, 15), 1e-4
    overlap, slope = tables.labelled(m)
    above, below = (tables.labelled(m * (1.0 + side * h))[0] for side in (1, -1))
    np.testing.assert_allclose(slope, (above - below) / (2.0 * h * m), rtol=1e-5)
    above, below = (tables.labelled_information(m * (1.0 + side * h)) for side in (1, -1))
    np.testing.assert_allclose(0.5 * overlap, (above - below) / (2.0 * h * m), rtol=1e-7)
    none = np.zeros(1)
    assert tables.labelled(none)[0] == pytest.approx((1.0 - 2.0 * noise) ** 2)  # of the label alone
    assert tables.labelled_information(none) == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("classes", [2, 4, 5, 10, (0.02, 0.98)])
def test_the_steepest_overlap_and_its_convexity_are_the_largest_of_all(classes):
    tables = posterior(Classes.of(classes))
    m = np.geomspace(1e-3, 20.0, 4000) / tables.rate
    overlap, _, slope = tables.at(m)
    convexity = max(0.0, float(np.max(m * slope - overlap)))
    assert tables.convexity == pytest.approx(convexity, rel=1e-4, abs=1e-12)
    at, steepest = tables.steepness
    if tables.curvature >= 0.0:
        assert (convexity, at, steepest) == (0.0, 0.0, 1.0)
    else:
        assert steepest == pytest.approx(np.max(overlap / m), rel=1e-5)
        assert at == pytest.approx(m[np.argmax(overlap / m)], rel=0.01)
