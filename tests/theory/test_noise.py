"""Labels that are wrong with a known probability: limits, two routes to one number, and sampled graphs."""

import numpy as np
import pytest
from problems import random_data

import gcnlimit as gl
from gcnlimit.theory.ceiling.state_evolution import StateEvolution

NOISY = gl.CSBM(2, 0.8, 2.0, 0.3, noise=0.15)
FIELDS = ("test_accuracy", "train_accuracy", "test_loss", "train_loss")
NETWORKS = {
    "infinite": gl.GCN(gl.Residual([1.0, 0.5])),
    "logistic": gl.GCN(gl.Residual([1.0]), "logistic", reg=3.0),
    "square, directed": gl.GCN(gl.Residual([1.0]), reg=[0.3, 3.0], symmetrize=False),
    "hinge": gl.GCN(gl.PageRank(0.2), "hinge", reg=1.0),
    "stopped": gl.GCN(gl.Diffusion(1.0), reg=0.1, training=gl.GradientFlow([0.1, 3.0])),
    "penalty": gl.GCN(gl.PageRank(0.2), "square", reg=1.0, penalty=gl.ElasticNet(0.3)),
}


@pytest.mark.parametrize("gcn", NETWORKS.values(), ids=NETWORKS)
def test_little_noise_is_none(gcn):
    nearly, none = (gl.predict(NOISY.replaced(noise=noise), gcn) for noise in (1e-9, 0.0))
    for name in FIELDS:
        np.testing.assert_allclose(getattr(nearly, name), getattr(none, name), atol=1e-7)


def test_a_training_to_the_end_is_the_ridge_regression():
    """The average over flips in the equations of the ridge, and right labels beside pure noise on its path."""
    data = random_data(20, seed=4).replaced(noise=0.2)
    ridge = gl.GCN(gl.Diffusion(0.8), reg=0.5)
    end, flow = (
        gl.predict(data, ridge.replaced(training=way)) for way in (None, gl.GradientFlow(np.inf))
    )
    for name in FIELDS:
        np.testing.assert_allclose(getattr(flow, name), getattr(end, name), atol=1e-8)
    weights, path = (p.order_parameters.weights for p in (end, flow))
    np.testing.assert_allclose(path.Q, weights.Q, rtol=1e-8)
    np.testing.assert_allclose(path.m, weights.m, rtol=1e-8, atol=1e-10)


@pytest.mark.slow
def test_stopped_training_on_wrong_labels_agrees_with_sampled_graphs():
    descent = gl.GradientDescent([1, 4, 20], 0.1, 0.5)
    gcn = gl.GCN(gl.Diffusion(0.8), reg=0.01, training=descent)
    exact = gl.predict(NOISY, gcn)
    found = gl.simulate(NOISY, gcn, nodes=1500, degree=40, trials=10, seed=2, workers=1)
    for name in FIELDS:
        error = getattr(found.standard_error, name)
        assert np.all(np.abs(getattr(found, name) - getattr(exact, name)) < 4 * error), name


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_a_large_regularization_is_infinite(loss):
    strong = gl.predict(NOISY, gl.GCN(gl.Residual([1.0]), loss, reg=1e7))
    infinite = gl.predict(NOISY, gl.GCN(gl.Residual([1.0]), loss))
    assert strong.test_accuracy == pytest.approx(infinite.test_accuracy, abs=1e-6)
    assert strong.train_accuracy == pytest.approx(infinite.train_accuracy, abs=1e-6)


def test_at_infinite_regularization_noise_is_fewer_labels():
    data = random_data(20, seed=5)
    gcn = gl.GCN(gl.Diffusion(0.7))
    noisy, fewer = (
        gl.predict(data.replaced(**change), gcn)
        for change in ({"noise": 0.1}, {"rho": 0.64 * data.rho})
    )
    np.testing.assert_allclose(noisy.test_accuracy, fewer.test_accuracy, atol=1e-14)


def test_the_free_entropy_goes_from_that_of_the_labels_to_that_without_them():
    ends = {1e-9: NOISY.replaced(noise=0.0), 0.499999: NOISY.replaced(noise=0.0, rho=0.0)}
    for noise, end in ends.items():
        noisy = gl.bayes_optimal(NOISY.replaced(noise=noise)).free_entropy
        assert noisy == pytest.approx(gl.bayes_optimal(end).free_entropy, abs=1e-6)


