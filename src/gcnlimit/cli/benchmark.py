"""``gcnlimit benchmark``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gcnlimit.cli.options import EXISTING, FILE, NATURAL, POSITIVE, option
from gcnlimit.cli.output import output_options, say_first, show
from gcnlimit.csbm import SIGNALS
from gcnlimit.errors import check_writable

if TYPE_CHECKING:
    from gcnlimit.benchmark.problems import Problem
    from gcnlimit.benchmark.scores import Scores

_LIMITS = ("features", "one_filter", "linear", "algorithmic", "bayes")
_SIZES = click.Choice(["small", "standard", "large"])
_RUN = "Run a reference method, or all; may be repeated."
_PROBLEM = "Problem of the suite; may be repeated.  [default: all]"
_PUBLISHED = "Rank among popular networks; takes --size standard."
Names = tuple[str, ...]


@click.command("benchmark")
@option("--run", _RUN, "methods", multiple=True, metavar="METHOD")
@option("--problem", _PROBLEM, "problems", multiple=True)
@option("--aside", "Use the problems kept aside.", is_flag=True)
@option("--size", "Sizes of the graphs.", type=_SIZES, default="small")
@option("--graphs", "Graphs per problem.", type=click.IntRange(1, 10**6), default=5)
@option("--seed", "Seed of private test graphs [default: the public ones].", type=NATURAL)
@option("--workers", "Number of processes.", type=POSITIVE, default=1)
@option("--store", "File that keeps finished graphs; the same command resumes.", type=FILE)
@option("--merge", "Add the results in this file.", "parts", multiple=True, type=EXISTING)
@option("--published", _PUBLISHED, "beside", is_flag=True)
@option("--out", "Write every run to a .json file.", type=FILE)
@output_options
def command(
    *, form: str, methods: Names, parts: Names, beside: bool, out: Path | None, **arguments: Any
) -> None:
    """Problems with known ceilings: list them, run reference methods on them, rank results from files.

    Methods that run now, or are in the first file, are marked as mine.

    \b
    Examples:
      gcnlimit benchmark
      gcnlimit benchmark --run amp --run label-propagation --problem reference --out mine.json
      gcnlimit benchmark --merge mine.json --published
      gcnlimit benchmark --merge mine.json --merge theirs.json --problem reference --output csv
    """
    from gcnlimit.benchmark import Scores, evaluate, merge, published
    from gcnlimit.benchmark.problems import as_problems, problems
    from gcnlimit.benchmark.scores import ENDINGS

    if out is not None:
        check_writable(out, ENDINGS)
    named = arguments.pop("problems")
    aside = arguments.pop("aside")
    chosen = as_problems(named) if named else problems(aside=aside)
    if not (methods or parts or beside):
        _list(chosen, form)
        return
    from gcnlimit.benchmark.methods import reference_methods

    models = reference_methods(methods)
    runs = [evaluate(model, chosen, name=name, **arguments) for name, model in models.items()]
    files = [*runs, *(Scores.load(part) for part in parts)]
    scores = merge([*files, *([published()] if beside else [])])
    if named or aside:
        names = {problem.name for problem in chosen}
        scores = Scores(tuple(run for run in scores.runs if run.problem in names))
    if out is not None:
        scores.save(out)
    mine = models or {run.method for part in files[:1] for run in part.runs}
    _rank(scores, [run.method for run in scores.runs if run.method in mine], form)
    if form != "table":
        say_first(scores.failed_in_words.splitlines(), "more")


def _list(chosen: Sequence[Problem], form: str) -> None:
    columns: dict[str, Any] = {
        "problem": [problem.name for problem in chosen],
        "classes": [len(problem.data.fractions) for problem in chosen],
        **{name: [getattr(problem.data, name) for problem in chosen] for name in SIGNALS},
        "directed": [problem.data.directed for problem in chosen],
        "degree": [problem.degree for problem in chosen],
        **{name: [getattr(problem.exact, name) for problem in chosen] for name in _LIMITS},
    }
    if form == "table":  # as results are shown
        columns["directed"] = ["yes" if directed else "no" for directed in columns["directed"]]
        columns |= {name: [f"{100 * value:.1f}" for value in columns[name]] for name in _LIMITS}
    show(columns, form, "Problems and their exact accuracies in per cent", keys=1)


def _rank(scores: Scores, mine: Sequence[str], form: str) -> None:
    """Print one ranking for each size of graphs; for machines, the rows of all."""
    from gcnlimit.benchmark import Ranking

    sizes = dict.fromkeys(run.size for run in scores.runs)
    rankings = [Ranking.of(scores, mine, size) for size in sizes]
    if form != "table":
        rows = [
            dict(zip(columns, row, strict=True))
            for columns in (ranking.as_dict() for ranking in rankings)
            for row in zip(*columns.values(), strict=True)
        ]
        names = dict.fromkeys(name for row in rows for name in row)
        show({name: [row.get(name) for row in rows] for name in names}, form)
        return
    for ranking in rankings:
        marks = "* mine; n.s.: within three standard errors of mine"
        click.echo(f"Test accuracy in per cent, {ranking.size} graphs; {marks}")
        few = len(ranking.common) < 3
        common = ", ".join(ranking.common) if few else f"{len(ranking.common)} common problems"
        click.echo(f"Ranked by place, 0 at chance and 1 at the ceiling, over {common}\n")
        click.echo(f"{ranking}\n")
