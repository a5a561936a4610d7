"""The graph classifier: leave-one-out is what refitting gives, every route to an output is the same."""

import functools
import math
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
import sklearn
from problems import classed_graph
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import gcnlimit as gl
from gcnlimit.graphs.labels import as_labels
from gcnlimit.numerics import leave_one_out, ridge
from gcnlimit.numerics.leave_one_out import averaged, correct, sharpened, soft_weights, targets
from gcnlimit.numerics.ridge import Ridge
from gcnlimit.real import bank, ensemble, views
from gcnlimit.real.views import Views


def test_labelled_nodes_that_are_alike_say_nothing_elsewhere():
    """Same features, same neighbours, both classes."""
    X, _, _, A = classed_graph(nodes=100)
    X[:6], A[:6] = X[0], A[0]
    A[:, :6] = A[:1].T
    A[:6, :6] = 0.0
    hidden = np.full(100, -1)
    hidden[:6] = [0, 0, 0, 1, 1, 1]
    elsewhere = gl.GraphClassifier().fit(X, hidden, graph=A).predict_proba()[6:]
    assert elsewhere == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("width", [8, 2, 90])
def test_the_order_of_the_nodes_does_not_matter(width):
    X, _, y, A = classed_graph(width=width, labelled=50)
    order = np.random.default_rng(2).permutation(len(y))
    one = gl.GraphClassifier().fit(X, y, graph=A)
    two = gl.GraphClassifier().fit(X[order], y[order], graph=A[np.ix_(order, order)])
    assert np.allclose(two.predict_proba(), one.predict_proba()[order], atol=1e-4)


@pytest.mark.parametrize("width", [8, 130])
def test_nor_does_it_matter_where_something_is_drawn(monkeypatch, width):
    """Landmarks, vectors that estimate a diagonal, groups of labels and samples of labelled nodes."""
    monkeypatch.setattr(bank, "LANDMARKS", 40)
    monkeypatch.setattr(bank, "LARGE", 150)
    monkeypatch.setattr(ridge, "LARGE", 150)
    monkeypatch.setattr(ensemble, "FEW", 100)
    monkeypatch.setattr(leave_one_out, "SAMPLE", 90)
    monkeypatch.setattr(views, "GROUPS", 12)
    X, classes, _, A = classed_graph(nodes=240, width=width)
    y = np.where(np.random.default_rng(1).random(len(classes)) < 0.65, classes, -1)
    order = np.random.default_rng(2).permutation(len(y))
    one = gl.GraphClassifier().fit(X, y, graph=A)
    two = gl.GraphClassifier().fit(X[order], y[order], graph=A[np.ix_(order, order)])
    assert np.allclose(two.predict_proba(), one.predict_proba()[order], atol=1e-4)


def test_features_may_be_sparse_and_more_than_labels():
    X, _, y, A = classed_graph(width=40)
    X[X < 0.5] = 0.0
    dense = gl.GraphClassifier().fit(X, y, graph=A)
    light = gl.GraphClassifier().fit(sparse.csr_array(X), y, graph=sparse.coo_array(A))
    assert np.allclose(dense.predict_proba(), light.predict_proba(), atol=1e-4)


def test_every_mark_of_an_unlabelled_node_is_the_same():
    X, _, y, A = classed_graph()
    wanted = gl.GraphClassifier().fit(X, y, graph=A)
    names = np.array(["a", "b", "c"])
    with_nan = np.where(y < 0, np.nan, y)
    with_none = np.array([None if v < 0 else names[v] for v in y], object)
    assert np.array_equal(
        gl.GraphClassifier().fit(X, with_nan, graph=A).transduction_, wanted.transduction_
    )
    found = gl.GraphClassifier().fit(X, with_none, graph=A)
    assert np.array_equal(found.transduction_, names[wanted.transduction_])


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble])
def test_a_missing_number_of_any_precision_is_a_mark(kind):
    _, _, y, A = classed_graph()
    wanted = as_labels(y, len(A))
    objects = np.array([kind("nan") if v < 0 else int(v) for v in y], object)
    for marked in (objects, np.where(y < 0, np.nan, y).astype(kind)):
        found = as_labels(marked, len(A))
        assert np.array_equal(found.labelled, wanted.labelled)
        assert np.array_equal(found.index, wanted.index)