def test_noise_costs_and_no_network_is_above_the_ceilings():
    data = random_data(20, seed=6)
    bayes = [
        gl.bayes_optimal(data.replaced(noise=noise)).test_accuracy
        for noise in (0.0, 0.05, 0.3, 0.4999999)
    ]
    assert np.all(np.diff(bayes, axis=0) <= 1e-12)
    unlabelled = gl.bayes_optimal(data.replaced(rho=np.zeros(20))).test_accuracy
    np.testing.assert_allclose(bayes[-1], unlabelled, atol=1e-4)
    noisy = data.replaced(noise=0.2)
    linear = gl.best_linear(noisy).test_accuracy
    assert np.all(linear <= gl.bayes_optimal(noisy).test_accuracy)
    network = gl.tune(noisy, gl.GCN(gl.PageRank(0.0)), {"theta": (-1, 1)}).prediction.test_accuracy
    assert np.all(network <= linear + 1e-12)


def test_the_free_entropy_is_stationary_at_the_answer():
    evolution = StateEvolution.of(NOISY)
    answer = evolution.overlap(evolution.fixed_points().best)

    def entropy(q):
        m = evolution.evidence.at(q)
        hidden = evolution.node.information(m)[0]
        labelled = evolution.node.labelled_information(m)
        return float((0.5 * evolution.evidence.free_entropy(q) + 0.3 * labelled + 0.7 * hidden)[0])

    step = 1e-4
    slope, away = (entropy(q + step) - entropy(q - step) for q in (answer, answer + 0.05))
    assert abs(slope) < 1e-3 * abs(away)
    assert entropy(answer) == pytest.approx(gl.bayes_optimal(NOISY).free_entropy, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("gcn", NETWORKS.values(), ids=NETWORKS)
def test_sampled_graphs_agree(gcn):
    theory = gl.predict(NOISY, gcn)
    measured = gl.simulate(NOISY, gcn, nodes=2500, degree=60, trials=8, seed=2)
    for name in FIELDS:
        apart = np.abs(getattr(measured, name) - getattr(theory, name))
        assert np.all(
            apart <= 4.0 * getattr(measured.standard_error, name) + 2e-3
        )  # and of the order 1/N


@pytest.mark.slow
def test_message_passing_reaches_the_ceiling_of_noisy_labels():
    found = [
        gl.amp(gl.sample(NOISY, 1500, degree=None, seed=seed)).performance for seed in range(8)
    ]
    best = gl.bayes_optimal(NOISY)
    for name in FIELDS:
        values = np.array([getattr(p, name) for p in found])
        assert abs(values.mean() - getattr(best, name)) <= 4.0 * values.std(ddof=1) / np.sqrt(8)


def test_train_labels_are_wrong_as_often_as_said_and_test_labels_never():
    i = gl.sample(NOISY, nodes=4000, degree=20, seed=3)
    given = i.observation.train_labels[i.train_mask]
    wrong = np.mean(given != i.labels[i.train_mask])
    assert abs(wrong - 0.15) < 4.0 * np.sqrt(0.15 * 0.85 / given.size)
    same = gl.sample(NOISY.replaced(noise=0.0), nodes=4000, degree=20, seed=3)
    np.testing.assert_array_equal(i.labels, same.labels)
    np.testing.assert_array_equal(i.features, same.features)


def test_a_saved_instance_keeps_its_wrong_labels(tmp_path):
    i = gl.sample(NOISY, nodes=300, degree=20, seed=3)
    i.save(tmp_path / "noisy.npz")
    again = gl.Instance.load(tmp_path / "noisy.npz")
    np.testing.assert_array_equal(again.observation.train_labels, i.observation.train_labels)
    np.testing.assert_array_equal(again.labels, i.labels)
    assert again.data == NOISY


@pytest.mark.parametrize(
    "ask, words",
    [
        (lambda: gl.CSBM(4, 1, 2, 0.1, noise=0.5), "labels say nothing"),
        (lambda: gl.CSBM(4, 1, 2, 0.1, noise=-0.1), "noise"),
        (lambda: gl.CSBM(4, 1, 2, 0.1, classes=3, noise=0.1), "two equal ones"),
        (lambda: gl.compare(NOISY), "no theory for noise"),
        (lambda: gl.transfer(NOISY, gl.GCN(gl.Diffusion(1.0)), NOISY), "no theory for noise"),
        (lambda: gl.best_linear(NOISY, to=NOISY.replaced(noise=0.0)), "give both the same"),
        (
            lambda: gl.linear_message_passing(gl.sample(NOISY, 100, 10)),
            "does not take noise = 0.15; use amp",
        ),
    ],
)
def test_what_is_not_known_is_refused(ask, words):
    with pytest.raises(gl.ParameterError, match=words):
        ask()
