"""The single network: its outputs are those of the formula, and its choice is that of leave-one-out."""

import math

import numpy as np
import pandas as pd
import pytest
from problems import classed_graph
from scipy import sparse
from scipy.linalg import expm

import gcnlimit as gl
from gcnlimit.graphs.operator import propagation
from gcnlimit.normalization import Normalization
from gcnlimit.numerics.leave_one_out import targets
from gcnlimit.numerics.ridge import Ridge
from gcnlimit.real import filter_classifier
from gcnlimit.real.filter_classifier import _propagated


@pytest.mark.parametrize(
    "normalization",
    [
        "auto",
        "symmetric",
        "regularized",
        "none",
        "random-walk",
        (0.2, 0.4),
        Normalization(1, 0, 0.5),
    ],
)
@pytest.mark.parametrize("filter", ["pagerank", "diffusion", gl.Diffusion(0.7), gl.Residual([1.0])])
def test_outputs_are_those_of_the_dense_formula(normalization, filter):
    """The network g(S) X W + b with the coefficients found, from a dense matrix function."""
    X, _, y, A = classed_graph(directed=True)
    model = gl.FilterClassifier(filter, normalization=normalization, scale=None).fit(X, y, graph=A)
    S = propagation(sparse.csr_array(A), model.normalization_)
    S = (S if isinstance(filter, gl.Filter) else S.unit()).operator @ np.eye(len(X))
    Z = X if model.filter_ is None else _function(model.filter_, S) @ X
    assert np.allclose(Z @ model.coef_.T + model.intercept_, model.decision_function(), atol=1e-5)


@pytest.mark.parametrize("normalization", ["random-walk", (0.2, 0.4)])
def test_indicators_are_propagated_by_the_transpose(normalization):
    """More features than labelled nodes: the other route to the same rows."""
    X, _, y, A = classed_graph(width=50)
    model = gl.FilterClassifier(gl.PageRank(0.5), normalization=normalization, scale=None).fit(
        X, y, graph=A
    )
    S = propagation(sparse.csr_array(A), normalization).operator @ np.eye(len(X))
    known = y >= 0
    Z, Y = (_function(gl.PageRank(0.5), S) @ X)[known], targets(y[known], 3)
    ridge = Ridge(Z)
    assert np.allclose(
        model.coef_, (Z.T @ ridge.solve(Y, np.array([model.reg_]))[1][0]).T, atol=1e-8
    )


@pytest.mark.parametrize("width", [6, 50])
@pytest.mark.parametrize("family", ["pagerank", "diffusion"])
def test_networks_that_share_products_are_those_fitted_one_by_one(monkeypatch, family, width):
    """Also where memory holds one network and one column at a time."""
    X, _, y, A = classed_graph(width=width)
    shared = gl.FilterClassifier(family).fit(X, y, graph=A)
    monkeypatch.setattr("gcnlimit.real.filter_classifier.NUMBERS", 1.0)
    apart = gl.FilterClassifier(family).fit(X, y, graph=A)
    assert (shared.strength_, shared.reg_, shared.loo_score_) == (
        apart.strength_,
        apart.reg_,
        apart.loo_score_,
    )
    assert np.allclose(shared.coef_, apart.coef_, atol=1e-8)


def test_of_many_labels_some_choose_the_network_and_all_fit_it(monkeypatch):
    X, _, y, A = classed_graph()
    monkeypatch.setattr(filter_classifier, "COMPARED", 12)
    model = gl.FilterClassifier().fit(X, y, graph=A)
    some = np.random.default_rng(0).permutation(30)[:12]
    few = np.full_like(y, -1)
    few[np.flatnonzero(y >= 0)[some]] = y[y >= 0][some]
    chosen = gl.FilterClassifier().fit(X, few, graph=A)
    assert model.strength_ == chosen.strength_
    assert model.normalization_ == chosen.normalization_
    fixed = gl.FilterClassifier(
        strengths=[model.strength_], normalization=model.normalization_
    ).fit(X, y, graph=A)
    assert model.loo_score_ == pytest.approx(fixed.loo_score_)


@pytest.mark.parametrize("strength", [12.0, -12.0])
def test_a_filter_of_wide_range_and_a_small_regularization_are_not_spoiled_by_rounding(
    strength, texas
):
    model = gl.FilterClassifier(
        "diffusion", strengths=[strength], normalization="centred", reg=1e-4
    )
    model.fit(texas.X, texas.training(), graph=texas.graph)
    S = propagation(texas.graph, "centred").unit().operator @ np.eye(texas.nodes)
    X = texas.X.toarray() if sparse.issparse(texas.X) else texas.X
    X = X / np.maximum(np.linalg.norm(X, axis=1), 1e-300)[:, None]
    values, vectors = np.linalg.eigh(S)
    wanted = (
        vectors @ (np.exp(strength * values)[:, None] * (vectors.T @ X @ model.coef_.T))
        + model.intercept_
    )
    assert np.allclose(model.decision_function(), wanted, atol=1e-4)


