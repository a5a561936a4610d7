"""What has a theory: one table, which every function of the theory reads before it computes, and the documentation prints.

A *case* answers the questions below for given data and network. `REFUSALS` has a row for each set of answers that together have
no theory, with the functions concerned and the sentence they refuse it with; every other case is answered, by the first of the
`ROUTES` that it matches. A new variant is a question with its answers, and the rows that mention it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from gcnlimit._values import brief
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.filters import PageRank
from gcnlimit.losses.base import Form
from gcnlimit.network import GCN
from gcnlimit.penalties import L2

QUESTIONS: dict[str, tuple[str, ...]] = {
    "operator": ("symmetric", "directed"),
    "degrees": ("alike", "varied"),
    "normalization": ("symmetric", "other", "other, normalized gain"),
    "classes": ("2 equal", "more equal", "2 unequal", "more unequal"),
    "features": ("white", "correlated"),
    "noise": ("none", "some"),
    "reg": ("infinite", "finite"),
    "loss": ("square", "margin", "corner", "softmax"),
    "penalty": ("squared weights", "other"),
    "filter": ("any", "PageRank"),
    "test_filter": ("same", "other"),
    "training": ("to the end", "stopped"),
}
"""The questions, and the answers to each, the simplest first.

A loss is the square loss on the codes of the classes, one of the margin, one of the margin with a corner at which the free bias
of two unequal classes holds outputs, or the cross-entropy of all classes.
"""

Case = Mapping[str, str]
When = Mapping[str, tuple[str, ...]]


def cases_of(data: CSBM, gcn: GCN | None = None) -> Iterator[Case]:
    """Cases of data and network: one, or two where regularizations are finite and infinite; the simplest answers without one."""
    classes = (
        f"{'2' if data.classes.count == 2 else 'more'} {'' if data.classes.equal else 'un'}equal"
    )
    answers = {name: first for name, (first, *_) in QUESTIONS.items()}
    answers |= {
        "degrees": "alike" if data.degrees is None else "varied",
        "classes": classes,
        "features": "white" if data.features.is_white else "correlated",
        "noise": "some" if data.noise else "none",
    }
    if gcn is None:
        yield answers
        return
    loss = {Form.CODES: "square", Form.LOGITS: "softmax", Form.MARGIN: "margin"}[gcn.loss.form]
    if loss == "margin" and data.classes.skewed and gcn.loss.on(data.classes).is_pinned:
        loss = "corner"
    scaled = "other, normalized gain" if gcn.normalize else "other"
    answers |= {
        "operator": "symmetric" if data.operator(gcn.symmetrize).symmetric else "directed",
        "normalization": "symmetric" if gcn.normalization.plain else scaled,
        "loss": loss,
        "penalty": "squared weights" if isinstance(gcn.penalty, L2) else "other",
        "test_filter": "same" if gcn.test_filter is None else "other",
        "training": "to the end" if gcn.training is None else "stopped",
    }
    if type(gcn.filter) is PageRank:
        answers["filter"] = "PageRank"
    infinite = np.isinf(gcn.reg)
    if np.any(infinite):
        yield answers | {"reg": "infinite"}
    if not np.all(infinite):
        yield answers | {"reg": "finite"}


NETWORKS = (
    "predict",
    "tune",
    "transfer",
    "transfer to joining nodes",
    "best_test_filter on another graph",
    "learning_rate",
)
"""Functions that train a network at any regularization."""

HOME = ("predict", "tune", "transfer to joining nodes", "learning_rate")
"""Those that read the nodes of the training graph."""

ALIKE = (
    "best_linear on another graph",
    "label_propagation",
    "transfer",
    "transfer to joining nodes",
    "bayes_optimal on another graph",
    "bayes_optimal on another graph of finite degree",
    "message_passing",
    "best_filter",
    "best_test_filter",
    "best_test_filter on another graph",
    "best_training_filter",
    "scatter",
    "scatter on another graph",
    "paired_scatter",
    "order_functions",
    "oversmoothing",
    "learning_rate",
    "no_residual_margin",
    "short_diffusion_margin",
    "one_layer_rate",
)
"""Functions that need degrees that are alike."""

PLAIN = ("scatter", "scatter on another graph", "paired_scatter")
"""Functions that need two equal classes and white features."""

FUNCTIONS = tuple(
    dict.fromkeys(
        (
            "predict",
            "tune",
            "compare",
            "bayes_optimal",
            "bayes_optimal at finite degree",
            "best_linear",
            "best_linear at finite degree",
            *ALIKE,
        )
    )
)
"""The functions that read the table; one that answers several questions is named with each."""

DATA_ONLY = (
    "compare",
    "best_linear",
    "best_linear at finite degree",
    "best_linear on another graph",
    "label_propagation",
    "bayes_optimal",
    "bayes_optimal at finite degree",
    "bayes_optimal on another graph",
    "bayes_optimal on another graph of finite degree",
    "message_passing",
    "best_filter",
    "best_training_filter",
    "oversmoothing",
    "no_residual_margin",
    "short_diffusion_margin",
    "one_layer_rate",
)
"""Functions of data alone, which choose or need no network."""

CARRY = (
    "predict",
    "transfer",
    "transfer to joining nodes",
    "bayes_optimal",
    "bayes_optimal on another graph",
    "best_linear",
    "best_linear on another graph",
)
"""Functions whose answers carry the errors of an estimate; `tune` and `best_filter` do so in their prediction."""


class Refusal(NamedTuple):
    """Answers that together have no theory, in some functions, and the sentence that says so, with a remedy."""

    functions: tuple[str, ...]
    when: When
    reason: str
    remedy: str

    def concerns(self, function: str, case: Case) -> bool:
        """Whether it refuses a case to a function."""
        return function in self.functions and matches(self.when, case)


UNEQUAL = ("2 unequal", "more unequal")
LAW_AND_CLASSES = (
    "predict",
    "tune",
    "compare",
    "bayes_optimal",
    "bayes_optimal at finite degree",
    "best_linear",
    "best_linear at finite degree",
)
STOPPED = ("predict", "tune", "transfer")
TO_THE_END = (
    "transfer to joining nodes",
    "best_test_filter",
    "best_test_filter on another graph",
    "scatter",
    "scatter on another graph",
    "paired_scatter",
    "order_functions",
    "learning_rate",
)
NOISY = ("predict", "tune", "bayes_optimal", "best_linear", "best_linear on another graph")
"""Functions that know of labels that are wrong."""
FILTERED = ("scatter", "paired_scatter", "order_functions")

_WRONG = "wrong labels, noise = {noise}, are "
REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        tuple(function for function in FUNCTIONS if function not in NOISY),
        {"noise": ("some",)},
        "{function} takes labels for right, got noise = {noise}",
        "leave out noise, or sample graphs",
    ),
    Refusal(
        ("predict", "tune", "bayes_optimal"),
        {"noise": ("some",), "degrees": ("varied",)},
        f"{_WRONG}solved for degrees that are alike, got degrees = {{degrees}}",
        "leave out one of the two",
    ),
    Refusal(
        ("predict", "tune"),
        {"noise": ("some",), "test_filter": ("other",)},
        f"{_WRONG}not solved with another filter at test",
        "leave out one of the two",
    ),
    Refusal(
        ("predict", "tune"),
        {"noise": ("some",), "training": ("stopped",)},
        f"{_WRONG}not solved in time, got training = {{training}}",
        "leave out one of the two",
    ),
    Refusal(
        ALIKE,
        {"degrees": ("varied",)},
        "{function} needs degrees that are alike, got degrees = {degrees}",
        "leave out degrees, or sample graphs",
    ),
    Refusal(
        PLAIN,
        {"classes": QUESTIONS["classes"][1:]},
        "{function} needs two equal classes, got classes = {classes}",
        "take classes=2",
    ),
    Refusal(
        (*PLAIN, "message_passing", "label_propagation", "oversmoothing"),
        {"features": ("correlated",)},
        "{function} needs white features, got features = {features}",
        "leave out features",
    ),
    Refusal(
        LAW_AND_CLASSES,
        {"degrees": ("varied",), "classes": UNEQUAL},
        "degrees = {degrees} are solved for equal classes, got classes = {classes}",
        "leave out one of the two",
    ),
    Refusal(
        ("predict", "tune"),
        {"degrees": ("varied",), "penalty": ("other",)},
        "degrees = {degrees} are solved for squared weights, got penalty = {penalty}",
        "leave out one of the two",
    ),
    Refusal(
        ("predict", "tune"),
        {"degrees": ("varied",), "test_filter": ("other",)},
        "another filter at test needs degrees that are alike, got degrees = {degrees}",
        "leave out one of the two",
    ),
    Refusal(
        ("predict", "tune"),
        {"degrees": ("varied",), "normalization": ("other, normalized gain",)},
        "normalize = True needs a gain, not known for {normalization} under degrees = {degrees}",
        "take normalize=False",
    ),
    Refusal(
        (*NETWORKS, "order_functions"),
        {"penalty": ("other",), "classes": QUESTIONS["classes"][1:]},
        "penalty = {penalty} is solved for two equal classes, got classes = {classes}",
        "leave out one of the two",
    ),
    Refusal(
        (*NETWORKS, "order_functions"),
        {"penalty": ("other",), "features": ("correlated",)},
        "penalty = {penalty} is solved for white features, got features = {features}",
        "leave out one of the two",
    ),
    Refusal(
        ("scatter on another graph",),
        {"penalty": ("other",)},
        "{function} needs squared weights, got penalty = {penalty}",
        "leave out penalty",
    ),
    Refusal(
        (*NETWORKS, "order_functions"),
        {"reg": ("finite",), "loss": ("margin",), "classes": ("more equal",)},
        "loss = {loss} is not solved for classes = {classes} at finite reg",
        "take loss='softmax' or 'square', or reg=math.inf",
    ),
    Refusal(
        (*NETWORKS, "order_functions"),
        {"reg": ("finite",), "loss": ("margin", "softmax"), "classes": ("more unequal",)},
        "loss = {loss} is not solved for classes = {classes} at finite reg",
        "take loss='square', or reg=math.inf",
    ),
    Refusal(
        ("order_functions",),
        {"reg": ("infinite",), "loss": ("margin", "corner", "softmax")},
        "at reg = inf order functions are those of the square loss, got loss = {loss}",
        "take loss='square' or a finite reg",
    ),
    Refusal(
        ("transfer", "best_test_filter", "best_test_filter on another graph"),
        {"reg": ("infinite",), "loss": ("corner",)},
        "loss = {loss} on classes = {classes} has no explicit weights at reg = inf",
        "take a finite reg or another loss",
    ),
    Refusal(
        FILTERED,
        {"test_filter": ("other",)},
        "{function} is that of one filter, got test_filter = {test_filter}",
        "leave out test_filter",
    ),
    Refusal(
        HOME,
        {"test_filter": ("other",), "operator": ("directed",), "reg": ("finite",)},
        "another filter at test, or nodes that join, have no theory on a directed operator "
        "at finite reg",
        "take symmetrize=True or reg=math.inf, or simulate it",
    ),
    Refusal(
        HOME,
        {"test_filter": ("other",), "operator": ("directed",), "loss": ("corner",)},
        "another filter at test, or nodes that join, have no theory on a directed operator "
        "for loss = {loss}",
        "take symmetrize=True or another loss, or simulate it",
    ),
    Refusal(
        ("paired_scatter", "best_test_filter"),
        {"operator": ("directed",)},
        "{function} has a formula on a symmetric operator, got a directed one",
        "take symmetrize=True",
    ),
    Refusal(
        ("paired_scatter", "best_test_filter"),
        {"reg": ("finite",)},
        "{function} has a formula at infinite regularization, got reg = {reg}",
        "take reg=math.inf",
    ),
    Refusal(
        ("bayes_optimal on another graph",),
        {"classes": ("more unequal",)},
        "{function} is known for equal classes and for two, got classes = {classes}",
        "take equal classes, or leave out to",
    ),
    Refusal(
        ("bayes_optimal on another graph of finite degree",),
        {"classes": UNEQUAL},
        "{function} is known for equal classes, got classes = {classes}",
        "take equal classes, or leave out degree",
    ),
)


# a training that stops is a function on the path of ridge regressions, where that is known
_PATH: tuple[tuple[tuple[str, ...], When, str, str], ...] = (
    (TO_THE_END, {}, "{function} is that of a network trained to the end, got", "leave it out"),
    (
        STOPPED,
        {"loss": ("margin", "corner", "softmax")},
        "loss = {loss} is not solved in time, got",
        "take loss='square', or leave out training",
    ),
    (
        STOPPED,
        {"penalty": ("other",)},
        "penalty = {penalty} is not solved in time, got",
        "leave out one of the two",
    ),
    (
        STOPPED,
        {"degrees": ("varied",)},
        "degrees = {degrees} are not solved in time, got",
        "leave out one of the two",
    ),
    (
        STOPPED,
        {"classes": UNEQUAL},
        "classes = {classes} are not solved in time, got",
        "take equal classes, or leave out training",
    ),
    (
        STOPPED,
        {"features": ("correlated",)},
        "features = {features} are not solved in time, got",
        "leave out one of the two",
    ),
    (
        ("predict", "tune"),
        {"test_filter": ("other",)},
        "another filter at test is not solved in time, got",
        "leave out one of the two",
    ),
    (
        STOPPED,
        {"operator": ("directed",), "filter": ("any",)},
        "a directed operator is solved in time for PageRank only, got",
        "take symmetrize=True, or leave out training",
    ),
)
REFUSALS += tuple(
    Refusal(
        functions, {**when, "training": ("stopped",)}, f"{reason} training = {{training}}", remedy
    )
    for functions, when, reason, remedy in _PATH
)


class Route(enum.Enum):
    """How a trained network is solved for: the equations."""

    PATH = "ridge regressions on a contour around their spectrum, Eqs. 13.4 to 13.11"
    EXPLICIT = "explicit formulas, Eqs. 4.7, 8.15 and 10.11"
    EXPLICIT_DEGREES = "explicit formulas with propensities, Eqs. 11.4 and 11.5"
    FAR_LAYERS = "layers with propensities, one by one, Eq. 11.11"
    FAR = "self-consistent equations at a large regularization, Eq. 8.14"
    PROPENSITIES = "self-consistent equations on the spectrum with propensities, Eq. 11.7"
    LAYERS = "self-consistent equations of the layers with propensities, Eqs. 11.8 to 11.11"
    SPECTRUM = "self-consistent equations on the spectrum, Eqs. 3.13 to 3.19"
    PAGERANK = "self-consistent equations of one layer that feeds itself, Eq. 3.30"
    CHAIN = "self-consistent equations of the chain of layers, Eqs. 3.1 to 3.11"


OTHER = ("other", "other, normalized gain")

ROUTES: tuple[tuple[When, Route], ...] = (
    ({"training": ("stopped",)}, Route.PATH),
    ({"reg": ("infinite",), "loss": ("corner",)}, Route.FAR),
    ({"reg": ("infinite",), "degrees": ("alike",)}, Route.EXPLICIT),
    ({"reg": ("infinite",), "normalization": ("symmetric",)}, Route.EXPLICIT_DEGREES),
    ({"reg": ("infinite",)}, Route.FAR_LAYERS),
    ({"degrees": ("alike",), "operator": ("symmetric",)}, Route.SPECTRUM),
    ({"degrees": ("alike",), "filter": ("PageRank",)}, Route.PAGERANK),
    ({"degrees": ("alike",)}, Route.CHAIN),
    ({"normalization": ("symmetric",), "operator": ("symmetric",)}, Route.PROPENSITIES),
    ({}, Route.LAYERS),
)


def matches(when: When, case: Case) -> bool:
    """Whether a case has the answers of a row."""
    return all(case[question] in answers for question, answers in when.items())


def route_of(case: Case) -> Route:
    """Equations that answer a case."""
    return next(route for when, route in ROUTES if matches(when, case))


def refusal_of(function: str, case: Case) -> Refusal | None:
    """Row that refuses a case to a function; None if it is answered."""
    return next((row for row in REFUSALS if row.concerns(function, case)), None)


def sentence(function: str, data: CSBM, gcn: GCN | None = None) -> str | None:
    """Sentence with which a function refuses data and network; None if it answers."""
    for case in cases_of(data, gcn):
        row = refusal_of(function, case)
        if row is not None:
            values: dict[str, Any] = {"function": function}
            for name in QUESTIONS:
                value = (
                    getattr(data, name, None)
                    if gcn is None
                    else getattr(gcn, name, getattr(data, name, None))
                )
                values[name] = brief(value)
            return f"{row.reason.format(**values)}; {row.remedy}"
    return None


def check(function: str, data: CSBM, gcn: GCN | None = None) -> None:
    """Raise `ParameterError` if a function has no theory for data and network.

    >>> import gcnlimit as gl
    >>> sentence("best_filter", gl.CSBM(4, 1.0, 2.0, 0.1, degrees=gl.Gamma(0.5)))
    'best_filter needs degrees that are alike, got degrees = Gamma(variance=0.5); leave out degrees, or sample graphs'
    """
    refused = sentence(function, data, gcn)
    if refused is not None:
        raise ParameterError(refused)
    if gcn is not None and data.degrees is not None:
        gcn.normalization.check(data.degrees)
