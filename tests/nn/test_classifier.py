"""The network as an estimator: the contract of scikit-learn, and other nodes than those of the fit."""

import numpy as np
import pytest
from scipy.special import softmax

import gcnlimit as gl

pytest.importorskip("torch")

from sklearn.utils.estimator_checks import parametrize_with_checks

from gcnlimit.nn import MessagePassingClassifier, message_passing_scores
from gcnlimit.nn.inputs import Inputs, is_white


@parametrize_with_checks([MessagePassingClassifier(2, iterations=5, maskings=1, components=20)])
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def test_classes_of_any_names():
    i = gl.sample(gl.CSBM(4, 1.5, 3.0, 0.2), nodes=500, degree=30, seed=0, dtype=np.float32)
    truth = np.where(i.labels > 0, "one", "other")
    model = MessagePassingClassifier(5, operator="paper", components=None, iterations=3)
    model.fit(i.features, np.where(i.train_mask, truth, None), graph=i.adjacency)
    assert model.score(y=truth) > 0.9
    assert np.allclose(model.predict_proba().sum(axis=1), 1.0)


def test_features_that_are_all_equal_are_centred_in_their_own_unit():
    """Elsewhere they may differ."""
    inputs = Inputs.features(np.full((4, 2), 3.0), centred=True)
    np.testing.assert_allclose(inputs(np.array([[3.0, 4.5]])), [[0.0, 1.5]])


def test_features_that_say_nothing_leave_the_graph():
    i = gl.sample(gl.CSBM(4, 2.0, 1.0, 0.3), nodes=200, degree=20, seed=0)
    model = MessagePassingClassifier(3, iterations=3, maskings=1)
    for X in (np.zeros((200, 60)), np.ones((200, 3))):
        model.fit(X, np.where(i.train_mask, i.labels > 0, -1), graph=i.adjacency)
        assert np.isfinite(model.predict_proba()).all()
        assert model.score(y=i.labels > 0) > 0.7


@pytest.mark.parametrize(
    "wrong", [{"layers": 0}, {"iterations": 0}, {"maskings": 0}, {"seed": -1}, {"operator": "best"}]
)
def test_numbers_with_which_nothing_is_trained_are_refused(wrong):
    i = gl.sample(gl.CSBM(4, 1.5, 3.0, 0.2), nodes=100, degree=20, seed=0)
    with pytest.raises(gl.ParameterError, match=f"{next(iter(wrong))} = "):
        MessagePassingClassifier(**wrong).fit(
            i.features, np.where(i.train_mask, i.labels > 0, -1), graph=i.adjacency
        )


def test_on_other_nodes_the_graph_adds_to_the_centroids_of_the_fit():
    """Half of the nodes are for the fit; on the others no class is known, and accuracy is above that of features alone."""
    data = gl.CSBM(alpha=1, lam=3.0, mu=3.0, rho=0.5, directed=False)
    i = gl.sample(data, nodes=1000, degree=60, seed=0)
    here, there = np.arange(500), np.arange(500, 1000)
    truth = (i.labels > 0).astype(int)
    model = MessagePassingClassifier(6, operator="paper", components=None, iterations=5)
    model.fit(
        i.features[here], np.where(i.train_mask, truth, -1)[here], graph=i.adjacency[here][:, here]
    )
    found = model.score(i.features[there], truth[there], graph=i.adjacency[there][:, there])
    assert found > gl.bayes_optimal(data.replaced(lam=0.0)).test_accuracy


def test_the_number_of_components_is_small_where_few_directions_carry_the_classes():
    """Two directions of 250 do; whitening all others, of unequal variances, would hide them."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=300)
    X = 2.0 * rng.standard_normal((300, 250)) + 0.3 * rng.standard_normal((3, 250))[truth]
    X = X @ np.linalg.qr(rng.standard_normal((250, 250)))[0] * np.linspace(0.3, 1.7, 250)
    A = np.triu(rng.random((300, 300)) < np.where(truth[:, None] == truth, 0.06, 0.04), 1).astype(
        float
    )
    model = MessagePassingClassifier(3, iterations=3, maskings=1)
    model.fit(X, np.where(np.arange(300) < 60, truth, -1), graph=A + A.T)
    assert model.components_ <= 30
    assert model.score(y=truth) > 0.75


def test_numbers_trained_on_half_of_the_labels_serve_where_all_are_known():
    """Strong features, of which training makes more the fewer labels there are."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=300)
    X = rng.standard_normal((300, 250)) + 0.3 * rng.standard_normal((3, 250))[truth]
    A = np.triu(rng.random((300, 300)) < np.where(truth[:, None] == truth, 0.06, 0.04), 1).astype(
        float
    )
    model = MessagePassingClassifier(3, operator="paper", components=15, iterations=3, maskings=1)
    model.fit(X, np.where(np.arange(300) < 60, truth, -1), graph=A + A.T)
    assert model.score(y=truth) > 0.9


