"""The recommendation: what it says is what the classifier does, and its interval holds."""

import functools
import math
from types import SimpleNamespace

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.real import recommend as advice_on
from gcnlimit.real.scores import SURE, Interval, expected_accuracy
from validation.expected_coverage import covered, sampled


@functools.cache
def advised(rho):
    X, y, A = sampled(0, nodes=400)
    seen = np.random.default_rng(0).random(400) < rho
    hidden = np.where(seen, y, -1)
    return (X, hidden, A), gl.recommend(X, hidden, A)


def test_it_recommends_what_the_classifier_does():
    given, advice = advised(0.3)
    model = gl.GraphClassifier().fit(given[0], given[1], graph=given[2])
    assert advice.model.table_ == model.table_
    assert advice.model.expected_accuracy_ == model.expected_accuracy_
    assert advice.model.graph_gain_ == model.graph_gain_
    assert (advice.network == "the features alone") == (not model.uses_graph_)
    assert advice.reason in str(advice)
    assert repr(advice) == str(advice)


@pytest.mark.slow
def test_a_graph_of_no_use_is_left_out():
    X, y, _ = sampled(1, nodes=400)
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((400, 400)) < 0.03, 1).astype(float)
    advice = gl.recommend(
        X + 1.5 * np.where(y == 1, 1.0, -1.0)[:, None],
        np.where(np.arange(400) < 200, y, -1),
        A + A.T,
    )
    assert advice.network == "the features alone"
    assert "left out" in advice.reason


@pytest.mark.parametrize(
    "hits, labels, classes", [(6, 6, 2), (0, 12, 3), (12, 12, 2), (20, 40, 2), (300, 300, 5)]
)
def test_the_interval_names_nothing_below_chance_and_holds_the_leave_one_out_accuracy(
    hits, labels, classes
):
    value, low, high = expected_accuracy(np.arange(labels) < hits, classes)
    assert low == 0.0 or low > 1 / classes
    assert low - 1e-12 <= hits / labels <= high + 1e-12 <= 1 + 2e-12
    assert (value is None) == (labels < 20)
    assert value is None or max(low, 1 / classes) <= value <= high


@pytest.mark.parametrize("ones, value", [(50, 0.5), (20, 0.8)])
def test_equal_rows_promise_the_larger_class(ones, value):
    """Of two equal classes that of a left-out node is the smaller one: every answer is wrong, and chance is what remains."""
    y = (np.arange(100) < ones).astype(int)
    with pytest.warns(UserWarning, match="there is no graph, so the features alone are used"):
        expected = gl.GraphClassifier().fit(np.ones((100, 3)), y).expected_accuracy_
    assert expected.value == pytest.approx(value)
    assert expected.high - value > 1.9 * np.sqrt(value * (1 - value) / 100)


def test_the_interval_holds_where_nothing_can_be_learned():
    """Without a signal half of the networks are below chance: no lower end can be right."""
    rng = np.random.default_rng(0)
    intervals = [expected_accuracy(rng.random(50) < 0.5, 2) for _ in range(200)]
    accuracies = 0.5 + 0.02 * rng.standard_normal(200)
    assert np.mean([e.low <= a <= e.high for e, a in zip(intervals, accuracies, strict=True)]) > 0.9


@pytest.mark.parametrize("labels, classes", [(40, 2), (40, 7), (400, 2), (4000, 3)])
def test_a_lower_end_needs_hits_that_the_best_of_many_has_not_by_chance(labels, classes):
    error = np.sqrt((classes - 1) / labels) / classes
    for sure in (False, True):
        hits = int(np.ceil(labels * (1 / classes + 3.5 * error))) - 1 + sure
        assert (expected_accuracy(np.arange(labels) < hits, classes).low > 0.0) == sure


def test_labels_that_are_all_right_state_a_lower_end():
    assert expected_accuracy(np.ones(12, bool), 2).low > 0.5
    assert expected_accuracy(np.arange(12) > 0, 2).low == 0.0


@pytest.mark.slow
def test_labels_of_chance_have_no_lower_end_though_the_best_of_many_members_is_right_on_most():
    """A graph of six communities and of hubs, six words for each node, and forty labels that none of it tells."""
    told, nodes, labels = 0, 300, 40
    for seed in range(40):
        rng = np.random.default_rng(seed)
        part, weight = rng.integers(6, size=nodes), rng.gamma(1.0, 1.0, nodes) + 0.05
        rate = np.outer(weight, weight) * np.where(part[:, None] == part, 0.12, 0.015)
        A = np.triu(rng.random((nodes, nodes)) < np.minimum(rate, 0.9), 1).astype(float)
        X = np.zeros((nodes, 106))
        X[np.arange(nodes), part] = 1.0
        for k in range(5):
            X[np.arange(nodes), 6 + 20 * k + (20 * rng.random(nodes) ** 2).astype(int)] = 1.0
        y = np.full(nodes, -1)
        y[rng.permutation(nodes)[:labels]] = np.arange(labels) % 2
        model = gl.GraphClassifier(fractions="labels").fit(X, y, graph=A + A.T)
        told += model.expected_accuracy_.low > 0.0
    assert told <= 1


