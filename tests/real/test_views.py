"""Views of the nodes: what they hold, however few columns are made at once."""

import numpy as np
import pytest
from problems import classed_graph
from scipy import sparse

from gcnlimit.graphs.labels import Labels
from gcnlimit.real import views
from gcnlimit.real.views import Views, grouped, near


def labelled(nodes=60, classes=3):
    X, y, hidden, A = classed_graph(nodes=nodes, classes=classes, labelled=nodes // 2)
    seen = np.flatnonzero(hidden >= 0)
    return X, sparse.csr_array(A), Labels(np.arange(classes), seen, y[seen])


@pytest.mark.parametrize("at_once", [1, 7, 64])
def test_labels_are_spread_as_by_the_dense_sum_without_a_nodes_own(monkeypatch, at_once):
    """Sum over k of (0.9 S)^k, each labelled node without its own share, whatever number of columns is spread together."""
    monkeypatch.setattr(views, "AT_ONCE", at_once)
    X, A, labels = labelled()
    made = Views(X, A, unit=False).labels(labels)
    S = views.propagation(A, "symmetric").operator @ np.eye(60)
    sums = sum(np.linalg.matrix_power(0.9 * S, k) for k in range(views.STEPS + 1))
    own = np.zeros((60, 3))
    own[labels.labelled, labels.index] = 1.0
    np.fill_diagonal(sums, 0.0)
    spread = sums @ own
    counts = np.bincount(labels.index)[labels.index]
    spread[labels.labelled, labels.index] *= counts / (counts - 1)
    spread /= np.linalg.norm(spread, axis=1, keepdims=True)
    spread = (spread - spread.mean(axis=0)) / spread.std(axis=0)
    np.testing.assert_allclose(made[:, :3], spread, atol=1e-10)


@pytest.mark.parametrize("work, groups", [(1e9, 30), (5000.0, None), (1.0, 12)])
def test_labels_of_a_large_graph_are_spread_in_four_groups_of_each_class(monkeypatch, work, groups):
    """Or in as many as the work allows, or each by itself."""
    asked = []

    def spy(labels, most):
        asked.append(most)
        return grouped(labels, most)

    monkeypatch.setattr(views, "grouped", spy)
    monkeypatch.setattr(views, "WORK", work)
    X, A, labels = labelled()
    Views(X, A, unit=False).labels(labels)
    expected = int(np.clip(work / A.nnz, 12, 256)) if groups is None else groups
    assert min(asked[0], labels.index.size) == expected


@pytest.mark.parametrize("most", [6, 13, 29, 30])
def test_groups_are_of_one_class_of_like_size_and_no_more_than_asked(most):
    _, _, labels = labelled()
    group, owner = grouped(labels, most)
    assert np.array_equal(owner[group], labels.index)
    assert owner.size <= most
    if most < 30:
        assert owner.size == most // 3 * 3
        sizes = np.bincount(group, minlength=owner.size).reshape(3, -1)
        assert np.all(sizes.sum(axis=1) == np.bincount(labels.index))


def test_two_steps_leave_out_those_that_return():
    _, A, _ = labelled()
    walk = sparse.csr_array(A / A.sum(axis=1)[:, None])
    block = np.random.default_rng(0).standard_normal((60, 2))
    two = (walk @ walk).toarray()
    np.fill_diagonal(two, 0.0)
    for made, exact in zip(near(walk, block), (walk @ block, two @ block), strict=True):
        np.testing.assert_allclose(made, exact, atol=1e-13)


@pytest.mark.parametrize("unit", [True, False])
def test_pagerank_is_the_dense_sum_in_the_units_of_the_view(unit):
    """Rows of unit norm, or of mean square 1, for each strength apart."""
    X, A, _ = labelled()
    made = Views(X, A, unit=unit)
    S = views.propagation(made.graph, "centred").unit().operator @ np.eye(60)
    for strength, block in zip((0.5, -0.9), made.pagerank((0.5, -0.9)), strict=True):
        sums = sum(np.linalg.matrix_power(strength * S, k) for k in range(views.STEPS + 1)) @ made.X
        size = np.linalg.norm(sums, axis=1, keepdims=True)
        sums /= size if unit else np.sqrt(np.mean(size**2))
        np.testing.assert_allclose(block, sums, atol=1e-9)


def test_views_of_another_graph_keep_the_units_of_the_fit():
    """The same nodes twice are the same rows; they would differ if units came from the other graph."""
    X, A, _ = labelled()
    fit = Views(X, A, unit=False)
    here = [fit.features, fit.degree_profile(), *(b for row in fit.hops() for b in row)]
    X[:30] *= 5.0
    there = Views(X, A, unit=False, fit=fit)
    again = [there.features, there.degree_profile(), *(b for row in there.hops() for b in row)]
    np.testing.assert_allclose(again[0][30:], here[0][30:], rtol=1e-12)
    np.testing.assert_allclose(again[0][:30], 5.0 * here[0][:30], rtol=1e-12)
    np.testing.assert_allclose(again[1], here[1], rtol=1e-12)
    np.testing.assert_allclose(again[2][30:], here[2][30:], rtol=1e-12)
