"""Options shared by the verbs: how data, network and graph are written on the command line."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
import numpy as np

from gcnlimit import parameters
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM, SIGNALS
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter
from gcnlimit.network import GCN
from gcnlimit.parameters import FAMILIES, LAWS, layered, long_name, names_at_test
from gcnlimit.results.performance import Prediction

Verb = Callable[..., Any]
Decorator = Callable[[Verb], Verb]
_RANGE = "first:last:count"
_FORMS = f"a number, a list a,b,c or a range {_RANGE} ({_RANGE}:log for a logarithmic one)"
_BOUNDS = {"rho": ", in [0, 1]", "mu": ", >= 0", "alpha": ", > 0"}
EXISTING = click.Path(exists=True, dir_okay=False)
FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
NATURAL = click.IntRange(0)
POSITIVE = click.IntRange(1)


class NumberList(click.ParamType):  # type: ignore[type-arg]  # older releases have no type argument
    """One number, ``a,b,c``, or ``first:last:count``, and ``:log`` for even steps of the logarithm; ``inf`` is a number."""

    name = "numbers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Array:
        """Parse the text."""
        if isinstance(value, np.ndarray):
            return value
        try:
            if ":" not in value:
                return np.array([float(v) for v in value.split(",")] if value.strip() else [])
            first, last, count, *scale = value.split(":")
            name = param.human_readable_name if param else "it"
            return parameters.spaced(name, float(first), float(last), int(count), *scale)
        except ParameterError:
            raise
        except (TypeError, ValueError):
            self.fail(f"{value!r} is not {_FORMS}", param, ctx)


def option(flag: str, words: str, name: str = "", **how: Any) -> Decorator:
    """Option of click with its help, for the argument `name` of the verb; a default is shown."""
    shown = {"show_default": how.get("default") is not None}
    return click.option(*([flag, name] if name else [flag]), help=words, **shown | how)


def _flags(names: Iterable[str], between: str = ", ") -> str:
    return between.join(f"--{name.replace('_', '-')}" for name in names)


def _numbers(name: str, words: str, **how: Any) -> Decorator:
    return option(_flags([name]), words, type=NumberList(), **how)


def _signal_help(name: str) -> str:
    return f"{long_name(name).capitalize()}{_BOUNDS.get(name, '')}."


def _filter_help(name: str, family: type[Filter]) -> str:
    words = f"{family.__name__} filter: {long_name(name)}"
    if not layered(family):
        return f"{words} g0,g1,..." if family.deep else f"{words}."
    each = f"{words} {name}1,{name}2,... of the layers"
    return f"{each}, or with --depth one (or several to compare) for all layers."


def together(*options: Decorator) -> Decorator:
    """Decorator that adds options, in the order of the page of help."""

    def add(function: Verb) -> Verb:
        for decorate in reversed(options):
            function = decorate(function)
        return function

    return add


_SYMMETRIZE = "Use edges in both directions, or as they are."
symmetrize_option = option("--symmetrize/--no-symmetrize", _SYMMETRIZE, default=True)
device_option = option("--device", "cpu, or cuda for a GPU (extra gpu).", default="cpu")
plot_option = option("--plot", "Also save a plot to this file (.png, .pdf, .svg).", type=FILE)
split_option = option("--split", "Which split of FILE to train on.", type=NATURAL, default=0)

_CLASSES = "Number of equal classes, or their fractions such as 0.2,0.8."
data_options = together(
    *(_numbers(name, _signal_help(name), required=True) for name in SIGNALS),
    _numbers("classes", _CLASSES, default="2", show_default=False),
    option("--undirected", "The graph is undirected.", is_flag=True),
    option("--noise", _signal_help("noise"), type=float, default=0.0, show_default=False),
    option("--degrees-variance", _signal_help("degrees_variance"), type=float),
    option("--degrees-law", "Law of such degrees.", type=click.Choice([*LAWS]), default="gamma"),
)

_TRAINED = {
    "time": "Time of gradient flow: epochs times learning rate on the mean loss / --rho.",
    "steps": "Steps (epochs) of full-batch gradient descent from zero weights, square loss.",
    "rate": "Size of the steps: learning rate on the mean loss of the labelled nodes / --rho.",
    "momentum": "Momentum of gradient descent  [default: 0].",
}
_REG = "Regularization, > 0 or inf: --rho times weight decay  [default: inf; 0 if training stops]."
_AT_TEST = "Another filter at test time: {}."
_TESTED = [name.removeprefix("test_") for name in names_at_test()[1:]]
network_options = together(
    *(_numbers(name, _filter_help(name, family)) for name, family in FAMILIES.items()),
    *(_numbers(f"test_{name}", _AT_TEST.format(long_name(name))) for name in _TESTED),
    option("--depth", "Number of layers, which share one value.", type=int),
    option("--loss", "square, logistic, hinge or softmax.", default="square"),
    _numbers("reg", _REG),
    *(_numbers(name, words) for name, words in _TRAINED.items()),
    option("--normalize", "Measure --reg in units of the filter's gain.", is_flag=True),
    option("--normalization", f"{long_name('normalization')}.", default="symmetric"),
    option("--tau", f"{long_name('tau').capitalize()}; by default 1/lam^2.", type=float),
    symmetrize_option,
)
"""Parameters of the network, with those of every filter, of which exactly one must be given."""

_OTHER = "Test on another graph: its {} [default: as in training]."
other_graph_options = together(
    *(_numbers(f"to_{name}", _OTHER.format(long_name(name))) for name in ("lam", "mu", "alpha"))
)

graph_options = together(
    option("--nodes", "Number of nodes.", type=int, default=10_000),
    option("--degree", "Mean degree.", type=float, default=30.0),
    option("--seed", "The same seed gives the same graphs.", type=NATURAL, default=0),
)

_SCALE = "Scale columns to variance 1, rows to norm 1, or whichever suits the table."
_SCALES = click.Choice(["auto", "columns", "rows"])
scale_option = option("--scale", _SCALE, type=_SCALES, default="auto")
_WORDS = "Column of words, also where they look like numbers or NA; may be repeated."
file_argument = click.argument("file", type=EXISTING)
table_options = together(
    option("--nodes", "Table of nodes, if FILE is a list of edges.", type=EXISTING),
    option("--label", "Column of the classes [default: label, class or y].", metavar="COLUMN"),
    option("--id", "Column that names the nodes [default: the first, or id].", metavar="COLUMN"),
    option("--drop", "Leave out a column; may be repeated.", metavar="COLUMN", multiple=True),
    option("--words", _WORDS, metavar="COLUMN", multiple=True),
    option("--undirected", "Ignore the direction of the edges.", is_flag=True),
    option("--encoding", "Encoding of the tables [default: utf-8, else cp1252].", metavar="NAME"),
)
"""How tables of edges and nodes are read, for `load_labelled`."""


class Grid:
    """Every combination of the values given: each option with several values is an axis of its own."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self.axes: dict[str, Array] = {}
        self.inputs: dict[str, Any] = {}
        for name in SIGNALS:
            self._take(name, arguments[name])
        self.inputs["directed"] = not arguments["undirected"]
        classes = arguments["classes"].tolist()
        alone = len(classes) == 1 and classes[0].is_integer()
        if classes != [2.0]:
            self.inputs["classes"] = int(classes[0]) if alone else tuple(classes)
        if arguments["noise"]:
            self.inputs["noise"] = arguments["noise"]
        if arguments.get("degrees_variance") is not None:
            self.inputs |= {name: arguments[name] for name in ("degrees_variance", "degrees_law")}
        if "reg" in arguments:
            self._take_network(arguments)
        for name in (f"to_{signal}" for signal in SIGNALS):
            if arguments.get(name) is not None:
                self._take(name, arguments[name])

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values along each axis."""
        return tuple(values.size for values in self.axes.values())

    @property
    def size(self) -> int:
        """Number of combinations."""
        return math.prod(self.shape)

    def columns(self) -> dict[str, Array]:
        """Value of each axis at each combination, flattened."""
        return {name: values.ravel() for name, values in self._mesh(sparse=False).items()}

    def data(self) -> CSBM:
        """Data of the options, one axis for each option of several values."""
        return parameters.build_data(self._values())

    def problem(self) -> tuple[CSBM, GCN]:
        """Data and network of the options."""
        return self.data(), parameters.build_network(self._values())

    def other(self) -> CSBM | None:
        """The graph to test on, if it is another one: as that of the training but for the signals given."""
        values = self._values()
        signals = {name: values[f"to_{name}"] for name in SIGNALS if f"to_{name}" in values}
        return parameters.build_data(values | signals) if signals else None

    def at(self, index: int) -> Grid:
        """Grid of a single combination."""
        point = copy.copy(self)
        point.inputs = self.inputs | {n: float(v[index]) for n, v in self.columns().items()}
        point.axes = {}
        return point

    def exact(self, degree: float | None = None) -> Prediction:
        """Performance at every combination in the large-size limit, on the other graph if there is one."""
        from gcnlimit.theory.predict import predict
        from gcnlimit.theory.transfer import transfer

        to = self.other()
        if to is not None:
            return transfer(*self.problem(), to)
        return predict(*self.problem(), degree=degree, throw=False)

    def ceiling(self) -> Array:
        """Bayes-optimal accuracy at every combination, computed once for each point of the data."""
        from gcnlimit.theory.bayes import bayes_optimal

        to = self.other()
        other: Any = {} if to is None else {"to": to.replaced(rho=0.0)}
        return np.broadcast_to(bayes_optimal(self.data(), **other).test_accuracy, self.shape)

    def _values(self) -> dict[str, Any]:
        return self.inputs | self._mesh(sparse=True)

    def _mesh(self, *, sparse: bool) -> dict[str, Array]:
        mesh = np.meshgrid(*self.axes.values(), indexing="ij", sparse=sparse)
        return dict(zip(self.axes, mesh, strict=True))

    def _take(self, name: str, values: Array) -> None:
        if values.size == 0:
            raise ParameterError(f"{name} is empty; give at least one value")
        if values.size > 1:
            self.axes[name] = values
        else:
            self.inputs[name] = float(values[0])

    def _take_network(self, arguments: dict[str, Any]) -> None:
        named = {name: value for name, value in arguments.items() if value is not None}
        chosen = [name for name in FAMILIES if name in named]
        if len(chosen) != 1:
            got = _flags(chosen, " and ") or "none"
            raise click.UsageError(f"choose one filter among {_flags(FAMILIES)} (got {got}).")
        at_test = [name for name in names_at_test() if name in named]
        if len(at_test) > 1:
            raise click.UsageError(f"choose one filter at test (got {_flags(at_test, ' and ')}).")
        times = [name for name in parameters.TIMES if name in named]
        self._take("reg", named.get("reg", np.array([0.0 if times else math.inf])))
        self._take_filter(chosen[0], arguments[chosen[0]], arguments["depth"])
        for name in (*at_test, *times):
            self._take(name, arguments[name])
        taken = ("reg", *times)
        others = [name for name in parameters.LEARNING if name in named and name not in taken]
        self.inputs |= {name: arguments[name] for name in others}

    def _take_filter(self, name: str, values: Array, depth: int | None) -> None:
        family = FAMILIES[name]
        if depth is not None and not layered(family):
            owners = [other for other, kind in FAMILIES.items() if layered(kind)]
            raise click.UsageError(f"--depth goes with {_flags(owners, ' or ')} alone.")
        if family.deep and depth is None:
            self.inputs[name] = tuple(values.tolist())
            return
        self._take(name, values)
        if depth is not None:
            self.inputs["depth"] = depth


def load_labelled(
    file: str, nodes: str | None = None, split: int | None = None, **tables: Any
) -> Any:
    """Data set of a file, and of a table of nodes if it lists edges; some nodes must have labels.

    What was done to the tables is printed to standard error; `split` is refused where the file has none.
    """
    from gcnlimit.real.files import read_labelled

    data = read_labelled(file, nodes, **tables)
    for note in data.notes:
        click.echo(note, err=True)
    if split and not data.splits:
        raise ParameterError(f"--split {split}: {file!r} has no splits; leave the option out")
    return data
