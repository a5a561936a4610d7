"""From margins to accuracies: chance, rare errors, two classes, and a draw of many outputs."""

import tracemalloc

import numpy as np
import pytest
from reference import CLASSES
from scipy.integrate import quad
from scipy.linalg import null_space
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm

from gcnlimit.classes import Classes
from gcnlimit.theory.decision import (
    _any_larger,
    balanced_accuracy,
    best_log_error,
    certain,
    from_margins,
    given_margin,
    log_error,
    own_log_error,
    roc_auc,
)


@pytest.mark.parametrize(
    "row", CLASSES["A_i"], ids=lambda row: f"{row['C']}-{row['test_margin']:.2f}"
)
def test_reference(row):
    error = np.exp(log_error(np.array([row["test_margin"]]), row["C"]))[0]
    assert error == pytest.approx(row["test_error"], rel=1e-12)


@pytest.mark.parametrize("classes", [2, 3, 7, 40, 1000])
def test_without_a_margin_one_class_in_c_is_right(classes):
    assert np.exp(log_error(np.zeros(1), classes))[0] == pytest.approx(1 - 1 / classes, abs=1e-13)


@pytest.mark.parametrize("classes", [3, 7, 40])
def test_rare_errors_are_those_of_pairs(classes):
    """1 - Phi_C(m) = (C - 1) Phi(-m sqrt(C/2)) where it is tiny, down to any error."""
    margin = np.array([13.0, 20.0, 25.0, 200.0]) * np.sqrt(2 / classes) * 1.45
    pairs = np.log(classes - 1) + log_ndtr(-margin * np.sqrt(classes / 2))
    assert pairs[1] < -400
    assert np.allclose(log_error(margin, classes), pairs, rtol=1e-12)


def outputs(fractions, margin, nodes):
    """Classes of many nodes, and their scores for each class."""
    rng = np.random.default_rng(1)
    p = np.array(fractions)
    code = null_space(np.sqrt(p)[None]) / np.sqrt(p)[:, None]
    true = rng.choice(p.size, nodes, p=p)
    h = margin * code[true] + rng.standard_normal((nodes, p.size - 1))
    return true, margin * h @ code.T - 0.5 * margin**2 * np.sum(code**2, axis=1)


@pytest.mark.parametrize("fractions", [(0.2, 0.8), (0.2, 0.3, 0.5), (0.05, 0.15, 0.3, 0.5)])
def test_unequal_classes_against_a_draw(fractions):
    nodes, margin = 200_000, np.array([0.6])
    true, score = outputs(fractions, 0.6, nodes)
    wrong = np.argmax(score + np.log(fractions), axis=1) != true
    assert abs(
        np.mean(wrong) - np.exp(best_log_error(margin, Classes.of(fractions)))[0]
    ) < 4 * np.std(wrong) / np.sqrt(nodes)
    wrong = np.argmax(score, axis=1) != true
    parts = [wrong[true == k] for k in range(len(fractions))]
    deviation = np.sqrt(sum(np.var(part) / part.size for part in parts)) / len(parts)
    right = 1 - np.mean([np.mean(part) for part in parts])
    assert abs(right - balanced_accuracy(margin, Classes.of(fractions))[0]) < 4 * deviation


def test_almost_equal_classes_are_equal_ones():
    margin = np.array([-0.5, 0.3, 2.0])
    fractions = (1 / 3 - 1e-9, 1 / 3, 1 / 3 + 1e-9)
    balanced = balanced_accuracy(margin, Classes.of(fractions))
    assert np.allclose(np.log1p(-balanced), log_error(margin, 3), atol=1e-8)
    assert np.allclose(
        best_log_error(margin, Classes.of(fractions)), log_error(np.abs(margin), 3), atol=1e-8
    )


@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_network_of_the_wrong_sign_is_as_wrong_on_almost_equal_classes(count):
    """The posterior of its outputs does not know the sign that it has learned; the best decision does."""
    margin, none = np.array([-1.2, -0.1, 0.3]), np.zeros(3)
    near = Classes.of((1.0 + 1e-9 * np.linspace(-1.0, 1.0, count)) / count)
    alike, apart = (
        from_margins(classes, (margin, margin), (none, none))
        for classes in (Classes.of(count), near)
    )
    for name in ("test_accuracy", "train_accuracy", "best_accuracy", "log_test_error"):
        assert getattr(apart, name) == pytest.approx(getattr(alike, name), abs=1e-7)


