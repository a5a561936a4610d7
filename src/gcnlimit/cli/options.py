"""Options shared by the verbs: how data and network are written on the command line."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click
import numpy as np

from gcnlimit._values import Array
from gcnlimit.csbm import CSBM, SIGNALS
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter
from gcnlimit.network import GCN
from gcnlimit.parameters import LEARNING, build_data, build_network, families, layered, long_name, spaced

_FORMS = "a number, a list a,b,c or a range first:last:count (first:last:count:log for a logarithmic one)"


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


device_option = click.option(
    "--device", default="cpu", show_default=True, help="cpu, or cuda for a graphics card (extra gpu)."
)
symmetrize_option = click.option(
    "--symmetrize/--no-symmetrize",
    default=True,
    show_default=True,
    help="Apply the symmetrized graph, or the graph as it is.",
)


def data_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the parameters of the data."""
    function = click.option("--undirected", is_flag=True, help="The graph is drawn symmetric.")(function)
    function = click.option(
        "--classes", type=Numbers(), default="2", help="Number of equal classes, or their fractions such as 0.2,0.8."
    )(function)
    function = click.option("--degrees-law", default="gamma", show_default=True, help="gamma or lognormal.")(function)
    function = click.option("--degrees-variance", type=float, help=f"{long_name('degrees_variance').capitalize()}.")(
        function
    )
    bounds = {"rho": ", in [0, 1]", "mu": ", >= 0", "alpha": ", > 0"}
    for name in reversed(SIGNALS):
        text = f"{long_name(name).capitalize()}{bounds.get(name, '')}."
        function = click.option(f"--{name}", type=Numbers(), required=True, help=text)(function)
    return function


def network_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the parameters of the network, with those of every filter; exactly one filter must be given."""
    filters = [
        click.option(f"--{name.replace('_', '-')}", name, type=Numbers(), help=_help(name, family))
        for name, family in families().items()
    ]
    for option in (
        symmetrize_option,
        click.option("--tau", type=float, help=f"{long_name('tau').capitalize()}; by default the best."),
        click.option("--normalization", default="symmetric", show_default=True, help=f"{long_name('normalization')}."),
        click.option("--normalize", is_flag=True, help="Give --reg in units of the gain of the filter."),
        click.option("--reg", type=Numbers(), default="inf", show_default=True, help="Regularization, > 0 or inf."),
        click.option("--loss", default="square", show_default=True, help="square, logistic or hinge."),
        click.option("--depth", type=int, help="Number of layers that share one value."),
        *filters,
    ):
        function = option(function)
    return function


def _help(name: str, family: type[Filter]) -> str:
    words = f"{family.__name__} filter: {long_name(name)}"
    if layered(family):
        return f"{words} {name}1,{name}2,... of the layers, or with --depth one (or several to compare) for all layers."
    return f"{words} g0,g1,..." if family.deep else f"{words}."


def graph_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the size of a sampled graph."""
    for option in (
        click.option(
            "--seed", type=click.IntRange(0), default=0, show_default=True, help="The same seed gives the same graphs."
        ),
        click.option("--degree", type=float, default=30.0, show_default=True, help="Mean degree."),
        click.option("--nodes", type=int, default=10_000, show_default=True, help="Number of nodes."),
    ):
        function = option(function)
    return function


class Grid:
    """Every combination of the values given: each option with several values is an axis of its own."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._given = given
        self.axes: dict[str, Array] = {}
        self.inputs: dict[str, Any] = {}
        for name in SIGNALS:
            self._take(name, given[name])
        self.inputs["directed"] = not given["undirected"]
        self._take_classes(given["classes"])
        if given.get("degrees_variance") is not None:
            self.inputs |= {name: given[name] for name in ("degrees_variance", "degrees_law")}
        if "symmetrize" in given and "reg" in given:
            self._take_network(given)

    @property
    def size(self) -> int:
        """Number of combinations."""
        return math.prod(values.size for values in self.axes.values())

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values along each axis."""
        return tuple(values.size for values in self.axes.values())

    def columns(self) -> dict[str, Array]:
        """Value of each axis at each combination, flattened."""
        mesh = np.meshgrid(*self.axes.values(), indexing="ij") if self.axes else []
        return {name: values.ravel() for name, values in zip(self.axes, mesh, strict=True)}

    def data(self) -> CSBM:
        """Data of the options, one axis for each option of several values."""
        return build_data(self._aligned())

    def problem(self) -> tuple[CSBM, GCN]:
        """Data and network of the options."""
        return self.data(), build_network(self._aligned())

    def place(self, index: int) -> str:
        """Where a combination is, in words."""
        return ", ".join(f"{name} = {values[index]:g}" for name, values in self.columns().items())

    def refusal(self, index: int) -> str:
        """Sentence by which `predict` refuses a combination; it names the parameter at fault."""
        from gcnlimit.theory.predict import predict

        columns = self.columns()
        point = self.inputs | {name: float(columns[name][index]) for name in columns}
        try:
            predict(build_data(point), build_network(point))
        except ParameterError as error:
            return str(error)
        return ""

    def ceiling(self) -> Array:
        """Bayes-optimal accuracy at every combination, computed once for each point of the data."""
        from gcnlimit.theory.bayes import bayes_optimal

        return np.broadcast_to(bayes_optimal(self.data()).test_accuracy, self.shape)

    def _take(self, name: str, values: Array) -> None:
        if values.size == 0:
            raise ParameterError(f"{name} is empty; give at least one value")
        if values.size > 1:
            self.axes[name] = values
        else:
            self.inputs[name] = float(values[0])

    def _take_classes(self, values: Array) -> None:
        """A number of equal classes, said if it is not two, or the fractions of unequal ones."""
        alone = values.size == 1 and float(values[0]).is_integer()
        classes = int(values[0]) if alone else tuple(values.tolist())
        if classes != 2:
            self.inputs["classes"] = classes

    def _take_network(self, given: dict[str, Any]) -> None:
        chosen = [name for name in families() if given.get(name) is not None]
        if len(chosen) != 1:
            listing = " and ".join(f"--{name}" for name in chosen)
            raise click.UsageError(
                f"choose one filter among {', '.join(f'--{name}' for name in families())} (got {listing or 'none'})."
            )
        self._take("reg", given["reg"])
        self._take_filter(chosen[0], given[chosen[0]], given["depth"])
        self.inputs |= {name: given[name] for name in LEARNING if name != "reg" and given.get(name) is not None}

    def _take_filter(self, name: str, values: Array, depth: int | None) -> None:
        family = families()[name]
        if depth is not None and not layered(family):
            owners = [f"--{other}" for other, kind in families().items() if layered(kind)]
            raise click.UsageError(f"--depth goes with {' or '.join(owners)} alone.")
        if family.deep and depth is None:
            self.inputs[name] = tuple(values.tolist())
            return
        self._take(name, values)
        if depth is not None:
            self.inputs["depth"] = depth

    def _aligned(self) -> dict[str, Any]:
        """Each array with its own axis in the order of `axes`, single values as they are."""
        count = len(self.axes)
        shapes = np.where(np.eye(count), -1, 1).tolist()
        arrays = zip(self.axes.items(), shapes, strict=True)
        return self.inputs | {name: values.reshape(shape) for (name, values), shape in arrays}
