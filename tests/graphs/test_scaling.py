"""How features are scaled: counts by rows, numbers of several units by columns."""

import numpy as np
import pytest
from scipy import sparse

import gcnlimit as gl
from gcnlimit.graphs import scaling
from gcnlimit.graphs.check import as_features, column_spread
from gcnlimit.graphs.dataset import Dataset
from gcnlimit.graphs.scaling import Scaling, limits_of, unit_rows, within

N = 400


def words(count, strength, y, rng):
    """A column of words whose frequencies depend on the class, as one column for each word."""
    of_class = rng.dirichlet(np.full(count, 3.0), 2)
    frequencies = (1 - strength) * of_class.mean(axis=0) + strength * of_class
    return np.eye(count)[[rng.choice(count, p=frequencies[c]) for c in y]]


def customers(seed):
    """Age, income and tenure beside three columns of words, and friends who are alike."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=N)
    income = np.exp(10.3 + 0.5 * rng.standard_normal(N) + 0.25 * y)
    numbers = [40 + 12 * rng.standard_normal(N) + 5 * y, income, rng.exponential(4.0, N) + y]
    X = np.column_stack([*numbers, *(words(count, 0.9, y, rng) for count in (8, 4, 5))])
    A = np.triu(rng.random((N, N)) < np.where(y[:, None] == y, 8, 6) / N, 1).astype(float)
    seen = rng.random(N) < 0.4
    return X, y, A + A.T, seen


def fitted(X, y, A, seen, **options):
    return gl.GraphClassifier(**options).fit(X, np.where(seen, y, -1), graph=A)


def accuracy(X, y, A, seen, **options):
    return fitted(X, y, A, seen, **options).score(y=np.where(seen, -1, y))


@pytest.mark.slow
def test_a_mixed_table_is_classified_as_well_as_by_the_better_scaling():
    found = []
    for seed in range(3):
        X, y, A, seen = customers(seed)
        models = [fitted(X, y, A, seen, scale=scale) for scale in ("auto", "rows", "columns")]
        tests = [model.score(y=np.where(seen, -1, y)) for model in models]
        found.append([*tests, *(model.loo_score_ for model in models)])
    auto, rows, columns, _, left_rows, left_columns = np.mean(found, axis=0)
    assert auto > max(rows, columns) - 0.01
    assert left_columns > left_rows + 0.02  # so that it matters


@pytest.mark.slow
def test_one_useless_column_of_huge_variance_costs_nothing():
    changes = []
    for seed in range(4):
        X, y, A, seen = customers(seed)
        X = X[:, 3:]  # words alone, scaled by rows
        noise = 237.0 * np.random.default_rng(seed).standard_normal((N, 1))
        changes.append(accuracy(np.hstack([X, noise]), y, A, seen) - accuracy(X, y, A, seen))
    assert np.mean(changes) > -0.01


ORDINARY = {
    "normal": lambda rng: rng.standard_normal((300, 4)),
    "incomes": lambda rng: np.exp(10.0 + 2.0 * rng.standard_normal((300, 4))),
    "counts": lambda rng: rng.poisson(0.2, (300, 4)).astype(float),
    "far from 0": lambda rng: 1e12 + rng.random((300, 4)),
    "one value": lambda rng: np.ones((300, 4)) * [0.0, 1.0, 1e-300, 1e40],
    "a rare word": lambda rng: 1e15 * (np.arange(300)[:, None] < [1, 2, 3, 4]),
    "nearly 0": lambda rng: np.where(rng.random((300, 4)) < 0.3, 1.0, 1e-17 * rng.random((300, 4))),
    "rounded": lambda rng: np.where(rng.random((300, 4)) < 0.04, 2.0, 1.0 + 1e-16),
}


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kind", ORDINARY)
def test_ordinary_values_stay(kind, form):
    assert limits_of(form(ORDINARY[kind](np.random.default_rng(0)))) is None


@pytest.mark.parametrize("kind", ["normal", "counts", "incomes"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_an_absurd_value_is_brought_near_the_others(kind, form):
    X = ORDINARY[kind](np.random.default_rng(0))
    slip = X.copy()
    slip[7, 2] = -1e17
    low, high = limits_of(form(slip))
    assert np.isinf([low[[0, 1, 3]], high[[0, 1, 3]]]).all()
    near = within(form(slip), (low, high))
    near = near.toarray() if form is sparse.csr_array else near
    others = np.delete(X[:, 2], 7)
    furthest = np.abs(others - np.median(slip[:, 2])).max()
    assert near[7, 2] == pytest.approx(np.median(slip[:, 2]) - 2.0 * furthest)
    near[7, 2] = X[7, 2]
    assert np.array_equal(near, X)
    assert limits_of(within(form(slip), (low, high))) is None


@pytest.mark.parametrize("scale", ["auto", "rows", "columns", None])
def test_a_node_with_absurd_features_costs_nothing(scale):
    """All of them at once, as of another unit; other nodes have the answers that they have without it."""
    rng = np.random.default_rng(0)
    y = np.arange(N) % 2
    X = rng.standard_normal((N, 6)) + 1.5 * np.where(y, 1.0, -1.0)[:, None]
    A = np.triu(rng.random((N, N)) < 6 / N, 1).astype(float)
    seen = rng.random(N) < 0.3
    usual = accuracy(X, y, A + A.T, seen, scale=scale)
    X[5] *= 1e15
    with pytest.warns(UserWarning, match="6 values of X more than a million times as far out"):
        assert accuracy(X, y, A + A.T, seen, scale=scale) > usual - 0.01
    assert gl.estimate(X, np.where(seen, y, -1), A + A.T).mu > 100.0


@pytest.mark.parametrize("words, how", [(3, "columns"), (4, "rows")])
def test_rows_are_spread_over_more_than_three_columns(words, how):
    assert Scaling.of(np.tile(np.eye(words), (5, 1)), "auto").how == how


def test_counts_of_words_are_scaled_by_rows_and_numbers_by_columns():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.1, (200, 50)).astype(float)
    assert (
        Scaling.of(counts, "auto").how == Scaling.of(sparse.csr_array(counts), "auto").how == "rows"
    )
    assert Scaling.of(rng.standard_normal((200, 5)), "auto").how == "columns"


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kind", ["normal", "constant", "heavy tail", "few nodes", "dates"])
def test_a_column_of_another_unit_has_the_size_of_a_word(kind, form):
    """Whatever its unit and origin; rows of words stay as they were, and columns of several units are treated alike."""
    rng = np.random.default_rng(0)
    words = rng.poisson(0.1, (200, 50)).astype(float)
    column = {
        "normal": 300.0 * rng.standard_normal(200),
        "constant": np.full(200, 1e4),
        "heavy tail": 30.0 * rng.pareto(0.7, 200),
        "few nodes": 1e5 * (rng.random(200) < 0.03),
        "dates": 1.6e9 + 1e8 * rng.random(200),
    }[kind]
    scaled = []
    for unit in (1.0, 1e3):
        X = form(np.column_stack([unit * column, words, 7.0 * unit * column]))
        scaling = Scaling.of(X, "auto")
        assert scaling.how == "rows"
        assert sparse.issparse(scaling(X)) == (form is sparse.csr_array)
        scaled.append(scaling(X) @ np.eye(52))
    assert np.allclose(*scaled, atol=1e-9)
    assert np.allclose(scaled[0][:, 0], scaled[0][:, -1])
    assert np.allclose(unit_rows(scaled[0][:, 1:-1]), unit_rows(words))
    size = np.std((unit * column - scaling.mean[0]) / scaling.spread[0])
    assert size == pytest.approx((kind != "constant") * np.sqrt(np.mean(words**2)), rel=0.15)


def test_leave_one_out_overrules_what_features_look_like():
    """The norms of these rows tell the class, which rows of unit norm forget, though most features are 0."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=N)
    X = (rng.random((N, 30)) < 0.2) * np.where(y, 3.0, 1.0)[:, None]
    A = np.triu(rng.random((N, N)) < 6 / N, 1).astype(float)
    seen = rng.random(N) < 0.5
    assert Scaling.of(X, "auto").how == "rows"
    assert accuracy(X, y, A + A.T, seen) == pytest.approx(
        accuracy(X, y, A + A.T, seen, scale="columns"), abs=1e-9
    )


