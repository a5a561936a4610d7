"""The table of what has a theory: every cell answers, continuously with its neighbours, or refuses with its sentence."""

import itertools
import os
import re

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit import scope

POINT = {"alpha": 3.0, "lam": 0.8, "mu": 1.5, "rho": 0.2}
NEAR = 1e-7  # distance of each answer from the simplest one
LAWS = {"alike": None, "varied": gl.Degrees([1.0 - 1e-5, 1.0 + 1e-5])}
CLASSES = {
    "2 equal": 2,
    "more equal": 3,
    "2 unequal": (0.5 - NEAR, 0.5 + NEAR),
    "more unequal": (1 / 3 - NEAR, 1 / 3, 1 / 3 + NEAR),
}
FEATURES = {
    "white": None,
    "correlated": gl.Spectrum([1.0 - NEAR, 1.0 + NEAR], [1.0, 1.0], [0.5, 0.5]),
}
NORMALIZATIONS = {
    "symmetric": ("symmetric", False),
    "other": ("none", False),
    "other, normalized gain": ("none", True),
}
LOSSES = {"square": "square", "margin": "logistic", "corner": "hinge", "softmax": "softmax"}
FILTERS = {"any": gl.Residual([0.5]), "PageRank": gl.PageRank(0.2)}
SIMPLEST = {
    "degrees": "alike",
    "features": "white",
    "test_filter": "same",
    "training": "to the end",
} | {"noise": "none"}


def model(case):
    skewed = case["loss"] == "corner"  # of nearly equal classes a hinge has no definite bias
    classes = (0.3, 0.7) if skewed else CLASSES[case["classes"]]
    laws = {
        "classes": classes,
        "degrees": LAWS[case["degrees"]],
        "features": FEATURES[case["features"]],
    }
    laws["noise"] = 0.0 if case["noise"] == "none" else NEAR
    return gl.CSBM(**POINT, directed=case["operator"] == "directed", **laws)


def network(case):
    normalization, normalize = NORMALIZATIONS[case["normalization"]]
    return gl.GCN(
        FILTERS[case["filter"]],
        LOSSES[case["loss"]],
        1.0 if case["reg"] == "finite" else np.inf,
        symmetrize=False,
        normalize=normalize,
        penalty="l2" if case["penalty"] == "squared weights" else gl.ElasticNet(0.5),
        normalization=normalization,
        test_filter=None if case["test_filter"] == "same" else FILTERS[case["filter"]],
        training=None if case["training"] == "to the end" else gl.GradientFlow(1e8),
    )


def possible(case):
    """A corner holds outputs of two unequal classes; wrong labels are those of two equal ones.

    Other penalties and trainings need a finite regularization.
    """
    finite = case["reg"] == "finite" or (case["penalty"], case["training"]) == (
        "squared weights",
        "to the end",
    )
    noisy = case["noise"] == "some" and case["classes"] != "2 equal"  # refused by the data
    return finite and not noisy and (case["loss"] != "corner" or case["classes"] == "2 unequal")


EVERY = [
    dict(zip(scope.QUESTIONS, answers, strict=True))
    for answers in itertools.product(*scope.QUESTIONS.values())
]
CASES = [case for case in EVERY if possible(case)]
OF_DATA = ("degrees", "classes", "features", "noise")
DATA_CASES = list(
    {tuple(case[name] for name in OF_DATA): case for case in reversed(CASES)}.values()
)


def sampled(data, **options):
    return gl.sample(data, nodes=150, degree=20, seed=0, **options)