def test_what_pandas_writes_for_an_unknown_class_is_a_mark():
    X, _, y, A = classed_graph()
    wanted = gl.GraphClassifier().fit(X, y, graph=A).transduction_
    whole = pd.array(np.where(y < 0, None, y), dtype="Int64")
    words = pd.Series([None if v < 0 else "abc"[v] for v in y], dtype="category")
    assert np.array_equal(gl.GraphClassifier().fit(X, whole, graph=A).transduction_, wanted)
    found = gl.GraphClassifier().fit(X, words, graph=A).transduction_
    assert np.array_equal(found, np.array([*"abc"])[wanted])


def test_classes_in_another_order_than_the_features_are_refused():
    """They would be taken by their place; `loc` puts them in order."""
    X, _, y, A = classed_graph()
    X = pd.DataFrame(X, [f"node {k}" for k in range(len(y))]).add_prefix("x")
    classes = pd.Series(y, X.index)
    mixed = classes.sample(frac=1.0, random_state=0)
    wanted = gl.GraphClassifier().fit(X, classes, graph=A).transduction_
    doors = [gl.GraphClassifier().fit, gl.FilterClassifier().fit, gl.estimate, gl.describe]
    doors += [gl.recommend, functools.partial(gl.cross_validate, gl.FilterClassifier())]
    for door in doors:
        with pytest.raises(gl.ParameterError, match=r"another order; write y=y\.loc"):
            door(X, mixed, graph=A)
    ordered = gl.GraphClassifier().fit(X, mixed.loc[X.index], graph=A)
    assert np.array_equal(ordered.transduction_, wanted)


def test_the_graph_of_the_fit_given_again_is_the_same_answer():
    X, _, y, A = classed_graph()
    model = gl.GraphClassifier().fit(X, y, graph=A)
    assert np.allclose(model.decision_function(X, graph=A), model.decision_function(), atol=1e-10)
    assert not np.allclose(
        model.decision_function(X[::-1], graph=A), model.decision_function(), atol=1e-3
    )
    pipeline = make_pipeline(StandardScaler(), gl.GraphClassifier()).fit(
        X, y, graphclassifier__graph=A
    )
    assert pipeline.predict(X, graph=A).shape == y.shape
    with pytest.raises(gl.ParameterError, match="graph is None, unlike in the fit; add graph="):
        model.predict(X)


@pytest.mark.parametrize("lam", [2.0, -2.0])
def test_the_sign_of_the_strength_is_that_of_the_graph(lam):
    data = gl.CSBM(alpha=2, lam=lam, mu=2.0, rho=0.2, directed=False)
    i = gl.sample(data, nodes=600, degree=30, seed=1)
    y = np.where(i.train_mask, i.labels > 0, -1)
    model = gl.GraphClassifier().fit(i.features, y, graph=i.adjacency)
    assert (
        sum(
            row.weight
            for row in model.table_
            if row.strength is not None and row.strength * lam < 0
        )
        < 0.05
    )
    single = gl.FilterClassifier().fit(i.features, y, graph=i.adjacency)
    assert math.copysign(1.0, single.strength_) == math.copysign(1.0, lam)
    test = np.where(i.train_mask, -1, i.labels > 0)
    ceiling = gl.bayes_optimal(data).test_accuracy
    error = math.sqrt(ceiling * (1 - ceiling) / 480)
    assert ceiling - 0.05 < model.score(y=test) < ceiling + 4 * error


def test_probabilities_are_calibrated_on_the_left_out_nodes():
    X, y, hidden, A = classed_graph(nodes=400, labelled=200, classes=2)
    model = gl.GraphClassifier().fit(X, hidden, graph=A)
    p = model.predict_proba()
    assert np.allclose(p.sum(axis=1), 1.0)
    assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict())
    test = hidden < 0
    assert abs(np.mean(p.max(axis=1)[test]) - np.mean(model.predict()[test] == y[test])) < 0.08


@pytest.mark.usefixtures("few_trees")
@pytest.mark.filterwarnings("ignore:there is no graph")
@parametrize_with_checks([gl.GraphClassifier(), gl.FilterClassifier()])
def test_contract_of_scikit_learn(estimator, check):
    check(estimator)


def test_missing_scikit_learn_is_said_in_a_sentence():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import gcnlimit as gl\n"
        "try: gl.GraphClassifier()\n"
        "except gl.GCNLimitError as error: print(error)"
    )
    told = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert "gcnlimit[sklearn]" in told


