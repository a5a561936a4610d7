"""Members of the bank: what leave-one-out says of them, and how much they count."""

import math

import numpy as np
import pytest
from scipy import sparse

import gcnlimit as gl
from gcnlimit.graphs.labels import Labels
from gcnlimit.graphs.lazy import Beside
from gcnlimit.graphs.operator import propagation
from gcnlimit.numerics.leave_one_out import forest, pair
from gcnlimit.real import bank, ensemble, views
from gcnlimit.real.bank import Fitted, Member
from gcnlimit.real.ensemble import Ensemble
from gcnlimit.real.views import Views


@pytest.mark.parametrize("classes", [2, 4])
def test_what_says_nothing_is_at_chance_and_counts_less(classes):
    """Without its own label each node is one short of its class: losses say so, outputs do not."""
    index = np.arange(8 * classes) % classes
    labels = Labels(np.arange(classes), np.arange(index.size), index)
    constant = Beside([np.ones((index.size, 1))])
    fitted = Fitted.of(Member("nothing", graph=False), constant, labels, np.ones(index.size))
    assert np.ptp(pair(fitted.left_out), axis=-1) == pytest.approx(0.0, abs=1e-12)
    assert np.all(fitted.losses > math.log(classes) + 1e-6)


def test_few_labels_follow_the_directions_of_all_nodes():
    """Twenty labels find weights of prior covariance :math:`C^2` where a plain ridge is lost among 300 columns."""
    data = gl.CSBM(alpha=2, lam=0.5, mu=4.0, rho=0.1, directed=False)
    instance = gl.sample(data, nodes=600, degree=20, seed=0)
    y = np.where(np.arange(600) < 20, instance.labels > 0, -1)
    model = gl.GraphClassifier().fit(instance.features, y, graph=instance.adjacency)
    table = {row.member: row for row in model.table_}
    assert table["PageRank 0.5, leading"].loo_accuracy > table["PageRank 0.5"].loo_accuracy + 0.2
    assert model.score(y=np.where(y < 0, instance.labels > 0, -1)) > 0.75


def test_no_direction_leads_where_all_rows_are_equal():
    views = Views(np.ones((4, 3)), sparse.csr_array(np.ones((4, 4))), unit=False)
    assert np.all(views.leading("equal", views.base) == 0.0)


def test_out_of_bag_answers_say_nothing_of_random_classes():
    """A row that its trees have not seen is no better than chance, and no worse by its own label that they lack."""
    rng = np.random.default_rng(0)
    index = np.arange(300) % 3
    labels = Labels(np.arange(3), np.arange(300), index)
    _, left_out = forest(rng.standard_normal((300, 4)), index)
    member = Member("forest", graph=False, learnt=True)
    fitted = Fitted.of(member, Beside([left_out]), labels, np.ones(300))
    assert fitted.accuracy == pytest.approx(1 / 3, abs=0.1)
    assert np.all(fitted.losses.mean(axis=1) > math.log(3) - 0.02)


@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize("width", [3, 40])
def test_a_member_uses_the_graph_if_its_columns_change_with_it(width):
    rng = np.random.default_rng(0)
    nodes = np.arange(80)
    labels = Labels(np.arange(2), nodes, nodes % 2)
    X = rng.standard_normal((80, width))
    banks = []
    for _ in range(2):
        A = np.triu(rng.random((80, 80)) < 0.1, 1).astype(float)
        views = Views(X, sparse.csr_array(A + A.T), unit=False)
        banks.append([*bank.members(views, labels, told=False)])
    for (member, columns), (_, other) in zip(*banks, strict=True):
        assert member.graph != np.array_equal(columns[nodes], other[nodes]), member.name


