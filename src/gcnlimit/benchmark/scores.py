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
from gcnlimit.benchmark.problems import KNOWN, SIZES, VERSION
from gcnlimit.errors import ParameterError, check_writable, writing
from gcnlimit.graphs.dataset import check_path
from gcnlimit.results.text import table

ENDINGS = (".json",)
PUBLISHED = "published.json"
_SIGNIFICANT = 3.0  # standard errors


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
    """A method on a problem: mean accuracy, its standard error, infinite for one graph, and place, 1 at the best."""

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
    method   problem     size    graphs          accuracy   place   seconds
    ───────────────────────────────────────────────────────────────────────
    mine     reference   small        3   0.9100 ± 0.0058   0.991      1.00
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
        runs = [{key: _plain(value) for key, value in asdict(run).items()} for run in self.runs]
        text = json.dumps({"suite": VERSION, "runs": runs}, indent=1)
        with writing(path) as new:
            new.write_text(f"{text}\n", encoding="utf-8")

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Scores:
        """Read what `save` wrote."""
        given = f"path = {str(path)!r}"
        try:
            raw = json.loads(Path(path).read_text(encoding="utf-8"))
            version = raw["suite"]
            runs = tuple(_as_run(run) for run in raw["runs"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            wrong = "is not a file of results; give one that save wrote"
            raise ParameterError(f"{given} {wrong}") from None
        if version != VERSION:
            wrong = f"version {version} of the suite, and this is version {VERSION}"
            raise ParameterError(f"{given} has results of {wrong}; run the methods again")
        return Scores(runs)

    def __str__(self) -> str:
        """Table of means, and a sentence on the runs that failed."""
        lines, failed = self.lines, self.failures
        names = ("method", "problem", "size", "graphs")
        columns = {name: [str(getattr(line, name)) for line in lines] for name in names}
        columns["accuracy"] = [f"{one.accuracy:.4f} ± {one.standard_error:.4f}" for one in lines]
        columns["place"] = [f"{line.place:.3f}" for line in lines]
        columns["seconds"] = [f"{line.seconds:.2f}" for line in lines]
        if not failed:
            return table(columns)
        first = f"{failed[0].method} on {failed[0].problem}: {failed[0].error}"
        told = f"{len(failed)} of {len(self.runs)} runs failed, the first of them {first}"
        return f"{table(columns)}\n{told}"


@lru_cache(maxsize=1)
def published() -> Scores:
    """Results of popular networks and reference methods on five standard graphs of each problem.

    >>> sum(run.problem == "reference" and run.method == "GCN" for run in published().runs)
    5
    """
    file = resources.files("gcnlimit.benchmark").joinpath(PUBLISHED)
    found: dict[str, dict[str, list[float]]] = json.loads(file.read_text(encoding="utf-8"))
    runs = [
        Run(method, problem, "standard", graph, accuracy, math.nan)
        for method, rows in found.items()
        for problem, accuracies in rows.items()
        for graph, accuracy in enumerate(accuracies)
    ]
    return Scores(tuple(runs))


def merge(parts: Iterable[Scores]) -> Scores:
    """Results of several parts; a run that occurs twice counts once, the last of them, and a failure gives way.

    A method of `published` replaces none of yours: where yours has its name, it becomes ``"NAME, published"``.

    >>> first, again = Run("GCN", "deep", "standard", 0, 0.8, 1.0), Run("GCN", "deep", "standard", 0, 0.9, 1.0)
    >>> merge([Scores((first,)), Scores((again,)), published()]).runs[0].accuracy
    0.9
    """
    check_types("merge", parts=(parts, Iterable))
    given = [*parts]
    for part in given:
        check_types("merge", part=(part, Scores))
    theirs = published()
    own = {run.method for part in given if part is not theirs for run in part.runs}
    kept: dict[tuple[str, str, str, int], Run] = {}
    for part in given:
        for run in part.runs:
            taken = part is theirs and run.method in own
            one = replace(run, method=f"{run.method}, published") if taken else run
            key = (one.method, one.problem, one.size, one.graph)
            if not one.error or key not in kept:
                kept[key] = one
    return Scores(tuple(kept.values()))


def place(problem: str, accuracy: float) -> float:
    """Place of an accuracy between chance, 0, and the best possible, 1; NaN for a problem of your own.

    >>> place("reference", 0.5)
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

    @staticmethod
    def of(scores: Scores, mine: Sequence[str] = (), size: str | None = None) -> Ranking:
        """Ranking of the runs of one size, by default that of the first run."""
        chosen = size or (scores.runs[0].size if scores.runs else "standard")
        found: dict[tuple[str, str], dict[int, float]] = {}
        for run in scores.runs:
            if run.size == chosen and not run.error:
                found.setdefault((run.method, run.problem), {})[run.graph] = run.accuracy
        if not found:
            raise ParameterError(f"no run of size {chosen!r} finished; merge results of that size")
        methods = dict.fromkeys(method for method, _ in found)
        named = dict.fromkeys(problem for _, problem in found)
        ordered = dict.fromkeys([*(name for name in KNOWN if name in named), *named])
        ranking = Ranking(tuple(methods), tuple(ordered), chosen, found, tuple(mine))
        order = sorted(methods, key=lambda method: -np.nan_to_num(ranking.place(method), nan=-1.0))
        return replace(ranking, methods=tuple(order))

    @property
    def common(self) -> tuple[str, ...]:
        """Problems on which all methods have run; if there are none, all problems."""
        ran = Counter(problem for _, problem in self.accuracies)
        shared = tuple(name for name in self.problems if ran[name] == len(self.methods))
        return shared or self.problems

    def place(self, method: str) -> float:
        """Mean place on the common problems: 0 at chance, 1 at the best possible."""
        ran = [name for name in self.common if (method, name) in self.accuracies]
        places = [place(name, self.mean(method, name)) for name in ran]
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
        gains, variances = [], []
        for problem in self.common:
            one, two = (self.accuracies.get((name, problem), {}) for name in (method, other))
            gain = np.array([one[graph] - two[graph] for graph in one if graph in two])
            if gain.size:
                scatter = KNOWN[problem].exact.scatter if problem in KNOWN else 0.0
                known = 2.0 * scatter**2 / SIZES[self.size]
                measured = np.sum((gain - gain.mean()) ** 2)
                gains.append(gain.mean())
                variances.append((known + measured) / gain.size**2)
        if not gains:
            return math.nan, math.nan
        return float(np.mean(gains)), float(np.sqrt(np.sum(variances)) / len(variances))

    def as_dict(self) -> dict[str, list[object]]:
        """Columns of the table, accuracies and differences as numbers."""
        columns: dict[str, list[object]] = {"rank": [*range(1, len(self.methods) + 1)]}
        columns["method"] = [*self.methods]
        columns["place"] = [self.place(method) for method in self.methods]
        if self._own is not None:
            pairs = [self.difference(method, self._own) for method in self.methods]
            columns["beside mine"] = [gain for gain, _ in pairs]
            columns["its error"] = [error for _, error in pairs]
        return columns | {p: [self.mean(name, p) for name in self.methods] for p in self.problems}

    @property
    def _own(self) -> str | None:
        """The best of mine."""
        return next((method for method in self.methods if method in self.mine), None)

    def text(self, width: int | None = None) -> str:
        """Table in per cent, mine marked, as wide as that."""
        own = self._own
        columns = {"rank": [str(k + 1) for k in range(len(self.methods))]}
        columns["method"] = ["* " * (name in self.mine) + name for name in self.methods]
        columns["place"] = [f"{self.place(name):.3f}" for name in self.methods]
        if own is not None:
            others = [name for name in self.methods if name != own]
            gains = {name: _signed(*self.difference(name, own)) for name in others}
            columns["beside mine"] = [gains.get(name, "") for name in self.methods]
        for problem in self.problems:
            found = [self.accuracies.get((name, problem)) for name in self.methods]
            columns[problem] = [_percent(one) for one in found]
        return table(columns, width=width, keys=2)

    def __str__(self) -> str:
        """Table in per cent."""
        return self.text()


def _as_run(stored: dict[str, Any]) -> Run:
    """Run as it is stored, or `ValueError` if one of its fields cannot be."""
    given = {name: stored[name] for name in ("accuracy", "seconds")}
    numbers = {name: math.nan if one is None else float(one) for name, one in given.items()}
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
    found = np.array([run.accuracy for run in done])
    mean = float(found.mean()) if done else math.nan
    error = float(found.std(ddof=1) / math.sqrt(found.size)) if found.size > 1 else math.inf
    seconds = float(np.mean([run.seconds for run in done])) if done else math.nan
    return Line(method, problem, size, found.size, mean, error, place(problem, mean), seconds)


def _plain(value: str | float) -> str | float | None:
    """Value as JSON has it: null for NaN."""
    return None if isinstance(value, float) and math.isnan(value) else value


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