@pytest.mark.parametrize("labelled", [40, 60])
def test_labels_around_a_node_do_not_tell_its_own(labelled):
    """Where classes are drawn at random, labels around a node say nothing of its own: not even which of them is one short."""
    rng = np.random.default_rng(0)
    hits = []
    for _ in range(10):
        y = rng.integers(2, size=200)
        A = np.triu(rng.random((200, 200)) < 0.1, 1).astype(float)
        labels = as_labels(np.where(np.arange(200) < labelled, y, -1), 200)
        Z = Views(np.eye(200), sparse.csr_array(A + A.T), unit=True).labels(labels)[labels.labelled]
        left_out = Ridge(Z).solve(targets(labels.index, 2), np.array([1.0]))[0][0]
        hits += correct(left_out, labels.index).tolist()
    assert abs(np.mean(hits) - 0.5) < 4 * 0.5 / math.sqrt(len(hits))


def test_weights_are_of_the_best_and_of_what_cannot_be_told_from_it():
    rng = np.random.default_rng(0)
    classes = rng.integers(2, size=200)
    good = np.where(classes == 1, 1.0, -1.0)[None, :, None] + 0.8 * rng.standard_normal((1, 200, 1))
    outputs = np.concatenate(
        [good, good + 1e-3 * rng.standard_normal(good.shape), rng.standard_normal(good.shape)]
    )
    share = np.full(200, 1 / 200)
    sharpness, losses = sharpened(outputs, classes, share)
    found = soft_weights(losses, share, np.ones(3))
    assert found[:2] == pytest.approx([0.5, 0.5], abs=0.1)
    assert found[2] < 1e-6
    assert soft_weights(losses, share, np.array([0.0, 0.0, 1.0])).tolist() == [0.0, 0.0, 1.0]
    assert averaged(outputs, found, sharpness).sum(axis=1) == pytest.approx(1.0)


def test_a_complete_graph_and_one_without_use_leave_the_features():
    X, y, hidden, _ = classed_graph(labelled=55)
    complete = np.ones((60, 60)) - np.eye(60)
    model = gl.GraphClassifier().fit(X, hidden, graph=complete)
    alone = gl.FilterClassifier(strengths=0).fit(X[hidden >= 0], y[hidden >= 0])
    assert model.loo_score_ > alone.loo_score_ - 0.1