@pytest.mark.parametrize("seed", [0, 1])
def test_pages_of_many_words_differ_from_pages_of_few(seed):
    """Words of chance, 20 on pages of one class and 12 on those of the other: rows of unit norm hide it."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=400)
    X = sparse.csr_array(rng.random((400, 600)) < np.where(y == 1, 20, 12)[:, None] / 600)
    A = np.triu(rng.random((400, 400)) < 0.02, 1)
    seen = rng.random(400) < 0.2
    model = gl.GraphClassifier().fit(X, np.where(seen, y, -1), graph=(A + A.T).astype(float))
    assert model.score(y=np.where(seen, -1, y)) > 0.75  # 0.5 by chance


@pytest.mark.usefixtures("few_trees")
def test_a_fit_averages_features_over_hops_once_and_holds_no_columns(monkeypatch):
    """The probe of labels of chance and the members share them: on a million nodes they took 6 s each, and 1 GB."""
    asked = []
    for name in ("hops", "labels"):
        usual = getattr(Views, name)
        monkeypatch.setattr(
            Views, name, lambda *given, n=name, f=usual: (asked.append(n), f(*given))[1]
        )
    operators = []
    monkeypatch.setattr(
        views, "propagation", lambda *given: (operators.append(given), propagation(*given))[1]
    )
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    A = np.triu(rng.random((200, 200)) < np.where(y[:, None] == y, 0.1, 0.02), 1) * 1.0
    model = gl.GraphClassifier().fit(rng.standard_normal((200, 3)), y, graph=A + A.T)
    assert "hops" in [row.member for row in model.table_]
    assert sorted(asked) == ["hops", "labels", "labels"]  # those of chance, then the true ones
    assert len(operators) == 1
    assert not model._model.views.shared


def stars(rng, y):
    """Leaves of ten hubs."""
    A = np.zeros((y.size, y.size))
    leaf = np.arange(10, y.size)
    A[leaf, rng.integers(10, size=leaf.size)] = 1.0
    return rng.standard_normal((y.size, 2)), A + A.T


def nearest(rng, y):
    """Nearest neighbours in two features."""
    X = rng.standard_normal((y.size, 2))
    apart = np.linalg.norm(X[:, None] - X, axis=2)
    A = (apart <= np.sort(apart, axis=1)[:, [10]]) - np.eye(y.size)
    return X, np.maximum(A, A.T)


def test_trees_on_equal_rows_do_not_tell_a_label_of_chance():
    """Of a leaf with many nodes the trees grown without one say the classes of the others: its own as the missing one."""
    right = []
    for seed in range(3):
        rng = np.random.default_rng([19, seed])
        y = rng.permutation(np.arange(120) % 2)
        A = np.triu(rng.random((120, 120)) < 4 / 120, 1)
        X = (rng.random((120, 1)) < 0.5).astype(float)
        seen = np.where(rng.random(120) < 0.4, y, -1)
        model = gl.GraphClassifier().fit(X, seen, graph=A + A.T)
        right.append(next(row for row in model.table_ if row.member == "hops").loo_accuracy)
    assert np.mean(right) < 0.65


@pytest.mark.parametrize("graph, seed", [(stars, 0), (nearest, 0), (nearest, 1), (nearest, 7)])
def test_labels_of_others_do_not_tell_a_label_of_chance(graph, seed):
    """Leaves of one hub see the same labels, each all but its own, which the missing one would tell."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=200)
    X, A = graph(rng, y)
    seen = rng.random(200) < 0.4
    model = gl.GraphClassifier().fit(X, np.where(seen, y, -1), graph=A)
    assert model.loo_score_ < 0.65  # 0.9 and more by labels around a node
    told = [row.member for row in model.table_ if "labels" in row.member]
    assert told == ["near labels", "labels: left out, the labels around a node reveal its own"]


