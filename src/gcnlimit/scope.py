"""What is supported with what: one table, which every function reads before it computes, and the documentation prints.

A *case* answers the questions below for given data and network. `REFUSALS` has a row for each set of answers that together have
no theory, or that sampled graphs do not take, with the functions concerned and a remedy; every other case is answered, in theory
by the first of the `ROUTES` that it matches. A new variant is a question with its answers, and the rows that mention it.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from gcnlimit._values import brief
from gcnlimit.csbm import CSBM
from gcnlimit.degrees import DegreeLaw
from gcnlimit.errors import ParameterError
from gcnlimit.filters import PageRank
from gcnlimit.losses.base import Form
from gcnlimit.network import GCN
from gcnlimit.penalties import L2

_GAIN = "other, normalized gain"
QUESTIONS: dict[str, tuple[str, ...]] = {
    "operator": ("symmetric", "directed"),
    "degrees": ("alike", "varied"),
    "normalization": ("symmetric", "other", _GAIN),
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

A loss is the square loss on the codes of the classes, one of the margin, one of the margin with a corner at 0 or at the free
bias of two unequal classes, or the cross-entropy of all classes.
"""

Case = Mapping[str, str]
When = Mapping[str, tuple[str, ...]]


def structure_of(network: Any, degrees: DegreeLaw | None, symmetric: bool) -> dict[str, str]:
    """Answers on which the equations depend, of a `GCN` or of the points of a calculation, on a symmetric operator or not."""
    return {
        "operator": "symmetric" if symmetric else "directed",
        "degrees": "alike" if degrees is None else "varied",
        "normalization": "symmetric" if network.normalization.plain else "other",
        "filter": "PageRank" if type(network.filter) is PageRank else "any",
        "training": "to the end" if network.training is None else "stopped",
    }


def cases_of(data: CSBM, gcn: GCN | None = None) -> Iterator[Case]:
    """Cases of data and network: one, or two where regularizations are finite and infinite; the simplest answers without one."""
    count = "2" if data.classes.count == 2 else "more"
    answers = {name: first for name, (first, *_) in QUESTIONS.items()}
    answers |= {
        "degrees": "alike" if data.degrees is None else "varied",
        "classes": f"{count} {'equal' if data.classes.equal else 'unequal'}",
        "features": "white" if data.features.is_white else "correlated",
        "noise": "some" if data.noise else "none",
    }
    if gcn is None:
        yield answers
        return
    loss = {Form.CODES: "square", Form.LOGITS: "softmax", Form.MARGIN: "margin"}[gcn.loss.form]
    if gcn.loss.on(data.classes).is_pinned:
        loss = "corner"
    answers |= structure_of(gcn, data.degrees, gcn.symmetrize or not data.directed)
    if gcn.normalize and answers["normalization"] == "other":
        answers["normalization"] = _GAIN
    answers |= {
        "loss": loss,
        "penalty": "squared weights" if isinstance(gcn.penalty, L2) else "other",
        "test_filter": "same" if gcn.test_filter is None else "other",
    }
    infinite = np.isinf(gcn.reg)
    if np.any(infinite):
        yield answers | {"reg": "infinite"}
    if not np.all(infinite):
        yield answers | {"reg": "finite"}


FUNCTIONS: dict[str, str] = {
    "predict": "network degrees noise stopped home errors",
    "tune": "network degrees noise stopped home",
    "compare": "data degrees",
    "bayes_optimal": "data degrees noise errors",
    "bayes_optimal at finite degree": "data degrees",
    "best_linear": "data degrees noise errors",
    "best_linear at finite degree": "data degrees",
    "best_linear on another graph": "data noise errors",
    "best_linear of layers, or in one direction, at finite degree": "data",
    "label_propagation": "data",
    "transfer": "network stopped errors",
    "transfer to joining nodes": "network home errors",
    "bayes_optimal on another graph": "data errors",
    "bayes_optimal on another graph of finite degree": "data",
    "message_passing": "data",
    "best_filter": "data",
    "best_test_filter": "",
    "best_test_filter on another graph": "network",
    "best_training_filter": "data",
    "scatter": "scatter",
    "scatter on another graph": "scatter",
    "paired_scatter": "scatter",
    "order_functions": "network",
    "oversmoothing": "data",
    "learning_rate": "network home",
    "no_residual_margin": "data",
    "short_diffusion_margin": "data",
    "one_layer_rate": "data",
    "simulate or fit": "sampled",
    "linear_message_passing": "sampled data",
    "linear_message_passing without labels": "sampled data",
    "linear_message_passing by labels on another graph": "sampled data",
}
"""The functions that read the table; one that answers several questions is named with each.

Of each it says whether it is one of ``data`` alone, or trains a ``network`` at any regularization; whether it answers under a law
of ``degrees``, for labels with ``noise``, for a training that is ``stopped``, and for nodes at ``home``, on the training graph;
whether its answers carry the ``errors`` of an estimate (`tune` and `best_filter` do so in their prediction, `compare` in its
entries); and whether it is no theory but an algorithm on a ``sampled`` graph, which takes all but what its own rows refuse.
"""