def test_what_two_features_tell_together_is_learnt_without_a_graph():
    """Neither tells anything alone, and the graph says nothing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 4))
    classes = (X[:, 0] * X[:, 1] > 0).astype(int)
    A = np.triu(rng.random((800, 800)) < 0.01, 1)
    seen = np.arange(800) < 400
    model = gl.GraphClassifier().fit(X, np.where(seen, classes, -1), graph=1.0 * (A + A.T))
    assert not model.uses_graph_
    assert model.score(y=np.where(seen, -1, classes)) > 0.8


def test_an_isolated_node_has_the_same_answer_on_every_graph():
    """Up to the centring of the operator, which isolated nodes share."""
    X, _, hidden, A = classed_graph(nodes=200, labelled=120, width=30)
    X += 3.0 * np.random.default_rng(1).standard_normal(X.shape)
    A[:20] = A[:, :20] = 0.0
    model = gl.GraphClassifier(scale="rows").fit(X, hidden, graph=A)
    other = A.copy()
    other[20:60, 20:60] = 1.0 - other[20:60, 20:60]
    assert model.uses_graph_
    assert np.allclose(
        model.predict_proba()[:20], model.predict_proba(X, graph=other)[:20], atol=0.01
    )


def test_without_features_an_isolated_node_has_the_fractions_of_its_like():
    """Those of all labels where no isolated node is labelled, else nearly those of the labelled isolated nodes."""
    _, _, hidden, A = classed_graph(nodes=200, labelled=120)
    A[:60] = A[:, :60] = 0.0
    hidden[:60] = -1
    share = np.bincount(hidden[hidden >= 0]) / np.sum(hidden >= 0)
    model = gl.GraphClassifier().fit(None, hidden, graph=A)
    assert np.allclose(model.predict_proba()[:60], share, atol=1e-6)
    assert model.graph_gain_ is None
    hidden[:40] = np.arange(40) % 4 == 0  # one in four, and none of the third class
    of_these = gl.GraphClassifier().fit(None, hidden, graph=A).predict_proba()[:60]
    assert np.allclose(of_these, [0.75, 0.25, 0.0], atol=0.04)


def test_another_graph_of_the_same_model_is_classified():
    data = gl.CSBM(alpha=2, lam=2.0, mu=3.0, rho=0.3, directed=False)
    one = gl.sample(data, nodes=600, degree=20, seed=0)
    rng = np.random.default_rng(0)
    model = gl.GraphClassifier().fit(
        one.features, np.where(one.train_mask, one.labels > 0, -1), graph=one.adjacency
    )
    kept = np.sort(rng.permutation(600)[:400])
    found = model.predict(one.features[kept], graph=one.adjacency[kept][:, kept])
    assert np.mean(found == (one.labels[kept] > 0)) > 0.8


@pytest.mark.parametrize("width", [2, 8])
@pytest.mark.parametrize("directed", [True, False])
def test_a_graph_with_directions_and_one_without_take_each_others_models(directed, width):
    X, y, hidden, A = classed_graph(
        nodes=150, width=width, classes=2, labelled=100, directed=directed
    )
    other = np.maximum(A, A.T) if directed else np.triu(A)
    model = gl.GraphClassifier().fit(X, hidden, graph=A)
    assert model.score(X, y, graph=other) > 0.8


def test_another_graph_needs_the_same_features():
    X, _, hidden, A = classed_graph()
    model = gl.GraphClassifier().fit(X, hidden, graph=A)
    with pytest.raises(gl.ParameterError, match="X has 7 features, the fit had 8; they must be"):
        model.predict(X[:, 1:], graph=A)
    bare = gl.GraphClassifier().fit(None, hidden, graph=A)
    with pytest.raises(gl.ParameterError, match="the graph has 50 nodes, the fit had 60"):
        bare.predict(graph=A[:50, :50])
    with pytest.raises(gl.ParameterError, match="X is given, unlike in the fit; leave it out"):
        bare.predict(np.eye(60), graph=A)
    with pytest.raises(gl.ParameterError, match="X is None, unlike in the fit; add X="):
        model.predict(graph=A)
    filtered = gl.FilterClassifier(gl.PageRank(0.5), deploy="tuned").fit(X, hidden, graph=A)
    with pytest.raises(gl.ParameterError, match="deploy = 'tuned' sets a strength"):
        filtered.predict(X, graph=A)


@pytest.mark.parametrize("width", [8, 2])
def test_members_are_found_by_name_on_another_graph(width, monkeypatch):
    """In whatever order, and a bank that lacks one is refused, not read wrongly."""
    X, _, hidden, A = classed_graph(width=width, labelled=50, classes=2)
    model = gl.GraphClassifier().fit(X, hidden, graph=A)
    wanted = model.predict_proba(X[::-1], graph=A)
    in_order = ensemble.members
    monkeypatch.setattr(ensemble, "members", lambda *given: reversed(list(in_order(*given))))
    assert np.allclose(model.predict_proba(X[::-1], graph=A), wanted, atol=1e-12)
    monkeypatch.setattr(ensemble, "members", lambda *given: iter(()))
    with pytest.raises(RuntimeError, match="of the fit are not in the bank"):
        model.predict_proba(X[::-1], graph=A)


def test_cross_validation_hides_labels_and_keeps_the_graph():
    X, _, hidden, A = classed_graph(nodes=150, labelled=100, classes=2)
    start = time.perf_counter()
    found = gl.cross_validate(gl.FilterClassifier(), X, hidden, A, folds=4)
    model = gl.FilterClassifier().fit(X, hidden, graph=A)
    assert found["accuracy"].shape == (4,)
    assert 0.0 < found["fit_seconds"].sum() < time.perf_counter() - start
    assert found["accuracy"].mean() == pytest.approx(model.loo_score_, abs=0.1)
    hidden[np.flatnonzero(hidden >= 0)[0]] = (
        2  # a class that no label shows when this node is hidden
    )
    with pytest.warns(UserWarning, match="class 2 has one labelled node; while it is hidden"):
        found = gl.cross_validate(gl.FilterClassifier(), X, hidden, A, folds=4)
    assert np.isfinite(found["auc"]).all()
    with pytest.raises(gl.ParameterError, match="folds"):
        gl.cross_validate(gl.GraphClassifier(), X, hidden, A, folds=101)
    with pytest.raises(gl.ParameterError, match="graph is None; without one, use cross_val_score"):
        gl.search(gl.GraphClassifier(), {"scale": ["rows"]}, X, hidden, None)


def test_nodes_to_label_next_are_uncertain_and_apart():
    """Three groups of nodes that are alike, one of them without a label: each has nodes to label, the third more than others."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 60)
    A = np.triu(rng.random((180, 180)) < np.where(group[:, None] == group, 0.2, 0.005), 1)
    y = np.full(180, -1)
    y[[*range(10), *range(60, 70)]] = group[[*range(10), *range(60, 70)]]
    model = gl.GraphClassifier().fit(
        np.eye(3)[group] + 0.3 * rng.standard_normal((180, 3)), y, graph=A + A.T
    )
    chosen = model.review(12)
    assert np.unique(chosen).size == 12
    assert np.all(y[chosen] < 0)
    assert np.bincount(group[chosen], minlength=3).argmax() == 2
    assert np.unique(group[chosen]).size > 1
    largest = np.sort(model.predict_proba()[chosen], axis=1)
    assert np.all(np.diff(largest[:, -1] - largest[:, -2]) >= 0)
    assert sorted(model.review(1000)) == np.flatnonzero(y < 0).tolist()
    alike = gl.GraphClassifier().fit(np.ones((180, 2)), np.where(y < 0, -1, y), graph=A + A.T)
    assert alike.review(5).size == 5
    with pytest.raises(gl.ParameterError, match="count"):
        model.review(0)
    with pytest.raises(gl.ParameterError, match="every node has a label"):
        gl.GraphClassifier().fit(np.eye(3)[group], group, graph=A + A.T).review()


