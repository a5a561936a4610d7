"""``gcnlimit benchmark``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gcnlimit._runtime.progress import progress_bar
from gcnlimit.cli.output import FILE, output_options, show
from gcnlimit.csbm import SIGNALS
from gcnlimit.errors import check_writable

if TYPE_CHECKING:
    from gcnlimit.benchmark.problems import Problem

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
@click.option(
    "--merge",
    "parts",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    help="Add the results in this file.",
)
@click.option("--out", type=FILE, help="Write every run to a .json file, or the table to a .csv file.")
@output_options
def command(*, form: str, methods: tuple[str, ...], parts: tuple[str, ...], out: Path | None, **given: Any) -> None:
    """Problems with exact ceilings: list them, run reference methods on them, merge results from files.

    \b
    Examples:
      gcnlimit benchmark
      gcnlimit benchmark --run amp --run label-propagation --problem reference --out mine.json
      gcnlimit benchmark --merge mine.json --merge theirs.json --out both.csv
    """
    from gcnlimit.benchmark import Scores, evaluate, merge
    from gcnlimit.benchmark.problems import as_problems, problems
    from gcnlimit.benchmark.scores import ENDINGS

    if out is not None:
        check_writable(out, ENDINGS)
    named, aside = given.pop("problems"), given.pop("aside")
    chosen = as_problems(named) if named else problems(aside=aside)
    if not methods and not parts:
        _list(chosen, form)
        return
    from gcnlimit.benchmark.methods import reference_methods  # which a list does not wait for

    models = reference_methods(methods).items() if methods else ()
    runs = [evaluate(model, chosen, name=name, **given) for name, model in models]
    scores = merge([*(Scores.load(part) for part in parts), *runs])
    if out is not None:
        scores.save(out)
    title = "Test accuracy, and share of the way from features to ceiling"
    show(scores.as_dict(), len(scores.lines), title=title, form=form, keys=2)
    for run in scores.failures[:3]:
        click.echo(f"  {run.method} on {run.problem}, graph {run.graph}: {run.error}", err=True)


def _list(chosen: Sequence[Problem], form: str) -> None:
    exact = []
    with progress_bar("exact accuracies", len(chosen), unit="problems") as bar:
        for problem in chosen:
            exact.append(problem.exact)
            bar.advance(1)
    columns = {
        "problem": [problem.name for problem in chosen],
        "classes": [len(problem.data.fractions) for problem in chosen],
        **{name: [getattr(problem.data, name) for problem in chosen] for name in SIGNALS},
        "directed": ["yes" if problem.data.directed else "no" for problem in chosen],
        "degree": [problem.degree for problem in chosen],
        **{name: [getattr(found, name) for found in exact] for name in _LIMITS},
    }
    show(columns, len(chosen), title="Problems and their exact accuracies", form=form, keys=1)
