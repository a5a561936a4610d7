"""Reference methods: what their formulas say on graphs small enough to solve by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.benchmark.methods import (
    _CORRECTED,
    _SPREAD,
    _STEPS,
    METHODS,
    STRENGTHS,
    _chosen,
    _corrected,
    _spread,
    correct_and_smooth,
    reference_methods,
)
from gcnlimit.benchmark.problems import KNOWN
from gcnlimit.errors import ParameterError

PAIR = np.array([[0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize("strength", [0.2, 0.5, 0.8])
def test_labels_spread_as_the_resolvent_says(strength):
    start = np.array([[1.0, -1.0], [0.0, 0.5]])
    exact = (1 - strength) * np.linalg.solve(np.eye(2) - strength * PAIR, start)
    assert np.allclose(_spread(PAIR, start, strength), exact, atol=strength**50)


@pytest.mark.parametrize("strength", [0.2, 0.5, 0.8])
def test_errors_of_known_nodes_are_added_to_their_neighbours_in_full(strength):
    """The error e of a node adds s e/(1 - s^2) to the other node of the pair: the sum of all walks between them."""
    targets, base = np.array([[0.5, -0.5], [0.0, 0.0]]), np.array([[0.1, -0.1], [0.3, -0.3]])
    task, known = SimpleNamespace(targets=targets), np.array([True, False])
    scores = _corrected(task, PAIR, base, known, (strength, 0.0))
    added = strength * (targets[0] - base[0]) / (1 - strength**2)
    assert np.allclose(
        scores, [targets[0], base[1] + added], atol=2 * strength**50 / (1 - strength)
    )


def test_settings_converge_and_suit_either_sign_of_the_graph():
    """Series in an operator of norm 1 converge below a strength of 1; classes that repel have as many settings."""
    assert np.all(np.abs([*STRENGTHS, *_SPREAD]) < 1.0)
    assert {-strength for strength in STRENGTHS} == {*STRENGTHS}
    assert np.all(np.diff(_SPREAD) > 0.0)


def test_settings_of_correct_and_smooth_reach_from_neighbours_to_ten_steps_and_converge():
    """A strength s reaches 1/(1 - s) steps on average; after all steps less than a hundredth of a series is left."""
    correct, smooth = (sorted({*column}) for column in zip(*_CORRECTED, strict=True))
    assert len(_CORRECTED) == len(correct) * len(smooth) <= 8  # as the page asks of others
    for strengths in (correct, smooth):
        reach = 1.0 / (1.0 - np.array(strengths))
        assert 1.4 < reach.min() <= 2.0
        assert np.isclose(reach.max(), 10.0)
        assert max(strengths) ** _STEPS < 0.01
    # smoothing, which decides, is tried at least at every doubling of the reach
    assert np.all(np.diff(np.log2(1.0 - np.array(smooth))) >= -1.0 - 1e-12)


def test_the_setting_is_chosen_by_the_validation_nodes_alone():
    task = SimpleNamespace(
        labels=np.array([0, 1, -1, -1]), val_mask=np.array([True, True, False, False])
    )
    right, wrong = np.eye(2)[[0, 1, 0, 0]], np.eye(2)[[1, 1, 1, 1]]
    assert _chosen(task, ["wrong", "right"], {"right": right, "wrong": wrong}.get) == "right"


def test_all_stands_for_every_method_and_an_unknown_one_is_named():
    assert list(reference_methods(["all"])) == list(reference_methods(["amp", "all"]))
    assert list(reference_methods(["amp"])) == ["amp"]
    with pytest.raises(ParameterError, match="magic"):
        reference_methods(["magic"])


def test_features_in_another_unit_are_corrected_alike():
    sample = gl.sample(gl.CSBM(2, 1.2, 2.0, 0.3, directed=False), 200, 15, seed=0)
    scores = []
    for unit in (1.0, 30.0):
        labelled, classes = np.flatnonzero(sample.train_mask), (sample.labels > 0).astype(int)
        train, val = (np.isin(np.arange(200), part) for part in (labelled[::2], labelled[1::2]))
        targets = np.where((train | val)[:, None], np.eye(2)[classes] - 0.5, 0.0)
        task = SimpleNamespace(
            observation=sample.observation,
            adjacency=sample.adjacency,
            features=unit * sample.features,
            targets=targets,
            labels=np.where(train | val, classes, -1),
            train_mask=train,
            val_mask=val,
            labelled_mask=train | val,
            classes=2,
        )
        scores.append(correct_and_smooth(task))
    assert np.allclose(*scores, atol=1e-9)
    unknown = ~sample.train_mask
    assert np.mean(np.argmax(scores[0], axis=1)[unknown] == classes[unknown]) > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["reference", "inductive"])
@pytest.mark.parametrize(
    "method, limit, lost",
    [
        ("features", "features", 0.1),
        ("linear-by-leave-one-out", "one_filter", 0.05),
        ("linear-by-theory", "one_filter", 0.02),
        ("linear-message-passing", "linear", 0.02),
        ("linear-message-passing-by-labels", "linear", 0.05),
        ("amp", "algorithmic", 0.02),
        ("belief-propagation", "algorithmic", 0.02),
    ],
)
def test_methods_reach_their_limit_and_do_not_pass_it(method, limit, lost, problem):
    """On 2 000 nodes, but for what few nodes or unknown parameters cost."""
    chosen = KNOWN[problem]
    if problem == "inductive" and method in (
        "belief-propagation",
        "linear-message-passing-by-labels",
    ):
        with pytest.raises(ParameterError, match=f"{method} takes one graph; on an inductive"):
            METHODS[method](chosen.task("small"))
        return
    scores = gl.benchmark.evaluate(METHODS[method], problem, size="small", graphs=1)
    above = scores.lines[0].accuracy - getattr(chosen.exact, limit)
    assert -lost < above < 4.0 * chosen.exact.scatter / np.sqrt(2000)


def test_the_method_of_the_theory_says_that_it_has_no_bias():
    with pytest.raises(ParameterError, match="has no bias, which unequal classes need"):
        METHODS["linear-by-theory"](KNOWN["unequal-three"].task("small"))
