"""Graphs that are not of the block model: the reason is named, and no ceiling is stated that they exceed."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import chi2, f_oneway

import gcnlimit as gl
from gcnlimit.classes import Classes
from gcnlimit.graphs.blocks import (
    _level_of_means,
    _one_strength,
    _unlike_features,
    block_doubts,
    triangle_doubts,
)
from gcnlimit.graphs.labels import Labels
from gcnlimit.graphs.standard import Signals, StandardizedGraph, from_labels
from gcnlimit.real.estimate import estimate_standard
from gcnlimit.real.recommend import _ceiling
from gcnlimit.real.scores import Interval

BLOCKS = {
    "core and periphery": np.array([[6.0, 2.0], [2.0, 0.5]]),
    "plain": np.ones((3, 3)) + 3.0 * np.eye(3),
    "unlike pairs": np.array([[4.0, 1, 1, 1], [1, 4, 1, 1], [1, 1, 1, 4], [1, 1, 4, 1]]),
    "cycle": np.array([[1.0, 4, 1], [1, 1, 4], [4, 1, 1]]),
    "weak cycle": np.array([[1.0, 2.2, 1], [1, 1, 2.2], [2.2, 1, 1]]),
}


def drawn(name, seed, nodes=900, degree=15.0):
    """Graph of these blocks, weak features, and a fifth of the labels."""
    rng = np.random.default_rng(seed)
    blocks = BLOCKS[name]
    y = rng.integers(len(blocks), size=nodes)
    rate = blocks[y][:, y]
    A = (rng.random((nodes, nodes)) < degree / nodes * rate / rate.mean()).astype(float)
    np.fill_diagonal(A, 0.0)
    if "cycle" not in name:
        A = np.triu(A)
        A += A.T
    X = rng.standard_normal((nodes, 30)) + 0.25 * rng.standard_normal((len(blocks), 30))[y]
    return X, y, np.where(rng.random(nodes) < 0.2, y, -1), A


def two_kinds(seed, nodes=800):
    """Users and items: edges between the kinds, classes of users only."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=nodes)
    item = np.arange(nodes) >= nodes // 2
    rate = np.where(y[:, None] == y, 0.03, 0.01) * (item[:, None] != item)
    A = np.triu(rng.random((nodes, nodes)) < rate).astype(float)
    X = rng.standard_normal((nodes, 20))
    return X, y, np.where((rng.random(nodes) < 0.3) & ~item, y, -1), A + A.T


def doubted(X, y, seen, A):
    graph = StandardizedGraph.of(X, seen, A)
    return " ".join([*block_doubts(graph), *triangle_doubts(graph, from_labels(graph))])


@pytest.mark.parametrize("seed", range(3))
def test_every_reason_is_named(seed):
    assert "the degree depends on the class" in doubted(*drawn("core and periphery", seed))
    assert "classes are linked in one direction" in doubted(*drawn("cycle", seed))
    assert "classes are linked in one direction" in doubted(*drawn("weak cycle", seed))
    assert "pairs of classes are not linked alike" in doubted(*drawn("unlike pairs", seed))
    assert doubted(*two_kinds(seed)).startswith("the graph is bipartite")
    assert not doubted(*drawn("plain", seed))
    X, y, seen, A = drawn("plain", seed)
    weights = np.triu(np.random.default_rng(seed).exponential(size=A.shape))
    assert doubted(X, y, seen, A * (weights + weights.T)).startswith("the edges have weights")
    assert not doubted(X, y, seen, 2.5 * A)
    assert "degrees vary more within class 0 than" in doubted(*hubs_of_a_class(seed))


def in_quarters(rng, y):
    """Two columns whose product has the sign of the class, beside others."""
    X = rng.standard_normal((y.size, 8))
    X[:, 1] = np.abs(X[:, 1]) * np.sign(X[:, 0]) * np.where(y == 1, 1, -1)
    return X


def spread_out(rng, y):
    """Columns that vary more in one class than in another."""
    return rng.standard_normal((y.size, 30)) * np.where(y == 1, 1.5, 1.0)[:, None]


def in_clusters(rng, y):
    """Two clusters in each class."""
    centres = 1.5 * rng.standard_normal((3, 2, 10))
    return centres[y, rng.integers(2, size=y.size)] + rng.standard_normal((y.size, 10))


