"""The average of the bank: the unit of its features."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from gcnlimit.graphs.labels import Labels
from gcnlimit.real import ensemble
from gcnlimit.real.ensemble import Ensemble, chosen_scaling

LABELS = Labels(np.arange(2), np.arange(10), np.arange(10) % 2)


@pytest.mark.parametrize("size", [1e-20, 1.0, 1e20])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_features_that_are_not_scaled_have_one_unit_in_which_rows_are_of_mean_square_1(size, kind):
    """All columns by the same number, and none is shifted: the fit is that of the features as they are."""
    X = size * np.random.default_rng(0).random((40, 5))
    scaled = chosen_scaling(kind(X), LABELS, None)(kind(X))
    scaled = scaled.toarray() if sparse.issparse(scaled) else scaled
    assert np.mean(np.sum(scaled**2, axis=1)) == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(scaled / scaled[0, 0], X / X[0, 0], rtol=1e-12)


@pytest.mark.parametrize("seed", [5, 22, 192, 244])
def test_chance_does_not_choose_rows_that_a_column_dominates(seed):
    """Flags beside an income, and classes of chance: rows have a smaller loss by more than two standard errors."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.random((75, 4)) < 0.5, 1000 * np.exp(rng.standard_normal(75))])
    labels = Labels(np.arange(2), np.arange(75), rng.permutation(75) % 2)
    assert chosen_scaling(X, labels, "auto").how == "columns"


@pytest.mark.parametrize(
    "gain, rows, columns",
    [(1.9, "rows", "columns"), (2.5, "columns", "columns"), (3.1, "columns", "rows")],
)
def test_rows_need_three_standard_errors_and_columns_two(monkeypatch, gain, rows, columns):
    """How words, and how numbers, are scaled if the other scaling lowers the loss by so many errors."""
    monkeypatch.setattr(ensemble, "paired", lambda *losses: (gain, 1.0))
    rng = np.random.default_rng(0)
    labels = Labels(np.arange(2), np.arange(60), np.arange(60) % 2)
    words, numbers = rng.poisson(0.1, (60, 50)).astype(float), rng.standard_normal((60, 5))
    assert chosen_scaling(words, labels, "auto").how == rows
    assert chosen_scaling(numbers, labels, "auto").how == columns


def weights_of_words(labelled, nodes=1100, scale="auto"):
    """Weights of ten words of random pages, and in how many pages each is."""
    rng = np.random.default_rng(0)
    X = sparse.csr_array((rng.random((nodes, 10)) < np.geomspace(0.01, 0.5, 10)).astype(float))
    labels = Labels(np.arange(2), np.arange(labelled), np.arange(labelled) % 2)
    scaling = chosen_scaling(X, labels, scale)
    assert scaling.how == "rows"
    return 1.0 / scaling.spread, X.sum(axis=0)


def test_rare_words_count_more_where_labels_are_few():
    """The mean square of what words count is that of words which count alike, so that other columns keep their place."""
    weights, pages = weights_of_words(40)
    rarity = 1.0 + np.log(1101.0 / (1.0 + pages))
    np.testing.assert_allclose(weights / weights[0], rarity / rarity[0], rtol=1e-12)
    assert pages @ weights**2 == pytest.approx(pages.sum(), rel=1e-12)


@pytest.mark.parametrize("how", [{"labelled": 400}, {"nodes": 1000}, {"scale": "rows"}])
def test_words_count_alike_with_many_labels_on_small_graphs_and_where_rows_are_asked_for(how):
    np.testing.assert_array_equal(weights_of_words(**({"labelled": 40} | how))[0], 1.0)


def test_features_that_vanish_stay_as_they_are():
    assert not chosen_scaling(np.zeros((40, 5)), LABELS, None)(np.zeros((40, 5))).any()


@pytest.mark.parametrize("knows", [False, True])
def test_a_student_that_explains_little_is_not_averaged_in(knows):
    """It learns the outputs on all nodes from columns that hold the classes, or noise alone."""
    truth = np.where(np.arange(200) % 2, 1.0, -1.0)
    X = np.random.default_rng(0).standard_normal((200, 3))
    X[:, 0] = 3.0 * truth if knows else X[:, 0]
    member = SimpleNamespace(strength=0.5)
    scores = np.outer(truth, [-1.0, 1.0])
    model = SimpleNamespace(
        fitted={"one": SimpleNamespace(member=member)},
        weights={"one": np.ones(1)},
        bank=[(member, SimpleNamespace(blocks=[X]))],
        labels=SimpleNamespace(index=(truth[:10] > 0).astype(int), labelled=np.arange(10)),
        views=SimpleNamespace(X=np.zeros((1, 1000)), lonely=np.zeros(200, bool)),
        bare=False,
        scores=scores,
    )
    Ensemble.relearn(model, np.zeros(2))
    assert np.array_equal(model.scores, scores) == (not knows)
    assert np.array_equal(np.argmax(model.scores, axis=1), truth > 0)


def test_without_features_lonely_nodes_have_the_classes_of_labelled_ones_among_them():
    """Those of all labels count as one more label of each class."""
    index, lonely = np.array([0, 0, 0, 1, 1, 2]), np.array([1, 0, 1, 1, 0, 0], bool)
    model = SimpleNamespace(
        bare=True,
        labels=SimpleNamespace(index=index, labelled=np.arange(6)),
        views=SimpleNamespace(lonely=lonely),
        share=np.full(6, 1 / 6),
    )
    wanted = np.array([2.0, 1.0, 0.0]) + 3.0 * np.array([3.0, 2.0, 1.0]) / 6.0
    np.testing.assert_allclose(Ensemble._for_lonely(model, None), wanted / wanted.sum())