SMALL = {"population": 100, "sweeps": 4}
CALLS = {
    "predict": gl.predict,
    "tune": lambda data, gcn: gl.tune(data, gcn, {gcn.filter.parameter: (0.1, 0.1)}),
    "compare": lambda data: gl.compare(data, depth=1, order=1, reg=np.inf),
    "transfer": lambda data, gcn: gl.transfer(data, gcn, data),
    "transfer to joining nodes": lambda data, gcn: gl.transfer(data, gcn, "joining"),
    "bayes_optimal": gl.bayes_optimal,
    "bayes_optimal at finite degree": lambda data: gl.bayes_optimal(data, degree=5, **SMALL),
    "bayes_optimal on another graph": lambda data: gl.bayes_optimal(data, to=data),
    "bayes_optimal on another graph of finite degree": lambda data: gl.bayes_optimal(
        data, to=data, degree=5, **SMALL
    ),
    "best_linear": gl.best_linear,
    "best_linear at finite degree": lambda data: gl.best_linear(data, degree=5, **SMALL),
    "best_linear on another graph": lambda data: gl.best_linear(data, to=data),
    "label_propagation": lambda data: gl.theory.label_propagation(data, 0.1),
    "message_passing": lambda data: gl.theory.message_passing(data, layers=2),
    "best_filter": lambda data: gl.best_filter(data, order=1, reg=np.inf),
    "best_test_filter": gl.theory.best_test_filter,
    "best_test_filter on another graph": lambda data, gcn: gl.theory.best_test_filter(
        data, gcn, data
    ),
    "best_training_filter": gl.theory.best_training_filter,
    "scatter": lambda data, gcn: gl.theory.scatter(data, gcn, 1000),
    "scatter on another graph": lambda data, gcn: gl.theory.scatter(data, gcn, 1000, to=data),
    "paired_scatter": lambda data, gcn: gl.theory.paired_scatter(data, gcn, gcn, 1000),
    "order_functions": lambda data, gcn: gl.depth.order_functions(
        data, gcn.replaced(filter=gl.Residual([0.5]))
    ),
    "learning_rate": gl.depth.learning_rate,
    "oversmoothing": lambda data: gl.depth.oversmoothing(data, [gl.Residual([0.5])]),
    "no_residual_margin": lambda data: gl.limits.no_residual_margin(data, 1),
    "short_diffusion_margin": lambda data: gl.limits.short_diffusion_margin(
        data, 0.1, symmetrize=False
    ),
    "one_layer_rate": gl.limits.one_layer_rate,
    "best_linear of layers, or in one direction, at finite degree": lambda data: gl.best_linear(
        data, degree=5, layers=2
    ),
    "simulate or fit": lambda data, gcn: gl.fit(sampled(data), gcn),
    "linear_message_passing": lambda data: gl.linear_message_passing(sampled(data)),
    "linear_message_passing without labels": lambda data: gl.linear_message_passing(
        sampled(data.having(rho=0.0))
    ),
    "linear_message_passing by labels on another graph": lambda data: gl.linear_message_passing(
        graph := sampled(data), to=sampled(data, beside=graph), by="labels"
    ),
}
LIMITED = {  # where the values, not the case, decide
    "order_functions": {"filter": "any"},
    "learning_rate": {
        "filter": "any",
        "reg": "infinite",
        "loss": "square",
        "penalty": "squared weights",
        "training": "to the end",
    },
}


def asked(function, case):
    """The problem that a function is asked in a case: nodes that join are read through a filter of their own."""
    if function == "transfer to joining nodes":
        case = case | {"test_filter": "other"}
    return case


def check(function, case):
    """What the function does is what the table says."""
    case = asked(function, case)
    arguments = (model(case),) if function in scope.DATA_ONLY else (model(case), network(case))
    row = scope.refusal_of(function, case)
    told = scope.sentence(function, *arguments)
    assert (row is None) == (told is None)
    if row is None:
        return CALLS[function](*arguments)
    with pytest.raises(gl.ParameterError) as refused:
        CALLS[function](*arguments)
    assert str(refused.value) == told
    assert told.endswith(row.remedy)
    name = function.split()[0]
    assert name not in row.remedy
    return None


