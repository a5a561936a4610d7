"""Methods ranked beside each other: places between chance and the best possible, and differences on the same graphs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gcnlimit._validation import check_types, one_of
from gcnlimit.benchmark.problems import KNOWN, REFERENCES, SIZES, reference_values
from gcnlimit.benchmark.scores import Scores, as_place, digits, mean_of, percent
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.columns import option
from gcnlimit.results.markup import Printed
from gcnlimit.results.text import table

_SIGNIFICANT = 3.0  # standard errors
_SIDE_BY_SIDE = 2  # problems that have a column each in a ranking


@dataclass(frozen=True, repr=False)
class Ranking(Printed):
    """Methods from the best to the worst, on graphs of one size.

    >>> from gcnlimit.benchmark import Run
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
    # by method and problem that were tried, on each graph where the method did not fail
    accuracies: Mapping[tuple[str, str], Mapping[int, float]]
    mine: tuple[str, ...]
    # size of the graphs of each method that has run on other sizes only
    elsewhere: Mapping[str, str]
    # sentences on methods whose runs failed
    failed: str

    @staticmethod
    def of(scores: Scores, mine: Sequence[str] = (), size: str | None = None) -> Ranking:
        """Ranking of the runs of one size, by default that of the first run."""
        check_types("of", scores=(scores, Scores), mine=(mine, (tuple, list)))
        one_of("size", size, None, *SIZES)
        chosen = size or (scores.runs[0].size if scores.runs else "standard")
        runs = [run for run in scores.runs if run.size == chosen]
        if not runs:
            raise ParameterError(f"there is no run of size {chosen!r}; merge results of that size")
        accuracies: dict[tuple[str, str], dict[int, float]] = {}
        for run in runs:
            graphs = accuracies.setdefault((run.method, run.problem), {})
            if not run.error:
                graphs[run.graph] = run.accuracy
        methods = tuple(dict.fromkeys(run.method for run in runs))
        ran = {run.method: run.size for run in scores.runs}
        if absent := [name for name in mine if not isinstance(name, str) or name not in ran]:
            raise ParameterError(f"mine = {absent[0]!r} has no run; choose among {list(methods)}")
        others = {method: other for method, other in ran.items() if method not in methods}
        named = dict.fromkeys(problem for _, problem in accuracies)
        ordered = tuple(dict.fromkeys([*(name for name in KNOWN if name in named), *named]))
        told = (others, Scores(tuple(runs)).failed_in_words)
        ranking = Ranking(methods, ordered, chosen, accuracies, tuple(mine), *told)
        places = {name: np.nan_to_num(ranking.mean_place(name), nan=-np.inf) for name in methods}
        return replace(ranking, methods=tuple(sorted(methods, key=lambda name: -places[name])))

    @property
    def common(self) -> tuple[str, ...]:
        """Problems that every method with a result has run; all problems if there are none."""
        done = [key for key, graphs in self.accuracies.items() if graphs]
        methods = {method for method, _ in done}
        shared = tuple(p for p in self.problems if all((name, p) in done for name in methods))
        return shared or self.problems

    def mean_place(self, method: str) -> float:
        """Mean place on the common problems: 0 at chance, 1 at the best possible."""
        return mean_of(as_place(name, self.mean(method, name)) for name in self.common)[0]

    def mean(self, method: str, problem: str) -> float:
        """Mean accuracy over the graphs; NaN without a run."""
        check_types("mean", method=(method, str), problem=(problem, str))
        return mean_of(self.accuracies.get((method, problem), {}).values())[0]

    def difference(self, method: str, other: str) -> tuple[float, float]:
        r"""Mean lead in accuracy over another method on the same graphs of the common problems, and its standard error.

        The variance on one graph is the mean of those measured, :math:`n - 1` of them, and of one that is known:
        :math:`2 s^2/N`, where :math:`s` is the recorded scatter of message passing.
        """
        check_types("difference", method=(method, str), other=(other, str))
        gains, variances = [], []
        for problem in self.common:
            mine, theirs = (self.accuracies.get((name, problem), {}) for name in (method, other))
            gain = np.array([mine[graph] - theirs[graph] for graph in mine if graph in theirs])
            if gain.size:
                scatter = KNOWN[problem].exact.scatter if problem in KNOWN else 0.0
                # few graphs hardly know their own scatter: the recorded one counts as one more
                expected = 2.0 * scatter**2 / SIZES[self.size]
                measured = np.sum((gain - gain.mean()) ** 2)
                gains.append(gain.mean())
                variances.append((expected + measured) / gain.size**2)
        if not gains:
            return math.nan, math.nan
        return float(np.mean(gains)), float(np.sqrt(np.sum(variances)) / len(variances))

    def as_dict(self) -> dict[str, list[object]]:
        """Columns of the table, accuracies and differences as numbers."""
        places = [self.mean_place(method) for method in self.methods]
        ranks = [None if math.isnan(place) else k for k, place in enumerate(places, 1)]
        columns: dict[str, list[object]] = {"rank": [*ranks], "size": [self.size] * len(places)}
        columns |= {"method": [*self.methods], "place": [*places]}
        if self._own is not None:
            pairs = [self.difference(method, self._own) for method in self.methods]
            columns["beside_mine"] = [gain for gain, _ in pairs]
            columns["beside_mine_error"] = [error for _, error in pairs]
        own = {p: f"problem {p}" if p in columns else p for p in self.problems}
        return columns | {own[p]: [self.mean(name, p) for name in self.methods] for p in own}

    @property
    def _own(self) -> str | None:
        """The best of mine."""
        return next((method for method in self.methods if method in self.mine), None)

    def __str__(self) -> str:
        """Methods in per cent, mine marked; of many problems a table of their own; and what cannot be compared."""
        mine = self._own
        few = len(self.problems) <= _SIDE_BY_SIDE
        places = [digits(self.mean_place(name), ".3f") for name in self.methods]
        ranks = ["-" if place == "-" else str(k) for k, place in enumerate(places, 1)]
        marked = ["* " * (name in self.mine) + name for name in self.methods]
        columns = {"rank": ranks, "method": marked, "place": places}
        if mine is not None:
            others = [name for name in self.methods if name != mine]
            gains = {name: _signed(*self.difference(name, mine)) for name in others}
            columns["beside mine"] = [gains.get(name, "") for name in self.methods]
        for problem in self.problems if few else ():
            own = f"problem {problem}" if problem in columns else problem
            columns[own] = [self._cell(name, problem) for name in self.methods]
        each = "" if few else self._by_problem()
        parts = (table(columns), each, self._not_compared(), self.failed)
        return "\n\n".join(part for part in parts if part)

    def _by_problem(self) -> str:
        """A row for each problem: exact values, mine, and the best of the others."""
        mine = self._own
        values = [reference_values(problem) for problem in self.problems]
        exact = {name: [digits(100.0 * v[name], ".1f") for v in values] for name in REFERENCES}
        columns = {"problem": [*self.problems]} | dict([*exact.items()][:-1])
        rest = [method for method in self.methods if method != mine]
        if mine is not None:
            columns["mine"] = [self._cell(mine, problem) for problem in self.problems]
        if rest:
            means = [[self.mean(method, problem) for method in rest] for problem in self.problems]
            best = [max((m for m in row if not math.isnan(m)), default=math.nan) for row in means]
            columns["best other" if mine else "best"] = [digits(100.0 * m, ".1f") for m in best]
        return table(columns | exact)  # the best possible is the last

    def _cell(self, method: str, problem: str) -> str:
        accuracies = self.accuracies.get((method, problem))
        return "" if accuracies is None else percent(*mean_of(accuracies.values()))

    def _not_compared(self) -> str:
        """Sentence on methods that ran on graphs of another size; mine are named."""
        mine = [name for name in self.elsewhere if name in self.mine]
        if mine:
            yours = f"yours ({', '.join(mine)}) are {self.elsewhere[mine[0]]} graphs"
            return f"not comparable: {yours}, these {self.size}; use {option('size', self.size)}"
        if not self.elsewhere or not self.mine:
            return ""
        sizes = " and ".join(dict.fromkeys(self.elsewhere.values()))
        others = f"{len(self.elsewhere)} other methods ran on {sizes} graphs"
        return f"not comparable: yours are {self.size} graphs, {others}"


def _signed(gain: float, error: float) -> str:
    """Difference in points, marked n.s. if it may be chance."""
    if math.isnan(gain):
        return ""
    text = f"{100 * gain:+.1f} ± {100 * error:.1f}"
    return text if abs(gain) > _SIGNIFICANT * error else f"{text} (n.s.)"
