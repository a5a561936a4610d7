"""The recommendation: its networks are those of the classifier, and what it says of their accuracy holds."""

import numpy as np
import pytest

import gcnlimit as gl


def sampled(seed, rho=0.1, lam=1.5, nodes=600):
    data = gl.CSBM(alpha=2, lam=lam, mu=2.0, rho=rho, directed=False)
    i = gl.sample(data, nodes=nodes, degree=30, seed=seed)
    return i, np.where(i.train_mask, i.labels > 0, -1)


@pytest.mark.parametrize("rho", [0.05, 0.2])
def test_each_rule_is_a_network_of_the_classifier(rho):
    i, y = sampled(0, rho)
    advice = gl.recommend(i.features, y, i.adjacency)
    assert {rule.rule for rule in advice.rules} == {"leave-one-out", "theory", "fixed strength", "no graph"}
    for rule in advice.rules:
        model = gl.GraphClassifier(**rule.options).fit(i.features, y, graph=i.adjacency)
        assert (model.loo_score_, model.reg_) == pytest.approx((rule.loo_accuracy, rule.reg))
        assert model.strength_ == pytest.approx(rule.strength)


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
    many, few = (gl.recommend(i.features, y, i.adjacency) for i, y in (sampled(0, 0.2), sampled(0, 0.05)))
    assert many.chosen.rule == "leave-one-out"
    assert few.chosen.rule == "theory"
    for advice in (many, few):
        assert advice.reason.startswith("Take pagerank of strength")
        assert f"{advice.chosen.loo_accuracy:.3f}" in advice.reason
        assert advice.reason in str(advice)


@pytest.mark.parametrize("lam", [1.8, -1.8])
def test_the_strength_of_the_theory_has_the_sign_of_the_graph(lam):
    i, y = sampled(2, 0.05, lam)
    theory = next(rule for rule in gl.recommend(i.features, y, i.adjacency).rules if rule.rule == "theory")
    assert np.sign(theory.strength) == np.sign(lam)
    assert abs(theory.strength) < 1


def test_several_classes_use_the_estimate_from_labels(texas):
    advice = gl.recommend(texas.X, texas.training(), texas.graph)
    assert advice.estimate.method == "labels"
    assert advice.chosen.strength < 0
