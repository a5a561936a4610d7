"""The model in the words of graph learning: homophily, degree and the distance of class means, checked on drawn graphs."""

import numpy as np
import pytest
from scipy.special import ndtr

import gcnlimit as gl

SIZES = {"nodes": 2000, "features": 500, "labelled": 200}


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(
    "homophily, degree, classes", [(0.35, 10, 2), (0.6, 30, 2), (0.6, 900, 2), (0.45, 30, 5)]
)
def test_a_drawn_graph_has_the_homophily_and_degree_asked_for(homophily, degree, classes, directed):
    data = gl.CSBM.from_homophily(
        homophily, degree, 1.5, **SIZES, directed=directed, classes=classes
    )
    graph = gl.sample(data, nodes=SIZES["nodes"], degree=degree, seed=1)
    row, column = graph.adjacency.nonzero()
    row, column = (row, column) if directed else (row[row < column], column[row < column])
    within = np.mean(graph.labels[row] == graph.labels[column])
    assert abs(within - homophily) < 4 * np.sqrt(homophily * (1 - homophily) / row.size)
    edges = degree * SIZES["nodes"] / (1 if directed else 2)
    assert (
        abs(row.size - edges) < 4 * np.sqrt(edges) + degree
    )  # an undirected graph may have a few loops beside them


@pytest.mark.parametrize("classes", [2, 5])
def test_a_drawn_graph_has_the_distance_asked_for(classes):
    data = gl.CSBM.from_homophily(0.6, 30, 3.0, **SIZES, classes=classes)
    graph = gl.sample(data, nodes=SIZES["nodes"], degree=30, seed=2)
    one, other = (graph.features[graph.labels == y] for y in ((1, -1) if classes == 2 else (0, 1)))
    sizes = 1 / len(one) + 1 / len(other)
    squared = np.sum((one.mean(axis=0) - other.mean(axis=0)) ** 2) - SIZES["features"] * sizes
    centroids, cross, means = 2 * 9.0**2 / 500, 4 * 9.0 * sizes, 2 * 500 * sizes**2
    assert abs(squared - 9.0) < 4 * np.sqrt(centroids + cross + means)


def test_known_class_means_classify_with_half_the_distance():
    """With many labelled nodes for each feature the means are known, and nothing else is left without a graph."""
    distance = np.array([0.5, 1.5, 3.0])
    data = gl.CSBM.from_homophily(0.5, 10, distance, nodes=1e9, features=10, labelled=1e9)
    np.testing.assert_allclose(gl.bayes_optimal(data).test_accuracy, ndtr(distance / 2), rtol=1e-7)


def test_there_and_back_over_arrays():
    h, distance = np.array([[0.3], [0.5], [0.9]]), np.array([0.0, 1.0])
    for classes in (7, 2):
        data = gl.CSBM.from_homophily(h, 20, distance, **SIZES, classes=classes)
        assert data.shape == (3, 2)
        np.testing.assert_allclose(data.homophily(20, 2000), h, rtol=1e-14)
        np.testing.assert_allclose(data.distance, distance, rtol=1e-14)
    np.testing.assert_allclose(data.lam, (2 * h - 1) * np.sqrt(20), rtol=6e-3)  # d << N


@pytest.mark.parametrize(
    "bad, says",
    [
        ({"homophily": 1.2}, "homophily = 1.2 is not allowed"),
        ({"degree": 2000}, "degree = 2000 is too large; it must be below nodes"),
        ({"distance": -1}, "distance = -1 is not allowed"),
        ({"features": 0}, "features = 0 is not allowed"),
        ({"nodes": 0}, "nodes = 0 is not allowed"),
        ({"labelled": 3000}, "labelled is larger than nodes"),
        ({"labelled": 0.05}, "labelled = 0.05 is not a number of nodes"),
    ],
)
def test_impossible_graphs_are_refused(bad, says):
    with pytest.raises(gl.ParameterError, match=says):
        gl.CSBM.from_homophily(**{"homophily": 0.6, "degree": 30, "distance": 1.0, **SIZES} | bad)


def test_a_degree_too_small_for_the_signal_is_refused():
    with pytest.raises(gl.ParameterError, match="raise degree"):
        gl.CSBM(alpha=4, lam=2.0, mu=2.0, rho=0.1).homophily(degree=3)


def test_sizes_that_do_not_broadcast_are_named():
    with pytest.raises(gl.ParameterError, match=r"degree \(2,\), nodes \(3,\)"):
        gl.CSBM(4, 1, 2, 0.1).homophily([10, 20], [100, 200, 300])
    with pytest.raises(gl.ParameterError, match=r"c \(2,\), depth \(3,\)"):
        gl.Residual.constant([1.0, 2.0], [1, 2, 3])
    sizes = {"distance": 1.0, "nodes": 2000, "features": [500, 600, 700], "labelled": [200, 100]}
    with pytest.raises(gl.ParameterError, match=r"features \(3,\), labelled \(2,\)"):
        gl.CSBM.from_homophily(0.6, degree=30, **sizes)