def test_a_graph_without_features_is_not_said_to_have_them():
    (_, hidden, A), _ = advised(0.3)
    advice = gl.recommend(None, hidden, A)
    assert "features" not in str(advice)
    assert advice.network == "the graph alone"


def test_few_labels_are_said_to_be_few():
    X, y, A = sampled(2, nodes=300)
    hidden = np.full(300, -1)
    hidden[[*np.flatnonzero(y == 0)[:3], *np.flatnonzero(y == 1)[:3]]] = [0, 0, 0, 1, 1, 1]
    advice = gl.recommend(X, hidden, A)
    assert advice.model.expected_accuracy_.value is None
    assert "too few" in advice.reason
    assert advice.half_accuracy is None
    for of_class in (0, 1):
        hidden[np.flatnonzero(y == of_class)[:20]] = of_class
    assert gl.recommend(X, hidden, A).half_accuracy > 0.5  # 20 in each half
    hidden[np.flatnonzero(y == 0)[:39]] = 0
    hidden[y == 1] = np.where(
        np.arange((y == 1).sum()) < 1, 1, -1
    )  # no half of the labels shows both classes
    assert gl.recommend(X, hidden, A).half_accuracy is None


@pytest.mark.slow
@pytest.mark.parametrize("labels", [12, 50])
def test_the_interval_holds_in_nine_of_ten_cases(labels):
    assert np.mean([covered(sampled, k, labels)["inside"] for k in range(20)]) >= 0.85


def test_the_network_that_closes_a_gap_is_named_only_where_the_model_holds(texas):
    _, plain = advised(0.3)
    hubs = gl.recommend(texas.X, texas.training(), texas.graph)
    assert hubs.doubts[0] in hubs.reason
    assert "best possible" not in hubs.reason
    assert plain.doubts or "best possible accuracy" in plain.reason


def test_a_member_left_out_is_a_line_of_words():
    rows = [("hops", 1.0, 0.8, None, 0.0, 0.0), ("labels: left out, why", 0.0, *[math.nan] * 4)]
    model = SimpleNamespace(table_=rows)
    advice = advice_on.Recommendation("n", None, "Because.", None, (), model)
    assert str(advice).splitlines()[2:] == ["labels: left out, why", "", "Because."]


@pytest.mark.slow
def test_labels_of_one_class_are_no_random_sample():
    X, y, A = sampled(0, nodes=600)
    rng = np.random.default_rng(0)
    seen = rng.random(600) < np.where(y == 0, 0.6, 0.1)
    advice = gl.recommend(X, np.where(seen, y, -1), A)
    assert advice.doubts[0].endswith("and may be no random sample")
    assert advice.doubts[0] in advice.reason


def test_it_can_be_drawn():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    _, advice = advised(0.3)
    legend = advice.model.plot(figure.add_subplot()).get_legend()
    assert "accuracy to expect" in [text.get_text() for text in legend.get_texts()]
    assert advice._repr_html_().startswith("<pre>")


@pytest.mark.parametrize("others, variance", [(0, 0.0), (50, 0.0), (0, 1e-3), (300, 4e-4)])
def test_the_ends_of_the_interval_are_those_of_wilson(others, variance):
    """There the hits lie z standard errors away; errors of labels, of other nodes and of the fractions add in squares."""
    labels, hits = 200, 0.8
    _, *ends = expected_accuracy(np.arange(labels) < 160, 2, others, variance=variance)
    spread = hits * (1 - hits)
    error = spread / labels + spread / (others or np.inf) + variance
    z = SURE * (1 + 2 * np.sqrt(error / spread))
    for p in ends:
        assert (p - hits) ** 2 == pytest.approx(z**2 * p * (1 - p) * error / spread, rel=1e-9)


def test_the_interval_knows_that_the_other_nodes_are_few():
    """As many nodes without labels as with: their own hits scatter as much, and the interval holds these in nine of ten draws."""
    rng = np.random.default_rng(0)
    inside, alone = [], []
    for _ in range(400):
        hits, others = rng.random((2, 300)) < 0.8
        for found, interval in (
            (inside, expected_accuracy(hits, 2, 300)),
            (alone, expected_accuracy(hits, 2)),
        ):
            found.append(interval.low <= others.mean() <= interval.high)
    assert np.mean(alone) < 0.9 < np.mean(inside)


