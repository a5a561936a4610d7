"""The cross-entropy of many classes: two ways to its averages, a draw, reference values, and two classes."""

import numpy as np
import pytest
from reference import CLASSES
from scipy.special import log_softmax, logsumexp, wrightomega

import gcnlimit as gl
from gcnlimit.theory.finite_reg import softmax
from gcnlimit.theory.finite_reg.softmax import (
    SoftmaxOf,
    _by_convolution,
    _by_counts,
    _proximal,
    _terms,
)


@pytest.mark.parametrize(
    "classes, mean, deviation, v",
    [
        (3, 0.2, 0.9, 2.0),
        (3, 0.9, 1.0, 12.0),
        (4, -0.5, 0.8, 1.0),
        (5, 0.3, 0.4, 0.5),
        (7, 0.4, 0.4, 3.0),
        (10, 0.5, 0.36, 20.0),
    ],
)
def test_convolutions_and_the_gauss_hermite_rule_meet(classes, mean, deviation, v):
    one, other = (
        _by_convolution(classes, np.array([mean]), deviation, v),
        _by_counts(classes, np.array([mean]), deviation, v),
    )
    assert np.allclose(one, other, rtol=1e-7)


def test_means_that_share_the_other_classes_have_the_averages_of_each_alone():
    mean = np.array([-0.3, 0.4, 1.1, 5.0, 9.0])
    variance, v = np.full(5, 0.8), np.full(5, 2.0)
    loss = SoftmaxOf(3)
    together = np.transpose(loss.gaussian_pull(mean, variance, v))
    each = zip(mean, variance, v, strict=True)
    alone = [np.ravel(loss.gaussian_pull(*map(np.atleast_1d, point))) for point in each]
    assert np.allclose(together, alone, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("classes", [3, 7])
def test_without_scatter_the_loss_is_that_of_the_output(classes):
    mean, loss = np.array([-0.4, 0.0, 0.9]), SoftmaxOf(classes)
    average, _ = loss.gaussian_losses(mean, np.full(3, 1e-12), np.ones(3))
    np.testing.assert_allclose(average, loss.value(mean), rtol=1e-5)


def proximal(omega, v):
    """Probabilities at the proximal point, true class first, by bisection of their sum."""
    shifted = omega + v * (np.arange(omega.shape[1]) == 0)
    low, high = (
        np.min(shifted, axis=1) - v - 1.0,
        np.max(shifted, axis=1) + np.log(omega.shape[1]) + 1.0,
    )
    for _ in range(50):
        L = 0.5 * (low + high)
        p = wrightomega(np.log(v) + shifted - L[:, None]).real / v
        over = np.sum(p, axis=1) > 1.0
        low, high = np.where(over, L, low), np.where(over, high, L)
    return p


@pytest.mark.parametrize(
    "classes, mean, deviation, v", [(5, 1.0, 2.0, 5.0), (12, 0.5, 1.2, 3.0), (4, 1.5, 3.0, 20.0)]
)
def test_averages_of_a_wide_output_against_a_draw(classes, mean, deviation, v):
    nodes = 4_000
    omega = deviation * np.random.default_rng(0).standard_normal((nodes, classes))
    omega[:, 0] += np.sqrt(classes) * mean
    p = proximal(omega, v)
    f = (np.arange(classes) == 0) - p
    q = p / (1 + v * p)
    drawn = np.stack(
        [
            np.sqrt(classes) * f[:, 0] / (classes - 1),
            np.sum(f**2, axis=1) / (classes - 1),
            (np.sum(q, axis=1) - np.sum(q**2, axis=1) / np.sum(q, axis=1)) / (classes - 1),
            -log_softmax(omega, axis=1)[:, 0],
            -np.log(p[:, 0]),
        ]
    )
    output = [np.array([x]) for x in (mean, deviation**2, v)]
    loss = SoftmaxOf(classes)
    exact = np.ravel([*loss.gaussian_pull(*output), *loss.gaussian_losses(*output)])
    assert np.all(np.abs(drawn.mean(axis=1) - exact) < 4 * drawn.std(axis=1) / np.sqrt(nodes))


LARGE_RESPONSE = [(0.0, 0.6, 30.0), (1.7, 1.0, 880.0), (2.6, 1.5, 9e4), (2.0, 4.0, 3e5)]
WIDE = [(0.5, 4.0, 0.5), (0.0, 6.0, 2.0), (2.0, 3.0, 0.1), (1.0, 2.0, 1.0)]


WIDER = [(14.0, 20.0, 8.0), (9.0, 20.0, 200.0)]
"""Outputs at which a probability is often below any number that adds to one."""


@pytest.mark.parametrize("mean, deviation, v", LARGE_RESPONSE + WIDE + WIDER)
def test_averages_of_three_classes_are_integrals_over_two_differences(mean, deviation, v):
    """Where the others share a small part of the probability, and where it is spread over many scales."""
    g = np.arange(-8.0, 8.01, 0.03 if deviation > 10.0 else 0.1 if v < 10.0 else 0.2)
    first, second = (x.ravel() for x in np.meshgrid(g, g))
    weight = np.exp(-0.5 * (first**2 + second**2))
    differences = np.stack(
        [first, 0.5 * first + np.sqrt(0.75) * second], axis=1
    )  # of three outputs, over sqrt(2)
    _, own, others = _proximal(
        np.sqrt(2.0) * deviation * differences - np.sqrt(3.0) * mean, np.ones((1, 2)), v
    )
    terms = (*_terms(3, np.ones((1, 2)), own, others, v), -np.log(own))
    integrals = [weight @ term / np.sum(weight) for term in terms]
    averages = _by_convolution(3, np.array([mean]), deviation, v)
    assert np.allclose(averages, [integrals], rtol=2e-9 if v < 10.0 else 1e-6, atol=0.0)


@pytest.mark.parametrize("classes, v", [(3, 1.0), (5, 0.1), (4, 1e4)])
def test_only_ratios_count_where_outputs_are_far_apart(classes, v):
    """The probabilities are then the projection of the outputs on the simplex: outputs of nodes of hardly any edges."""
    unit = np.array([1e12, 1e18])
    loss = SoftmaxOf(classes)
    output = 0.6 * unit, unit**2, v * unit
    pull, square, trace = loss.gaussian_pull(*output)
    of_outputs, proximal = loss.gaussian_losses(*output)
    for average in (pull, square, trace * unit, of_outputs / unit, proximal):
        assert 0.0 < average[0] < 1e3 * unit[0]
        if average is not proximal:
            assert average[1] == pytest.approx(average[0], rel=1e-7)


@pytest.mark.parametrize("mean, deviation, v", [(60.0, 1.0, 1.0), (30.0, 0.6, 5.0)])
def test_outputs_far_from_those_of_the_others_have_averages(mean, deviation, v):
    """The others share less than the rounding of 1: exponentials of differences of outputs."""
    (averages,) = _by_convolution(3, np.array([mean]), deviation, v)
    missed = 2.0 * np.exp(deviation**2 - np.sqrt(3.0) * mean)
    assert averages[0] == pytest.approx(missed, rel=1e-6)
    assert averages[4] == pytest.approx(missed, rel=1e-6)


@pytest.mark.parametrize(
    "row", CLASSES["A_iii_softmax"], ids=lambda row: f"{row['C']}-{row['reg']}"
)
def test_reference(row):
    data = gl.CSBM(
        row["alpha"], row["lam_e"], row["mu"], row["rho"], directed=False, classes=row["C"]
    )
    found = gl.predict(data, gl.GCN(gl.Residual(row["filter"][1]), "softmax", row["reg"]))
    assert found.test_accuracy == pytest.approx(row["test_accuracy"], abs=1e-8)
    output = found.order_parameters.output
    assert (output.mean, output.variance, output.v) == pytest.approx(
        (row["mean"], row["variance"], row["v"]), rel=1e-7
    )


def test_two_classes_are_the_logistic_loss_at_half_the_regularization():
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.2)
    one, other = (
        gl.predict(data, gl.GCN(gl.Diffusion(1.0), loss, reg))
        for loss, reg in (("softmax", 1.0), ("logistic", 0.5))
    )
    assert one.as_dict() == pytest.approx(other.as_dict(), abs=1e-9)