@pytest.mark.parametrize("words", [False, True])
def test_cross_validation_takes_a_pipeline(words):
    """Steps of an affine change of columns, which the classifier undoes, change nothing; a step may need the classes."""
    X, _, hidden, A = classed_graph(nodes=150, labelled=100, classes=2)
    y = np.array([None, "a", "b"], object)[hidden + 1] if words else hidden
    model = gl.FilterClassifier(strengths=[0.5], scale="columns")
    wanted = gl.cross_validate(model, X, y, A, folds=3)
    steps = make_pipeline(
        StandardScaler(), FunctionTransformer(lambda Z: 3.0 * Z + 1.0), "passthrough", model
    )
    with sklearn.config_context(enable_metadata_routing=True):
        found = gl.cross_validate(steps, X, y, A, folds=3)
    assert np.allclose(found["accuracy"], wanted["accuracy"])
    assert np.allclose(found["auc"], wanted["auc"])
    if not words:
        chosen = make_pipeline(SelectKBest(k=5), model)
        assert gl.cross_validate(chosen, X, y, A, folds=3)["accuracy"].mean() > 0.4
    for wrong in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
        with pytest.raises(gl.ParameterError, match="LogisticRegression takes no graph"):
            gl.cross_validate(wrong, X, y, A)


def test_a_search_finds_what_cross_validation_prefers_and_fits_it_to_all_labels():
    X, _, hidden, A = classed_graph(nodes=150, labelled=100, classes=2)
    steps = make_pipeline(StandardScaler(), gl.FilterClassifier())
    grid = {
        "filterclassifier__strengths": [0.0, 0.8],
        "filterclassifier__scale": ["rows", "columns"],
    }
    found = gl.search(steps, grid, X, hidden, A, folds=3, score="auc", seed=1)
    settings = [trial.settings for trial in found.trials]
    assert len(settings) == 4
    assert [trial.score for trial in found.trials] == sorted(
        (trial.score for trial in found.trials), reverse=True
    )
    for trial in found.trials[:2]:
        there = gl.cross_validate(
            clone(steps).set_params(**trial.settings), X, hidden, A, folds=3, seed=1
        )["auc"]
        assert trial.score == pytest.approx(there.mean())
        assert trial.error == pytest.approx(there.std(ddof=1) / 3**0.5)
    best = clone(steps).set_params(**settings[0]).fit(X, hidden, filterclassifier__graph=A)
    assert np.allclose(found.model.predict_proba(X, graph=A), best.predict_proba(X, graph=A))
    for wrong in ({"depth": [1]}, {"scale": "rows"}, 3, {"scale": []}):
        with pytest.raises(gl.ParameterError, match=r"settings = .* are not allowed"):
            gl.search(gl.FilterClassifier(), wrong, X, hidden, A)