@pytest.mark.parametrize("features", [in_quarters, spread_out, in_clusters])
def test_features_whose_covariance_depends_on_the_class_are_named(features):
    """They tell more than the means of the model do, also where labels are too few to learn it."""
    rng = np.random.default_rng(0)
    _, y, seen, A = drawn("plain", 0)
    said = doubted(features(rng, y), None, seen, A)
    assert said.startswith("the features vary in other ways in one class than in another")


@pytest.mark.parametrize("labels, width", [(20, 10), (60, 400), (200, 10)])
def test_classes_of_equal_covariance_are_seldom_taken_for_unlike(labels, width):
    A = drawn("plain", 0, nodes=labels)[3]
    told = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y = np.arange(labels) % 2
        X = rng.standard_normal((labels, width)) + rng.standard_normal((2, width))[y]
        X[:, :5] += rng.standard_normal((labels, 1))
        told += bool([*_unlike_features(StandardizedGraph.of(X, y, A))])
    assert told <= 1


def teams(seed, nodes=600):
    """Papers of four authors, mostly of one class: no eigenvalue of their graph is odd."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=nodes)
    A = np.zeros((nodes, nodes))
    for kind in rng.integers(2, size=nodes):
        weight = np.where(y == kind, 4.0, 1.0)
        team = rng.choice(nodes, 4, replace=False, p=weight / weight.sum())
        A[np.ix_(team, team)] = 1.0
    return rng.standard_normal((nodes, 5)), y, np.where(rng.random(nodes) < 0.3, y, -1), A


def ring(seed, nodes=600):
    """Each node joined to the next two, on a ring of two arcs."""
    A = sum(np.roll(np.eye(nodes), k, axis=1) for k in (-2, -1, 1, 2))
    y = np.arange(nodes) // (nodes // 2)
    rng = np.random.default_rng(seed)
    return rng.standard_normal((nodes, 5)), y, np.where(rng.random(nodes) < 0.3, y, -1), A


@pytest.mark.parametrize("drawn", [teams, ring])
def test_neighbours_joined_to_each_other_are_named(drawn):
    X, _, seen, A = drawn(0)
    np.fill_diagonal(A, 0.0)
    closed = np.trace(A @ A @ A) / np.sum(A @ A - np.diag(A.sum(axis=1)))
    graph = StandardizedGraph.of(X, seen, A)
    (said,) = triangle_doubts(graph, from_labels(graph))
    assert f"joined with probability {closed:.2g}," in said
    # of unknown strength, which is 1 at most: classes apart
    assert [*triangle_doubts(graph, Signals(0.0, 0.0, np.inf, 0.0))]


def test_edges_from_class_to_class_close_as_many_triangles_as_the_formula_says():
    """At the strength of the graph itself, 1.3 times as many are not exceeded; at none, they are, of three strong classes."""
    i = gl.sample(
        gl.CSBM(4, 3.4, 1.0, 0.5, directed=False, classes=3), nodes=2000, degree=30, seed=0
    )
    graph = StandardizedGraph.of(None, i.labels, i.adjacency)
    assert not [*triangle_doubts(graph, Signals(3.4, 0.0, 0.0, 0.0))]
    assert [*triangle_doubts(graph, Signals(0.0, 0.0, 0.0, 0.0))]


def test_nodes_of_many_edges_in_a_sparse_graph_are_not_taken_for_communities():
    A = np.zeros((600, 600))
    A[0, 1:13] = 1.0  # a star of twelve, each leaf the end of a path
    for k in range(1, 588):
        A[k, k + 12] = 1.0
    found = estimate_standard(StandardizedGraph.of(None, np.arange(600) % 2, A + A.T))
    assert any("nodes of 12 edges hide structure" in said for said in found.warnings)
    assert not any("communities" in said or "two kinds" in said for said in found.warnings)


def hubs_of_a_class(seed, nodes=900):
    """The mean degree is that of the others, and edges ignore the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=nodes)
    theta = np.where(y == 0, rng.gamma(0.4, 2.5, nodes), 1.0)
    A = np.triu(rng.random((nodes, nodes)) < 15.0 / nodes * np.outer(theta, theta), 1).astype(float)
    return rng.standard_normal((nodes, 5)), y, np.where(rng.random(nodes) < 0.3, y, -1), A + A.T


