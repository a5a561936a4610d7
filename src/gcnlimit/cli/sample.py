"""``gcnlimit sample``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gcnlimit.cli.options import Grid, data_options, graph_options, option
from gcnlimit.cli.output import output_options, show_grid
from gcnlimit.errors import check_writable


@click.command("sample", no_args_is_help=True)
@data_options
@graph_options
@option("--streamed", "Save the seed of the features, not the matrix.", is_flag=True)
@option("--out", "File to write, FILE.npz.", type=click.Path(path_type=Path), required=True)
@output_options
def command(
    *, out: Path, nodes: int, degree: float, seed: int, streamed: bool, form: str, **arguments: Any
) -> None:
    """Draw one graph with features and labels, and write it to a file.

    Read it again with gcnlimit.Instance.load(FILE).

    \b
    Examples:
      gcnlimit sample --alpha 4 --lam 1 --mu 2 --rho 0.1 --nodes 10000 --degree 30 --seed 0 --out graph.npz
      gcnlimit sample --alpha 4 --lam 1 --mu 2 --rho 0.1 --classes 5 --nodes 3000 --degree 60 --out five.npz
    """
    from gcnlimit.simulation.data.sample import sample

    grid = Grid(arguments)
    check_writable(out, (".npz",))
    instance = sample(grid.data(), nodes, degree, seed, streamed=streamed)
    instance.save(out)
    adjacency: Any = instance.adjacency
    edges = adjacency.nnz
    if not instance.data.directed:  # a symmetric matrix holds each edge twice, but a self-loop once
        edges = (edges + int(adjacency.diagonal().sum())) // 2
    columns = {"file": str(out), "nodes": nodes, "edges": edges}
    columns |= {"features": instance.features.shape[1], "labelled": int(instance.train_mask.sum())}
    show_grid(grid, columns, form, "Sampled graph", degree=degree, seed=seed)