def test_a_ceiling_that_takes_minutes_is_not_computed(monkeypatch):
    """Forty-five classes of the same size."""
    monkeypatch.setattr(advice_on, "bayes_optimal", lambda data: pytest.fail("it was computed"))
    rng = np.random.default_rng(0)
    y = np.arange(225) % 45
    A = np.triu(rng.random((225, 225)) < np.where(y[:, None] == y, 0.5, 0.02), 1)
    estimate = gl.estimate(rng.standard_normal((225, 9)), y, 1.0 * (A + A.T))
    limit, _ = advice_on._ceiling(expected_accuracy(y > 0, 45), estimate, ())
    assert limit.startswith("The best possible accuracy takes minutes")
    monkeypatch.setattr(advice_on, "EQUAL", 45)  # no longer above it
    with pytest.raises(pytest.fail.Exception, match="it was computed"):
        advice_on._ceiling(expected_accuracy(y > 0, 45), estimate, ())


@pytest.mark.parametrize(
    ("strengths", "words"),
    [
        ([0.9, 0.5], "It averages a node with"),
        ([-0.3, -0.6], "It contrasts a node with"),
        ([-0.3, 0.9], "It averages and contrasts a node with"),
    ],
)
def test_what_it_does_with_neighbours_is_said_by_the_signs_of_the_strengths(strengths, words):
    rows = [SimpleNamespace(strength=s, weight=0.5, member="") for s in strengths]
    (sentence,) = advice_on._depth(SimpleNamespace(table_=rows))
    assert sentence.startswith(words)


@pytest.mark.parametrize(
    "member, weight, told",
    [
        ("hops, labels", 0.5, True),
        ("random units, labels 2", 0.5, True),
        ("hops", 0.01, False),
        ("features, random units", 0.9, False),  # of the node itself
    ],
)
def test_features_of_nodes_along_the_edges_are_told_by_their_members(member, weight, told):
    rows = [SimpleNamespace(strength=None, weight=weight, member=member)]
    sentences = [*advice_on._depth(SimpleNamespace(table_=rows))]
    assert sentences == ["It uses features averaged over the nodes a few edges away."] * told


@pytest.mark.parametrize("low, told, doubt", [(0.83, "label more nodes.", 0), (0.95, "0.05.", 1)])
def test_a_ceiling_below_leave_one_out_within_its_error_is_no_doubt(monkeypatch, low, told, doubt):
    best = SimpleNamespace(test_accuracy=0.82, standard_error=SimpleNamespace(test_accuracy=0.05))
    monkeypatch.setattr(advice_on, "bayes_optimal", lambda data: best)
    estimate = SimpleNamespace(fractions=np.array([0.5, 0.5]), data=None)
    limit, doubts = advice_on._ceiling(Interval(0.97, low, 1.0), estimate, ())
    assert "The best possible accuracy is" not in limit
    assert limit.endswith(told)
    assert len(doubts) == doubt


@pytest.mark.parametrize(
    "value, error, expected, closing",
    [
        (0.90, 0.01, 0.87, "is made to close this gap."),
        (0.90, 0.01, 0.885, "no reason to doubt."),  # within the error and a percent
        (0.90, 0.04, 0.87, "no reason to doubt."),
        (0.895, 0.0, 0.89, "no reason to doubt."),
        (0.88, 0.01, 0.885, "as near to it as the errors can tell."),
        (0.90, 0.01, None, "no reason to doubt."),  # too few labels
    ],
)
def test_a_gap_is_named_where_it_exceeds_its_error_and_a_percent(
    monkeypatch, value, error, expected, closing
):
    best = SimpleNamespace(test_accuracy=value, standard_error=SimpleNamespace(test_accuracy=error))
    monkeypatch.setattr(advice_on, "bayes_optimal", lambda data: best)
    estimate = SimpleNamespace(fractions=np.array([0.5, 0.5]), data=None)
    limit, doubts = advice_on._ceiling(Interval(expected, 0.0, 1.0), estimate, ())
    assert limit.startswith(f"The best possible accuracy is {value:.3f} +- {error:.3f}")
    assert limit.endswith(closing)
    assert doubts == ()


def test_leave_one_out_speaks_from_ten_labels_on():
    assert expected_accuracy(np.ones(9, bool), 20) == Interval(None, 0.0, 1.0)
    assert expected_accuracy(np.ones(10, bool), 20).low > 0.05


def test_an_interval_of_hits_alone_ends_at_one():
    """Not below it by rounding, where it would miss a classifier that is never wrong."""
    rng = np.random.default_rng(0)
    shares = [rng.dirichlet(np.ones(n)) for n in range(10, 100)]
    ends = [expected_accuracy(np.ones(s.size, bool), 3, 500, s).high for s in shares]
    assert ends == [1.0] * len(ends)
