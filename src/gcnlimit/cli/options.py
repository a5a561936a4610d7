"""Options shared by the verbs: how data, network and graph are written on the command line."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable
from typing import Any

import click
import numpy as np

from gcnlimit._runtime.progress import progress_bar
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM, SIGNALS
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter
from gcnlimit.network import GCN
from gcnlimit.parameters import FAMILIES, LEARNING, build_data, build_network, layered, long_name, names_at_test, spaced

_FORMS = "a number, a list a,b,c or a range first:last:count (first:last:count:log for a logarithmic one)"
EXISTING = click.Path(exists=True, dir_okay=False)
_BOUNDS = {"rho": ", in [0, 1]", "mu": ", >= 0", "alpha": ", > 0"}


class Numbers(click.ParamType):  # type: ignore[type-arg]  # older releases of click have no type argument
    """One number, ``a,b,c``, or ``first:last:count``, and ``:log`` for even steps of the logarithm; ``inf`` is a number."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Array:
        """Parse the text."""
        if isinstance(value, np.ndarray):
            return value
        try:
            if ":" in value:
                return _range(param.human_readable_name if param else "it", *value.split(":"))
            return np.array([float(v) for v in value.split(",")] if value.strip() else [])
        except ParameterError:
            raise
        except (TypeError, ValueError):
            self.fail(f"{value!r} is not {_FORMS}", param, ctx)


def _range(name: str, first: str, last: str, count: str, scale: str = "linear") -> Array:
    return spaced(name, float(first), float(last), int(count), scale)


def _number(name: str, words: str, **how: Any) -> Any:
    return click.option(f"--{name.replace('_', '-')}", name, type=Numbers(), help=words, **how)


def _filter_help(name: str, family: type[Filter]) -> str:
    words = f"{family.__name__} filter: {long_name(name)}"
    if layered(family):
        return f"{words} {name}1,{name}2,... of the layers, or with --depth one (or several to compare) for all layers."
    return f"{words} g0,g1,..." if family.deep else f"{words}."


