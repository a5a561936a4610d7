import dataclasses

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.results.performance import Status


def accuracies(data, trials, nodes, degree):
    runs = [gl.amp(gl.sample(data, nodes=nodes, degree=degree, seed=k)) for k in range(trials)]
    assert all(run.status is Status.CONVERGED for run in runs)
    return [
        (np.mean(values), np.std(values, ddof=1) / np.sqrt(trials))
        for values in np.array(
            [(r.performance.test_accuracy, r.performance.test_loss) for r in runs]
        ).T
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "lam, mu, directed", [(1.0, 2.0, True), (1.2, 1.5, False), (-1.0, 2.0, True)]
)
def test_message_passing_reaches_the_bayes_optimal_accuracy(lam, mu, directed):
    data = gl.CSBM(alpha=4, lam=lam, mu=mu, rho=0.1, directed=directed)
    best = gl.bayes_optimal(data)
    (accuracy, error), (loss, loss_error) = accuracies(data, trials=10, nodes=1200, degree=60)
    assert abs(accuracy - best.test_accuracy) < 4 * error
    assert abs(loss - best.test_loss) < 4 * loss_error


def test_without_labels_the_classes_are_recovered_up_to_their_names():
    data = gl.CSBM(alpha=4, lam=1.5, mu=2.0, rho=0.0)
    found = gl.amp(gl.sample(data, nodes=2000, degree=30, seed=0))
    assert abs(found.performance.test_accuracy - gl.bayes_optimal(data).test_accuracy) < 0.04


def test_it_needs_only_the_observation_and_beats_the_network(instance):
    blind = gl.amp(instance.observation)
    assert blind.performance is None
    assert np.array_equal(blind.labels, gl.amp(instance).labels)
    network = gl.fit(instance, gl.GCN(gl.Diffusion(1.2), symmetrize=True))
    assert gl.amp(instance).performance.test_accuracy > network.performance.test_accuracy


def test_posterior_means_are_calibrated_and_certain_on_labelled_nodes(instance):
    found = gl.amp(instance)
    mask = instance.train_mask
    assert np.array_equal(found.labels[mask], instance.labels[mask])
    assert np.all(np.isinf(found.log_odds[mask]))
    hidden = found.labels[~mask]
    overlap, size = (
        np.mean(hidden * instance.labels[~mask]),
        np.mean(hidden**2),
    )  # equal on the Nishimori line
    assert abs(overlap - size) < 0.06
    cosine = found.centroid @ instance.latents.centroid
    cosine /= np.linalg.norm(found.centroid) * np.linalg.norm(instance.latents.centroid)
    assert cosine > 0.5


def test_hidden_labels_do_not_matter(instance):
    other = gl.Instance(
        instance.observation, dataclasses.replace(instance.latents, labels=-instance.labels)
    )
    assert np.array_equal(gl.amp(instance).labels, gl.amp(other).labels)


def test_too_few_iterations_are_reported(instance):
    found = gl.amp(instance, max_iterations=2)
    assert found.status is Status.NOT_CONVERGED
    assert found.iterations == 2


def test_with_wrong_labels_the_labelled_nodes_are_judged_by_their_labels():
    """Not all of them are believed: accuracy and loss are those of the posterior against the labels as given."""
    instance = gl.sample(gl.CSBM(4, 1.0, 2.0, 0.3, noise=0.2), nodes=1000, degree=30, seed=0)
    posterior = gl.amp(instance)
    given = posterior.probabilities[instance.train_mask]
    wanted = instance.observation.train_class_index
    assert posterior.performance.train_accuracy == np.mean(given.argmax(axis=1) == wanted) < 0.95
    loss = -np.mean(np.log(given[np.arange(wanted.size), wanted]))
    assert posterior.performance.train_loss == pytest.approx(loss)