def blocks(seed, classes, stay, nodes=400):
    """Classes, and a graph of degree 8 with this share of edges within a class beyond chance."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=nodes)
    rate = 8 / nodes * np.where(y[:, None] == y, 1 + stay * (classes - 1), 1 - stay)
    A = np.triu(rng.random((nodes, nodes)) < rate, 1).astype(float)
    return rng, y, A + A.T


@pytest.mark.parametrize("narrow", [100, 3], ids=["few columns", "many columns"])
def test_members_that_know_nodes_by_name_are_those_that_another_graph_lacks(monkeypatch, narrow):
    monkeypatch.setattr(bank, "NARROW", narrow)
    monkeypatch.setattr(Views, "forest", lambda self, labels: np.ones((self.nodes, 2)))
    rng, y, A = blocks(0, 2, 0.4)
    labels = Labels(np.arange(2), np.arange(200), y[:200])
    here = Views(rng.standard_normal((y.size, 4)), sparse.csr_array(A), unit=False)
    there = Views(here.X, here.graph, unit=False, fit=here)
    full, elsewhere = (
        [member for member, _ in bank.members(v, labels, told=False)] for v in (here, there)
    )
    assert [member for member in full if not member.local] == elsewhere
    assert "random units, labels" + " 1" * (narrow > 4) in [member.name for member in full]


def test_thresholds_of_two_columns_are_found_with_a_graph_that_says_nothing():
    rng, y, A = blocks(0, 2, 0.0, nodes=800)
    X = rng.standard_normal((y.size, 6))
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(int)
    seen = rng.random(y.size) < 0.5
    model = gl.GraphClassifier().fit(X, np.where(seen, y, -1), graph=A)
    assert model.score(y=np.where(seen, -1, y)) > 0.9


def test_the_order_of_columns_does_not_matter():
    """Neither for random units and trees nor for principal directions."""
    rng, y, A = blocks(3, 2, 0.4)
    for width, labels in ((5, 150), (300, 40)):
        X = rng.standard_normal((y.size, width)) * rng.exponential(size=width) + y[:, None]
        seen = np.where(np.arange(y.size) < labels, y, -1)
        order = rng.permutation(width)
        one, other = (
            gl.GraphClassifier().fit(Z, seen, graph=A).predict_proba() for Z in (X, X[:, order])
        )
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_the_order_of_nodes_with_names_alone_does_not_matter():
    """A column for each node: both scalings say the same, and rounding must not choose."""
    for seed in (3, 11, 16):
        rng, y, A = blocks(seed, 3, 0.3, nodes=150)
        X, order = np.eye(150), rng.permutation(150)
        seen = np.where(rng.random(150) < 0.4, y, -1)
        model = gl.GraphClassifier()
        one = model.fit(X, seen, graph=A).predict_proba()[order]
        other = model.fit(X[order], seen[order], graph=A[np.ix_(order, order)]).predict_proba()
        np.testing.assert_allclose(one, other, atol=1e-4)  # the search of sharpness stops


@pytest.mark.slow
def test_outputs_on_all_nodes_teach_words_that_few_labels_do_not(monkeypatch):
    """Twelve labels of a class say little of 300 words; nodes whose neighbours tell their class say more, also of those apart."""
    gains = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y, apart = rng.integers(3, size=1200), rng.random(1200) < 0.3
        rate = np.where(y[:, None] == y, 12, 2) / 1200 * ~(apart | apart[:, None])
        A = np.triu(rng.random((1200, 1200)) < rate, 1).astype(float)
        X = rng.poisson(0.05 * np.exp(0.9 * (np.arange(300) % 6 == y[:, None]))).astype(float)
        first = np.concatenate([np.flatnonzero((y == c) & ~apart)[:12] for c in range(3)])
        seen = np.where(np.isin(np.arange(1200), first), y, -1)
        model = gl.GraphClassifier()
        after = model.fit(X, seen, graph=A + A.T).score(y=y)
        with monkeypatch.context() as patch:
            patch.setattr(Ensemble, "relearn", lambda self, offset: None)
            gains.append(after - model.fit(X, seen, graph=A + A.T).score(y=y))
    assert min(gains) > 0.0
    assert np.mean(gains) > 0.005


@pytest.mark.parametrize("weighted, around", [(True, ()), (False, ()), (False, (bank.AROUND,))])
def test_pairs_of_rows_tell_what_a_sum_of_them_does_not(monkeypatch, weighted, around):
    """Whom a node knows depends on its class and its group together, so that rows and features act as a product.

    They are also tried where a kernel of the neighbourhood says more than rows.
    """
    rng = np.random.default_rng(0)
    y, group = rng.integers(2, size=500), rng.integers(6, size=500)
    known = rng.random((2, 6, 500)) < 0.3
    A = rng.random((500, 500)) < np.where(known[y, group], 0.25, 0.04)
    A = np.triu(A | A.T, 1).astype(float)
    X = np.hstack([np.eye(6)[group], np.zeros((500, 101))]) + 0.3 * rng.standard_normal((500, 107))
    seen = np.where(rng.permutation(500) < 320, y, -1)
    whole = bank._many
    kept = ("features", "features, kernel", "features, rows", bank.SMOOTHED, *around)
    monkeypatch.setattr(
        bank, "_many", lambda *a, **k: (m for m in whole(*a, **k) if m[0].name in kept)
    )
    how = {"class_weight": {0: 1.0, 1: 1.2}} if weighted else {}
    model = gl.GraphClassifier(**how).fit(X, seen, graph=A + A.T)
    rows = {row.member: row for row in model.table_}
    assert rows[bank.PAIRS[True]].weight > (0.5 if around else 0.9)
    assert rows[bank.PAIRS[True]].loo_accuracy > rows[bank.SMOOTHED].loo_accuracy + 0.01
    monkeypatch.setattr(ensemble, "PAIRED", 0)
    without = gl.GraphClassifier(**how).fit(X, seen, graph=A + A.T)
    assert bank.PAIRS[True] not in {row.member for row in without.table_}
    test = np.where(seen < 0, y, -1)
    assert model.score(y=test) > without.score(y=test)


@pytest.mark.parametrize("count", [bank.UNITS, 320])
def test_pairs_of_features_tell_what_a_sum_of_them_does_not(monkeypatch, count):
    """A class is a product: of a sign that the features of a node show, and of one that its neighbours show together."""
    rng = np.random.default_rng(0)
    sign, group = rng.choice([-1, 1], (2, 600))
    y = (sign * group > 0).astype(int)
    A = rng.random((600, 600)) < np.where(group[:, None] == group, 0.05, 0.01)
    A = np.triu(A, 1).astype(float)
    X = 0.5 * rng.standard_normal((600, 120))
    X[:, 0] += 4.0 * sign
    X[:, 1] += 2.0 * group
    seen = np.where(rng.permutation(600) < count, y, -1)
    whole = bank._many
    kept = ("features", "PageRank 0.9", bank.SMOOTHED)
    monkeypatch.setattr(
        bank, "_many", lambda *a, **k: (m for m in whole(*a, **k) if m[0].name in kept)
    )
    model = gl.GraphClassifier().fit(X, seen, graph=A + A.T)
    weights = {row.member: row.weight for row in model.table_}
    if count < 300:  # too few labels to tell pairs apart
        assert not weights.keys() & set(bank.PAIRS)
        return
    assert weights[bank.PAIRS[False]] > 0.9
    monkeypatch.setattr(ensemble, "PAIRED", 0)
    without = gl.GraphClassifier().fit(X, seen, graph=A + A.T)
    test = np.where(seen < 0, y, -1)
    assert model.score(y=test) > without.score(y=test) + 0.2


def test_few_labels_spread_over_a_graph_whose_features_say_nothing():
    rng, y, A = blocks(1, 4, 0.6)
    seen = rng.random(y.size) < 0.15
    model = gl.GraphClassifier().fit(
        rng.standard_normal((y.size, 10)), np.where(seen, y, -1), graph=A
    )
    assert model.score(y=np.where(seen, -1, y)) > 0.7


def test_few_columns_are_read_with_their_positive_part():
    """So that a ridge can learn functions with a kink at 0, where all columns have their mean."""
    X = np.random.default_rng(0).standard_normal((30, 2))
    labels = Labels(np.arange(2), np.arange(30), np.arange(30) % 2)
    _, columns = next(iter(bank._few(Views(X, None, unit=False), labels, lambda *_: False)))
    plain, positive = columns.blocks
    np.testing.assert_array_equal(positive, np.where(plain > 0.0, plain, 0.0))
