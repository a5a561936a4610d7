"""Results drawn; Matplotlib is imported where it is used."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gcnlimit._runtime.extras import need
from gcnlimit._values import shown as written
from gcnlimit.errors import ParameterError, writing
from gcnlimit.results.text import ERROR, Columns, Values, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Places = Mapping[str, tuple[Any, Values]]
"""Each parameter with the axes along which it varies, and its values there."""

_MOST_CURVES = 8  # that can be distinguished in one panel
_DECADES = 100.0  # ratio of positive values from which their axis is logarithmic


def draw(
    names: Sequence[str], places: Places, shown: Columns, name: str, axes: Axes | None
) -> Axes:
    """Draw one quantity over one of the axes `names` as a curve, over two as a few curves or a map."""
    shape = _checked(name, shown)
    new, axes = axes is None, ready_axes(axes)
    if new:  # a new figure, under the numbers that do not vary
        fixed = {key: values for key, (along, values) in places.items() if not along}
        numbers = ((key, value[()]) for key, value in fixed.items() if value.dtype.kind in "iuf")
        title = ", ".join(f"{key} = {number(value)}" for key, value in numbers)
        axes.set_title(title, fontsize="small")
    # curves run along the longest axis; another makes several of them
    long = sorted((k for k, length in enumerate(shape) if length > 1), key=lambda k: -shape[k])
    if len(long) not in (1, 2):
        remedy = "select some by to_xarray().sel(...)" if long else "give an array of one"
        raise ParameterError(f"{len(long)} parameters vary, and a picture shows 1 or 2; {remedy}")

    def columns(values: Values) -> Values:  # the longest axis first, one curve for each column
        return np.moveaxis(values, long, range(len(long))).reshape(shape[long[0]], -1)

    lines = [(names[k], _along(places, names[k], shape[k])) for k in long]
    values = columns(shown[name])
    if len(lines) == 2 and values.shape[1] > _MOST_CURVES:
        x, y = _place(axes, *lines[0], "x"), _place(axes, *lines[1], "y")
        mesh = axes.pcolormesh(x, y, values.T, shading="nearest")
        axes.figure.colorbar(mesh, ax=axes, label=name.replace("_", " "))
    else:
        error = shown.get(name + ERROR)
        _curves(axes, lines, values, None if error is None else columns(error))
        axes.set_ylabel(name.replace("_", " "))
    return axes


def draw_methods(
    names: Sequence[str], places: Places, shown: Columns, name: str | None, axes: Axes | None
) -> Axes:
    """Draw methods side by side: a dot for each at a single point, a curve for each where one parameter varies.

    By default the test accuracy at a point, and along a curve the gap to the last method, which is the ceiling.
    """
    points = shown["gap"].shape[1:]
    if len(points) > 1:
        raise ParameterError("a comparison over several parameters cannot be drawn; vary one")
    name = ("gap" if points else "test_accuracy") if name is None else name
    _checked(name, shown)
    axes = ready_axes(axes)
    methods = [str(method) for method in places["method"][1]]
    if points:
        x = _place(axes, names[1], _along(places, names[1], points[0]), "x")
        _gaps(axes, x, methods, shown[name], name)
    else:
        _dots(axes, methods, shown, name)
    return axes


def _gaps(axes: Axes, x: Values, methods: list[str], values: Values, name: str) -> None:
    """One curve for each method; of the gap, none for the ceiling, and principal component analysis may leave the frame."""
    curves = list(zip(methods, values, strict=True))
    if name == "gap":
        rest = [curve for method, curve in curves if not method.startswith("PCA")]
        axes.set_ylim(0.0, 1.1 * float(np.nanmax(rest)))
        curves.pop()
    for method, curve in curves:
        axes.plot(x, curve, label=method)
    axes.set_ylabel("accuracy below the Bayes-optimal" if name == "gap" else name.replace("_", " "))
    axes.legend(fontsize="small", frameon=False)


def _dots(axes: Axes, methods: list[str], shown: Columns, name: str) -> None:
    """One dot for each method, with its error if it has one, its value beside it; a dotted line at the last, the ceiling."""
    values, rows = shown[name], np.arange(len(methods))[::-1]
    axes.errorbar(values, rows, xerr=shown.get(name + ERROR), fmt="o", color="black", capsize=2)
    for row, value in zip(rows, values, strict=True):
        axes.annotate(f"{value:.4f}", (value, row), (6, 3), textcoords="offset points", fontsize=8)
    axes.axvline(float(values[-1]), color="black", linestyle=":", linewidth=1)
    axes.set_yticks(rows, methods)
    axes.margins(x=0.25)
    axes.grid(axis="y", alpha=0.3)
    axes.set_xlabel(name.replace("_", " "))


def ready_axes(axes: Axes | None) -> Axes:
    """Return the Matplotlib axes given, or those of a new figure."""
    if axes is not None:
        if not hasattr(axes, "set_yticks"):
            raise ParameterError(f"axes = {written(axes)} must be one of those of pyplot.subplots")
        return axes
    need("plot", "figures", "matplotlib")
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]


def _checked(name: str, shown: Columns) -> tuple[int, ...]:
    """Shape of what is to be drawn, if it can be."""
    if not isinstance(name, str) or name not in shown or shown[name].dtype.kind not in "biuf":
        others = ", ".join(other for other, x in shown.items() if x.dtype.kind in "biuf")
        raise ParameterError(f"name = {written(name)} cannot be drawn; choose one of {others}")
    return shown[name].shape


def _along(places: Places, name: str, length: int) -> Values:
    return places[name][1] if name in places else np.arange(length)


def _curves(axes: Axes, lines: list[tuple[str, Any]], values: Values, error: Values | None) -> None:
    """One curve for each column, with error bars if the result has them."""
    x = _place(axes, *lines[0], "x")
    marker = "." if len(x) <= 30 else None
    for k, y in enumerate(values.T):
        label = f"{lines[1][0]} = {number(lines[1][1][k])}" if len(lines) > 1 else None
        bar = None if error is None else error[:, k]
        axes.errorbar(x, y, bar, capsize=2, marker=marker, label=label)
    if len(lines) > 1:
        axes.legend(frameon=False)


def _place(axes: Axes, name: str, values: Values, which: str) -> Values:
    """Name an axis and return where its values stand: side by side, if they are not all finite numbers."""
    getattr(axes, f"set_{which}label")(name)
    if values.dtype.kind not in "iuf" or not np.all(np.isfinite(values)):
        places = np.arange(values.size)
        getattr(axes, f"set_{which}ticks")(places, [number(value) for value in values])
        return places
    if values.min() > 0 and values.max() / values.min() > _DECADES:
        getattr(axes, f"set_{which}scale")("log")
    return values


def write_picture(figure: Any, path: Path, **how: Any) -> None:
    """Write a figure, drawn in memory: its writers fail in ways of their own where a disk is full."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:], **how)
    with writing(path) as new:
        new.write_bytes(drawn.getvalue())