def test_the_best_threshold_beats_any_other():
    margin, fractions = np.array([0.7]), (0.3, 0.7)
    offset = np.linspace(-3, 3, 2001)
    errors = own_log_error(np.full_like(offset, 0.7), 0.0, offset, fractions)
    assert np.min(errors) == pytest.approx(
        best_log_error(margin, Classes.of(fractions))[0], abs=1e-6
    )
    assert np.min(errors) >= best_log_error(margin, Classes.of(fractions))[0]


def test_area_under_the_curve_is_the_chance_that_a_pair_is_ranked_right():
    """Phi(m Delta / sqrt 2), by integrating the true positive rate over the false positive rate."""
    m, p = 0.8, 0.3
    distance = 1 / np.sqrt(p * (1 - p))
    z = np.linspace(-9, 9, 4001)
    area = np.trapezoid(ndtr(z + m * distance) * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi), z)
    assert roc_auc(np.array([m]), Classes.of([p, 1 - p]))[0] == pytest.approx(area, abs=1e-9)
    assert roc_auc(np.array([m]), Classes.of(2))[0] == pytest.approx(
        ndtr(np.sqrt(2) * m), abs=1e-15
    )


@pytest.mark.parametrize("row", CLASSES["B_inf"], ids=lambda row: str(row["p"]))
def test_reference_of_two_unequal_classes(row):
    margin, fractions = np.array([row["margin_bias"]]), (row["p"], 1 - row["p"])
    assert -np.expm1(best_log_error(margin, Classes.of(fractions)))[0] == pytest.approx(
        row["accuracy_bias"], abs=1e-13
    )
    balanced = balanced_accuracy(margin, Classes.of(fractions))[0]
    assert balanced == pytest.approx(row["balanced_accuracy_bias"], abs=1e-13)


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.4])
def test_wrong_labels_push_their_nodes_to_the_wrong_side(noise):
    """Of the labels as given: right ones push towards the class, wrong ones away from it."""
    margin, push = np.array([0.3, 1.2]), np.array([0.5, 2.0])
    wanted = (1 - noise) * ndtr(push + margin) + noise * ndtr(push - margin)
    np.testing.assert_allclose(ndtr(given_margin(margin, push, noise)), wanted, rtol=1e-12)


@pytest.mark.parametrize("noise", [0.02, 0.3, 0.49])
def test_losses_of_labels_that_may_be_wrong_are_those_of_their_odds_and_the_evidence(noise):
    """As given: -log of the probability of the label, by adaptive integration; -log(1 - noise) without evidence."""
    odds = np.log((1 - noise) / noise)
    margin = np.array([0.0, 0.4, 1.7])
    (_, train_margin), (_, losses) = certain(margin, np.zeros(3), noise)
    for m, loss in zip(margin, losses, strict=True):

        def log_loss(z, side, m=m):
            return np.logaddexp(0.0, -odds - 2.0 * side * (m**2 + m * z)) * norm.pdf(z)

        right, wrong = (quad(log_loss, -10, 10, args=(side,))[0] for side in (1, -1))
        assert loss == pytest.approx((1 - noise) * right + noise * wrong, rel=1e-9)
    assert losses[0] == pytest.approx(-np.log(1 - noise), rel=1e-12)
    shares = ndtr(odds / (2 * margin[1:]) + [[1.0], [-1.0]] * margin[1:])
    np.testing.assert_allclose(ndtr(train_margin[1:]), [1 - noise, noise] @ shares, rtol=1e-12)


@pytest.mark.parametrize("steepness", [0.3, 1.0, 4.0])
def test_one_competitor_leaves_a_normal_tail_and_a_grid_of_the_length_that_it_needs(steepness):
    """1 - E Phi(c z + o) = Phi(-o / sqrt(1 + c^2)); its integrand is largest at the nearest z where both are level."""
    shift = np.array([-3.0, 0.0, 2.0, 30.0, 200.0])
    one = np.ones(1)
    log = _any_larger(shift[:, None], steepness * one, one)
    np.testing.assert_allclose(log, log_ndtr(-shift / np.hypot(1.0, steepness)), rtol=1e-11)
    tracemalloc.start()
    _any_larger(shift[-1:, None], steepness * one, one)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    reach = 200.0 * steepness / (1.0 + steepness**2) + 30.0
    assert peak < 8 * 12 * reach * max(1.0, steepness) / 0.2
