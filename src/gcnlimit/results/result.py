"""Results that can be looked at: the parameters that they were computed for, and what they share."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.extras import need
from gcnlimit.results.markup import as_html
from gcnlimit.results.pictures import draw
from gcnlimit.results.text import summary

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Parameters that a result was computed for; each broadcasts to the shape of the points.

    An axis is named after the first parameter that varies along it and along no other.

    >>> labels = Coordinates({"alpha": 4.0, "lam": np.array([[0.5], [1.0]]), "mu": np.array([1.0, 2.0, 3.0])})
    >>> labels.axes((2, 3)), labels.constants((2, 3))
    (('lam', 'mu'), {'alpha': 4.0})
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)

    def without(self, names: Collection[str]) -> Coordinates:
        """The others."""
        others = {name: value for name, value in self.parameters.items() if name not in names}
        return Coordinates(others)

    def axes(self, shape: tuple[int, ...]) -> tuple[str, ...]:
        """Name of each axis of the points; ``point``, numbered if there are several, where no parameter varies along it alone."""
        names = ["point"] if len(shape) == 1 else [f"point_{k}" for k in range(len(shape))]
        for k in range(len(shape)):
            along = (name for name in self.parameters if self._belongs(name, k, shape))
            names[k] = next(along, names[k])
        return tuple(names)

    def coordinates(self, shape: tuple[int, ...]) -> dict[str, tuple[Any, npt.NDArray[Any]]]:
        """Each parameter with the axes along which it varies, and its values there."""
        axes = self.axes(shape)
        places = {}
        for name, value in self.parameters.items():
            along = self._spans(name, shape)
            if name in axes and not along:
                along = (axes.index(name),)
            values = np.reshape(value, [shape[k] for k in along])
            places[name] = (tuple(axes[k] for k in along), values)
        return places

    def columns(self, shape: tuple[int, ...]) -> dict[str, npt.NDArray[Any]]:
        """Each parameter at every point, flattened; those that name the axes first."""
        axes = [name for name in self.axes(shape) if name in self.parameters]
        names = dict.fromkeys([*axes, *self.parameters])  # each once, in that order
        return {name: np.broadcast_to(self.parameters[name], shape).reshape(-1) for name in names}

    def constants(self, shape: tuple[int, ...]) -> dict[str, Any]:
        """The parameters that are the same at all points and name no axis."""
        others = self.without(self.axes(shape)).parameters
        flat = {name: np.ravel(value) for name, value in others.items()}
        return {name: value[0].item() for name, value in flat.items() if np.all(value == value[0])}

    def _spans(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Axes along which a parameter varies."""
        spans = np.shape(self.parameters[name])
        return tuple(k + len(shape) - len(spans) for k, length in enumerate(spans) if length > 1)

    def _belongs(self, name: str, k: int, shape: tuple[int, ...]) -> bool:
        """Whether a parameter lies along one axis only; along an axis of length 1, whether it was given as such."""
        if shape[k] == 1:
            spans = np.shape(self.parameters[name])
            return len(spans) == len(shape) - k and np.prod(spans) == 1
        return self._spans(name, shape) == (k,)


@dataclass(frozen=True, eq=False)
class Result(ABC):
    """Base class of results: a short `repr`, a table in notebooks, and conversion to pandas, xarray and Matplotlib.

    Columns and axes carry the names of the parameters that a result was computed for.

    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=[0.5, 1.0, 1.5], mu=2.0, rho=0.1)
    >>> curve = gl.predict(data, gl.GCN(gl.Diffusion(t=1.0)))
    >>> curve
    <Prediction over lam (3): test_accuracy 0.686174 to 0.972066, train_accuracy 0.917982 to 0.984645, test_loss 0.5,
    train_loss 0.5, log_test_error -3.57792 to -1.15892, status EXPLICIT>
    >>> curve.to_dataframe()[["lam", "test_accuracy"]].round(4).values.tolist()
    [[0.5, 0.6862], [1.0, 0.873], [1.5, 0.9721]]
    >>> curve.to_xarray().test_accuracy.sel(lam=1.0).round(4).item()
    0.873
    """

    coordinates: Coordinates = field(default_factory=Coordinates, kw_only=True)
    """The parameters that the result was computed for."""

    _plotted: ClassVar[str] = "test_accuracy"

    @abstractmethod
    def _shown(self) -> dict[str, Any]:
        """Fields of the result by name, each an array of the shape of its points."""

    def _points(self) -> Coordinates:
        """The parameters that the result was computed for."""
        return self.coordinates

    def _columns(self) -> tuple[tuple[int, ...], dict[str, npt.NDArray[Any]]]:
        """Shape of the points, and what is shown."""
        shown = {name: np.asarray(value) for name, value in self._shown().items()}
        shape = np.broadcast_shapes(*(value.shape for value in shown.values()))
        return shape, {name: np.broadcast_to(value, shape) for name, value in shown.items()}

    def _located(self) -> tuple[tuple[str, ...], dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Names of the axes, each parameter with its axes and values, and what is shown."""
        shape, shown = self._columns()
        return self._points().axes(shape), self._points().coordinates(shape), shown

    def __repr__(self) -> str:
        """One line: the numbers of a single point, or the ranges of many."""
        shape, shown = self._columns()
        axes = dict(zip(self._points().axes(shape), shape, strict=True))
        return summary(type(self).__name__, axes, shown)

    def _content(self) -> tuple[Any, ...]:
        shape, shown = self._columns()
        columns = self._points().columns(shape) | shown
        return shape, *((name, values.tobytes()) for name, values in columns.items())

    def __eq__(self, other: object) -> bool:
        """Whether a result of the same kind shows the same numbers for the same parameters."""
        return type(other) is type(self) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def _repr_html_(self) -> str:
        """Table for notebooks: the parameters that vary and the numbers, the fixed parameters above it."""
        shape, shown = self._columns()
        fixed = self._points().constants(shape)
        varying = self._points().without(fixed).columns(shape)
        return as_html(type(self).__name__, fixed, varying | shown)

    def to_dataframe(self) -> pandas.DataFrame:
        """One row for each point: the parameters by name, then the numbers (needs pandas)."""
        need("to_dataframe", "sweep", "pandas")
        from pandas import DataFrame

        shape, shown = self._columns()
        flat = {name: column.reshape(-1) for name, column in shown.items()}
        return DataFrame(self._points().columns(shape) | flat)

    def to_xarray(self) -> xarray.Dataset:
        """Dataset whose dimensions are the parameters that vary, the others being coordinates (needs xarray)."""
        need("to_xarray", "sweep", "xarray")
        from xarray import Dataset

        axes, coordinates, shown = self._located()
        return Dataset({name: (axes, value) for name, value in shown.items()}, coordinates)

    def plot(self, name: str | None = None, *, axes: Axes | None = None) -> Axes:
        """Draw one quantity over the parameters that vary: a curve over one; curves or a map over two (needs Matplotlib).

        By default the test accuracy (for a gap map, the gap), on the axes of a new figure.
        """
        return draw(*self._located(), self._plotted if name is None else name, axes)


def status_names(kind: type[enum.IntEnum], status: Any) -> npt.NDArray[Any]:
    """Names of the members that a status or an array of them stands for."""
    names = {member.value: member.name for member in kind}
    return np.array([names[int(value)] for value in np.ravel(status)]).reshape(np.shape(status))
