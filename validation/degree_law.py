"""The laws by which deviations at finite degree fall, fitted to what `validation.finite_degree` measured, and their picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

__all__ = ["AMP", "BELIEF", "CEILING", "GAIN", "LOSS", "Row", "draw", "tables"]

AMP, BELIEF, CEILING = "amp", "belief propagation", "Bayes-optimal"
GAIN, LOSS = f"{BELIEF} less {AMP}", f"{AMP} less {BELIEF}, cross-entropy"
Row = dict[str, Any]


class Fit(NamedTuple):
    """Deviation s x + c x^2 + e x^3 by weighted least squares: the terms, the error of s, chi-squared, degrees of freedom."""

    terms: np.ndarray
    slope_error: float
    chi2: float
    freedom: int


def fit(rows: list[Row]) -> Fit:
    """Law of the deviations of one method; without an intercept, since nothing is left at large degree.

    There are three terms, or one less than there are different degrees.
    """
    degree, deviation, error = (
        np.array([r[name] for r in rows], float) for name in ("degree", "deviation", "error")
    )
    orders = np.arange(1, min(4, np.unique(degree).size))
    design = (degree ** _power(rows[0]["classes"]))[:, None] ** orders / error[:, None]
    covariance = np.linalg.inv(design.T @ design)
    terms = covariance @ design.T @ (deviation / error)
    left = deviation / error - design @ terms
    return Fit(terms, math.sqrt(covariance[0, 0]), float(left @ left), degree.size - orders.size)


def tables(rows: list[Row]) -> str:
    """Slopes of the deviations, and belief propagation against message passing and against the ceiling, in Markdown."""
    return "\n".join([*_laws(rows), "", *_comparisons(rows)])


def _laws(rows: list[Row]) -> Iterator[str]:
    yield "| classes | method | slope | in | degrees | chi2/dof |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for (_, _, classes, method), group in _grouped(rows, lambda r: (*_place(r), r["method"])):
        if len({r["degree"] for r in group}) < 3 or method in (GAIN, LOSS):
            continue
        f, unit = fit(group), "1/d" if classes == 2 else "1/√d"
        slope, degrees = (
            f"{f.terms[0]:+.4f} ± {f.slope_error:.4f}",
            sorted({r["degree"] for r in group}),
        )
        left = f"{degrees[0]:g} to {degrees[-1]:g} | {f.chi2:.1f}/{f.freedom}"
        yield f"| {classes} | {method}{_where(group[0])} | {slope} | {unit} | {left} |"


def _comparisons(rows: list[Row]) -> Iterator[str]:
    yield f"| classes | degree | {GAIN} | {LOSS} | {BELIEF} less ceiling | in standard errors |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for (_, _, classes, degree), group in _grouped(rows, lambda r: (*_place(r), r["degree"])):
        means = {m: _mean(of_method) for m, of_method in _grouped(group, lambda r: r["method"])}
        if GAIN not in means:
            continue
        text = [f"{mean:+.5f} ± {error:.5f}" for mean, error in (means[GAIN], means[LOSS])]
        if CEILING in means:
            apart = means[BELIEF][0] - means[CEILING][0]
            error = math.hypot(means[BELIEF][1], means[CEILING][1])
            text += [f"{apart:+.5f} ± {error:.5f}", f"{apart / error:+.1f}"]
        yield f"| {classes}{_where(group[0])} | {degree:g} | " + " | ".join(text) + " |"


def _grouped(rows: list[Row], key: Callable[[Row], Any]) -> Iterator[tuple[Any, list[Row]]]:
    return ((k, list(group)) for k, group in groupby(sorted(rows, key=key), key=key))


def _place(r: Row) -> tuple[str, bool, int]:
    """Parameters of the data, kind of graph and number of classes of a measurement."""
    return r["point"], not r["directed"], r["classes"]


def _where(r: Row) -> str:
    """What a measurement has that is not of the paper's point."""
    return ("" if r["directed"] else ", undirected graph") + (
        "" if r["point"] == "paper" else f", {r['point']}"
    )


def _mean(rows: list[Row]) -> tuple[float, float]:
    """Weighted mean of the deviations, and its error."""
    weights = np.array([r["error"] ** -2.0 for r in rows])
    return float(weights @ [r["deviation"] for r in rows] / weights.sum()), float(
        weights.sum() ** -0.5
    )


def _power(classes: int) -> float:
    return -1.0 if classes == 2 else -0.5


def draw(rows: list[Row], path: Path) -> None:
    """Deviations against the power of the degree by which they fall, with the fitted laws; a panel for each number of classes."""
    from matplotlib.figure import Figure

    shown = [
        r
        for r in rows
        if r["point"] == "paper" and r["directed"] and r["method"] not in (GAIN, LOSS)
    ]
    panels = list(_grouped(shown, lambda r: r["classes"]))
    figure = Figure(figsize=(4.2 * len(panels), 4.8), layout="constrained")
    for axes, (classes, group) in zip(
        np.atleast_1d(figure.subplots(1, len(panels))), panels, strict=True
    ):
        for k, (method, found) in enumerate(_grouped(group, lambda r: r["method"])):
            _curve(axes, found, method, f"C{k}", "os^Dv<>ph"[k % 9])
        axes.axhline(0.0, color="black", lw=0.6)
        axes.set_title(f"{classes} classes")
        axes.set_xlabel("$1/d$" if classes == 2 else r"$1/\sqrt{d}$")
        axes.set_ylabel("accuracy minus prediction (%)")
        axes.set_xlim(left=0.0)
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=2,
        fontsize=8,
        frameon=False,
    )
    figure.savefig(path, dpi=150)


def _curve(axes: Any, rows: list[Row], label: str, color: str, marker: str) -> None:
    """Points of one method, the mean at each degree, and its fitted law."""
    means = np.array(
        [(degree, *_mean(group)) for degree, group in _grouped(rows, lambda r: r["degree"])]
    )
    x, (deviation, error) = means[:, 0] ** _power(rows[0]["classes"]), 100 * means[:, 1:].T
    axes.errorbar(
        x,
        deviation,
        error,
        marker=marker,
        ms=4,
        lw=0,
        elinewidth=1,
        capsize=2,
        label=label,
        color=color,
    )
    if len(x) > 2:
        terms, line = fit(rows).terms, np.linspace(0.0, x.max(), 100)
        axes.plot(
            line, 100 * line[:, None] ** np.arange(1, len(terms) + 1) @ terms, color=color, lw=0.8
        )
