"""The suite: fixed problems, whose graphs are recognized and whose numbers are those of the theory."""

import re
from importlib import import_module

import numpy as np
import pytest
from reference import ROOT

import gcnlimit as gl
from benchmarks.gnn.make_record import computed_exact
from gcnlimit.benchmark.methods import METHODS
from gcnlimit.benchmark.problems import as_problems, recorded
from gcnlimit.benchmark.scores import as_place
from gcnlimit.benchmark.task import checksum

EVERY = (*gl.benchmark.problems(), *gl.benchmark.problems(aside=True))


def test_graphs_are_the_recorded_ones():
    """So every number of every problem is the one for which methods were scored."""
    for problem in EVERY:
        made = checksum(problem.task("small", 1))
        assert made == recorded(problem.name, "small", 1)["checksum"], problem.name


def test_sizes_are_those_that_the_page_names():
    page = (ROOT / "docs" / "how-to" / "benchmark-a-gnn.md").read_text()
    for name, nodes in gl.benchmark.SIZES.items():
        told = f"{nodes:,}".replace(",", " ?")
        assert re.search(rf'"{name}"` (is |\()?{told}\b', page), name


def test_recorded_accuracies_of_features_and_of_linear_networks_are_those_of_the_theory():
    for problem in EVERY:
        to = {} if problem.to is None else {"to": problem.to}
        blind = {name: other.replaced(lam=0.0) for name, other in to.items()}
        features = gl.bayes_optimal(problem.data.replaced(lam=0.0), **blind).test_accuracy
        linear = gl.best_linear(problem.data, **to).test_accuracy
        expected = (problem.exact.features, problem.exact.linear)
        assert (features, linear) == pytest.approx(expected, abs=1e-6), problem.name


def test_another_graph_than_the_recorded_one_is_noticed(monkeypatch):
    module = import_module(
        "gcnlimit.benchmark.problems"
    )  # whose name in the package is that of a function
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
    exact, found = problem.exact, computed_exact(problem, population=400)
    assert abs(found.bayes - exact.bayes) < 4 * np.hypot(found.bayes_error, exact.bayes_error)
    for one in ("features", "one_filter", "linear", "bayes_large_degree"):
        assert getattr(exact, one) == pytest.approx(getattr(found, one), abs=1e-6)
    assert max(exact.linear, exact.features) < exact.algorithmic <= exact.bayes
    assert as_place(name, exact.bayes) == 1.0


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


INDUCTIVE = ["inductive", "inductive-reversed", "inductive-larger"]


@pytest.mark.parametrize("name", INDUCTIVE)
def test_an_inductive_task_has_two_graphs_without_an_edge_and_no_label_on_the_second(name):
    task = as_problems(name)[0].task("small")
    new = task.new_mask
    assert task.adjacency[~new][:, new].nnz == task.adjacency[new][:, ~new].nnz == 0
    assert np.array_equal(task.test_mask, new)
    assert np.all(task.labels[new] == -1)
    assert not (task.labelled_mask & new).any()


def test_classes_of_both_graphs_are_those_that_were_drawn():
    (problem,) = as_problems("inductive-larger")
    task, truth = problem.task("small"), problem.truth("small")
    known = task.labelled_mask
    assert np.array_equal(task.labels[known], truth[known])
    scores = gl.benchmark.evaluate(METHODS["amp"], problem, size="small", graphs=1)
    assert scores.runs[0].accuracy == pytest.approx(
        recorded(problem.name, "small", 0)["amp"], abs=2e-3
    )


@pytest.mark.parametrize("name", ["reference", "inductive"])
def test_digits_that_tell_the_class_are_not_in_a_secret_task(name):
    """Differences of a feature and its Gaussian number, which a grid of 2^32 values betrays, are the class's direction."""
    problem = as_problems(name)[0]
    secret, drawn = problem.task("small", seed=5).features, problem._instances
    instances = [it for it in drawn(2000, problem._root("small", 0, 5)) if it is not None]
    whole = np.concatenate([instance.features for instance in instances])
    assert np.array_equal(secret, np.round(whole, 3))
    assert np.unique(secret).size < 10_000 < np.unique(whole).size


def test_every_ceiling_is_above_what_uses_less():
    for problem in EVERY:
        exact = problem.exact
        assert exact.one_filter < exact.linear
        assert max(exact.features, exact.linear) < exact.algorithmic <= exact.bayes
        assert (exact.frozen is None) == (problem.to is None)
        assert exact.frozen is None or exact.one_filter < exact.frozen < exact.bayes


@pytest.mark.slow
def test_what_a_new_graph_may_add_to_the_weights_raises_the_ceiling():
    here, there = gl.CSBM(4, 1.0, 2.0, 0.1), gl.CSBM(4, 1.0, 2.0, 0.0)
    found = gl.bayes_optimal(here, to=there, degree=30, population=300)
    error = 3 * found.standard_error.test_accuracy
    assert found.frozen.test_accuracy <= found.two_stages.test_accuracy + error
    assert found.two_stages.test_accuracy <= found.test_accuracy + error


def test_no_published_method_exceeds_a_ceiling_by_three_standard_errors():
    """Errors from the scatter over fifty graphs: five do not know their own."""
    ranking = gl.benchmark.Ranking.of(gl.benchmark.published())
    for (method, problem), found in ranking.accuracies.items():
        exact = as_problems(problem)[0].exact
        error = np.hypot(exact.scatter / (10_000 * len(found)) ** 0.5, exact.bayes_error)
        assert np.mean([*found.values()]) < exact.bayes + 3 * error, (method, problem)


@pytest.mark.parametrize("problem", gl.benchmark.problems(), ids=lambda problem: problem.name)
def test_a_guess_of_the_largest_class_has_place_0_and_the_ceiling_place_1(problem):
    assert as_place(problem.name, np.max(problem.data.fractions)) == 0.0
    assert as_place(problem.name, problem.exact.bayes) == 1.0
