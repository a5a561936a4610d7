"""What the page shows, as one value: the controls, a link and every picture say the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Diffusion, Filter, PageRank, Polynomial, Residual
from gcnlimit.network import GCN
from gcnlimit.parameters import suggestion


class Limit(NamedTuple):
    """Range of a control, the unit step of its number field, and whether its slider is logarithmic."""

    low: float
    high: float
    log: bool = False
    whole: bool = False


LIMITS = {
    "alpha": Limit(0.1, 100.0, log=True),
    "lam": Limit(-3.0, 3.0),
    "mu": Limit(0.0, 10.0),
    "rho": Limit(0.001, 0.99, log=True),
    "depth": Limit(1, 12, whole=True),
    "c": Limit(-10.0, 10.0),
    "t": Limit(-5.0, 5.0),
    "theta": Limit(-0.99, 0.99),
    "reg": Limit(1e-3, 1e4, log=True),
    "nodes": Limit(100, 20_000, log=True, whole=True),
    "degree": Limit(1.0, 100.0, log=True),
    "trials": Limit(1, 50, whole=True),
}
"""What each control of one number may be."""

FAMILIES = {"residual": "c", "diffusion": "t", "pagerank": "theta", "polynomial": "coefficients"}
"""Families of filters, and the parameter of each."""
_FILTERS: dict[str, Callable[[Any], Filter]] = {"diffusion": Diffusion, "pagerank": PageRank, "polynomial": Polynomial}

AXES = ("lam", "mu", "rho", "alpha", "classes")
"""Parameters of the data along which accuracies are drawn."""

CHOICES = {
    "family": tuple(FAMILIES),
    "loss": ("square", "logistic", "hinge", "softmax"),
    "measure": ("test_accuracy", "train_loss"),
    "axis": AXES,
    "gap": ("best", "network"),
}
_LARGEST_CLASSES, _LARGEST_ORDER = 20, 8


@dataclass(frozen=True)
class State:
    """Data, network, what is drawn against its strength, axis and map, and size of sampled graphs.

    Examples
    --------
    >>> state = State.of_query("?lam=-1&family=pagerank&theta=-0.3&classes=3")
    >>> state.gcn.filter
    PageRank(theta=-0.3)
    >>> State.of_query(state.query()) == state
    True
    >>> State.of_query("?rho=7")
    Traceback (most recent call last):
        ...
    gcnlimit.errors.ParameterError: rho = 7 is outside of 0.001 ... 0.99, which is what the page shows
    """

    alpha: float = 4.0
    lam: float = 1.0
    mu: float = 2.0
    rho: float = 0.1
    classes: str = "2"
    directed: bool = True
    family: str = "diffusion"
    depth: int = 2
    c: float = 1.0
    t: float = 1.0
    theta: float = 0.3
    coefficients: str = "1, 1, 0.5"
    loss: str = "square"
    reg: float = math.inf
    symmetrize: bool = True
    measure: str = "test_accuracy"
    axis: str = "lam"
    gap: str = "best"
    nodes: int = 2000
    degree: float = 30.0
    trials: int = 5

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> State:
        """State of named values, each a number or its text; what is not given has its default."""
        names = [field.name for field in fields(cls)]
        for name in given:
            if name not in names:
                raise ParameterError(
                    f"{name!r} is not a control of the page; {suggestion(name, names)}allowed: {', '.join(names)}"
                )
        state = cls(**{name: _value(name, value) for name, value in given.items()})
        state.data, state.gcn  # noqa: B018  # refuse here what the library refuses
        return state

    @classmethod
    def of_query(cls, query: str) -> State:
        """State of the query of a link."""
        return cls.of(dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True, max_num_fields=100)))

    def query(self) -> str:
        """Query of a link that leads to this state: what differs from the defaults.

        >>> State(lam=-1.0, symmetrize=False).query()
        '?lam=-1.0&symmetrize=false'
        """
        default = State()
        changed = {
            f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != getattr(default, f.name)
        }
        return "?" + urlencode({k: str(v).lower() if isinstance(v, bool) else v for k, v in changed.items()})

    def replaced(self, **changes: Any) -> State:
        """Same state with some values changed."""
        return replace(self, **changes)

    @property
    def data(self) -> CSBM:
        """The data."""
        return self.data_at()

    def data_at(self, **changes: Any) -> CSBM:
        """The data with other values, perhaps arrays, of some parameters."""
        values: dict[str, Any] = {name: getattr(self, name) for name in ("alpha", "lam", "mu", "rho", "directed")}
        return CSBM(**(values | {"classes": _classes(self.classes)} | changes))

    @property
    def gcn(self) -> GCN:
        """The network."""
        return self.gcn_of(self.filter_of(self.family, self.strength))

    def gcn_of(self, filter: Filter, **changes: Any) -> GCN:
        """Network with another filter, its loss, regularization and symmetrization as they are."""
        learning: dict[str, Any] = {"loss": self.loss, "reg": self.reg, "symmetrize": self.symmetrize}
        return GCN(filter, **(learning | changes))

    @property
    def parameter(self) -> str:
        """Name of the parameter of the family."""
        return FAMILIES[self.family]

    @property
    def strength(self) -> Any:
        """Value of the parameter of the family."""
        return _coefficients(self.coefficients) if self.family == "polynomial" else getattr(self, self.parameter)

    @property
    def place(self) -> float | None:
        """Place on the axis that is chosen; None for classes given by their fractions."""
        if self.axis != "classes":
            return float(getattr(self, self.axis))
        return None if "," in self.classes else float(self.classes)

    def filter_of(self, family: str, strength: Any) -> Filter:
        """Filter of a family at one or several strengths."""
        return Residual.constant(strength, self.depth) if family == "residual" else _FILTERS[family](strength)


def _value(name: str, value: Any) -> Any:
    if name in LIMITS:
        return _number(name, value, LIMITS[name])
    if name in CHOICES:
        if value not in CHOICES[name]:
            raise ParameterError(f"{name} = {value!r} is not one of {', '.join(CHOICES[name])}")
        return value
    if name in {"directed", "symmetrize"}:
        if str(value).lower() not in {"true", "false"}:
            raise ParameterError(f"{name} = {value!r} is neither true nor false")
        return str(value).lower() == "true"
    text = str(value)
    (_classes if name == "classes" else _coefficients)(text)
    return text


def _number(name: str, value: Any, limit: Limit) -> float | int:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} = {value!r} is not a number") from None
    if name == "reg" and number == math.inf:
        return number
    if not limit.low <= number <= limit.high:
        raise ParameterError(
            f"{name} = {number:g} is outside of {limit.low:g} ... {limit.high:g}, which is what the page shows"
        )
    if limit.whole and number != round(number):
        raise ParameterError(f"{name} = {number:g} is not a whole number")
    return int(number) if limit.whole else number


def _numbers(name: str, text: str, most: int) -> tuple[float, ...]:
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(f"{name} = {text[:40]!r} is not a number or a list such as 0.2, 0.8") from None
    if not all(map(math.isfinite, numbers)) or len(numbers) > most:
        raise ParameterError(f"{name} = {text[:40]!r} must be at most {most} finite numbers")
    return numbers


def _classes(text: str) -> int | tuple[float, ...]:
    """Number of equal classes, or their fractions."""
    numbers = _numbers("classes", text, _LARGEST_CLASSES)
    if len(numbers) > 1:
        return numbers
    if not (numbers[0].is_integer() and 2 <= numbers[0] <= _LARGEST_CLASSES):
        raise ParameterError(
            f"classes = {text} must be a number from 2 to {_LARGEST_CLASSES}, or fractions such as 0.2, 0.8"
        )
    return int(numbers[0])


def _coefficients(text: str) -> list[float]:
    return list(_numbers("coefficients", text, _LARGEST_ORDER + 1))