def test_the_unit_of_all_features_does_not_matter():
    X, y, A, seen = customers(0)
    model = gl.GraphClassifier(scale=None).fit(X, np.where(seen, y, -1), graph=A)
    other = gl.GraphClassifier(scale=None).fit(1e40 * X, np.where(seen, y, -1), graph=A)
    assert np.allclose(model.predict_proba(), other.predict_proba(), atol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_of_unit_norm_keep_zeros(form):
    found = unit_rows(form(np.array([[3.0, 4.0], [0.0, 0.0]])))
    assert found @ np.eye(2) == pytest.approx(np.array([[0.6, 0.8], [0.0, 0.0]]))


@pytest.mark.parametrize("count, limited", [(1, True), (10, True), (11, False)])
def test_more_absurd_values_than_a_twentieth_are_what_a_column_is_like(count, limited):
    X = np.random.default_rng(0).standard_normal((200, 3))
    X[:count, 1] = 1e9
    assert (limits_of(X) is not None) == limited


def test_columns_far_from_0_have_the_same_spread_sparse_or_not():
    rng = np.random.default_rng(0)
    present = rng.random((300, 3)) < [0.3, 0.9, 1.0]
    X = (1e6 + rng.standard_normal((300, 3))) * present
    both = zip(column_spread(X), column_spread(sparse.csr_array(X)), strict=True)
    assert all(np.allclose(there, here, rtol=1e-9, atol=0.0) for there, here in both)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_numbers_far_from_0_that_vary_by_rounding_of_single_precision_are_left_out(form):
    """Such as names of customers, 1e12 and on: their differences would be hundreds of times as large as other columns."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((N, 3)), 1e12 + np.arange(N), np.full(N, 3e7)])
    scaled = Scaling.of(X, "columns")(form(X))
    scaled = scaled.toarray() if sparse.issparse(scaled) else scaled
    assert np.allclose(scaled[:, :3].std(axis=0), 1.0)
    assert not scaled[:, 3:].any()


def test_features_are_read_where_they_are_and_stay_as_they_were():
    """A copy of those of a million nodes took 0.4 GB through the whole fit; what is kept is a copy."""
    X, y, A, seen = customers(0)
    X[0, 1] *= 1e9  # absurd, and brought near the others in a copy
    before = X.copy()
    assert np.shares_memory(as_features(X), X)
    with pytest.warns(UserWarning, match="taken for twice"):
        fitted(X, y, A, seen)
    assert np.array_equal(X, before)
    assert not np.shares_memory(Dataset(A, X, y).X, X)
    labels = np.where(y, 1.0, -1.0)
    held = gl.Instance.of(A, X, labels, seen, data=gl.CSBM(N / 20, 1.0, 1.0, 0.4, directed=False))
    assert not np.shares_memory(held.features, X)


@pytest.mark.parametrize("how", ["rows", None])
def test_only_columns_are_measured_for_their_spread(how, monkeypatch):
    X = customers(0)[0]
    monkeypatch.setattr(scaling, "column_spread", None)
    made = Scaling.of(X, how)
    assert made.how == how
    assert not made.mean.any()
    assert np.array_equal(made(X), unit_rows(X) if how else X)