def test_tools_that_cut_the_graph_are_told_what_to_use():
    X, y, _, A = classed_graph()
    with pytest.raises(gl.ParameterError, match="cross_validate"):
        cross_val_score(gl.GraphClassifier(), X, y, params={"graph": A}, error_score="raise")
    with sklearn.config_context(enable_metadata_routing=True):
        routed = gl.FilterClassifier().set_fit_request(graph=True).set_score_request(graph=True)
        grid = GridSearchCV(routed, {"scale": ["rows", "columns"]}, error_score="raise")
        with pytest.raises(gl.ParameterError, match="cross_validate or search"):
            grid.fit(X, y, graph=A)
    with pytest.raises(gl.ParameterError, match="score\\(y="):
        gl.GraphClassifier().fit(X, y, graph=A).score()


def test_the_members_can_be_drawn():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    X, _, hidden, A = classed_graph()
    model = gl.GraphClassifier().fit(X, hidden, graph=A)
    assert sum(row.weight for row in model.table_) == pytest.approx(1.0)
    assert len(model.plot(figure.add_subplot()).get_yticklabels()) == len(model.table_)


def test_the_best_is_that_of_its_prior_too():
    """Losses that differ by less than the logarithm of the prior per node: the rarer one, though better, is not the best."""
    share, prior = np.full(100, 0.01), np.array([1.0, 0.5])
    losses = np.random.default_rng(0).uniform(0.2, 0.8, 100) - np.array([[0.0], [0.003]])
    z = 0.003 / (0.5 / 100)
    assert soft_weights(losses, share, prior)[0] == pytest.approx(
        1.0 / (1.0 + 0.5 * math.exp(-(z**2) / 2))
    )


def test_what_varies_by_rounding_alone_is_constant():
    """Averages of the degrees of a ring, in single precision; what varies has unit variance."""
    ring = sparse.csr_array(np.roll(np.eye(1200), 1, axis=1) + np.roll(np.eye(1200), -1, axis=1))
    X = np.random.default_rng(0).standard_normal((1200, 3)) + 10.0
    for blocks in Views(X, ring, unit=False).hops():
        assert not blocks[0][:, -1].any()
        assert blocks[0][:, :3].std(axis=0) == pytest.approx(1.0, abs=1e-2)


def test_the_table_has_the_accuracy_at_the_best_regularization():
    X, _, hidden, A = classed_graph(nodes=150, labelled=100, width=20)
    model = gl.GraphClassifier().fit(X, hidden, graph=A)
    y = hidden[hidden >= 0]
    for row in model.table_:
        kept = model._model.fitted[row.member].left_out
        assert row.loo_accuracy >= correct(kept, y).mean(axis=1).max() - 1e-12


def test_rows_of_the_table_print_as_many_digits_as_results_do():
    X, _, hidden, A = classed_graph(nodes=150, labelled=100, width=20)
    for row in gl.GraphClassifier().fit(X, hidden, graph=A).table_:
        printed = dict(part.split("=") for part in repr(row)[4:-1].split(", ") if "=" in part)
        assert printed["loo_accuracy"] == f"{row.loo_accuracy:.6g}"
        assert printed["gain_error"] == f"{row.gain_error:.6g}"


@pytest.mark.slow
def test_calibration_is_that_of_leave_one_out():
    data = gl.CSBM(alpha=2, lam=1.5, mu=2.0, rho=0.3, directed=False)
    i = gl.sample(data, nodes=1500, degree=30, seed=0)
    y = np.where(i.train_mask, i.labels > 0, -1)
    model = gl.GraphClassifier().fit(i.features, y, graph=i.adjacency)
    sure = model.calibration_
    assert sure.accuracy == pytest.approx(model.loo_score_)
    assert sure.slope == pytest.approx(1.0, abs=0.3)
    # what leave-one-out says of the labels holds on the other nodes
    others = ~i.train_mask
    found = model.predict_proba()[others]
    assert sure.confidence == pytest.approx(found.max(axis=1).mean(), abs=0.03)
    few = np.where(np.cumsum(y >= 0) <= 15, y, -1)
    assert gl.GraphClassifier().fit(i.features, few, graph=i.adjacency).calibration_ is None
