"""The suite: fixed problems, whose graphs are recognised and whose numbers are those of the theory."""

from importlib import import_module

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.benchmark.methods import METHODS
from gcnlimit.benchmark.problems import as_problems, computed_exact, recorded
from gcnlimit.benchmark.task import checksum


@pytest.mark.parametrize("name", ["reference", "shallow"])
def test_graphs_are_the_recorded_ones(name):
    task = as_problems(name)[0].drawn("small", 1)
    assert checksum(task) == recorded(name, "small", 1)["checksum"]


def test_another_graph_than_the_recorded_one_is_noticed(monkeypatch):
    module = import_module("gcnlimit.benchmark.problems")  # whose name in the package is that of a function
    monkeypatch.setattr(module, "recorded", lambda *place: {"checksum": "another"})
    with pytest.warns(UserWarning, match="sampler"):
        as_problems("reference")[0].task("small")


def test_labels_split_into_two_parts_that_the_exact_numbers_count_together():
    for problem in as_problems(["many-labels", "few-labels"]):
        task = problem.task("small")
        assert not (task.train_mask & task.val_mask).any()
        assert np.mean(task.labelled_mask) == pytest.approx(problem.data.rho)
        truth = problem.truth("small")
        assert np.array_equal(task.labels, np.where(task.labelled_mask, truth, -1))


@pytest.mark.parametrize("name", ["strong-features", "sparse", "five-heterophily"])
def test_recorded_exact_numbers_are_those_of_the_theory_and_ordered(name):
    (problem,) = as_problems(name)
    exact, found = problem.exact, computed_exact(problem, population=1000)
    assert abs(found.bayes - exact.bayes) < 4 * np.hypot(found.bayes_error, exact.bayes_error)
    for one in ("features", "linear", "bayes_large_degree"):
        assert getattr(exact, one) == pytest.approx(getattr(found, one), abs=1e-6)
    assert max(exact.linear, exact.features) < exact.algorithmic <= exact.bayes
    assert exact.share(exact.features) == 0.0
    assert exact.share(exact.bayes) == 1.0


def test_recorded_message_passing_reaches_what_the_theory_says():
    """Means over the recorded graphs, within four standard errors, of which the least is that of independent nodes."""
    for problem in as_problems(["reference", "many-labels", "undirected"]):
        found = np.array([recorded(problem.name, "small", graph)["amp"] for graph in range(5)])
        limit, nodes = problem.exact.algorithmic, 5 * 2000 * (1 - problem.data.rho)
        error = max(found.std(ddof=1) / 5**0.5, (limit * (1 - limit) / nodes) ** 0.5)
        assert abs(found.mean() - limit) < 4 * error


def test_methods_that_use_the_graph_find_either_sign_by_themselves():
    signs = as_problems(["reference", "heterophily"])
    scores = gl.benchmark.evaluate(METHODS["linear-by-theory"], signs, size="small", graphs=2)
    for line, problem in zip(scores.lines, signs, strict=True):
        assert problem.exact.features < line.accuracy < problem.exact.bayes