def _all(*options: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator that adds options, in the order of the page of help."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return add


symmetrize_option = click.option(
    "--symmetrize/--no-symmetrize",
    default=True,
    show_default=True,
    help="Use edges in both directions, or as they are.",
)
device_option = click.option("--device", default="cpu", show_default=True, help="cpu, or cuda for a GPU (extra gpu).")
data_options = _all(
    *(_number(n, f"{long_name(n).capitalize()}{_BOUNDS.get(n, '')}.", required=True) for n in SIGNALS),
    _number("classes", "Number of equal classes, or their fractions such as 0.2,0.8.", default="2"),
    click.option("--undirected", is_flag=True, help="The graph is undirected."),
    click.option("--degrees-variance", type=float, help=f"{long_name('degrees_variance').capitalize()}."),
    click.option("--degrees-law", default="gamma", show_default=True, help="gamma or lognormal."),
)
network_options = _all(
    *(_number(name, _filter_help(name, family)) for name, family in FAMILIES.items()),
    *(
        _number(name, f"Another filter at test: {long_name(name.removeprefix('test_'))}.")
        for name in names_at_test()[1:]
    ),
    click.option("--depth", type=int, help="Number of layers, which share one value."),
    click.option("--loss", default="square", show_default=True, help="square, logistic or hinge."),
    _number("reg", "Regularization, > 0 or inf.", default="inf", show_default=True),
    click.option("--normalize", is_flag=True, help="Measure --reg in units of the filter's gain."),
    click.option("--normalization", default="symmetric", show_default=True, help=f"{long_name('normalization')}."),
    click.option("--tau", type=float, help=f"{long_name('tau').capitalize()}; by default the best."),
    symmetrize_option,
)
"""Parameters of the network, with those of every filter, of which exactly one must be given."""

other_graph_options = _all(
    *(
        _number(f"to_{n}", f"Test on another graph: its {long_name(n)} [default: as in training].")
        for n in ("lam", "mu", "alpha")
    )
)

graph_options = _all(
    click.option("--nodes", type=int, default=10_000, show_default=True, help="Number of nodes."),
    click.option("--degree", type=float, default=30.0, show_default=True, help="Mean degree."),
    click.option(
        "--seed", type=click.IntRange(0), default=0, show_default=True, help="The same seed gives the same graphs."
    ),
)

file_argument = functools.partial(click.argument, "file", type=EXISTING)
table_options = _all(
    click.option("--nodes", type=EXISTING, help="Table of nodes, if FILE is a list of edges."),
    click.option("--label", metavar="COLUMN", help="Column of the classes [default: label, class or y]."),
    click.option("--id", metavar="COLUMN", help="Column that names the nodes [default: the first]."),
    click.option("--drop", multiple=True, metavar="COLUMN", help="Leave out a column; may be repeated."),
    click.option("--undirected", is_flag=True, help="Ignore the direction of the edges."),
)
"""How tables of edges and nodes are read, for `load_labelled`."""


class Grid:
    """Every combination of the values given: each option with several values is an axis of its own."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.axes: dict[str, Array] = {}
        self.inputs: dict[str, Any] = {}
        for name in SIGNALS:
            self._take(name, given[name])
        self.inputs["directed"] = not given["undirected"]
        classes = given["classes"].tolist()
        alone = len(classes) == 1 and classes[0].is_integer()
        if classes != [2.0]:
            self.inputs["classes"] = int(classes[0]) if alone else tuple(classes)
        if given.get("degrees_variance") is not None:
            self.inputs |= {name: given[name] for name in ("degrees_variance", "degrees_law")}
        if "reg" in given:
            self._take_network(given)
        for name in SIGNALS:
            if given.get(f"to_{name}") is not None:
                self._take(f"to_{name}", given[f"to_{name}"])

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
        return build_data(self.inputs | self._mesh(sparse=True))

    def problem(self) -> tuple[CSBM, GCN]:
        """Data and network of the options."""
        return self.data(), build_network(self.inputs | self._mesh(sparse=True))

    def other(self) -> CSBM | None:
        """The graph to test on, if it is another one: as that of the training but for the signals given."""
        given = self.inputs | self._mesh(sparse=True)
        signals = {name: given[f"to_{name}"] for name in SIGNALS if f"to_{name}" in given}
        return build_data(given | signals) if signals else None

    def place(self, index: int) -> str:
        """Where a combination is, in words."""
        return ", ".join(f"{name} = {values[index]:g}" for name, values in self.columns().items())

    def at(self, index: int) -> Grid:
        """One of the combinations."""
        one = copy.copy(self)
        one.inputs = self.inputs | {name: float(values[index]) for name, values in self.columns().items()}
        one.axes = {}
        return one

    def ceiling(self) -> Array:
        """Bayes-optimal accuracy at every combination, computed once for each point of the data."""
        from gcnlimit.theory.bayes import bayes_optimal

        to = self.other()
        found = bayes_optimal(self.data()) if to is None else bayes_optimal(self.data(), to=to.replaced(rho=0.0))
        return np.broadcast_to(found.test_accuracy, self.shape)

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

    def _take_network(self, given: dict[str, Any]) -> None:
        chosen = [name for name in FAMILIES if given.get(name) is not None]
        if len(chosen) != 1:
            known = ", ".join(f"--{name}" for name in FAMILIES)
            got = " and ".join(f"--{name}" for name in chosen) or "none"
            raise click.UsageError(f"choose one filter among {known} (got {got}).")
        self._take("reg", given["reg"])
        self._take_filter(chosen[0], given[chosen[0]], given["depth"])
        at_test = [name for name in names_at_test() if given.get(name) is not None]
        if len(at_test) > 1:
            raise click.UsageError(f"choose one filter at test (got {' and '.join(f'--{n}' for n in at_test)}).")
        for name in at_test:
            self._take(name, given[name])
        self.inputs |= {name: given[name] for name in LEARNING if name != "reg" and given.get(name) is not None}

    def _take_filter(self, name: str, values: Array, depth: int | None) -> None:
        family = FAMILIES[name]
        if depth is not None and not layered(family):
            owners = [f"--{other}" for other, kind in FAMILIES.items() if layered(kind)]
            raise click.UsageError(f"--depth goes with {' or '.join(owners)} alone.")
        if family.deep and depth is None:
            self.inputs[name] = tuple(values.tolist())
            return
        self._take(name, values)
        if depth is not None:
            self.inputs["depth"] = depth


def load_labelled(file: str, nodes: str | None = None, split: int | None = None, **tables: Any) -> Any:
    """Data set of a file, and of a table of nodes if it lists edges; some nodes must have labels.

    What was done to the tables is printed to standard error; `split` is refused where the file has none.
    """
    with progress_bar("Reading", None):
        from gcnlimit import real

        data = real.read(file, nodes, **tables)
    for note in data.notes:
        click.echo(note, err=True)
    if all(c in (-1, "") for c in data.y.tolist()):
        if nodes is None:
            raise ParameterError(
                f"{file!r} lists edges only; give the table of nodes, with the classes of some, by --nodes"
            )
        raise ParameterError(f"{nodes!r} labels no node; name the column of the classes by --label")
    if split and not data.splits:
        raise ParameterError(f"--split {split}: {file!r} has no splits; leave the option out to train on all labels")
    return data
