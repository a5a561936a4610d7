"""Comparisons: the order that must hold between families."""

import math

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.choose import compare
from gcnlimit.choose.compare import Comparison, Entry
from gcnlimit.estimated import EstimatedCSBM
from gcnlimit.theory.points import Points

DATA = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)


@pytest.mark.parametrize(
    "symmetrize, reg", [pytest.param(True, None, marks=pytest.mark.slow), (False, math.inf)]
)
def test_families_contained_in_one_another_are_in_order(symmetrize, reg):
    """On a directed graph at infinite regularization, where the best of all filters is known."""
    data = gl.CSBM(alpha=4, lam=np.array([-1.3, 0.4]), mu=2.0, rho=[0.02, 0.5])
    comparison = gl.compare(data, depth=2, order=10, symmetrize=symmetrize, reg=reg)
    equal, free, diffusion, pagerank, polynomial, *best, pca, every, bayes = (
        comparison.test_accuracy
    )
    best, several = (best[:-1], best[-1:]) if symmetrize else (best, [])
    linear = best[-1]  # after the same at infinite regularization, if that is another one
    assert np.all(free >= equal - 1e-11)
    assert np.all(polynomial >= free - 1e-9)
    assert np.all(linear >= np.max([polynomial, pagerank, diffusion, *best], axis=0) - 1e-9)
    assert np.all(every > np.max([linear, pca, *several], axis=0))
    assert np.all(bayes > every)
    assert np.all(comparison.gap[-1] == 0)
    for network in several:  # sums of filters at infinite regularization
        assert np.all((best[0] <= network) & (network < bayes))


def test_each_line_is_what_its_network_predicts_and_says_its_regularization():
    comparison = gl.compare(DATA, depth=1, order=4)
    lines = str(comparison).splitlines()
    assert len(lines) == 1 + len(comparison.methods) == 13
    assert "t = 1.521; reg = 50.54" in lines[3]
    assert comparison.methods[-1] == "Bayes-optimal"
    for entry in comparison.entries:
        if entry.gcn is not None:
            assert gl.predict(DATA, entry.gcn).test_accuracy == pytest.approx(
                entry.test_accuracy, abs=1e-9
            )
            assert entry.parameters.get("reg", 0.0) == entry.gcn.reg
    early, ridge = comparison["PageRank, early stopping"], comparison["PageRank"]
    assert early.gcn.filter == ridge.gcn.filter
    assert early.parameters["time"] == early.gcn.training.time
    assert early.test_accuracy == pytest.approx(ridge.test_accuracy, abs=3e-4)
    accuracies = [entry.test_accuracy for entry in comparison.entries if entry.gcn is not None]
    assert comparison.best.test_accuracy == max(accuracies)


def test_infinite_regularization_on_request():
    comparison = gl.compare(DATA, depth=1, order=4, reg=math.inf)
    assert comparison["diffusion"].test_accuracy == pytest.approx(0.88095, abs=5e-6)
    assert all(
        math.isinf(entry.parameters["reg"])
        for entry in comparison.entries
        if "reg" in entry.parameters
    )
    with pytest.raises(gl.ParameterError, match="'nosuch' is unknown; choose among residual"):
        comparison["nosuch"]


def test_a_point_that_is_refused_does_not_lose_the_others():
    data = gl.CSBM(alpha=4, lam=[1.0, 1e30, 1.0], mu=2.0, rho=[0.1, 0.1, 0.0])
    comparison = gl.compare(data, depth=1, order=4, reg=math.inf)
    alone = gl.compare(DATA, depth=1, order=4, reg=math.inf)
    np.testing.assert_allclose(comparison.test_accuracy[:, 0], alone.test_accuracy, atol=1e-9)
    for entry in comparison.entries[:-3]:
        assert list(entry.status[1:]) == [gl.Status.REFUSED] * 2
        assert np.all(np.isnan(entry.test_accuracy[1:]))
    assert np.all(comparison["Bayes-optimal"].test_accuracy > 0.5)  # known at every point


def test_a_comparison_that_would_take_minutes_is_refused_with_the_reason():
    with pytest.raises(gl.ParameterError, match=r"depth = 17 is not allowed: .*; take depth <= 16"):
        gl.compare(DATA, depth=17)


def test_names_with_commas_are_told_apart():
    many = gl.compare(gl.CSBM(4, [1.0, 1.2], 2.0, 0.1), depth=1, order=1, reg=math.inf)
    assert (
        repr(many).removeprefix("Comparison of ").split(" on data")[0].split("; ") == many.methods
    )


def test_a_method_without_an_answer_has_dashes_and_says_so():
    none = Entry("PageRank", {"theta": 0.5}, math.nan, math.nan)
    text = repr(Comparison((none, Entry("Bayes-optimal", {}, 0.9, math.log(0.1)))))
    assert text.splitlines()[1].split() == [
        "PageRank",
        "-",
        "-",
        "no",
        "answer;",
        "theta",
        "=",
        "0.5",
    ]


def test_early_stopping_has_an_answer_where_the_best_pagerank_is_at_its_pole():
    """The theory of stopped trainings does not resolve the last thousandths before the pole, which matter little."""
    data = gl.CSBM(9.28, 0.572, 0.108, 0.125, directed=False)
    points = Points.of(data, gl.GCN(gl.PageRank(0.49996), reg=0.996))
    ridge = compare._tuned("PageRank", points, {})
    stopped = compare._early_stopping(ridge)
    assert stopped.chosen["theta"] == pytest.approx(0.499)
    assert stopped.margin == pytest.approx(ridge.margin, abs=1e-3)


def test_errors_of_an_estimate_are_those_of_the_best_networks_around_it():
    """To first order a best network loses nothing if the data move (the envelope theorem): it need not be chosen again."""
    step, options = 1e-3, {"depth": 1, "order": 4, "reg": math.inf}
    model = {"alpha": 4, "lam": 1.0, "rho": 0.1, "classes": [0.4, 0.6]}
    estimate = EstimatedCSBM(**model, mu=2.0, lam_error=0.0, mu_error=step)
    comparison = gl.compare(estimate, **options)
    around = gl.compare(gl.CSBM(**model, mu=[2.0 - step, 2.0 + step]), **options).test_accuracy
    errors = np.array([entry.standard_error for entry in comparison.entries])
    known = np.isfinite(errors)
    assert known.sum() == 7
    np.testing.assert_allclose(errors[known], np.diff(around)[known, 0] / 2, rtol=0.02)
    frame = comparison.to_dataframe()
    np.testing.assert_array_equal(frame.test_accuracy_standard_error, errors)
    shown = repr(comparison).splitlines()[1:]
    assert [" ± " in line and "?" not in line for line in shown] == known.tolist()


def test_a_point_that_is_refused_leaves_a_gap_in_the_picture():
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=[0.0, 0.1, 0.3])
    axes = gl.compare(data, depth=1, order=4, reg=math.inf).plot()
    drawn = [line.get_ydata() for line in axes.lines]
    assert len(drawn) == 9
    assert all(np.isfinite(values[1:]).all() for values in drawn)
    assert axes.get_ylim()[1] >= max(values[1] for values in drawn if values[1] < 0.2)


@pytest.mark.parametrize("digits", ["x", -1, 2.5, None])
def test_the_digits_of_a_table_are_a_whole_number(digits):
    with pytest.raises(gl.ParameterError, match="digits"):
        Comparison(()).rows(digits)
