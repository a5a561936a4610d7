"""Wrong types are named, and what no equation is known for is refused with the reason."""

import math
import weakref

import networkx
import numpy as np
import pandas
import pytest
from matplotlib.figure import Figure
from problems import PARAMETERS
from scipy import sparse

import gcnlimit as gl

OTHERS = [
    gl.CSBM(**PARAMETERS, classes=3),
    gl.CSBM(**PARAMETERS, classes=[0.2, 0.8]),
    gl.CSBM(**PARAMETERS, features=gl.Spectrum([0.5, 1.5], [1.0, 1.0], [0.5, 0.5])),
]
NETWORK = gl.GCN(gl.Diffusion(1.0))
CALLS = {
    "sample": lambda data: gl.sample(data, nodes=100, degree=10),
    "simulate": lambda data: gl.simulate(data, NETWORK, nodes=100, degree=10, trials=2, workers=1),
    "compare": lambda data: gl.compare(data, depth=1, order=1),
    "gap_map": lambda data: gl.gap_map(data, NETWORK, {"t": (0, 10)}),
    "predict": lambda data: gl.predict(data, NETWORK),
    "bayes_optimal": gl.bayes_optimal,
    "best_linear": gl.best_linear,
    "label_propagation": lambda data: gl.theory.label_propagation(data, 0.1),
    "tune": lambda data: gl.tune(data, NETWORK, {"t": (0, 1)}),
    "best_filter": lambda data: gl.best_filter(data, order=2),
    "order_functions": lambda data: gl.depth.order_functions(data, NETWORK, [0.5]),
    "no_residual_margin": lambda data: gl.limits.no_residual_margin(data, 2),
    "short_diffusion_margin": lambda data: gl.limits.short_diffusion_margin(
        data, 0.1, symmetrize=True
    ),
    "one_layer_rate": gl.limits.one_layer_rate,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_type_is_named(name):
    with pytest.raises(gl.ParameterError, match="needs a CSBM"):
        CALLS[name](NETWORK)


@pytest.mark.parametrize(
    "data, network, reason",
    [
        (OTHERS[0], gl.GCN(gl.Diffusion(1.0), "logistic", 1.0), "no theory for loss"),
        (
            gl.CSBM(**PARAMETERS, classes=[0.5, 0.3, 0.2]),
            gl.GCN(gl.Diffusion(1.0), "softmax", 1.0),
            "no theory for loss",
        ),
        (
            OTHERS[2],
            gl.GCN(gl.Diffusion(1.0), reg=1.0, penalty=gl.ElasticNet(0.5)),
            "no theory for penalty",
        ),
    ],
    ids=["logistic", "matrices", "penalty"],
)
def test_what_no_equation_is_known_for_is_refused_with_the_reason(data, network, reason):
    with pytest.raises(gl.ParameterError, match=reason):
        gl.predict(data, network)


def test_rates_and_oversmoothing_follow_the_number_of_classes():
    """The error of C classes is that of two at a margin larger by a factor of sqrt(C/2), which the rate has squared."""
    data = gl.CSBM(alpha=4, lam=1.0, mu=1.0, rho=0.1, classes=4)
    assert gl.depth.learning_rate(data) == pytest.approx(2.0, rel=1e-3)
    grown = gl.depth.oversmoothing(data, [gl.Diffusion(1.0)])
    assert grown.test_accuracy[0] == pytest.approx(
        gl.predict(data, NETWORK).test_accuracy, abs=1e-14
    )
    assert math.isfinite(float(np.sum(grown.pca_gap)))


class Unprintable:
    """An object whose text cannot be made."""

    def __repr__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    "door",
    [
        lambda value: gl.GCN(gl.Diffusion(1.0), training=value),
        lambda value: gl.tune(gl.CSBM(4, 1.0, 2.0, 0.1), gl.GCN(gl.Diffusion(1.0)), free=value),
        lambda value: gl.tune(
            gl.CSBM(4, 1.0, 2.0, 0.1), gl.GCN(gl.Diffusion(1.0)), free={"t": value}
        ),
        lambda value: gl.transfer(gl.CSBM(4, 1.0, 2.0, 0.1), gl.GCN(gl.Diffusion(1.0)), to=value),
        lambda value: gl.fit(value, gl.GCN(gl.Diffusion(1.0))),
        gl.benchmark.evaluate,
        lambda value: gl.sample(gl.CSBM(4, 1.0, 2.0, 0.1), nodes=40, degree=8, dtype=value),
    ],
)
def test_a_value_without_a_text_is_refused_by_its_type(door):
    with pytest.raises(gl.GCNLimitError, match="Unprintable"):
        door(Unprintable())


@pytest.mark.parametrize("y", [{0, 1}, 3, "ab"])
def test_classes_that_are_no_sequence_are_refused_without_a_graph(y):
    with pytest.raises(gl.ParameterError, match="y should be a 1d array"):
        gl.GraphClassifier().fit(np.ones((4, 2)), y)


