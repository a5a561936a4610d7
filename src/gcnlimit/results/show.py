"""Results shown: one line, a table of text or in HTML, and pictures; Matplotlib is imported where it is used."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.extras import need
from gcnlimit.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Values = npt.NDArray[Any]
Columns = Mapping[str, Values]
Places = Mapping[str, tuple[Any, Values]]
"""Each parameter with the axes along which it varies, and its values there."""

_ERROR = "_standard_error"
_LAYERS = 6  # with a layer of this number there are too many for one line
_ROWS = 12  # of the longest table that is shown whole
_CURVES = 8  # the most that can be distinguished in one panel
_DECADES = 100.0  # ratio of positive values from which their axis is logarithmic


def number(value: Any) -> str:
    """Six digits of a number; anything else as it prints."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return f"{value:.6g}"
    return str(value)


def table(columns: Mapping[str, Sequence[str]], *, width: int | None = None, keys: int = 1) -> str:
    """Columns side by side, words to the left and numbers to the right.

    Columns that do not fit into `width` follow below, beside the first `keys` columns, which name the rows.

    >>> print(table({"method": ["PCA", "diffusion"], "accuracy": ["0.84", "0.882"], "gap": ["0.07", "-"]}))
    method      accuracy    gap
    ───────────────────────────
    PCA             0.84   0.07
    diffusion      0.882      -
    """
    cells = [_aligned(name, rows) for name, rows in columns.items()]
    parts = [cells[:keys]]
    for column in cells[keys:]:
        wide = len("   ".join(one[0] for one in (*parts[-1], column)))
        if width is not None and wide > width and len(parts[-1]) > keys:
            parts.append(cells[:keys])
        parts[-1] = [*parts[-1], column]
    return "\n\n".join(map(_lines, parts))


def _aligned(name: str, rows: Sequence[str]) -> list[str]:
    """Heading and cells of one width, numbers to the right."""
    size = max(map(len, [name, *rows]))
    right = all(_is_number(cell) for cell in rows)
    return [cell.rjust(size) if right else cell.ljust(size) for cell in (name, *rows)]


def _is_number(cell: str) -> bool:
    """Whether a cell begins with a number, or says by a dash that there is none."""
    try:
        float(cell.split(maxsplit=1)[0])
    except (IndexError, ValueError):
        return cell in ("", "-")
    return True


def _lines(columns: list[list[str]]) -> str:
    head, *rows = ("   ".join(row) for row in zip(*columns, strict=True))
    lines = [head, "─" * len(head), *rows]
    return "\n".join(line.rstrip() for line in lines)


def summary(kind: str, axes: Mapping[str, int], shown: Columns) -> str:
    """One line for a result.

    >>> summary("Answer", {"lam": 3}, {"m": np.array([0.25, 0.75, 0.5]), "status": np.array(["GOOD", "BAD", "GOOD"])})
    '<Answer over lam (3): m 0.25 to 0.75, status BAD 1, GOOD 2>'
    >>> summary("Answer", {}, {"m": np.array(0.25), "m_standard_error": np.array(0.0123)})
    'Answer(m=0.25 ± 0.01)'
    """
    brief = [name for name in shown if not (name.endswith(_ERROR) or _numbered(name, shown))]
    if not axes:
        return f"{kind}({', '.join(f'{name}={_cells(name, shown)[0]}' for name in brief)})"
    points = " x ".join(f"{name} ({length})" for name, length in axes.items())
    ranges = [f"{name} {text}" for name in brief if (text := _range(shown[name]))]
    return f"<{kind} over {points}: {', '.join(ranges)}>"