UNEQUAL = gl.CSBM(2.5, 0.9, 1.6, 0.15, classes=(0.3, 0.7))
THREE = gl.CSBM(3, 0.9, 2.0, 0.15, classes=(0.6, 0.25, 0.15))
HUBS = gl.CSBM(4, 1.0, 2.0, 0.1, degrees=gl.Gamma(0.5))
POWER_LAW = gl.CSBM(3, 1.2, 2.0, 0.1, directed=False, degrees=gl.Pareto(2.5, 50.0))


def drawn(data, nodes, seed):
    i = gl.sample(data, nodes=nodes, degree=60, seed=seed)
    truth = data.classes.index_of(i.labels)
    return i, truth, np.where(i.train_mask, truth, -1)


@pytest.mark.parametrize("data", [UNEQUAL, HUBS], ids=["unequal", "hubs"])
def test_function_and_estimator_train_the_same_network(data):
    i, _, known = drawn(data, 1000, seed=0)
    scores = message_passing_scores(i.features, i.adjacency, known, layers=2)
    model = MessagePassingClassifier(2).fit(i.features, known, graph=i.adjacency)
    assert np.array_equal(scores, model._outputs)
    assert model.network_.sizes == (data is UNEQUAL)
    assert model.operator_ == ("paper" if data is UNEQUAL else "degrees")
    assert model.components_ is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "data", [UNEQUAL, THREE, HUBS, POWER_LAW], ids=["two", "three", "Gamma", "Pareto"]
)
def test_the_estimator_reaches_message_passing_that_knows_the_parameters(data):
    """Accuracies on three graphs: within two standard errors, of which the least is that of independent nodes that differ."""
    gain, differ = [], []
    for seed in range(3):
        i, truth, known = drawn(data, 2000, seed)
        found = MessagePassingClassifier().fit(i.features, known, graph=i.adjacency).predict()
        best = gl.amp(i).probabilities.argmax(1)
        test = ~i.train_mask
        gain.append(np.mean(found[test] == truth[test]) - np.mean(best[test] == truth[test]))
        differ.append(np.mean(found[test] != best[test]) / test.sum())
    error = max(np.std(gain, ddof=1) / 3**0.5, np.sqrt(np.mean(differ) / 3))
    assert abs(np.mean(gain)) < 2 * error


@pytest.mark.parametrize("classes", [2, (0.3, 0.7), 5])
@pytest.mark.parametrize("alpha", [0.5, 1.0, 20.0])
def test_features_of_the_model_are_classes_in_white_noise(classes, alpha):
    data = gl.CSBM(alpha, 1.0, 3.0, 0.1, classes=classes)
    for seed in range(3):
        X = gl.sample(data, nodes=600, degree=10, seed=seed).features
        assert is_white(5.0 * X + 2.0, data.classes.count)
        assert not is_white(X @ np.diag(np.linspace(0.3, 1.7, X.shape[1])), data.classes.count)


@pytest.mark.parametrize("lam", [0.8, -0.8])
def test_on_a_new_graph_the_function_is_near_message_passing_on_both(lam):
    """Strong features, a sign of the new graph that no label tells: probabilities as good as those of known parameters."""
    i = gl.sample(gl.CSBM(3, 0.8, 5.0, 0.2), nodes=600, degree=60, seed=0)
    there = gl.sample(gl.CSBM(6, lam, 10.0, 0.0), nodes=1200, degree=60, seed=10, beside=i)
    known = np.where(i.train_mask, i.data.classes.index_of(i.labels), -1)
    new = (there.features, there.adjacency)
    scores = message_passing_scores(i.features, i.adjacency, known, new=new, layers=6)[600:]
    truth = np.eye(2)[i.data.classes.index_of(there.labels)]
    best = gl.amp(i, to=there).probabilities[-1200:]
    found, exact = (
        -np.mean(np.log(np.sum(p * truth, axis=1))) for p in (softmax(scores, axis=1), best)
    )
    assert abs(found - exact) < 0.03