def _function(filter, S):
    """The filter of a dense matrix that need not be symmetric."""
    one = np.eye(len(S))
    if isinstance(filter, gl.Diffusion):
        return expm(filter.t * S)
    if isinstance(filter, gl.PageRank):
        return np.linalg.inv(one - filter.theta * S)
    product = one
    for c in filter.c:
        product = (S + c * one) @ product
    return product


def test_the_operator_is_the_best_of_those_that_are_tried():
    """Also one after the first, though the network without a graph, alike on all, is tried but once."""
    data = gl.CSBM(alpha=2, lam=1.5, mu=0.3, rho=0.3, directed=False)
    graph = gl.sample(data, nodes=300, degree=8, seed=0)
    y = np.where(graph.train_mask, graph.labels > 0, -1)
    symmetric, centred, auto = (
        gl.FilterClassifier(normalization=name).fit(graph.features, y, graph=graph.adjacency)
        for name in ("symmetric", "centred", "auto")
    )
    assert centred.loo_score_ > symmetric.loo_score_ + 0.05
    assert auto.loo_score_ == centred.loo_score_


def test_without_a_graph_the_strength_is_none():
    X, y, hidden, A = classed_graph()
    seen = hidden >= 0
    told = "there is no graph, so the filter is not used; write fit"
    with pytest.warns(UserWarning, match=told) as warned:
        alone = gl.FilterClassifier("pagerank", scale=None).fit(X[seen], y[seen])
    assert warned[0].filename == __file__
    same = gl.FilterClassifier(strengths=0, scale=None).fit(X, hidden, graph=A)
    assert same.family_ == "no graph"
    assert np.allclose(alone.coef_, same.coef_, atol=1e-9)
    assert alone.loo_score_ == pytest.approx(same.loo_score_)


def test_the_leave_one_out_score_is_that_of_new_nodes_if_nothing_is_chosen():
    scores, tests, errors = [], [], []
    for seed in range(20):
        i = gl.sample(
            gl.CSBM(alpha=2, lam=1.0, mu=3.0, rho=0.3, directed=False),
            nodes=400,
            degree=20,
            seed=seed,
        )
        model = gl.FilterClassifier(gl.PageRank(0.5), reg=1.0)
        model.fit(i.features, np.where(i.train_mask, i.labels > 0, -1), graph=i.adjacency)
        scores.append(model.loo_score_)
        errors.append(model.loo_score_error_)
        tests.append(model.score(y=np.where(i.train_mask, -1, i.labels > 0)))
    apart = np.array(scores) - tests
    assert abs(np.mean(apart)) < 4 * np.std(apart) / math.sqrt(20) + 0.01
    of_test = math.sqrt(np.mean(tests) * (1 - np.mean(tests)) / 280)
    assert np.std(apart) == pytest.approx(math.hypot(np.mean(errors), of_test), rel=0.5)


