"""Methods ranked: a row for each method, a column for each problem, and what each is ahead of yours on the same graphs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources

import numpy as np

from gcnlimit.benchmark.problems import SIZES, as_problems, exact_of, problems
from gcnlimit.benchmark.scores import Run, Scores
from gcnlimit.errors import ParameterError
from gcnlimit.results.show import table

PUBLISHED = "published.json"
_SIGNIFICANT = 3.0  # standard errors

Accuracies = Mapping[tuple[str, str], Mapping[int, float]]
"""Accuracy on each graph, by method and problem."""


@lru_cache(maxsize=1)
def published() -> Scores:
    """Results of popular networks and reference methods on five standard graphs of each problem.

    In `merge` they replace runs of the same method: give a model of yours a name of its own.

    >>> sum(run.problem == "reference" and run.method == "GCN" for run in published().runs)
    5
    """
    file = resources.files("gcnlimit.benchmark").joinpath(PUBLISHED)
    found: dict[str, dict[str, list[float]]] = json.loads(file.read_text(encoding="utf-8"))
    return Scores(
        tuple(
            Run(method, problem, "standard", graph, accuracy, math.nan)
            for method, rows in found.items()
            for problem, accuracies in rows.items()
            for graph, accuracy in enumerate(accuracies)
        )
    )


@dataclass(frozen=True)
class Ranking:
    """Methods from the best to the worst, on graphs of one size.

    Examples
    --------
    >>> good = [Run("mine", "deep", "small", k, a, 1.0) for k, a in enumerate([0.93, 0.94, 0.95])]
    >>> bad = [Run("other", "deep", "small", k, a, 1.0) for k, a in enumerate([0.70, 0.72, 0.71])]
    >>> print(Ranking.of(Scores((*bad, *good)), mine=["mine"]))
    rank   method   place   beside mine         deep
    ────────────────────────────────────────────────
       1   * mine   0.988                 94.0 ± 0.6
       2   other    0.471   -23.0 ± 0.6   71.0 ± 0.6
    """

    methods: tuple[str, ...]
    problems: tuple[str, ...]
    size: str
    accuracies: Accuracies
    mine: tuple[str, ...]

    @staticmethod
    def of(scores: Scores, mine: Sequence[str] = (), size: str | None = None) -> Ranking:
        """Ranking of the runs of one size, by default that of the first run."""
        chosen = size or (scores.runs[0].size if scores.runs else "standard")
        found: dict[tuple[str, str], dict[int, float]] = {}
        for run in scores.runs:
            if run.size == chosen and not run.error:
                found.setdefault((run.method, run.problem), {})[run.graph] = run.accuracy
        if not found:
            raise ParameterError(f"there is no finished run of size {chosen!r}; merge results of that size")
        named = {problem for _, problem in found}
        known = [problem.name for problem in (*problems(), *problems(aside=True))]
        ordered = tuple(sorted(named, key=lambda name: known.index(name) if name in known else len(known)))
        ranking = Ranking(tuple({method: 0 for method, _ in found}), ordered, chosen, found, tuple(mine))
        order = sorted(ranking.methods, key=lambda method: -np.nan_to_num(ranking.place(method), nan=-1.0))
        return replace(ranking, methods=tuple(order))

    @property
    def common(self) -> tuple[str, ...]:
        """Problems on which all methods have run; if there are none, all problems."""
        shared = [p for p in self.problems if all((method, p) in self.accuracies for method in self.methods)]
        return tuple(shared or self.problems)

    def place(self, method: str) -> float:
        """Mean place on the common problems: 0 at chance, 1 at the best possible."""
        means = [self.mean(method, p) for p in self.common]
        places = [place(p, mean) for p, mean in zip(self.common, means, strict=True) if not math.isnan(mean)]
        return float(np.mean(places)) if places else math.nan

    def mean(self, method: str, problem: str) -> float:
        """Mean accuracy over the graphs; NaN without a run."""
        found = self.accuracies.get((method, problem), {})
        return float(np.mean([*found.values()])) if found else math.nan

    def difference(self, method: str, other: str) -> tuple[float, float]:
        r"""Mean accuracy ahead of another method on the same graphs, over the common problems, and its standard error.

        The variance on one graph is the mean of those measured, :math:`n - 1` of them, and of one that is known:
        :math:`2 s^2/N`, where :math:`s` is the recorded scatter of message passing.
        """
        gains, squares = [], []
        for problem in self.common:
            pair = [self.accuracies.get((name, problem), {}) for name in (method, other)]
            gain = np.array([pair[0][graph] - pair[1][graph] for graph in pair[0] if graph in pair[1]])
            if gain.size:
                expected = 2.0 * exact_of(problem).scatter ** 2 / SIZES[self.size]
                spread = float(np.sum((gain - gain.mean()) ** 2))
                gains.append(float(gain.mean()))
                squares.append(np.nansum([expected, spread]) / gain.size**2)
        if not gains:
            return math.nan, math.nan
        return float(np.mean(gains)), float(np.sqrt(np.sum(squares)) / len(squares))

    def as_dict(self) -> dict[str, list[object]]:
        """Columns of the table, accuracies and differences as numbers."""
        own = self._own
        columns: dict[str, list[object]] = {
            "rank": [*range(1, len(self.methods) + 1)],
            "method": [*self.methods],
            "place": [self.place(method) for method in self.methods],
        }
        if own is not None:
            pairs = [self.difference(method, own) for method in self.methods]
            columns |= {"beside mine": [gain for gain, _ in pairs], "its error": [error for _, error in pairs]}
        return columns | {p: [self.mean(method, p) for method in self.methods] for p in self.problems}

    @property
    def _own(self) -> str | None:
        """The best of mine."""
        return next((method for method in self.methods if method in self.mine), None)

    def text(self, width: int | None = None) -> str:
        """Table in per cent, mine marked, as wide as that."""
        columns = {
            "rank": [str(k + 1) for k in range(len(self.methods))],
            "method": [f"* {method}" if method in self.mine else method for method in self.methods],
            "place": [f"{self.place(method):.3f}" for method in self.methods],
        }
        own = self._own
        if own is not None:
            columns["beside mine"] = [
                "" if name == own else _signed(*self.difference(name, own)) for name in self.methods
            ]
        cells = {p: [_percent(self.accuracies.get((name, p))) for name in self.methods] for p in self.problems}
        return table(columns | cells, width=width, keys=2)

    def __str__(self) -> str:
        """Table in per cent."""
        return self.text()


def place(problem: str, accuracy: float) -> float:
    """Place of an accuracy between chance, 0, and the best possible, 1; NaN for a problem of your own.

    >>> place("reference", 0.5)
    0.0
    """
    bayes = exact_of(problem).bayes
    chance = 0.0 if math.isnan(bayes) else float(max(as_problems(problem)[0].data.fractions))
    return (accuracy - chance) / (bayes - chance)


def _percent(found: Mapping[int, float] | None) -> str:
    """Mean and standard error in per cent."""
    if not found:
        return ""
    values = 100.0 * np.array([*found.values()])
    error = f" ± {values.std(ddof=1) / values.size**0.5:.1f}" if values.size > 1 else ""
    return f"{values.mean():.1f}{error}"


def _signed(gain: float, error: float) -> str:
    """Difference in points, marked n.s. if it may be chance."""
    if math.isnan(gain):
        return ""
    text = f"{100 * gain:+.1f} ± {100 * error:.1f}"
    return text if abs(gain) > _SIGNIFICANT * error else f"{text} (n.s.)"
