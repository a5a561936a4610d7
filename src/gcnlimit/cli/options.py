"""Options shared by the verbs: how data and network are written on the command line."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click
import numpy as np

from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Diffusion, Filter, PageRank, Polynomial, Residual
from gcnlimit.network import GCN

__all__ = ["Grid", "Numbers", "data_options", "graph_options", "json_option", "network_options", "symmetrize_option"]


class Numbers(click.ParamType[Array]):
    """One number, ``a,b,c``, or ``first:last:count``; ``inf`` is a number."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Array:
        """Parse the text."""
        if isinstance(value, np.ndarray):
            return value
        try:
            if ":" in value:
                first, last, count = value.split(":")
                if int(count) < 1:
                    raise ValueError
                return np.linspace(float(first), float(last), int(count))
            return np.array([float(v) for v in value.split(",")] if value.strip() else [])
        except ValueError:
            self.fail(f"{value!r} is not a number, a list a,b,c or a range first:last:count", param, ctx)


symmetrize_option = click.option(
    "--symmetrize/--no-symmetrize",
    default=True,
    show_default=True,
    help="Apply the symmetrized graph, or the graph as it is.",
)


def data_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the parameters of the data."""
    for option in (
        click.option("--undirected", is_flag=True, help="The graph is drawn symmetric."),
        click.option("--rho", type=Numbers(), required=True, help="Fraction of labelled nodes, in [0, 1]."),
        click.option("--mu", type=Numbers(), required=True, help="Signal of the features, >= 0."),
        click.option("--lam", type=Numbers(), required=True, help="Signal of the graph."),
        click.option("--alpha", type=Numbers(), required=True, help="Nodes over features, > 0."),
    ):
        function = option(function)
    return function


def network_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the parameters of the network; exactly one filter must be given."""
    for option in (
        symmetrize_option,
        click.option("--reg", type=Numbers(), default="inf", show_default=True, help="Regularization, > 0 or inf."),
        click.option("--loss", default="square", show_default=True, help="square, logistic or hinge."),
        click.option("--coefficients", type=Numbers(), help="Polynomial filter: its coefficients g0,g1,..."),
        click.option("--theta", type=Numbers(), help="PageRank filter 1/(1 - theta x)."),
        click.option("--t", type=Numbers(), help="Continuous network: the diffusion time."),
        click.option("--depth", type=int, help="Number of layers that share the strength given by --c."),
        click.option(
            "--c",
            type=Numbers(),
            help="Residual network: strengths c1,c2,... of the layers, or with --depth "
            "one strength (or several to compare) for all layers.",
        ),
    ):
        function = option(function)
    return function


def graph_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the size of a sampled graph."""
    for option in (
        click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same graphs."),
        click.option("--degree", type=float, default=30.0, show_default=True, help="Mean degree."),
        click.option("--nodes", type=int, default=10_000, show_default=True, help="Number of nodes."),
    ):
        function = option(function)
    return function


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


class Grid:
    """Every combination of the values given: each option with several values is an axis of its own."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.axes: dict[str, Array] = {}
        self._given = given

    def data(self) -> CSBM:
        """Data of the options, one axis for each option of several values."""
        lone = {name: self._axis(name, self._given[name]) for name in ("alpha", "lam", "mu", "rho")}
        return CSBM(**self._aligned(lone), directed=not self._given["undirected"])

    def problem(self) -> tuple[CSBM, GCN]:
        """Data and network of the options."""
        lone = {name: self._axis(name, self._given[name]) for name in ("alpha", "lam", "mu", "rho", "reg")}
        build, strength = self._filter()
        values = self._aligned(lone | strength)
        network = GCN(
            build(*(values[name] for name in strength)),
            loss=self._given["loss"],
            reg=values["reg"],
            symmetrize=self._given["symmetrize"],
        )
        data = {name: values[name] for name in ("alpha", "lam", "mu", "rho")}
        return CSBM(**data, directed=not self._given["undirected"]), network

    def _filter(self) -> tuple[Callable[..., Filter], dict[str, Array]]:
        """How to build the filter, and the parameter that may be an axis."""
        given = self._given
        chosen = [name for name in ("c", "t", "theta", "coefficients") if given[name] is not None]
        if given["depth"] is not None and chosen != ["c"]:
            raise click.UsageError("--depth goes with --c alone.")
        if len(chosen) != 1:
            listing = " and ".join(f"--{name}" for name in chosen)
            raise click.UsageError(
                f"choose one filter among --c, --t, --theta, --coefficients (got {listing or 'none'})."
            )
        name = chosen[0]
        if name == "c" and given["depth"] is not None:
            return (lambda c: Residual.constant(c, given["depth"])), {"c": self._axis("c", given["c"])}
        if name == "c":
            return (lambda: Residual(given["c"])), {}
        if name == "coefficients":
            return (lambda: Polynomial(given["coefficients"])), {}
        return {"t": Diffusion, "theta": PageRank}[name], {name: self._axis(name, given[name])}

    def _axis(self, name: str, values: Array) -> Array:
        if values.size == 0:
            raise ParameterError(f"{name} is empty; give at least one value")
        if values.size > 1:
            self.axes[name] = values
        return values

    def _aligned(self, values: dict[str, Array]) -> dict[str, Any]:
        """Each array with its own axis in the order of `axes`, single values as numbers."""
        names = list(self.axes)
        shaped: dict[str, Any] = {}
        for name, array in values.items():
            if name in self.axes:
                shaped[name] = array.reshape([-1 if axis == name else 1 for axis in names])
            else:
                shaped[name] = float(array[0])
        return shaped

    @property
    def size(self) -> int:
        """Number of combinations."""
        return math.prod(values.size for values in self.axes.values())

    def columns(self) -> dict[str, Array]:
        """Value of each axis at each combination, flattened."""
        mesh = np.meshgrid(*self.axes.values(), indexing="ij") if self.axes else []
        return {name: values.ravel() for name, values in zip(self.axes, mesh, strict=True)}
