"""Accuracies of methods on problems: on disk, merged, in a table of means, and ranked beside each other."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from gcnlimit._validation import check_types
from gcnlimit.benchmark.problems import KNOWN, REFERENCES, SIZES, VERSION, reference_values
from gcnlimit.errors import ParameterError, check_writable, writing
from gcnlimit.graphs.dataset import check_path
from gcnlimit.results.text import table

ENDINGS = (".json",)
PUBLISHED = "published.json"
_SIGNIFICANT = 3.0  # standard errors
_SIDE_BY_SIDE = 2  # problems that have a column each in a ranking


@dataclass(frozen=True)
class Run:
    """One method on one graph: accuracy on the test nodes, NaN with a reason if it failed, and time in seconds."""

    method: str
    problem: str
    size: str
    graph: int
    accuracy: float
    seconds: float
    error: str = ""


@dataclass(frozen=True)
class Line:
    """A method on a problem: mean accuracy, standard error (infinite for one graph) and place (1 at the best possible)."""

    method: str
    problem: str
    size: str
    graphs: int
    accuracy: float
    standard_error: float
    place: float
    seconds: float


@dataclass(frozen=True)
class Scores:
    """Results of any number of methods, problems and graphs; `lines` has the means.

    Examples
    --------
    >>> runs = [Run("mine", "reference", "small", k, a, 1.0) for k, a in enumerate([0.90, 0.91, 0.92])]
    >>> print(Scores(tuple(runs)))
    mine, on small graphs: test accuracy in per cent, exact values beside it
    problem     graphs   features   linear         mine   Bayes   place   seconds
    ─────────────────────────────────────────────────────────────────────────────
    reference        3       65.2     89.6   91.0 ± 0.6    91.4   0.991      1.00
    """

    runs: tuple[Run, ...]

    @property
    def lines(self) -> list[Line]:
        """Means over the graphs, in the order in which methods and problems appear; pandas makes a table of them."""
        groups: dict[tuple[str, str, str], list[Run]] = {}
        for run in self.runs:
            groups.setdefault((run.method, run.problem, run.size), []).append(run)
        return [_line(*key, runs) for key, runs in groups.items()]

    @property
    def failures(self) -> list[Run]:
        """Runs that failed."""
        return [run for run in self.runs if run.error]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write every run to a ``.json`` file, which `load` reads."""
        check_path(path)
        check_writable(path, ENDINGS)
        # null stands for NaN, which JSON does not have, and which differs from itself
        runs = [asdict(run) for run in self.runs]
        runs = [{k: v if v == v else None for k, v in run.items()} for run in runs]  # noqa: PLR0124
        text = json.dumps({"suite": VERSION, "runs": runs}, indent=1)
        with writing(path) as new:
            new.write_text(f"{text}\n", encoding="utf-8")

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Scores:
        """Read what `save` wrote."""
        file = f"path = {str(path)!r}"
        try:
            raw = json.loads(Path(path).read_text(encoding="utf-8"))
            version = raw["suite"]
            runs = tuple(_as_run(run) for run in raw["runs"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            wrong = "is not a file of results; give one that save wrote"
            raise ParameterError(f"{file} {wrong}") from None
        if version != VERSION:
            wrong = f"version {version} of the suite, and this is version {VERSION}"
            raise ParameterError(f"{file} has results of {wrong}; run the methods again")
        return Scores(runs)

    def __str__(self) -> str:
        """Tables of means, one for each method and size, between the exact values, and a sentence on failures."""
        groups: dict[tuple[str, str], list[Line]] = {}
        for line in self.lines:
            groups.setdefault((line.method, line.size), []).append(line)
        parts = [_means(*key, lines) for key, lines in groups.items()]
        if failed := self.failures:
            first = f"{failed[0].method} on {failed[0].problem}: {failed[0].error}"
            parts.append(f"{len(failed)} of {len(self.runs)} runs failed, the first {first}")
        return "\n\n".join(parts)


@lru_cache(maxsize=1)
def published() -> Scores:
    """Results of popular networks and reference methods on five standard graphs of each problem.

    >>> sum(run.problem == "reference" and run.method == "GCN" for run in published().runs)
    5
    """
    file = resources.files("gcnlimit.benchmark").joinpath(PUBLISHED)
    methods: dict[str, dict[str, list[float]]] = json.loads(file.read_text(encoding="utf-8"))
    runs = [
        Run(method, problem, "standard", graph, accuracy, math.nan)
        for method, rows in methods.items()
        for problem, accuracies in rows.items()
        for graph, accuracy in enumerate(accuracies)
    ]
    return Scores(tuple(runs))


def merge(parts: Iterable[Scores]) -> Scores:
    """Results of several parts; if a run occurs twice, the last one counts, or the one that did not fail.

    A method of `published` replaces none of yours: where yours has its name, it becomes ``"NAME, published"``.

    >>> first, again = Run("GCN", "deep", "standard", 0, 0.8, 1.0), Run("GCN", "deep", "standard", 0, 0.9, 1.0)
    >>> merge([Scores((first,)), Scores((again,)), published()]).runs[0].accuracy
    0.9
    """
    check_types("merge", parts=(parts, Iterable))
    runs: list[Run] = []
    for part in parts:
        check_types("merge", part=(part, Scores))
        runs += part.runs
    # a published run is known by its accuracy, and by having no time
    known = {(*_key(run), run.accuracy) for run in published().runs}
    theirs = [math.isnan(run.seconds) and (*_key(run), run.accuracy) in known for run in runs]
    mine = {run.method for run, is_theirs in zip(runs, theirs, strict=True) if not is_theirs}
    kept: dict[tuple[str, str, str, int], Run] = {}
    for run, is_theirs in zip(runs, theirs, strict=True):
        taken = is_theirs and run.method in mine
        named = replace(run, method=f"{run.method}, published") if taken else run
        if not named.error or _key(named) not in kept:
            kept[_key(named)] = named
    return Scores(tuple(kept.values()))


def _key(run: Run) -> tuple[str, str, str, int]:
    return run.method, run.problem, run.size, run.graph


def as_place(problem: str, accuracy: float) -> float:
    """Place of an accuracy between chance, 0, and the best possible, 1; NaN for a problem of your own.

    >>> as_place("reference", 0.5)
    0.0
    """
    if problem not in KNOWN:
        return math.nan
    chance = float(max(KNOWN[problem].data.fractions))
    return (accuracy - chance) / (KNOWN[problem].exact.bayes - chance)


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
    # by method and problem, on each graph
    accuracies: Mapping[tuple[str, str], Mapping[int, float]]
    mine: tuple[str, ...]
    # size of the graphs of each method that has run on other sizes only
    elsewhere: Mapping[str, str]

    @staticmethod
    def of(scores: Scores, mine: Sequence[str] = (), size: str | None = None) -> Ranking:
        """Ranking of the runs of one size, by default that of the first run."""
        chosen = size or (scores.runs[0].size if scores.runs else "standard")
        accuracies: dict[tuple[str, str], dict[int, float]] = {}
        for run in scores.runs:
            if run.size == chosen and not run.error:
                accuracies.setdefault((run.method, run.problem), {})[run.graph] = run.accuracy
        if not accuracies:
            raise ParameterError(f"no run of size {chosen!r} finished; merge results of that size")
        methods = tuple(dict.fromkeys(method for method, _ in accuracies))
        ran = {run.method: run.size for run in scores.runs if not run.error}
        others = {method: other for method, other in ran.items() if method not in methods}
        named = dict.fromkeys(problem for _, problem in accuracies)
        ordered = tuple(dict.fromkeys([*(name for name in KNOWN if name in named), *named]))
        ranking = Ranking(methods, ordered, chosen, accuracies, tuple(mine), others)
        places = {method: np.nan_to_num(ranking.mean_place(method), nan=-1.0) for method in methods}
        return replace(ranking, methods=tuple(sorted(methods, key=lambda name: -places[name])))

    @property
    def common(self) -> tuple[str, ...]:
        """Problems on which all methods have run; if there are none, all problems."""
        ran = Counter(problem for _, problem in self.accuracies)
        shared = tuple(name for name in self.problems if ran[name] == len(self.methods))
        return shared or self.problems

    def mean_place(self, method: str) -> float:
        """Mean place on the common problems: 0 at chance, 1 at the best possible."""
        ran = [name for name in self.common if (method, name) in self.accuracies]
        places = [as_place(name, self.mean(method, name)) for name in ran]
        return float(np.mean(places)) if places else math.nan

    def mean(self, method: str, problem: str) -> float:
        """Mean accuracy over the graphs; NaN without a run."""
        return _mean(self.accuracies.get((method, problem), {}).values())[0]

    def difference(self, method: str, other: str) -> tuple[float, float]:
        r"""Mean lead in accuracy over another method on the same graphs of the common problems, and its standard error.

        The variance on one graph is the mean of those measured, :math:`n - 1` of them, and of one that is known:
        :math:`2 s^2/N`, where :math:`s` is the recorded scatter of message passing.
        """
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
        columns: dict[str, list[object]] = {"rank": [*range(1, len(self.methods) + 1)]}
        columns["method"] = [*self.methods]
        columns["place"] = [self.mean_place(method) for method in self.methods]
        if self._own is not None:
            pairs = [self.difference(method, self._own) for method in self.methods]
            columns["beside mine"] = [gain for gain, _ in pairs]
            columns["its error"] = [error for _, error in pairs]
        return columns | {p: [self.mean(name, p) for name in self.methods] for p in self.problems}

    @property
    def _own(self) -> str | None:
        """The best of mine."""
        return next((method for method in self.methods if method in self.mine), None)

    def __str__(self) -> str:
        """Methods in per cent, mine marked; of many problems a table of their own; and what cannot be compared."""
        own = self._own
        few = len(self.problems) <= _SIDE_BY_SIDE
        columns = {"rank": [str(k + 1) for k in range(len(self.methods))]}
        columns["method"] = ["* " * (name in self.mine) + name for name in self.methods]
        columns["place"] = [_digits(self.mean_place(name), ".3f") for name in self.methods]
        if own is not None:
            others = [name for name in self.methods if name != own]
            gains = {name: _signed(*self.difference(name, own)) for name in others}
            columns["beside mine"] = [gains.get(name, "") for name in self.methods]
        for problem in self.problems if few else ():
            columns[problem] = [self._cell(name, problem) for name in self.methods]
        parts = [table(columns), "" if few else self._by_problem(), self._not_compared()]
        return "\n\n".join(part for part in parts if part)

    def _by_problem(self) -> str:
        """A row for each problem: exact values, mine, and the best of the others."""
        own = self._own
        exact = [reference_values(problem) for problem in self.problems]
        columns = {"problem": [*self.problems]} | _reference_columns(exact, last=False)
        rest = [method for method in self.methods if method != own]
        if own is not None:
            columns["mine"] = [self._cell(own, problem) for problem in self.problems]
        if rest:
            means = [[self.mean(method, problem) for method in rest] for problem in self.problems]
            best = [max((m for m in row if not math.isnan(m)), default=math.nan) for row in means]
            columns["best other" if own else "best"] = [_digits(100.0 * m, ".1f") for m in best]
        return table(columns | _reference_columns(exact, last=True))

    def _cell(self, method: str, problem: str) -> str:
        accuracies = self.accuracies.get((method, problem))
        return _percent(*_mean(accuracies.values())) if accuracies else ""

    def _not_compared(self) -> str:
        """Sentence on methods that ran on graphs of another size; mine are named."""
        mine = [name for name in self.elsewhere if name in self.mine]
        if mine:
            yours = f"yours ({', '.join(mine)}) are {self.elsewhere[mine[0]]} graphs"
            return f"not comparable: {yours}, these are {self.size} ones; run size={self.size!r}"
        if not self.elsewhere or not self.mine:
            return ""
        sizes = " and ".join(dict.fromkeys(self.elsewhere.values()))
        others = f"{len(self.elsewhere)} other methods ran on {sizes} graphs"
        return f"not comparable: yours are {self.size} graphs, {others}"


def _means(method: str, size: str, lines: list[Line]) -> str:
    """Means of one method on graphs of one size, between the exact values of each problem."""
    exact = [reference_values(line.problem) for line in lines]
    columns = {"problem": [line.problem for line in lines]}
    columns["graphs"] = [str(line.graphs) for line in lines]
    columns |= _reference_columns(exact, last=False)
    columns[method] = [_percent(line.accuracy, line.standard_error) for line in lines]
    columns |= _reference_columns(exact, last=True)
    columns["place"] = [_digits(line.place, ".3f") for line in lines]
    columns["seconds"] = [_digits(line.seconds, ".2f") for line in lines]
    title = f"{method}, on {size} graphs: test accuracy in per cent, exact values beside it"
    return f"{title}\n{table(columns)}"


def _reference_columns(exact: list[dict[str, float]], *, last: bool) -> dict[str, list[str]]:
    """Exact values of the problems in per cent: the last of them, the best possible, or those before it."""
    names = [*REFERENCES][-1:] if last else [*REFERENCES][:-1]
    return {name: [_digits(100.0 * values[name], ".1f") for values in exact] for name in names}


def _as_run(stored: dict[str, Any]) -> Run:
    """Run as it is stored, or `ValueError` if one of its fields cannot be."""
    stored_numbers = {name: stored[name] for name in ("accuracy", "seconds")}
    numbers = {name: math.nan if x is None else float(x) for name, x in stored_numbers.items()}
    run = Run(**stored | numbers)
    texts = all(isinstance(text, str) for text in (run.method, run.problem, run.error))
    graph = run.size in SIZES and type(run.graph) is int and run.graph >= 0
    failed = math.isnan(run.accuracy) and run.error
    measured = failed or 0.0 <= run.accuracy <= 1.0
    if not (texts and graph and measured) or run.seconds < 0.0:
        raise ValueError
    return run


def _line(method: str, problem: str, size: str, runs: list[Run]) -> Line:
    done = [run for run in runs if not run.error]
    mean, error = _mean(run.accuracy for run in done)
    seconds, _ = _mean(run.seconds for run in done)
    return Line(method, problem, size, len(done), mean, error, as_place(problem, mean), seconds)


def _mean(numbers: Iterable[float]) -> tuple[float, float]:
    """Mean, NaN of no number, and its standard error, infinite for one."""
    values = np.array([*numbers])
    error = float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else math.inf
    return float(values.mean()) if values.size else math.nan, error


def _percent(mean: float, error: float) -> str:
    """Mean and standard error in per cent; no error if there is none, a dash if there is no mean."""
    text = _digits(100.0 * mean, ".1f")
    return f"{text} ± {100.0 * error:.1f}" if math.isfinite(mean) and math.isfinite(error) else text


def _digits(value: float, form: str) -> str:
    """Number, or a dash for NaN."""
    return "-" if math.isnan(value) else format(value, form)


def _signed(gain: float, error: float) -> str:
    """Difference in points, marked n.s. if it may be chance."""
    if math.isnan(gain):
        return ""
    text = f"{100 * gain:+.1f} ± {100 * error:.1f}"
    return text if abs(gain) > _SIGNIFICANT * error else f"{text} (n.s.)"