def _which(word: str) -> tuple[str, ...]:
    """Functions of which the table says that word."""
    return tuple(name for name, words in FUNCTIONS.items() if word in words.split())


DATA_ONLY = _which("data")
CARRY = _which("errors")
SAMPLED = _which("sampled")
_NETWORK, _SCATTER, _STOPPED = map(_which, ("network", "scatter", "stopped"))


def _but(names: tuple[str, ...]) -> tuple[str, ...]:
    """The other functions of the theory."""
    return tuple(name for name in FUNCTIONS if name not in (*names, *SAMPLED))


class Refusal(NamedTuple):
    """Answers that together are refused, by some functions, and what to do instead; no answers: the function always refuses."""

    functions: tuple[str, ...]
    remedy: str
    when: When


def _row(functions: Iterable[str], remedy: str, **when: str) -> Refusal:
    """Row of the table; each question has one of the answers that are given with ``or``."""
    asked = {question: tuple(answers.split(" or ")) for question, answers in when.items()}
    return Refusal(tuple(functions), remedy, asked)


_ONE_OF_TWO = "leave out one of the two"
_SOFTMAX = "take loss='softmax' or 'square', or reg=math.inf"
_SQUARE = "take loss='square', or reg=math.inf"
_ANY_SQUARE = "take loss='square', or leave out training"
_EQUAL_CLASSES = "take equal classes, or leave out training"
_ANY_SPECTRUM = "take PageRank or symmetrize=True, or leave out training"
_SQUARE_OR_FINITE = "take loss='square' or a finite reg"
_OR_INFINITE = "take symmetrize=True or reg=math.inf, or simulate it"
_OR_LOSS = "take symmetrize=True or another loss, or simulate it"
_MORE = "more equal or 2 unequal or more unequal"
_UNEQUAL = "2 unequal or more unequal"
_MORE_THAN_TWO = "more equal or more unequal"
_NOT_SQUARE = "margin or corner or softmax"
_TRAINED = ("predict", "tune")
_FIT = "simulate or fit"
_JOINING = "transfer to joining nodes"
_WHITE = (*_SCATTER, "message_passing", "label_propagation", "oversmoothing")
_ONE_FILTER = ("scatter", "paired_scatter", "order_functions")
_CEILING_THERE = "bayes_optimal on another graph"
_SPARSE_THERE = "bayes_optimal on another graph of finite degree"
_READ_AGAIN = ("transfer", "best_test_filter", "best_test_filter on another graph")