MODELS = [
    (gl.CSBM(4, 1.5, 1.0, 0.3, directed=False), 15),
    (gl.CSBM(4, -2.0, 1.0, 0.3, directed=False), 15),
    (gl.CSBM(4, 1.0, 1.0, 0.3), 10),
    (gl.CSBM(4, 2.0, 1.0, 0.3, directed=False, classes=[0.2, 0.3, 0.5]), 20),
    (gl.CSBM(4, 1.5, 1.0, 0.3, directed=False, classes=4, degrees=gl.Gamma(0.5)), 15),
]


def test_graphs_of_the_model_are_seldom_doubted():
    told = []
    for data, degree in MODELS:
        for seed in range(12):
            i = gl.sample(data, nodes=600, degree=degree, seed=seed)
            index = np.where(i.train_mask, data.classes.index_of(i.labels), -1)
            told.append(bool(doubted(i.features, None, index, i.adjacency)))
    assert np.mean(told) < 0.04


def test_classes_that_are_the_two_sides_are_no_reason_to_doubt():
    """Strong heterophily of two classes makes a bipartite graph, which the model allows."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=600)
    A = np.triu((rng.random((600, 600)) < 0.04) & (y[:, None] != y)).astype(float)
    assert "bipartite" not in doubted(
        rng.standard_normal((600, 5)), y, np.where(rng.random(600) < 0.3, y, -1), A + A.T
    )


@pytest.mark.parametrize("many, few", [(0, 1), (1, 0)])
def test_labels_of_one_side_alone_do_not_explain_the_other(many, few):
    """Users have a class, items have none: a stray label there is no evidence, one in twelve is."""
    rng = np.random.default_rng(1)
    y = np.arange(400) % 2
    A = np.triu((rng.random((400, 400)) < 0.06) & (y[:, None] != y)).astype(float)
    for strays, doubt in ((2, True), (8, False)):
        seen = np.full(400, -1)
        seen[np.flatnonzero(y == many)[:90]] = many
        seen[np.flatnonzero(y == few)[:strays]] = few
        assert ("bipartite" in doubted(rng.standard_normal((400, 5)), y, seen, A + A.T)) == doubt


@pytest.mark.slow
@pytest.mark.parametrize("name", ["core and periphery", "cycle", "weak cycle"])
def test_no_ceiling_is_stated_below_what_is_reached(name):
    X, _, seen, A = drawn(name, 0)
    advice = gl.recommend(X, seen, A)
    assert "best possible" not in advice.reason
    assert "the block model may not hold" in advice.reason
    assert not gl.describe(X, seen, A).holds


@pytest.mark.slow
def test_the_control_has_its_ceiling():
    X, _, seen, A = drawn("plain", 1)
    advice = gl.recommend(X, seen, A)
    assert "The best possible accuracy is" in advice.reason
    assert "method=" not in advice.reason


@pytest.mark.slow
def test_two_kinds_of_nodes_are_named_before_anything_else():
    X, _, seen, A = two_kinds(0)
    reason = gl.recommend(X, seen, A).reason
    assert "bipartite" in reason
    assert "method=" not in reason


def test_a_ceiling_below_leave_one_out_is_a_doubt():
    i = gl.sample(gl.CSBM(2, 1.0, 1.0, 0.3, directed=False), nodes=400, degree=20, seed=0)
    found = gl.estimate(i.features, np.where(i.train_mask, i.labels > 0, -1), i.adjacency)
    said, doubts = _ceiling(Interval(0.99, 0.985, 1.0), found, ())
    assert "leave-one-out shows an accuracy of 0.98 or more" in said or "0.99 or more" in said
    assert len(doubts) == 1
    said, doubts = _ceiling(Interval(0.6, 0.5, 0.7), found, (), Interval(0.6, 0.55, 0.7))
    assert "The best possible accuracy is" in said
    assert doubts == ()
    alone = Interval(0.95, 0.93, 1.0)  # of features that are not classes in Gaussian noise
    said, (doubt,) = _ceiling(Interval(0.6, 0.5, 0.7), found, (), alone)
    assert doubt.startswith("the features alone are more accurate than the model allows (0.93 or")
    assert doubt in said


def test_a_class_of_one_label_has_no_size_to_compute_with():
    rng = np.random.default_rng(0)
    y = rng.choice(3, 400, p=[0.3, 0.6, 0.1])
    A = np.triu(rng.random((400, 400)) < np.where(y[:, None] == y, 0.06, 0.02), 1).astype(float)
    seen = np.where((np.arange(400) < 90) & (y < 2), y, -1)
    seen[np.flatnonzero(y == 2)[0]] = 2
    found = estimate_standard(StandardizedGraph.of(rng.standard_normal((400, 5)), seen, A + A.T))
    said, _ = _ceiling(Interval(0.6, 0.5, 0.7), found, ())
    assert said.endswith("class 2 has 1 labelled node, too few to tell its size.")


@pytest.mark.parametrize("strength", [-0.15, 0.0, 0.4])
def test_the_strength_is_that_of_the_model_and_what_is_left_is_a_chi_squared(strength):
    """Edges 1 + s y_k . y_l times those by chance are fitted without a rest; others by one number less than there are pairs."""
    fractions = np.array([0.2, 0.3, 0.5])
    graph = SimpleNamespace(classes=Classes.of(fractions))
    chance = 1000.0 * np.outer([0.5, 0.2, 0.3], [0.5, 0.2, 0.3])  # degrees depend on the class
    edges = chance * (1.0 + strength * (np.diag(1.0 / fractions) - 1.0))
    fitted, level = _one_strength(graph, edges, chance)
    assert np.allclose(fitted, edges)
    assert level == pytest.approx(1.0)
    others = edges + 10.0 * np.eye(3)[[1, 2, 0]]
    fitted, level = _one_strength(graph, others, chance)
    assert level == pytest.approx(chi2.sf(np.sum((others - fitted) ** 2 / fitted), 8))
    few = np.where(np.eye(3) > 0, chance, 1.0)  # pairs of which few edges are expected say nothing
    fitted, level = _one_strength(graph, 2.0 * few, few)
    rest = np.diag((2.0 * few - fitted) ** 2 / fitted)
    assert level == pytest.approx(chi2.sf(np.sum(rest), 2))


@pytest.mark.parametrize("classes, nodes", [(2, 7), (3, 12), (5, 300)])
def test_degrees_of_classes_are_compared_by_an_analysis_of_variance(classes, nodes):
    """Of the logarithms; degrees scatter more than counts do, and few nodes leave few degrees of freedom."""
    rng = np.random.default_rng(nodes)
    index = np.sort([*rng.integers(classes, size=nodes - classes), *range(classes)])
    labels = Labels(np.arange(classes), np.arange(nodes), index)
    values = np.exp(rng.standard_normal(nodes) + 0.3 * index)
    logs = [np.log1p(values)[index == k] for k in range(classes)]
    level = _level_of_means(np.log1p(values), SimpleNamespace(labels=labels))
    assert level == pytest.approx(f_oneway(*logs).pvalue, rel=1e-9)
    assert _level_of_means(np.log1p(values), SimpleNamespace(labels=labels), least=1e9) > 0.99
    # equal degrees scatter as counts would
    alike = _level_of_means(np.full(nodes, 4.0), SimpleNamespace(labels=labels))
    assert alike == pytest.approx(1.0)


def of_two_memberships(seed, share, hubs=False, nodes=800):
    """A block model in which this share of the nodes is linked as if it were of another class too."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=nodes)
    second = np.where(rng.random(nodes) < share, rng.integers(3, size=nodes), y)
    of = np.eye(3)[y] + np.eye(3)[second]
    weight = rng.gamma(1.0, 1.0, nodes) if hubs else np.ones(nodes)
    rate = (0.4 + of @ of.T) * np.outer(weight, weight)
    A = np.triu(rng.random((nodes, nodes)) < 15.0 / nodes * rate / rate.mean(), 1) * 1.0
    X = rng.standard_normal((nodes, 5))
    return X, y, np.where(rng.random(nodes) < 0.5, y, -1), A + A.T


@pytest.mark.parametrize("seed", range(3))
def test_nodes_that_are_linked_unlike_others_of_their_class_are_named(seed):
    """As those of two memberships are, and those of the model, with hubs or without, are not."""
    assert "nodes of one class are not" in doubted(*of_two_memberships(seed, 0.6))
    for hubs in (False, True):
        assert "nodes of one class are not" not in doubted(*of_two_memberships(seed, 0.0, hubs))
