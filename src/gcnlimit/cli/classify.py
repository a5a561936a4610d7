"""``gcnlimit classify``."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import click
import numpy as np

from gcnlimit.cli import options
from gcnlimit.cli.options import option
from gcnlimit.cli.output import as_text, check_plot, draw, output_options, show
from gcnlimit.errors import ParameterError, check_writable, writing
from gcnlimit.graphs.labels import labelled_nodes

_FRACTIONS = "Class fractions of unlabelled nodes: auto, labels, estimated, or such as a=0.2,b=0.8."
_REVIEW = "Rank this many nodes whose label would help most, in a column of --out."


@click.command("classify", no_args_is_help=True)
@options.file_argument
@options.table_options
@options.split_option
@options.scale_option
@option("--fractions", _FRACTIONS, metavar="WORD|SHARES")
@option("--balanced", "Give small classes the weight of large ones.", is_flag=True)
@option("--out", "Write the class of every node as CSV.", type=options.FILE)
@option("--review", _REVIEW, type=click.IntRange(min=1), metavar="COUNT")
@options.plot_option
@output_options
def command(
    *, file: str, split: int, out: Path | None, plot: Path | None, form: str, **arguments: Any
) -> None:
    """Classify the nodes of the graph in FILE, as gcnlimit recommend recommends.

    FILE is an .npz file (of gcnlimit sample or gcnlimit.real.write), or a list of edges as .csv with --nodes.
    With --out, classes that were given are kept; the columns are node, class, known, and a probability for each class.
    A name that a spreadsheet would run as a formula (=1+1) has an apostrophe before it there.

    \b
    Examples:
      gcnlimit classify examples/data/texas.npz
      gcnlimit classify edges.csv --nodes nodes.csv --out classes.csv
    """
    if out is not None:
        check_writable(out)
    check_plot(plot, (), fewest=0)
    fractions, review, scale = (arguments.pop(name) for name in ("fractions", "review", "scale"))
    if review is not None and out is None:
        raise ParameterError(f"--review {review} is a column of the file; add --out FILE")
    weight = "balanced" if arguments.pop("balanced") else None
    data = options.load_labelled(file, split=split, **arguments)
    labels = data.training(split)
    if labelled_nodes(labels).all():
        click.echo("Every node is labelled, and none is left to classify.", err=True)
    from gcnlimit import GraphClassifier

    shares = "auto" if fractions is None else _fractions(fractions, labels)
    model = GraphClassifier(fractions=shares, class_weight=weight, scale=scale)
    model.fit(data.X, labels, graph=data.graph)
    draw(plot, model.plot)
    if out is not None:
        _write(data, labels, model, out, review)
    from gcnlimit.real.recommend import expectation, facts, trust

    columns = facts(model)
    test = data.testing(split)
    if labelled_nodes(test).any():
        columns["test_accuracy"] = model.score(y=test)
    if (model.expected_accuracy_.value is None or model.unlike_) and not model.grouped_:
        click.echo(expectation(model), err=True)
    for sentence in trust(model) if out is not None else ():
        click.echo(sentence, err=True)
    if form == "table":
        names = [name.replace("_", " ") for name in columns]
        columns = {"quantity": names, "value": np.array([*columns.values()], object)}
    show(columns, form, f"Classes of {data.nodes} nodes", file=file, split=split)


def _fractions(text: str, labels: Any) -> Any:
    """Word, or share of each class by name."""
    if text in ("auto", "labels", "estimated"):
        return text
    names = {str(c): c for c in np.unique(labels[labelled_nodes(labels)]).tolist()}
    shares = dict(part.rpartition("=")[::2] for part in text.split(","))
    try:
        return {names.get(name.strip(), name): float(name and s) for name, s in shares.items()}
    except ValueError:
        use = "use auto, labels, estimated, or a share for each class, such as a=0.2,b=0.8"
        raise ParameterError(f"--fractions {text!r} is not allowed; {use}") from None


def _write(data: Any, labels: Any, model: Any, path: Path, review: int | None) -> None:
    """Class of each node, as given where it was known, whether it was, the probability of each class, and the rank to label."""
    names = range(data.nodes) if data.names is None else map(as_text, data.names.tolist())
    labelled = labelled_nodes(labels)
    classes = map(as_text, np.where(labelled, labels, model.predict()).tolist())
    shares = [[f"{p:.4f}" for p in row] for row in model.predict_proba().tolist()]
    head = ["node", "class", "known", *(f"probability {c}" for c in model.classes_.tolist())]
    if review is not None:
        head.append("review")
        rank = {node: k + 1 for k, node in enumerate(model.review(review).tolist())}
        shares = [[*row, str(rank.get(node, ""))] for node, row in enumerate(shares)]
    rows = ([n, c, int(k), *p] for n, c, k, p in zip(names, classes, labelled, shares, strict=True))
    with writing(path) as new, open(new, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
