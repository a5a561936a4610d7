"""``gcnlimit classify``."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import click
import numpy as np

from gcnlimit._runtime.progress import progress_bar
from gcnlimit.cli.options import load_labelled, table_options
from gcnlimit.cli.output import check_plot, draw, output_options, plot_option, show
from gcnlimit.errors import check_writable, writing


@click.command("classify", no_args_is_help=True)
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@table_options
@click.option("--split", type=click.IntRange(0), default=0, show_default=True, help="Which split of FILE to train on.")
@click.option(
    "--filter",
    "family",
    type=click.Choice(["auto", "pagerank", "diffusion", "hops"]),
    default="auto",
    show_default=True,
    help="The average that recommend recommends, or a single network of this family.",
)
@click.option("--strength", type=float, help="Strength of the single network; 0 leaves the graph out.")
@click.option("--balanced", is_flag=True, help="Give small classes the weight of large ones.")
@click.option("--out", type=click.Path(dir_okay=False, writable=True), help="Write the class of every node as CSV.")
@plot_option
@output_options
def command(
    *,
    file: str,
    split: int,
    family: str,
    strength: float | None,
    balanced: bool,
    out: str | None,
    plot: Path | None,
    form: str,
    **tables: Any,
) -> None:
    """Classify the nodes of the graph in FILE, as gcnlimit recommend recommends.

    FILE is an .npz file (of gcnlimit sample or gcnlimit.real.write), or a list of edges as .csv with --nodes.
    With --out, classes that were given are kept; the columns are node, class, known, and a probability for each class.

    \b
    Examples:
      gcnlimit classify examples/data/texas.npz
      gcnlimit classify edges.csv --nodes nodes.csv --out classes.csv
    """
    if out is not None:
        check_writable(out)
    check_plot(plot, {}, fewest=0)
    data = load_labelled(file, **tables)
    given = data.training(split)
    _say_if_done(given)
    weight = "balanced" if balanced else None
    with progress_bar("Classifying", None, unit="fits"):
        from gcnlimit import GraphClassifier

        model = GraphClassifier(family, strengths=strength, class_weight=weight).fit(data.X, given, graph=data.graph)
    if plot is not None:
        draw(plot, model.plot)
    if out is not None:
        _write(data, given, model, out)
    low, high = model.expected_accuracy_[1:]
    columns: dict[str, Any] = {"labelled": int(model.labelled_.size), "network": _network(model)}
    columns |= {f"loo_{name}": value for name, value in model.loo_scores_.items()}
    columns |= {"expected_low": low, "expected_high": high}
    test = data.testing(split)
    if any(c is not None and c != -1 for c in test.tolist()):
        columns["test_accuracy"] = model.score(y=test)
    show(columns, 1, title=f"Classes of {data.nodes} nodes", form=form, inputs={"file": file, "split": split})


def _network(model: Any) -> str:
    if model.table_:
        return "average" if model.uses_graph_ else "features alone"
    return f"{model.family_} {model.strength_:g}" if model.uses_graph_ else "features alone"


def _say_if_done(given: Any) -> None:
    if all(c is not None and c != -1 for c in given.tolist()):
        click.echo("Every node is labelled: there is nothing to classify. The accuracies are leave-one-out.", err=True)


def _write(data: Any, given: Any, model: Any, path: str) -> None:
    """Class of each node, as given where it was known, whether it was, and the probability of each class."""
    names = np.arange(data.nodes).astype(str) if data.names is None else data.names
    known = np.zeros(data.nodes, bool)
    known[model.labelled_] = True
    classes = np.where(known, given, model.predict()).tolist()
    shares = [[f"{p:.4f}" for p in row] for row in model.predict_proba().tolist()]
    head = ["node", "class", "known", *(f"probability {c}" for c in model.classes_.tolist())]
    rows = ([n, c, int(k), *p] for n, c, k, p in zip(names.tolist(), classes, known.tolist(), shares, strict=True))
    with writing(path), open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
