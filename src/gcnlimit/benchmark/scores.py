"""Accuracies of methods on problems: on disk, merged, and in a table of means."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from gcnlimit._validation import check_types
from gcnlimit._values import printable
from gcnlimit.benchmark.problems import KNOWN, REFERENCES, SIZES, VERSION, reference_values
from gcnlimit.errors import ParameterError, check_writable, writing
from gcnlimit.graphs.dataset import check_path
from gcnlimit.results.markup import Printed
from gcnlimit.results.text import table

ENDINGS = (".json",)
PUBLISHED = "published.json"
_WIDTH = 80  # of a table


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


@dataclass(frozen=True, repr=False)
class Scores(Printed):
    """Results of any number of methods, problems and graphs; `lines` has the means.

    >>> runs = [Run("mine", "reference", "small", k, a, 1.0) for k, a in enumerate([0.90, 0.91, 0.92])]
    >>> print(Scores(tuple(runs)))
    Test accuracy in per cent, small graphs
    method             place   graphs   seconds    reference
    ────────────────────────────────────────────────────────
    features (exact)   0.368        -         -         65.2
    linear (exact)     0.958        -         -         89.6
    mine               0.991        3      1.00   91.0 ± 0.6
    Bayes (exact)      1.000        -         -         91.4
    """

    runs: tuple[Run, ...]

    def __post_init__(self) -> None:
        for run in self.runs if isinstance(self.runs, tuple) else (self.runs,):
            check_types("Scores", run=(run, Run))

    @property
    def lines(self) -> list[Line]:
        """Means over the graphs, in the order in which methods and problems appear; pandas makes a table of them."""
        groups: dict[tuple[str, str, str], list[Run]] = {}
        for run in self.runs:
            groups.setdefault((run.method, run.problem, run.size), []).append(run)
        lines = []
        for (method, problem, size), runs in groups.items():
            done = [run for run in runs if not run.error]
            mean, error = mean_of(run.accuracy for run in done)
            means = mean, error, as_place(problem, mean), mean_of(run.seconds for run in done)[0]
            lines.append(Line(method, problem, size, len(done), *means))
        return lines

    @property
    def failures(self) -> list[Run]:
        """Runs that failed."""
        return [run for run in self.runs if run.error]

    @property
    def failed_in_words(self) -> str:
        """A line for each method of which runs failed: how many, and the reason of the first."""
        told = []
        for method in dict.fromkeys(run.method for run in self.failures):
            tried = [run for run in self.runs if run.method == method]
            failed = [run for run in tried if run.error]
            count = f"{len(failed)} of {len(tried)} runs failed, the first on {failed[0].problem}"
            told.append(f"{method}: {count}: {printable(failed[0].error)}")
        return "\n".join(told)

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
        check_path(path)
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
        """A table of means for each size of graphs, methods between the exact values, and a sentence on failures."""
        lines = self.lines
        parts = [_means(size, lines) for size in dict.fromkeys(line.size for line in lines)]
        return "\n\n".join([*parts, self.failed_in_words] if self.failures else parts)


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
    runs: list[Run] = []
    for part in parts if np.iterable(parts) else (parts,):
        check_types("merge", part=(part, Scores))
        runs += part.runs
    # a published run is known by its accuracy, and by having no time
    keys = {(*_key(run), run.accuracy) for run in published().runs}
    theirs = [math.isnan(run.seconds) and (*_key(run), run.accuracy) in keys for run in runs]
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


def _means(size: str, lines: list[Line]) -> str:
    """Means on graphs of one size: a row for each method, between those of the exact values, a column for each problem."""
    ran = {(line.method, line.problem): line for line in lines if line.size == size}
    methods, problems = (dict.fromkeys(key[k] for key in ran) for k in (0, 1))
    *below, best = (f"{name} (exact)" for name in REFERENCES)
    for problem in problems:
        for name, value in zip((*below, best), reference_values(problem).values(), strict=True):
            place = as_place(problem, value)
            ran[name, problem] = Line(name, problem, size, 0, value, math.inf, place, math.nan)
    rows = [[ran.get((name, p)) for p in problems] for name in (*below, *methods, best)]
    each = [[line for line in row if line] for row in rows]
    columns = {"method": [row[0].method for row in each]}
    columns["place"] = [digits(mean_of(line.place for line in row)[0], ".3f") for row in each]
    columns["graphs"] = [str(sum(line.graphs for line in row) or "-") for row in each]
    columns["seconds"] = [digits(mean_of(line.seconds for line in row)[0], ".2f") for row in each]
    for problem, column in zip(problems, zip(*rows, strict=True), strict=True):
        own = f"problem {problem}" if problem in columns else problem
        columns[own] = [percent(x.accuracy, x.standard_error) if x else "" for x in column]
    return f"Test accuracy in per cent, {size} graphs\n{table(columns, width=_WIDTH)}"


def _as_run(stored: dict[str, Any]) -> Run:
    """Run as it is stored, or `ValueError` if one of its fields cannot be."""
    stored_numbers = {name: stored[name] for name in ("accuracy", "seconds")}
    numbers = {name: math.nan if x is None else float(x) for name, x in stored_numbers.items()}
    run = Run(**stored | numbers)
    texts = all(isinstance(text, str) for text in (run.method, run.problem, run.error))
    texts = texts and f"{run.method}{run.problem}".isprintable()
    graph = run.size in SIZES and type(run.graph) is int and run.graph >= 0
    failed = math.isnan(run.accuracy) and run.error
    measured = failed or 0.0 <= run.accuracy <= 1.0
    if not (texts and graph and measured) or run.seconds < 0.0:
        raise ValueError
    return run


def mean_of(numbers: Iterable[float]) -> tuple[float, float]:
    """Mean of the numbers that are not NaN, NaN if there is none, and its standard error, infinite for one."""
    values = np.array([x for x in numbers if not math.isnan(x)])
    error = float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else math.inf
    return float(values.mean()) if values.size else math.nan, error


def percent(mean: float, error: float) -> str:
    """Mean and standard error in per cent; no error if there is none, a dash if there is no mean."""
    text = digits(100.0 * mean, ".1f")
    return f"{text} ± {100.0 * error:.1f}" if math.isfinite(mean) and math.isfinite(error) else text


def digits(value: float, form: str) -> str:
    """Number, or a dash for NaN."""
    return "-" if math.isnan(value) else format(value, form)
