"""Accuracies of methods on problems: a table with standard errors, on disk and merged."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gcnlimit._validation import check_types
from gcnlimit.benchmark.problems import SIZES, VERSION, exact_of
from gcnlimit.errors import ParameterError, check_writable, writing
from gcnlimit.graphs.dataset import check_path
from gcnlimit.results.show import table

ENDINGS = (".json", ".csv")
"""Of the files that `Scores.save` writes."""


@dataclass(frozen=True)
class Run:
    """One method on one graph: its accuracy on the test nodes, NaN with a reason if it failed, and its time in seconds."""

    method: str
    problem: str
    size: str
    graph: int
    accuracy: float
    seconds: float
    error: str = ""


@dataclass(frozen=True)
class Line:
    """A method on a problem: mean accuracy over the graphs, its standard error, and share of the way to the ceiling.

    `share` is 0 at the best possible from the features alone, 1 at the best possible (see `Exact`); with one graph, the
    standard errors are infinite.
    """

    method: str
    problem: str
    size: str
    graphs: int
    accuracy: float
    standard_error: float
    share: float
    share_error: float
    seconds: float


@dataclass(frozen=True)
class Scores:
    """Results of any number of methods, problems and graphs; `lines` has the means.

    Examples
    --------
    >>> runs = [Run("mine", "reference", "small", k, a, 1.0) for k, a in enumerate([0.90, 0.91, 0.92])]
    >>> print(Scores(tuple(runs)))
    method   problem     size    graphs          accuracy           share   seconds
    ───────────────────────────────────────────────────────────────────────────────
    mine     reference   small        3   0.9100 ± 0.0058   0.986 ± 0.022      1.00
    """

    runs: tuple[Run, ...]

    @property
    def lines(self) -> list[Line]:
        """Means over the graphs, in the order in which methods and problems first appear."""
        groups: dict[tuple[str, str, str], list[Run]] = {}
        for run in self.runs:
            groups.setdefault((run.method, run.problem, run.size), []).append(run)
        return [_line(*key, runs) for key, runs in groups.items()]

    @property
    def failures(self) -> list[Run]:
        """Runs that failed."""
        return [run for run in self.runs if run.error]

    def as_dict(self) -> dict[str, list[Any]]:
        """Columns of the table of means, such as for ``pandas.DataFrame``."""
        rows = [asdict(line) for line in self.lines]
        return {name: [row[name] for row in rows] for name in Line.__dataclass_fields__}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write every run to a ``.json`` file, which `load` and `merge` read, or the table of means to a ``.csv`` file."""
        check_path(path)
        path = Path(path)
        check_writable(path, ENDINGS)
        if path.suffix.lower() == ".csv":
            with writing(path), path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([list(self.as_dict()), *zip(*self.as_dict().values(), strict=True)])
        else:
            runs = [{key: _plain(value) for key, value in asdict(run).items()} for run in self.runs]
            with writing(path):
                path.write_text(json.dumps({"suite": VERSION, "runs": runs}, indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Scores:
        """Read what `save` wrote as ``.json``."""
        try:
            raw = json.loads(Path(path).read_text(encoding="utf-8"))
            version, runs = raw["suite"], [_as_run(run) for run in raw["runs"]]
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ParameterError(f"path = {str(path)!r} is not a file of results; give one that save wrote") from None
        if version != VERSION:
            raise ParameterError(
                f"path = {str(path)!r} has results of version {version} of the suite, and this is version {VERSION}; run "
                "the methods again"
            )
        return Scores(tuple(runs))

    def __str__(self) -> str:
        """Table of means, and a sentence on the runs that failed."""
        lines = self.lines
        columns = {
            **{name: [str(getattr(line, name)) for line in lines] for name in ("method", "problem", "size", "graphs")},
            "accuracy": [f"{line.accuracy:.4f} ± {line.standard_error:.4f}" for line in lines],
            "share": [f"{line.share:.3f} ± {line.share_error:.3f}" for line in lines],
            "seconds": [f"{line.seconds:.2f}" for line in lines],
        }
        return "\n".join([table(columns), *self._failed()])

    def _failed(self) -> list[str]:
        """Sentence on the runs that failed."""
        failed = self.failures
        first = [f"{run.method} on {run.problem}: {run.error}" for run in failed[:1]]
        return [f"{len(failed)} of {len(self.runs)} runs failed, the first of them {what}" for what in first]


def merge(parts: Iterable[Scores]) -> Scores:
    """Results of several parts; a run that occurs twice counts once, the last of them, and a failure gives way.

    >>> first, again = Run("mine", "deep", "small", 0, 0.8, 1.0), Run("mine", "deep", "small", 0, 0.9, 1.0)
    >>> merge([Scores((first,)), Scores((again,))]).runs[0].accuracy
    0.9
    """
    kept: dict[tuple[str, str, str, int], Run] = {}
    check_types("merge", parts=(parts, Iterable))
    for part in parts:
        check_types("merge", part=(part, Scores))
        for run in part.runs:
            key = (run.method, run.problem, run.size, run.graph)
            if not run.error or key not in kept:
                kept[key] = run
    return Scores(tuple(kept.values()))


def _as_run(stored: dict[str, Any]) -> Run:
    """Run as it is stored, or `ValueError` if one of its fields cannot be."""
    numbers = {name: math.nan if stored[name] is None else float(stored[name]) for name in ("accuracy", "seconds")}
    run = Run(**stored | numbers)
    texts = all(isinstance(text, str) for text in (run.method, run.problem, run.error))
    places = run.size in SIZES and type(run.graph) is int and run.graph >= 0 and not run.seconds < 0.0
    if not (texts and places and (0.0 <= run.accuracy <= 1.0 or (math.isnan(run.accuracy) and run.error))):
        raise ValueError
    return run


def _line(method: str, problem: str, size: str, runs: list[Run]) -> Line:
    exact = exact_of(problem)
    done = [run for run in runs if not run.error]
    found = np.array([run.accuracy for run in done])
    mean = float(found.mean()) if done else math.nan
    error = float(found.std(ddof=1) / math.sqrt(found.size)) if found.size > 1 else math.inf
    seconds = float(np.mean([run.seconds for run in done])) if done else math.nan
    share, its_error = exact.share(mean), error / (exact.bayes - exact.features)
    return Line(method, problem, size, found.size, mean, error, share, its_error, seconds)


def _plain(value: str | float) -> str | float | None:
    """Value as JSON has it: null for NaN."""
    return None if isinstance(value, float) and math.isnan(value) else value
