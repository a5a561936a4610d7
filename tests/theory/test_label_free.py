"""The signal of a graph from how smooth its inputs are: on a drawn graph, and what it must not depend on."""

import math

import numpy as np
import pytest
from scipy import sparse

from gcnlimit.theory.label_free import (
    FEWEST,
    Smoothness,
    label_free_signals,
    relative_strength,
)

NODES, DEGREE, SIGNAL, C = 3000, 30, 1.2, 0.9


@pytest.fixture(scope="module")
def drawn():
    """A graph of two blocks, some of its nodes without an edge, and inputs of margin C."""
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, -1.0], NODES // 2)
    chance = (DEGREE + math.sqrt(DEGREE) * SIGNAL * np.outer(y, y)) / NODES
    upper = np.triu(rng.random((NODES, NODES)) < chance, 1)
    upper[:50] = upper[:, :50] = False
    graph = sparse.csr_array((upper | upper.T).astype(float))
    return graph, C * y + rng.normal(size=NODES)


def test_overlaps_of_a_drawn_graph_are_those_of_its_signal(drawn):
    seen = Smoothness.of(*drawn)
    share = C**2 / (1.0 + C**2)
    assert seen.nodes == NODES - 50
    assert seen.first == pytest.approx(share * SIGNAL, abs=0.06)
    assert seen.second == pytest.approx(share * SIGNAL**2, abs=0.1)
    assert seen.strength == pytest.approx(SIGNAL / (1.0 + SIGNAL**2 + C**2), abs=0.04)


def test_units_and_mean_of_the_inputs_and_nodes_without_edges_do_not_matter(drawn):
    graph, z = drawn
    seen = Smoothness.of(graph, z)
    np.testing.assert_allclose(Smoothness.of(graph, 5.0 - 3.0 * z), seen, rtol=1e-10)
    z = z.copy()
    z[:50] = 1e6
    np.testing.assert_allclose(Smoothness.of(graph, z), seen, rtol=1e-10)
    left_out = np.arange(0, NODES, 7)
    kept = np.setdiff1d(np.arange(NODES), left_out)
    part = Smoothness.of(graph[kept][:, kept], z[kept])
    np.testing.assert_allclose(Smoothness.of(graph, z, left_out), part, rtol=1e-12)


def test_a_graph_of_few_nodes_with_edges_says_nothing():
    for nodes, says in ((FEWEST - 1, False), (FEWEST, True)):
        ring = np.roll(np.eye(nodes), 1, axis=0)
        graph = sparse.csr_array(np.pad(ring + ring.T, (0, 9)))
        seen = Smoothness.of(graph, np.random.default_rng(0).normal(size=nodes + 9))
        assert seen.nodes == (nodes if says else 1)
        assert (seen.first != 0.0) == says


class Carrying:
    """An operator whose overlaps with its inputs are these."""

    def __init__(self, x1, x2):
        self.x1, self.across = x1, math.sqrt(1.0 + x2 - x1**2)

    def __matmul__(self, z):
        other = np.roll(z, z.size // 2)  # orthogonal to inputs of which one half is 0
        return self.x1 * z + self.across * other


def test_signals_follow_from_the_overlaps_of_any_operator():
    nodes, lam, square = 100, 1.5, 0.8
    z = np.append(np.linspace(1.0, 2.0, nodes // 2), np.zeros(nodes // 2))
    x1 = lam * square / (1.0 + square)
    operator = Carrying(x1, lam * x1)
    assert label_free_signals(operator, z) == pytest.approx((lam, square), rel=1e-12)
    # the size of the weights says the same of the inputs: |z|^2/N = (1 + c^2)|w|^2
    weights = np.full(3, np.sqrt(np.mean(z**2) / (1.0 + square) / 3.0))
    assert label_free_signals(Carrying(x1, 0.9), z, weights) == pytest.approx((lam, square))
    assert label_free_signals(operator, z, 2.0 * weights) == (0.0, math.inf)  # less than noise
    for share, says in ((0.99, False), (1.01, True)):
        weak = share * math.sqrt(8.0 / nodes)
        assert (label_free_signals(Carrying(weak, 0.5), z)[0] != 0.0) == says
    assert label_free_signals(Carrying(0.5, 0.24), z) == (0.0, math.inf)  # no such inputs


def test_another_strength_is_taken_only_where_the_homophily_surely_differs():
    """By three standard errors of both graphs, and of the first from none; and it is not of the same sign."""
    here = Smoothness(0.5, 0.6, 1000)
    error = math.sqrt(2.0 / 1000)
    for far, taken in ((3.01, True), (2.99, False)):
        new = Smoothness(here.first - far * math.hypot(error, math.sqrt(2.0 / 60)), 0.6, 60)
        assert (relative_strength(here, new) != 1.0) == taken
        weak = Smoothness(far * error, 0.6, 1000)
        assert (relative_strength(weak, Smoothness(-0.5, 0.6, 1000)) != 1.0) == taken
    for share, taken in ((0.99, True), (1.01, False)):
        new = Smoothness(share * error, 0.6, 1000)
        ratio = relative_strength(here, new)
        assert ratio == (new.strength / here.strength if taken else 1.0)
        assert relative_strength(here._replace(first=-0.5), new._replace(first=-new.first)) == ratio
    assert relative_strength(here, Smoothness(0.0, 0.0, 1000)) == 0.0
