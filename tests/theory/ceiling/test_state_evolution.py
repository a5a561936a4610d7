"""The state evolution of numbers: evidence and free entropy are derivatives of one another, and digits are kept."""

import numpy as np
import pytest
from problems import random_data

import gcnlimit as gl
from gcnlimit.classes import Classes
from gcnlimit.theory.ceiling.linear_node import LinearNode
from gcnlimit.theory.ceiling.posterior import posterior
from gcnlimit.theory.ceiling.state_evolution import Evidence, StateEvolution
from gcnlimit.theory.ceiling.unequal_posterior import MatrixPosterior, gaussian_rules

LAWS = {"white": gl.Spectrum([1.0], [1.0]), "two levels": gl.Spectrum([0.2, 1.8], [1.5, 0.5])}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_evidence_its_gain_its_saturation_and_the_free_entropy_are_one(law):
    """Also with what another graph has taught."""
    numbers = np.array([[0.7, 4.0], [0.9, 0.2], [2.0, 30.0], [0.3, 0.0], [0.8, 3.0]])
    evidence = Evidence(law, *numbers)
    q, h = np.array([0.3, 0.8]), 1e-5
    ahead, behind = q + h, q - h
    gain = (evidence.at(ahead) - evidence.at(behind)) / (2 * h)
    np.testing.assert_allclose(evidence.gain(q), gain, rtol=1e-8)
    linear = evidence.gain(np.zeros(2)) * q
    np.testing.assert_allclose(evidence.saturation(q), linear - evidence.at(q), rtol=1e-12)
    slope = (evidence.free_entropy(ahead) - evidence.free_entropy(behind)) / (2 * h)
    np.testing.assert_allclose(slope, -q * evidence.gain(q), rtol=1e-8)
    np.testing.assert_array_equal(evidence.free_entropy(np.zeros(2)), 0.0)


def linear(alpha, graph, mu, rho):
    columns = np.broadcast_arrays(*map(np.atleast_1d, (alpha, graph, mu, 0.0, 0.0)))
    evidence = Evidence(gl.Spectrum([1.0], [1.0]), *(np.array(c, float) for c in columns))
    rho = np.broadcast_to(np.asarray(rho, float), evidence.mu.shape)
    return StateEvolution(evidence, rho, LinearNode(Classes.of(2)))


def test_the_evidence_keeps_its_digits_at_the_transition():
    """Of a graph alone and without labels, m = g m/(1 + m) for linear nodes: the evidence is g - 1."""
    above = 2.0 ** -np.arange(4.0, 40.0, 5.0)
    solved = linear(1.0, 1.0 + above, 0.0, 0.0).fixed_points()
    np.testing.assert_allclose(solved.best, above, rtol=1e-12)
    assert solved.iterations.max() < 60


def test_the_evidence_of_strong_features_that_are_few_keeps_its_digits():
    """It is mu/alpha x/(1 + x) with x = mu q, a millionth of its slope at no overlap times the overlap."""
    mu = np.array([1e3, 1e6, 1e9])
    evolution = linear(mu**2, 0.0, mu, 0.5)
    m = evolution.fixed_points().best
    x = mu * (0.5 + 0.5 * m / (1.0 + m))
    np.testing.assert_allclose(m, x / (1.0 + x) / mu, rtol=1e-14)


def test_few_steps_reach_every_fixed_point():
    data = random_data(200, seed=8)
    for classes in (2, 3, (0.3, 0.7)):
        found = StateEvolution.of(data.replaced(classes=classes)).fixed_points()
        assert found.iterations.max() < 60
        assert found.residual.max() < 1e-13


@pytest.mark.parametrize("classes", [2, 3, 8, (0.1, 0.9), (0.5, 0.3, 0.2)])
def test_the_cross_entropy_of_a_linear_node_falls_with_the_missing_overlap(classes):
    """By (1 - T)/2 in each direction, with the overlap T of the posterior: its field is Gaussian evidence."""
    node, m, h = LinearNode(Classes.of(classes)), np.array([0.4, 2.0]), 1e-4
    fall = (node.cross_entropy(m - h) - node.cross_entropy(m + h)) / (2 * h)
    matrix = MatrixPosterior(node.classes.fractions, gaussian_rules(node.directions)[0])
    if node.classes.equal or node.directions == 1:
        missing = node.directions * (1.0 - posterior(node.classes).at(m).overlap)
    else:
        one = np.eye(node.directions)
        missing = [np.trace(one - matrix.overlap(x * one)) for x in m]
    np.testing.assert_allclose(fall, 0.5 * np.asarray(missing), rtol=1e-6)
