"""State evolution of the layers of message passing."""

import numpy as np
import pytest
from scipy.special import ndtr

import gcnlimit as gl
from gcnlimit.classes import Classes
from gcnlimit.theory.ceiling.amp_layers import softmax_averages, unequal_averages
from gcnlimit.theory.ceiling.unequal_posterior import posterior_log_error, single_rule


@pytest.mark.parametrize("classes, lam", [(2, 1.0), (2, -1.0), (3, 1.2), (20, 0.72)])
def test_layers_approach_what_algorithms_reach(classes, lam):
    data = gl.CSBM(
        4,
        lam,
        0.5 if classes == 20 else 2.0,
        0.01 if classes == 20 else 0.1,
        classes=classes,
        directed=classes == 2,
    )
    layers, limit = gl.theory.message_passing(data, 40), gl.bayes_optimal(data).algorithmic
    assert layers.test_accuracy[-1] == pytest.approx(limit.test_accuracy, abs=1e-6)
    assert layers.test_loss[-1] == pytest.approx(limit.test_loss, abs=1e-5)
    assert np.all(np.diff(layers.test_accuracy) > -1e-12)


@pytest.mark.parametrize("classes, loss", [((0.25, 0.75), 1e-10), ((0.5, 0.3, 0.2), 2e-4)])
def test_layers_of_unequal_classes_approach_the_ceiling(classes, loss):
    """Two classes reach it; of three a shrinkage that is a number leaves a little behind."""
    data = gl.CSBM([2.0, 3.0], 0.9, 2.0, 0.15, classes=classes)
    layers, limit = gl.theory.message_passing(data, 40), gl.bayes_optimal(data)
    for field in ("test_accuracy", "balanced_accuracy"):
        short = getattr(limit, field) - getattr(layers, field)[:, -1]
        assert np.all((short > -1e-10) & (short < loss))
    short = layers.test_loss[:, -1] - limit.test_loss
    assert np.all((short > -1e-10) & (short < loss))


@pytest.mark.parametrize("mean, variance", [(0.3, 0.9), (2.0, 0.5), (-0.4, 1.0), (1.0, 6.0)])
@pytest.mark.parametrize("classes", [2, 3])
def test_equal_classes_are_a_case_of_unequal_ones(classes, mean, variance):
    one = np.eye(classes - 1)
    alike = softmax_averages(mean, variance, classes)
    found = unequal_averages(mean * one, variance * one, Classes(tuple([1.0 / classes] * classes)))
    for matrix, entry in zip(found, alike, strict=True):
        assert np.allclose(matrix, entry * (one if np.ndim(matrix) else 1.0), rtol=0, atol=1e-7)


@pytest.mark.parametrize("mean, variance", [(0.3, 0.9), (2.0, 0.5), (-0.4, 1.0), (1.0, 30.0)])
def test_two_classes_are_averages_of_tanh(mean, variance):
    step = np.linspace(-9, 9, 20001)
    weight = np.exp(-0.5 * step**2) * (step[1] - step[0]) / np.sqrt(2 * np.pi)
    t = np.tanh(mean + np.sqrt(variance) * step)
    overlap, norm, loss = softmax_averages(mean, variance, 2)
    assert overlap == pytest.approx(weight @ t, abs=1e-10)
    assert norm == pytest.approx(weight @ t**2, abs=1e-10)
    assert loss == pytest.approx(
        weight @ np.logaddexp(0.0, -2 * (mean + np.sqrt(variance) * step)), abs=1e-10
    )


def test_wrong_numbers_do_not_help():
    data = gl.CSBM(4, 1.0, 2.0, 0.1)
    best = gl.theory.message_passing(data, 12).test_accuracy[-1]
    for wrong in ({"graph": 0.8}, {"graph": 2.5}, {"features": 0.5}, {"shrinkage": 8.0}):
        assert gl.theory.message_passing(data, 12, **wrong).test_accuracy[-1] < best
    assert gl.theory.message_passing(data, 12, graph=-1.0).test_accuracy[-1] < 0.7


def test_without_a_graph_the_layers_are_those_of_the_features():
    data = gl.CSBM(4, 0.0, 3.0, 0.2)
    limit = gl.bayes_optimal(data).test_accuracy
    assert gl.theory.message_passing(data, 40).test_accuracy[-1] == pytest.approx(limit, abs=1e-8)


@pytest.mark.parametrize("mean, variance", [(0.3, 0.9), (1.0, 0.5), (-0.4, 1.0), (1.0, 4.0)])
@pytest.mark.parametrize("p", [0.1, 0.6])
def test_averages_and_error_of_two_unequal_classes_are_one_dimensional(p, mean, variance):
    """Evidence of that mean and variance along the code, which each node takes for its own strength."""
    step = np.linspace(-9, 9, 4001)
    weight = np.exp(-0.5 * step**2) / np.exp(-0.5 * step**2).sum()
    classes = Classes.of([p, 1.0 - p])
    first, second = classes.codes[:, 0]
    fractions = [p, 1.0 - p]

    def logit(b):
        odds = np.log(p / (1.0 - p))
        return odds + b * (first - second) - 0.5 * variance * (first**2 - second**2)

    overlap = norm = loss = wrong = 0.0
    for share, code, sign in zip(fractions, (first, second), (1.0, -1.0), strict=True):
        u = logit(mean * code + np.sqrt(variance) * step)
        estimate = second + (first - second) / (1.0 + np.exp(-u))
        overlap += share * code * (weight @ estimate)
        norm += share * (weight @ estimate**2)
        loss += share * (weight @ np.logaddexp(0.0, -sign * u))
        spread = (first - second) * np.sqrt(variance)
        wrong += share * ndtr(-sign * logit(mean * code) / spread)
    matrices = np.array([[mean]]), np.array([[variance]])
    averages = unequal_averages(*matrices, classes)
    assert np.ravel(np.hstack([np.ravel(part) for part in averages])) == pytest.approx(
        [overlap, norm, loss], abs=1e-9
    )
    error = posterior_log_error(
        matrices[1], classes.fractions, classes.fractions, single_rule(1), mean=matrices[0]
    )
    assert error == pytest.approx(np.log(wrong), abs=1e-10)


@pytest.mark.parametrize("dimensions", [1, 2, 4])
def test_a_rule_averages_a_gaussian_to_its_moments(dimensions):
    """One product of nodes in few dimensions, the mean of several random rules in more."""
    rule = single_rule(dimensions)
    assert rule.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert rule.weights @ rule.nodes**2 == pytest.approx(1.0, abs=2e-3)