def as_html(kind: str, fixed: Mapping[str, Any], columns: Columns) -> str:
    """Table of the columns, the middle of a long one left out, under a line that names what is fixed."""
    size = next(iter(columns.values())).size
    shown = [*range(size)]
    if size > _ROWS:
        shown[_ROWS // 2 : -_ROWS // 2] = [-1]
    names = [name for name in columns if not name.endswith(_ERROR)]
    cells = [_cells(name, columns) for name in names]
    rows = [_row([column[i] if i >= 0 else "…" for column in cells], "td") for i in shown]
    points = f", {size} points" if size > 1 else ""
    at = "; ".join(f"{name} = {number(value)}" for name, value in fixed.items())
    caption = f"<p><b>{html.escape(kind)}</b>{points}{': ' if at else ''}{html.escape(at)}</p>"
    table = f"<table><thead>{_row(names, 'th')}</thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div style="overflow-x: auto">{caption}{table}</div>'


def _cells(name: str, columns: Columns) -> list[str]:
    """Values of a column, with their standard errors if there are any."""
    values = np.ravel(columns[name])
    if name + _ERROR not in columns:
        return [number(value) for value in values]
    errors = np.ravel(columns[name + _ERROR])
    return [f"{number(v)} ± {e:.1g}" for v, e in zip(values, errors, strict=True)]


def _numbered(name: str, columns: Columns) -> bool:
    """Whether a column is one of many layers, ``c_1`` and so on."""
    family, _, index = name.rpartition("_")
    return index.isdigit() and f"{family}_{_LAYERS}" in columns


def _row(cells: list[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _range(values: Values) -> str:
    """Smallest and largest number, or how often each word occurs (nothing for more than four words)."""
    if values.dtype.kind not in "iuf":
        words, counts = np.unique(values, return_counts=True)
        if words.size == 1:
            return str(words[0])
        numbered = [f"{word} {count}" for word, count in zip(words, counts, strict=True)]
        return ", ".join(numbered) if words.size <= 4 else ""
    known = values[~np.isnan(values)]
    if not known.size:
        return "nan"
    low, high = number(known.min()), number(known.max())
    missing = values.size - known.size
    return (low if low == high else f"{low} to {high}") + (f" ({missing} nan)" if missing else "")


def draw(
    names: Sequence[str], places: Places, shown: Columns, name: str, axes: Axes | None
) -> Axes:
    """Draw one quantity over one of the axes `names` as a curve, over two as a few curves or a map."""
    shape = _checked(name, shown)
    if axes is None:  # a new figure, under the numbers that do not vary
        axes = ready_axes(None)
        fixed = {key: values for key, (along, values) in places.items() if not along}
        numbers = [key for key, value in fixed.items() if value.dtype.kind in "iuf"]
        title = ", ".join(f"{key} = {number(fixed[key][()])}" for key in numbers)
        axes.set_title(title, fontsize="small")
    long = sorted((k for k, length in enumerate(shape) if length > 1), key=lambda k: -shape[k])
    if len(long) not in (1, 2):
        remedy = "give an array, or select with to_xarray().sel(...)"
        raise ParameterError(f"{len(long)} parameters vary, and a picture shows 1 or 2; {remedy}")

    def columns(values: Values) -> Values:  # the longest axis first, one curve for each column
        return np.moveaxis(values, long, range(len(long))).reshape(shape[long[0]], -1)

    lines = [(names[k], _along(places, names[k], shape[k])) for k in long]
    values = columns(shown[name])
    if len(lines) == 2 and values.shape[1] > _CURVES:
        x, y = _place(axes, *lines[0], "x"), _place(axes, *lines[1], "y")
        mesh = axes.pcolormesh(x, y, values.T, shading="nearest")
        axes.figure.colorbar(mesh, ax=axes, label=name.replace("_", " "))
    else:
        error = shown.get(name + _ERROR)
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
    name = name or ("gap" if points else "test_accuracy")
    _checked(name, shown)
    axes = ready_axes(axes)
    methods = [str(method) for method in places["method"][1]]
    if points:
        x = _place(axes, names[1], _along(places, names[1], points[0]), "x")
        _gaps(axes, x, methods, shown[name], name)
    else:
        _dots(axes, methods, shown[name], name)
    return axes


def _gaps(axes: Axes, x: Values, methods: list[str], values: Values, name: str) -> None:
    """One curve for each method; of the gap, none for the ceiling, and principal component analysis may leave the frame."""
    curves = list(zip(methods, values, strict=True))
    if name == "gap":
        rest = [curve for method, curve in curves if not method.startswith("PCA")]
        axes.set_ylim(0.0, 1.1 * float(np.max(rest)))
        curves.pop()
    for method, curve in curves:
        axes.plot(x, curve, label=method)
    axes.set_ylabel("accuracy below the Bayes-optimal" if name == "gap" else name.replace("_", " "))
    axes.legend(fontsize="small", frameon=False)


def _dots(axes: Axes, methods: list[str], values: Values, name: str) -> None:
    """One dot for each method, its value beside it; a dotted line at the last, the ceiling."""
    rows = np.arange(len(methods))[::-1]
    axes.plot(values, rows, "o", color="black")
    for row, value in zip(rows, values, strict=True):
        style: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": "small"}
        axes.annotate(f"{value:.4f}", (value, row), (6, 0), **style)
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


def _checked(name: str, shown: Columns) -> tuple[int, ...]:
    """Shape of what is to be drawn, if it can be."""
    if name not in shown or shown[name].dtype.kind not in "biuf":
        numbers = [other for other, values in shown.items() if values.dtype.kind in "biuf"]
        raise ParameterError(f"name = {name!r} cannot be drawn; choose one of {', '.join(numbers)}")
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
