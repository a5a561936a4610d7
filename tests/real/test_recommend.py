"""The recommendation: its networks are those of the classifier, and what it says of their accuracy holds."""

import functools

import numpy as np
import pytest

import gcnlimit as gl


def sampled(seed, rho=0.1, lam=1.5, nodes=600):
    data = gl.CSBM(alpha=2, lam=lam, mu=2.0, rho=rho, directed=False)
    i = gl.sample(data, nodes=nodes, degree=30, seed=seed)
    return i, np.where(i.train_mask, i.labels > 0, -1)


@functools.cache
def advised(rho):
    i, y = sampled(0, rho)
    return gl.recommend(i.features, y, i.adjacency)


@pytest.mark.parametrize("rho", [0.05, 0.2])
def test_each_rule_is_a_network_of_the_classifier(rho):
    (i, y), advice = sampled(0, rho), advised(rho)
    assert {rule.rule for rule in advice.rules} == {"leave-one-out", "theory", "fixed strength", "no graph"}
    for rule in advice.rules:
        model = gl.GraphClassifier(**rule.options).fit(i.features, y, graph=i.adjacency)
        assert (model.loo_score_, model.reg_) == pytest.approx((rule.loo_accuracy, rule.reg))
        assert model.strength_ == pytest.approx(rule.strength)
        assert rule.loo_error >= 1 / (model.labelled_.size + 2)  # also where no node was wrong


@pytest.mark.slow
def test_the_accuracy_less_the_optimism_is_that_of_new_nodes():
    apart = []
    for seed in range(9):
        i, y = sampled(seed, rho=0.05)
        rule = gl.recommend(i.features, y, i.adjacency).rules[0]
        model = gl.GraphClassifier(**rule.options).fit(i.features, y, graph=i.adjacency)
        test = model.score(y=np.where(i.train_mask, -1, i.labels > 0))
        apart.append([rule.loo_accuracy - test, rule.loo_accuracy - rule.optimism - test])
    plain, honest = np.mean(apart, axis=0)
    error = np.std(apart, axis=0, ddof=1)[1] / 3
    assert abs(honest) < 4 * error
    assert honest < plain


def test_many_labels_choose_by_leave_one_out_and_few_by_theory():
    many, few = advised(0.2), advised(0.05)
    assert many.chosen.rule == "leave-one-out"
    assert few.chosen.rule == "theory"
    for advice in (many, few):
        assert advice.reason.startswith("Use pagerank of strength")
        assert f"{advice.chosen.loo_accuracy:.3f}" in advice.reason
        assert advice.reason in str(advice)
    assert "steps along the edges" in many.reason
    assert "steps along the edges" not in few.reason


def test_the_depths_are_those_of_the_classifier():
    (i, y), advice = sampled(0, 0.2), advised(0.2)
    for depth in (depth for depth in advice.depths if depth.strength in (-0.5, 0.0, 0.7)):
        model = gl.GraphClassifier(strengths=[depth.strength], hops=0).fit(i.features, y, graph=i.adjacency)
        assert model.loo_score_ == pytest.approx(depth.loo_accuracy)
        assert advice.chosen.loo_accuracy - model.loo_score_ == pytest.approx(depth.below.value, abs=1e-12)


@pytest.mark.slow
def test_half_of_the_labels_give_what_a_network_trained_on_half_reaches():
    apart = []
    for seed in range(4):
        i, y = sampled(seed, rho=0.4, nodes=400)
        text = next(line for line in gl.recommend(i.features, y, i.adjacency).reason.splitlines() if "Half" in line)
        fewer = np.where(np.random.default_rng(seed).random(y.size) < 0.5, y, -1)
        model = gl.GraphClassifier().fit(i.features, fewer, graph=i.adjacency)
        test = model.score(y=np.where(fewer < 0, i.labels > 0, -1))
        apart.append(float(text.split()[5]) - test)
    assert abs(np.mean(apart)) < 4 * np.std(apart, ddof=1) / 2


def test_the_ceiling_is_said_only_where_nothing_speaks_against_the_model(texas):
    plain, hubs = advised(0.2), gl.recommend(texas.X, texas.training(), texas.graph)
    assert not plain.doubts
    assert f"{gl.bayes_optimal(plain.estimate.data).test_accuracy:.3f} +- " in plain.reason
    assert hubs.doubts[0] in hubs.reason
    assert hubs.estimate.method == "labels"
    assert hubs.chosen.strength < 0


@pytest.mark.parametrize("lam", [1.8, -1.8])
def test_the_strength_of_the_theory_has_the_sign_of_the_graph(lam):
    i, y = sampled(2, 0.05, lam)
    theory = next(rule for rule in gl.recommend(i.features, y, i.adjacency).rules if rule.rule == "theory")
    assert np.sign(theory.strength) == np.sign(lam)
    assert abs(theory.strength) < 1


def test_a_network_that_is_always_right_is_not_certain():
    """Eighteen eighteenths add up to more than 1 by rounding; and eighteen nodes cannot say that the error is 0."""
    X, y = np.arange(18) % 2 + 1e-3 * np.random.default_rng(0).random((18, 18)), np.arange(18) % 2
    graph = (y[:, None] == y) & ~np.eye(18, dtype=bool)
    assert np.full(18, 1 / 18) @ np.ones(18) > 1
    rule = gl.recommend(X.T, y, graph).rules[0]
    assert (rule.loo_accuracy, rule.loo_error) == (1.0, 1 / 20)
