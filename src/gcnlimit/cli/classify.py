"""``gcnlimit classify``."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import click
import numpy as np

from gcnlimit.cli.options import load_labelled
from gcnlimit.cli.output import check_file, output_options, show
from gcnlimit.errors import writing


@click.command("classify", no_args_is_help=True)
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--nodes", type=click.Path(exists=True, dir_okay=False), help="Table of nodes, if FILE lists edges.")
@click.option("--split", type=click.IntRange(0), default=0, show_default=True, help="Which split of FILE to train on.")
@click.option(
    "--filter",
    "family",
    type=click.Choice(["auto", "pagerank", "diffusion", "residual", "hops"]),
    default="auto",
    show_default=True,
    help="Family of the network.",
)
@click.option("--out", type=click.Path(dir_okay=False, writable=True), help="Write node, class and probability as CSV.")
@output_options
def command(*, file: str, nodes: str | None, split: int, family: str, out: str | None, form: str) -> None:
    """Classify the nodes of the graph in FILE, all choices made by leave-one-out on its labelled nodes.

    FILE is an .npz file (of gcnlimit sample or gcnlimit.real.write), or a list of edges as .csv or .parquet with --nodes.

    \b
    Examples:
      gcnlimit classify examples/data/texas.npz
      gcnlimit classify edges.csv --nodes nodes.csv --out classes.csv
    """
    if out is not None:
        check_file("--out", Path(out))
    from gcnlimit import GraphClassifier

    data = load_labelled(file, nodes)
    model = GraphClassifier(family).fit(data.X, data.training(split), graph=data.graph)
    if out is not None:
        _write(data, model, out)
    columns = {
        "labelled": int(model.labelled_.size),
        "network": model.family_,
        "operator": model.operator_,
        "strength": model.strength_,
        "reg": model.reg_,
        "left_out_accuracy": model.loo_score_,
        "error": model.loo_score_error_,
    }
    test = data.testing(split)
    if any(c is not None and c != -1 for c in test.tolist()):
        columns["test_accuracy"] = model.score(y=test)
    show(columns, 1, title=f"Classes of {data.nodes} nodes", form=form, inputs={"file": file, "split": split})


def _write(data: Any, model: Any, path: str) -> None:
    names = np.arange(data.nodes).astype(str) if data.names is None else data.names
    best = model.predict_proba().max(axis=1)
    rows = zip(names.tolist(), model.predict().tolist(), (f"{p:.4f}" for p in best), strict=True)
    with writing(path), open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["node", "class", "probability"], *rows])
