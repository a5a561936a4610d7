"""Decisions about a graph: one each, right on drawn graphs."""

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.classes import Classes
from gcnlimit.degrees import Degrees
from gcnlimit.graphs.labels import as_labels
from gcnlimit.graphs.standard import StandardizedGraph
from gcnlimit.graphs.verdict import class_sizes, degree_law, edge_counts, has_hubs
from gcnlimit.simulation.data.instance import two_class_model


def drawn_degrees(rng, nodes, degree, variance):
    theta = rng.gamma(1.0 / variance, variance, nodes) if variance else 1.0
    return rng.poisson(degree * theta, nodes)


@pytest.mark.parametrize("degree", [6, 15, 30, 60, 200])
@pytest.mark.parametrize("nodes", [300, 1000, 3000])
def test_random_graphs_have_no_hubs_and_varied_ones_do(nodes, degree):
    rng = np.random.default_rng(nodes + degree)
    rates = [
        np.mean([has_hubs(drawn_degrees(rng, nodes, degree, v)) for _ in range(60)])
        for v in (0, 0.1, 0.2, 1)
    ]
    assert rates[0] == 0.0
    assert rates[1] > 0.9
    assert rates[2:] == [1.0, 1.0]
    if nodes >= 1000:
        assert np.mean([has_hubs(drawn_degrees(rng, nodes, degree, 0.05)) for _ in range(60)]) > 0.9


def test_two_older_rules_that_disagreed_meet():
    """Mean degree 60 with variance 0.05, and 6 with 0.15: hubs both times, on which the rules before differed."""
    rng = np.random.default_rng(0)
    for degree, variance in ((60, 0.05), (6, 0.15)):
        assert (
            np.mean([has_hubs(drawn_degrees(rng, 2000, degree, variance)) for _ in range(100)])
            == 1.0
        )


def test_where_both_older_rules_agreed_nothing_changes():
    """On 1 000 drawn graphs: degrees of variance above 3 means and of propensities above 0.1, or neither and no excess."""
    rng = np.random.default_rng(1)
    for _ in range(1000):
        degrees = drawn_degrees(rng, 500, rng.uniform(6, 60), rng.choice([0.0, 0.3, 0.5, 1.0]))
        mean, variance = degrees.mean(), degrees.var()
        wide, far = variance > 3.0 * mean, variance - mean > 0.1 * mean**2
        if wide and far:
            assert has_hubs(degrees)
        if not wide and not far:
            assert not has_hubs(degrees) or variance > 1.5 * mean


def test_hubs_do_not_depend_on_weights_or_direction():
    i = gl.sample(
        gl.CSBM(4, 1.0, 1.0, 0.2, directed=False, degrees=gl.Gamma(0.3)),
        nodes=800,
        degree=12,
        seed=0,
    )
    heavy = i.adjacency.multiply(7.5).tocsr()
    assert np.array_equal(edge_counts(i.adjacency), edge_counts(heavy))
    assert has_hubs(edge_counts(i.adjacency))
    arrows = gl.sample(gl.CSBM(4, 1.0, 1.0, 0.2), nodes=800, degree=12, seed=0).adjacency
    assert edge_counts(arrows).sum() == 2 * arrows.nnz
    assert not has_hubs(edge_counts(arrows))


def test_the_law_of_degrees_is_there_where_hubs_are():
    assert degree_law(np.full(100, 5.0)) is None
    assert degree_law(np.zeros(100)) is None
    star = np.array([99.0, *[1.0] * 99])
    assert degree_law(star) == Degrees(star)


@pytest.mark.parametrize("count", [2, 3, 5, 10])
def test_equal_classes_are_refuted_once_in_a_hundred(count):
    draws = np.random.default_rng(count).multinomial(60, np.full(count, 1.0 / count), 3000)
    unequal = np.mean([not class_sizes(counts).equal for counts in draws])
    assert unequal < 0.02
    skewed = np.arange(1, count + 1) / np.arange(1, count + 1).sum()
    assert not class_sizes((1000 * skewed).astype(int)).equal


def test_an_index_means_the_same_class_everywhere():
    """Label +1 is class 0 in `Classes`, and in the labels that an instance hands to the estimators."""
    i = gl.sample(gl.CSBM(2, 1.0, 1.0, 0.3, directed=False), nodes=300, degree=20, seed=0)
    index = Classes(2).index_of(np.where(i.train_mask, i.labels, np.nan))
    assert np.array_equal(as_labels(index, 300).index, index[i.train_mask])
    counts = two_class_model(i.adjacency, i.features, i.labels, i.train_mask).counts
    assert list(counts) == [np.sum(i.labels[i.train_mask] > 0), np.sum(i.labels[i.train_mask] < 0)]
    given = StandardizedGraph.of(i.features, index, i.adjacency)
    assert np.array_equal(given.classes.labels_of(given.labels.index), i.labels[i.train_mask])
    assert np.array_equal(given.labels.counts, np.bincount(given.labels.index))