def twin(case):
    """The simplest case near a case."""
    equal = {"classes": case["classes"].replace("un", "")} if case["loss"] != "corner" else {}
    normalization = (
        {"normalization": "symmetric"} if case["normalization"] != "other, normalized gain" else {}
    )
    return case | SIMPLEST | equal | normalization


def check_prediction(case):
    """Continuous with the simplest neighbour, where that is answered."""
    answer = check("predict", case)
    near = twin(case)
    if answer is not None and near != case and scope.refusal_of("predict", near) is None:
        assert answer.test_accuracy == pytest.approx(check("predict", near).test_accuracy, abs=2e-5)
        assert answer.order_parameters.test_margin == pytest.approx(
            gl.predict(model(near), network(near)).order_parameters.test_margin, abs=1e-4
        )


def test_the_functions_of_the_table_are_those_tried():
    assert set(CALLS) == set(scope.FUNCTIONS)
    assert set(scope.DATA_ONLY) <= set(CALLS)
    named = {function for row in scope.REFUSALS for function in row.functions}
    assert named <= set(CALLS)


def test_cases_are_read_from_data_and_network():
    for case in CASES[:: max(1, len(CASES) // 200)]:
        assert list(scope.cases_of(model(case), network(case))) == [case]


def some(cases, count, seed):
    order = np.random.default_rng(seed).permutation(len(cases))
    return [cases[k] for k in order[:count]]


def test_every_refusal_is_met_and_says_its_sentence():
    """The simplest case for each row and each of its functions, and two others."""
    first = {name: answers[0] for name, answers in scope.QUESTIONS.items()}
    simplest_first = sorted(
        CASES, key=lambda case: sum(case[name] != first[name] for name in first)
    )
    for row in scope.REFUSALS:
        cases = [case for case in simplest_first if scope.matches(row.when, case)]
        for function in row.functions:
            for case in (cases[0], *some(cases, 2, seed=0)):
                assert check(function, case) is None


@pytest.mark.parametrize("route", scope.Route)
def test_every_route_answers_a_prediction(route):
    answered = [
        c for c in CASES if scope.refusal_of("predict", c) is None and scope.route_of(c) is route
    ]
    assert answered
    count = 1 if route is scope.Route.FAR else 4  # it takes long
    for case in some([c for c in answered if c["loss"] != "softmax"], count, seed=1):
        check_prediction(case)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(16 if os.environ.get("GCNLIMIT_EVERY_CELL") else 3))
def test_every_cell_of_predict(part):
    """A fifth of the cells; all of them, in five minutes, with GCNLIMIT_EVERY_CELL=1."""
    for case in CASES[part::16]:
        check_prediction(case)


LONG = (
    "compare",
    "best_linear at finite degree",
    "bayes_optimal on another graph of finite degree",
)


@pytest.mark.parametrize(
    "function",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in scope.DATA_ONLY],
)
def test_every_cell_of_the_data(function):
    for case in DATA_CASES:
        check(function, case)


@pytest.mark.slow
@pytest.mark.parametrize(
    "function", [name for name in scope.FUNCTIONS if name not in scope.DATA_ONLY]
)
def test_some_cells_of_every_function_of_a_network(function):
    for case in some([c for c in CASES if c["loss"] != "softmax"], 20, seed=2):
        check(function, case | LIMITED.get(function, {}))


def test_nodes_that_join_are_refused_by_the_table_alone():
    """They are read anew, through the filter of the training if no other is given."""
    data, gcn = gl.CSBM(4, 1.0, 2.0, 0.1), gl.GCN(gl.Diffusion(1.0), reg=1.0, symmetrize=False)
    told = scope.sentence("transfer to joining nodes", data, gcn)
    again = gcn.replaced(test_filter=gcn.filter)
    assert told == scope.sentence("transfer to joining nodes", data, again)
    with pytest.raises(gl.ParameterError, match=re.escape(told)):
        gl.transfer(data, gcn, "joining")
