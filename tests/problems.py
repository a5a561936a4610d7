"""The catalogue of problems that the tests share: data, networks, kinds of graphs."""

import numpy as np
import pytest

import gcnlimit as gl

PARAMETERS = {"alpha": 4.0, "lam": 1.0, "mu": 2.0, "rho": 0.1}
DATA = gl.CSBM(**PARAMETERS)
"""The data of the README."""

OPTIONS = [word for name, value in PARAMETERS.items() for word in (f"--{name}", f"{value:g}")]
"""The same on the command line."""

WELL_LABELLED = gl.CSBM(alpha=2.0, lam=0.9, mu=1.5, rho=0.4)

LOSSES = ["square", "logistic", "hinge"]

FILTERS = [
    gl.Residual([0.5, 1.2, -0.3]),
    gl.Diffusion(-0.9),
    gl.PageRank(0.2),
    gl.Polynomial([0.3, -0.8, 0.0, 0.5]),
    gl.Residual(np.empty(0)),
]
"""One filter of each family, and the one that ignores the graph."""

GRAPHS = {"directed": (True, False), "symmetrized": (True, True), "symmetric": (False, False)}
"""Kinds of graphs: whether the data are directed, and whether the network symmetrizes them."""

graphs = pytest.mark.parametrize(("directed", "symmetrize"), GRAPHS.values(), ids=GRAPHS)


def random_data(count, seed=0):
    """Data of any kind that networks meet."""
    rng = np.random.default_rng(seed)
    low, high = np.array([[0.3, -2.0, 0.0, 0.02], [6.0, 2.0, 5.0, 0.9]])
    return gl.CSBM(*rng.uniform(low, high, size=(count, 4)).T)


def margin(prediction):
    """Margin of a test node, very low where there is no answer."""
    value = np.asarray(prediction.order_parameters.test_margin)
    failed = (np.asarray(prediction.status) == gl.Status.NOT_CONVERGED) | np.isnan(value)
    return np.where(failed, -1e3, value)


def filter_margin(data, filter, symmetrize=False):
    """Margin of a test node at infinite regularization."""
    return gl.predict(data, gl.GCN(filter, symmetrize=symmetrize)).order_parameters.test_margin


def classed_graph(nodes=60, width=8, classes=3, labelled=30, directed=False):
    """A graph that follows the classes, its features, and its labels with some hidden."""
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=nodes)
    same = y[:, None] == y
    A = (rng.random((nodes, nodes)) < np.where(same, 0.3, 0.05)).astype(float)
    A = A if directed else np.maximum(A, A.T)
    np.fill_diagonal(A, 0.0)
    X = rng.standard_normal((nodes, width)) + rng.standard_normal((classes, width))[y]
    hidden = np.where(np.isin(np.arange(nodes), rng.choice(nodes, labelled, replace=False)), y, -1)
    return X, y, hidden, A