GRAPH = gl.sample(gl.CSBM(2, 1.2, 2.0, 0.3, directed=False), nodes=40, degree=8, seed=0)
MANY = [np.zeros(2), np.array(["cpu", "auto"]), pandas.NA, pandas.DataFrame({"a": [1.0, 2.0]})]
WORDS = {
    "device": [
        lambda word: gl.sample(OTHERS[0], nodes=40, degree=8, device=word),
        lambda word: gl.fit(GRAPH, NETWORK, device=word),
        lambda word: gl.amp(GRAPH, device=word),
    ],
    "dtype": [lambda word: gl.sample(OTHERS[0], nodes=40, degree=8, dtype=word)],
    "start": [lambda word: gl.amp(GRAPH, start=word)],
    "by": [lambda word: gl.linear_message_passing(GRAPH, by=word)],
    "fixed": [lambda word: gl.sweep("predict", axes={"lam": [1.0]}, fixed=word)],
    "free": [lambda word: gl.tune(OTHERS[0], NETWORK, sparse.dok_array((3, 3)))],
}


@pytest.mark.parametrize("value", MANY, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("name", WORDS)
def test_what_has_no_truth_is_refused_where_a_word_is_wanted(name, value):
    for call in WORDS[name]:
        with pytest.raises(gl.ParameterError, match=name):
            call(value)


def test_names_that_are_no_words_and_too_many_processes_are_refused():
    with pytest.raises(gl.ParameterError, match="free contains '<NA>'"):
        gl.tune(OTHERS[0], NETWORK, {pandas.NA: (0.0, 1.0)})
    with pytest.raises(gl.ParameterError, match="workers = 2147483648"):
        gl.sweep("predict", data=OTHERS[0], gcn=NETWORK, axes={"lam": [1.0]}, workers=2**31)


class OfAnotherPackage:
    """A graph that counts its nodes, and does not list them."""

    def number_of_nodes(self):
        return 40

    def to_networkx(self):
        raise NotImplementedError


def test_a_graph_of_another_package_is_named():
    y = np.where(GRAPH.train_mask, GRAPH.labels > 0, -1)
    with pytest.raises(gl.ParameterError, match="graph is OfAnotherPackage"):
        gl.GraphClassifier().fit(GRAPH.features, y, OfAnotherPackage())
    with pytest.raises(gl.ParameterError, match="got OfAnotherPackage; its to_networkx"):
        gl.real.from_networkx(OfAnotherPackage())


@pytest.mark.parametrize("weight", [1.7e308, 1e-300, np.timedelta64(1, "s")])
def test_weights_of_classes_can_be_squared(weight):
    y = np.where(GRAPH.train_mask, GRAPH.labels > 0, -1)
    model = gl.GraphClassifier(class_weight={0: 1.0, 1: weight})
    with pytest.raises(gl.ParameterError, match="class_weight"):
        model.fit(GRAPH.features, y, GRAPH.adjacency)


@pytest.fixture(scope="module")
def model():
    y = np.where(GRAPH.train_mask, GRAPH.labels > 0, -1)
    return gl.FilterClassifier(strengths=0.5).fit(GRAPH.features, y, GRAPH.adjacency)


@pytest.mark.parametrize("weight", [1.0, np.ones(3), np.zeros(40), -np.ones(40), [[1], [1, 2]]])
def test_weights_of_nodes_are_one_for_each(model, weight):
    y = (GRAPH.labels > 0).astype(int)
    with pytest.raises(gl.ParameterError, match="sample_weight"):
        model.score(y=y, sample_weight=weight)
    assert model.score(y=y, sample_weight=np.full(40, 3.0)) == model.score(y=y)


def test_what_no_float_can_hold_is_refused_as_features_weights_and_classes(model):
    y = np.arange(40) % 2
    graph = networkx.path_graph(40)
    graph.edges[0, 1]["weight"] = 10**400
    calls = {
        "graph": lambda: gl.GraphClassifier().fit(GRAPH.features, y, graph),
        "too large": lambda: gl.GraphClassifier().fit(np.full((40, 2), 10**400), y),
        "y must be a rect": lambda: model.predict(GRAPH.features, GRAPH.adjacency, y=[[1], [1, 2]]),
        "fractions": lambda: gl.GraphClassifier(fractions=sparse.dok_array((2, 2))).fit(
            GRAPH.features, y, GRAPH.adjacency
        ),
        "class_weight": lambda: gl.GraphClassifier(class_weight=sparse.dok_array((2, 2))).fit(
            GRAPH.features, y, GRAPH.adjacency
        ),
    }
    for reason, call in calls.items():
        with pytest.raises(gl.ParameterError, match=reason):
            call()


def test_a_picture_needs_axes_and_a_name():
    answer = gl.predict(gl.CSBM(4, [1.0, 1.5], 2.0, 0.1), NETWORK)
    for axes in (Figure().subplots(1, 2), pandas.DataFrame({"a": [1.0]})):
        with pytest.raises(gl.ParameterError, match=r"axes = .* must be one of those"):
            answer.plot(axes=axes)
    with pytest.raises(gl.ParameterError, match=r"name = .* cannot be drawn"):
        answer.plot(np.array(["test_accuracy", "status"]))


@pytest.mark.parametrize("graph", [0.0, -0.0, 5e-324, [1.0, 0.0]])
def test_label_propagation_that_reaches_no_node_is_refused(graph):
    with pytest.raises(gl.ParameterError, match="reach no node"):
        gl.theory.label_propagation(gl.CSBM(**PARAMETERS), graph)


@pytest.mark.parametrize("wrong", [None, "a", np.ones(3), np.array([np.nan] * 40), 10**400])
def test_signals_without_labels_need_arrays_of_numbers(wrong):
    for given in ({"operator": wrong}, {"inputs": wrong}):
        usual = {"operator": GRAPH.adjacency, "inputs": GRAPH.features}
        with pytest.raises(gl.ParameterError, match="are no arrays of numbers"):
            gl.theory.label_free_signals(**usual | given)


def test_results_of_methods_and_networks_are_named():
    y = np.where(GRAPH.train_mask, GRAPH.labels > 0, -1)
    published = gl.benchmark.published()
    wrong = {
        "predict needs a GCN, got float": lambda: gl.estimate(
            GRAPH.features, y, GRAPH.adjacency
        ).predict(1.0),
        "Scores needs a Run, got NoneType": lambda: gl.benchmark.Scores(None),
        "Scores needs a Run, got str": lambda: gl.benchmark.Scores(("run",)),
        "of needs a Scores": lambda: gl.benchmark.Ranking.of(None),
        "size = array": lambda: gl.benchmark.Ranking.of(published, (), np.zeros(2)),
    }
    for reason, call in wrong.items():
        with pytest.raises(gl.ParameterError, match=reason):
            call()


@pytest.mark.parametrize("model", [1.0, "logistic", gl.GraphClassifier, None])
def test_other_than_a_classifier_has_no_scores(model):
    y = np.where(GRAPH.train_mask, GRAPH.labels > 0, -1)
    with pytest.raises(gl.ParameterError, match="takes no graph; use GraphClassifier"):
        gl.cross_validate(model, GRAPH.features, y, GRAPH.adjacency)


@pytest.mark.parametrize("settings", [[], "", np.zeros(2)])
def test_a_search_needs_settings(settings):
    y = np.where(GRAPH.train_mask, GRAPH.labels > 0, -1)
    with pytest.raises(gl.ParameterError, match=r"settings = .* are not allowed"):
        gl.search(gl.FilterClassifier(), settings, GRAPH.features, y, GRAPH.adjacency)


def test_labels_of_unequal_lengths_and_seeds_of_time_are_refused():
    given = gl.FilterClassifier(), GRAPH.features
    with pytest.raises(gl.ParameterError, match="y must be a rectangular array"):
        gl.cross_validate(*given, [[0]] * 39 + [[0, 1]], GRAPH.adjacency)
    y = np.where(GRAPH.train_mask, GRAPH.labels > 0, -1)
    with pytest.raises(gl.ParameterError, match=r"seed = .* is not allowed"):
        gl.cross_validate(*given, y, GRAPH.adjacency, seed=np.timedelta64(1, "s"))


def test_an_object_that_fails_when_it_is_asked_is_refused_as_any_other():
    """A reference to what is gone fails even when it is asked for its type."""
    gone = weakref.proxy(type("Gone", (), {})())
    small = {"nodes": 40, "degree": 8.0}
    y = (GRAPH.labels > 0).astype(int)
    for name, call in {
        "directed": lambda: gl.CSBM(4, 1.0, 2.0, 0.1, directed=gone),
        "nodes": lambda: gl.sample(OTHERS[0], **small | {"nodes": gone}),
        "scale": lambda: gl.recommend(GRAPH.features, y, GRAPH.adjacency, scale=gone),
        "bayes_optimal": lambda: gl.bayes_optimal(gone),
        "graph": lambda: gl.estimate(GRAPH.features, y, gone),
        "X": lambda: gl.estimate(gone, y, GRAPH.adjacency),
        "path": lambda: gl.real.read(gone),
    }.items():
        with pytest.raises(gl.ParameterError, match=name):
            call()


def test_propensities_are_drawn_by_a_generator():
    law = gl.Gamma(0.5)
    for rng, n in ((0, 3), (np.random.default_rng(0), "3"), (np.random.default_rng(0), -1)):
        with pytest.raises(gl.ParameterError, match=r"n = -1|draw needs a Generator"):
            law.draw(rng, n)
    with pytest.raises(gl.ParameterError, match="memory"):
        law.draw(np.random.default_rng(0), 10**15)


def test_an_operator_is_a_matrix():
    with pytest.raises(gl.ParameterError, match="operator must be a rectangular array"):
        gl.Diffusion(1.0).apply([[1.0], [1.0, 2.0]], np.ones(2))