def test_balanced_weights_are_those_of_repeated_nodes():
    """A class of half the size with double weight is as the class with each of its nodes twice."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), np.repeat([0, 1], [20, 10])
    X[y == 1] += 1.0
    weighted = gl.FilterClassifier(strengths=0, class_weight="balanced", reg=0.1, scale=None).fit(
        X, y
    )
    twice = np.concatenate([np.arange(30), np.arange(20, 30)])
    repeated = gl.FilterClassifier(strengths=0, reg=0.1 * 40 / 30, scale=None).fit(
        X[twice], y[twice]
    )
    assert np.allclose(weighted.coef_, repeated.coef_, atol=1e-10)
    assert np.allclose(weighted.intercept_, repeated.intercept_, atol=1e-10)


def two_graphs(lam, there, nodes=1500, width=100):
    """Two graphs of the block model, their features alike, a tenth of the first labelled."""
    rng, parts = np.random.default_rng(0), []
    for k, signal in enumerate((lam, there)):
        data = gl.CSBM(alpha=nodes / width, lam=signal, mu=0.0, rho=0.1, directed=False)
        i = gl.sample(data, nodes=nodes, degree=30, seed=k)
        X = rng.standard_normal((nodes, width)) + 0.1 * i.labels[:, None]
        parts.append((X, i.labels > 0, i.adjacency, i.train_mask))
    return parts


@pytest.mark.slow
@pytest.mark.parametrize("model", [gl.FilterClassifier(), gl.FilterClassifier("diffusion")])
def test_filters_tuned_without_labels_follow_the_homophily_of_another_graph(model):
    (X, y, A, seen), (Z, z, B, _) = two_graphs(1.5, -1.5)
    model.fit(X, np.where(seen, y, -1), graph=A).set_params(deploy="same")
    same = model.score(Z, z, graph=B)
    tuned = model.set_params(deploy="tuned").score(Z, z, graph=B)
    assert tuned > 0.8 > same + 0.1


@pytest.mark.slow
@pytest.mark.parametrize("there", [1.2, 0.8])
def test_tuned_filters_are_the_same_where_the_homophily_keeps_its_sign(there):
    model = gl.FilterClassifier()
    (X, y, A, seen), (Z, _, B, _) = two_graphs(1.2, there)
    model.fit(X, np.where(seen, y, -1), graph=A).set_params(deploy="same")
    same = model.predict_proba(Z, graph=B)
    assert np.array_equal(model.set_params(deploy="tuned").predict_proba(Z, graph=B), same)


def test_a_bad_word_for_deploy_is_refused_by_the_fit_and_after_it():
    X, _, hidden, A = classed_graph()
    model = gl.FilterClassifier().fit(X, hidden, graph=A).set_params(deploy="new")
    for act in (model.predict, lambda X, graph: model.fit(X, hidden, graph=graph)):
        with pytest.raises(
            gl.ParameterError, match="deploy = 'new' is not allowed; use 'same' or 'tuned'"
        ):
            act(X, graph=A)


def test_what_is_set_after_the_fit_does_not_change_what_was_fitted():
    X, _, hidden, A = classed_graph()
    model = gl.FilterClassifier().fit(X, hidden, graph=A)
    before = model.predict_proba(X, graph=A[::-1, ::-1])
    for then in (
        {"filter": gl.PageRank(0.2)},
        {"filter": "diffusion"},
        {"strengths": 0.0, "scale": "rows"},
    ):
        assert np.array_equal(
            model.set_params(**then).predict_proba(X, graph=A[::-1, ::-1]), before
        )


@pytest.mark.parametrize("width, numbers", [(6, 4000), (6, 1500), (50, 8000), (50, 20_000)])
def test_blocks_are_as_large_as_the_memory_allows(monkeypatch, width, numbers):
    """Of nodes, columns and networks together, and the rows of the labelled nodes with them."""
    X, _, y, A = classed_graph(width=width)
    held = []

    def spy(S, block, group):
        held.append((len(group), block.shape))
        return _propagated(S, block, group)

    monkeypatch.setattr(filter_classifier, "_propagated", spy)
    monkeypatch.setattr(filter_classifier, "NUMBERS", numbers)
    gl.FilterClassifier("pagerank", normalization="symmetric").fit(X, y, graph=A)
    known = np.sum(y >= 0)
    for networks, (nodes, columns) in held:
        assert networks * nodes * columns <= numbers
        assert networks == 1 or networks * known * width <= numbers
    largest = max(networks * nodes * columns for networks, (nodes, columns) in held)
    assert largest > 0.5 * min(numbers, len(X) * min(known, width))
    assert max(networks for networks, _ in held) == min(12, max(1, numbers // (known * width)))


def test_columns_of_a_frame_are_those_of_the_fit_in_their_order():
    X, _, y, A = classed_graph()
    frame = pd.DataFrame(X, columns=[*"abcdefgh"])
    model = gl.FilterClassifier().fit(frame, y, graph=A)
    same = model.predict_proba(frame, graph=A)
    np.testing.assert_array_equal(same, model.predict_proba(X, graph=A))
    other = frame[[*"abdcefgh"]]
    with pytest.raises(gl.ParameterError, match="X has column 'd' where the fit had 'c'"):
        model.predict(other, graph=A)
    np.testing.assert_array_equal(
        model.predict_proba(other[model.feature_names_in_], graph=A), same
    )


@pytest.mark.parametrize("value", ["Rome", pd.NA, pd.Timestamp("2024-01-01")])
def test_a_column_that_is_no_number_is_named(value):
    X, _, y, A = classed_graph()
    frame = pd.DataFrame(X).assign(town=value)
    with pytest.raises(gl.ParameterError, match="in column 'town'; it must be a matrix"):
        gl.FilterClassifier().fit(frame, y, graph=A)


@pytest.mark.parametrize("reg", [1e-6, 1e-3, 1.0])
def test_leave_one_out_is_a_fit_without_the_node_down_to_the_least_regularization(reg):
    rng = np.random.default_rng(0)
    classes = np.arange(24) % 3 // 2  # sixteen and eight
    X = rng.standard_normal((24, 60)) + 0.2 * classes[:, None]
    how = {"strengths": 0, "reg": reg, "scale": None}
    model = gl.FilterClassifier(**how).fit(X, classes)
    left_out = model._choice.left_out.ravel()
    for node in (0, 2, 5):
        rest = np.delete(np.arange(24), node)
        alone = gl.FilterClassifier(**how).fit(X[rest], classes[rest])
        one = float(X[node] @ alone._choice.coefficients[:, 0] + alone._choice.intercept[0])
        # the units of the regularization and the class made up differ a little
        assert np.sign(one) == np.sign(left_out[node])
        assert abs(one - left_out[node]) < 0.25


@pytest.mark.parametrize("reg", [5e-324, 1e-50, 1e-10, 1e16, 1e300, [1.0, 1e-20]])
def test_regularizations_at_which_rounding_would_tell_the_class_are_refused(reg):
    X, _, y, A = classed_graph(directed=True)
    with pytest.raises(gl.ParameterError, match=r"reg = .* it must be in \[1e-06, 1e\+12\]"):
        gl.FilterClassifier(reg=reg).fit(X, y, graph=A)