def test_a_large_regularization_reaches_the_explicit_formulas():
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.2, classes=6)
    found = gl.predict(data, gl.GCN(gl.Residual([1.0]), "softmax", [1e6, np.inf], symmetrize=False))
    assert found.test_accuracy[0] == pytest.approx(found.test_accuracy[1], abs=1e-5)
    assert found.train_accuracy[0] == pytest.approx(found.train_accuracy[1], abs=1e-5)
    assert np.allclose(found.test_loss, np.log(6), atol=1e-5)


def test_many_classes_have_narrow_outputs_too():
    """The rule of the fewest nodes serves any number of classes: it meets the convolutions."""
    mean, deviation, v = np.array([0.2]), 0.09, 0.5
    missed, square, trace = SoftmaxOf(17).gaussian_pull(
        mean, np.array([deviation**2]), np.array([v])
    )
    (by_convolution,) = _by_convolution(17, mean, deviation, v)
    assert missed[0] == pytest.approx(np.sqrt(17) / 16 * by_convolution[0], rel=1e-6)
    assert square[0] == pytest.approx(by_convolution[1] / 16 + by_convolution[2], rel=1e-6)
    assert trace[0] == pytest.approx(by_convolution[3] / 16, rel=1e-6)


def test_probabilities_far_from_the_own_class_keep_their_digits():
    """A response below the rounding of the differences of outputs: the two others share all."""
    _, own, others = _proximal(np.array([[6.6e20]]), np.array([[2.0]]), 1e8)
    assert own[0] == 0.0
    assert others[0, 0] == pytest.approx(0.5, rel=1e-12)


def test_a_small_response_leaves_the_logarithm_of_the_sum_of_exponentials(monkeypatch):
    """Where Newton's method starts: two steps are enough."""
    omega, count = (
        np.array([[0.3, -2.0], [700.0, 5.0], [-800.0, -900.0]]),
        np.array([[1.0, 3.0]] * 3),
    )
    steps, root = [], softmax._probability
    monkeypatch.setattr(softmax, "_probability", lambda x, v: steps.append(v) or root(x, v))
    L, first, rest = _proximal(omega, count, 1e-9)
    own = np.column_stack([omega, np.zeros(3)])
    np.testing.assert_allclose(L, logsumexp(own, b=[1.0, 3.0, 1.0], axis=1), atol=1e-8)
    np.testing.assert_allclose(first + np.sum(count * rest, axis=1), 1.0, atol=1e-8)
    assert len(steps) <= 6
