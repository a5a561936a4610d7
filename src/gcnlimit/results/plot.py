"""Results as pictures; Matplotlib is imported where it is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.extras import need
from gcnlimit.errors import ParameterError
from gcnlimit.results.text import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Columns = Mapping[str, npt.NDArray[Any]]
Places = Mapping[str, tuple[Any, npt.NDArray[Any]]]
"""Each parameter with the axes along which it varies, and its values there."""

_CURVES = 8  # the most that can be distinguished in one panel
_DECADES = 100.0  # ratio of positive values from which their axis is logarithmic


def draw(names: Sequence[str], coordinates: Places, shown: Columns, name: str, axes: Axes | None) -> Axes:
    """Draw one quantity over one of the axes `names` as a curve, over two as a few curves or a map."""
    shape = _checked(name, shown)
    axes = ready_axes(axes) if axes is not None else _titled(ready_axes(axes), coordinates)
    long = [k for k, length in enumerate(shape) if length > 1]
    if not long:
        raise ParameterError("nothing varies in this result; give data or network an array to draw a curve")
    if len(long) > 2:
        raise ParameterError(f"{len(long)} parameters vary, and a picture shows two; select with to_xarray().sel(...)")
    x, *other = sorted(long, key=lambda k: -shape[k])
    lines = [(names[k], _along(coordinates, names[k], shape[k])) for k in (x, *other)]
    values = _plane(shown[name], x, other)
    if len(lines) == 2 and values.shape[1] > _CURVES:
        _map(axes, lines, values, name)
    else:
        error = shown.get(f"{name}_standard_error")
        _curves(axes, lines, values, None if error is None else _plane(error, x, other))
        axes.set_ylabel(name.replace("_", " "))
    return axes


def draw_methods(
    names: Sequence[str], coordinates: Places, shown: Columns, name: str | None, axes: Axes | None
) -> Axes:
    """Draw methods side by side: a dot for each at a single point, a curve for each where one parameter varies.

    By default the test accuracy at a point, and along a curve the gap to the last method, which is the ceiling.
    """
    points = shown["gap"].shape[1:]
    if len(points) > 1:
        raise ParameterError("a comparison over several parameters cannot be drawn; vary one of them")
    name = name or ("gap" if points else "test_accuracy")
    _checked(name, shown)
    axes = ready_axes(axes)
    methods = [str(method) for method in coordinates["method"][1]]
    if points:
        x = _place(axes, names[1], _along(coordinates, names[1], points[0]), "x")
        _gaps(axes, x, methods, shown[name], name)
    else:
        _dots(axes, methods, shown[name], name)
    return axes


def draw_filter(x: npt.NDArray[Any], g: npt.NDArray[Any], axes: Axes | None) -> Axes:
    """Draw a filter over the spectrum, and its value at the last point, the spike, as a dot."""
    axes = ready_axes(axes)
    axes.plot(x[:-1], g[:-1])
    axes.plot(x[-1:], g[-1:], "o", color="black", label="spike")
    axes.set(xlabel="eigenvalue", ylabel="filter")
    axes.legend(frameon=False)
    return axes


def _gaps(axes: Axes, x: npt.NDArray[Any], methods: list[str], values: npt.NDArray[Any], name: str) -> None:
    """One curve for each method; of the gap, none for the ceiling, and principal component analysis may leave the frame."""
    for method, curve in list(zip(methods, values, strict=True))[: -1 if name == "gap" else None]:
        axes.plot(x, curve, label=method)
    axes.set_ylabel("accuracy below the Bayes-optimal" if name == "gap" else name.replace("_", " "))
    if name == "gap":
        rest = [curve for method, curve in zip(methods, values, strict=True) if not method.startswith("PCA")]
        axes.set_ylim(0.0, 1.1 * float(np.max(rest)))
    axes.legend(fontsize="small", frameon=False)


def _dots(axes: Axes, methods: list[str], values: npt.NDArray[Any], name: str) -> None:
    """One dot for each method, its value beside it; a dotted line at the last, the ceiling."""
    rows = np.arange(len(methods))[::-1]
    axes.plot(values, rows, "o", color="black")
    for row, value in zip(rows, values, strict=True):
        axes.annotate(f"{value:.4f}", (value, row), (6, 0), textcoords="offset points", va="center", fontsize="small")
    axes.axvline(float(values[-1]), color="black", linestyle=":", linewidth=1)
    axes.set_yticks(rows, methods)
    axes.margins(x=0.25)
    axes.grid(axis="y", alpha=0.3)
    axes.set_xlabel(name.replace("_", " "))


def ready_axes(axes: Axes | None) -> Axes:
    """Return the Matplotlib axes given, or those of a new figure."""
    if axes is not None:
        return axes
    need("plot", "figures", "matplotlib")
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]


def _titled(axes: Axes, coordinates: Places) -> Axes:
    """Axes of a new figure under the numbers that do not vary."""
    fixed = {name: values for name, (along, values) in coordinates.items() if not along and values.dtype.kind in "iuf"}
    axes.set_title(", ".join(f"{name} = {number(value[()])}" for name, value in fixed.items()), fontsize="small")
    return axes


def _checked(name: str, shown: Columns) -> tuple[int, ...]:
    """Shape of what is to be drawn, if it can be."""
    if name not in shown or shown[name].dtype.kind not in "biuf":
        numbers = [other for other, values in shown.items() if values.dtype.kind in "biuf"]
        raise ParameterError(f"name = {name!r} cannot be drawn; choose one of {', '.join(numbers)}")
    return shown[name].shape


def _plane(values: npt.NDArray[Any], x: int, other: list[int]) -> npt.NDArray[Any]:
    """Values with the axis of the picture first, one curve for each column."""
    return np.moveaxis(values, [x, *other], range(1 + len(other))).reshape(values.shape[x], -1)


def _along(coordinates: Places, name: str, length: int) -> npt.NDArray[Any]:
    return coordinates[name][1] if name in coordinates else np.arange(length)


def _curves(axes: Axes, lines: list[tuple[str, Any]], values: npt.NDArray[Any], error: npt.NDArray[Any] | None) -> None:
    """One curve for each column, with error bars if the result has them."""
    x = _place(axes, *lines[0], "x")
    for k in range(values.shape[1]):
        label = f"{lines[1][0]} = {number(lines[1][1][k])}" if len(lines) > 1 else None
        style: dict[str, Any] = {"marker": "." if values.shape[0] <= 30 else None, "label": label}
        if error is None:
            axes.plot(x, values[:, k], **style)
        else:
            axes.errorbar(x, values[:, k], error[:, k], capsize=2, **style)
    if len(lines) > 1:
        axes.legend(frameon=False)


def _map(axes: Axes, lines: list[tuple[str, Any]], values: npt.NDArray[Any], name: str) -> None:
    """Colours over the plane of two parameters."""
    x, y = _place(axes, *lines[0], "x"), _place(axes, *lines[1], "y")
    mesh = axes.pcolormesh(x, y, values.T, shading="nearest")
    axes.figure.colorbar(mesh, ax=axes, label=name.replace("_", " "))


def _place(axes: Axes, name: str, values: npt.NDArray[Any], which: str) -> npt.NDArray[Any]:
    """Name an axis and return where its values stand: side by side, if they are not all finite numbers."""
    getattr(axes, f"set_{which}label")(name)
    if values.dtype.kind not in "iuf" or not np.all(np.isfinite(values)):
        places = np.arange(values.size)
        getattr(axes, f"set_{which}ticks")(places, [number(value) for value in values])
        return places
    if values.min() > 0 and values.max() / values.min() > _DECADES:
        getattr(axes, f"set_{which}scale")("log")
    return values
