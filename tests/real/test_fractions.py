"""Fractions of the classes among nodes without labels: given, estimated, moved on another graph."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax

import gcnlimit as gl
from gcnlimit.graphs.blocks import labelled_in_groups
from gcnlimit.graphs.labels import as_fractions, as_labels
from gcnlimit.numerics.leave_one_out import SPREAD, recalibrated
from gcnlimit.real.fractions import EXPLAINED, WIDE, Shift
from gcnlimit.real.recommend import expectation
from gcnlimit.real.scores import expected_accuracy

SHARES = np.array([0.6, 0.25, 0.15])


def drawn(seed, shares=SHARES, nodes=900, width=20, signal=0.6):
    """A graph that follows classes of these shares, with features whose class means do not depend on the seed."""
    rng = np.random.default_rng(seed)
    y = rng.choice(len(shares), nodes, p=shares)
    rate = np.where(y[:, None] == y, 0.02, 0.008)
    A = np.triu(rng.random((nodes, nodes)) < rate, 1).astype(float)
    means = signal * np.random.default_rng(99).standard_normal((len(shares), width))
    return rng.standard_normal((nodes, width)) + means[y], y, A + A.T


def by_class(y, count, seed):
    """Labels of so many nodes of each class, at most of half of it."""
    rng, seen = np.random.default_rng(seed), np.full(len(y), -1)
    for c in np.unique(y):
        mine = np.flatnonzero(y == c)
        seen[rng.choice(mine, min(count, (len(mine) + 1) // 2), replace=False)] = c
    return seen


def outputs(rng, classes, prior, sharpness=2.0):
    """Exact log probabilities of Gaussian classes of unit variance on a line of corners, under a prior."""
    corners = sharpness * np.eye(len(prior))
    x = corners[classes] + rng.standard_normal((len(classes), len(prior)))
    return log_softmax(-0.5 * np.sum((x[:, None] - corners) ** 2, axis=2) + np.log(prior), axis=1)


def test_fractions_come_back_from_exact_probabilities():
    rng = np.random.default_rng(0)
    prior = np.full(3, 1 / 3)
    for true in (SHARES, np.array([0.1, 0.1, 0.8]), prior):
        here, there = np.repeat(np.arange(3), 40), rng.choice(3, 3000, p=true)
        shift = Shift.of(outputs(rng, here, prior), here, outputs(rng, there, prior), prior)
        error = np.sqrt(np.diag(shift.covariance))
        assert np.all(np.abs(shift.fractions - true) < 3 * error)
        assert error.max() < 0.08
        assert shift.refutes(np.full(3, 40)) == (true is not prior)


def test_outputs_that_say_nothing_leave_the_fractions_of_the_labels():
    rng, prior = np.random.default_rng(1), np.array([0.3, 0.7])
    blind = np.log(prior) + 1e-3 * rng.standard_normal((500, 2))
    shift = Shift.of(blind[:60], np.repeat([0, 1], [18, 42]), blind[60:], prior)
    assert shift.fractions == pytest.approx(prior, abs=0.02)
    assert shift.level > 0.05


def test_the_estimate_is_certain_where_outputs_are():
    rng, prior = np.random.default_rng(2), np.array([0.5, 0.5])
    here, there = np.repeat([0, 1], 50), rng.choice(2, 2000, p=[0.2, 0.8])
    errors = []
    for sharpness in (0.3, 1.0, 4.0):
        left_out, other = (outputs(rng, classes, prior, sharpness) for classes in (here, there))
        errors.append(Shift.of(left_out, here, other, prior).covariance[0, 0])
    assert errors[0] > errors[1] > errors[2] > 0


def test_the_error_of_mean_outputs_falls_as_one_over_the_nodes():
    """Twice as many nodes of the same outputs halve what depends on them; what the model misses stays."""
    rng, prior = np.random.default_rng(2), np.array([0.5, 0.5])
    here, there = np.repeat([0, 1], 5), rng.choice(2, 10)
    left_out, other = (outputs(rng, classes, prior, 1.0) for classes in (here, there))
    error = []
    for times in (1, 2, 4):
        each = np.tile(left_out, (times, 1)), np.tile(here, times), np.tile(other, (times, 1))
        error.append(1.0 / (1.0 / Shift.of(*each, prior).covariance[0, 0] - 4.0 / WIDE**2))
    assert error[0] - error[1] == pytest.approx(2.0 * (error[1] - error[2]), rel=1e-9)


def test_given_fractions_are_the_rule_of_bayes():
    X, y, A = drawn(0)
    model = gl.GraphClassifier(fractions="labels").fit(X, by_class(y, 20, 0), graph=A)
    p, shares = model.predict_proba(), np.array([0.5, 0.3, 0.2])
    wanted = p * shares / np.full(3, 1 / 3)
    wanted /= wanted.sum(axis=1, keepdims=True)
    assert model.predict_proba(fractions=shares) == pytest.approx(wanted, abs=1e-9)
    by_name = dict(zip(range(3), shares, strict=True))
    given = gl.GraphClassifier(fractions=by_name).fit(X, by_class(y, 20, 0), graph=A)
    assert given.predict_proba() == pytest.approx(wanted, abs=1e-9)
    assert given.fractions_ == pytest.approx(shares)
    assert softmax(given.decision_function(), axis=1) == pytest.approx(wanted, abs=1e-9)
    assert np.array_equal(given.predict(), given.classes_[wanted.argmax(axis=1)])


def test_fractions_that_pandas_counts_are_by_class():
    """It lists the largest first; without names, they are in the order of the classes."""
    counted = pd.Series(["b"] * 5 + ["c"] * 3 + ["a"] * 2).value_counts(normalize=True)
    classes = np.array(["a", "b", "c"])
    assert as_fractions(counted, classes) == pytest.approx([0.2, 0.5, 0.3])
    assert as_fractions(counted.reset_index(drop=True), classes) == pytest.approx([0.5, 0.3, 0.2])
    numbers = pd.Series([0.7, 0.3], index=[1, 0])
    assert as_fractions(numbers, np.array([0, 1])) == pytest.approx([0.3, 0.7])
    with pytest.raises(gl.ParameterError, match=r"fractions name .*-1.*give one for each of"):
        as_fractions(pd.Series([0, 1, -1]).value_counts(normalize=True), np.array([0, 1]))


@pytest.mark.slow
def test_labels_drawn_by_class_lose_nothing_and_expect_what_they_reach():
    """The accuracy is within its interval in nine of ten draws, and higher than with the fractions of the labels."""
    inside, gains = [], []
    for seed in range(20):
        X, y, A = drawn(seed, nodes=600, signal=0.35)
        seen = by_class(y, 15, seed)
        test = np.where(seen < 0, y, -1)
        model = gl.GraphClassifier().fit(X, seen, graph=A)
        plain = gl.GraphClassifier(fractions="labels").fit(X, seen, graph=A)
        gains.append(model.score(y=test) - plain.score(y=test))
        inside.append(
            model.expected_accuracy_.low <= model.score(y=test) <= model.expected_accuracy_.high
        )
    assert np.mean(inside) >= 0.9
    assert np.mean(gains) > 0.0


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ([20, 20], True),
        ([20, 10], False),
        ([20, 20, 10], False),  # by chance in one of eight draws
        ([20, 20, 20, 7], True),
        ([20, 20, 20, 12, 9, 4], True),
        ([20, 20, 20, 12, 9, 4, 1], False),
    ],
)
def test_labels_drawn_by_class_are_told_by_their_counts(counts, told):
    """Where outputs differ at a level between the two, only labels drawn by class are no random sample."""
    prior = np.array(counts) / np.sum(counts)
    shift = Shift(prior, np.zeros((prior.size, prior.size)), 0.03, 0.5)
    assert shift.refutes(np.array(counts)) == told


@pytest.mark.parametrize("seed", range(2))
def test_a_class_of_few_nodes_hides_no_labels_drawn_by_class(seed):
    """The fractions of the others stay unknown, which the interval says, as it does without the small class."""
    shares = np.array([0.5, 0.25, 0.15, 0.085, 0.015])
    X, y, A = drawn(seed, shares, nodes=600, signal=0.2)
    seen = by_class(y, 20, seed)
    assert np.ptp(np.bincount(seen[seen >= 0])) > 0
    model = gl.GraphClassifier(fractions="estimated").fit(X, seen, graph=A)
    kept = gl.GraphClassifier().fit(X, seen, graph=A)
    n = np.sum(seen >= 0)
    by_hits = expected_accuracy(np.arange(n) < kept.loo_score_ * n, 5, 600 - n)
    for one in (model, kept):
        assert one.expected_accuracy_.high > by_hits.high + 0.01


@pytest.mark.slow
def test_random_labels_keep_their_fractions():
    kept = []
    for seed in range(8):
        X, y, A = drawn(seed, nodes=400)
        seen = np.where(np.random.default_rng(100 + seed).random(400) < 0.2, y, -1)
        model = gl.GraphClassifier().fit(X, seen, graph=A)
        kept.append(np.allclose(model.fractions_, np.bincount(seen[seen >= 0]) / np.sum(seen >= 0)))
    assert np.mean(kept) >= 0.85


def test_balanced_weights_are_not_undone():
    X, y, A = drawn(0, nodes=400)
    seen = np.where(np.arange(400) < 120, y, -1)
    model = gl.GraphClassifier(class_weight="balanced").fit(X, seen, graph=A)
    assert model.fractions_ == pytest.approx(np.full(3, 1 / 3))


def test_another_graph_of_other_fractions_is_warned_of_and_repaired():
    X, y, A = drawn(0, [0.5, 0.5])
    Z, z, B = drawn(1, [0.15, 0.85])
    model = gl.GraphClassifier().fit(X, np.where(np.arange(900) < 200, y, -1), graph=A)
    with pytest.warns(UserWarning, match="other fractions here than in the fit.*give fractions="):
        same = model.score(Z, z, graph=B)
    given = model.score(Z, z, graph=B, fractions=[0.15, 0.85])
    few = np.where(np.arange(900) < 40, z, -1)
    recalibrated = np.mean(model.predict(Z, graph=B, y=few) == z)
    assert given > same + 0.01
    assert recalibrated > same
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        W, w, C = drawn(2, [0.5, 0.5])
        assert model.score(W, w, graph=C) > 0.8


def test_a_move_by_a_fifth_is_warned_of_and_scatter_is_not():
    """With a hundred labels, on most of several graphs, and on none that has the fractions of the fit."""
    X, y, A = drawn(6, [0.5, 0.5])
    model = gl.GraphClassifier().fit(X, np.where(np.arange(900) < 100, y, -1), graph=A)
    count = {0.5: 0, 0.3: 0}
    for share in count:
        for seed in range(10, 16):
            Z, _, B = drawn(seed, [share, 1.0 - share])
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                model.predict(Z, graph=B)
            count[share] += any("other fractions" in str(one.message) for one in told)
    assert count[0.5] == 0
    assert count[0.3] >= 4


def test_a_few_labels_find_offsets_and_sharpness():
    """Logarithms that are too blunt and shifted come back, the more labels the nearer."""
    rng = np.random.default_rng(0)
    truth = outputs(rng, rng.choice(3, 4000, p=SHARES), SHARES)
    classes = np.array([rng.choice(3, p=p) for p in np.exp(truth)])
    wrong = 0.5 * truth + np.array([0.7, 0.0, -0.7])
    off = []
    for count in (20, 200, 4000):
        found = recalibrated(wrong, np.arange(count), np.eye(3)[classes[:count]])
        off.append(np.abs(np.exp(found) - np.exp(truth)).mean())
        # the penalized likelihood is stationary: each offset and the log sharpness are its pull on them
        apart = np.exp(found[:count]) - np.eye(3)[classes[:count]]
        sharpness = np.ptp(np.diff(found[:, :2])) / np.ptp(np.diff(wrong[:, :2]))
        pull = sharpness * np.sum(apart * wrong[:count])
        assert np.log(sharpness) == pytest.approx(-(SPREAD[1] ** 2) * pull, abs=1e-3)
        offset = -(SPREAD[0] ** 2) * apart.sum(axis=0)
        moved = found - log_softmax(sharpness * wrong + offset, axis=1)
        np.testing.assert_allclose(moved, 0.0, atol=1e-3)
    assert off[0] < np.abs(softmax(wrong, axis=1) - np.exp(truth)).mean()
    assert off[2] < off[1] < 0.06
    assert off[2] < 0.02


@pytest.mark.parametrize(
    "fractions, said",
    [
        ("some", "use 'auto', 'labels', 'estimated', or a number for each class"),
        ([0.5, 0.5], "give 3 that sum to 1, in the order"),
        ([0.5, 0.5, 0.5], "give 3 that sum to 1"),
        ([1.0, 0.0, 0.0], "fractions"),
        ({0: 0.5, 1: 0.5}, "give one for each of"),
        (None, "fractions"),
    ],
)
def test_bad_fractions_are_refused(fractions, said):
    X, y, A = drawn(0, nodes=200)
    with pytest.raises(gl.ParameterError, match=said):
        gl.GraphClassifier(fractions=fractions).fit(
            X, np.where(np.arange(200) < 80, y, -1), graph=A
        )


def test_labels_of_another_graph_are_checked():
    X, y, A = drawn(0, nodes=200)
    model = gl.GraphClassifier().fit(X, np.where(np.arange(200) < 80, y, -1), graph=A)
    few = np.where(np.arange(200) < 9, y, -1)
    with pytest.raises(
        gl.ParameterError, match="y recalibrates the classifier on another graph; fit with these"
    ):
        model.predict(y=few)
    with pytest.raises(gl.ParameterError, match="give it alone"):
        model.predict(X, graph=A, y=few, fractions=SHARES)
    with pytest.raises(gl.ParameterError, match="y has the class 7; the fit has"):
        model.predict(X, graph=A, y=np.where(few == 1, 7, few))
    with pytest.raises(gl.ParameterError, match="y labels no node"):
        model.predict(X, graph=A, y=np.full(200, -1))
    with pytest.raises(gl.ParameterError, match="y has shape"):
        model.predict(X, graph=A, y=few[:-1])


def test_outputs_that_no_fractions_explain_leave_those_of_the_labels():
    rng = np.random.default_rng(1)
    index = np.repeat([0, 1], 25)
    left_out = np.outer(rng.normal(size=50), [-0.5, 0.5])  # as at chance
    others = np.tile([1.0, -1.0], (60, 1))
    assert Shift.of(left_out, index, others, np.array([0.5, 0.5])).remaining < EXPLAINED


@pytest.mark.parametrize("seed", range(4))
def test_nodes_of_another_kind_than_the_labelled_ones_tell_no_fractions(seed):
    """Users have ages and labels, drawn at random; items have neither."""
    rng = np.random.default_rng(seed)
    users, items = 80, 60
    N = users + items
    A = np.zeros((N, N))
    A[:users, users:] = rng.random((users, items)) < 0.15
    age = np.append(rng.normal(40.0, 12.0, users), np.full(items, 40.0))
    X = np.column_stack([age, np.arange(N) >= users])
    y = np.full(N, -1)
    y[:50] = rng.permutation(np.repeat([0, 1], 25))
    model = gl.GraphClassifier().fit(X, y, graph=A + A.T)
    assert model.fractions_ == pytest.approx([0.5, 0.5])
    assert model.expected_accuracy_.value == pytest.approx(model.loo_score_, abs=0.05)
    assert ("the others differ" in expectation(model)) == model.unlike_


def in_households(seed, nodes=600):
    """Classes of households of four, whose members are alike and joined; and the household of each node."""
    rng = np.random.default_rng(seed)
    house = rng.permutation(np.arange(nodes) // 4)
    y = rng.integers(2, size=nodes)[house]
    X = rng.standard_normal((nodes, 8))[house] + 0.1 * rng.standard_normal((nodes, 8))
    rate = np.where(house[:, None] == house, 0.9, 8 / nodes)
    A = np.triu(rng.random((nodes, nodes)) < rate, 1).astype(float)
    return X, y, A + A.T, house


@pytest.mark.parametrize("told_by", ["edges", "features"])
@pytest.mark.parametrize("fit", [gl.GraphClassifier, gl.FilterClassifier])
def test_labels_of_whole_households_are_told_from_those_by_chance(told_by, fit):
    """Of the same graph: leave-one-out knows the fellows of a node, so that nothing is expected of other households."""
    X, y, A, house = in_households(0)
    rng = np.random.default_rng(1)
    X, A = (None, A) if told_by == "edges" else (X, rng.permutation(A)[:, rng.permutation(600)])
    A = np.triu(A, 1) + np.triu(A, 1).T
    whole, chance = house % 5 == 0, rng.random(600) < 0.2
    words = {"edges": " neighbours of labelled", "features": "nearest nodes in the features"}
    with pytest.warns(UserWarning, match=words[told_by]):
        model = fit().fit(X, np.where(whole, y, -1), graph=A)
    assert model.expected_accuracy_ == (None, 0.0, 1.0)
    assert words[told_by] in expectation(model)
    assert fit().fit(X, np.where(chance, y, -1), graph=A).grouped_ == ""


def test_labels_of_whole_households_leave_one_out_alone_would_trust():
    """What is said is needed: the labelled nodes are easy, the others are not."""
    X, y, A, house = in_households(0)
    whole = house % 5 == 0
    with pytest.warns(UserWarning, match="whole groups"):
        model = gl.GraphClassifier().fit(X, np.where(whole, y, -1), graph=A)
    assert model.loo_score_ > 0.9
    assert model.score(y=np.where(whole, -1, y)) < 0.7


def test_labels_by_class_or_by_degree_are_not_taken_for_groups():
    """Labelled nodes are then joined more often than others are, by what is known of them alone."""
    rng = np.random.default_rng(0)
    y = (rng.random(800) < 0.2).astype(int)
    weight = rng.gamma(1.0, 1.0, 800)
    rate = np.outer(weight, weight) * np.where(
        y[:, None] & y, 0.2, np.where(y[:, None] == y, 0.03, 0.005)
    )
    A = np.triu(rng.random((800, 800)) < rate, 1) * 1.0
    A = csr_array(A + A.T)
    for chance in (np.where(y, 0.8, 0.1), 0.3 * weight):
        labels = as_labels(np.where(rng.random(800) < chance, y, -1), 800)
        seen = np.isin(np.arange(800), labels.labelled)
        assert seen @ (A @ seen) > 1.4 * A.sum() * seen.mean() ** 2
        assert labelled_in_groups(labels, np.eye(2)[y], A, None) == ""


def test_a_node_that_is_the_nearest_of_all_others_makes_no_groups():
    """Whether it is labelled is one draw, not one for each of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 200))
    X[0] = 0.0
    y = rng.integers(2, size=400)
    for _ in range(20):
        seen = rng.random(400) < 0.5
        seen[0] = True
        labels = as_labels(np.where(seen, y, -1), 400)
        assert labelled_in_groups(labels, np.eye(2)[y], None, X) == ""
