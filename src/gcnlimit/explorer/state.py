"""What the page shows, as one value: the controls, a link and every picture say the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from gcnlimit._values import shown
from gcnlimit.csbm import CSBM, SIGNALS
from gcnlimit.degrees import Gamma
from gcnlimit.errors import ParameterError
from gcnlimit.network import GCN
from gcnlimit.parameters import build_filter, check_names

Span = tuple[float, float]


class Limit(NamedTuple):
    """Range of a number, and the usual part of it, which its slider covers."""

    low: float
    high: float
    slider: Span
    log: bool = False
    whole: bool = False


def _number(
    default: float, low: float, high: float, slider: Span | None = None, **how: bool
) -> Any:
    """Control of one number; without a range of its slider, that of all allowed values."""
    limit = Limit(low, high, slider or (low, high), **how)
    return field(default=default, metadata={"limit": limit})


def _choice(default: str, *choices: str) -> Any:
    """Control of one word."""
    return field(default=default, metadata={"choices": choices})


PARAMETER_OF = {
    "residual": "c",
    "diffusion": "t",
    "pagerank": "theta",
    "polynomial": "coefficients",
}
"""Families of filters, and the parameter of each."""
LEARNING = ("loss", "reg", "symmetrize", "normalization")
"""Parameters of a network beside those of its filter."""
_MOST = 20  # classes, or coefficients of a polynomial
_LONGEST = 500  # letters in which they are written


@dataclass(frozen=True)
class State:
    """Data, network, another graph for the test, what is drawn, and size of sampled graphs.

    `estimated` is whether the data were estimated from a graph, `elsewhere` whether the other graph is shown.

    >>> state = State.of_query("?lam=-1&family=pagerank&theta=-0.3&classes=3")
    >>> state.gcn.filter
    PageRank(theta=-0.3)
    >>> State.of_query(state.query()) == state
    True
    >>> State.of_query("?rho=7")
    Traceback (most recent call last):
        ...
    gcnlimit.errors.ParameterError: rho = 7 is out of range; choose a number from 1e-05 to 1
    """

    alpha: float = _number(4.0, 1e-3, 1e5, (0.1, 100.0), log=True)
    lam: float = _number(1.0, -30.0, 30.0, (-3.0, 3.0))
    mu: float = _number(2.0, 0.0, 1e4, (0.0, 10.0))
    rho: float = _number(0.1, 1e-5, 1.0, (0.001, 0.99), log=True)
    classes: str = "2"
    directed: bool = True
    degrees_variance: float = _number(0.0, 0.0, 20.0, (0.0, 2.0))
    estimated: bool = False
    family: str = _choice("diffusion", *PARAMETER_OF)
    depth: int = _number(2, 1, 12, whole=True)
    c: float = _number(1.0, -100.0, 100.0, (-5.0, 5.0))
    t: float = _number(1.0, -20.0, 20.0, (-5.0, 5.0))
    theta: float = _number(0.3, -0.99, 0.99, (-0.75, 0.75))
    coefficients: str = "1, 1, 0.5"
    loss: str = _choice("square", "square", "logistic", "hinge", "softmax")
    reg: float = _number(math.inf, 1e-6, 1e8, (1e-3, 1e4), log=True)
    symmetrize: bool = True
    normalization: str = _choice("symmetric", "symmetric", "random-walk", "regularized", "none")
    elsewhere: bool = False
    to_lam: float = _number(-1.0, -30.0, 30.0, (-3.0, 3.0))
    to_mu: float = _number(2.0, 0.0, 1e4, (0.0, 10.0))
    axis: str = _choice("lam", "lam", "mu", "rho", "alpha", "classes")
    nodes: int = _number(2000, 100, 20_000, log=True, whole=True)
    degree: float = _number(30.0, 1.0, 100.0, log=True)
    trials: int = _number(5, 1, 50, whole=True)

    @classmethod
    def of(cls, controls: Mapping[str, Any]) -> State:
        """State of named values, each a number or its text; what is not given has its default."""
        check_names(controls, FIELDS, "a control of the page")
        state = cls(**{name: _value(name, value) for name, value in controls.items()})
        state.data, state.gcn  # noqa: B018  # refuse here what the library refuses
        _numbers("coefficients", state.coefficients)
        if state.hubs and state.unequal:
            remedy = "give the number of classes, or set degrees_variance to 0"
            raise ParameterError(f"hubs have a theory for equal classes only; {remedy}")
        state.gcn.normalization.check(Gamma(state.degrees_variance))
        return state

    @classmethod
    def of_query(cls, query: str) -> State:
        """State of the query of a link."""
        text = query.removeprefix("?")
        return cls.of(dict(parse_qsl(text, keep_blank_values=True, max_num_fields=100)))

    def query(self) -> str:
        """Query of a link that leads to this state: what differs from the defaults.

        >>> State(lam=-1.0, symmetrize=False).query()
        '?lam=-1.0&symmetrize=false'
        """
        default = State().texts()
        return "?" + urlencode({k: v for k, v in self.texts().items() if v != default[k]})

    def texts(self) -> dict[str, str]:
        """Every value as a link has it."""
        return {k: str(v).lower() if k in SWITCHES else str(v) for k, v in vars(self).items()}

    def replaced(self, **changes: Any) -> State:
        """Same state with some values changed."""
        return replace(self, **changes)

    def rounded(self) -> State:
        """Same state with numbers of four digits, as people read them.

        >>> State(t=1.52145013).rounded().t
        1.521
        """
        names = [name for name, limit in LIMITS.items() if not limit.whole]
        return self.replaced(**{name: float(f"{getattr(self, name):.4g}") for name in names})

    @property
    def data(self) -> CSBM:
        """The data."""
        return self.data_at()

    def data_at(self, **changes: Any) -> CSBM:
        """The data with other values, perhaps arrays, of some parameters."""
        values: dict[str, Any] = {name: getattr(self, name) for name in (*SIGNALS, "directed")}
        values |= {"classes": _classes(self.classes), "degrees": Gamma(self.degrees_variance)}
        return CSBM(**(values | changes))

    @property
    def gcn(self) -> GCN:
        """The network."""
        return self.gcn_of(self.family, self.strength)

    def gcn_of(self, family: str, strength: Any, **changes: Any) -> GCN:
        """Network of a family at one or several strengths, all else as it is."""
        depth = {"depth": self.depth} if family == "residual" else {}
        filter = build_filter({PARAMETER_OF[family]: strength} | depth)
        learning: dict[str, Any] = {name: getattr(self, name) for name in LEARNING}
        return GCN(filter, **(learning | changes))

    def explicit(self, family: str, strength: float = 0.1) -> GCN:
        """Network of a family at infinite regularization, whose theory is explicit."""
        return self.gcn_of(family, strength, loss="square", reg=math.inf)

    @property
    def parameter(self) -> str:
        """Name of the parameter of the family."""
        return PARAMETER_OF[self.family]

    @property
    def strength(self) -> Any:
        """Value of the parameter of the family."""
        value = getattr(self, self.parameter)
        return _numbers("coefficients", value) if self.family == "polynomial" else value

    @property
    def place(self) -> float | None:
        """Place on the axis that is chosen; None for classes given by their fractions."""
        if self.axis != "classes":
            return float(getattr(self, self.axis))
        return None if self.unequal else float(self.classes)

    @property
    def finite(self) -> bool:
        """Whether the regularization is finite."""
        return math.isfinite(self.reg)

    @property
    def unequal(self) -> bool:
        """Whether the classes are given by their fractions."""
        return "," in self.classes

    @property
    def hubs(self) -> bool:
        """Whether degrees vary."""
        return self.degrees_variance > 0.0

    @property
    def symmetric(self) -> bool:
        """Whether the network uses a symmetric operator."""
        return self.symmetrize or not self.directed

    def span(self, name: str) -> Span:
        """Range of a slider, extended where the value is beyond it.

        >>> State().span("mu"), State(mu=25.0).span("mu")
        ((0.0, 10.0), (0.0, 40.0))
        """
        limit = LIMITS[name]
        value = getattr(self, name)
        low, high = limit.slider
        while value > high:
            high *= 2.0
        while value < low:
            low *= 0.5 if limit.log else 2.0
        return max(low, limit.low), min(high, limit.high)


def family_name(family: str) -> str:
    """The family as it is written."""
    return {"residual": "residual network", "pagerank": "PageRank"}.get(family, family)


_KINDS = {field.name: field.metadata for field in fields(State)}

FIELDS = tuple(_KINDS)
"""Names of all controls."""

LIMITS: dict[str, Limit] = {k: kind["limit"] for k, kind in _KINDS.items() if "limit" in kind}
"""Controls of one number."""

CHOICES: dict[str, Any] = {k: kind["choices"] for k, kind in _KINDS.items() if "choices" in kind}
"""Controls of one word."""

SWITCHES = tuple(f.name for f in fields(State) if f.type == "bool")
"""Controls that are on or off."""


def _value(name: str, value: Any) -> Any:
    if name in LIMITS:
        return _within(name, value, LIMITS[name])
    switch = name in SWITCHES
    text = str(value).lower() if switch else str(value)
    choices = ("true", "false") if switch else CHOICES.get(name, (text,))
    if text not in choices:
        raise ParameterError(f"{name} = {shown(value)} is not one of {', '.join(choices)}")
    return text == "true" if switch else text


def _within(name: str, value: Any, limit: Limit) -> float | int:
    allowed = f"choose a {'whole ' * limit.whole}number from {limit.low:g} to {limit.high:g}"
    if value in (None, ""):
        raise ParameterError(f"{name} is empty; {allowed}")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{name} = {shown(value)} is not a number; {allowed}") from None
    if name == "reg" and number == math.inf:
        return number
    if not limit.low <= number <= limit.high or (limit.whole and not number.is_integer()):
        raise ParameterError(f"{name} = {number:g} is out of range; {allowed}")
    return int(number) if limit.whole else number


def _numbers(name: str, text: str) -> list[float]:
    entry = f"{name} = {text[:40]!r}"
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(f"{entry} is not a number or a list such as 0.2, 0.8") from None
    if not all(map(math.isfinite, numbers)) or len(numbers) > _MOST or len(text) > _LONGEST:
        raise ParameterError(f"{entry} must be at most {_MOST} finite numbers")
    return numbers


def _classes(text: str) -> int | list[float]:
    """Number of equal classes, or their fractions."""
    numbers = _numbers("classes", text)
    if len(numbers) > 1:
        return numbers
    if not (numbers[0].is_integer() and 2 <= numbers[0] <= _MOST):
        allowed = f"a number from 2 to {_MOST}, or fractions such as 0.2, 0.8"
        raise ParameterError(f"classes = {text} must be {allowed}")
    return int(numbers[0])