REFUSALS: tuple[Refusal, ...] = (
    _row(_but(_which("noise")), "leave out noise, or sample graphs", noise="some"),
    _row((*_TRAINED, "bayes_optimal"), _ONE_OF_TWO, noise="some", degrees="varied"),
    _row(_TRAINED, _ONE_OF_TWO, noise="some", test_filter="other"),
    _row(_but(_which("degrees")), "leave out degrees, or sample graphs", degrees="varied"),
    _row(_SCATTER, "take classes=2", classes=_MORE),
    _row(_WHITE, "leave out features", features="correlated"),
    _row(_which("degrees"), _ONE_OF_TWO, degrees="varied", classes=_UNEQUAL),
    _row(_TRAINED, _ONE_OF_TWO, degrees="varied", penalty="other"),
    _row(_TRAINED, _ONE_OF_TWO, degrees="varied", test_filter="other"),
    # the gain under other normalizations is not known
    _row((*_TRAINED, _FIT), "take normalize=False", degrees="varied", normalization=_GAIN),
    _row((*_NETWORK, _FIT), _ONE_OF_TWO, penalty="other", classes=_MORE),
    _row(_NETWORK, _ONE_OF_TWO, penalty="other", features="correlated"),
    _row(("scatter on another graph",), "leave out penalty", penalty="other"),
    _row(_NETWORK, _SOFTMAX, loss="margin", classes="more equal", reg="finite"),
    _row((_FIT,), _SOFTMAX, loss="margin", classes=_MORE_THAN_TWO, reg="finite"),
    _row(_NETWORK, _SQUARE, loss="margin or softmax", classes="more unequal", reg="finite"),
    # at infinite regularization order functions are those of the square loss
    _row(("order_functions",), _SQUARE_OR_FINITE, loss=_NOT_SQUARE, reg="infinite"),
    # outputs at a corner leave no explicit weights
    _row(_READ_AGAIN, "take a finite reg or another loss", loss="corner", reg="infinite"),
    _row(_TRAINED, _OR_LOSS, degrees="varied", loss="corner", reg="infinite"),
    _row(_ONE_FILTER, "leave out test_filter", test_filter="other"),
    _row(_which("home"), _OR_INFINITE, test_filter="other", operator="directed", reg="finite"),
    _row(_which("home"), _OR_LOSS, test_filter="other", operator="directed", loss="corner"),
    _row(("paired_scatter", "best_test_filter"), "take symmetrize=True", operator="directed"),
    _row(("paired_scatter", "best_test_filter"), "take reg=math.inf", reg="finite"),
    _row((_CEILING_THERE,), "take equal classes, or leave out to", classes="more unequal"),
    _row((_SPARSE_THERE,), "take equal classes, or leave out degree", classes=_UNEQUAL),
    # a training that stops is a function on the path of ridge regressions, where that is known
    _row(_but((*DATA_ONLY, *_STOPPED)), "leave out training", training="stopped"),
    _row((*_STOPPED, _FIT), _ANY_SQUARE, training="stopped", loss=_NOT_SQUARE),
    _row((*_STOPPED, _FIT), _ONE_OF_TWO, training="stopped", penalty="other"),
    _row(_STOPPED, _ONE_OF_TWO, training="stopped", degrees="varied"),
    _row(_STOPPED, _EQUAL_CLASSES, training="stopped", classes=_UNEQUAL),
    _row(_STOPPED, _ONE_OF_TWO, training="stopped", features="correlated"),
    _row(_TRAINED, _ONE_OF_TWO, training="stopped", test_filter="other"),
    _row(_STOPPED, _ANY_SPECTRUM, training="stopped", operator="directed", filter="any"),
    _row(("best_linear of layers, or in one direction, at finite degree",), "leave out degree"),
    # linear message passing clamps labels, and takes them for right
    _row(("linear_message_passing",), "use amp", noise="some"),
    _row(("linear_message_passing without labels",), "use amp, which infers the classes"),
    _row(
        ("linear_message_passing by labels on another graph",), "leave out to, or take by='layers'"
    ),
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
    return _refusal_of(function, frozenset(case.items()))


@functools.cache
def _refusal_of(function: str, answers: frozenset[tuple[str, str]]) -> Refusal | None:
    rows = (row for row in REFUSALS if function in row.functions)
    return next((row for row in rows if matches(row.when, dict(answers))), None)


def sentence(function: str, data: CSBM, gcn: GCN | None = None) -> str | None:
    """Sentence with which a function refuses data and network; None if it answers."""
    # nodes that join are always read anew
    anew = {"test_filter": "other"} if function == _JOINING else {}
    for case in cases_of(data, gcn):
        row = refusal_of(function, case := {**case, **anew})
        if row is not None and not row.when:
            return f"{function} has no answer; {row.remedy}"
        if row is not None:
            asked = (question for question in row.when if question not in anew)
            *others, last = (_told(question, case, data, gcn) for question in asked)
            told = f"{', '.join(others)} and {last} together" if others else last
            lacks = "does not take" if function in SAMPLED else "has no theory for"
            return f"{function} {lacks} {told}; {row.remedy}"
    return None


def _told(question: str, case: Case, data: CSBM, gcn: GCN | None) -> str:
    """Answer to a question as a user gave it."""
    if question in ("operator", "reg"):
        return f"{case[question]} {question}"
    gain = " and normalize=True" if case[question].endswith("gain") else ""
    value = getattr(gcn, question, getattr(data, question, None))
    return f"{question} = {brief(value)}{gain}"


def check(function: str, data: CSBM, gcn: GCN | None = None) -> None:
    """Raise `ParameterError` if a function does not support data and network.

    >>> import gcnlimit as gl
    >>> sentence("best_filter", gl.CSBM(4, 1.0, 2.0, 0.1, degrees=gl.Gamma(0.5)))
    'best_filter has no theory for degrees = Gamma(variance=0.5); leave out degrees, or sample graphs'
    """
    refused = sentence(function, data, gcn)
    if refused is not None:
        raise ParameterError(refused)
    if gcn is not None and data.degrees is not None and function not in SAMPLED:
        gcn.normalization.check(data.degrees)
