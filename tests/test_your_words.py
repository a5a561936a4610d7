"""The dictionary of docs/learn/your-words.md: networks of graph learning, written by hand, do what their translations predict."""

import numpy as np
import pytest
from scipy import optimize

import gcnlimit as gl

NODES, DEGREE, TRIALS = 1000, 30, 10
DATA = gl.CSBM.from_homophily(0.6, DEGREE, 1.5, nodes=NODES, features=250, labelled=100)


def normalized(adjacency):
    """Symmetric normalization with self-loops."""
    dense = adjacency.toarray()
    np.fill_diagonal(dense, 1.0)
    root = np.sqrt(dense.sum(axis=1))
    return dense / root / root[:, None]


def sgc(graph):
    step = normalized(graph.adjacency)
    return step @ (step @ graph.features)


def appnp(graph, teleport=0.1):
    return np.linalg.solve(
        np.eye(NODES) - (1 - teleport) * normalized(graph.adjacency), graph.features
    )


def accuracy(propagate, seed):
    """Test accuracy of strongly penalized weights and a free bias."""
    graph = gl.sample(DATA, NODES, DEGREE, seed)
    states = propagate(graph)
    states = states - states.mean(axis=0)
    weights = states[graph.train_mask].T @ graph.labels[graph.train_mask]
    return np.mean(states @ weights * graph.labels > 0, where=~graph.train_mask)


@pytest.mark.parametrize(
    "propagate, translation",
    [
        (lambda graph: graph.features, gl.Residual([])),
        (sgc, gl.Residual.constant(1 / np.sqrt(DEGREE), 2)),
        (appnp, gl.PageRank(0.9 * np.sqrt(DEGREE) / (DEGREE + 0.1))),
    ],
    ids=["features", "SGC", "APPNP"],
)
def test_a_translated_network_has_the_accuracy_of_the_original(propagate, translation):
    measured = [accuracy(propagate, seed) for seed in range(TRIALS)]
    error = np.std(measured, ddof=1) / np.sqrt(TRIALS)
    assert abs(np.mean(measured) - gl.predict(DATA, gl.GCN(translation)).test_accuracy) < 4 * error


def test_weight_decay_is_the_regularization_over_the_label_rate():
    graph = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.25), 200, 30, seed=0)
    decay = 0.8
    x, y = graph.features[graph.train_mask], graph.labels[graph.train_mask]

    def objective(w):
        margin = y * (x @ w)
        value = np.mean(np.logaddexp(0, -margin)) + decay / 2 * w @ w
        return value, decay * w - x.T @ (y / (1 + np.exp(margin))) / y.size

    by_hand = optimize.minimize(
        objective, np.zeros(x.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-9}
    ).x
    fitted = gl.fit(graph, gl.GCN(gl.Residual([]), loss="logistic", reg=0.25 * decay))
    np.testing.assert_allclose(fitted.outputs, graph.features @ by_hand, atol=1e-5)
