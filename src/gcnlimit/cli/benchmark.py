"""``gcnlimit benchmark``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gcnlimit.cli.options import EXISTING
from gcnlimit.cli.output import FILE, output_options, show
from gcnlimit.csbm import SIGNALS
from gcnlimit.errors import check_writable

if TYPE_CHECKING:
    from gcnlimit.benchmark.problems import Problem
    from gcnlimit.benchmark.scores import Scores

_LIMITS = ("features", "linear", "algorithmic", "bayes")


@click.command("benchmark")
@click.option(
    "--run", "methods", multiple=True, metavar="METHOD", help="Run a reference method, or all; may be repeated."
)
@click.option("--problem", "problems", multiple=True, help="Problem of the suite; may be repeated.  [default: all]")
@click.option("--aside", is_flag=True, help="Use the problems kept aside.")
@click.option("--size", type=click.Choice(["small", "standard", "large"]), default="small", show_default=True)
@click.option("--graphs", type=click.IntRange(1, 10**6), default=5, show_default=True, help="Graphs per problem.")
@click.option("--seed", type=click.IntRange(0), help="Seed of private test graphs [default: the public ones].")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Number of processes.")
@click.option("--store", type=FILE, help="File that keeps finished graphs; the same command resumes.")
@click.option("--merge", "parts", multiple=True, type=EXISTING, help="Add the results in this file.")
@click.option("--published", "beside", is_flag=True, help="Rank among popular networks; takes --size standard.")
@click.option("--out", type=FILE, help="Write every run to a .json file.")
@output_options
def command(
    *, form: str, methods: tuple[str, ...], parts: tuple[str, ...], beside: bool, out: Path | None, **given: Any
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
    named = given.pop("problems")
    aside = given.pop("aside")
    chosen = as_problems(named) if named else problems(aside=aside)
    if not (methods or parts or beside):
        _list(chosen, form)
        return
    from gcnlimit.benchmark.methods import reference_methods

    models = reference_methods(methods)
    _say_cost(models, len(chosen), given)
    runs = [evaluate(model, chosen, name=name, **given) for name, model in models.items()]
    files = [*runs, *(Scores.load(part) for part in parts)]
    names = {problem.name for problem in chosen} if named or aside else None
    everything = merge([*files, *([published()] if beside else [])])
    scores = Scores(tuple(run for run in everything.runs if names is None or run.problem in names))
    if out is not None:
        scores.save(out)
    _rank(scores, list(models) or [run.method for part in files[:1] for run in part.runs], form)
    for run in scores.failures[:3]:
        click.echo(f"  {run.method} on {run.problem}, graph {run.graph}: {run.error}", err=True)


def _list(chosen: Sequence[Problem], form: str) -> None:
    columns = {
        "problem": [problem.name for problem in chosen],
        "classes": [len(problem.data.fractions) for problem in chosen],
        **{name: [getattr(problem.data, name) for problem in chosen] for name in SIGNALS},
        "directed": ["yes" if problem.data.directed else "no" for problem in chosen],
        "degree": [problem.degree for problem in chosen],
        **{name: [getattr(problem.exact, name) for problem in chosen] for name in _LIMITS},
    }
    show(columns, len(chosen), title="Problems and their exact accuracies", form=form, keys=1)


def _say_cost(models: Iterable[str], problems: int, given: Mapping[str, Any]) -> None:
    """Say on standard error what a run will take, if that is more than a few seconds."""
    from gcnlimit.benchmark.methods import SECONDS

    small = given["size"] == "small"
    total = problems * given["graphs"] * sum(SECONDS[name][0 if small else 1] for name in models) / given["workers"]
    total *= 9.0 if given["size"] == "large" else 1.0
    if total > 5.0:
        long = f"{total / 60:.0f} minutes" if total > 90.0 else f"{total:.0f} seconds"
        click.echo(f"{problems} problems, {given['graphs']} graphs each: about {long}", err=True)


def _rank(scores: Scores, mine: Sequence[str], form: str) -> None:
    """Print one ranking for each size of graphs."""
    from gcnlimit.benchmark import Ranking

    for size in dict.fromkeys(run.size for run in scores.runs if not run.error):
        ranking = Ranking.of(scores, mine, size)
        if form != "table":
            show(ranking.as_dict(), len(ranking.methods), title="", form=form)
            continue
        click.echo(f"Test accuracy in per cent, {size} graphs; * mine; n.s.: within three standard errors of mine")
        common = ", ".join(ranking.common) if len(ranking.common) < 3 else f"{len(ranking.common)} common problems"
        click.echo(f"Ranked by place, 0 at chance and 1 at the ceiling, over {common}\n")
        click.echo(ranking.text(shutil.get_terminal_size().columns if sys.stdout.isatty() else None) + "\n")
